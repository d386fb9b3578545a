#pragma once
// The `loop` variable. Items are taken one at a time, because a filter behind `for` may depend on what the
// body does.

#include <functional>
#include <optional>

#include "text/jinja/heap.h"

namespace oxbow::text::jinja {

class LoopState : public Object {
 public:
  using Accept = std::function<Result<bool>(const Value&)>;
  // The text of the loop's body over other items.
  using Recurse = std::function<Result<Value>(const Value& iterable)>;
  // accept is empty when all items count, recurse when the loop is not `recursive`; they are called only
  // until finish(). depth0: how many calls of `loop(...)` lead here.
  LoopState(std::vector<Value> items, Accept accept, Recurse recurse, unsigned depth0)
      : items_(std::move(items)), accept_(std::move(accept)), recurse_(std::move(recurse)), depth0_(depth0) {}

  // The next item becomes the current one; false at the end.
  Result<bool> advance();
  const Value& current() const { return accepted_[position_]; }
  void finish() {
    accept_ = nullptr;
    recurse_ = nullptr;
    finished_ = true;
  }
  // `loop(iterable)`. Errors: the loop is not recursive or has ended.
  Result<Value> recurse(const Value& iterable) const;
  // Attributes of `loop`; null when there is none of that name.
  Result<std::optional<Value>> attribute(Heap& owner, std::string_view name);
  int64_t index0() const { return static_cast<int64_t>(position_); }

 private:
  // Whether there is an accepted item number i.
  Result<bool> reach(size_t i);

  std::vector<Value> items_;
  std::vector<Value> accepted_;
  Accept accept_;
  Recurse recurse_;
  size_t taken_ = 0;
  size_t position_ = 0;
  bool started_ = false, finished_ = false;
  unsigned depth0_;
};

}  // namespace oxbow::text::jinja
