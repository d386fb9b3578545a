#include "text/jinja/arguments.h"

#include <algorithm>

namespace oxbow::text::jinja {

Result<Bound> Bound::bind(std::string_view function, const Arguments& given,
                          std::initializer_list<std::string_view> parameters, size_t required) {
  Bound bound;
  bound.function_ = function;
  bound.parameters_ = parameters;
  bound.values_.resize(parameters.size(), nullptr);
  if (given.positional.size() > parameters.size())
    return fail(ErrorKind::kInvalidInput, "{} takes at most {} arguments, {} given", function,
                parameters.size(), given.positional.size());
  for (size_t i = 0; i < given.positional.size(); ++i) bound.values_[i] = &given.positional[i];
  for (const auto& [name, value] : given.named) {
    const auto found = std::ranges::find(bound.parameters_, name);
    if (found == bound.parameters_.end())
      return fail(ErrorKind::kInvalidInput, "{} has no argument '{}'", function, name);
    const auto i = static_cast<size_t>(found - bound.parameters_.begin());
    if (bound.values_[i] != nullptr)
      return fail(ErrorKind::kInvalidInput, "{} got the argument '{}' twice", function, name);
    bound.values_[i] = &value;
  }
  for (size_t i = 0; i < required; ++i)
    if (bound.values_[i] == nullptr)
      return fail(ErrorKind::kInvalidInput, "{} needs the argument '{}'", function, bound.parameters_[i]);
  return bound;
}

Result<int64_t> Bound::integer(size_t i, int64_t otherwise) const {
  if (values_[i] == nullptr) return otherwise;
  if (const int64_t* number = values_[i]->get<int64_t>()) return *number;
  if (const bool* truth = values_[i]->get<bool>()) return *truth ? 1 : 0;
  return fail(ErrorKind::kInvalidInput, "{}: '{}' must be an integer, not {}", function_, parameters_[i],
              values_[i]->type_name());
}

Result<std::string_view> Bound::text(size_t i, std::string_view otherwise) const {
  if (values_[i] == nullptr) return otherwise;
  if (values_[i]->string() != nullptr) return values_[i]->text();
  return fail(ErrorKind::kInvalidInput, "{}: '{}' must be a string, not {}", function_, parameters_[i],
              values_[i]->type_name());
}

}  // namespace oxbow::text::jinja
