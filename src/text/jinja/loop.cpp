#include "text/jinja/loop.h"

namespace oxbow::text::jinja {

Result<bool> LoopState::reach(size_t i) {
  while (accepted_.size() <= i && taken_ < items_.size() && !finished_) {
    const Value& item = items_[taken_++];
    bool good = true;
    if (accept_) {
      OXBOW_ASSIGN(good, accept_(item));
    }
    if (good) accepted_.push_back(item);
  }
  return i < accepted_.size();
}

Result<bool> LoopState::advance() {
  const size_t next = started_ ? position_ + 1 : 0;
  OXBOW_ASSIGN(const bool more, reach(next));
  if (more) {
    position_ = next;
    started_ = true;
  }
  return more;
}

Result<Value> LoopState::recurse(const Value& iterable) const {
  if (!recurse_)
    return fail(ErrorKind::kInvalidInput, "'loop' can be called inside of a recursive loop only");
  // A copy: the call may end this loop's life.
  const Recurse call = recurse_;
  return call(iterable);
}

Result<std::optional<Value>> LoopState::attribute(Heap& owner, std::string_view name) {
  if (name == "index0") return Value(index0());
  if (name == "index") return Value(index0() + 1);
  if (name == "first") return Value(position_ == 0);
  if (name == "depth") return Value(int64_t{depth0_} + 1);
  if (name == "depth0") return Value(int64_t{depth0_});
  if (name == "previtem")
    return position_ > 0 ? accepted_[position_ - 1] : owner.undefined("there is no previous item");
  if (name == "last" || name == "nextitem") {
    OXBOW_ASSIGN(const bool more, reach(position_ + 1));
    if (name == "last") return Value(!more);
    return more ? accepted_[position_ + 1] : owner.undefined("there is no next item");
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    OXBOW_TRY(reach(items_.size()));
    const auto size = static_cast<int64_t>(accepted_.size());
    if (name == "length") return Value(size);
    return Value(size - index0() - (name == "revindex0" ? 1 : 0));
  }
  return std::optional<Value>();
}

}  // namespace oxbow::text::jinja
