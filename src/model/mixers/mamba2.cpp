#include "model/mixers/mamba2.h"

#include <algorithm>

namespace oxbow::model {

struct Mamba2::Buffers {
  kernels::QuantizedRows quantized;
  float* projected;   // [rows, in.rows()]: z, x, B, C, dt
  float* convolved;   // [buffer rows, channels]
  float* dt;          // [buffer rows, heads]
  float* y;           // [rows, inner]
  const float** raw;  // [buffer rows]
  Segment* segments;  // [rows]: a sequence has at least one row
};

Mamba2::Mamba2(const Mamba2Config& config, Mamba2Weights weights)
    : config_(config),
      weights_(std::move(weights)),
      recurrence_(config.conv_taps, config.channels(), config.heads,
                  kernels::mamba2_state_floats(config.head_dim(), config.state)) {}

memory::StateSpec Mamba2::state_spec() const {
  return {0, memory::RecurrentSpec{recurrence_.state_floats(), config_.row_floats()}};
}

size_t Mamba2::weight_bytes() const {
  return weights_.in.size_bytes() + weights_.out.size_bytes();
}

Mamba2::Buffers Mamba2::carve(Carver& carver, size_t rows) const {
  const size_t tokens = Recurrence::buffer_rows(rows);
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

  recurrence_.start(view, buffers.raw, [&](std::span<const Segment> segments, size_t tokens) {
    advance(context, buffers, segments, tokens);
  });
  for (size_t row = 0; row < rows; ++row)
    buffers.raw[row] = buffers.projected + row * weights_.in.rows() + config_.inner;
  Recurrence::write_rows(view, buffers.raw);
  advance(context, buffers, recurrence_.new_tokens(view, buffers.raw, buffers.segments), rows);

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

void Mamba2::advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
                     size_t tokens) const {
  Recurrence::for_each_token(context, segments, tokens, [&](const Segment& segment, size_t token) {
    convolve_token(context, buffers, segment, token);
  });
  recurrence_.scan(context, segments, [&](const Segment& segment, size_t head, size_t begin, size_t end) {
    scan_head(context, buffers, segment, head, begin, end);
  });
}

void Mamba2::convolve_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                            size_t token) const {
  const size_t row = segment.first_row + token;
  const float* taps[kMaxConvTaps];
  recurrence_.gather_taps(segment, token, taps);
  context.kernels.conv(taps, weights_.conv.data(),
                       weights_.conv_bias.empty() ? nullptr : weights_.conv_bias.data(), config_.conv_taps,
                       config_.channels(), true, buffers.convolved + row * config_.channels());
  context.kernels.softplus(segment.raw[token] + config_.channels(), weights_.dt_bias.data(), config_.heads,
                           buffers.dt + row * config_.heads);
}

void Mamba2::scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment,
                       size_t head, size_t begin, size_t end) const {
  const size_t channels = config_.channels();
  const size_t head_dim = config_.head_dim();
  const size_t group = head / (config_.heads / config_.groups);
  const size_t row = segment.first_row + begin;
  const float* first = buffers.convolved + row * channels;
  kernels::Mamba2ScanArgs args;
  args.tokens = end - begin;
  args.head_dim = head_dim;
  args.state_size = config_.state;
  args.a = weights_.a[head];
  args.d = weights_.d[head];
  args.dt = buffers.dt + row * config_.heads + head;
  args.dt_stride = config_.heads;
  args.x = first + head * head_dim;
  args.x_stride = channels;
  args.b = first + config_.inner + group * config_.state;
  args.c = args.b + config_.groups * config_.state;
  args.bc_stride = channels;
  args.state = recurrence_.part(segment.state, head);
  args.y = segment.replayed ? nullptr : buffers.y + row * config_.inner + head * head_dim;
  args.y_stride = config_.inner;
  context.kernels.mamba2_scan(args);
}

}  // namespace oxbow::model
