#include "grammar/automaton.h"

#include <algorithm>
#include <unordered_set>

#include "grammar/closure.h"
#include "grammar/local_mask.h"

namespace oxbow::grammar {

namespace {

// What an automaton keeps before its sequences move to a fresh one.
constexpr size_t kMaxKeptBytes = size_t{8} << 20;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

}  // namespace

size_t Automaton::FrameHash::operator()(const Frame& frame) const {
  return mix(mix(mix(1, frame.parent), uint64_t{frame.at} << 32 | frame.min), frame.max);
}

Automaton::Automaton(const Program& program, const GrammarVocabulary& vocabulary)
    : program_(program),
      vocabulary_(vocabulary),
      tree_(vocabulary.tree()),
      closure_(std::make_unique<Closure>(*this)) {
  stacks_.push_back({{kEmptyStack, 0, 0, 0}, 1, 0, 0, kEmptyStack, true});
  configurations_.emplace_back();  // kDead
  closure_->add(program_.rules[0], kEmptyStack);
  start_ = closure_->take();
}

Automaton::~Automaton() = default;

StackId Automaton::push(StackId parent, Address at, uint32_t min, uint32_t max) {
  const Frame frame{parent, at, min, max};
  const auto [place, is_new] = stack_ids_.try_emplace(frame, static_cast<StackId>(stacks_.size()));
  if (!is_new) return place->second;
  const Stack& below = stacks_[parent];
  Stack stack{frame,           mix(mix(mix(below.hash, at), min), max),
              below.depth + 1, std::max(below.need, below.depth + program_.height[at]),
              kUnknown,        below.spellable && program_.spellable[at]};
  if (max > 0) {
    // Another round may be needed at this depth.
    const Address body = program_.code[at].first;
    const Address next = program_.code[at].next;
    const uint32_t round = min > 1 ? stack.depth + program_.height[body] : 0;
    stack.need = std::max({below.need, below.depth + program_.height[next], round});
    stack.spellable = below.spellable && program_.spellable[next] && (min <= 1 || program_.spellable[body]);
  }
  stacks_.push_back(stack);
  return place->second;
}

void Automaton::order(std::vector<Thread>& threads) const {
  std::ranges::sort(threads, [&](const Thread& a, const Thread& b) {
    if (a.at != b.at) return a.at < b.at;
    const uint64_t x = stacks_[a.stack].hash, y = stacks_[b.stack].hash;
    return x != y ? x < y : a.stack < b.stack;
  });
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
}

ConfigurationId Automaton::intern(std::vector<Thread>& threads, bool accepts) {
  if (threads.size() > kMaxThreads) {
    std::unordered_set<uint64_t> seen;
    std::erase_if(threads, [&](const Thread& thread) {
      return !seen.insert(uint64_t{thread.at} << 32 | thread.stack).second;
    });
    if (threads.size() > kMaxThreads) threads.resize(kMaxThreads);
  }
  if (threads.empty() && !accepts) return kDead;
  order(threads);
  uint64_t hash = accepts ? 1 : 0;
  for (const Thread& thread : threads) hash = mix(hash, uint64_t{thread.at} << 32 | thread.stack);
  const auto [first, last] = configuration_ids_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Configuration& old = configurations_[known->second];
    if (old.accepts == accepts && std::ranges::equal(this->threads(old), threads)) return known->second;
  }
  Configuration added;
  added.first_thread = static_cast<uint32_t>(threads_.size());
  added.thread_count = static_cast<uint32_t>(threads.size());
  added.accepts = added.spellable = accepts;
  for (const Thread& thread : threads) {
    const Stack& stack = stacks_[thread.stack];
    added.need = std::max({added.need, stack.depth + program_.height[thread.at], stack.need});
    added.spellable = added.spellable || (stack.spellable && program_.spellable[thread.at]);
  }
  threads_.insert(threads_.end(), threads.begin(), threads.end());
  const auto id = static_cast<ConfigurationId>(configurations_.size());
  configurations_.push_back(std::move(added));
  configuration_ids_.emplace(hash, id);
  return id;
}

ConfigurationId Automaton::next(ConfigurationId from, uint8_t byte) {
  Configuration& configuration = configurations_[from];
  if (configuration.table == kUnknown) {
    configuration.table = static_cast<uint32_t>(tables_.size());
    tables_.resize(tables_.size() + program_.class_count, kUnknown);
  }
  const size_t place = configuration.table + program_.byte_class[byte];
  if (tables_[place] == kUnknown) {
    const ConfigurationId to = compute_next(from, byte);
    tables_[place] = to;
  }
  return tables_[place];
}

ConfigurationId Automaton::compute_next(ConfigurationId from, uint8_t byte) {
  const Configuration& configuration = configurations_[from];
  // Threads are added to the end of threads_ only by take(): the span stays good until then.
  for (const Thread& thread : threads(configuration)) {
    const Instruction& instruction = program_.code[thread.at];
    if (instruction.op != Op::kEdges) continue;
    const auto edges = std::span(program_.edges).subspan(instruction.first, instruction.count);
    const auto edge =
        std::ranges::lower_bound(edges, byte, {}, [](const Edge& candidate) { return candidate.last; });
    if (edge != edges.end() && edge->first <= byte) closure_->add(edge->next, thread.stack);
  }
  return closure_->take();
}

ConfigurationId Automaton::step(ConfigurationId from, TokenId token) {
  const std::lock_guard lock(mutex_);
  const std::string_view bytes = vocabulary_.bytes(token);
  ConfigurationId to = from;
  if (bytes.empty()) {
    for (const Thread& thread : threads(configurations_[from])) {
      const Instruction& instruction = program_.code[thread.at];
      if (instruction.op == Op::kToken && instruction.first == static_cast<uint32_t>(token))
        closure_->add(instruction.next, thread.stack);
    }
    return closure_->take();
  }
  for (size_t i = 0; i < bytes.size() && to != kDead; ++i) to = next(to, static_cast<uint8_t>(bytes[i]));
  return to != kDead && configurations_[to].spellable ? to : kDead;
}

bool Automaton::accepts(ConfigurationId id) {
  const std::lock_guard lock(mutex_);
  return configurations_[id].accepts;
}

bool Automaton::is_final(ConfigurationId id) {
  const std::lock_guard lock(mutex_);
  return configurations_[id].thread_count == 0;
}

bool Automaton::is_full() {
  const std::lock_guard lock(mutex_);
  constexpr size_t kMapNode = 32;
  const size_t kept = mask_bytes_ + tables_.size() * sizeof(ConfigurationId) +
                      stacks_.size() * (sizeof(Stack) + sizeof(Frame) + kMapNode) +
                      configurations_.size() * (sizeof(Configuration) + kMapNode) +
                      threads_.size() * sizeof(Thread);
  return kept > kMaxKeptBytes;
}

ConfigurationId Automaton::import(Automaton& other, ConfigurationId id) {
  if (&other == this) return id;
  const std::scoped_lock lock(mutex_, other.mutex_);
  const Configuration& configuration = other.configurations_[id];
  std::vector<Thread> moved;
  for (const Thread& thread : other.threads(configuration)) {
    std::vector<Frame> frames;
    for (StackId stack = thread.stack; stack != kEmptyStack; stack = frames.back().parent)
      frames.push_back(other.stacks_[stack].frame);
    StackId stack = kEmptyStack;
    for (size_t i = frames.size(); i-- > 0;) stack = push(stack, frames[i].at, frames[i].min, frames[i].max);
    moved.push_back({thread.at, stack});
  }
  return intern(moved, configuration.accepts);
}

}  // namespace oxbow::grammar
