#include "cli/serving_log.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/log.h"

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};

// "2025-01-31T12:00:00.123Z"
std::string timestamp() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, milliseconds);
}

std::string json_line(LogLevel level, std::string_view module, std::string_view message) {
  Json json;
  json["time"] = timestamp();
  json["level"] = kLevels[static_cast<size_t>(level)];
  json["component"] = module;
  json["msg"] = message;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

ServingLog::ServingLog(Console& console, bool json_lines) {
  const int verbosity = console.verbosity();
  set_log_sink([this, &console, json_lines, verbosity](LogLevel level, std::string_view module,
                                                       std::string_view message) {
    if (level == LogLevel::kDebug && verbosity < 2) return;
    const std::lock_guard lock(mutex_);
    if (json_lines) {
      const std::string line = json_line(level, module, message);
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    } else if (level == LogLevel::kError) {
      console.error(fmt::format("{}: {}", module, message));
    } else if (level == LogLevel::kWarning) {
      console.warn(fmt::format("{}: {}", module, message));
    } else {
      console.dim("{} {}: {}", timestamp(), module, message);
    }
  });
}

ServingLog::~ServingLog() {
  set_log_sink({});
}

}  // namespace oxbow::cli
