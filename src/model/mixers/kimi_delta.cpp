#include "model/mixers/kimi_delta.h"

#include <cmath>

namespace oxbow::model {

struct KimiDelta::Buffers {
  kernels::QuantizedRows quantized;      // of inputs and outputs
  kernels::QuantizedRows quantized_low;  // of low-rank values
  float* rows;        // [rows, row_floats()]: q, k, v, decay and strength inputs, what goes to the log
  float* low;         // [rows, low rank]
  float* gate;        // [rows, inner]
  float* convolved;   // [buffer rows, channels]
  float* keys;        // [buffer rows, 3, inner]: decay w; w * key, what is read; beta * key, what is written
  float* beta;        // [buffer rows, heads]
  float* y;           // [rows, inner]
  const float** raw;  // [buffer rows]
  Segment* segments;  // [rows]: a sequence has at least one row
};

KimiDelta::KimiDelta(const KimiDeltaConfig& config, KimiDeltaWeights weights)
    : config_(config),
      weights_(std::move(weights)),
      recurrence_(config.conv_taps, config.channels(), config.heads,
                  kernels::lane_block_floats(config.head_dim, config.head_dim)),
      query_scale_(1.0f / std::sqrt(static_cast<float>(config.head_dim))) {}

memory::StateSpec KimiDelta::state_spec() const {
  return {0, memory::RecurrentSpec{recurrence_.state_floats(), config_.row_floats()}};
}

size_t KimiDelta::weight_bytes() const {
  const KimiDeltaWeights& w = weights_;
  size_t bytes = 0;
  for (const Matrix* matrix :
       {&w.q, &w.k, &w.v, &w.decay_down, &w.decay_up, &w.beta, &w.gate_down, &w.gate_up, &w.out}) {
    bytes += matrix->size_bytes();
  }
  return bytes;
}

KimiDelta::Buffers KimiDelta::carve(Carver& carver, size_t rows) const {
  const size_t tokens = Recurrence::buffer_rows(rows);
  const size_t rank = std::max(weights_.decay_down.rows(), weights_.gate_down.rows());
  Buffers buffers;
  buffers.rows = carver.floats(rows * config_.row_floats());
  buffers.low = carver.floats(rows * rank);
  buffers.gate = carver.floats(rows * config_.inner());
  buffers.convolved = carver.floats(tokens * config_.channels());
  buffers.keys = carver.floats(tokens * 3 * config_.inner());
  buffers.beta = carver.floats(tokens * config_.heads);
  buffers.y = carver.floats(rows * config_.inner());
  buffers.raw = carver.take<const float*>(tokens);
  buffers.segments = carver.take<Segment>(rows);
  buffers.quantized = carver.quantized(rows, std::max(config_.embedding, config_.inner()));
  buffers.quantized_low = carver.quantized(rows, rank);
  return buffers;
}

size_t KimiDelta::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void KimiDelta::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  const size_t inner = config_.inner();
  const memory::RecurrentView& view = context.views.recurrent[spec];
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  project(context, x, buffers);

  recurrence_.start(view, buffers.raw, [&](std::span<const Segment> segments, size_t tokens) {
    advance(context, buffers, segments, tokens);
  });
  for (size_t row = 0; row < rows; ++row) buffers.raw[row] = buffers.rows + row * config_.row_floats();
  Recurrence::write_rows(view, buffers.raw);
  advance(context, buffers, recurrence_.new_tokens(view, buffers.raw, buffers.segments), rows);

  context.pool.run(rows * config_.heads, 16, [&](size_t begin, size_t end, int) {
    for (size_t head = begin; head < end; ++head) {
      float* out = buffers.y + head * config_.head_dim;
      float* gate = buffers.gate + head * config_.head_dim;
      context.kernels.rms_norm(out, weights_.norm.data(), config_.head_dim, config_.norm_epsilon, out);
      context.kernels.sigmoid(gate, config_.head_dim, gate);
      context.kernels.mul(out, gate, config_.head_dim, out);
    }
  });
  const auto gated = make_activations(context, buffers.y, inner, rows, inner,
                                      weights_.out.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.out, gated, y, config_.embedding);
}

