#include "model/mixers/recurrence.h"

namespace oxbow::model {

float* Recurrence::load_source(const memory::RecurrentView& view,
                               const memory::RecurrentView::Sequence& sequence) {
  float* state = sequence.state + view.state_offset;
  if (sequence.source == nullptr) {
    std::memset(state, 0, view.state_floats * sizeof(float));
  } else if (sequence.source != sequence.state) {
    std::memcpy(state, sequence.source + view.state_offset, view.state_floats * sizeof(float));
  }
  return state;
}

std::span<const Segment> Recurrence::new_tokens(const memory::RecurrentView& view, const float* const* raw,
                                                Segment* segments) const {
  for (size_t i = 0; i < view.sequences.size(); ++i) {
    const auto& sequence = view.sequences[i];
    segments[i] = {raw + sequence.span.first_row,
                   sequence.span.first_row,
                   sequence.span.tokens,
                   sequence.state + view.state_offset,
                   sequence.snapshots,
                   view.state_offset,
                   false};
  }
  return {segments, view.sequences.size()};
}

void Recurrence::write_rows(const memory::RecurrentView& view, const float* const* raw) {
  for (const auto& sequence : view.sequences) {
    for (size_t t = 0; t < sequence.span.tokens; ++t) {
      if (sequence.rows[t] == nullptr) continue;
      std::memcpy(sequence.rows[t] + view.row_offset, raw[sequence.span.first_row + t],
                  view.row_floats * sizeof(float));
    }
  }
}

// The convolution input of a token of the segment; negative tokens lie in the state's history.
const float* Recurrence::input(const Segment& segment, ptrdiff_t token) const {
  if (token >= 0) return segment.raw[token];
  return segment.state + static_cast<size_t>(static_cast<ptrdiff_t>(taps_) - 1 + token) * channels_;
}

void Recurrence::gather_taps(const Segment& segment, size_t token, const float** taps) const {
  for (size_t i = 0; i < taps_; ++i) {
    taps[i] = input(segment, static_cast<ptrdiff_t>(token + i + 1) - static_cast<ptrdiff_t>(taps_));
  }
}

// The last taps - 1 convolution inputs become the state's history; those before a snapshot go there.
void Recurrence::shift_history(const Segment& segment) const {
  const auto history = static_cast<ptrdiff_t>(taps_) - 1;
  const auto write = [&](float* destination, size_t end) {
    for (ptrdiff_t i = 0; i < history; ++i) {
      float* row = destination + static_cast<size_t>(i) * channels_;
      const float* source = input(segment, static_cast<ptrdiff_t>(end) - history + i);
      if (row != source) std::memcpy(row, source, channels_ * sizeof(float));
    }
  };
  for (const memory::StateSnapshot& snapshot : segment.snapshots)
    write(snapshot.state + segment.snapshot_offset, snapshot.at);
  write(segment.state, segment.tokens);
}

}  // namespace oxbow::model
