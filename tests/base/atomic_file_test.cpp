#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace oxbow {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class AtomicFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / fmt::format("oxbow-atomic-{}", ::getpid());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  // Runs the function in a child process; its exit status.
  template <typename F>
  int in_child(F&& function) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(function());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  fs::path directory_;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_F(AtomicFiles, TheModeIsTheOneAskedFor) {
  auto file = AtomicFile::create(path("a"), 0600);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  struct stat info {};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(AtomicFiles, TheTemporaryOfALivingWriterIsNoOrphan) {
  auto file = AtomicFile::create(path("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(AtomicFile::remove_orphans(directory_.string()), 0U);
  EXPECT_EQ(in_child([&] { return static_cast<int>(AtomicFile::remove_orphans(directory_.string())); }), 0);
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(entries(), 1U);
}

TEST_F(AtomicFiles, TheTemporaryOfADeadWriterIsRemovedAndNothingElse) {
  std::ofstream(path("a.tmp")) << "not ours";
  std::ofstream(path("b.1.x.tmp")) << "not ours";
  std::ofstream(path("kept")) << "not ours";
  in_child([&] {
    auto file = AtomicFile::create(path("a"));
    (void)file->write(bytes_of("half"));
    ::_exit(0);  // no destructor
    return 0;
  });
  ASSERT_EQ(entries(), 4U);
  EXPECT_EQ(AtomicFile::remove_orphans(directory_.string()), 1U);
  EXPECT_EQ(entries(), 3U);
}

TEST_F(AtomicFiles, AnUnlockedTemporaryOfALivingProcessGoesWhenItIsOld) {
  const std::string name = path(fmt::format("a.{}.999.tmp", ::getppid()));
  std::ofstream(name) << "just created, not locked yet";
  EXPECT_EQ(AtomicFile::remove_orphans(directory_.string()), 0U);
  const timespec long_ago[2] = {{1000000000, 0}, {1000000000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, name.c_str(), long_ago, 0), 0);
  EXPECT_EQ(AtomicFile::remove_orphans(directory_.string()), 1U);
}

TEST_F(AtomicFiles, AWriteThatDoesNotFitLeavesTheOldFileAndNothingElse) {
  std::ofstream(path("a")) << "old";
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto file = AtomicFile::create(path("a"));
    if (!file) return 1;
    const auto written = file->write(bytes_of(std::string(10000, 'n')));
    return !written &&
                   written.error().message.find("a: cannot be written: File too large") != std::string::npos
               ? 0
               : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(entries(), 1U);
  EXPECT_EQ(content("a"), "old");
}

TEST_F(AtomicFiles, AWriterKilledAtAnyMomentLeavesOldOrNewAndAtMostATemporary) {
  const std::string old(100000, 'o');
  const std::string fresh(100000, 'n');
  std::ofstream(path("a")) << old;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        auto file = AtomicFile::create(path("a"));
        if (!file) ::_exit(1);
        const std::string& text = ::getpid() % 2 == 0 ? old : fresh;
        for (size_t at = 0; at < text.size(); at += 5000) (void)file->write(bytes_of(text.substr(at, 5000)));
        (void)file->commit();
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1500 + round * 700));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string now = content("a");
    ASSERT_TRUE(now == old || now == fresh) << now.size();
    AtomicFile::remove_orphans(directory_.string());
    ASSERT_EQ(entries(), 1U);
  }
}

TEST_F(AtomicFiles, CommitWaitsForTheDirectorysLock) {
  auto file = AtomicFile::create(path("a"));
  ASSERT_TRUE(file);
  auto held = FileLock::acquire(directory_.string(), milliseconds(0));
  ASSERT_TRUE(held);
  std::thread other([&] { EXPECT_TRUE(file->commit()); });
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_FALSE(fs::exists(path("a")));
  { const FileLock released = std::move(*held); }
  other.join();
  EXPECT_TRUE(fs::exists(path("a")));
}

TEST_F(AtomicFiles, ALockIsExclusiveAndWaitedForNoLongerThanAsked) {
  const auto held = FileLock::acquire(directory_.string(), milliseconds(0));
  ASSERT_TRUE(held);
  const auto refused = FileLock::acquire(directory_.string(), milliseconds(20));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalidState);
  EXPECT_TRUE(FileLock::acquire(path("missing"), milliseconds(0)));
}

}  // namespace
}  // namespace oxbow
