#include <algorithm>
#include <charconv>

#include "text/jinja/characters.h"
#include "text/jinja/filters.h"
#include "text/jinja/operations.h"
#include "text/jinja/print.h"
#include "text/jinja/tests.h"

namespace oxbow::text::jinja {

namespace {

using Values = std::vector<Value>;

// `attribute=`: a path such as "function.name", whole numbers count as indices.
Result<Value> follow(Heap& heap, Value item, const Value& path) {
  if (path.string() == nullptr) return subscript(heap, item, path);
  std::string_view rest = path.text();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    const auto [stopped, code] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = code == std::errc() && stopped == part.data() + part.size() && part.front() != '-';
    OXBOW_ASSIGN(const Value key, is_index ? Result<Value>(Value(index)) : heap.string(std::string(part)));
    OXBOW_ASSIGN(item, subscript(heap, item, key));
    if (dot == std::string_view::npos) return item;
    rest.remove_prefix(dot + 1);
  }
}

Value folded(Heap& heap, const Value& value, bool case_sensitive) {
  if (case_sensitive || value.string() == nullptr) return value;
  auto lower = heap.string(to_lower(value.text()));
  return lower ? *lower : value;
}

Result<Value> length_filter(Heap&, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("length", given, {}));
  OXBOW_ASSIGN(const int64_t count, length(input));
  return Value(count);
}

Result<Value> list_filter(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("list", given, {}));
  OXBOW_ASSIGN(Values items, iterate(heap, input));
  return heap.list(std::move(items));
}

Result<Value> first(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("first", given, {}));
  if (const Sequence* sequence = input.sequence(); sequence != nullptr && input.is_iterator()) {
    if (sequence->taken < sequence->items.size()) return sequence->items[sequence->taken++];
    return heap.undefined("there is no first item");
  }
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  return items.empty() ? heap.undefined("there is no first item") : items.front();
}

Result<Value> last(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("last", given, {}));
  if (input.is_iterator()) return fail(ErrorKind::kInvalidInput, "last does not take a generator");
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  return items.empty() ? heap.undefined("there is no last item") : items.back();
}

Result<Value> join(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("join", given, {"d", "attribute"}));
  OXBOW_ASSIGN(const std::string glue,
               bound[0] != nullptr ? to_text(heap, *bound[0]) : Result<std::string>(""));
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    OXBOW_TRY(heap.spend(1));
    Value item = items[i];
    if (bound[1] != nullptr && !bound[1]->is_none()) {
      OXBOW_ASSIGN(item, follow(heap, item, *bound[1]));
    }
    if (i > 0) out += glue;
    OXBOW_TRY(append_text(heap, item, out));
    OXBOW_TRY(heap.check_string(out.size()));
  }
  return heap.string(std::move(out));
}

Result<Value> items_filter(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("items", given, {}));
  if (!input.is_undefined() && input.dict() == nullptr)
    return fail(ErrorKind::kInvalidInput, "items does not take {}", input.type_name());
  Values pairs;
  for (size_t i = 0; input.dict() != nullptr && i < input.dict()->entries.size(); ++i) {
    const auto& [key, value] = input.dict()->entries[i];
    OXBOW_TRY(heap.spend(1));
    OXBOW_ASSIGN(Value pair, heap.tuple({key, value}));
    pairs.push_back(std::move(pair));
  }
  return heap.sequence(SequenceKind::kIterator, std::move(pairs));
}

Result<Value> reverse(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_TRY(Bound::bind("reverse", given, {}));
  if (input.string() != nullptr) return slice(heap, input, None{}, None{}, Value(int64_t{-1}));
  OXBOW_ASSIGN(Values items, iterate(heap, input));
  std::ranges::reverse(items);
  return heap.sequence(SequenceKind::kIterator, std::move(items));
}

// Sorts indices by key; stable. The first error stops it.
Result<std::vector<size_t>> sorted_order(Heap& heap, const Values& keys, bool reversed) {
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  Status status;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (!status) return false;
    const auto smaller = reversed ? less(heap, keys[b], keys[a]) : less(heap, keys[a], keys[b]);
    if (smaller) status = heap.spend(1);
    if (!smaller) status = tl::unexpected<Error>(smaller.error());
    return smaller && *smaller;
  });
  OXBOW_TRY(std::move(status));
  return order;
}

