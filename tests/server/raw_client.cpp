#include "server/raw_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace oxbow::server::test {

RawClient::RawClient(uint16_t port) {
  descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) close();
}

RawClient::~RawClient() {
  close();
}

void RawClient::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void RawClient::reset() {
  const linger now{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

void RawClient::close_sending() {
  ::shutdown(descriptor_, SHUT_WR);
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string RawClient::read_until(std::string_view end) {
  std::string text = std::move(rest_);
  rest_.clear();
  while (end.empty() || text.find(end) == text.npos) {
    pollfd entry{descriptor_, POLLIN, 0};
    char buffer[65536];
    if (::poll(&entry, 1, 10'000) <= 0) break;
    const ssize_t got = ::recv(descriptor_, buffer, sizeof(buffer), 0);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  if (end.empty()) return text;
  const size_t found = text.find(end);
  if (found == text.npos) return text;
  rest_ = text.substr(found + end.size());
  return text.substr(0, found + end.size());
}

std::string RawClient::read_answer() {
  std::string head = read_until("\r\n\r\n");
  const size_t field = head.find("Content-Length: ");
  if (field == head.npos) return head;
  const size_t length = std::strtoul(head.c_str() + field + 16, nullptr, 10);
  std::string body = std::move(rest_);
  rest_.clear();
  while (body.size() < length) {
    char buffer[65536];
    pollfd entry{descriptor_, POLLIN, 0};
    if (::poll(&entry, 1, 10'000) <= 0) break;
    const ssize_t got = ::recv(descriptor_, buffer, std::min(sizeof(buffer), length - body.size()), 0);
    if (got <= 0) break;
    body.append(buffer, static_cast<size_t>(got));
  }
  if (body.size() > length) {
    rest_ = body.substr(length);
    body.resize(length);
  }
  return head + body;
}

std::string post(std::string_view path, std::string_view body, std::string_view headers) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}", path,
                     body.size(), headers, body);
}

std::string get(std::string_view path, std::string_view headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, headers);
}

size_t open_descriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += !entry.path().empty();
  return count;
}

}  // namespace oxbow::server::test
