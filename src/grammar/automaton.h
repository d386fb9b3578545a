#pragma once
// Runs a program: configurations of a pushdown automaton, the steps between them, and their masks. Everything
// is found out once and kept.
//
// A *thread* is an instruction that waits for a byte or a control token, with the stack of what follows it. A
// *configuration* is the set of all threads that a text can lead to. Stacks share their tails.
//
// Limits narrow what is offered and never end in an error or a dead end: a thread is dropped when its stack,
// or what its shortest way to the end needs, is deeper than kMaxDepth, and a configuration keeps its first
// kMaxThreads threads. Every thread that is kept can reach the end on its own.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/program.h"
#include "grammar/token_mask.h"
#include "grammar/token_tree.h"

namespace oxbow::grammar {

using ConfigurationId = uint32_t;
using StackId = uint32_t;

inline constexpr ConfigurationId kDead = 0;  // no text goes on from here
inline constexpr StackId kEmptyStack = 0;
inline constexpr uint32_t kMaxDepth = 512;     // frames
inline constexpr size_t kMaxThreads = 1024;    // of a configuration
inline constexpr size_t kMaxClosure = 50'000;  // instructions visited without consuming anything
// Work on one mask: nodes of the tree, and new configurations by their threads. Tokens that are left then are
// not offered; single bytes are looked at first.
inline constexpr uint64_t kMaxMaskWork = 4'000'000;

// One per grammar, shared by its sequences. Any thread: a lock is held during each call. Ids are good for the
// automaton that gave them.
class Automaton {
 public:
  Automaton(const Program& program, const GrammarVocabulary& vocabulary);
  ~Automaton();

  ConfigurationId start() const { return start_; }
  // After the bytes of a token, or after a control token that stands for itself; kDead when it does not fit.
  ConfigurationId step(ConfigurationId from, TokenId token);
  // The text may end here.
  bool accepts(ConfigurationId id);
  // Nothing can follow.
  bool is_final(ConfigurationId id);
  std::shared_ptr<const TokenMask> mask(ConfigurationId id);

  // Whether it keeps more than it should: sequences move to another one.
  bool is_full();
  // The same configuration here.
  ConfigurationId import(Automaton& other, ConfigurationId id);

 private:
  struct Thread {
    Address at;
    StackId stack;
    friend bool operator==(const Thread&, const Thread&) = default;
  };
  // A frame on top of a parent. Where max is 0: go on at `at`. Else `at` is a kRepeat, and min to max of its
  // rounds are to be done, the running one included.
  struct Frame {
    StackId parent;
    Address at;
    uint32_t min, max;
    friend bool operator==(const Frame&, const Frame&) = default;
  };
  struct Stack {
    Frame frame;
    uint64_t hash;  // of the contents down to the bottom: an order that does not depend on ids
    uint32_t depth;
    uint32_t need;    // greatest depth that its frames need to get to the end
    StackId clamped;  // kUnknown until asked for
    bool spellable;   // as Program::spellable, for all frames
  };
  struct Configuration {
    uint32_t first_thread, thread_count;
    bool accepts = false;
    bool spellable = false;  // a text may stop here between tokens
    uint32_t need = 0;       // greatest depth that its threads need
    uint32_t table = kUnknown;
    ConfigurationId clamped = kUnknown;
    uint64_t walk = 0;  // the last walk that met it
    std::shared_ptr<const TokenMask> mask;
  };
  // What holds of a configuration whatever lies below its stacks.
  struct Local;
  struct FrameHash {
    size_t operator()(const Frame& frame) const;
  };
  class Closure;
  static constexpr uint32_t kUnknown = 0xFFFFFFFF;

  std::span<const Thread> threads(const Configuration& configuration) const {
    return std::span(threads_).subspan(configuration.first_thread, configuration.thread_count);
  }
  StackId push(StackId parent, Address at, uint32_t min, uint32_t max);
  void order(std::vector<Thread>& threads) const;
  ConfigurationId intern(std::vector<Thread>& threads, bool accepts);
  ConfigurationId next(ConfigurationId from, uint8_t byte);
  ConfigurationId compute_next(ConfigurationId from, uint8_t byte);
  ConfigurationId resume(StackId stack);
  StackId clamp(StackId stack);
  ConfigurationId clamp_configuration(ConfigurationId id);
  StackId common_tail(const Configuration& configuration) const;
  StackId cut(StackId stack, StackId tail);
  // masks.cpp
  struct Walk;
  void walk(Walk& walk, uint32_t begin, uint32_t end, ConfigurationId from);
  const Local& local(ConfigurationId id);
  bool mask_by_parts(ConfigurationId id, TokenMask& mask);
  void mask_whole(ConfigurationId id, TokenMask& mask);
  void allow_others(const Configuration& configuration, TokenMask& mask) const;

  const Program& program_;
  const GrammarVocabulary& vocabulary_;
  const TokenTree& tree_;
  std::mutex mutex_;
  std::vector<Stack> stacks_;
  std::unordered_map<Frame, StackId, FrameHash> stack_ids_;
  std::vector<Thread> threads_;
  std::vector<Configuration> configurations_;
  std::unordered_multimap<uint64_t, ConfigurationId> configuration_ids_;  // by hash
  std::vector<ConfigurationId> tables_;                                   // program_.class_count each
  std::unordered_map<ConfigurationId, std::unique_ptr<const Local>> locals_;
  std::unique_ptr<Closure> closure_;
  ConfigurationId start_ = kDead;
  uint64_t walks_ = 0;
  size_t mask_bytes_ = 0;
};

}  // namespace oxbow::grammar
