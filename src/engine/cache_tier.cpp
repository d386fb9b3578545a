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
constexpr size_t kMostAttempts = 3;
constexpr size_t kWorthRecallingTokens = 16;  // less is evaluated faster than fetched

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

}  // namespace

CacheTier::CacheTier(memory::Memory& memory, const stores::Fingerprint& fingerprint,
                     std::unique_ptr<stores::BlobStore> store)
    : memory_(memory), fingerprint_(fingerprint), name_(store->name()), thread_(std::move(store)) {
  for (const memory::KvGroup& group : memory.layout().groups()) has_segments_ |= group.window_tokens == 0;
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

bool CacheTier::was_offered(const stores::Key& key) {
  if (offered_.size() >= kMostRemembered) offered_.clear();
  return !offered_.insert(key).second;
}

void CacheTier::offer(std::string_view partition, std::span<const TokenId> tokens,
                      const memory::Checkpoint& checkpoint) {
  thread_.collect();
  const stores::Partition id = partition_id(partition);
  const stores::Key key = make_key(id, tokens, kCheckpointKey);
  if (was_offered(key)) return;
  if (has_segments_) offer_segments(id, tokens, checkpoint);
  auto offered = std::make_shared<Offered>();
  offered->tokens.assign(tokens.begin(), tokens.end());
  offered->checkpoint = checkpoint.clone(checkpoint.length);
  stores::Object object;
  object.kind = stores::ObjectKind::kCheckpoint;
  object.fingerprint = fingerprint_;
  object.block_hash = hash_of(tokens.first(stores::block_begin(tokens.size())));
  const auto produce = [offered, object, layout = &memory_.layout()]() mutable {
    const memory::Checkpoint* one = &offered->checkpoint;
    offered->sections = memory::snapshot_sections(*layout, offered->tokens, {&one, 1}, true);
    object.sections = offered->sections.sections;
    object.owner = offered;
    return object;
  };
  if (!thread_.offer(key, bytes_of(checkpoint), produce)) offered_.erase(key);
}

void CacheTier::offer_segments(const stores::Partition& id, std::span<const TokenId> tokens,
                               const memory::Checkpoint& checkpoint) {
  for (size_t end = kSegmentTokens; end <= checkpoint.length; end += kSegmentTokens) {
    const stores::Key key = make_key(id, tokens.first(end), kSegmentKey);
    if (was_offered(key)) continue;
    auto offered = std::make_shared<Offered>();
    offered->tokens.assign(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(end));
    offered->checkpoint = checkpoint.clone(checkpoint.length);
    offered->sections = memory::segment_sections(memory_.layout(), offered->tokens, offered->checkpoint, end);
    stores::Object object;
    object.kind = stores::ObjectKind::kSegment;
    object.fingerprint = fingerprint_;
    object.block_hash = key.hash;
    object.sections = offered->sections.sections;
    object.owner = offered;
    if (!thread_.offer(key, std::move(object))) offered_.erase(key);
  }
}

size_t CacheTier::recall(std::string_view partition, std::span<const TokenId> prompt,
                         std::chrono::milliseconds patience) {
  thread_.collect();
  if (prompt.empty()) return 0;
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  const size_t known = memory_.known(prompt, partition).reused;
  const size_t limit = prompt.size() - 1;
  if (limit < known + kWorthRecallingTokens) return 0;
  auto pending = thread_.find(stores::prefix_query(partition_id(partition), prompt.first(limit)));
  if (!pending.wait_for(patience)) return 0;
  size_t attempts = 0;
  for (const stores::Key& key : pending.take()) {
    if (key.kind != kCheckpointKey || key.position < known + kWorthRecallingTokens || key.position > limit)
      continue;
    if (admit(key, partition, prompt.first(key.position), deadline)) return key.position;
    if (++attempts == kMostAttempts) break;
  }
  return 0;
}

bool CacheTier::admit(const stores::Key& key, std::string_view partition, std::span<const TokenId> tokens,
                      Deadline deadline) {
  const auto left = [&] {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(deadline - now, Deadline::duration(0)));
  };
  std::vector<stores::Pending<std::optional<stores::StoredObject>>> pending;
  pending.push_back(thread_.fetch(key));
  for (size_t end = kSegmentTokens; has_segments_ && end <= tokens.size(); end += kSegmentTokens)
    pending.push_back(thread_.fetch(make_key(key.partition, tokens.first(end), kSegmentKey)));
  std::vector<std::optional<stores::StoredObject>> objects;
  for (auto& one : pending) {
    if (!one.wait_for(left())) return false;
    objects.push_back(one.take());
    if (!objects.back() || objects.back()->reader().fingerprint() != fingerprint_) return false;
  }
  std::vector<const stores::ContainerReader*> segments;
  for (size_t i = 1; i < objects.size(); ++i) segments.push_back(&objects[i]->reader());
  const Status admitted = memory_.admit(tokens, objects.front()->reader(), segments, partition);
  if (!admitted && admitted.error().kind == ErrorKind::kInvalidInput) thread_.erase(key);
  return admitted.has_value();
}

}  // namespace oxbow::engine
