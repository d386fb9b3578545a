#pragma once
// A client that says exactly what a test wants, byte by byte.

#include <cstdint>
#include <string>
#include <string_view>

namespace oxbow::server::test {

class RawClient {
 public:
  explicit RawClient(uint16_t port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool is_connected() const { return descriptor_ >= 0; }
  // False when the other side has closed.
  bool send(std::string_view bytes);
  // Reads until `end` was read, the other side closes, or ten seconds are over. What was read.
  std::string read_until(std::string_view end);
  // A whole answer with Content-Length.
  std::string read_answer();
  std::string read_all() { return read_until({}); }
  void close_sending();
  // With a reset instead of a goodbye.
  void reset();
  void close();

 private:
  int descriptor_ = -1;
  std::string rest_;
};

// "POST PATH" with a body.
std::string post(std::string_view path, std::string_view body, std::string_view headers = {});
std::string get(std::string_view path, std::string_view headers = {});

// Descriptors that this process holds open.
size_t open_descriptors();

// Waits until the condition holds, for ten seconds at most.
template <typename Condition>
bool eventually(Condition condition);

}  // namespace oxbow::server::test

#include <chrono>
#include <thread>

template <typename Condition>
bool oxbow::server::test::eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}
