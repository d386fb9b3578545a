#include "text/tool_calls.h"

#include <algorithm>

#include "text/python_calls.h"

namespace oxbow::text {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kBlank = " \t\r\n";
constexpr size_t kMaxNesting = 100;

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

// JSON that is nested so little that printing it is safe; discarded otherwise.
Json parse_shallow(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quoted)
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '[') && ++depth > kMaxNesting)
      return Json(Json::value_t::discarded);
    else if (!quoted && (c == '}' || c == ']') && depth > 0)
      --depth;
  }
  return Json::parse(text, nullptr, false);
}

std::string print(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

const Json& tool_function(const Json& tool) {
  static const Json none = Json::object();
  if (!tool.is_object()) return none;
  const auto inner = tool.find("function");
  return inner != tool.end() && inner->is_object() ? *inner : tool;
}

ToolCallFormat find_tool_call_format(std::string_view source) {
  const auto has = [&](std::string_view text) { return source.find(text) != std::string_view::npos; };
  if (has("<|tool_call_start|>") || has("List of tools: "))
    return {ToolCallStyle::kPython, "<|tool_call_start|>", "<|tool_call_end|>"};
  if (has("<function=")) return {ToolCallStyle::kXmlParameters, "<tool_call>", "</tool_call>"};
  if (has("[TOOL_CALLS]")) return {ToolCallStyle::kJsonList, "[TOOL_CALLS]", ""};
  if (has("<TOOLCALL>")) return {ToolCallStyle::kJsonList, "<TOOLCALL>", "</TOOLCALL>"};
  if (has("<tool_calls>")) return {ToolCallStyle::kJsonList, "<tool_calls>", "</tool_calls>"};
  if (has("<tool_call>")) return {ToolCallStyle::kJson, "<tool_call>", "</tool_call>"};
  if (has("<|tool_call|>")) return {ToolCallStyle::kJsonList, "<|tool_call|>", ""};
  if (has("\"parameters\": ") && has("{\"name\": ")) return {ToolCallStyle::kBareJson, "", "", "parameters"};
  if (has("tools")) return {ToolCallStyle::kJson, "<tool_call>", "</tool_call>"};
  return {};
}

ToolCallParser::ToolCallParser(ToolCallFormat format, Json tools)
    : format_(std::move(format)), tools_(std::move(tools)) {}

bool ToolCallParser::is_mark(std::string_view token_text) const {
  return !token_text.empty() && (token_text == format_.open || token_text == format_.close);
}

void ToolCallParser::push(std::string_view text, std::vector<Event>& out) {
  held_ += text;
  while (in_call_ ? read_call(false, out) : find_call(false, out)) {
  }
}

void ToolCallParser::flush(std::vector<Event>& out) {
  while (in_call_ ? read_call(true, out) : find_call(true, out)) {
  }
  if (!after_call_ || !trimmed(held_).empty()) give_text(held_.size(), out);
  held_.clear();
}

void ToolCallParser::give_text(size_t bytes, std::vector<Event>& out) {
  if (bytes == 0) return;
  std::string text = held_.substr(0, bytes);
  held_.erase(0, bytes);
  any_text_ = any_text_ || !trimmed(text).empty();
  after_call_ = false;
  if (!out.empty() && out.back().kind == Kind::kText)
    out.back().text += text;
  else
    out.push_back({Kind::kText, std::move(text)});
}

void ToolCallParser::give_calls(const std::vector<Call>& calls, std::vector<Event>& out) {
  for (const Call& call : calls) {
    out.push_back({Kind::kBegin, call.name, calls_});
    out.push_back({Kind::kArguments, call.arguments, calls_});
    out.push_back({Kind::kEnd, "", calls_++});
  }
}

// Gives the text that is certain to lie outside of calls. True when a call has begun.
bool ToolCallParser::find_call(bool at_end, std::vector<Event>& out) {
  if (format_.style == ToolCallStyle::kNone) {
    give_text(held_.size(), out);
    return false;
  }
  const size_t first = held_.find_first_not_of(kBlank);
  if (format_.style == ToolCallStyle::kBareJson) {
    if (first == std::string::npos && !at_end) return false;
    if (!any_text_ && calls_ == 0 && first != std::string::npos && held_[first] == '{') {
      in_call_ = true;
      return true;
    }
    give_text(held_.size(), out);
    return false;
  }
  const size_t mark = held_.find(format_.open);
  // Blank space in front of a call belongs to the call.
  size_t end = mark != std::string::npos ? mark : held_.size();
  if (mark == std::string::npos && !at_end) {
    size_t keep = std::min(end, format_.open.size() - 1);
    while (keep > 0 && !held_.ends_with(std::string_view(format_.open).substr(0, keep))) --keep;
    end -= keep;
  }
  if (mark != std::string::npos || !at_end) {
    const size_t last = end == 0 ? std::string::npos : held_.find_last_not_of(kBlank, end - 1);
    end = last == std::string::npos ? 0 : last + 1;
  }
  if (mark == std::string::npos && at_end && after_call_ && trimmed(held_).empty()) return false;
  give_text(end, out);
  if (mark == std::string::npos) return false;
  in_call_ = true;
  searched_ = 0;
  return true;
}

// Reads one block of calls. True when it is decided, and what follows may be looked at.
bool ToolCallParser::read_call(bool at_end, std::vector<Event>& out) {
  const size_t begin = held_.find(format_.open) + format_.open.size();  // blank space may stand before
  size_t end = std::string::npos, next = held_.size();
  if (!format_.close.empty()) {
    for (size_t from = std::max(begin, searched_);;) {
      end = held_.find(format_.close, from);
      if (end == std::string::npos) break;
      if (!is_within_quotes(std::string_view(held_).substr(begin, end - begin))) break;
      from = end + format_.close.size();
      searched_ = from;
    }
    if (end != std::string::npos) next = end + format_.close.size();
  }
  if (end == std::string::npos) {
    if (!at_end) return false;
    end = held_.size();
  }
  in_call_ = false;
  const Calls calls = parse(std::string_view(held_).substr(begin, end - begin));
  if (!calls) {
    // The mark is text; there may be another behind it.
    give_text(format_.style == ToolCallStyle::kBareJson ? held_.size() : begin, out);
    any_text_ = true;
    return !held_.empty();
  }
  held_.erase(0, next);
  give_calls(*calls, out);
  after_call_ = true;
  return !held_.empty();
}

bool ToolCallParser::is_within_quotes(std::string_view block) const {
  if (format_.style == ToolCallStyle::kXmlParameters) return false;
  char quote = '\0';
  for (size_t i = 0; i < block.size(); ++i) {
    const char c = block[i];
    if (quote != '\0') {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = '\0';
    } else if (c == '"' || (c == '\'' && format_.style == ToolCallStyle::kPython)) {
      quote = c;
    }
  }
  return quote != '\0';
}

bool ToolCallParser::is_known(const std::string& name) const {
  if (name.empty()) return false;
  if (!tools_.is_array() || tools_.empty()) return true;
  return std::ranges::any_of(tools_, [&](const Json& tool) {
    const Json& function = tool_function(tool);
    const auto found = function.find("name");
    return found != function.end() && *found == Json(name);
  });
}

bool ToolCallParser::takes_string(const std::string& tool, const std::string& parameter) const {
  if (!tools_.is_array()) return false;
  for (const Json& one : tools_) {
    const Json& function = tool_function(one);
    if (!function.contains("name") || function["name"] != Json(tool)) continue;
    for (const Json* at = &function;;) {
      for (const char* key : {"parameters", "properties", parameter.c_str(), "type"}) {
        if (!at->is_object() || !at->contains(key)) return false;
        at = &(*at)[key];
      }
      return *at == Json("string");
    }
  }
  return false;
}

ToolCallParser::Calls ToolCallParser::parse(std::string_view block) const {
  switch (format_.style) {
    case ToolCallStyle::kNone:
      return std::nullopt;
    case ToolCallStyle::kXmlParameters:
      return parse_xml(block);
    case ToolCallStyle::kPython:
      return parse_python(block);
    default:
      return parse_json(block);
  }
}

ToolCallParser::Calls ToolCallParser::parse_json(std::string_view block) const {
  Json list = parse_shallow(trimmed(block));
  if (list.is_object()) list = Json::array({list});
  if (!list.is_array() || list.empty()) return std::nullopt;
  std::vector<Call> calls;
  for (const Json& entry : list) {
    const Json& call = tool_function(entry);
    const auto name = call.find("name");
    if (name == call.end() || !name->is_string() || !is_known(name->get<std::string>())) return std::nullopt;
    Json arguments = Json::object();
    for (const char* key : {"arguments", "parameters"}) {
      if (call.contains(key)) arguments = call[key];
    }
    if (arguments.is_string()) arguments = parse_shallow(arguments.get_ref<const std::string&>());
    if (!arguments.is_object()) return std::nullopt;
    calls.push_back({name->get<std::string>(), print(arguments)});
  }
  return calls;
}

ToolCallParser::Calls ToolCallParser::parse_python(std::string_view block) const {
  const auto parsed = parse_python_calls(block);
  if (!parsed) return std::nullopt;
  std::vector<Call> calls;
  for (const auto& [name, arguments] : *parsed) {
    if (!is_known(name)) return std::nullopt;
    calls.push_back({name, print(arguments)});
  }
  return calls;
}

ToolCallParser::Calls ToolCallParser::parse_xml(std::string_view block) const {
  constexpr std::string_view kFunction = "<function=", kEndFunction = "</function>";
  constexpr std::string_view kParameter = "<parameter=", kEndParameter = "</parameter>";
  std::string_view rest = trimmed(block);
  // Up to the mark; moves behind it.
  const auto take_until = [&](std::string_view mark) -> std::optional<std::string_view> {
    const size_t place = rest.find(mark);
    if (place == std::string_view::npos) return std::nullopt;
    const std::string_view before = rest.substr(0, place);
    rest.remove_prefix(place + mark.size());
    return before;
  };
  if (!rest.starts_with(kFunction)) return std::nullopt;
  rest.remove_prefix(kFunction.size());
  const auto named = take_until(">");
  if (!named) return std::nullopt;
  const std::string name(trimmed(*named));
  if (!is_known(name)) return std::nullopt;
  Json arguments = Json::object();
  for (rest = trimmed(rest); rest.starts_with(kParameter); rest = trimmed(rest)) {
    rest.remove_prefix(kParameter.size());
    const auto key = take_until(">");
    auto value = key ? take_until(kEndParameter) : std::nullopt;
    if (!value) return std::nullopt;
    if (value->starts_with('\n')) value->remove_prefix(1);
    if (value->ends_with('\n')) value->remove_suffix(1);
    const std::string parameter(trimmed(*key));
    Json parsed =
        takes_string(name, parameter) ? Json(Json::value_t::discarded) : parse_shallow(trimmed(*value));
    arguments[parameter] = parsed.is_discarded() ? Json(std::string(*value)) : std::move(parsed);
  }
  if (rest != kEndFunction) return std::nullopt;
  return std::vector<Call>{{name, print(arguments)}};
}

}  // namespace oxbow::text
