// Answers with calls: what comes out does not depend on the cut, arguments are JSON objects, and an answer
// without calls comes back as it is.

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/tool_calls.h"
#include "text/unicode.h"

namespace oxbow::text {
namespace {

const ToolCallFormat kFormats[] = {{ToolCallStyle::kJson, "<tool_call>", "</tool_call>"},
                                   {ToolCallStyle::kJsonList, "[TOOL_CALLS]", ""},
                                   {ToolCallStyle::kJsonList, "<TOOLCALL>", "</TOOLCALL>"},
                                   {ToolCallStyle::kBareJson, "", "", "parameters"},
                                   {ToolCallStyle::kXmlParameters, "<tool_call>", "</tool_call>"},
                                   {ToolCallStyle::kPython, "<|tool_call_start|>", "<|tool_call_end|>"},
                                   {}};

std::vector<ToolCallParser::Event> read(const ToolCallFormat& format, std::string_view answer, size_t piece) {
  ToolCallParser parser(format, nlohmann::ordered_json::array());
  std::vector<ToolCallParser::Event> events;
  for (size_t at = 0; at < answer.size(); at += std::min(piece, answer.size() - at))
    parser.push(answer.substr(at, piece), events);
  parser.flush(events);
  return events;
}

}  // namespace
}  // namespace oxbow::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace oxbow::text;
  if (size < 2) return 0;
  const auto& format = kFormats[data[0] % std::size(kFormats)];
  const std::string_view answer(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = read(format, answer, answer.size() + 1), cut = read(format, answer, data[1] % 16 + 1);
  OXBOW_CHECK(whole.size() == cut.size());
  size_t calls = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    OXBOW_CHECK(whole[i].kind == cut[i].kind && whole[i].text == cut[i].text && whole[i].call == cut[i].call);
    if (whole[i].kind == ToolCallParser::Kind::kBegin) ++calls;
    if (whole[i].kind == ToolCallParser::Kind::kArguments)
      OXBOW_CHECK(nlohmann::ordered_json::parse(whole[i].text, nullptr, false).is_object());
  }
  if (calls == 0) OXBOW_CHECK(answer.empty() ? whole.empty() : whole.size() == 1 && whole[0].text == answer);
  return 0;
}
