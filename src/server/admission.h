#pragma once
// What happens to a request once its head is read: a route, or an answer at once.

#include <variant>

#include "server/access.h"
#include "server/readiness.h"
#include "server/router.h"

namespace oxbow::server {

// Immutable but for what readiness says. Any thread.
class Admission {
 public:
  // All of them outlive it.
  Admission(const Router& router, const AccessPolicy& access, const Readiness& readiness)
      : router_(router), access_(access), readiness_(readiness) {}

  // Gives the request its id, client, route and parameters. In this order: 403 for a foreign host or origin,
  // preflight, 401, 404, 405, 503 while the model loads or the server drains, 415 for a page's form.
  std::variant<const Route*, Response> decide(Request& request) const;

  // Headers of every answer to the request.
  std::vector<Header> answer_headers(const Request& request) const;

 private:
  const Router& router_;
  const AccessPolicy& access_;
  const Readiness& readiness_;
};

}  // namespace oxbow::server
