#include "server/router.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace oxbow::server {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kMaxComparedPath = 128;  // a longer path is near to none

// Takes the first segment off a path that begins with a slash.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

// The parameters of a path that fits the pattern.
std::optional<Parameters> match(std::string_view pattern, std::string_view path) {
  Parameters parameters;
  while (!pattern.empty() && !path.empty()) {
    if (path.front() != '/') return std::nullopt;
    std::string_view rest = path;
    const std::string_view want = take_segment(pattern), have = take_segment(path);
    if (!want.starts_with('{')) {
      if (want != have) return std::nullopt;
      continue;
    }
    std::string_view name = want.substr(1, want.size() - 2), value = have;
    if (name.ends_with('*')) {
      name.remove_suffix(1);
      value = rest.substr(1);
      path = {};
    }
    auto plain = unescape_url(value);
    if (!plain || plain->empty()) return std::nullopt;
    parameters.emplace_back(name, std::move(*plain));
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parameters;
}

// Insertions, removals and replacements of a character that make one text the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

void Router::add(std::string method, std::string pattern, Handler handler, RouteOptions options) {
  routes_.push_back({std::move(method), std::move(pattern), options, std::move(handler)});
}

std::variant<Router::Match, Router::NotFound, Router::WrongMethod> Router::find(std::string_view method,
                                                                                std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::vector<std::string> allowed;
  for (const Route& route : routes_) {
    auto parameters = match(route.pattern, path);
    if (!parameters) continue;
    if (route.method == wanted) return Match{&route, std::move(*parameters)};
    allowed.push_back(route.method);
    if (route.method == "GET") allowed.push_back("HEAD");
  }
  if (!allowed.empty()) {
    allowed.push_back("OPTIONS");
    return WrongMethod{fmt::format("{}", fmt::join(allowed, ", "))};
  }
  NotFound missing;
  if (path.size() > kMaxComparedPath) return missing;
  size_t least = std::max<size_t>(path.size() / 2, 3);  // farther is not near
  for (const Route& route : routes_) {
    const size_t distance = edit_distance(path, route.pattern);
    if (distance >= least) continue;
    least = distance;
    missing.nearest = route.pattern;
  }
  return missing;
}

}  // namespace oxbow::server
