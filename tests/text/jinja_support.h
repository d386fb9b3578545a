#pragma once
// Rendering templates in tests, and threads with little stack.

#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/chat_template.h"

namespace oxbow::text::testing {

using nlohmann::ordered_json;

// With the members of `variables` as variables.
inline Result<std::string> render_template(std::string_view source,
                                           const ordered_json& variables = ordered_json::object(),
                                           const jinja::Limits& limits = {}) {
  OXBOW_ASSIGN(const ChatTemplate parsed, ChatTemplate::parse(source, limits));
  ChatTemplateInput input;
  input.arguments = &variables;
  return parsed.render(input);
}

// The text, or "error: " and the message.
inline std::string shown(const Result<std::string>& result) {
  return result ? *result : "error: " + result.error().message;
}
inline std::string rendered(std::string_view source, const ordered_json& variables = ordered_json::object()) {
  return shown(render_template(source, variables));
}

inline std::string repeated(std::string_view part, size_t times) {
  std::string out;
  out.reserve(part.size() * times);
  for (size_t i = 0; i < times; ++i) out += part;
  return out;
}

// Sanitizers make frames several times larger.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OXBOW_LARGE_FRAMES
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OXBOW_LARGE_FRAMES
#endif
#ifdef OXBOW_LARGE_FRAMES
inline constexpr size_t kSmallStackBytes = size_t{6} << 20;
#else
inline constexpr size_t kSmallStackBytes = size_t{1} << 20;
#endif

// Runs work on a thread whose stack has kSmallStackBytes: one byte more is a crash.
inline void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kSmallStackBytes), 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace oxbow::text::testing
