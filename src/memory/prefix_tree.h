#pragma once
// All kept checkpoints, keyed by the tokens before them: a radix tree (compressed trie) of token ids for each
// partition.
//
// Pages and states are counted blocks that checkpoints share, so the tree holds checkpoints only: a page
// lives as long as a checkpoint or a sequence needs it, and splitting an edge moves references and copies
// nothing.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/checkpoint.h"
#include "memory/state_spec.h"

namespace oxbow::memory {

// Why a prompt was not reused further than it was.
enum class Miss {
  kNone,          // everything but the last token was reused
  kCold,          // nothing of it was known
  kDiverged,      // reused up to the token where it leaves what is known
  kNoCheckpoint,  // more tokens were known, but no state was kept near enough
  kEvicted,       // a nearer checkpoint had to make room
  kOverBudget,    // a nearer checkpoint was never kept because it did not fit
  kVerifyFailed,  // a nearer checkpoint did not pass verification
};
inline constexpr size_t kMissReasons = 7;
std::string_view miss_name(Miss miss);

// One thread owns a tree.
class PrefixTree {
 public:
  struct Node;
  // A checkpoint in the tree, or the trace of one that is gone (Miss says why), kept to explain misses.
  struct Entry {
    Checkpoint checkpoint;
    size_t position = 0;
    size_t floor = 0;  // the checkpoint can be cut to [floor, position]
    size_t bytes = 0;  // what it held alone when its priority was computed
    double clock = 0;  // when it was last used
    double priority = 0;
    double hits = 1;
    Miss gone = Miss::kNone;
    Node* node = nullptr;
  };

  struct Match {
    size_t matched = 0;      // leading tokens that are known
    Entry* entry = nullptr;  // the best checkpoint, or none
    size_t reused = 0;       // its clone to this length is a prefix of the prompt
    Miss miss = Miss::kCold;
  };

  PrefixTree();
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest known prefix of `tokens`, and the checkpoint that serves the most of its first `limit`
  // tokens.
  Match match(std::string_view partition, std::span<const TokenId> tokens, size_t limit) const;

  // All checkpoints after prefixes of `tokens`, by position.
  std::vector<const Entry*> on_the_way(std::string_view partition, std::span<const TokenId> tokens) const;

  // Keeps a checkpoint after `tokens` (checkpoint.length of them, at least one). One that stands at the same
  // place stays, unless the new one can be cut further back. Checkpoints that the new one makes superfluous
  // go.
  Entry* insert(std::string_view partition, std::span<const TokenId> tokens, Checkpoint checkpoint,
                size_t floor);
  // Remembers that no checkpoint was kept here.
  void leave_trace(std::string_view partition, std::span<const TokenId> tokens, Miss reason);
  // See Memory::forget. No trace stays.
  void forget(std::string_view partition, std::span<const TokenId> tokens);
  void touch(Entry& entry);
  void remove(Entry& entry, Miss reason);

  // What a checkpoint of `bytes` after `tokens` would be worth (GreedyDual-Size-Frequency, Cherkasova 1998:
  // clock + uses * tokens saved over the nearest earlier checkpoint / bytes).
  double worth(std::string_view partition, std::span<const TokenId> tokens, size_t bytes) const;
  // The entry to evict next: the least worth of those whose going frees memory, else the least worth of all;
  // none when the tree is empty or when everything is worth at least `below`.
  Entry* victim(double below);
  // A checkpoint of this worth was not kept, since everything there is worth more: the clock moves as far as
  // it does on average when one is kept and another goes, so that what is never used cannot stay for ever.
  void pass_over(double worth);
  // Takes the victim out and raises the clock to its worth.
  void evict(Entry& entry);

  void clear();
  size_t size() const { return entries_.size(); }  // checkpoints
  size_t token_count() const { return token_count_; }
  const std::vector<Entry*>& entries() const { return entries_; }
  // Whether a block of the entry is held by nobody else.
  static bool frees_memory(const Entry& entry);
  // The tokens before an entry.
  static std::vector<TokenId> tokens_of(const Entry& entry);
  static std::string_view partition_of(const Entry& entry);

 private:
  struct Walk;
  Walk walk(std::string_view partition, std::span<const TokenId> tokens) const;
  Node* place(std::string_view partition, std::span<const TokenId> tokens);
  Node* split(Node& node, size_t edge_tokens);
  void erase_entry(Entry& entry);
  void prune(Node* node);
  static void update_floor(Node* node);
  void drop_superfluous(const Entry& entry);
  void refresh(Entry& entry);
  void limit_traces();

  std::map<std::string, std::unique_ptr<Node>, std::less<>> roots_;
  std::vector<Entry*> entries_;  // checkpoints; traces are not among them
  std::deque<Entry*> traces_;    // oldest first
  double clock_ = 0;
  size_t token_count_ = 0;  // on all edges
};

}  // namespace oxbow::memory