void KimiDelta::project(const StepContext& context, const float* x, const Buffers& buffers) const {
  const KimiDeltaWeights& w = weights_;
  const size_t rows = context.rows();
  const size_t inner = config_.inner();
  const size_t stride = config_.row_floats();
  bool quantize = false;
  for (const Matrix* matrix : {&w.q, &w.k, &w.v, &w.decay_down, &w.beta, &w.gate_down}) {
    quantize |= matrix->takes_quantized_rows();
  }
  const auto input =
      make_activations(context, x, config_.embedding, rows, config_.embedding, quantize, buffers.quantized);
  multiply(context, w.q, input, buffers.rows, stride);
  multiply(context, w.k, input, buffers.rows + inner, stride);
  multiply(context, w.v, input, buffers.rows + 2 * inner, stride);
  multiply(context, w.beta, input, buffers.rows + 4 * inner, stride);
  const auto low_rank = [&](const Matrix& down, const Matrix& up, float* out, size_t out_stride) {
    multiply(context, down, input, buffers.low, down.rows());
    const auto low = make_activations(context, buffers.low, down.rows(), rows, down.rows(),
                                      up.takes_quantized_rows(), buffers.quantized_low);
    multiply(context, up, low, out, out_stride);
  };
  low_rank(w.decay_down, w.decay_up, buffers.rows + 3 * inner, stride);
  low_rank(w.gate_down, w.gate_up, buffers.gate, inner);
}

void KimiDelta::advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
                        size_t tokens) const {
  Recurrence::for_each_token(context, segments, tokens, [&](const Segment& segment, size_t token) {
    prepare_token(context, buffers, segment, token);
  });
  recurrence_.scan(context, segments, [&](const Segment& segment, size_t head, size_t begin, size_t end) {
    scan_head(context, buffers, segment, head, begin, end);
  });
}

void KimiDelta::prepare_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                              size_t token) const {
  const size_t row = segment.first_row + token;
  const size_t inner = config_.inner();
  const size_t n = config_.head_dim;
  const float* taps[kMaxConvTaps];
  recurrence_.gather_taps(segment, token, taps);
  float* convolved = buffers.convolved + row * config_.channels();
  context.kernels.conv(taps, weights_.conv.data(), nullptr, config_.conv_taps, config_.channels(), true,
                       convolved);
  const float* gates = segment.raw[token] + config_.channels();
  float* decay = buffers.keys + row * 3 * inner;
  float* beta = buffers.beta + row * config_.heads;
  context.kernels.softplus(gates, weights_.dt_bias.data(), inner, decay);
  context.kernels.sigmoid(gates + inner, config_.heads, beta);
  for (size_t head = 0; head < config_.heads; ++head) {
    float* q = convolved + head * n;
    float* k = q + inner;
    float* w = decay + head * n;
    context.kernels.l2_norm(q, n, config_.norm_epsilon, q);
    context.kernels.l2_norm(k, n, config_.norm_epsilon, k);
    context.kernels.exp_scaled(w, weights_.a[head], n, w);
    context.kernels.mul(w, k, n, w + inner);
    context.kernels.scale(k, beta[head], n, w + 2 * inner);
  }
}

void KimiDelta::scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment,
                          size_t head, size_t begin, size_t end) const {
  const size_t row = segment.first_row + begin;
  const size_t inner = config_.inner();
  const float* convolved = buffers.convolved + row * config_.channels() + head * config_.head_dim;
  kernels::GeneralDeltaRuleArgs args;
  args.tokens = end - begin;
  args.key_dim = config_.head_dim;
  args.value_dim = config_.head_dim;
  args.scale = query_scale_;
  args.w = buffers.keys + row * 3 * inner + head * config_.head_dim;
  args.a = args.w + inner;
  args.b = args.k = args.w + 2 * inner;
  args.key_stride = 3 * inner;
  args.q = convolved;
  args.q_stride = config_.channels();
  args.v = convolved + 2 * inner;
  args.v_stride = config_.channels();
  args.state = recurrence_.part(segment.state, head);
  args.y = segment.replayed ? nullptr : buffers.y + row * inner + head * config_.head_dim;
  args.y_stride = inner;
  context.kernels.general_delta_rule(args);
}

}  // namespace oxbow::model