Result<Value> sort(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("sort", given, {"reverse", "case_sensitive", "attribute"}));
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  Values keys;
  for (const Value& item : items) {
    Value key = item;
    if (bound[2] != nullptr && !bound[2]->is_none()) {
      OXBOW_ASSIGN(key, follow(heap, item, *bound[2]));
    }
    keys.push_back(folded(heap, key, bound.truthy(1)));
  }
  OXBOW_ASSIGN(const auto order, sorted_order(heap, keys, bound.truthy(0)));
  Values sorted;
  for (const size_t i : order) sorted.push_back(items[i]);
  return heap.list(std::move(sorted));
}

Result<Value> dict_sort(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("dictsort", given, {"case_sensitive", "by", "reverse"}));
  OXBOW_ASSIGN(const std::string_view by, bound.text(1, "key"));
  if (input.dict() == nullptr || (by != "key" && by != "value"))
    return fail(ErrorKind::kInvalidInput, "dictsort takes a dict, sorted by key or value");
  const auto& entries = input.dict()->entries;
  Values keys;
  for (const auto& [key, value] : entries)
    keys.push_back(folded(heap, by == "key" ? key : value, bound.truthy(0)));
  OXBOW_ASSIGN(const auto order, sorted_order(heap, keys, bound.truthy(2)));
  Values sorted;
  for (const size_t i : order) {
    OXBOW_ASSIGN(Value pair, heap.tuple({entries[i].first, entries[i].second}));
    sorted.push_back(std::move(pair));
  }
  return heap.list(std::move(sorted));
}

Result<Value> unique(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("unique", given, {"case_sensitive", "attribute"}));
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  Values seen, kept;
  for (const Value& item : items) {
    Value key = item;
    if (bound[1] != nullptr && !bound[1]->is_none()) {
      OXBOW_ASSIGN(key, follow(heap, item, *bound[1]));
    }
    key = folded(heap, key, bound.truthy(0));
    if (!hashable(key)) return fail(ErrorKind::kInvalidInput, "unhashable type: '{}'", key.type_name());
    OXBOW_TRY(heap.spend(1 + seen.size() / 8));
    if (std::ranges::any_of(seen, [&](const Value& known) { return equal(known, key); })) continue;
    seen.push_back(std::move(key));
    kept.push_back(item);
  }
  return heap.sequence(SequenceKind::kIterator, std::move(kept));
}

Result<Value> sum(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("sum", given, {"attribute", "start"}));
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  Value total = bound[1] != nullptr ? *bound[1] : Value(int64_t{0});
  if (total.string() != nullptr) return fail(ErrorKind::kInvalidInput, "sum does not take strings");
  for (const Value& item : items) {
    OXBOW_TRY(heap.spend(1));
    Value part = item;
    if (bound[0] != nullptr && !bound[0]->is_none()) {
      OXBOW_ASSIGN(part, follow(heap, item, *bound[0]));
    }
    OXBOW_ASSIGN(total, apply(heap, BinaryOperator::kAdd, total, part));
  }
  return total;
}

Result<Value> extreme(Heap& heap, const Value& input, const Arguments& given, bool largest) {
  OXBOW_ASSIGN(const Bound bound,
               Bound::bind(largest ? "max" : "min", given, {"case_sensitive", "attribute"}));
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  if (items.empty()) return heap.undefined("there is no item");
  size_t best = 0;
  Values keys;
  for (size_t i = 0; i < items.size(); ++i) {
    OXBOW_TRY(heap.spend(1));
    Value key = items[i];
    if (bound[1] != nullptr && !bound[1]->is_none()) {
      OXBOW_ASSIGN(key, follow(heap, key, *bound[1]));
    }
    keys.push_back(folded(heap, key, bound.truthy(0)));
    if (i == 0) continue;
    OXBOW_ASSIGN(const bool better,
                 largest ? less(heap, keys[best], keys[i]) : less(heap, keys[i], keys[best]));
    if (better) best = i;
  }
  return items[best];
}

