#pragma once
// A request in work, and its answers.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/recall.h"
#include "engine/request.h"
#include "engine/scheduler_statistics.h"
#include "memory/memory.h"

namespace oxbow::engine {

struct Job;

// One answer. Its tokens are all there is to it: the sequence holds a prefix of them and can be dropped and
// opened again at any time.
//
// Invariants
//  1. tokens starts with the prompt; the rest was generated.
//  2. The sequence, when there is one, holds tokens[0, held), and held < tokens.size() between steps.
//  3. A choice has a slot exactly while it has a sequence.
struct Choice {
  Choice(Job& owner, size_t number, std::vector<TokenId> prompt);

  Job& job;
  size_t index;
  std::vector<TokenId> tokens;
  size_t prompt_tokens;
  Sampler sampler;
  std::unique_ptr<Constraint> constraint;

  std::optional<memory::SequenceId> sequence;
  size_t held = 0;
  size_t slot = 0;
  bool is_done = false;
  size_t preemptions = 0;
  size_t told = 0;   // tokens of the prompt that progress was reported for
  size_t ended = 0;  // end tokens chosen: 0 or 1
  Clock::time_point first_token{};
  Clock::time_point last_token{};
  // While it waits for its first slot: the stores' search for its prompt.
  std::unique_ptr<Recall> recall;
  bool has_recalled = false;
  // While it waits: another prompt is evaluating what this one begins with.
  const Choice* leader = nullptr;
  size_t leader_position = 0;

  size_t missing() const { return tokens.size() - held; }
  size_t generated() const { return tokens.size() - prompt_tokens; }
  std::span<const TokenId> answer() const { return std::span(tokens).subspan(prompt_tokens); }
  // Requests in the order of their arrival, their choices in ascending order.
  bool is_before(const Choice& other) const;
  Phase phase() const;
};

struct Job {
  RequestId id = 0;
  Request request;
  std::shared_ptr<Sink> sink;
  Clock::time_point submitted{};
  std::optional<Clock::time_point> started;
  size_t slot = 0;  // of the first choice
  size_t reused = 0;
  size_t open_choices = 0;
  std::vector<LogitBias> bias;  // what was asked for, and end tokens when they are ignored
  // The first choice evaluates the prompt; the others are made when that is done.
  std::vector<std::unique_ptr<Choice>> choices;
  // Instead of an answer: called with the sequence that holds the prompt.
  std::function<void(memory::SequenceId)> at_prompt_end;
};

inline bool Choice::is_before(const Choice& other) const {
  return std::pair(job.id, index) < std::pair(other.job.id, other.index);
}

inline Phase Choice::phase() const {
  if (!job.started) return Phase::kQueued;
  return first_token == Clock::time_point{} ? Phase::kPrompt : Phase::kDecode;
}

}  // namespace oxbow::engine
