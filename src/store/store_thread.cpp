#include "store/store_thread.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace oxbow::stores {

StoreThread::StoreThread(std::unique_ptr<BlobStore> store, QueueOptions options)
    : options_(options), store_(std::move(store)), statistics_(store_->statistics()) {
  thread_ = std::thread([this] { run(); });
}

StoreThread::~StoreThread() {
  stop(std::chrono::milliseconds(0));
}

bool StoreThread::offer(const Key& key, Object object) {
  const uint64_t size = object.size_bytes();
  return enqueue({.key = key, .size_bytes = size, .produce = nullptr, .object = std::move(object)});
}

bool StoreThread::offer(const Key& key, uint64_t size_bytes, std::function<Object()> produce) {
  return enqueue({.key = key, .size_bytes = size_bytes, .produce = std::move(produce), .object = {}});
}

bool StoreThread::enqueue(Offer offer) {
  collect();
  {
    const std::lock_guard lock(mutex_);
    ++queue_.offered;
    const auto same = [&](const Offer& other) { return other.key == offer.key; };
    if (putting_ == offer.key || std::any_of(offers_.begin(), offers_.end(), same)) return true;
    const bool fits = queue_.objects < options_.limit_objects && offer.size_bytes <= options_.limit_bytes &&
                      queue_.size_bytes <= options_.limit_bytes - offer.size_bytes;
    if (closed_ || !fits) {
      ++queue_.dropped;
      return false;
    }
    ++queue_.objects;
    queue_.size_bytes += offer.size_bytes;
    offers_.push_back(std::move(offer));
  }
  wake_.notify_one();
  return true;
}

void StoreThread::request(Request request) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && requests_.size() < options_.limit_requests) {
      requests_.push_back(std::move(request));
      request = nullptr;
    }
  }
  if (request) {
    request(nullptr);
  } else {
    wake_.notify_one();
  }
}

Pending<std::optional<StoredObject>> StoreThread::fetch(const Key& key) {
  Pending<std::optional<StoredObject>> pending;
  request([key, answer = pending.answer()](BlobStore* from) {
    const bool wanted = from != nullptr && !answer.abandoned();
    answer.give(wanted ? from->get(key) : std::nullopt);
  });
  return pending;
}

Pending<std::vector<Key>> StoreThread::find(Query query) {
  Pending<std::vector<Key>> pending;
  request([query = std::move(query), answer = pending.answer()](BlobStore* in) {
    const bool wanted = in != nullptr && !answer.abandoned();
    answer.give(wanted ? in->find(query) : std::vector<Key>());
  });
  return pending;
}

void StoreThread::erase(const Key& key) {
  request([key](BlobStore* from) {
    if (from != nullptr) from->erase(key);
  });
}

void StoreThread::collect() {
  std::vector<Offer> finished;
  const std::lock_guard lock(mutex_);
  finished.swap(finished_);
  for (const Offer& offer : finished) queue_.size_bytes -= offer.size_bytes;
  queue_.objects -= finished.size();
}

bool StoreThread::stop(std::chrono::milliseconds patience) {
  std::deque<Request> requests;
  std::deque<Offer> offers;
  bool done = false;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    done = idle_.wait_for(lock, patience, [this] { return idle(); });
    stop_ = true;
    requests.swap(requests_);
    offers.swap(offers_);
    queue_.abandoned += offers.size() + requests.size();
    queue_.objects -= offers.size();
    for (const Offer& offer : offers) queue_.size_bytes -= offer.size_bytes;
  }
  if (!done) store_->interrupt();
  wake_.notify_one();
  for (const Request& request : requests) request(nullptr);
  if (thread_.joinable()) thread_.join();
  collect();
  return done;
}

Statistics StoreThread::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

QueueStatistics StoreThread::queue_statistics() const {
  const std::lock_guard lock(mutex_);
  return queue_;
}

void StoreThread::run() {
  // Signals are for the program's own threads.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !requests_.empty() || !offers_.empty(); });
    if (stop_) return;
    busy_ = true;
    if (!requests_.empty()) {
      serve_request(lock);
    } else {
      serve_offer(lock);
    }
    busy_ = false;
    if (idle()) idle_.notify_all();
  }
}

void StoreThread::serve_request(std::unique_lock<std::mutex>& lock) {
  const Request request = std::move(requests_.front());
  requests_.pop_front();
  lock.unlock();
  request(store_.get());
  Statistics statistics = store_->statistics();
  lock.lock();
  statistics_ = statistics;
}

void StoreThread::serve_offer(std::unique_lock<std::mutex>& lock) {
  Offer offer = std::move(offers_.front());
  offers_.pop_front();
  putting_ = offer.key;
  lock.unlock();
  if (offer.produce) offer.object = offer.produce();
  // A failure is in the store's counts and, once, in the log.
  (void)store_->put(offer.key, offer.object);
  Statistics statistics = store_->statistics();
  lock.lock();
  statistics_ = statistics;
  putting_.reset();
  finished_.push_back(std::move(offer));
}

}  // namespace oxbow::stores
