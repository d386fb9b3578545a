#pragma once
// What recurrent mixers share: bringing working states to the first new token, convolution histories,
// snapshots in the middle of a run, and log rows.

#include <algorithm>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "memory/views.h"
#include "model/step_context.h"

namespace oxbow::model {

inline constexpr size_t kMaxConvTaps = 16;
inline constexpr size_t kReplayTokens = 32;  // replayed rows go through the recurrence in pieces of this many

// A run of consecutive tokens of one sequence: replayed rows, or the new tokens of a step.
struct Segment {
  const float* const* raw = nullptr;  // [tokens]: log rows; the inputs of the convolution come first in each
  size_t first_row = 0;               // token t works in row first_row + t of the mixer's buffers
  size_t tokens = 0;
  float* state = nullptr;
  std::span<const memory::StateSnapshot> snapshots;
  size_t snapshot_offset = 0;  // of this spec inside each snapshot, floats
  bool replayed = false;       // only the state is wanted
};

// The state of one recurrent spec: the convolution's inputs of the last taps - 1 tokens [taps - 1, channels],
// padded to 16 floats, then `parts` pieces of part_floats each that a scan advances one by one. taps is 1 to
// kMaxConvTaps.
class Recurrence {
 public:
  Recurrence(size_t taps, size_t channels, size_t parts, size_t part_floats)
      : taps_(taps), channels_(channels), parts_(parts), part_floats_(part_floats) {}

  size_t state_floats() const { return history_floats() + parts_ * part_floats_; }
  float* part(float* state, size_t index) const { return state + history_floats() + index * part_floats_; }

  // Rows that per-token buffers need: those of a step, or of a piece of replayed rows before it.
  static size_t buffer_rows(size_t rows) { return std::max(rows, kReplayTokens); }

  // Brings every working state to the position of its first new token: source, then advance(segments, tokens)
  // over the replayed rows. raw: [buffer_rows].
  template <class Advance>
  void start(const memory::RecurrentView& view, const float** raw, Advance advance) const {
    for (const auto& sequence : view.sequences) {
      float* state = load_source(view, sequence);
      for (size_t done = 0; done < sequence.replay.size(); done += kReplayTokens) {
        Segment segment;
        segment.tokens = std::min(kReplayTokens, sequence.replay.size() - done);
        for (size_t t = 0; t < segment.tokens; ++t) raw[t] = sequence.replay[done + t] + view.row_offset;
        segment.raw = raw;
        segment.state = state;
        segment.replayed = true;
        advance(std::span<const Segment>(&segment, 1), segment.tokens);
      }
    }
  }

  // One segment per sequence of the view over the rows raw[0], raw[1], ... of the step.
  std::span<const Segment> new_tokens(const memory::RecurrentView& view, const float* const* raw,
                                      Segment* segments) const;
  // Writes the log rows that memory asks for, when raw[row] is complete.
  static void write_rows(const memory::RecurrentView& view, const float* const* raw);

  // visit(segment, token) for all tokens, `tokens` in all, in parallel.
  template <class Visit>
  static void for_each_token(const StepContext& context, std::span<const Segment> segments, size_t tokens,
                             Visit visit) {
    context.pool.run(tokens, 4, [&](size_t begin, size_t end, int) {
      size_t first = 0;
      for (const Segment& segment : segments) {
        for (size_t i = std::max(begin, first); i < std::min(end, first + segment.tokens); ++i) {
          visit(segment, i - first);
        }
        first += segment.tokens;
      }
    });
  }

  // The inputs that the convolution of a token of the segment sees, oldest first: taps[0 .. taps).
  void gather_taps(const Segment& segment, size_t token, const float** taps) const;

  // scan(segment, part, begin, end) advances one part over tokens [begin, end). Then snapshots and histories
  // are those that the segments' tokens leave.
  template <class Scan>
  void scan(const StepContext& context, std::span<const Segment> segments, Scan scan) const {
    const size_t tasks = parts_ + 1;
    context.pool.run(segments.size() * tasks, 1, [&](size_t begin, size_t end, int) {
      for (size_t task = begin; task < end; ++task) {
        const Segment& segment = segments[task / tasks];
        const size_t index = task % tasks;
        if (index == parts_) {
          shift_history(segment);
          continue;
        }
        size_t from = 0;
        for (const memory::StateSnapshot& snapshot : segment.snapshots) {
          if (snapshot.at > from) scan(segment, index, from, snapshot.at);
          from = snapshot.at;
          std::memcpy(part(snapshot.state + segment.snapshot_offset, index), part(segment.state, index),
                      part_floats_ * sizeof(float));
        }
        if (from < segment.tokens) scan(segment, index, from, segment.tokens);
      }
    });
  }

 private:
  size_t history_floats() const { return align_up((taps_ - 1) * channels_, 16); }
  static float* load_source(const memory::RecurrentView& view,
                            const memory::RecurrentView::Sequence& sequence);
  const float* input(const Segment& segment, ptrdiff_t token) const;
  void shift_history(const Segment& segment) const;

  size_t taps_;
  size_t channels_;
  size_t parts_;
  size_t part_floats_;
};

}  // namespace oxbow::model
