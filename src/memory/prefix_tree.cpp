#include "memory/prefix_tree.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace oxbow::memory {
namespace {

constexpr size_t kMostTraces = 1024;
constexpr size_t kMostTraceTokens = size_t{1} << 20;  // traces go while the edges hold more than this
constexpr size_t kNearTokens = kPagePositions;

}  // namespace

// The tokens of the edge that leads here stand at positions [begin, end). Checkpoints of this edge have
// positions in (begin, end].
struct PrefixTree::Node {
  Node* parent = nullptr;
  std::string_view partition;
  size_t begin = 0;
  std::vector<TokenId> edge;
  std::map<TokenId, std::unique_ptr<Node>> children;
  std::vector<std::unique_ptr<Entry>> entries;               // by position
  size_t lowest_floor = std::numeric_limits<size_t>::max();  // of all checkpoints here and below

  size_t end() const { return begin + edge.size(); }
};

// Where a token sequence leaves the tree: `matched` tokens lead into (or to the end of) the edge of `node`.
struct PrefixTree::Walk {
  Node* node = nullptr;
  size_t matched = 0;
};

std::string_view miss_name(Miss miss) {
  switch (miss) {
    case Miss::kNone:
      return "none";
    case Miss::kCold:
      return "cold";
    case Miss::kDiverged:
      return "diverged";
    case Miss::kNoCheckpoint:
      return "no checkpoint";
    case Miss::kEvicted:
      return "evicted";
    case Miss::kOverBudget:
      return "over budget";
    case Miss::kVerifyFailed:
      return "verify failed";
  }
  return "";
}

PrefixTree::PrefixTree() = default;
PrefixTree::~PrefixTree() {
  clear();
}

void PrefixTree::clear() {
  entries_.clear();
  traces_.clear();
  for (auto& [partition, root] : roots_) {
    // Long chains of nodes are taken apart from below: destructors must not recurse along a conversation.
    std::vector<std::unique_ptr<Node>> pending;
    pending.push_back(std::move(root));
    while (!pending.empty()) {
      std::unique_ptr<Node> node = std::move(pending.back());
      pending.pop_back();
      for (auto& [token, child] : node->children) pending.push_back(std::move(child));
    }
  }
  roots_.clear();
  token_count_ = 0;
}

// ---- Lookup
// ------------------------------------------------------------------------------------------------

PrefixTree::Walk PrefixTree::walk(std::string_view partition, std::span<const TokenId> tokens) const {
  const auto root = roots_.find(partition);
  if (root == roots_.end()) return {};
  Walk walk{root->second.get(), 0};
  while (walk.matched < tokens.size()) {
    const auto child = walk.node->children.find(tokens[walk.matched]);
    if (child == walk.node->children.end()) break;
    const std::vector<TokenId>& edge = child->second->edge;
    const auto rest = tokens.subspan(walk.matched);
    const auto mismatch = std::ranges::mismatch(edge, rest);
    walk.node = child->second.get();
    walk.matched += static_cast<size_t>(mismatch.in1 - edge.begin());
    if (mismatch.in1 != edge.end()) break;
  }
  return walk;
}

PrefixTree::Match PrefixTree::match(std::string_view partition, std::span<const TokenId> tokens,
                                    size_t limit) const {
  const Walk at = walk(partition, tokens);
  Match match;
  match.matched = at.matched;
  limit = std::min(limit, at.matched);
  if (at.node == nullptr || limit == 0) {
    match.miss = at.matched == 0 && !tokens.empty() ? Miss::kCold : Miss::kDiverged;
    return match;
  }
  // Entries before `limit` serve up to their own position; later ones, on the way or below, serve all of it.
  Node* top = at.node;
  while (top->parent != nullptr && top->begin >= limit) top = top->parent;
  std::vector<Node*> pending{top};
  while (!pending.empty() && match.reused < limit) {
    Node* node = pending.back();
    pending.pop_back();
    if (node->lowest_floor > limit) continue;
    for (const auto& entry : node->entries) {
      if (entry->gone != Miss::kNone || entry->position < limit || entry->floor > limit) continue;
      match.entry = entry.get();
      match.reused = limit;
      break;
    }
    for (const auto& [token, child] : node->children) pending.push_back(child.get());
  }
  Miss reason = Miss::kNoCheckpoint;
  for (Node* node = top; node != nullptr && match.reused < limit; node = node->parent) {
    for (auto entry = node->entries.rbegin(); entry != node->entries.rend(); ++entry) {
      if ((*entry)->position > limit) continue;
      if ((*entry)->position <= match.reused) break;
      if ((*entry)->gone != Miss::kNone) {
        if (reason == Miss::kNoCheckpoint && match.entry == nullptr) reason = (*entry)->gone;
      } else {
        match.entry = entry->get();
        match.reused = (*entry)->position;
      }
    }
    if (match.entry != nullptr) break;
  }
  if (match.reused < limit) {
    match.miss = reason;
  } else {
    match.miss = limit + 1 < tokens.size() ? Miss::kDiverged : Miss::kNone;
  }
  return match;
}

