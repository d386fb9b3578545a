#include "store/disk_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <thread>

#include "base/log.h"
#include "objects.h"

namespace oxbow::stores {
namespace {

namespace fs = std::filesystem;
using testing::key_of;
using testing::object_of;
using testing::query;
using testing::text_in;
using testing::tokens;

constexpr uint64_t kBig = uint64_t{1} << 30;

class DiskStores : public ::testing::Test {
 protected:
  std::unique_ptr<DiskStore> open(uint64_t limit_bytes = kBig) {
    return open({.directory = directory_.path(), .limit_bytes = limit_bytes});
  }
  static std::unique_ptr<DiskStore> open(DiskOptions options) {
    auto store = DiskStore::open(std::move(options));
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  // Sets the last use of an object to some seconds ago.
  void age(const Key& key, int seconds) const {
    const auto path = directory_.path() + "/" + to_name(key) + ".v1.oxbow";
    const timespec then[2] = {{std::time(nullptr) - seconds, 0}, {std::time(nullptr) - seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), then, 0), 0);
  }
  void overwrite(const Key& key, const std::string& text) const {
    std::ofstream(directory_.path() + "/" + to_name(key) + ".v1.oxbow", std::ios::binary) << text;
  }
  static int exit_status(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const std::vector<int32_t> prompt_ = tokens(1000);
  testing::TemporaryDirectory directory_;
};

TEST_F(DiskStores, KeepWhatAStorePromises) {
  testing::expect_contract(*open());
}

TEST_F(DiskStores, ObjectsAreFoundAfterARestartAndByASecondProcess) {
  auto first = open();
  auto second = open();
  EXPECT_TRUE(second->find(query(prompt_)).empty());
  ASSERT_TRUE(first->put(key_of(prompt_, 100), object_of("one")));
  EXPECT_EQ(second->find(query(prompt_)), std::vector<Key>{key_of(prompt_, 100)});
  EXPECT_EQ(text_in(second->get(key_of(prompt_, 100))), "one");
  ASSERT_TRUE(second->put(key_of(prompt_, 200), object_of("two")));
  EXPECT_EQ(first->find(query(prompt_)).size(), 2U);
  second->erase(key_of(prompt_, 100));
  EXPECT_EQ(first->find(query(prompt_)).size(), 1U);
  EXPECT_EQ(open()->find(query(prompt_)), std::vector<Key>{key_of(prompt_, 200)});
}

TEST_F(DiskStores, AChangeIsSeenWhenTheDirectoryHadSettled) {
  auto store = open();
  const timespec then[2] = {{std::time(nullptr) - 100, 0}, {std::time(nullptr) - 100, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, directory_.path().c_str(), then, 0), 0);
  EXPECT_TRUE(store->find(query(prompt_)).empty());
  ASSERT_TRUE(open()->put(key_of(prompt_, 100), object_of("late")));
  EXPECT_EQ(store->find(query(prompt_)).size(), 1U);
}

TEST_F(DiskStores, FilesAreTheUsersAlone) {
  const std::string inner = directory_.path() + "/a/b";
  auto store = open({.directory = inner});
  ASSERT_TRUE(store->put(key_of(prompt_, 100), object_of("one")));
  struct stat info {};
  ASSERT_EQ(::stat(inner.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat((inner + "/" + to_name(key_of(prompt_, 100)) + ".v1.oxbow").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(DiskStores, TheLeastRecentlyUsedGoFirst) {
  constexpr uint64_t kLimit = 80 * 4096;
  auto store = open(kLimit);
  for (uint64_t position = 1; position <= 20; ++position) {
    ASSERT_TRUE(store->put(key_of(prompt_, position), object_of(std::string(3 * 4096 + 100, 'x'))));
    age(key_of(prompt_, position), 1000 - static_cast<int>(position));
  }
  EXPECT_EQ(store->statistics().objects, 20U);
  ASSERT_TRUE(store->get(key_of(prompt_, 1)));                         // a use
  ASSERT_TRUE(store->put(key_of(prompt_, 2), object_of("the same")));  // as well
  ASSERT_TRUE(store->put(key_of(prompt_, 21), object_of(std::string(3 * 4096 + 100, 'x'))));
  EXPECT_TRUE(store->contains(key_of(prompt_, 1)));
  EXPECT_TRUE(store->contains(key_of(prompt_, 2)));
  EXPECT_FALSE(store->contains(key_of(prompt_, 3)));
  EXPECT_TRUE(store->contains(key_of(prompt_, 20)));
  EXPECT_TRUE(store->contains(key_of(prompt_, 21)));
  EXPECT_LE(store->statistics().size_bytes, kLimit);
  EXPECT_GT(store->statistics().evicted, 0U);
  EXPECT_LE(open(kLimit / 4)->statistics().size_bytes, kLimit / 4);
}

TEST_F(DiskStores, TwoStoresTogetherStayWithinTheLimit) {
  constexpr uint64_t kLimit = 50 * 4096;
  auto first = open(kLimit);
  auto second = open(kLimit);
  for (uint64_t position = 1; position <= 40; ++position) {
    auto& store = position % 2 == 0 ? first : second;
    ASSERT_TRUE(store->put(key_of(prompt_, position), object_of(std::string(4096, 'x'))));
    uint64_t size = 0;
    for (const auto& file : directory_.files("")) size += (fs::file_size(file) + 4095) / 4096 * 4096;
    ASSERT_LE(size, kLimit);
  }
}

TEST_F(DiskStores, AnObjectLargerThanTheLimitIsRefusedAndEvictsNothing) {
  auto store = open(20 * 4096);
  ASSERT_TRUE(store->put(key_of(prompt_, 1), object_of("small")));
  const auto status = store->put(key_of(prompt_, 2), object_of(std::string(21 * 4096, 'x')));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kOutOfBudget);
  EXPECT_TRUE(store->contains(key_of(prompt_, 1)));
}

TEST_F(DiskStores, DamagedForeignAndUnreadableFilesAreMissesAndDeleted) {
  auto store = open();
  const Key key = key_of(prompt_, 100);
  const Key wrong = key_of(prompt_, 101);
  ASSERT_TRUE(store->put(key, object_of("right")));
  const std::string path = directory_.files(".oxbow").at(0);
  std::string bytes;
  {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  overwrite(wrong, bytes);
  EXPECT_FALSE(store->get(wrong));
  for (const std::string& damaged : {std::string(), std::string("x"), bytes.substr(0, bytes.size() - 1),
                                     bytes + "x", std::string(200, '\0')}) {
    overwrite(key, damaged);
    EXPECT_FALSE(store->get(key));
    EXPECT_TRUE(directory_.files(".oxbow").empty());
  }
  ASSERT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  EXPECT_TRUE(store->find(query(prompt_)).empty());
  EXPECT_FALSE(store->get(key));
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(store->get(key));
  EXPECT_TRUE(directory_.files(".oxbow").empty());
  EXPECT_EQ(store->statistics().refused, 8U);
  EXPECT_EQ(store->statistics().misses, 8U);
}

TEST_F(DiskStores, FilesOfAnotherFormatVersionAreNeitherReadNorDeleted) {
  const std::string theirs = directory_.path() + "/" + to_name(key_of(prompt_, 100)) + ".v2.oxbow";
  std::ofstream(theirs, std::ios::binary) << std::string(100000, 'x');
  auto store = open({.directory = directory_.path(), .limit_bytes = 65536});
  EXPECT_TRUE(store->find(query(prompt_)).empty());
  EXPECT_FALSE(store->get(key_of(prompt_, 100)));
  for (size_t position = 90; position < 130; ++position)
    ASSERT_TRUE(store->put(key_of(prompt_, position), object_of(std::string(4000, 'y'))));
  EXPECT_GT(store->statistics().evicted, 0U);
  EXPECT_EQ(fs::file_size(theirs), 100000U);
}

TEST_F(DiskStores, AFileOfAHugeLengthIsRefusedWithoutMemory) {
  auto store = open({.directory = directory_.path(), .largest_bytes = 1 << 20});
  overwrite(key_of(prompt_, 100), "");
  ASSERT_EQ(::truncate(directory_.files(".oxbow").at(0).c_str(), int64_t{1} << 40), 0);
  EXPECT_FALSE(store->get(key_of(prompt_, 100)));
  EXPECT_TRUE(directory_.files(".oxbow").empty());
}

class Warnings {
 public:
  Warnings() {
    set_log_sink(
        [this](LogLevel level, std::string_view, std::string_view) { count += level == LogLevel::kWarning; });
  }
  ~Warnings() { set_log_sink(nullptr); }
  int count = 0;
};

TEST_F(DiskStores, AFullDiskMeansNoTierWithOneWarningAndNothingLeftBehind) {
  const Warnings warnings;
  uint64_t room = 20000;
  DiskOptions options{.directory = directory_.path()};
  options.before_write = [&room](size_t size) -> Status {
    if (size > room) return fail(ErrorKind::kIo, "No space left on device");
    room -= size;
    return {};
  };
  options.retry_after = std::chrono::milliseconds(0);
  auto store = open(options);
  ASSERT_TRUE(store->put(key_of(prompt_, 1), object_of(std::string(9000, 'x'))));
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(store->put(key_of(prompt_, 2), object_of(std::string(20000, 'x'))));
  EXPECT_EQ(warnings.count, 1);
  EXPECT_EQ(directory_.files("").size(), 1U);
  EXPECT_TRUE(store->get(key_of(prompt_, 1)));
  EXPECT_EQ(store->statistics().failures, 5U);
  room = kBig;
  EXPECT_TRUE(store->put(key_of(prompt_, 2), object_of(std::string(20000, 'x'))));
}

TEST_F(DiskStores, NothingIsTriedForAWhileAfterAFailure) {
  int writes = 0;
  DiskOptions options{.directory = directory_.path()};
  options.before_write = [&writes](size_t) -> Status {
    ++writes;
    return fail(ErrorKind::kIo, "No space left on device");
  };
  auto store = open(options);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(store->put(key_of(prompt_, 1), object_of("x")));
  EXPECT_EQ(writes, 1);
}

TEST_F(DiskStores, ALimitOfTheSystemOnFilesIsAFailedPut) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{16384, 16384};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto store = open();
    const bool small = store->put(key_of(prompt_, 1), object_of("x")).has_value();
    const bool large = store->put(key_of(prompt_, 2), object_of(std::string(100000, 'x'))).has_value();
    ::_exit(small && !large && directory_.files("").size() == 1 ? 0 : 1);
  }
  EXPECT_EQ(exit_status(child), 0);
}

TEST_F(DiskStores, AFullFileSystemIsAFailedPut) {
  if (::mount("none", directory_.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "a small file system cannot be mounted here";
  }
  {
    auto store = open();
    EXPECT_TRUE(store->put(key_of(prompt_, 1), object_of(std::string(50000, 'x'))));
    EXPECT_FALSE(store->put(key_of(prompt_, 2), object_of(std::string(500000, 'x'))));
    EXPECT_EQ(directory_.files("").size(), 1U);
    EXPECT_TRUE(store->get(key_of(prompt_, 1)));
  }
  ::umount(directory_.path().c_str());
}

TEST_F(DiskStores, ADirectoryThatCannotBeUsedIsAnError) {
  std::ofstream(directory_.path() + "/file") << "x";
  const auto store = DiskStore::open({.directory = directory_.path() + "/file"});
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("/file"), std::string::npos);
  EXPECT_FALSE(DiskStore::open({.directory = directory_.path() + "/file/below"}));
}

TEST_F(DiskStores, ADirectoryThatVanishesMeansMissesAndFailedPuts) {
  auto store = open();
  ASSERT_TRUE(store->put(key_of(prompt_, 1), object_of("x")));
  fs::remove_all(directory_.path());
  EXPECT_FALSE(store->get(key_of(prompt_, 1)));
  EXPECT_TRUE(store->find(query(prompt_)).empty());
  EXPECT_FALSE(store->put(key_of(prompt_, 1), object_of("x")));
  fs::create_directories(directory_.path());
}

TEST_F(DiskStores, AnInterruptedStoreGivesUp) {
  auto store = open();
  ASSERT_TRUE(store->put(key_of(prompt_, 1), object_of("x")));
  store->interrupt();
  EXPECT_FALSE(store->put(key_of(prompt_, 2), object_of("x")));
  EXPECT_FALSE(store->get(key_of(prompt_, 1)));
  EXPECT_EQ(directory_.files("").size(), 1U);
}

// What the writer below puts under a position.
std::string text_at(uint64_t position) {
  return std::string(20000 + position * 1000, static_cast<char>('a' + position % 26));
}

TEST_F(DiskStores, AWriterKilledAtAnyMomentLeavesWholeObjectsAndNothingElse) {
  std::mt19937 random(1);
  uint64_t whole = 0;
  for (int round = 0; round < 40 || (whole == 0 && round < 400); ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = open(100 * 4096);
      for (uint64_t i = static_cast<uint64_t>(round);; ++i) {
        const uint64_t position = 1 + i % 40;
        if (i % 7 == 0) store->erase(key_of(prompt_, position));
        (void)store->put(key_of(prompt_, position), object_of(text_at(position), Compression(i % 2)));
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 120000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    auto store = open(100 * 4096);
    ASSERT_TRUE(directory_.files(".tmp").empty());
    ASSERT_LE(store->statistics().size_bytes, 100U * 4096);
    const auto found = store->find(query(prompt_));
    ASSERT_EQ(found.size(), directory_.files("").size());
    for (const Key& key : found) ASSERT_EQ(text_in(store->get(key)), text_at(key.position));
    ASSERT_EQ(store->statistics().refused, 0U);
    whole += found.size();
  }
  EXPECT_GT(whole, 0U);
}

TEST_F(DiskStores, TwoProcessesWorkOnOneDirectoryAtATime) {
  std::vector<pid_t> children;
  for (int writer = 0; writer < 2; ++writer) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    auto store = open(60 * 4096);
    uint64_t bad = 0;
    for (uint64_t i = 0; i < 60; ++i) {
      const uint64_t position = 1 + (i * 7 + static_cast<uint64_t>(writer)) % 30;
      bad += !store->put(key_of(prompt_, position), object_of(text_at(position)));
      for (const Key& key : store->find(query(prompt_))) {
        const auto object = store->get(key);
        bad += object && text_in(object) != text_at(key.position);
      }
    }
    ::_exit(bad == 0 && store->statistics().refused == 0 ? 0 : 1);
  }
  for (const pid_t child : children) EXPECT_EQ(exit_status(child), 0);
  EXPECT_LE(open(60 * 4096)->statistics().size_bytes, 60U * 4096);
  EXPECT_TRUE(directory_.files(".tmp").empty());
}

}  // namespace
}  // namespace oxbow::stores
