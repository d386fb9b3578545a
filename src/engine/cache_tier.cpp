#include "engine/cache_tier.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "memory/snapshot.h"
#include "store/prefix.h"

namespace oxbow::engine {
namespace {

constexpr uint8_t kCheckpointKey = 1;
constexpr uint8_t kSegmentKey = 2;
constexpr size_t kMostRemembered = 1 << 16;
// What was offered is not offered again for this long. Later it is, which makes it young in a store that has
// it, and brings it back to one that lost it.
constexpr std::chrono::minutes kNotAgain{1};
// How long a request that needs memory waits for a piece of a write.
constexpr std::chrono::milliseconds kLetGo{200};

using memory::snapshot::kSegmentTokens;

Hash128 hash_of(std::span<const TokenId> tokens) {
  return hash128(std::as_bytes(tokens));
}

stores::Key make_key(const stores::Partition& id, std::span<const TokenId> tokens, uint8_t kind) {
  return {id, tokens.size(), hash_of(tokens), kind};
}

// What an object shows of memory, and what keeps that in place. Made and destroyed on the engine's thread.
struct Offered {
  std::vector<TokenId> tokens;
  memory::Checkpoint checkpoint;
  memory::SnapshotSections sections;
};

size_t bytes_of(const memory::Checkpoint& checkpoint) {
  size_t bytes = 0;
  checkpoint.for_each_block([&](const memory::BlockRef& block) { bytes += block.size_bytes(); });
  return bytes;
}

bool is_in_segments(const memory::KvGroup& group) {
  return group.window_tokens == 0;
}

// What the object of a checkpoint shows: without the pages that lie in segments.
memory::Checkpoint without_segments(const memory::Checkpoint& checkpoint,
                                    const memory::MemoryLayout& layout) {
  memory::Checkpoint rest = checkpoint.clone(checkpoint.length);
  for (size_t g = 0; g < rest.pages.size(); ++g) {
    if (!is_in_segments(layout.groups()[g])) continue;
    const size_t count = rest.length / kSegmentTokens * memory::snapshot::kSegmentPages;
    for (size_t page = 0; page < count; ++page) rest.pages[g].blocks[page] = memory::BlockRef();
  }
  return rest;
}

// The pages of one segment.
memory::Checkpoint segment_of(const memory::Checkpoint& checkpoint, size_t end,
                              const memory::MemoryLayout& layout) {
  memory::Checkpoint segment;
  segment.length = end;
  const size_t first = end / memory::kPagePositions - memory::snapshot::kSegmentPages;
  for (size_t g = 0; g < checkpoint.pages.size(); ++g) {
    memory::PageRun run;
    run.first = first;
    for (size_t i = 0; is_in_segments(layout.groups()[g]) && i < memory::snapshot::kSegmentPages; ++i)
      run.blocks.push_back(checkpoint.pages[g].at(first + i).share());
    segment.pages.push_back(std::move(run));
  }
  return segment;
}

stores::QueueOptions queue_options(const memory::Memory& memory) {
  stores::QueueOptions options;
  options.limit_bytes = std::min<uint64_t>(options.limit_bytes, memory.pool().budget_bytes() / 4);
  return options;
}

}  // namespace

CacheTier::CacheTier(memory::Memory& memory, const stores::Fingerprint& fingerprint,
                     std::unique_ptr<stores::BlobStore> store)
    : memory_(memory),
      fingerprint_(fingerprint),
      name_(store->name()),
      thread_(std::move(store), queue_options(memory)) {
  for (const memory::KvGroup& group : memory.layout().groups()) has_segments_ |= is_in_segments(group);
}

CacheTier::~CacheTier() {
  thread_.stop(std::chrono::seconds(10));
}

stores::Partition CacheTier::partition_id(std::string_view partition) const {
  Hasher hasher;
  hasher.update(fingerprint_);
  hasher.update(std::as_bytes(std::span(partition)));
  const Hash128 hash = hasher.digest128();
  stores::Partition id;
  std::memcpy(id.data(), &hash.low, sizeof(hash.low));
  std::memcpy(id.data() + sizeof(hash.low), &hash.high, sizeof(hash.high));
  return id;
}

bool CacheTier::is_checkpoint(const stores::Key& key) {
  return key.kind == kCheckpointKey;
}

stores::Key CacheTier::segment_key(std::string_view partition, std::span<const TokenId> tokens) const {
  return make_key(partition_id(partition), tokens, kSegmentKey);
}

stores::Pending<std::vector<stores::Key>> CacheTier::find(std::string_view partition,
                                                          std::span<const TokenId> prompt) {
  return thread_.find(stores::prefix_query(partition_id(partition), prompt));
}

bool CacheTier::was_offered(const stores::Key& key) {
  if (offered_.size() >= kMostRemembered) offered_.clear();
  const auto now = Clock::now();
  const auto [at, added] = offered_.emplace(key, now);
  if (added) return false;
  if (now - at->second < kNotAgain) return true;
  at->second = now;
  return false;
}

bool CacheTier::give_up(bool required) {
  if (collect()) return true;
  if (const auto key = thread_.give_up()) {
    offered_.erase(*key);
    return true;
  }
  if (!required) return false;
  if (const auto key = thread_.let_go(kLetGo)) {
    offered_.erase(*key);
    return collect();
  }
  return false;
}

void CacheTier::offer(std::string_view partition, std::span<const TokenId> tokens,
                      const memory::Checkpoint& checkpoint, stores::Urgency urgency) {
  collect();
  const stores::Partition id = partition_id(partition);
  const stores::Key key = make_key(id, tokens, kCheckpointKey);
  if (was_offered(key)) return;
  if (has_segments_) offer_segments(id, tokens, checkpoint, urgency);
  auto offered = std::make_shared<Offered>();
  offered->tokens.assign(tokens.begin(), tokens.end());
  offered->checkpoint = without_segments(checkpoint, memory_.layout());
  stores::Object object;
  object.kind = stores::ObjectKind::kCheckpoint;
  object.fingerprint = fingerprint_;
  object.block_hash = hash_of(tokens.first(stores::block_begin(tokens.size())));
  const size_t size_bytes = bytes_of(offered->checkpoint);
  const auto produce = [offered, object, layout = &memory_.layout()]() mutable {
    const memory::Checkpoint* one = &offered->checkpoint;
    offered->sections = memory::snapshot_sections(*layout, offered->tokens, {&one, 1}, true);
    object.sections = offered->sections.sections;
    object.owner = offered;
    return object;
  };
  offered.reset();
  if (!thread_.offer(key, size_bytes, produce, urgency)) offered_.erase(key);
}

void CacheTier::offer_segments(const stores::Partition& id, std::span<const TokenId> tokens,
                               const memory::Checkpoint& checkpoint, stores::Urgency urgency) {
  for (size_t end = kSegmentTokens; end <= checkpoint.length; end += kSegmentTokens) {
    const stores::Key key = make_key(id, tokens.first(end), kSegmentKey);
    if (was_offered(key)) continue;
    auto offered = std::make_shared<Offered>();
    offered->tokens.assign(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(end));
    offered->checkpoint = segment_of(checkpoint, end, memory_.layout());
    offered->sections = memory::segment_sections(memory_.layout(), offered->tokens, offered->checkpoint, end);
    stores::Object object;
    object.kind = stores::ObjectKind::kSegment;
    object.fingerprint = fingerprint_;
    object.block_hash = key.hash;
    object.sections = offered->sections.sections;
    object.owner = offered;
    offered.reset();
    if (!thread_.offer(key, std::move(object), urgency)) offered_.erase(key);
  }
}

}  // namespace oxbow::engine
