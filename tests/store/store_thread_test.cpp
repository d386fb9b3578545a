#include "store/store_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "objects.h"
#include "store/disk_store.h"

namespace oxbow::stores {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::key_of;
using testing::object_of;
using testing::query;
using testing::text_in;
using testing::tokens;

// Keeps nothing but what the test wants to see; a put waits for the gate.
struct Slow {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  bool interrupted = false;
  int entered = 0;
  std::vector<Key> put;

  void set_open(bool value) {
    const std::lock_guard lock(mutex);
    open = value;
    changed.notify_all();
  }
  void wait_until_entered(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered >= count; });
  }
  void pass() {
    std::unique_lock lock(mutex);
    ++entered;
    changed.notify_all();
    changed.wait(lock, [&] { return open || interrupted; });
  }
};

class SlowStore final : public BlobStore {
 public:
  explicit SlowStore(Slow& slow) : slow_(slow) {}
  std::string_view name() const override { return "slow"; }
  Status put(const Key& key, const Object&) override {
    slow_.pass();
    const std::lock_guard lock(slow_.mutex);
    slow_.put.push_back(key);
    return {};
  }
  std::optional<StoredObject> get(const Key&, uint64_t) override {
    slow_.pass();
    return std::nullopt;
  }
  bool contains(const Key&) override { return false; }
  std::vector<Key> find(const Query& query) override {
    slow_.pass();
    return {Key{.position = query.length}};
  }
  void erase(const Key&) override {}
  Statistics statistics() const override { return {}; }
  void interrupt() override {
    const std::lock_guard lock(slow_.mutex);
    slow_.interrupted = true;
    slow_.changed.notify_all();
  }

 private:
  Slow& slow_;
};

class StoreThreads : public ::testing::Test {
 protected:
  std::unique_ptr<BlobStore> slow() { return std::make_unique<SlowStore>(slow_); }
  Key key(uint64_t position) const { return key_of(prompt_, position); }

  const std::vector<int32_t> prompt_ = tokens(1000);
  Slow slow_;
};

TEST_F(StoreThreads, WhatIsOfferedIsFoundAndFetched) {
  const testing::TemporaryDirectory directory;
  StoreThread thread(std::move(*DiskStore::open({.directory = directory.path()})));
  EXPECT_TRUE(thread.offer(key(10), object_of("ten")));
  EXPECT_TRUE(thread.offer(key(20), 1000, [] { return object_of("twenty"); }));
  const auto deadline = steady_clock::now() + seconds(20);
  while (thread.statistics().puts < 2 && steady_clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(1));
  auto found = thread.find(query(prompt_));
  ASSERT_TRUE(found.wait_for(seconds(20)));
  EXPECT_EQ(found.take(), (std::vector<Key>{key(20), key(10)}));
  auto twenty = thread.fetch(key(20));
  auto missing = thread.fetch(key(30));
  ASSERT_TRUE(missing.wait_for(seconds(20)));
  ASSERT_TRUE(twenty.ready());
  EXPECT_EQ(text_in(twenty.take()), "twenty");
  EXPECT_FALSE(missing.take());
  thread.erase(key(20));
  auto erased = thread.fetch(key(20));
  ASSERT_TRUE(erased.wait_for(seconds(20)));
  EXPECT_FALSE(erased.take());
  EXPECT_TRUE(thread.stop(seconds(20)));
}

TEST_F(StoreThreads, AFullQueueDropsAndCountsAndNeverBlocks) {
  slow_.set_open(false);
  StoreThread thread(slow(), {.limit_bytes = 1 << 20, .limit_objects = 4});
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(thread.offer(key(i), object_of("x")), i < 4) << i;
  EXPECT_EQ(thread.queue_statistics().offered, 10U);
  EXPECT_EQ(thread.queue_statistics().dropped, 6U);
  EXPECT_EQ(thread.queue_statistics().objects, 4U);
  slow_.set_open(true);
  EXPECT_TRUE(thread.stop(seconds(20)));
  EXPECT_EQ(slow_.put.size(), 4U);
  EXPECT_EQ(thread.queue_statistics().objects, 0U);
  EXPECT_EQ(thread.queue_statistics().size_bytes, 0U);
}

TEST_F(StoreThreads, BytesAreBoundedToo) {
  slow_.set_open(false);
  StoreThread thread(slow(), {.limit_bytes = 100000, .limit_objects = 100});
  EXPECT_FALSE(thread.offer(key(0), object_of(std::string(200000, 'x'))));
  EXPECT_TRUE(thread.offer(key(1), object_of(std::string(60000, 'x'))));
  EXPECT_FALSE(thread.offer(key(2), object_of(std::string(60000, 'x'))));
  EXPECT_FALSE(thread.offer(key(2), ~uint64_t{0}, [] { return object_of("x"); }));
  EXPECT_TRUE(thread.offer(key(3), 30000, [] { return object_of("x"); }));
  slow_.set_open(true);
}

