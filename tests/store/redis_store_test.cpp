#include "store/redis_store.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "redis_server.h"
#include "store/store_thread.h"

namespace oxbow::stores {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::FakeServer;
using testing::key_of;
using testing::object_at;
using testing::query;
using testing::RealRedis;
using testing::text_in;
using testing::tokens;

std::vector<std::byte> secret(uint8_t first = 1) {
  return std::vector<std::byte>(32, static_cast<std::byte>(first));
}

RedisOptions options(uint16_t port) {
  RedisOptions result;
  result.server.port = port;
  // Far above what a busy machine needs: most tests are not about time.
  result.server.connect_timeout = seconds(5);
  result.server.command_timeout = seconds(20);
  return result;
}

class RedisStores : public ::testing::Test {
 protected:
  const std::vector<int32_t> prompt_ = tokens(1000);
  const Key key_ = key_of(prompt_, 100);
};

TEST_F(RedisStores, KeepWhatAStorePromises) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  RedisStore store(options(server->port()));
  testing::expect_contract(store);
  RedisOptions authenticated = options(server->port());
  authenticated.authentication_key = secret();
  RedisStore other(authenticated);
  testing::expect_contract(other);
}

TEST_F(RedisStores, ASecondProcessGetsTheFirstOnesObjects) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  const pid_t child = ::fork();
  if (child == 0) {
    RedisStore store(options(server->port()));
    ::_exit(store.put(key_, object_at(prompt_, 100, "from the first")) ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  RedisStore store(options(server->port()));
  ASSERT_EQ(store.find(query(prompt_)), std::vector<Key>{key_});
  EXPECT_EQ(text_in(store.get(key_)), "from the first");
}

TEST_F(RedisStores, LargeObjectsGoThereAndBack) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  RedisOptions authenticated = options(server->port());
  authenticated.authentication_key = secret();
  RedisStore store(authenticated);
  std::string text(size_t{20} << 20, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 7);
  ASSERT_TRUE(store.put(key_, object_at(prompt_, 100, text)));
  EXPECT_EQ(text_in(store.get(key_)), text);
}

TEST_F(RedisStores, LongPromptsAreFoundInOneGo) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  RedisStore store(options(server->port()));
  const auto prompt = tokens(100000);
  ASSERT_TRUE(store.put(key_of(prompt, 99999), object_at(prompt, 99999, "far")));
  ASSERT_TRUE(store.put(key_of(prompt, 5), object_at(prompt, 5, "near")));
  EXPECT_EQ(store.find(query(prompt)), (std::vector<Key>{key_of(prompt, 99999), key_of(prompt, 5)}));
}

TEST_F(RedisStores, ABlockListsItsNewestEntriesOnly) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  RedisStore store(options(server->port()));
  for (int32_t i = 0; i < 300; ++i) {
    const auto other = tokens(20, i + 1);
    ASSERT_TRUE(store.put(key_of(other, 20), object_at(other, 20, "x")));
  }
  EXPECT_EQ(store.find(query(tokens(20, 300))).size(), 1U);
  EXPECT_TRUE(store.find(query(tokens(20, 1))).empty());
  // Putting it again lists it again.
  const auto first = tokens(20, 1);
  ASSERT_TRUE(store.put(key_of(first, 20), object_at(first, 20, "x")));
  EXPECT_EQ(store.statistics().known, 1U);
  EXPECT_EQ(store.find(query(first)).size(), 1U);
}

TEST_F(RedisStores, AnEntryWhoseObjectIsGoneIsAMissAndForgotten) {
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  RedisStore store(options(server->port()));
  RedisStore other(options(server->port()));
  ASSERT_TRUE(store.put(key_, object_at(prompt_, 100, "x")));
  other.erase(key_);
  ASSERT_EQ(store.find(query(prompt_)).size(), 1U);
  EXPECT_FALSE(store.get(key_));
  EXPECT_TRUE(store.find(query(prompt_)).empty());
  EXPECT_EQ(store.statistics().refused, 0U);
}

