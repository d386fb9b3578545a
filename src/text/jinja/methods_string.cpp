#include <algorithm>

#include "text/jinja/characters.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/unicode.h"

namespace oxbow::text::jinja {

namespace {

Result<Value> strip_method(Heap& heap, const Value& self, const Arguments& given, bool left, bool right) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("strip", given, {"chars"}));
  if (bound[0] == nullptr || bound[0]->is_none())
    return heap.string(std::string(strip(self.text(), nullptr, left, right)));
  OXBOW_ASSIGN(const std::string_view characters, bound.text(0, ""));
  OXBOW_TRY(heap.spend_bytes(self.text().size() * std::min<size_t>(characters.size(), 4096)));
  return heap.string(std::string(strip(self.text(), &characters, left, right)));
}

Result<Value> list_of(Heap& heap, const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  OXBOW_TRY(heap.spend(parts.size()));
  for (const std::string_view part : parts) {
    OXBOW_ASSIGN(Value item, heap.string(std::string(part)));
    items.push_back(std::move(item));
  }
  return heap.list(std::move(items));
}

// split() without a separator: words between white space, at most `most` cuts (negative: no limit). What is
// not cut keeps its white space on the far side.
std::vector<std::string_view> words(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const Character c = decode_character(text.substr(at));
    const bool space = is_space(c.code_point);
    if (inside && space) parts.push_back(text.substr(start, at - start));
    if (!inside && !space) start = at;
    inside = !space;
    at += c.size_bytes;
  }
  if (inside) parts.push_back(text.substr(start));
  const auto cuts = static_cast<size_t>(most);
  if (most < 0 || parts.size() <= cuts) return parts;
  if (from_right) {
    const std::string_view& last = parts[parts.size() - 1 - cuts];
    const std::string_view head =
        text.substr(0, static_cast<size_t>(last.data() + last.size() - text.data()));
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(cuts));
    parts.insert(parts.begin(), head);
  } else {
    const std::string_view tail = text.substr(static_cast<size_t>(parts[cuts].data() - text.data()));
    parts.resize(cuts);
    parts.push_back(tail);
  }
  return parts;
}

Result<Value> split_method(Heap& heap, const Value& self, const Arguments& given, bool from_right) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("split", given, {"sep", "maxsplit"}));
  OXBOW_ASSIGN(const int64_t most, bound.integer(1, -1));
  OXBOW_TRY(heap.spend_bytes(self.text().size()));
  if (bound[0] == nullptr || bound[0]->is_none()) return list_of(heap, words(self.text(), most, from_right));
  OXBOW_ASSIGN(const std::string_view separator, bound.text(0, ""));
  if (separator.empty()) return fail(ErrorKind::kInvalidInput, "split: the separator is empty");
  std::vector<std::string_view> parts;
  std::string_view text = self.text();
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    const std::string_view behind = text.substr(at + separator.size());
    parts.push_back(from_right ? behind : text.substr(0, at));
    text = from_right ? text.substr(0, at) : behind;
  }
  parts.push_back(text);
  if (from_right) std::ranges::reverse(parts);
  return list_of(heap, parts);
}

Result<Value> splitlines(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("splitlines", given, {"keepends"}));
  std::vector<std::string_view> parts;
  std::string_view text = self.text();
  size_t at = 0;
  while (at < text.size()) {
    const Character c = decode_character(text.substr(at));
    const char32_t code = c.code_point;
    const bool ends = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
                      code == 0x2028 || code == 0x2029;
    size_t next = at + c.size_bytes;
    if (ends) {
      if (code == '\r' && next < text.size() && text[next] == '\n') ++next;
      parts.push_back(text.substr(0, bound.truthy(0) ? next : at));
      text.remove_prefix(next);
      next = 0;
    }
    at = next;
  }
  if (!text.empty()) parts.push_back(text);
  return list_of(heap, parts);
}

// startswith and endswith: one text or a tuple of them.
Result<Value> affix(const Value& self, const Arguments& given, bool at_start) {
  const std::string_view name = at_start ? "startswith" : "endswith";
  OXBOW_ASSIGN(const Bound bound, Bound::bind(name, given, {"affix"}, 1));
  const auto matches = [&](const Value& v) {
    return at_start ? self.text().starts_with(v.text()) : self.text().ends_with(v.text());
  };
  if (bound[0]->string() != nullptr) return Value(matches(*bound[0]));
  if (!bound[0]->is_tuple())
    return fail(ErrorKind::kInvalidInput, "{} takes a string or a tuple of strings, not {}", name,
                bound[0]->type_name());
  for (const Value& candidate : bound[0]->sequence()->items) {
    if (candidate.string() == nullptr)
      return fail(ErrorKind::kInvalidInput, "{}: {} is not a string", name, candidate.type_name());
    if (matches(candidate)) return Value(true);
  }
  return Value(false);
}

