#include "engine/recall.h"

#include <algorithm>

namespace oxbow::engine {
namespace {

constexpr size_t kWorthRecallingTokens = 16;  // fewer are evaluated faster than fetched
constexpr size_t kMostAttempts = 3;           // with one store
constexpr size_t kMostOnTheirWay = 8;         // of segments
// A store that is busy writing for longer than this is not waited for.
constexpr std::chrono::milliseconds kFindPatience{500};

using memory::snapshot::kSegmentTokens;

}  // namespace

Recall::Recall(memory::Memory& memory, std::span<const std::unique_ptr<CacheTier>> tiers,
               std::vector<Recall*>& registry, std::span<const TokenId> prompt, std::string_view partition,
               std::chrono::milliseconds patience)
    : memory_(memory),
      tiers_(tiers),
      registry_(registry),
      prompt_(prompt.begin(), prompt.end()),
      partition_(partition),
      patience_(patience) {
  registry_.push_back(this);
}

Recall::~Recall() {
  give_up();
}

bool Recall::give_up() {
  const bool held = admission_.has_value();
  on_its_way_.clear();
  admission_.reset();
  stage_ = Stage::kOver;
  std::erase(registry_, this);
  return held;
}

bool Recall::poll() {
  while (stage_ != Stage::kOver && advance()) {
  }
  return stage_ == Stage::kOver;
}

void Recall::wait_for(std::chrono::milliseconds patience) const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
  const auto most = std::clamp(left, std::chrono::milliseconds(0), patience);
  if (stage_ == Stage::kFinding) found_->wait_for(most);
  if (stage_ == Stage::kFetching) on_its_way_.front().object.wait_for(most);
}

// False when there is something to wait for.
bool Recall::advance() {
  switch (stage_) {
    case Stage::kAsk:
      return ask();
    case Stage::kFinding:
      return take_found();
    case Stage::kChoose:
      return choose();
    case Stage::kFetching:
      return take_fetched();
    case Stage::kOver:
      break;
  }
  return true;
}

bool Recall::is_worth_recalling(size_t position) const {
  return position >= memory_.known(prompt_, partition_).reused + kWorthRecallingTokens &&
         position < prompt_.size();
}

void Recall::next_tier() {
  on_its_way_.clear();
  admission_.reset();
  candidates_.clear();
  ++tier_;
  stage_ = Stage::kAsk;
}

bool Recall::ask() {
  if (tier_ == tiers_.size() || !is_worth_recalling(prompt_.size() - 1)) {
    give_up();
    return true;
  }
  tier().collect();
  deadline_ = Clock::now() + std::min(patience_, kFindPatience);
  found_.emplace(tier().find(partition_, std::span(prompt_).first(prompt_.size() - 1)));
  attempts_ = 0;
  stage_ = Stage::kFinding;
  return true;
}

bool Recall::take_found() {
  if (found_->ready()) {
    for (const stores::Key& key : found_->take()) {
      if (CacheTier::is_checkpoint(key)) candidates_.push_back(key);
    }
    deadline_ = Clock::now() + patience_;
    stage_ = Stage::kChoose;
    return true;
  }
  if (Clock::now() < deadline_) return false;
  next_tier();
  return true;
}

bool Recall::choose() {
  on_its_way_.clear();
  admission_.reset();
  if (candidates_.empty() || attempts_ == kMostAttempts ||
      !is_worth_recalling(candidates_.front().position)) {
    next_tier();
    return true;
  }
  const stores::Key key = candidates_.front();
  candidates_.pop_front();
  ++attempts_;
  admission_.emplace(memory_.admission(std::span(prompt_).first(key.position), partition_));
  has_checkpoint_ = false;
  requested_ = 0;
  if (fetch(key, admission_->checkpoint_bytes())) stage_ = Stage::kFetching;
  return true;
}

// False when there is no room for it.
bool Recall::fetch(const stores::Key& key, uint64_t size_bytes) {
  if (!admission_->expect(size_bytes)) return false;
  on_its_way_.push_back({key, size_bytes, tier().fetch(key, size_bytes)});
  return true;
}

bool Recall::fetch_segments() {
  const std::span<const size_t> wanted = admission_->wanted();
  while (requested_ < wanted.size() && requested_ < kMostOnTheirWay) {
    const size_t end = wanted[requested_];
    const uint64_t size_bytes = admission_->segment_bytes(end);
    // A few at once hide the way to the store; large ones need not.
    const bool large = (requested_ + 1) * size_bytes > memory_.pool().budget_bytes() / 16;
    if (large && requested_ > 0) return true;
    const auto key = tier().segment_key(partition_, std::span(prompt_).first(end));
    if (!fetch(key, size_bytes)) return requested_ > 0;
    ++requested_;
  }
  return true;
}

bool Recall::take_fetched() {
  if (on_its_way_.empty()) {
    // Everything asked for has come.
    if (!fetch_segments()) {
      stage_ = Stage::kChoose;
    } else if (on_its_way_.empty()) {
      const size_t length = admission_->length();
      if (admission_->finish()) admitted_ = std::max(admitted_, length);
      next_tier();
    }
    return true;
  }
  OnItsWay& front = on_its_way_.front();
  if (!front.object.ready()) {
    if (Clock::now() < deadline_) return false;
    next_tier();
    return true;
  }
  std::optional<stores::StoredObject> object = front.object.take();
  const stores::Key key = front.key;
  const uint64_t size_bytes = front.size_bytes;
  on_its_way_.pop_front();
  const bool usable = object && object->reader().fingerprint() == tier().fingerprint();
  const Status added = usable ? add(*object) : fail(ErrorKind::kNotFound, "not there");
  object.reset();
  admission_->arrived(size_bytes);
  if (added) {
    if (!fetch_segments() && on_its_way_.empty()) stage_ = Stage::kChoose;
    return true;
  }
  tier().forget(key);
  if (added.error().kind == ErrorKind::kInvalidInput) tier().erase(key);
  stage_ = Stage::kChoose;
  return true;
}

Status Recall::add(const stores::StoredObject& object) {
  if (!has_checkpoint_) {
    has_checkpoint_ = true;
    return admission_->add_checkpoint(object.reader());
  }
  --requested_;
  return admission_->add_segment(object.reader());
}

}  // namespace oxbow::engine
