#pragma once
// The values of a template: Python's, as far as templates can tell. Copies are cheap; strings, sequences and
// dicts are shared and never change, so aliasing cannot be seen.
//
// Invariants:
//  1. Strings are UTF-8.
//  2. Only a namespace (and a loop) changes after it was made, so only these can form cycles; the heap
//     remembers namespaces and empties them at the end.
//  3. The depth of a value is bounded by Limits::value_depth, so recursion over one is too.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace oxbow::text::jinja {

class Heap;
class Value;
struct Macro;
class Scope;
class LoopState;

// Base of everything on the heap: gives its bytes back when it goes.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object();
  Heap* heap = nullptr;  // none: a constant of the template
  size_t charged_bytes = 0;
  unsigned depth = 1;
  // Values in it, counted as often as they occur: what comparing costs.
  uint64_t weight = 1;
};

struct String : Object {
  std::string text;
  size_t length = 0;  // in code points
};

enum class SequenceKind : uint8_t { kList, kTuple, kKeys, kValues, kItems, kRange, kIterator };

struct Sequence : Object {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
  // Iterators (what `map`, `select`, ... give) can be walked once; how far that has come.
  mutable size_t taken = 0;
};

struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;  // unique keys, in order of insertion
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
};

struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  Value* find(std::string_view name);
};

struct Function;

struct Undefined {
  std::shared_ptr<const String> hint;  // what was looked for, for messages
};
struct None {};

class Value {
 public:
  using Data =
      std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const String>,
                   std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, std::shared_ptr<Namespace>,
                   std::shared_ptr<LoopState>, std::shared_ptr<const Function>>;

  Value() = default;
  Value(Undefined v) : data_(std::move(v)) {}
  Value(None v) : data_(v) {}
  Value(bool v) : data_(v) {}
  Value(int64_t v) : data_(v) {}
  Value(double v) : data_(v) {}
  template <typename T>
  Value(std::shared_ptr<T> v) : data_(std::move(v)) {}

  bool is_undefined() const { return is<Undefined>(); }
  bool is_none() const { return is<None>(); }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }
  const Data& data() const { return data_; }

  // Null when the value is of another kind.
  const String* string() const { return pointer<const String>(); }
  const Sequence* sequence() const { return pointer<const Sequence>(); }
  const Dict* dict() const { return pointer<const Dict>(); }
  Namespace* name_space() const { return pointer<Namespace>(); }
  LoopState* loop() const { return pointer<LoopState>(); }
  const Function* function() const { return pointer<const Function>(); }
  std::string_view text() const { return string() != nullptr ? std::string_view(string()->text) : ""; }
  bool is_list() const { return sequence() != nullptr && sequence()->kind == SequenceKind::kList; }
  bool is_tuple() const { return sequence() != nullptr && sequence()->kind == SequenceKind::kTuple; }
  bool is_iterator() const { return sequence() != nullptr && sequence()->kind == SequenceKind::kIterator; }

  bool truthy() const;
  unsigned depth() const;
  uint64_t weight() const;
  // Python's name of the type, for messages.
  std::string_view type_name() const;

 private:
  template <typename T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data_);
    return held != nullptr ? held->get() : nullptr;
  }
  Data data_;
};

// Something that can be called.
struct Function : Object {
  enum class Kind : uint8_t { kGlobal, kMethod, kMacro };
  Kind kind = Kind::kGlobal;
  std::string name;
  Value receiver;  // kMethod
  // kMacro: the definition, and the scope it stands in, which may be gone when the macro has escaped it.
  const Macro* macro = nullptr;
  std::weak_ptr<Scope> scope;
};

// Python's ==. Integers, floats and booleans compare by value.
bool equal(const Value& a, const Value& b);

}  // namespace oxbow::text::jinja