Result<Value> replace_method(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("replace", given, {"old", "new", "count"}, 2));
  OXBOW_ASSIGN(const std::string_view from, bound.text(0, ""));
  OXBOW_ASSIGN(const std::string_view to, bound.text(1, ""));
  OXBOW_ASSIGN(int64_t count, bound.integer(2, -1));
  std::string_view text = self.text();
  OXBOW_TRY(heap.spend_bytes(text.size()));
  std::string out;
  while (count != 0) {
    const size_t at = from.empty() ? 0 : text.find(from);
    if (at == std::string_view::npos) break;
    out.append(text.substr(0, at)).append(to);
    OXBOW_TRY(heap.check_string(out.size()));
    --count;
    text.remove_prefix(at + from.size());
    if (!from.empty()) continue;
    if (text.empty()) return heap.string(std::move(out));
    const size_t size = decode_character(text).size_bytes;
    out.append(text.substr(0, size));
    text.remove_prefix(size);
  }
  return heap.string(out.append(text));
}

// find, rfind, index, rindex: the place in code points.
Result<Value> find_method(Heap& heap, const Value& self, const Arguments& given, bool last, bool must) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("find", given, {"sub"}, 1));
  OXBOW_ASSIGN(const std::string_view wanted, bound.text(0, ""));
  OXBOW_TRY(heap.spend_bytes(self.text().size()));
  const size_t at = last ? self.text().rfind(wanted) : self.text().find(wanted);
  if (at != std::string_view::npos)
    return Value(static_cast<int64_t>(count_code_points(self.text().substr(0, at))));
  if (must) return fail(ErrorKind::kInvalidInput, "substring not found");
  return Value(int64_t{-1});
}

Result<Value> count_method(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("count", given, {"sub"}, 1));
  OXBOW_ASSIGN(const std::string_view wanted, bound.text(0, ""));
  OXBOW_TRY(heap.spend_bytes(self.text().size()));
  if (wanted.empty()) return Value(static_cast<int64_t>(self.string()->length) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = self.text().find(wanted, at)) != std::string_view::npos; at += wanted.size())
    ++count;
  return Value(count);
}

Result<Value> join_method(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("join", given, {"iterable"}, 1));
  OXBOW_ASSIGN(const std::vector<Value> items, iterate(heap, *bound[0]));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].string() == nullptr)
      return fail(ErrorKind::kInvalidInput, "join: item {} is of type {}, not str", i, items[i].type_name());
    if (i > 0) out += self.text();
    out += items[i].text();
    OXBOW_TRY(heap.check_string(out.size()));
  }
  return heap.string(std::move(out));
}

Result<Value> partition(Heap& heap, const Value& self, const Arguments& given, bool last) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("partition", given, {"sep"}, 1));
  OXBOW_ASSIGN(const std::string_view separator, bound.text(0, ""));
  if (separator.empty()) return fail(ErrorKind::kInvalidInput, "partition: the separator is empty");
  OXBOW_TRY(heap.spend_bytes(self.text().size()));
  const std::string_view text = self.text();
  const size_t at = last ? text.rfind(separator) : text.find(separator);
  std::vector<std::string_view> parts;
  if (at != std::string_view::npos) {
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  } else if (last) {
    parts = {"", "", text};
  } else {
    parts = {text, "", ""};
  }
  OXBOW_ASSIGN(const Value list, list_of(heap, parts));
  return heap.tuple(list.sequence()->items);
}

Result<Value> remove_affix(Heap& heap, const Value& self, const Arguments& given, bool at_start) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("removeprefix", given, {"affix"}, 1));
  OXBOW_ASSIGN(const std::string_view affix_text, bound.text(0, ""));
  std::string_view text = self.text();
  if (at_start && text.starts_with(affix_text)) text.remove_prefix(affix_text.size());
  if (!at_start && text.ends_with(affix_text)) text.remove_suffix(affix_text.size());
  return heap.string(std::string(text));
}