std::vector<const PrefixTree::Entry*> PrefixTree::on_the_way(std::string_view partition,
                                                             std::span<const TokenId> tokens) const {
  const Walk at = walk(partition, tokens);
  std::vector<const Entry*> found;
  for (const Node* node = at.node; node != nullptr; node = node->parent) {
    for (const auto& entry : node->entries) {
      if (entry->gone == Miss::kNone && entry->position <= at.matched) found.push_back(entry.get());
    }
  }
  std::ranges::sort(found, {}, [](const Entry* entry) { return entry->position; });
  return found;
}

// ---- Change
// ------------------------------------------------------------------------------------------------

// Cuts a node's edge after edge_tokens; returns the new upper node.
PrefixTree::Node* PrefixTree::split(Node& node, size_t edge_tokens) {
  const auto cut = node.edge.begin() + static_cast<ptrdiff_t>(edge_tokens);
  auto upper = std::make_unique<Node>();
  upper->parent = node.parent;
  upper->partition = node.partition;
  upper->begin = node.begin;
  upper->edge.assign(node.edge.begin(), cut);
  upper->lowest_floor = node.lowest_floor;
  node.edge.erase(node.edge.begin(), cut);
  node.edge.shrink_to_fit();
  node.begin += edge_tokens;
  const auto lower_entries =
      std::ranges::find_if(node.entries, [&](const auto& entry) { return entry->position > node.begin; });
  upper->entries.assign(std::make_move_iterator(node.entries.begin()),
                        std::make_move_iterator(lower_entries));
  node.entries.erase(node.entries.begin(), lower_entries);
  for (const auto& entry : upper->entries) entry->node = upper.get();

  Node* result = upper.get();
  std::unique_ptr<Node>& slot = node.parent->children.at(upper->edge.front());
  std::unique_ptr<Node> lower = std::move(slot);
  slot = std::move(upper);
  node.parent = result;
  result->children.emplace(node.edge.front(), std::move(lower));
  update_floor(&node);
  return result;
}

// The node whose edge ends after or contains exactly these tokens; makes what is missing.
PrefixTree::Node* PrefixTree::place(std::string_view partition, std::span<const TokenId> tokens) {
  auto root = roots_.find(partition);
  if (root == roots_.end()) {
    root = roots_.emplace(std::string(partition), std::make_unique<Node>()).first;
    root->second->partition = root->first;
  }
  Walk at = walk(partition, tokens);
  if (at.matched == tokens.size()) return at.node;
  if (at.matched < at.node->end()) at.node = split(*at.node, at.matched - at.node->begin);
  const auto rest = tokens.subspan(at.matched);
  Node* node = at.node;
  const bool extends = node->parent != nullptr && node->children.empty();
  if (extends) {
    node->edge.insert(node->edge.end(), rest.begin(), rest.end());
  } else {
    auto child = std::make_unique<Node>();
    child->parent = node;
    child->partition = node->partition;
    child->begin = node->end();
    child->edge.assign(rest.begin(), rest.end());
    node = node->children.emplace(rest.front(), std::move(child)).first->second.get();
  }
  token_count_ += rest.size();
  return node;
}

