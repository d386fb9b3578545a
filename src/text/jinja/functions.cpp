#include "text/jinja/functions.h"

#include "text/jinja/operations.h"

namespace oxbow::text::jinja {

namespace {

constexpr std::string_view kNames[] = {"range", "dict", "namespace", "raise_exception", "strftime_now"};

Result<Value> range(Heap& heap, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("range", given, {"start", "stop", "step"}, 1));
  const bool one = bound[1] == nullptr;
  OXBOW_ASSIGN(const int64_t first, bound.integer(0, 0));
  OXBOW_ASSIGN(const int64_t second, bound.integer(1, 0));
  OXBOW_ASSIGN(const int64_t step, bound.integer(2, 1));
  if (step == 0) return fail(ErrorKind::kInvalidInput, "range: the step is zero");
  const int64_t start = one ? 0 : first, stop = one ? first : second;
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() == heap.limits().range_items)
      return fail(ErrorKind::kOutOfBudget, "range: more than {} numbers", heap.limits().range_items);
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  OXBOW_TRY(heap.spend(items.size() / 4));
  return heap.sequence(SequenceKind::kRange, std::move(items));
}

// What dict() and namespace() take: a dict or pairs, then names.
Result<std::vector<std::pair<Value, Value>>> entries_of(Heap& heap, const Arguments& given) {
  if (given.positional.size() > 1) return fail(ErrorKind::kInvalidInput, "dict takes at most one argument");
  std::vector<std::pair<Value, Value>> entries;
  if (!given.positional.empty()) {
    const Value& source = given.positional[0];
    if (source.dict() != nullptr) {
      entries = source.dict()->entries;
    } else {
      OXBOW_ASSIGN(const auto pairs, iterate(heap, source));
      for (const Value& pair : pairs) {
        OXBOW_ASSIGN(const auto parts, iterate(heap, pair));
        if (parts.size() != 2)
          return fail(ErrorKind::kInvalidInput, "dict takes pairs, not {} items", parts.size());
        entries.emplace_back(parts[0], parts[1]);
      }
    }
  }
  OXBOW_TRY(heap.spend(entries.size()));
  for (const auto& [name, value] : given.named) {
    OXBOW_ASSIGN(Value key, heap.string(name));
    entries.emplace_back(std::move(key), value);
  }
  return entries;
}

Result<Value> make_namespace(Heap& heap, const Arguments& given) {
  OXBOW_ASSIGN(auto entries, entries_of(heap, given));
  OXBOW_ASSIGN(const Value dict, heap.dict(std::move(entries)));
  std::vector<std::pair<std::string, Value>> attributes;
  for (const auto& [key, value] : dict.dict()->entries) {
    if (key.string() == nullptr) return fail(ErrorKind::kInvalidInput, "namespace: names must be strings");
    attributes.emplace_back(std::string(key.text()), value);
  }
  return heap.name_space(std::move(attributes));
}

// Only plain conversions such as %d and %-d: a width would let a template ask for megabytes of blanks.
Result<Value> strftime_now(Heap& heap, const Arguments& given, const std::tm& now) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("strftime_now", given, {"format"}, 1));
  OXBOW_ASSIGN(std::string_view format, bound.text(0, ""));
  OXBOW_TRY(heap.spend(format.size()));
  std::string out;
  while (!format.empty()) {
    size_t size = 1;
    if (format.front() == '%') {
      if (format.size() > 1 && std::string_view("-_0^#").find(format[1]) != std::string_view::npos) ++size;
      if (format.size() <= size ||
          std::string_view("aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%").find(format[size]) ==
              std::string_view::npos)
        return fail(ErrorKind::kInvalidInput, "strftime_now: unknown conversion in '{}'", format);
      ++size;
      const std::string conversion(format.substr(0, size));
      char buffer[256];
      out.append(buffer, std::strftime(buffer, sizeof buffer, conversion.c_str(), &now));
    } else {
      out += format.front();
    }
    OXBOW_TRY(heap.check_string(out.size()));
    format.remove_prefix(size);
  }
  return heap.string(std::move(out));
}

}  // namespace

std::span<const std::string_view> global_function_names() {
  return kNames;
}

Result<Value> call_global(Heap& heap, std::string_view name, const Arguments& arguments, const std::tm& now) {
  if (name == "range") return range(heap, arguments);
  if (name == "namespace") return make_namespace(heap, arguments);
  if (name == "strftime_now") return strftime_now(heap, arguments, now);
  if (name == "raise_exception") {
    OXBOW_ASSIGN(const Bound bound, Bound::bind(name, arguments, {"message"}, 1));
    OXBOW_ASSIGN(const std::string_view message, bound.text(0, ""));
    return fail(ErrorKind::kInvalidInput, "{}", message);
  }
  if (name != "dict") return fail(ErrorKind::kInvalidInput, "there is no function '{}'", name);
  OXBOW_ASSIGN(auto entries, entries_of(heap, arguments));
  return heap.dict(std::move(entries));
}

}  // namespace oxbow::text::jinja
