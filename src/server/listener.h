#pragma once
// Sockets that listen: TCP and Unix, behind one kind of acceptor.

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <string>

#include "base/status.h"

namespace oxbow::server {

using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

struct Listener {
  Acceptor acceptor;
  uint16_t port = 0;        // of TCP
  std::string description;  // "http://127.0.0.1:8080", "unix:/run/oxbow.sock"
  std::string socket_path;  // to be removed at the end; empty for TCP
};

// kIo says what is in the way: "port 8080 is in use, try --port 8081".
Result<Listener> listen_tcp(boost::asio::io_context& context, const std::string& host, uint16_t port);
// Replaces a socket file that nobody serves any more.
Result<Listener> listen_unix(boost::asio::io_context& context, const std::string& path);

// "127.0.0.1:52100", "[::1]:52100", or "unix".
std::string describe_peer(const boost::asio::generic::stream_protocol::endpoint& endpoint);

}  // namespace oxbow::server
