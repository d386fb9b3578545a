#pragma once
// Makes values and counts what they cost; one per parse and one per rendering. All values made by a heap must
// be gone before it is, but for those that the caller still holds when forget() was called.

#include <initializer_list>

#include "base/status.h"
#include "text/jinja/limits.h"
#include "text/jinja/value.h"

namespace oxbow::text::jinja {

class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  // Errors: kOutOfBudget.
  Result<Value> string(std::string text);  // must be UTF-8
  Result<Value> sequence(SequenceKind kind, std::vector<Value> items);
  Result<Value> list(std::vector<Value> items) { return sequence(SequenceKind::kList, std::move(items)); }
  Result<Value> tuple(std::vector<Value> items) { return sequence(SequenceKind::kTuple, std::move(items)); }
  Result<Value> dict(std::vector<std::pair<Value, Value>> entries);  // later keys win; keys must be hashable
  Result<Value> name_space(std::vector<std::pair<std::string, Value>> attributes);
  Result<Value> method(Value receiver, std::string_view name);
  Result<Value> macro(const Macro& macro, std::string_view name, std::weak_ptr<Scope> scope);
  Value undefined(std::string hint);

  // Counts work that grows with the data: items or bytes.
  Status spend(uint64_t steps);
  Status spend_bytes(size_t bytes) { return spend(bytes / 64); }
  // Before an allocation that is not a value.
  Status check_string(size_t bytes) const;

  const Limits& limits() const { return limits_; }
  uint64_t steps() const { return steps_; }
  Status charge(Object& object, size_t bytes, unsigned depth);
  void release(size_t bytes) { live_bytes_ -= bytes; }

 private:
  const Limits limits_;
  uint64_t steps_ = 0;
  size_t live_bytes_ = 0;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

// A constant, or a name of the program's own: belongs to no heap.
Value constant_string(std::string text);
Value global_function(std::string_view name);

bool hashable(const Value& value);

}  // namespace oxbow::text::jinja
