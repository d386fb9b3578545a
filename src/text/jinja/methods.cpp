#include "text/jinja/methods.h"

#include <algorithm>

#include "text/jinja/operations.h"

namespace oxbow::text::jinja {

namespace {

#define OXBOW_METHOD(name, call)                                                            \
  NamedMethod {                                                                             \
    name, [](Heap& h, const Value& s, const Arguments& a) -> Result<Value> { return call; } \
  }

Result<Value> keys(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_TRY(Bound::bind("keys", given, {}));
  OXBOW_ASSIGN(auto items, iterate(heap, self));
  return heap.sequence(SequenceKind::kKeys, std::move(items));
}

Result<Value> values(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_TRY(Bound::bind("values", given, {}));
  std::vector<Value> items;
  for (const auto& entry : self.dict()->entries) items.push_back(entry.second);
  return heap.sequence(SequenceKind::kValues, std::move(items));
}

Result<Value> items_of(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_TRY(Bound::bind("items", given, {}));
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict()->entries) {
    OXBOW_TRY(heap.spend(1));
    OXBOW_ASSIGN(Value pair, heap.tuple({key, value}));
    items.push_back(std::move(pair));
  }
  return heap.sequence(SequenceKind::kItems, std::move(items));
}

Result<Value> get(Heap& heap, const Value& self, const Arguments& given) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind("get", given, {"key", "default"}, 1));
  OXBOW_TRY(heap.spend(self.dict()->entries.size() / 8));
  if (!hashable(*bound[0]))
    return fail(ErrorKind::kInvalidInput, "unhashable type: '{}'", bound[0]->type_name());
  if (const Value* found = self.dict()->find(*bound[0])) return *found;
  return bound[1] != nullptr ? *bound[1] : Value(None{});
}

const NamedMethod kDictMethods[] = {
    {"keys", keys},
    {"values", values},
    {"items", items_of},
    {"get", get},
    OXBOW_METHOD("copy", (static_cast<void>(h), static_cast<void>(a), s)),
};

Result<Value> list_index(Heap& heap, const Value& self, const Arguments& given, bool counts) {
  OXBOW_ASSIGN(const Bound bound, Bound::bind(counts ? "count" : "index", given, {"value"}, 1));
  int64_t count = 0;
  const auto& items = self.sequence()->items;
  for (size_t i = 0; i < items.size(); ++i) {
    OXBOW_TRY(heap.spend(std::min(items[i].weight(), bound[0]->weight())));
    if (!equal(items[i], *bound[0])) continue;
    if (!counts) return Value(static_cast<int64_t>(i));
    ++count;
  }
  if (!counts) return fail(ErrorKind::kInvalidInput, "the value is not in the list");
  return Value(count);
}

Result<Value> refuse_change() {
  return fail(ErrorKind::kInvalidInput, "lists and dicts cannot be changed by a template");
}

const NamedMethod kListMethods[] = {
    OXBOW_METHOD("index", list_index(h, s, a, false)),
    OXBOW_METHOD("count", list_index(h, s, a, true)),
    OXBOW_METHOD("copy", (static_cast<void>(h), static_cast<void>(a), s)),
};

// Known to Python, refused by its sandbox too.
const NamedMethod kChangingMethods[] = {
#define OXBOW_REFUSED(name) \
  OXBOW_METHOD(name, (static_cast<void>(h), static_cast<void>(s), static_cast<void>(a), refuse_change()))
    OXBOW_REFUSED("append"), OXBOW_REFUSED("extend"),     OXBOW_REFUSED("insert"),
    OXBOW_REFUSED("remove"), OXBOW_REFUSED("pop"),        OXBOW_REFUSED("clear"),
    OXBOW_REFUSED("update"), OXBOW_REFUSED("setdefault"), OXBOW_REFUSED("popitem"),
#undef OXBOW_REFUSED
};
#undef OXBOW_METHOD

Method in_table(std::span<const NamedMethod> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &NamedMethod::name);
  return found != table.end() ? found->run : nullptr;
}

Method find_method_of(const Value& receiver, std::string_view name) {
  if (receiver.string() != nullptr) return in_table(string_methods(), name);
  const std::span<const NamedMethod> changing(kChangingMethods);
  if (receiver.dict() != nullptr) {
    const Method found = in_table(kDictMethods, name);
    return found != nullptr ? found : in_table(changing.subspan(4), name);
  }
  if (receiver.is_tuple()) return in_table(std::span(kListMethods).first(2), name);
  if (!receiver.is_list()) return nullptr;
  const Method found = in_table(kListMethods, name);
  return found != nullptr ? found : in_table(changing.first(6), name);
}

}  // namespace

bool has_method(const Value& receiver, std::string_view name) {
  return find_method_of(receiver, name) != nullptr;
}

Result<Value> call_method(Heap& heap, const Value& receiver, std::string_view name,
                          const Arguments& arguments) {
  const Method method = find_method_of(receiver, name);
  if (method == nullptr)
    return fail(ErrorKind::kInvalidInput, "{} has no method '{}'", receiver.type_name(), name);
  return method(heap, receiver, arguments);
}

}  // namespace oxbow::text::jinja
