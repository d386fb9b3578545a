// The tokens that may come next: walks over the tree of tokens.
//
// A walk of a whole vocabulary costs about a millisecond, so it is done once for all configurations that
// agree where it matters. Counters that no token can use up count as endless. And what lies below all of a
// configuration's stacks matters only to tokens that get down there: the inside of a JSON string is walked
// once, and each place of a schema adds what may follow the closing quote.

#include <algorithm>

#include "grammar/closure.h"
#include "grammar/local_mask.h"

namespace oxbow::grammar {

namespace {

// Work of meeting a configuration for the first time in a walk, per thread, in visits of a node.
constexpr uint64_t kConfigurationWork = 32;

}  // namespace

struct Automaton::Walk {
  TokenMask& mask;
  std::vector<uint32_t>* exits = nullptr;
  uint64_t work = 0;
  uint64_t number = 0;  // differs between walks
  uint32_t need = 0;
  size_t most_threads = 0;
  std::vector<ConfigurationId> path = {};  // by depth

  bool is_exhausted() const { return work > kMaxMaskWork; }
};

StackId Automaton::clamp(StackId stack) {
  // Each round of a repetition consumes a byte or more.
  const auto endless = static_cast<uint32_t>(tree_.longest_token_bytes);
  std::vector<StackId> open;
  for (; stacks_[stack].clamped == kUnknown; stack = stacks_[stack].frame.parent) open.push_back(stack);
  StackId result = stacks_[stack].clamped;
  for (size_t i = open.size(); i-- > 0;) {
    auto [parent, at, min, max] = stacks_[open[i]].frame;
    if (max > 0) {
      if (min > endless) min = kUnbounded;
      if (max > endless + 1) max = kUnbounded;
    }
    result = push(result, at, min, max);
    stacks_[open[i]].clamped = result;
  }
  return result;
}

ConfigurationId Automaton::clamp_configuration(ConfigurationId id) {
  if (configurations_[id].clamped != kUnknown) return configurations_[id].clamped;
  std::vector<Thread> clamped;
  for (size_t i = 0; i < configurations_[id].thread_count; ++i) {
    const Thread thread = threads(configurations_[id])[i];
    clamped.push_back({thread.at, clamp(thread.stack)});
  }
  const ConfigurationId to = intern(clamped, configurations_[id].accepts);
  configurations_[id].clamped = to;
  configurations_[to].clamped = to;
  return to;
}

StackId Automaton::common_tail(const Configuration& configuration) const {
  const auto all = threads(configuration);
  if (all.empty()) return kEmptyStack;
  StackId tail = all[0].stack;
  for (const Thread& thread : all) {
    StackId other = thread.stack;
    while (tail != other) {
      if (stacks_[tail].depth >= stacks_[other].depth)
        tail = stacks_[tail].frame.parent;
      else
        other = stacks_[other].frame.parent;
    }
  }
  return tail;
}

StackId Automaton::cut(StackId stack, StackId tail) {
  std::vector<Frame> frames;
  for (; stack != tail; stack = frames.back().parent) frames.push_back(stacks_[stack].frame);
  StackId result = kEmptyStack;
  for (size_t i = frames.size(); i-- > 0;) result = push(result, frames[i].at, frames[i].min, frames[i].max);
  return result;
}

// Visits the nodes [begin, end), whose parent has been reached in `from`. Single bytes are tried even when
// the work is used up: they alone keep every way open.
void Automaton::walk(Walk& walk, uint32_t begin, uint32_t end, ConfigurationId from) {
  if (begin >= end) return;
  const auto& nodes = tree_.nodes;
  const size_t base = nodes[begin].depth - size_t{1};
  walk.path.resize(std::max(walk.path.size(), tree_.longest_token_bytes + 1));
  walk.path[base] = from;
  for (uint32_t at = begin; at < end;) {
    const TokenTree::Node& node = nodes[at];
    ++walk.work;
    const ConfigurationId to =
        walk.is_exhausted() && node.depth > 1 ? kDead : next(walk.path[node.depth - size_t{1}], node.byte);
    if (to == kDead) {
      at = node.end;
      continue;
    }
    Configuration& configuration = configurations_[to];
    if (configuration.walk != walk.number) {
      configuration.walk = walk.number;
      walk.work += kConfigurationWork * configuration.thread_count + program_.class_count;
      walk.need = std::max(walk.need, configuration.need);
      walk.most_threads = std::max<size_t>(walk.most_threads, configuration.thread_count);
    }
    if (configuration.spellable) {
      for (uint32_t i = node.first_token; i < nodes[at + 1].first_token; ++i)
        walk.mask.allow(tree_.tokens[i]);
    }
    if (walk.exits != nullptr && configuration.accepts) walk.exits->push_back(at);
    walk.path[node.depth] = to;
    ++at;
  }
}

const Automaton::Local& Automaton::local(ConfigurationId id) {
  auto& kept = locals_[id];
  if (kept) return *kept;
  auto made = std::make_unique<Local>();
  made->mask = TokenMask(vocabulary_.size());
  Walk all{made->mask, &made->exits, 0, ++walks_};
  walk(all, 1, tree_.nodes[0].end, id);
  made->need = all.need;
  made->most_threads = all.most_threads;
  mask_bytes_ += made->mask.size_bytes() + made->exits.size() * sizeof(uint32_t);
  kept = std::move(made);
  return *kept;
}

bool Automaton::mask_by_parts(ConfigurationId id, TokenMask& mask) {
  const StackId tail = common_tail(configurations_[id]);
  if (tail == kEmptyStack || configurations_[id].accepts) return false;
  std::vector<Thread> top;
  for (size_t i = 0; i < configurations_[id].thread_count; ++i) {
    const Thread thread = threads(configurations_[id])[i];
    top.push_back({thread.at, cut(thread.stack, tail)});
  }
  const Local& part = local(intern(top, false));
  const ConfigurationId below = resume(tail);
  // Where a limit might drop threads of the whole that the parts have, only the whole tells.
  if (stacks_[tail].depth + part.need > kMaxDepth || !stacks_[tail].spellable) return false;
  mask = part.mask;
  Walk rest{mask, nullptr, 0, ++walks_};
  for (const uint32_t exit : part.exits) {
    if (below != kDead) walk(rest, exit + 1, tree_.nodes[exit].end, below);
  }
  return part.most_threads + rest.most_threads <= kMaxThreads;
}

// What follows when everything above the frame on top of `stack` has ended.
ConfigurationId Automaton::resume(StackId stack) {
  closure_->resume(stack);
  return closure_->take();
}

void Automaton::mask_whole(ConfigurationId id, TokenMask& mask) {
  mask = TokenMask(vocabulary_.size());
  Walk all{mask, nullptr, 0, ++walks_};
  walk(all, 1, tree_.nodes[0].end, id);
}

// Control tokens, and the end of the text.
void Automaton::allow_others(const Configuration& configuration, TokenMask& mask) const {
  for (const Thread& thread : threads(configuration)) {
    const Instruction& instruction = program_.code[thread.at];
    if (instruction.op == Op::kToken) mask.allow(static_cast<TokenId>(instruction.first));
  }
  if (!configuration.accepts) return;
  for (const TokenId end : vocabulary_.end_tokens()) mask.allow(end);
}

std::shared_ptr<const TokenMask> Automaton::mask(ConfigurationId id) {
  const std::lock_guard lock(mutex_);
  id = clamp_configuration(id);
  if (!configurations_[id].mask) {
    auto mask = std::make_shared<TokenMask>();
    if (!mask_by_parts(id, *mask)) mask_whole(id, *mask);
    allow_others(configurations_[id], *mask);
    mask_bytes_ += mask->size_bytes();
    configurations_[id].mask = std::move(mask);
  }
  return configurations_[id].mask;
}

}  // namespace oxbow::grammar
