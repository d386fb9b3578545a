#pragma once
// The library never prints: it hands messages to one sink that the program sets.

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace oxbow {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

using LogSink = std::function<void(LogLevel level, std::string_view module, std::string_view message)>;

// Replaces the sink (default: none, messages are dropped). Call before other threads log.
void set_log_sink(LogSink sink);

// True when a sink is set; formatting is skipped otherwise.
bool log_enabled();

void log_message(LogLevel level, std::string_view module, std::string_view message);

template <typename... Args>
void log(LogLevel level, std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled()) log_message(level, module, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace oxbow