TEST_F(StoreThreads, AKeyThatWaitsIsNotQueuedTwice) {
  slow_.set_open(false);
  StoreThread thread(slow());
  EXPECT_TRUE(thread.offer(key(1), object_of("x")));
  slow_.wait_until_entered(1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(thread.offer(key(1), object_of("x")));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(thread.offer(key(2), object_of("x")));
  slow_.set_open(true);
  EXPECT_TRUE(thread.stop(seconds(20)));
  EXPECT_EQ(slow_.put, (std::vector<Key>{key(1), key(2)}));
}

TEST_F(StoreThreads, IdleOffersAreWrittenLastAndMakeWayFirst) {
  slow_.set_open(false);
  StoreThread thread(slow(), {.limit_bytes = 1 << 20, .limit_objects = 4});
  EXPECT_TRUE(thread.offer(key(1), object_of("x")));
  slow_.wait_until_entered(1);
  EXPECT_TRUE(thread.offer(key(2), object_of("x"), Urgency::kIdle));
  EXPECT_TRUE(thread.offer(key(3), object_of("x"), Urgency::kIdle));
  EXPECT_TRUE(thread.offer(key(4), object_of("x")));
  EXPECT_FALSE(thread.offer(key(5), object_of("x"), Urgency::kIdle)) << "the queue is full";
  EXPECT_TRUE(thread.offer(key(6), object_of("x"))) << "the first idle one makes way";
  EXPECT_EQ(thread.queue_statistics().given_up, 1U);
  slow_.set_open(true);
  EXPECT_TRUE(thread.stop(seconds(20)));
  EXPECT_EQ(slow_.put, (std::vector<Key>{key(1), key(4), key(6), key(3)}));
}

TEST_F(StoreThreads, WhatWaitsIsGivenUpIdleFirstThenOldestFirst) {
  slow_.set_open(false);
  StoreThread thread(slow());
  EXPECT_EQ(thread.give_up(), std::nullopt);
  auto owner = std::make_shared<int>(7);
  const std::weak_ptr<int> held = owner;
  for (uint64_t i = 1; i <= 3; ++i) EXPECT_TRUE(thread.offer(key(i), object_of("x")));
  Object idle = object_of("x");
  idle.owner = std::move(owner);
  EXPECT_TRUE(thread.offer(key(9), std::move(idle), Urgency::kIdle));
  slow_.wait_until_entered(1);
  EXPECT_EQ(thread.give_up(), key(9));
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(thread.give_up(), key(2));
  EXPECT_EQ(thread.give_up(), key(3));
  EXPECT_EQ(thread.give_up(), std::nullopt) << "the first is being written";
  EXPECT_EQ(thread.queue_statistics().objects, 1U);
  slow_.set_open(true);
}

// Its puts go on until the object is not wanted any more, or tell at once that it was read.
class EndlessStore final : public BlobStore {
 public:
  explicit EndlessStore(bool reads) : reads_(reads) {}
  std::string_view name() const override { return "endless"; }
  Status put(const Key&, const Object& object) override {
    if (reads_) object.was_read();
    while (!interrupted_ && (reads_ || check_wanted(object))) std::this_thread::sleep_for(milliseconds(1));
    return fail(ErrorKind::kInvalidState, "given up");
  }
  using BlobStore::get;
  std::optional<StoredObject> get(const Key&, uint64_t) override { return std::nullopt; }
  bool contains(const Key&) override { return false; }
  std::vector<Key> find(const Query&) override { return {}; }
  void erase(const Key&) override {}
  Statistics statistics() const override { return {}; }
  void interrupt() override { interrupted_ = true; }

 private:
  bool reads_;
  std::atomic<bool> interrupted_{false};
};

TEST_F(StoreThreads, AWriteInProgressLetsGoWhenAskedAndByItselfOnceTheObjectWasRead) {
  for (const bool reads : {false, true}) {
    StoreThread thread(std::make_unique<EndlessStore>(reads));
    auto owner = std::make_shared<int>(7);
    const std::weak_ptr<int> held = owner;
    Object object = object_of("x");
    object.owner = std::move(owner);
    EXPECT_TRUE(thread.offer(key(1), std::move(object)));
    const auto deadline = steady_clock::now() + seconds(20);
    std::optional<Key> went;
    while (!held.expired() && steady_clock::now() < deadline) {
      if (!reads && !went) went = thread.let_go(seconds(20));
      thread.collect();
    }
    EXPECT_TRUE(held.expired());
    EXPECT_EQ(went, reads ? std::nullopt : std::optional<Key>(key(1)));
    EXPECT_EQ(thread.queue_statistics().objects, 0U);
  }
}

TEST_F(StoreThreads, RequestsAreServedBeforeOffers) {
  slow_.set_open(false);
  StoreThread thread(slow());
  thread.offer(key(1), object_of("x"));
  slow_.wait_until_entered(1);
  thread.offer(key(2), object_of("x"));
  auto found = thread.find(query(prompt_));
  EXPECT_FALSE(found.ready());
  EXPECT_FALSE(found.wait_for(milliseconds(5)));
  slow_.set_open(true);
  ASSERT_TRUE(found.wait_for(seconds(20)));
  EXPECT_EQ(found.take().at(0).position, 1000U);
  EXPECT_TRUE(thread.stop(seconds(20)));
}

TEST_F(StoreThreads, TooManyRequestsAreMissesAtOnce) {
  slow_.set_open(false);
  StoreThread thread(slow(), {.limit_requests = 2});
  thread.offer(key(1), object_of("x"));
  slow_.wait_until_entered(1);
  auto first = thread.fetch(key(1));
  auto second = thread.fetch(key(1));
  auto third = thread.fetch(key(1));
  EXPECT_FALSE(first.ready());
  ASSERT_TRUE(third.ready());
  EXPECT_FALSE(third.take());
  slow_.set_open(true);
}

TEST_F(StoreThreads, StoppingAbandonsWhatDoesNotFitIntoTheTime) {
  slow_.set_open(false);
  StoreThread thread(slow());
  thread.offer(key(1), object_of("x"));
  slow_.wait_until_entered(1);
  thread.offer(key(2), object_of("x"));
  auto fetch = thread.fetch(key(1));
  const auto start = steady_clock::now();
  EXPECT_FALSE(thread.stop(milliseconds(20)));
  EXPECT_LT(steady_clock::now() - start, seconds(10));
  ASSERT_TRUE(fetch.ready());
  EXPECT_FALSE(fetch.take());
  EXPECT_EQ(slow_.put, std::vector<Key>{key(1)});
  EXPECT_EQ(thread.queue_statistics().abandoned, 2U);
  EXPECT_FALSE(thread.offer(key(3), object_of("x")));
  auto late = thread.find(query(prompt_));
  ASSERT_TRUE(late.ready());
  EXPECT_TRUE(late.take().empty());
}

TEST_F(StoreThreads, ARequestThatNobodyWaitsForIsNotServed) {
  slow_.set_open(false);
  StoreThread thread(slow());
  thread.offer(key(1), object_of("x"));
  slow_.wait_until_entered(1);
  { const auto dropped = thread.fetch(key(1)); }
  slow_.set_open(true);
  EXPECT_TRUE(thread.stop(seconds(20)));
  EXPECT_EQ(slow_.entered, 1);
}

// An owner that says on which thread it ended.
struct Owner {
  explicit Owner(std::atomic<int>& elsewhere_count) : elsewhere(elsewhere_count) {}
  ~Owner() { elsewhere += std::this_thread::get_id() != home; }
  std::thread::id home = std::this_thread::get_id();
  std::atomic<int>& elsewhere;
};

TEST_F(StoreThreads, OwnersOfObjectsEndOnTheOfferingThread) {
  std::atomic<int> elsewhere{0};
  std::weak_ptr<Owner> seen;
  {
    StoreThread thread(slow());
    for (uint64_t i = 0; i < 50; ++i) {
      const auto owner = std::make_shared<Owner>(elsewhere);
      seen = owner;
      Object object = object_of("x");
      object.owner = owner;
      if (i % 2 == 0) {
        thread.offer(key(i), object);
      } else {
        thread.offer(key(i), 100, [owner] { return object_of("x"); });
      }
    }
    thread.stop(seconds(20));
  }
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(StoreThreads, ManyThreadsMayAskAndOfferAtOnce) {
  const testing::TemporaryDirectory directory;
  StoreThread store(std::move(*DiskStore::open({.directory = directory.path()})), {.limit_objects = 8});
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 20; ++i) {
        store.offer(key(1 + t * 20 + i), object_of(std::to_string(i)));
        auto fetch = store.fetch(key(1 + i));
        auto find = store.find(query(prompt_));
        if (i % 3 == 0) fetch.wait_for(seconds(20));
        if (i % 5 == 0) find.wait_for(seconds(20));
        store.statistics();
        store.queue_statistics();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(store.stop(seconds(60)));
  EXPECT_EQ(store.queue_statistics().objects, 0U);
  EXPECT_EQ(store.statistics().puts + store.queue_statistics().dropped, 80U);
}

}  // namespace
}  // namespace oxbow::stores
