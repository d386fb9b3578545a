#pragma once
// From a method and a path to a handler.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/http.h"

namespace oxbow::server {

struct RouteOptions {
  bool open = false;          // without an API key
  bool needs_model = false;   // 503 with Retry-After until the model is loaded, and while the server drains
  bool on_io_thread = false;  // the handler answers at once and never waits
};

struct Route {
  std::string method;
  std::string pattern;
  RouteOptions options;
  Handler handler;
};

// Immutable once the server runs.
class Router {
 public:
  // Pattern: segments of a path, "{name}" for any one segment: "/v1/models/{id}". "{name*}" as the last
  // segment takes the rest, slashes included. The first of several that match counts. GET serves HEAD, too.
  void add(std::string method, std::string pattern, Handler handler, RouteOptions options = {});

  struct Match {
    const Route* route;
    std::vector<std::pair<std::string, std::string>> parameters;
  };
  struct NotFound {
    std::string nearest;  // a path that exists; empty when none is near
  };
  struct WrongMethod {
    std::string allow;  // "GET, HEAD, OPTIONS"
  };
  std::variant<Match, NotFound, WrongMethod> find(std::string_view method, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace oxbow::server
