#pragma once
// A store behind a thread of its own, so that no step of the engine waits for a disk or a network.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "store/blob_store.h"
#include "store/pending.h"

namespace oxbow::stores {

enum class Urgency {
  kNormal,
  kIdle,  // written when nothing else waits, dropped first
};

struct QueueOptions {
  // Of objects that wait or are being written, and of those let go of that were not collected yet.
  uint64_t limit_bytes = uint64_t{256} << 20;
  size_t limit_objects = 256;
  // Of fetches, finds and erasures that wait.
  size_t limit_requests = 256;
};

struct QueueStatistics {
  uint64_t offered = 0;
  uint64_t dropped = 0;    // offers that found the queue full or the thread stopping
  uint64_t given_up = 0;   // offers that waited or were being written, and had to go
  uint64_t abandoned = 0;  // offers and requests that stop() gave up
  uint64_t objects = 0;    // that count towards the limits now
  uint64_t size_bytes = 0;
};

// Requests are served before offers, each kind in order; idle offers come last. All functions may be called
// from any thread (stop() and the destructor from one) and take a short lock at most, except stop() and the
// destructor. What an offer holds (the owner of an object, the producer) is destroyed only by collect(),
// offer(), give_up(), stop() or the destructor, on the thread that calls them.
class StoreThread {
 public:
  // When the system refuses a thread, everything is a miss, and a warning says so.
  explicit StoreThread(std::unique_ptr<BlobStore> store, QueueOptions options = {});
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  // Hands an object over to be put. False when it was dropped: the queue is full, and no idle offer could
  // make way. A key that waits already is not queued twice.
  bool offer(const Key& key, Object object, Urgency urgency = Urgency::kNormal);
  // The same for an object that is made on the store's thread when its turn comes; size_bytes says what it
  // keeps in memory until then.
  bool offer(const Key& key, uint64_t size_bytes, std::function<Object()> produce,
             Urgency urgency = Urgency::kNormal);

  // A miss at once when too many requests wait.
  Pending<std::optional<StoredObject>> fetch(const Key& key, uint64_t most_bytes = UINT64_MAX);
  Pending<std::vector<Key>> find(Query query);
  void erase(const Key& key);

  // Lets go of what finished offers held; how many there were.
  size_t collect();
  // Lets go of the offer that matters least of those that wait: an idle one before others, the oldest first.
  std::optional<Key> give_up();
  // Asks the put in progress to stop, and waits until the store needs its object no more; then collect() lets
  // go of it. Nothing when there is none or it did not stop in time.
  std::optional<Key> let_go(std::chrono::milliseconds patience);

  // Takes no more; works on what waits for as long as `patience`, then interrupts the store, answers the rest
  // with misses and ends the thread. Whether everything was done. How long the end takes then is the store's
  // matter: a piece of a write and a sync, or a slice of a network wait.
  bool stop(std::chrono::milliseconds patience);

  // Of the store after its last job.
  Statistics statistics() const;
  QueueStatistics queue_statistics() const;

 private:
  struct Offer {
    Key key;
    uint64_t size_bytes = 0;
    std::function<Object()> produce;
    Object object;
    Urgency urgency = Urgency::kNormal;
  };
  // Called with null when it will not be served.
  using Request = std::function<void(BlobStore*)>;

  bool enqueue(Offer offer);
  bool fits(uint64_t size_bytes) const;
  std::deque<Offer>::iterator least();
  Offer take(std::deque<Offer>::iterator offer);
  void finish(Offer& offer);
  void request(Request request);
  void run();
  void serve_request(std::unique_lock<std::mutex>& lock);
  void serve_offer(std::unique_lock<std::mutex>& lock);
  bool idle() const { return requests_.empty() && offers_.empty() && !busy_; }

  const QueueOptions options_;
  const std::unique_ptr<BlobStore> store_;  // used by the thread alone, but for interrupt()
  mutable std::mutex mutex_;                // guards what follows
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::condition_variable released_;
  std::deque<Request> requests_;
  std::deque<Offer> offers_;
  std::optional<Key> putting_;
  std::optional<Key> held_;            // the same, until its object was read
  std::atomic<bool> unwanted_{false};  // the object of the put in progress
  std::vector<Offer> finished_;
  QueueStatistics queue_;
  Statistics statistics_;
  bool busy_ = false;
  bool closed_ = false;  // takes no more
  bool stop_ = false;    // ends after the current job
  std::thread thread_;
};

}  // namespace oxbow::stores