// map(attribute=..., default=...) or map("filter", arguments...).
Result<Value> map(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  Values mapped;
  if (given.positional.empty()) {
    OXBOW_ASSIGN(const Bound bound, Bound::bind("map", given, {"attribute", "default"}, 1));
    for (const Value& item : items) {
      OXBOW_TRY(heap.spend(1));
      OXBOW_ASSIGN(Value found, follow(heap, item, *bound[0]));
      const bool replaced = found.is_undefined() && bound[1] != nullptr && !bound[1]->is_none();
      mapped.push_back(replaced ? *bound[1] : std::move(found));
    }
    return heap.sequence(SequenceKind::kIterator, std::move(mapped));
  }
  const Filter filter = find_filter(given.positional[0].text());
  if (filter == nullptr)
    return fail(ErrorKind::kUnsupported, "map: there is no filter '{}'", given.positional[0].text());
  const Arguments rest{Values(given.positional.begin() + 1, given.positional.end()), given.named};
  // Filters that apply filters must not become a way to recurse without end: map("map", "map", ...).
  if (filter == &map && rest.positional.size() > 8)
    return fail(ErrorKind::kInvalidInput, "map: too many levels");
  for (const Value& item : items) {
    OXBOW_TRY(heap.spend(1));
    OXBOW_ASSIGN(Value value, filter(heap, item, rest));
    mapped.push_back(std::move(value));
  }
  return heap.sequence(SequenceKind::kIterator, std::move(mapped));
}

// select, reject, selectattr, rejectattr: the items whose test (or truth) is `wanted`.
Result<Value> choose(Heap& heap, const Value& input, const Arguments& given, bool wanted, bool by_attribute) {
  const size_t skipped = by_attribute ? 1 : 0;
  if (given.positional.size() < skipped)
    return fail(ErrorKind::kInvalidInput, "the attribute's name is missing");
  Test test = nullptr;
  Arguments rest{{}, given.named};
  if (given.positional.size() > skipped) {
    const Value& name = given.positional[skipped];
    test = find_test(name.text());
    if (test == nullptr) return fail(ErrorKind::kUnsupported, "there is no test '{}'", name.text());
    rest.positional.assign(given.positional.begin() + static_cast<std::ptrdiff_t>(skipped) + 1,
                           given.positional.end());
  }
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  Values kept;
  for (const Value& item : items) {
    OXBOW_TRY(heap.spend(1));
    OXBOW_ASSIGN(const Value subject,
                 by_attribute ? follow(heap, item, given.positional[0]) : Result<Value>(item));
    OXBOW_ASSIGN(const bool good,
                 test != nullptr ? test(heap, subject, rest) : Result<bool>(subject.truthy()));
    if (good == wanted) kept.push_back(item);
  }
  return heap.sequence(SequenceKind::kIterator, std::move(kept));
}

Result<Value> batch(Heap& heap, const Value& input, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("batch", given, {"linecount", "fill_with"}, 1));
  OXBOW_ASSIGN(const int64_t size, bound.integer(0, 1));
  if (size < 1 || size > 100'000)
    return fail(ErrorKind::kInvalidInput, "batch: the size must be 1 to 100000");
  OXBOW_ASSIGN(const Values items, iterate(heap, input));
  Values batches, current;
  const auto close = [&]() -> Status {
    if (current.empty()) return {};
    OXBOW_ASSIGN(Value made, heap.list(std::exchange(current, {})));
    batches.push_back(std::move(made));
    return {};
  };
  for (const Value& item : items) {
    OXBOW_TRY(heap.spend(1));
    current.push_back(item);
    if (static_cast<int64_t>(current.size()) == size) OXBOW_TRY(close());
  }
  if (!current.empty() && bound[1] != nullptr && !bound[1]->is_none())
    current.resize(static_cast<size_t>(size), *bound[1]);
  OXBOW_TRY(close());
  return heap.sequence(SequenceKind::kIterator, std::move(batches));
}

#define OXBOW_FILTER(name, call)                                           \
  NamedFilter {                                                            \
    name, [](Heap& h, const Value& v, const Arguments& a) { return call; } \
  }

const NamedFilter kSequenceFilters[] = {
    {"length", length_filter},
    {"count", length_filter},
    {"list", list_filter},
    {"first", first},
    {"last", last},
    {"join", join},
    {"items", items_filter},
    {"reverse", reverse},
    {"sort", sort},
    {"dictsort", dict_sort},
    {"unique", unique},
    {"sum", sum},
    {"map", map},
    {"batch", batch},
    OXBOW_FILTER("min", extreme(h, v, a, false)),
    OXBOW_FILTER("max", extreme(h, v, a, true)),
    OXBOW_FILTER("select", choose(h, v, a, true, false)),
    OXBOW_FILTER("reject", choose(h, v, a, false, false)),
    OXBOW_FILTER("selectattr", choose(h, v, a, true, true)),
    OXBOW_FILTER("rejectattr", choose(h, v, a, false, true)),
};
#undef OXBOW_FILTER

}  // namespace

std::span<const NamedFilter> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace oxbow::text::jinja
