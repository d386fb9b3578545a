#include "server/tool_call_reader.h"

#include "server/generation.h"

namespace oxbow::server {
namespace {

class ParsedCalls : public ToolCallReader {
 public:
  ParsedCalls(const text::ToolCallFormat& format, const Json& tools) : parser_(format, tools) {}

  void push(std::string_view text, Delta& delta) override {
    events_.clear();
    parser_.push(text, events_);
    give(delta);
  }
  void flush(Delta& delta) override {
    events_.clear();
    parser_.flush(events_);
    give(delta);
  }
  bool is_mark(std::string_view token_text) const override { return parser_.is_mark(token_text); }

 private:
  void give(Delta& delta) {
    using Kind = text::ToolCallParser::Kind;
    for (text::ToolCallParser::Event& event : events_) {
      switch (event.kind) {
        case Kind::kText:
          delta.content += event.text;
          break;
        case Kind::kBegin:
          delta.calls.push_back({.index = event.call,
                                 .id = "call_" + random_name(24),
                                 .name = std::move(event.text),
                                 .arguments = {}});
          break;
        case Kind::kArguments:
          delta.calls.push_back(
              {.index = event.call, .id = {}, .name = {}, .arguments = std::move(event.text)});
          break;
        case Kind::kEnd:
          break;
      }
    }
  }

  text::ToolCallParser parser_;
  std::vector<text::ToolCallParser::Event> events_;
};

}  // namespace

std::function<std::unique_ptr<ToolCallReader>()> tool_call_readers(text::ToolCallFormat format, Json tools) {
  return [format = std::move(format), tools = std::move(tools)] {
    return std::make_unique<ParsedCalls>(format, tools);
  };
}

}  // namespace oxbow::server
