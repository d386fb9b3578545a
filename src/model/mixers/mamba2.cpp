#include "model/mixers/mamba2.h"

#include <algorithm>
#include <cstring>

namespace oxbow::model {
namespace {

constexpr size_t kReplayTokens = 32;  // replayed rows go through the recurrence in pieces of this many

}  // namespace

struct Mamba2::Buffers {
  kernels::QuantizedRows quantized;
  float* projected;   // [rows, in.rows()]: z, x, B, C, dt
  float* convolved;   // [max(rows, kReplayTokens), channels]
  float* dt;          // [max(rows, kReplayTokens), heads]
  float* y;           // [rows, inner]
  const float** raw;  // [max(rows, kReplayTokens)]
  Segment* segments;  // [rows]: a sequence has at least one row
};

Mamba2::Mamba2(const Mamba2Config& config, Mamba2Weights weights)
    : config_(config), weights_(std::move(weights)) {}

size_t Mamba2::history_floats() const {
  return align_up((config_.conv_taps - 1) * config_.channels(), 16);
}

memory::StateSpec Mamba2::state_spec() const {
  const size_t heads = config_.heads * kernels::mamba2_state_floats(config_.head_dim(), config_.state);
  return {0, memory::RecurrentSpec{history_floats() + heads, config_.row_floats()}};
}

size_t Mamba2::weight_bytes() const {
  return weights_.in.size_bytes() + weights_.out.size_bytes();
}

Mamba2::Buffers Mamba2::carve(Carver& carver, size_t rows) const {
  const size_t tokens = std::max(rows, kReplayTokens);
  Buffers buffers;
  buffers.projected = carver.floats(rows * weights_.in.rows());
  buffers.convolved = carver.floats(tokens * config_.channels());
  buffers.dt = carver.floats(tokens * config_.heads);
  buffers.y = carver.floats(rows * config_.inner);
  buffers.raw = carver.take<const float*>(tokens);
  buffers.segments = carver.take<Segment>(rows);
  buffers.quantized = carver.quantized(rows, std::max(config_.embedding, config_.inner));
  return buffers;
}

size_t Mamba2::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void Mamba2::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  const memory::RecurrentView& view = context.views.recurrent[spec];
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  const auto input = make_activations(context, x, config_.embedding, rows, config_.embedding,
                                      weights_.in.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.in, input, buffers.projected, weights_.in.rows());

  start(context, view, buffers);
  for (size_t row = 0; row < rows; ++row)
    buffers.raw[row] = buffers.projected + row * weights_.in.rows() + config_.inner;
  for (size_t i = 0; i < view.sequences.size(); ++i) {
    const auto& sequence = view.sequences[i];
    const size_t first = sequence.span.first_row;
    Segment& segment = buffers.segments[i];
    segment = {buffers.raw + first,
               buffers.convolved + first * config_.channels(),
               buffers.dt + first * config_.heads,
               buffers.y + first * config_.inner,
               sequence.span.tokens,
               sequence.state + view.state_offset,
               sequence.snapshot == nullptr ? nullptr : sequence.snapshot + view.state_offset,
               sequence.snapshot_at};
    for (size_t t = 0; t < sequence.span.tokens; ++t) {
      if (sequence.rows[t] == nullptr) continue;
      std::memcpy(sequence.rows[t] + view.row_offset, segment.raw[t], config_.row_floats() * sizeof(float));
    }
  }
  advance(context, {buffers.segments, view.sequences.size()}, rows);

  const size_t group = config_.inner / config_.groups;
  context.pool.run(rows, 2, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      for (size_t g = 0; g < config_.groups; ++g) {
        float* out = buffers.y + row * config_.inner + g * group;
        const float* z = buffers.projected + row * weights_.in.rows() + g * group;
        const float* norm = weights_.norm.empty() ? nullptr : weights_.norm.data() + g * group;
        context.kernels.gate_norm(out, z, norm, group, config_.norm_epsilon, out);
      }
    }
  });
  const auto gated = make_activations(context, buffers.y, config_.inner, rows, config_.inner,
                                      weights_.out.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.out, gated, y, config_.embedding);
}

// Brings every working state to the position of its first new token: source, then the replayed rows.
void Mamba2::start(const StepContext& context, const memory::RecurrentView& view,
                   const Buffers& buffers) const {
  for (const auto& sequence : view.sequences) {
    float* state = sequence.state + view.state_offset;
    if (sequence.source == nullptr) {
      std::memset(state, 0, view.state_floats * sizeof(float));
    } else if (sequence.source != sequence.state) {
      std::memcpy(state, sequence.source + view.state_offset, view.state_floats * sizeof(float));
    }
    for (size_t done = 0; done < sequence.replay.size(); done += kReplayTokens) {
      const size_t tokens = std::min(kReplayTokens, sequence.replay.size() - done);
      for (size_t t = 0; t < tokens; ++t) buffers.raw[t] = sequence.replay[done + t] + view.row_offset;
      const Segment segment{buffers.raw, buffers.convolved, buffers.dt, nullptr, tokens, state, nullptr, 0};
      advance(context, {&segment, 1}, tokens);
    }
  }
}

