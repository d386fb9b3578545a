#include "memory/layout.h"

#include <algorithm>

#include "base/bytes.h"

namespace oxbow::memory {
namespace {

size_t find_or_add_group(std::vector<KvGroup>& groups, size_t window_tokens) {
  const auto found = std::ranges::find(groups, window_tokens, &KvGroup::window_tokens);
  if (found != groups.end()) return static_cast<size_t>(found - groups.begin());
  groups.push_back({window_tokens, 0});
  return groups.size() - 1;
}

}  // namespace

MemoryLayout::MemoryLayout(std::span<const StateSpec> specs, KvTypes types) : types_(types) {
  for (const StateSpec& spec : specs) {
    if (const KvSpec* kv = spec.kv()) {
      KvPlace place;
      place.group = find_or_add_group(groups_, kv->window_tokens);
      place.k_head_bytes = kv->head_dim_k * kPagePositions * kernels::kv_type_bytes(types.key);
      place.v_head_bytes = kv->head_dim_v * kPagePositions * kernels::kv_type_bytes(types.value);
      size_t& page_bytes = groups_[place.group].page_bytes;
      place.k_offset = page_bytes;
      place.v_offset = place.k_offset + kv->kv_heads * place.k_head_bytes;
      page_bytes = place.v_offset + kv->kv_heads * place.v_head_bytes;
      kv_.push_back(place);
    } else if (const RecurrentSpec* recurrent = spec.recurrent()) {
      recurrent_.push_back({state_floats_, row_floats_, recurrent->state_floats, recurrent->row_floats});
      state_floats_ += align_up(recurrent->state_floats, 16);
      row_floats_ += align_up(recurrent->row_floats, 16);
    }
  }
}

size_t MemoryLayout::kv_bytes_per_token() const {
  size_t bytes = 0;
  for (const KvGroup& group : groups_) bytes += group.page_bytes / kPagePositions;
  return bytes;
}

}  // namespace oxbow::memory
