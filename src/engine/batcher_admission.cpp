// Who runs: letting sequences in, forking them, moving them out.

#include <algorithm>

#include "base/check.h"
#include "engine/batcher.h"

namespace oxbow::engine {
namespace {

// Room for an answer to grow in, beyond what a sequence holds when it is let in.
constexpr size_t kRoomTokens = 64;
// Shared beginnings shorter than this are evaluated twice rather than waited for.
constexpr size_t kWorthWaitingTokens = 64;
// How long a store may take to bring what a prompt begins with.
constexpr std::chrono::milliseconds kStorePatience{3000};
constexpr std::chrono::milliseconds kStorePoll{5};

bool is_before(const Choice* a, const Choice* b) {
  return a->is_before(*b);
}

void insert_in_order(std::vector<Choice*>& choices, Choice& choice) {
  choices.insert(std::ranges::upper_bound(choices, &choice, is_before), &choice);
}

size_t common_tokens(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

void Batcher::wait(Choice& choice) {
  insert_in_order(waiting_, choice);
}

void Batcher::admit() {
  while (Choice* choice = next_to_admit()) {
    std::erase(waiting_, choice);
    open(*choice);
  }
}

// The first that waits, unless a running prompt is about to compute what it begins with, or a store is about
// to bring it: then the next one. When the first does not fit, nobody passes it.
Choice* Batcher::next_to_admit() {
  if (running_.size() >= options_.parallel) return nullptr;
  if (running_.empty()) {
    is_crowded_ = false;
    for (Choice* choice : waiting_) choice->leader = nullptr;
  }
  if (is_crowded_) return nullptr;
  for (Choice* choice : waiting_) {
    if (waits_for_stores(*choice) || waits_for_leader(*choice)) continue;
    return running_.empty() || fits(*choice) ? choice : nullptr;
  }
  return nullptr;
}

bool Batcher::fits(const Choice& choice) const {
  const auto bytes = [&](const Choice& one) {
    const size_t left = one.job.request.max_tokens - std::min(one.job.request.max_tokens, one.generated());
    return footprint_.sequence_bytes(one.tokens.size() + std::min(left, kRoomTokens));
  };
  size_t sum = bytes(choice);
  for (const Choice* other : running_) sum += bytes(*other);
  return sum <= footprint_.capacity_bytes();
}

// Whether another request's prompt, now in work, will soon leave a checkpoint that saves much of this one.
bool Batcher::waits_for_leader(Choice& choice) {
  if (choice.leader != nullptr) {
    const Choice& leader = *choice.leader;
    if (leader.sequence && !leader.is_done && leader.held < choice.leader_position) return true;
    choice.leader = nullptr;
    return false;
  }
  if (!choice.job.request.cache_prompt) return false;
  for (const Choice* other : running_) {
    const Request& request = other->job.request;
    if (other->phase() == Phase::kDecode || other->job.at_prompt_end || !request.cache_prompt ||
        request.partition != choice.job.request.partition) {
      continue;
    }
    const size_t common = common_tokens(choice.tokens, other->tokens);
    const size_t last = other->prompt_tokens - 1;
    size_t position = common >= last && choice.tokens.size() > last ? last : 0;
    for (const size_t boundary : request.boundaries) {
      if (boundary <= common) position = std::max(position, boundary);
    }
    if (position <= other->held + kWorthWaitingTokens) continue;
    const size_t known = engine_.memory().known(choice.tokens, request.partition).reused;
    if (position <= known + kWorthWaitingTokens) continue;
    choice.leader = other;
    choice.leader_position = position;
    return true;
  }
  return false;
}

bool Batcher::waits_for_stores(Choice& choice) {
  if (!choice.has_recalled) {
    choice.has_recalled = true;
    if (choice.job.request.cache_prompt)
      choice.recall = engine_.start_recall(choice.tokens, choice.job.request.partition, kStorePatience);
  }
  if (choice.recall == nullptr) return false;
  if (!choice.recall->poll()) return true;
  choice.recall.reset();
  return false;
}

void Batcher::wait_for_stores() const {
  for (const Choice* choice : waiting_) {
    if (choice->recall != nullptr) return choice->recall->wait_for(kStorePoll);
  }
}

void Batcher::open(Choice& choice) {
  auto opened = open_sequence(choice);
  if (!opened) return fail(choice.job, opened.error());
  choice.sequence = opened->sequence;
  choice.held = opened->reused;
  const bool first_time = !choice.job.started;
  take_slot(choice, free_slot(choice.job.request.slot));
  if (first_time) start(choice, *opened);
}

Result<memory::Opened> Batcher::open_sequence(Choice& choice) {
  const Request& request = choice.job.request;
  memory::Memory& memory = engine_.memory();
  if (!request.cache_prompt) {
    memory::Opened opened;
    opened.sequence = memory.create(request.partition, false);
    return opened;
  }
  return memory.open(choice.tokens, request.boundaries, request.partition);
}

void Batcher::start(Choice& choice, const memory::Opened& opened) {
  Job& job = choice.job;
  job.started = Clock::now();
  job.slot = choice.slot;
  job.reused = opened.reused;
  choice.told = opened.reused;
  SlotState& state = slots_[choice.slot].state;
  state.phase = Phase::kPrompt;
  state.reused = state.prompt_done = opened.reused;
  if (!job.at_prompt_end) {
    totals_.queue_time.add(std::chrono::duration<double>(*job.started - job.submitted).count());
    totals_.prompt_tokens += choice.prompt_tokens;
    totals_.cached_tokens += opened.reused;
    totals_.missed_tokens[static_cast<size_t>(opened.miss)] += choice.prompt_tokens - opened.reused;
  }
  job.sink->started({choice.slot, choice.prompt_tokens, opened.matched, opened.reused, opened.miss});
}

// Makes the other choices of a request whose prompt was just evaluated. Those who find room go on from here;
// the others wait and open the prompt again.
void Batcher::fork_choices(Choice& first, std::span<const float> logits) {
  Job& job = first.job;
  while (job.choices.size() < job.request.choices && job.open_choices > 0) {
    job.choices.push_back(std::make_unique<Choice>(job, job.choices.size(), first.tokens));
    Choice& choice = *job.choices.back();
    if (running_.size() >= options_.parallel || is_crowded_ || !fits(choice)) {
      wait(choice);
      continue;
    }
    const auto forked = engine_.memory().fork(*first.sequence, first.held);
    OXBOW_CHECK(forked.has_value());
    choice.sequence = *forked;
    choice.held = first.held;
    take_slot(choice, free_slot(std::nullopt));
    choose(choice, logits);
  }
}

// The preferred slot when it is free, else the one that has been free for longest.
size_t Batcher::free_slot(std::optional<size_t> preferred) const {
  if (preferred && *preferred < slots_.size() && slots_[*preferred].choice == nullptr) return *preferred;
  size_t best = slots_.size();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].choice != nullptr) continue;
    if (best == slots_.size() || slots_[i].used < slots_[best].used) best = i;
  }
  OXBOW_CHECK(best < slots_.size());
  return best;
}