void PrefixTree::update_floor(Node* node) {
  for (; node != nullptr; node = node->parent) {
    size_t lowest = std::numeric_limits<size_t>::max();
    for (const auto& entry : node->entries) {
      if (entry->gone == Miss::kNone) lowest = std::min(lowest, entry->floor);
    }
    for (const auto& [token, child] : node->children) lowest = std::min(lowest, child->lowest_floor);
    node->lowest_floor = lowest;
  }
}

PrefixTree::Entry* PrefixTree::insert(std::string_view partition, std::span<const TokenId> tokens,
                                      Checkpoint checkpoint, size_t floor) {
  OXBOW_CHECK(!tokens.empty() && checkpoint.length == tokens.size());
  Node* node = place(partition, tokens);
  auto position = std::ranges::lower_bound(node->entries, tokens.size(), {},
                                           [](const auto& entry) { return entry->position; });
  Entry* entry = nullptr;
  if (position != node->entries.end() && (*position)->position == tokens.size()) {
    entry = position->get();
    if (entry->gone != Miss::kNone) {
      std::erase(traces_, entry);
      entry->gone = Miss::kNone;
      entries_.push_back(entry);
    } else if (entry->floor <= floor) {
      return entry;
    }
  } else {
    entry = node->entries.insert(position, std::make_unique<Entry>())->get();
    entry->position = tokens.size();
    entry->node = node;
    entries_.push_back(entry);
  }
  entry->checkpoint = std::move(checkpoint);
  entry->floor = floor;
  entry->clock = clock_;
  drop_superfluous(*entry);
  update_floor(entry->node);
  refresh(*entry);
  return entry;
}

// Checkpoints shortly before `entry` that it serves as well: it can be cut to their positions.
void PrefixTree::drop_superfluous(const Entry& entry) {
  std::vector<Entry*> superfluous;
  for (Node* node = entry.node; node != nullptr && node->end() + kNearTokens > entry.position;
       node = node->parent) {
    for (const auto& other : node->entries) {
      const bool covered = other->position < entry.position && other->position >= entry.floor &&
                           other->position + kNearTokens > entry.position && other->floor >= entry.floor;
      if (covered && other->gone == Miss::kNone) superfluous.push_back(other.get());
    }
  }
  for (Entry* other : superfluous) erase_entry(*other);
}

void PrefixTree::leave_trace(std::string_view partition, std::span<const TokenId> tokens, Miss reason) {
  Node* node = place(partition, tokens);
  auto position = std::ranges::lower_bound(node->entries, tokens.size(), {},
                                           [](const auto& entry) { return entry->position; });
  if (position != node->entries.end() && (*position)->position == tokens.size()) return;
  Entry* entry = node->entries.insert(position, std::make_unique<Entry>())->get();
  entry->position = tokens.size();
  entry->gone = reason;
  entry->node = node;
  traces_.push_back(entry);
  limit_traces();
}

void PrefixTree::remove(Entry& entry, Miss reason) {
  std::erase(entries_, &entry);
  entry.checkpoint = Checkpoint();
  entry.gone = reason;
  traces_.push_back(&entry);
  update_floor(entry.node);
  limit_traces();
}

void PrefixTree::erase_entry(Entry& entry) {
  if (entry.gone == Miss::kNone) {
    std::erase(entries_, &entry);
  } else {
    std::erase(traces_, &entry);
  }
  Node* node = entry.node;
  std::erase_if(node->entries, [&](const auto& other) { return other.get() == &entry; });
  update_floor(node);
  prune(node);
}

void PrefixTree::forget(std::string_view partition, std::span<const TokenId> tokens) {
  const Walk at = walk(partition, tokens);
  if (at.node == nullptr || !at.node->children.empty()) return;
  std::vector<Entry*> going;
  for (Node* node = at.node; node->parent != nullptr; node = node->parent) {
    for (const auto& entry : node->entries) {
      if (entry->position > at.matched) return;
      going.push_back(entry.get());
    }
    if (node->parent->children.size() > 1) break;
  }
  for (Entry* entry : going) erase_entry(*entry);
}

