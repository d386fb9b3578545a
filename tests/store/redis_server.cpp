#include "redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace oxbow::stores::testing {
namespace {

sockaddr_in local(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A listening socket on a free port.
int listen_anywhere(uint16_t& port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = local(0);
  socklen_t size = sizeof(address);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 16) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ::close(listener);
    return -1;
  }
  port = ntohs(address.sin_port);
  return listener;
}

bool answers(uint16_t port) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local(port);
  bool answered = ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  answered = answered && ::send(client, "PING\r\n", 6, MSG_NOSIGNAL) == 6 && readable(client, 1000);
  ::close(client);
  return answered;
}

}  // namespace

bool readable(int socket, int milliseconds) {
  pollfd descriptor{.fd = socket, .events = POLLIN, .revents = 0};
  return ::poll(&descriptor, 1, milliseconds) > 0;
}

std::unique_ptr<RealRedis> RealRedis::start(const std::vector<std::string>& arguments, uint16_t port) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::unique_ptr<RealRedis> server(new RealRedis());
    server->port_ = port;
    if (server->launch(arguments)) return server;
  }
  return nullptr;
}

bool RealRedis::launch(const std::vector<std::string>& arguments) {
  // Another program may take the port before the server does; start() tries again.
  if (port_ == 0) ::close(listen_anywhere(port_));
  std::vector<std::string> words = {"redis-server",
                                    "--port",
                                    std::to_string(port_),
                                    "--bind",
                                    "127.0.0.1",
                                    "--save",
                                    "",
                                    "--appendonly",
                                    "no",
                                    "--dir",
                                    directory_.path(),
                                    "--daemonize",
                                    "no"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  child_ = ::fork();
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    // The tools' package has the program under its other name; it goes by the first word.
    for (const char* program : {"redis-server", "redis-check-rdb", "valkey-server"})
      ::execvp(program, pointers.data());
    ::_exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (answers(port_)) return true;
    if (::waitpid(child_, nullptr, WNOHANG) == child_) {
      child_ = -1;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void RealRedis::stop() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
}

RealRedis::~RealRedis() {
  stop();
}

FakeServer::FakeServer(Serve serve) : serve_(std::move(serve)), listener_(listen_anywhere(port_)) {
  thread_ = std::thread([this] { run(); });
}

FakeServer::~FakeServer() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

void FakeServer::run() {
  while (!stop_) {
    if (!readable(listener_, 5)) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    ++connections_;
    serve_(client);
    ::close(client);
  }
}

FakeServer::Serve FakeServer::always(std::string answer) {
  return [answer = std::move(answer)](int socket) {
    std::vector<char> input(1 << 16);
    while (readable(socket, 3000) && ::recv(socket, input.data(), input.size(), 0) > 0) {
      if (!answer.empty() && ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) <= 0) return;
    }
  };
}

}  // namespace oxbow::stores::testing