void Batcher::take_slot(Choice& choice, size_t number) {
  insert_in_order(running_, choice);
  choice.slot = number;
  Slot& slot = slots_[number];
  slot.choice = &choice;
  slot.state = {number,
                true,
                choice.job.id,
                choice.index,
                choice.phase(),
                choice.prompt_tokens,
                choice.job.reused,
                choice.held,
                choice.generated()};
}

// Drops the sequence and frees the slot. keep: what was computed serves later prompts.
void Batcher::release(Choice& choice, bool keep) {
  if (!choice.sequence) return;
  const Request& request = choice.job.request;
  memory::Memory& memory = engine_.memory();
  if (keep && request.cache_prompt) OXBOW_CHECK(memory.keep(*choice.sequence));
  OXBOW_CHECK(memory.drop(*choice.sequence));
  choice.sequence.reset();
  std::erase(running_, &choice);
  Slot& slot = slots_[choice.slot];
  slot.choice = nullptr;
  slot.used = Clock::now();
  slot.state.is_processing = false;
  slot.state.generated = choice.generated();
  if (!choice.job.at_prompt_end) {
    slot.last.partition = request.partition;
    slot.last.tokens.clear();
    if (request.cache_prompt)
      slot.last.tokens.assign(choice.tokens.begin(),
                              choice.tokens.begin() + static_cast<ptrdiff_t>(choice.held));
  }
  choice.held = 0;
  is_crowded_ = false;
}

void Batcher::preempt_youngest() {
  Choice& youngest = *running_.back();
  release(youngest, true);
  ++youngest.preemptions;
  ++totals_.preemptions;
  wait(youngest);
  is_crowded_ = true;
}

}  // namespace oxbow::engine
