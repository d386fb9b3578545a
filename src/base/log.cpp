#include "base/log.h"

namespace oxbow {
namespace {

LogSink& sink() {
  static LogSink instance;
  return instance;
}

}  // namespace

void set_log_sink(LogSink new_sink) {
  sink() = std::move(new_sink);
}

bool log_enabled() {
  return static_cast<bool>(sink());
}

void log_message(LogLevel level, std::string_view module, std::string_view message) {
  if (sink()) sink()(level, module, message);
}

}  // namespace oxbow