TEST_F(RedisStores, ThePasswordIsSentAndAWrongOneIsAMiss) {
  const auto server = RealRedis::start({"--requirepass", "open sesame"});
  OXBOW_NEEDS_REDIS(server);
  RedisOptions with = options(server->port());
  with.server.password = "open sesame";
  RedisStore store(with);
  ASSERT_TRUE(store.put(key_, object_at(prompt_, 100, "x")));
  EXPECT_TRUE(store.get(key_));
  with.server.username = "default";
  EXPECT_TRUE(RedisStore(with).get(key_));
  with.server.password = "wrong";
  RedisStore wrong(with);
  EXPECT_FALSE(wrong.get(key_));
  EXPECT_FALSE(wrong.put(key_, object_at(prompt_, 100, "x")));
  EXPECT_FALSE(RedisStore(options(server->port())).get(key_));
}

TEST_F(RedisStores, AServerThatIsFullIsAFailedPut) {
  const auto server = RealRedis::start({"--maxmemory", "3mb", "--maxmemory-policy", "noeviction"});
  OXBOW_NEEDS_REDIS(server);
  RedisStore store(options(server->port()));
  EXPECT_FALSE(store.put(key_, object_at(prompt_, 100, std::string(4 << 20, 'x'))) &&
               store.put(key_of(prompt_, 101), object_at(prompt_, 101, std::string(4 << 20, 'x'))));
  EXPECT_TRUE(store.find(query(tokens(10, 3))).empty());
}