// Runs convolution and recurrence of all segments over their tokens. `tokens` is their sum.
void Mamba2::advance(const StepContext& context, std::span<const Segment> segments, size_t tokens) const {
  context.pool.run(tokens, 4, [&](size_t begin, size_t end, int) {
    size_t first = 0;
    for (const Segment& segment : segments) {
      for (size_t i = std::max(begin, first); i < std::min(end, first + segment.tokens); ++i) {
        convolve_token(context, segment, i - first);
      }
      first += segment.tokens;
    }
  });
  const size_t tasks = config_.heads + 1;
  context.pool.run(segments.size() * tasks, 1, [&](size_t begin, size_t end, int) {
    for (size_t task = begin; task < end; ++task) {
      const Segment& segment = segments[task / tasks];
      const size_t head = task % tasks;
      if (head < config_.heads) {
        scan_head(context, segment, head);
      } else {
        shift_history(segment);
      }
    }
  });
}

// The convolution input of a token of the segment; negative tokens lie in the state's history.
const float* Mamba2::tap(const Segment& segment, ptrdiff_t token) const {
  if (token >= 0) return segment.raw[token];
  const auto index = static_cast<size_t>(static_cast<ptrdiff_t>(config_.conv_taps) - 1 + token);
  return segment.state + index * config_.channels();
}

void Mamba2::convolve_token(const StepContext& context, const Segment& segment, size_t token) const {
  const float* taps[kMaxConvTaps];
  for (size_t i = 0; i < config_.conv_taps; ++i) {
    taps[i] = tap(segment, static_cast<ptrdiff_t>(token + i + 1) - static_cast<ptrdiff_t>(config_.conv_taps));
  }
  context.kernels.conv(taps, weights_.conv.data(),
                       weights_.conv_bias.empty() ? nullptr : weights_.conv_bias.data(), config_.conv_taps,
                       config_.channels(), true, segment.convolved + token * config_.channels());
  context.kernels.softplus(segment.raw[token] + config_.channels(), weights_.dt_bias.data(), config_.heads,
                           segment.dt + token * config_.heads);
}

void Mamba2::scan_head(const StepContext& context, const Segment& segment, size_t head) const {
  if (segment.snapshot == nullptr) {
    scan_tokens(context, segment, head, 0, segment.tokens);
    return;
  }
  const size_t floats = kernels::mamba2_state_floats(config_.head_dim(), config_.state);
  const size_t offset = history_floats() + head * floats;
  scan_tokens(context, segment, head, 0, segment.snapshot_at);
  std::memcpy(segment.snapshot + offset, segment.state + offset, floats * sizeof(float));
  scan_tokens(context, segment, head, segment.snapshot_at, segment.tokens);
}

void Mamba2::scan_tokens(const StepContext& context, const Segment& segment, size_t head, size_t begin,
                         size_t end) const {
  if (begin == end) return;
  const size_t channels = config_.channels();
  const size_t head_dim = config_.head_dim();
  const size_t group = head / (config_.heads / config_.groups);
  const float* first = segment.convolved + begin * channels;
  kernels::Mamba2ScanArgs args;
  args.tokens = end - begin;
  args.head_dim = head_dim;
  args.state_size = config_.state;
  args.a = weights_.a[head];
  args.d = weights_.d[head];
  args.dt = segment.dt + begin * config_.heads + head;
  args.dt_stride = config_.heads;
  args.x = first + head * head_dim;
  args.x_stride = channels;
  args.b = first + config_.inner + group * config_.state;
  args.c = args.b + config_.groups * config_.state;
  args.bc_stride = channels;
  args.state =
      segment.state + history_floats() + head * kernels::mamba2_state_floats(head_dim, config_.state);
  args.y = segment.y == nullptr ? nullptr : segment.y + begin * config_.inner + head * head_dim;
  args.y_stride = config_.inner;
  context.kernels.mamba2_scan(args);
}

// The last taps - 1 convolution inputs become the state's history; those before the snapshot go there.
void Mamba2::shift_history(const Segment& segment) const {
  const auto history = static_cast<ptrdiff_t>(config_.conv_taps) - 1;
  const size_t bytes = config_.channels() * sizeof(float);
  const auto write = [&](float* destination, size_t end) {
    for (ptrdiff_t i = 0; i < history; ++i) {
      float* row = destination + static_cast<size_t>(i) * config_.channels();
      const float* source = tap(segment, static_cast<ptrdiff_t>(end) - history + i);
      if (row != source) std::memcpy(row, source, bytes);
    }
  };
  if (segment.snapshot != nullptr) write(segment.snapshot, segment.snapshot_at);
  write(segment.state, segment.tokens);
}

}  // namespace oxbow::model
