#include "engine/tiers.h"

#include <algorithm>

namespace oxbow::engine {

Tiers::Tiers(memory::Memory& memory, const stores::Fingerprint& fingerprint)
    : memory_(memory), fingerprint_(fingerprint) {}

Tiers::~Tiers() {
  memory_.set_observer({});
  memory_.set_reclaimer({});
}

void Tiers::add(std::unique_ptr<stores::BlobStore> store) {
  tiers_.push_back(std::make_unique<CacheTier>(memory_, fingerprint_, std::move(store)));
  memory_.set_observer([this](std::string_view partition, std::span<const TokenId> tokens,
                              const memory::Checkpoint& checkpoint, memory::Memory::Occasion occasion) {
    const bool kept = occasion == memory::Memory::Occasion::kKept;
    const auto urgency = kept ? stores::Urgency::kNormal : stores::Urgency::kIdle;
    for (const auto& tier : tiers_) tier->offer(partition, tokens, checkpoint, urgency);
  });
  memory_.set_reclaimer([this](bool required) { return reclaim(required); });
}

// What waits to be written first, then what is being written, then what is on its way back.
bool Tiers::reclaim(bool required) {
  if (std::ranges::any_of(tiers_, [](const auto& tier) { return tier->give_up(false); })) return true;
  if (!required) return false;
  if (std::ranges::any_of(tiers_, [](const auto& tier) { return tier->give_up(true); })) return true;
  const auto holding = std::ranges::find_if(recalls_, &Recall::holds_memory);
  return holding != recalls_.end() && (*holding)->give_up();
}

std::unique_ptr<Recall> Tiers::start_recall(std::span<const TokenId> prompt, std::string_view partition,
                                            std::chrono::milliseconds patience) {
  if (tiers_.empty() || prompt.empty()) return nullptr;
  std::unique_ptr<Recall> recall(new Recall(memory_, tiers_, recalls_, prompt, partition, patience));
  recall->poll();
  return recall;
}

size_t Tiers::recall(std::span<const TokenId> prompt, std::string_view partition,
                     std::chrono::milliseconds patience) {
  const auto recall = start_recall(prompt, partition, patience);
  if (recall == nullptr) return 0;
  while (!recall->poll()) recall->wait_for(patience);
  return recall->admitted();
}

void Tiers::collect() {
  for (const auto& tier : tiers_) tier->collect();
}

}  // namespace oxbow::engine
