#pragma once
// Evaluated arguments of a call, and matching them to parameters.

#include <span>

#include "text/jinja/heap.h"

namespace oxbow::text::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Arguments in the order of a function's parameters; null where none was given.
class Bound {
 public:
  // Errors: too many arguments, unknown or doubled names, fewer than `required`.
  static Result<Bound> bind(std::string_view function, const Arguments& given,
                            std::initializer_list<std::string_view> parameters, size_t required = 0);
  const Value* operator[](size_t i) const { return values_[i]; }
  bool truthy(size_t i) const { return values_[i] != nullptr && values_[i]->truthy(); }
  // Errors: the argument is there and of another type.
  Result<int64_t> integer(size_t i, int64_t otherwise) const;
  Result<std::string_view> text(size_t i, std::string_view otherwise) const;

 private:
  std::string function_;
  std::vector<std::string_view> parameters_;
  std::vector<const Value*> values_;
};

}  // namespace oxbow::text::jinja
