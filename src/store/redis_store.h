#pragma once
// Objects in a Redis or Valkey server (--cache-redis), shared by any number of machines.

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "store/blob_store.h"
#include "store/redis_connection.h"
#include "store/redis_options.h"

namespace oxbow::stores {

// Keys in the server, after "oxbow:VERSION:" or, with an authentication key, "oxbow:VERSION:ID:":
//   o:NAME              an object: its container and, with a key, the code of NAME's key bytes and container
//   i:PARTITION:HASH    which objects lie in a block of 64 positions: HASH is that of the 64 k tokens before
//   the
//                       block, the value a sorted set of POSITION HASH KIND in hexadecimal by time of the put
// So one pipelined request finds all candidates of a prompt. Entries whose objects are gone are misses and
// are removed when met. Expiry is the server's (maxmemory, maxmemory-policy). An unreachable, slow or lying
// server is a miss and a failed put, within the limits that RedisConnection states.
class RedisStore final : public BlobStore {
 public:
  // Connects at the first use.
  explicit RedisStore(RedisOptions options);

  std::string_view name() const override { return "redis"; }
  Status put(const Key& key, const Object& object) override;
  using BlobStore::get;
  std::optional<StoredObject> get(const Key& key, uint64_t most_bytes) override;
  bool contains(const Key& key) override;
  std::vector<Key> find(const Query& query) override;
  void erase(const Key& key) override;
  Statistics statistics() const override { return counts_; }
  void interrupt() override { interrupted_ = true; }

 private:
  using Reply = RedisReply;
  using Command = RedisConnection::Command;

  std::optional<std::vector<Reply>> exchange(std::span<const Command> commands,
                                             const RedisConnection::Limits& limits = {});
  Status put_bytes(const Key& key, std::span<const std::byte> bytes);
  Result<std::vector<std::byte>> container_of(const Key& key, const Object& object) const;
  Result<StoredObject> open(const Key& key, Reply reply) const;
  std::string object_name(const Key& key) const;
  std::string index_name(const Partition& partition, const Hash128& block) const;
  void forget(const Key& key);

  RedisOptions options_;
  std::string prefix_;
  std::atomic<bool> interrupted_{false};
  RedisConnection connection_;
  Statistics counts_;
  std::map<Key, Hash128> blocks_;                        // of the candidates of the last find()
  std::chrono::steady_clock::time_point quiet_until_{};  // no second warning before
};

}  // namespace oxbow::stores
