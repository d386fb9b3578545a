#pragma once
// What a place that keeps objects can do.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/key.h"
#include "store/object.h"
#include "store/prefix.h"

namespace oxbow::stores {

// Counts since the store was opened; sizes are of now.
struct Statistics {
  uint64_t hits = 0;        // get() gave the object
  uint64_t misses = 0;      // there was none, or the store could not be asked
  uint64_t refused = 0;     // there was one, but damaged, foreign or too large: also a miss
  uint64_t puts = 0;        // objects written
  uint64_t put_bytes = 0;   // as stored
  uint64_t known = 0;       // put() of what was there already
  uint64_t failures = 0;    // put() that failed
  uint64_t evicted = 0;     // to stay within the limit
  uint64_t got_bytes = 0;   // as stored
  uint64_t objects = 0;     // kept now, as far as the store knows
  uint64_t size_bytes = 0;  // of those
};

// A store may lose objects at any time and never hands out a damaged one, or the one of another key. A key
// names its content: putting a key that is there already only makes the object young again. Calls may take
// long (files, network) but not for ever; one thread at a time, except interrupt(). What goes wrong is a
// failed put or a miss, and logged once.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // For logs and metrics: "disk", "redis".
  virtual std::string_view name() const = 0;

  // Errors: kIo when the store cannot take anything now, kOutOfBudget for an object that it never takes.
  virtual Status put(const Key& key, const Object& object) = 0;

  // Nothing for a miss, whatever the reason; an object of more than most_bytes is one.
  virtual std::optional<StoredObject> get(const Key& key, uint64_t most_bytes) = 0;
  std::optional<StoredObject> get(const Key& key) { return get(key, UINT64_MAX); }

  virtual bool contains(const Key& key) = 0;

  // Keys of stored prefixes of the prompt, longest first; of one prefix, kinds ascending. An object may be
  // gone by the time it is asked for.
  virtual std::vector<Key> find(const Query& query) = 0;

  // find() may go on naming the key where only the last find() knew how it is listed; get() is a miss.
  virtual void erase(const Key& key) = 0;

  virtual Statistics statistics() const = 0;

  // Makes a running call and all later ones give up as soon as they can. From any thread; never taken back.
  virtual void interrupt() = 0;
};

}  // namespace oxbow::stores
