#include "text/jinja/heap.h"

#include <algorithm>

#include "text/jinja/characters.h"

namespace oxbow::text::jinja {

namespace {

constexpr size_t kObjectBytes = 96;
constexpr uint64_t kHeaviest = uint64_t{1} << 40;  // counting stops here
constexpr uint64_t kHeaviestKey = 256;

template <typename T>
Result<Value> finish(Heap& heap, std::shared_ptr<T> object, size_t bytes, unsigned depth) {
  OXBOW_TRY(heap.charge(*object, bytes, depth));
  return Value(std::shared_ptr<const T>(std::move(object)));
}

}  // namespace

Object::~Object() {
  if (heap != nullptr) heap->release(charged_bytes);
}

Heap::~Heap() {
  for (const auto& space : namespaces_) space->attributes.clear();
}

Status Heap::charge(Object& object, size_t bytes, unsigned depth) {
  bytes += kObjectBytes;
  if (depth > limits_.value_depth)
    return fail(ErrorKind::kOutOfBudget, "values are nested more than {} deep", limits_.value_depth);
  if (bytes > limits_.live_bytes - std::min(limits_.live_bytes, live_bytes_))
    return fail(ErrorKind::kOutOfBudget, "the template's values need more than {} MB",
                limits_.live_bytes >> 20);
  live_bytes_ += bytes;
  object.heap = this;
  object.charged_bytes = bytes;
  object.depth = depth;
  return {};
}

Status Heap::check_string(size_t bytes) const {
  if (bytes <= limits_.string_bytes) return {};
  return fail(ErrorKind::kOutOfBudget, "a string would be longer than {} bytes", limits_.string_bytes);
}

Status Heap::spend(uint64_t steps) {
  steps_ += steps;
  if (steps_ <= limits_.steps) return {};
  return fail(ErrorKind::kOutOfBudget, "the template takes more than {} steps", limits_.steps);
}

Result<Value> Heap::string(std::string text) {
  OXBOW_TRY(check_string(text.size()));
  OXBOW_TRY(spend_bytes(text.size()));
  auto made = std::make_shared<String>();
  made->length = count_code_points(text);
  made->text = std::move(text);
  const size_t bytes = made->text.capacity();
  return finish(*this, std::move(made), bytes, 1);
}

Result<Value> Heap::sequence(SequenceKind kind, std::vector<Value> items) {
  OXBOW_TRY(spend(items.size() / 16));
  unsigned depth = 0;
  auto made = std::make_shared<Sequence>();
  for (const Value& item : items) {
    depth = std::max(depth, item.depth());
    made->weight = std::min(kHeaviest, made->weight + item.weight());
  }
  made->kind = kind;
  made->items = std::move(items);
  const size_t bytes = made->items.capacity() * sizeof(Value);
  return finish(*this, std::move(made), bytes, depth + 1);
}

Result<Value> Heap::dict(std::vector<std::pair<Value, Value>> entries) {
  auto made = std::make_shared<Dict>();
  unsigned depth = 0;
  for (auto& [key, value] : entries) {
    depth = std::max({depth, key.depth(), value.depth()});
    made->weight = std::min(kHeaviest, made->weight + key.weight() + value.weight());
    if (!hashable(key)) return fail(ErrorKind::kInvalidInput, "unhashable type: '{}'", key.type_name());
    OXBOW_TRY(spend(1 + made->entries.size() / 16));
    if (const Value* known = made->find(key)) {
      *const_cast<Value*>(known) = std::move(value);
    } else {
      made->entries.emplace_back(std::move(key), std::move(value));
    }
  }
  const size_t bytes = made->entries.capacity() * sizeof(made->entries[0]);
  return finish(*this, std::move(made), bytes, depth + 1);
}

Result<Value> Heap::name_space(std::vector<std::pair<std::string, Value>> attributes) {
  auto made = std::make_shared<Namespace>();
  OXBOW_TRY(charge(*made, 64 * attributes.size(), 1));
  made->attributes = std::move(attributes);
  namespaces_.push_back(made);
  return Value(std::move(made));
}

Result<Value> Heap::method(Value receiver, std::string_view name) {
  auto made = std::make_shared<Function>();
  made->kind = Function::Kind::kMethod;
  made->name = name;
  const unsigned depth = receiver.depth() + 1;
  made->receiver = std::move(receiver);
  return finish(*this, std::move(made), sizeof(Function), depth);
}

Result<Value> Heap::macro(const Macro& macro, std::string_view name, std::weak_ptr<Scope> scope) {
  auto made = std::make_shared<Function>();
  made->kind = Function::Kind::kMacro;
  made->name = name;
  made->macro = &macro;
  made->scope = std::move(scope);
  return finish(*this, std::move(made), sizeof(Function), 1);
}

Value Heap::undefined(std::string hint) {
  auto made = string(std::move(hint));
  if (!made) return Undefined{};
  return Undefined{std::get<std::shared_ptr<const String>>(made->data())};
}

Value constant_string(std::string text) {
  auto made = std::make_shared<String>();
  made->length = count_code_points(text);
  made->text = std::move(text);
  return Value(std::shared_ptr<const String>(std::move(made)));
}

Value global_function(std::string_view name) {
  auto made = std::make_shared<Function>();
  made->name = name;
  return Value(std::shared_ptr<const Function>(std::move(made)));
}

bool hashable(const Value& value) {
  if (value.dict() != nullptr) return false;
  if (value.sequence() != nullptr && value.weight() > kHeaviestKey) return false;
  const Sequence* items = value.sequence();
  if (items == nullptr) return true;
  if (items->kind == SequenceKind::kTuple) return std::ranges::all_of(items->items, hashable);
  return items->kind == SequenceKind::kRange || items->kind == SequenceKind::kIterator;
}

}  // namespace oxbow::text::jinja
