#include "store/redis_store.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"

namespace oxbow::stores {
namespace {

using std::chrono::steady_clock;

// Blocks asked for in one exchange, and in all.
constexpr uint64_t kBlocksAtOnce = 1024;
constexpr uint64_t kMostBlocks = uint64_t{1} << 14;

// Entries kept and taken per block, newest first. Few prompts share a block and end in it, but for the first.
constexpr size_t kEntriesPerBlock = 256;
constexpr size_t kEntryLength = 16 + 32 + 2;
constexpr uint64_t kMostEntries = uint64_t{1} << 16;

constexpr std::chrono::minutes kQuiet{5};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Position, hash and kind, in the spelling of to_name().
std::string entry_of(const Key& key) {
  return fmt::format("{:016x}{}{:02x}", key.position, to_hex(key.hash), key.kind);
}

std::optional<Key> key_of_entry(const Partition& partition, std::string_view entry) {
  if (entry.size() != kEntryLength) return std::nullopt;
  return parse_key(fmt::format("{}-{}-{}-{}", to_hex(partition), entry.substr(0, 16), entry.substr(16, 32),
                               entry.substr(48)));
}

std::string prefix_of(std::span<const std::byte> key) {
  std::string prefix = fmt::format("oxbow:{}:", kContainerVersion);
  if (key.empty()) return prefix;
  HmacSha256 id(key);
  id.update(std::as_bytes(std::span(std::string_view("names of objects"))));
  const Sha256Digest digest = id.digest();
  return prefix + to_hex(std::span(digest).first(8)) + ":";
}

Sha256Digest code_of(std::span<const std::byte> authentication_key, const Key& key,
                     std::span<const std::byte> container) {
  HmacSha256 code(authentication_key);
  code.update(to_bytes(key));
  code.update(container);
  return code.digest();
}

uint64_t milliseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

bool is_one(const RedisReply& reply) {
  return reply.type == RedisReply::Type::kInteger && reply.integer == 1;
}

}  // namespace

RedisStore::RedisStore(RedisOptions options)
    : options_(std::move(options)),
      prefix_(prefix_of(options_.authentication_key)),
      connection_(options_.server, interrupted_) {}

std::string RedisStore::object_name(const Key& key) const {
  return prefix_ + "o:" + to_name(key);
}

std::string RedisStore::index_name(const Partition& partition, const Hash128& block) const {
  return prefix_ + "i:" + to_hex(partition) + ":" + to_hex(block);
}

// Nothing when the server could not be asked.
std::optional<std::vector<RedisReply>> RedisStore::exchange(std::span<const Command> commands,
                                                            const RedisConnection::Limits& limits) {
  if (interrupted_) return std::nullopt;
  auto replies = connection_.exchange(commands, limits);
  if (replies) return std::move(*replies);
  if (steady_clock::now() >= quiet_until_ && !interrupted_) {
    quiet_until_ = steady_clock::now() + kQuiet;
    log(LogLevel::kWarning, "store", "the shared cache is not used for now: {}", replies.error().message);
  }
  return std::nullopt;
}

Result<std::vector<std::byte>> RedisStore::container_of(const Key& key, const Object& object) const {
  const uint64_t size = object.size_bytes();
  if (size > options_.largest_bytes) {
    return fail(ErrorKind::kOutOfBudget, "an object of {} bytes, the shared cache takes {}", size,
                options_.largest_bytes);
  }
  std::vector<std::byte> bytes;
  bytes.reserve(size + sizeof(Sha256Digest));
  OXBOW_TRY(write_object(key, object, [&](std::span<const std::byte> part) -> Status {
    if (interrupted_) return fail(ErrorKind::kInvalidState, "interrupted");
    OXBOW_TRY(check_wanted(object));
    bytes.insert(bytes.end(), part.begin(), part.end());
    return {};
  }));
  if (!options_.authentication_key.empty()) {
    const Sha256Digest code = code_of(options_.authentication_key, key, bytes);
    bytes.insert(bytes.end(), code.begin(), code.end());
  }
  return bytes;
}

Status RedisStore::put(const Key& key, const Object& object) {
  const std::string name = object_name(key);
  const std::string index = index_name(key.partition, object.block_hash);
  const std::string entry = entry_of(key);
  const std::string now = fmt::format("{}", milliseconds_now());
  const std::string last = fmt::format("-{}", kEntriesPerBlock + 1);
  // The server counts this as a use, too.
  const std::vector<Command> touch = {{"TOUCH", name}};
  const auto touched = exchange(touch);
  std::vector<Command> commands = {{"ZADD", index, now, entry}, {"ZREMRANGEBYRANK", index, "0", last}};
  if (touched && is_one(touched->front())) {
    ++counts_.known;
    exchange(commands);
    return {};
  }
  auto bytes =
      touched ? container_of(key, object) : fail(ErrorKind::kIo, "the shared cache cannot be reached");
  if (!bytes) {
    ++counts_.failures;
    return tl::unexpected<Error>(std::move(bytes).error());
  }
  if (object.was_read) object.was_read();
  // Before the index, so that whoever finds the entry finds the object.
  commands.insert(commands.begin(), {"SET", name, text_of(*bytes)});
  const auto replies = exchange(commands);
  if (!replies || replies->front().type != RedisReply::Type::kStatus) {
    ++counts_.failures;
    return fail(ErrorKind::kIo, "the shared cache did not take the object: {}",
                replies ? replies->front().text : "not reached");
  }
  ++counts_.puts;
  counts_.put_bytes += bytes->size();
  return {};
}

std::optional<StoredObject> RedisStore::get(const Key& key, uint64_t most_bytes) {
  const std::string name = object_name(key);
  most_bytes = std::min(most_bytes, options_.largest_bytes);
  if (most_bytes < options_.largest_bytes) {
    // Asked for first, because a reply above the limit costs the connection.
    const std::vector<Command> length = {{"STRLEN", name}};
    const auto replies = exchange(length);
    const bool fits = replies && replies->front().type == Reply::Type::kInteger &&
                      replies->front().integer <= static_cast<int64_t>(most_bytes);
    if (!fits) {
      ++counts_.misses;
      return std::nullopt;
    }
  }
  const std::vector<Command> commands = {{"GET", name}};
  auto replies = exchange(commands, {.bytes = most_bytes + RedisConnection::Limits{}.bytes});
  if (!replies || replies->front().type == RedisReply::Type::kNil) {
    if (replies) forget(key);
    ++counts_.misses;
    return std::nullopt;
  }
  auto object = open(key, std::move(replies->front()));
  if (object) {
    ++counts_.hits;
    counts_.got_bytes += object->size_bytes();
    return std::move(*object);
  }
  ++counts_.misses;
  ++counts_.refused;
  log(LogLevel::kWarning, "store", "refused from the shared cache: {}", object.error().message);
  if (object.error().kind == ErrorKind::kInvalidInput) erase(key);
  return std::nullopt;
}

Result<StoredObject> RedisStore::open(const Key& key, RedisReply reply) const {
  const std::string name = "redis " + object_name(key);
  if (reply.type != RedisReply::Type::kString) {
    return fail(ErrorKind::kIo, "{}: no string: {}", name, reply.text);
  }
  AlignedBuffer bytes = std::move(reply.bytes);
  if (bytes.empty()) {
    if (reply.text.empty()) return fail(ErrorKind::kInvalidInput, "{}: is empty", name);
    bytes = AlignedBuffer::try_allocate(reply.text.size());
    if (bytes.empty()) return fail(ErrorKind::kOutOfBudget, "{}: no memory", name);
    std::memcpy(bytes.data(), reply.text.data(), reply.text.size());
  }
  if (options_.authentication_key.empty()) return StoredObject::open(std::move(bytes), key, name);
  const std::span<const std::byte> all = bytes.as<std::byte>();
  if (all.size() < sizeof(Sha256Digest)) return fail(ErrorKind::kInvalidInput, "{}: carries no code", name);
  const size_t size = all.size() - sizeof(Sha256Digest);
  // Before anything in it is looked at.
  if (!equal_in_constant_time(code_of(options_.authentication_key, key, all.first(size)),
                              all.subspan(size))) {
    return fail(ErrorKind::kInvalidInput, "{}: its code is wrong", name);
  }
  return StoredObject::open(std::move(bytes), key, name, sizeof(Sha256Digest));
}

bool RedisStore::contains(const Key& key) {
  const std::string name = object_name(key);
  const std::vector<Command> commands = {{"EXISTS", name}};
  const auto replies = exchange(commands);
  return replies && is_one(replies->front());
}

std::vector<Key> RedisStore::find(const Query& query) {
  // Ascending, as hash_of wants it; asked for from the longest on.
  std::vector<std::pair<std::string, Hash128>> blocks;
  for (uint64_t at = 0; at <= query.length && blocks.size() < kMostBlocks; at += kBlockItems) {
    const Hash128 hash = query.hash_of(at);
    blocks.emplace_back(index_name(query.partition, hash), hash);
  }
  const std::string last = fmt::format("{}", kEntriesPerBlock - 1);
  std::vector<Key> candidates;
  blocks_.clear();
  for (size_t end = blocks.size(); end > 0;) {
    const size_t begin = end > kBlocksAtOnce ? end - kBlocksAtOnce : 0;
    std::vector<Command> commands;
    for (size_t i = begin; i < end; ++i) commands.push_back({"ZREVRANGE", blocks[i].first, "0", last});
    const auto replies = exchange(commands, {.bytes = uint64_t{16} << 20, .elements = kMostEntries});
    if (!replies) break;
    for (size_t i = begin; i < end; ++i) {
      for (const auto& element : (*replies)[i - begin].elements) {
        const auto key = key_of_entry(query.partition, element->text);
        if (!key || block_begin(key->position) != i * kBlockItems) continue;
        candidates.push_back(*key);
        blocks_.emplace(*key, blocks[i].second);
      }
    }
    end = begin;
  }
  return matches(query, std::move(candidates));
}

void RedisStore::erase(const Key& key) {
  const std::string name = object_name(key);
  const std::vector<Command> commands = {{"DEL", name}};
  exchange(commands);
  forget(key);
}

// Takes the entry out of the index, where its block is known.
void RedisStore::forget(const Key& key) {
  const auto block = blocks_.find(key);
  if (block == blocks_.end()) return;
  const std::string index = index_name(key.partition, block->second);
  const std::string entry = entry_of(key);
  const std::vector<Command> commands = {{"ZREM", index, entry}};
  exchange(commands);
}

}  // namespace oxbow::stores