// Shortens an edge whose end no entry needs any more, and takes out nodes that nothing needs, the root of a
// partition last.
void PrefixTree::prune(Node* node) {
  while (node->parent != nullptr && node->children.empty()) {
    const size_t needed = node->entries.empty() ? 0 : node->entries.back()->position - node->begin;
    token_count_ -= node->edge.size() - needed;
    if (needed > 0) {
      node->edge.resize(needed);
      return;
    }
    Node* parent = node->parent;
    parent->children.erase(parent->children.find(node->edge.front()));
    node = parent;
  }
  if (node->parent == nullptr && node->children.empty()) roots_.erase(roots_.find(node->partition));
}

void PrefixTree::limit_traces() {
  while (!traces_.empty() && (traces_.size() > kMostTraces || token_count_ > kMostTraceTokens)) {
    erase_entry(*traces_.front());
  }
}

// ---- Worth
// -------------------------------------------------------------------------------------------------

namespace {

// Position of the nearest checkpoint before `position` on the way to it.
size_t nearest_before(const PrefixTree::Node* node, size_t position);

}  // namespace

void PrefixTree::touch(Entry& entry) {
  ++entry.hits;
  entry.clock = clock_;
  refresh(entry);
}

void PrefixTree::refresh(Entry& entry) {
  // A block that several hold counts for its share.
  double bytes = 1;
  entry.checkpoint.for_each_block(
      [&](const BlockRef& block) { bytes += static_cast<double>(block.size_bytes()) / block.references(); });
  entry.bytes = static_cast<size_t>(bytes);
  const size_t saved = entry.position - nearest_before(entry.node, entry.position);
  entry.priority = entry.clock + entry.hits * static_cast<double>(saved) / bytes;
}

double PrefixTree::worth(std::string_view partition, std::span<const TokenId> tokens, size_t bytes) const {
  const Walk at = walk(partition, tokens);
  const size_t before = at.node == nullptr ? 0 : nearest_before(at.node, at.matched + 1);
  return clock_ +
         static_cast<double>(tokens.size() - before) / static_cast<double>(std::max<size_t>(bytes, 1));
}

namespace {

size_t nearest_before(const PrefixTree::Node* node, size_t position) {
  for (; node != nullptr; node = node->parent) {
    for (auto entry = node->entries.rbegin(); entry != node->entries.rend(); ++entry) {
      if ((*entry)->position < position && (*entry)->gone == Miss::kNone) return (*entry)->position;
    }
  }
  return 0;
}

}  // namespace

bool PrefixTree::frees_memory(const Entry& entry) {
  bool frees = false;
  entry.checkpoint.for_each_block([&](const BlockRef& block) { frees |= !block.is_shared(); });
  return frees;
}

PrefixTree::Entry* PrefixTree::victim(double below) {
  for (;;) {
    Entry* least = nullptr;
    Entry* least_freeing = nullptr;
    for (Entry* entry : entries_) {
      if (entry->priority >= below) continue;
      if (least == nullptr || entry->priority < least->priority) least = entry;
      const bool better = least_freeing == nullptr || entry->priority < least_freeing->priority;
      if (better && frees_memory(*entry)) least_freeing = entry;
    }
    Entry* victim = least_freeing != nullptr ? least_freeing : least;
    if (victim == nullptr) return nullptr;
    // Its worth may have grown since it was computed, when an earlier checkpoint went.
    const double before = victim->priority;
    refresh(*victim);
    if (victim->priority <= before * 1.01) return victim;
  }
}

void PrefixTree::pass_over(double worth) {
  clock_ += (worth - clock_) / static_cast<double>(std::max<size_t>(entries_.size(), 1));
}

void PrefixTree::evict(Entry& entry) {
  clock_ = std::max(clock_, entry.priority);
  remove(entry, Miss::kEvicted);
}

std::vector<TokenId> PrefixTree::tokens_of(const Entry& entry) {
  std::vector<TokenId> tokens(entry.position);
  for (const Node* node = entry.node; node->parent != nullptr; node = node->parent) {
    const size_t count = std::min(node->edge.size(), tokens.size() - node->begin);
    std::copy_n(node->edge.begin(), count, tokens.begin() + static_cast<ptrdiff_t>(node->begin));
  }
  return tokens;
}

std::string_view PrefixTree::partition_of(const Entry& entry) {
  return entry.node->partition;
}

}  // namespace oxbow::memory