TEST_F(RedisStores, AServerThatGoesIsAMissAndOneThatComesBackIsUsedAgain) {
  auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  const uint16_t port = server->port();
  RedisStore store(options(port));
  ASSERT_TRUE(store.put(key_, object_at(prompt_, 100, "x")));
  server->stop();
  EXPECT_FALSE(store.get(key_));
  EXPECT_TRUE(store.find(query(prompt_)).empty());
  EXPECT_FALSE(store.put(key_, object_at(prompt_, 100, "x")));
  const auto again = RealRedis::start({}, port);
  if (again == nullptr) GTEST_SKIP() << "the port was taken";
  const auto deadline = steady_clock::now() + seconds(20);
  while (!store.put(key_, object_at(prompt_, 100, "y")) && steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(text_in(store.get(key_)), "y");
}

TEST_F(RedisStores, AChangedObjectIsRefusedUnderAnAuthenticationKeyEvenWithRightChecksums) {
  // Somebody without the key writes a well-formed object under the name of an authenticated one.
  const auto server = RealRedis::start();
  OXBOW_NEEDS_REDIS(server);
  RedisOptions mine = options(server->port());
  mine.authentication_key = secret(1);
  RedisOptions theirs = options(server->port());
  theirs.authentication_key = secret(2);
  RedisStore store(mine);
  ASSERT_TRUE(store.put(key_, object_at(prompt_, 100, "mine")));
  EXPECT_FALSE(RedisStore(theirs).get(key_));
  EXPECT_FALSE(RedisStore(options(server->port())).get(key_));
  EXPECT_EQ(text_in(store.get(key_)), "mine");
}

// ---- A server that lies.

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string container(const Key& key, const std::string& text) {
  std::string bytes;
  EXPECT_TRUE(write_object(key, testing::object_of(text), [&](std::span<const std::byte> part) -> Status {
    bytes += testing::text_of(part);
    return {};
  }));
  return bytes;
}

RedisOptions hasty(uint16_t port) {
  RedisOptions result = options(port);
  result.server.command_timeout = milliseconds(150);
  result.largest_bytes = 1 << 20;
  return result;
}

// Everything a store can be asked ends soon and without an object.
void expect_misses(RedisStore& store, const std::vector<int32_t>& prompt) {
  const auto start = steady_clock::now();
  EXPECT_FALSE(store.get(key_of(prompt, 100)));
  std::this_thread::sleep_for(milliseconds(110));
  EXPECT_TRUE(store.find(query(prompt)).empty());
  std::this_thread::sleep_for(milliseconds(210));
  (void)store.put(key_of(prompt, 100), object_at(prompt, 100, std::string(500000, 'x')));
  std::this_thread::sleep_for(milliseconds(410));
  (void)store.contains(key_of(prompt, 100));
  store.erase(key_of(prompt, 100));
  EXPECT_FALSE(store.get(key_of(prompt, 100)));
  EXPECT_LT(steady_clock::now() - start, seconds(20));
  EXPECT_EQ(store.statistics().hits, 0U);
  EXPECT_EQ(store.statistics().misses, 2U);
}

class LyingServers : public ::testing::TestWithParam<const char*> {};

TEST_P(LyingServers, AreMisses) {
  const FakeServer server(FakeServer::always(GetParam()));
  RedisStore store(hasty(server.port()));
  expect_misses(store, tokens(1000));
}

INSTANTIATE_TEST_SUITE_P(
    Answers, LyingServers,
    ::testing::Values("garbage\r\n", "\r\n\r\n", "$", "$-5\r\n", "$9223372036854775807\r\n",
                      "$18446744073709551616\r\n", "$1000000000000\r\nx", "*2147483647\r\n",
                      "*9223372036854775807\r\n", "*-1\r\n", "*-7\r\n",
                      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
                      "*60\r\n*60\r\n*60\r\n:1\r\n", ":1\r\n", ":99999999999999999999\r\n", "+OK\r\n",
                      "-ERR no\r\n", "-LOADING\r\n", "$0\r\n\r\n", "$3\r\nabc\r\n", "$3\r\nabcdefgh",
                      "+OK\r\n+OK\r\n+OK\r\n+OK\r\n", ",3.5\r\n", "#t\r\n", "%1\r\n:1\r\n:2\r\n",
                      "~1\r\n:1\r\n", ">1\r\n:1\r\n", "_\r\n",
                      "*1\r\n$50\r\n0123456789012345678901234567890123456789012345678x\r\n"));

TEST_F(RedisStores, AnObjectOfAnotherKeyADamagedAndATooLargeOneAreMisses) {
  std::string damaged = container(key_, "text");
  damaged[200] = static_cast<char>(damaged[200] ^ 1);
  const std::string right = container(key_, "text");
  for (const std::string& answer :
       {bulk(container(key_of(prompt_, 101), "text")), bulk(damaged), bulk(right.substr(0, right.size() - 1)),
        bulk(right + "x"), bulk(std::string(3 << 20, 'x'))}) {
    const FakeServer server(FakeServer::always(answer));
    RedisStore store(hasty(server.port()));
    EXPECT_FALSE(store.get(key_));
  }
  // The fake server itself is not what makes them misses.
  const FakeServer server(FakeServer::always(bulk(right)));
  RedisStore store(hasty(server.port()));
  EXPECT_EQ(text_in(store.get(key_)), "text");
}

TEST_F(RedisStores, AnObjectWithoutTheRightCodeIsAMiss) {
  const std::string right = container(key_, "text");
  for (const std::string& answer : {bulk(right), bulk(right + std::string(32, 'x')), bulk("x")}) {
    const FakeServer server(FakeServer::always(answer));
    RedisOptions authenticated = hasty(server.port());
    authenticated.authentication_key = secret();
    RedisStore store(authenticated);
    EXPECT_FALSE(store.get(key_));
    EXPECT_EQ(store.statistics().refused, 1U);
  }
  HmacSha256 code(secret());
  code.update(to_bytes(key_));
  code.update(testing::bytes_of(right));
  const FakeServer server(FakeServer::always(bulk(right + testing::text_of(code.digest()))));
  RedisOptions authenticated = hasty(server.port());
  authenticated.authentication_key = secret();
  EXPECT_EQ(text_in(RedisStore(authenticated).get(key_)), "text");
}

TEST_F(RedisStores, AServerThatSaysNothingOrClosesIsAMissInBoundedTime) {
  const FakeServer silent(FakeServer::always(""));
  RedisStore store(hasty(silent.port()));
  expect_misses(store, prompt_);
  const FakeServer closing([](int) {});
  RedisStore other(hasty(closing.port()));
  expect_misses(other, prompt_);
}

TEST_F(RedisStores, AServerThatTricklesOrFloodsIsAMissInBoundedTime) {
  const FakeServer trickling([](int socket) {
    const std::string text = "$1000000\r\n" + std::string(1000, 'x');
    for (const char c : text) {
      if (::send(socket, &c, 1, MSG_NOSIGNAL) <= 0) return;
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  const auto start = steady_clock::now();
  RedisStore store(hasty(trickling.port()));
  EXPECT_FALSE(store.get(key_));
  EXPECT_LT(steady_clock::now() - start, seconds(3));
  const FakeServer flooding([](int socket) {
    const std::string text = "$100000000000\r\n" + std::string(1 << 16, 'x');
    while (::send(socket, text.data(), text.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  RedisStore other(hasty(flooding.port()));
  EXPECT_FALSE(other.get(key_));
  EXPECT_LT(steady_clock::now() - start, seconds(6));
}

TEST_F(RedisStores, AfterAFailureTheServerIsLeftAloneForAWhile) {
  const FakeServer closing([](int) {});
  RedisStore store(hasty(closing.port()));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(store.get(key_));
  EXPECT_LE(closing.connections(), 5);
}

TEST_F(RedisStores, AnInterruptedStoreDoesNotWait) {
  const FakeServer silent(FakeServer::always(""));
  RedisOptions slow = options(silent.port());
  slow.server.command_timeout = seconds(60);
  StoreThread thread(std::make_unique<RedisStore>(slow));
  auto fetch = thread.fetch(key_);
  EXPECT_FALSE(fetch.wait_for(milliseconds(50)));
  const auto start = steady_clock::now();
  EXPECT_FALSE(thread.stop(milliseconds(10)));
  EXPECT_LT(steady_clock::now() - start, seconds(10));
  ASSERT_TRUE(fetch.ready());
  EXPECT_FALSE(fetch.take());
}

// ---- What a user says.

TEST(RedisOptions, HostAndPortAreReadInTheUsualForms) {
  EXPECT_EQ(parse_redis_server("cache:7000")->host, "cache");
  EXPECT_EQ(parse_redis_server("cache:7000")->port, 7000);
  EXPECT_EQ(parse_redis_server("cache")->port, 6379);
  EXPECT_EQ(parse_redis_server("[::1]:7000")->host, "::1");
  EXPECT_EQ(parse_redis_server("[::1]:7000")->port, 7000);
  EXPECT_EQ(parse_redis_server("[::1]")->host, "::1");
  EXPECT_EQ(parse_redis_server("fe80::1")->host, "fe80::1");
  for (const char* wrong : {"", ":", ":6379", "host:", "host:0", "host:65536", "host:x", "host:-1", "[::1",
                            "[::1]x", "[::1]:", "[]:1", "[", "]", "a b:1"}) {
    EXPECT_FALSE(parse_redis_server(wrong)) << wrong;
  }
}

TEST(RedisOptions, AKeyFileHoldsSixteenBytesOrMore) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path() + "/key";
  const auto with = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return read_key_file(path);
  };
  EXPECT_EQ(with(std::string(16, 'k') + "\n")->size(), 16U);
  EXPECT_EQ(with(std::string(4096, 'k'))->size(), 4096U);
  EXPECT_FALSE(with(std::string(15, 'k') + "\n"));
  EXPECT_FALSE(with(std::string(4097, 'k')));
  EXPECT_FALSE(with(""));
  EXPECT_EQ(read_key_file(directory.path() + "/none").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace oxbow::stores
