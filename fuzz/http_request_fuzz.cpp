// Any bytes on a connection, in any pieces: requests within the limits, or an error; each request gets a
// route or an answer.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/admission.h"
#include "server/request_reader.h"

namespace {

using namespace oxbow::server;

constexpr ReadLimits kLimits{.header_bytes = 1024, .header_fields = 16, .body_bytes = 4096};

void require(bool condition) {
  if (!condition) std::abort();
}

Router make_router() {
  Router router;
  const Handler nothing = [](const std::shared_ptr<Exchange>&) {};
  router.add("GET", "/health", nothing, {.open = true});
  router.add("GET", "/v1/models/{id*}", nothing);
  router.add("POST", "/slots/{id}", nothing);
  router.add("POST", "/v1/chat/completions", nothing, {.needs_model = true});
  return router;
}

void check(Request& request) {
  static const Router router = make_router();
  static const AccessPolicy open(AccessOptions{.loopback_only = false}),
      closed(AccessOptions{.keys = {"key"}});
  static const Readiness readiness;
  require(request.body.size() <= kLimits.body_bytes && request.headers.size() <= kLimits.header_fields);
  for (const AccessPolicy* access : {&open, &closed}) {
    const Admission admission(router, *access, readiness);
    const auto decision = admission.decide(request);
    require(!request.id.empty());
    if (const auto* response = std::get_if<Response>(&decision)) require(response->status >= 200);
    for (const Header& header : admission.answer_headers(request)) require(!header.name.empty());
  }
  (void)request.query_value("action");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = data[0] == 0 ? size : data[0];
  std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestReader reader(kLimits);
  std::string waiting;
  while (true) {
    std::string_view rest = waiting;
    const auto progress = reader.feed(rest);
    waiting.erase(0, waiting.size() - rest.size());
    switch (progress) {
      case RequestReader::Progress::kHead:
        check(reader.request());
        (void)reader.keep_alive();
        (void)reader.expects_continue();
        break;
      case RequestReader::Progress::kComplete:
        require(reader.request().body.size() <= kLimits.body_bytes);
        reader = RequestReader(kLimits);
        break;
      case RequestReader::Progress::kFailed:
        require(reader.error().status >= 400 && !reader.error().message.empty());
        return 0;
      case RequestReader::Progress::kNeedMore:
        if (all.empty()) return 0;
        require(waiting.size() < kLimits.header_bytes);
        waiting += all.substr(0, step);
        all.remove_prefix(std::min(step, all.size()));
        break;
    }
  }
}
