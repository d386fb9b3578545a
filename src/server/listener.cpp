#include "server/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace oxbow::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

std::string with_port(const asio::ip::address& address, uint16_t port) {
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), port)
                         : fmt::format("{}:{}", address.to_string(), port);
}

Error bind_error(const error_code& code, const std::string& host, uint16_t port) {
  if (code == asio::error::address_in_use) {
    return {ErrorKind::kIo,
            fmt::format("port {} is in use, try --port {}", port, port < 65535 ? port + 1 : port - 1)};
  }
  if (code == asio::error::access_denied) {
    return {ErrorKind::kIo,
            fmt::format("port {} needs more rights than this user has, try --port 8080", port)};
  }
  return {ErrorKind::kIo, fmt::format("cannot listen on {} port {}: {}", host, port, code.message())};
}

Result<asio::ip::address> find_address(asio::io_context& context, const std::string& host) {
  error_code code;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, code);
  if (!code) return address;
  asio::ip::tcp::resolver resolver(context);
  const auto results = resolver.resolve(host, "", code);
  if (code || results.empty()) {
    return fail(ErrorKind::kInvalidInput, "--host {}: expected an address or a name of this machine ({})",
                host, code.message());
  }
  return results.begin()->endpoint().address();
}

error_code open(Acceptor& acceptor, const asio::generic::stream_protocol::endpoint& endpoint, bool reuse) {
  error_code code;
  acceptor.open(endpoint.protocol(), code);
  if (!code && reuse) acceptor.set_option(asio::socket_base::reuse_address(true), code);
  if (!code) acceptor.bind(endpoint, code);
  if (!code) acceptor.listen(asio::socket_base::max_listen_connections, code);
  return code;
}

// A socket file whose server is gone.
bool is_stale_socket(asio::io_context& context, const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  asio::local::stream_protocol::socket probe(context);
  error_code code;
  probe.connect(asio::local::stream_protocol::endpoint(path), code);
  return code == asio::error::connection_refused;
}

}  // namespace

Result<Listener> listen_tcp(asio::io_context& context, const std::string& host, uint16_t port) {
  OXBOW_ASSIGN(const asio::ip::address address, find_address(context, host));
  Listener listener{Acceptor(context)};
  if (const auto code = open(listener.acceptor, asio::ip::tcp::endpoint(address, port), true)) {
    return tl::unexpected<Error>(bind_error(code, host, port));
  }
  error_code code;
  const auto bound = listener.acceptor.local_endpoint(code);
  asio::ip::tcp::endpoint endpoint;
  if (code || bound.size() > endpoint.capacity())
    return fail(ErrorKind::kIo, "cannot tell the port: {}", code.message());
  endpoint.resize(bound.size());
  std::memcpy(endpoint.data(), bound.data(), bound.size());
  listener.port = endpoint.port();
  listener.description = "http://" + with_port(address, listener.port);
  return listener;
}

Result<Listener> listen_unix(asio::io_context& context, const std::string& path) {
  constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > kMaxPath) {
    return fail(ErrorKind::kInvalidInput, "--unix-socket: a path of {} bytes, the system allows {}",
                path.size(), kMaxPath);
  }
  if (is_stale_socket(context, path)) ::unlink(path.c_str());
  Listener listener{Acceptor(context)};
  if (const auto code = open(listener.acceptor, asio::local::stream_protocol::endpoint(path), false)) {
    return fail(ErrorKind::kIo, "{}: {}", path,
                code == asio::error::address_in_use ? "is there already, and is no socket that nobody serves"
                                                    : code.message());
  }
  listener.socket_path = path;
  listener.description = "unix:" + path;
  return listener;
}

std::string describe_peer(const asio::generic::stream_protocol::endpoint& endpoint) {
  asio::ip::tcp::endpoint tcp;
  const int family = endpoint.protocol().family();
  if ((family != AF_INET && family != AF_INET6) || endpoint.size() > tcp.capacity()) return "unix";
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  tcp.resize(endpoint.size());
  return with_port(tcp.address(), tcp.port());
}

}  // namespace oxbow::server
