// Bodies of requests for answers: whatever they are, they give a request or an error that says what is wrong.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "server/chat_request.h"
#include "server/completion_request.h"

namespace {

template <typename T>
void check(const oxbow::server::Checked<T>& parsed) {
  if (parsed) return;
  OXBOW_CHECK(parsed.error().status == 400 && !parsed.error().message.empty() &&
              !parsed.error().code.empty());
  OXBOW_CHECK(!oxbow::server::error_json(parsed.error()).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace oxbow::server;
  const auto body = parse_body({reinterpret_cast<const char*>(data), size});
  check(body);
  if (!body) return 0;
  const oxbow::engine::SamplerSettings defaults;
  check(parse_chat_request(*body, defaults));
  check(parse_completion_request(*body, defaults));
  check(parse_native_request(*body, defaults));
  return 0;
}
