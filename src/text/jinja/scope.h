#pragma once
// Variables of one loop pass, macro call or block. Reading looks outwards, writing stays here.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace oxbow::text::jinja {

// Scopes own their parents; values (macros) hold scopes weakly, so there are no cycles.
class Scope {
 public:
  explicit Scope(std::shared_ptr<Scope> parent = nullptr) : parent_(std::move(parent)) {}

  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get())
      for (const auto& [known, value] : scope->variables_)
        if (known == name) return &value;
    return nullptr;
  }
  void set(std::string_view name, Value value) {
    for (auto& [known, old] : variables_) {
      if (known == name) {
        old = std::move(value);
        return;
      }
    }
    variables_.emplace_back(name, std::move(value));
  }

 private:
  std::shared_ptr<Scope> parent_;
  std::vector<std::pair<std::string, Value>> variables_;
};

}  // namespace oxbow::text::jinja
