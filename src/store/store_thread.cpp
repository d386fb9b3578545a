#include "store/store_thread.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/start_thread.h"

namespace oxbow::stores {

StoreThread::StoreThread(std::unique_ptr<BlobStore> store, QueueOptions options)
    : options_(options), store_(std::move(store)), statistics_(store_->statistics()) {
  auto thread = start_thread([this] { run(); });
  if (thread) {
    thread_ = std::move(*thread);
    return;
  }
  closed_ = true;
  log(LogLevel::kWarning, "store", "the {} cache is not used: {}", store_->name(), thread.error().message);
}

StoreThread::~StoreThread() {
  stop(std::chrono::milliseconds(0));
}

bool StoreThread::offer(const Key& key, Object object, Urgency urgency) {
  const uint64_t size = object.size_bytes();
  return enqueue({key, size, nullptr, std::move(object), urgency});
}

bool StoreThread::offer(const Key& key, uint64_t size_bytes, std::function<Object()> produce,
                        Urgency urgency) {
  return enqueue({key, size_bytes, std::move(produce), {}, urgency});
}

bool StoreThread::fits(uint64_t size_bytes) const {
  return queue_.objects < options_.limit_objects && size_bytes <= options_.limit_bytes &&
         queue_.size_bytes <= options_.limit_bytes - size_bytes;
}

// The first idle offer, else the first.
std::deque<StoreThread::Offer>::iterator StoreThread::least() {
  const auto idle = std::find_if(offers_.begin(), offers_.end(),
                                 [](const Offer& offer) { return offer.urgency == Urgency::kIdle; });
  return idle != offers_.end() ? idle : offers_.begin();
}

StoreThread::Offer StoreThread::take(std::deque<Offer>::iterator at) {
  Offer offer = std::move(*at);
  offers_.erase(at);
  --queue_.objects;
  queue_.size_bytes -= offer.size_bytes;
  return offer;
}

bool StoreThread::enqueue(Offer offer) {
  collect();
  std::vector<Offer> made_way;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    ++queue_.offered;
    const auto same = [&](const Offer& other) { return other.key == offer.key; };
    if (putting_ == offer.key || std::any_of(offers_.begin(), offers_.end(), same)) return true;
    const bool idle = offer.urgency == Urgency::kIdle;
    while (!idle && !fits(offer.size_bytes) && !offers_.empty() && least()->urgency == Urgency::kIdle) {
      made_way.push_back(take(least()));
      ++queue_.given_up;
    }
    if (closed_ || !fits(offer.size_bytes)) {
      ++queue_.dropped;
      return false;
    }
    ++queue_.objects;
    queue_.size_bytes += offer.size_bytes;
    // Idle offers stand behind all others.
    const auto behind =
        idle ? offers_.end() : std::find_if(offers_.begin(), offers_.end(), [](const Offer& other) {
          return other.urgency == Urgency::kIdle;
        });
    offers_.insert(behind, std::move(offer));
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

Pending<std::optional<StoredObject>> StoreThread::fetch(const Key& key, uint64_t most_bytes) {
  Pending<std::optional<StoredObject>> pending;
  request([key, most_bytes, answer = pending.answer()](BlobStore* from) {
    const bool wanted = from != nullptr && !answer.abandoned();
    answer.give(wanted ? from->get(key, most_bytes) : std::nullopt);
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

size_t StoreThread::collect() {
  std::vector<Offer> finished;
  const std::lock_guard lock(mutex_);
  finished.swap(finished_);
  for (const Offer& offer : finished) queue_.size_bytes -= offer.size_bytes;
  queue_.objects -= finished.size();
  return finished.size();
}

std::optional<Key> StoreThread::give_up() {
  std::optional<Offer> offer;
  const std::lock_guard lock(mutex_);
  if (offers_.empty()) return std::nullopt;
  offer.emplace(take(least()));
  ++queue_.given_up;
  return offer->key;
}

std::optional<Key> StoreThread::let_go(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const std::optional<Key> key = held_;
  if (!key) return std::nullopt;
  unwanted_ = true;
  if (!released_.wait_for(lock, patience, [&] { return held_ != key; })) return std::nullopt;
  return key;
}

// What the offer holds may go; called with the lock, once for each offer that was begun.
void StoreThread::finish(Offer& offer) {
  Offer held{offer.key, offer.size_bytes, std::move(offer.produce), {}, offer.urgency};
  held.object.owner = std::move(offer.object.owner);
  finished_.push_back(std::move(held));
  held_.reset();
  released_.notify_all();
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
  held_ = offer.key;
  unwanted_ = false;
  lock.unlock();
  if (offer.produce) offer.object = offer.produce();
  offer.object.is_unwanted = [this] { return unwanted_.load(); };
  offer.object.was_read = [this, &offer] {
    const std::lock_guard inner(mutex_);
    finish(offer);
  };
  // A failure is in the store's counts and, once, in the log.
  const Status put = store_->put(offer.key, offer.object);
  Statistics statistics = store_->statistics();
  lock.lock();
  if (!put && unwanted_ && put.error().kind == ErrorKind::kInvalidState) ++queue_.given_up;
  if (held_) finish(offer);
  statistics_ = statistics;
  putting_.reset();
}

}  // namespace oxbow::stores