// Every character fulfils it, and there is one.
template <typename Predicate>
Result<Value> all_characters(Heap& heap, const Value& self, const Arguments& given, Predicate predicate) {
  OXBOW_TRY(Bound::bind("a character test", given, {}));
  OXBOW_TRY(heap.spend_bytes(self.text().size()));
  std::string_view text = self.text();
  if (text.empty()) return Value(false);
  while (!text.empty()) {
    const Character c = decode_character(text);
    if (!predicate(c.code_point)) return Value(false);
    text.remove_prefix(c.size_bytes);
  }
  return Value(true);
}

Result<Value> map_text(Heap& heap, const Value& self, const Arguments& given,
                       std::string (*map)(std::string_view)) {
  OXBOW_TRY(Bound::bind("a method that changes case", given, {}));
  return heap.string(map(self.text()));
}

// The text in a field of `width` code points; `left` and `right` say where filling goes.
Result<Value> pad(Heap& heap, const Value& self, const Arguments& given, bool left, bool right) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("ljust", given, {"width", "fillchar"}, 1));
  OXBOW_ASSIGN(const int64_t width, bound.integer(0, 0));
  OXBOW_ASSIGN(const std::string_view fill, bound.text(1, " "));
  if (count_code_points(fill) != 1) return fail(ErrorKind::kInvalidInput, "the fill must be one character");
  const auto length = static_cast<int64_t>(self.string()->length);
  const int64_t missing = std::max<int64_t>(0, width - length);
  OXBOW_TRY(heap.check_string(static_cast<size_t>(missing) + self.text().size()));
  const int64_t before = !left ? 0 : !right ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < before; ++i) out += fill;
  out += self.text();
  for (int64_t i = before; i < missing; ++i) out += fill;
  return heap.string(std::move(out));
}

#define OXBOW_METHOD(name, call)                                                            \
  NamedMethod {                                                                             \
    name, [](Heap& h, const Value& s, const Arguments& a) -> Result<Value> { return call; } \
  }

const NamedMethod kStringMethods[] = {
    OXBOW_METHOD("strip", strip_method(h, s, a, true, true)),
    OXBOW_METHOD("lstrip", strip_method(h, s, a, true, false)),
    OXBOW_METHOD("rstrip", strip_method(h, s, a, false, true)),
    OXBOW_METHOD("split", split_method(h, s, a, false)),
    OXBOW_METHOD("rsplit", split_method(h, s, a, true)),
    {"splitlines", splitlines},
    OXBOW_METHOD("startswith", (static_cast<void>(h), affix(s, a, true))),
    OXBOW_METHOD("endswith", (static_cast<void>(h), affix(s, a, false))),
    {"replace", replace_method},
    OXBOW_METHOD("upper", map_text(h, s, a, to_upper)),
    OXBOW_METHOD("lower", map_text(h, s, a, to_lower)),
    OXBOW_METHOD("casefold", map_text(h, s, a, to_lower)),
    OXBOW_METHOD("title", map_text(h, s, a, to_title)),
    OXBOW_METHOD("capitalize", map_text(h, s, a, to_capitalized)),
    OXBOW_METHOD("find", find_method(h, s, a, false, false)),
    OXBOW_METHOD("rfind", find_method(h, s, a, true, false)),
    OXBOW_METHOD("index", find_method(h, s, a, false, true)),
    OXBOW_METHOD("rindex", find_method(h, s, a, true, true)),
    {"count", count_method},
    {"join", join_method},
    OXBOW_METHOD("partition", partition(h, s, a, false)),
    OXBOW_METHOD("rpartition", partition(h, s, a, true)),
    OXBOW_METHOD("removeprefix", remove_affix(h, s, a, true)),
    OXBOW_METHOD("removesuffix", remove_affix(h, s, a, false)),
    OXBOW_METHOD("isdigit", all_characters(h, s, a, is_decimal)),
    OXBOW_METHOD("isdecimal", all_characters(h, s, a, is_decimal)),
    OXBOW_METHOD("isnumeric", all_characters(h, s, a, is_decimal)),
    OXBOW_METHOD("isalpha", all_characters(h, s, a, is_letter)),
    OXBOW_METHOD("isalnum",
                 all_characters(h, s, a, [](char32_t c) { return is_letter(c) || is_decimal(c); })),
    OXBOW_METHOD("isspace", all_characters(h, s, a, is_space)),
    OXBOW_METHOD("ljust", pad(h, s, a, false, true)),
    OXBOW_METHOD("rjust", pad(h, s, a, true, false)),
    OXBOW_METHOD("center", pad(h, s, a, true, true)),
};
#undef OXBOW_METHOD

}  // namespace

std::span<const NamedMethod> string_methods() {
  return kStringMethods;
}

}  // namespace oxbow::text::jinja
