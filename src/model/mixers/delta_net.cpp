#include "model/mixers/delta_net.h"

#include <cmath>

namespace oxbow::model {

struct DeltaNet::Buffers {
  kernels::QuantizedRows quantized;
  float* rows;        // [rows, row_floats()]: q, k, v and the gate outputs, what goes to the log
  float* z;           // [rows, inner]
  float* convolved;   // [buffer rows, channels]
  float* dt;          // [buffer rows, value_heads]
  float* beta;        // [buffer rows, value_heads]
  float* y;           // [rows, inner]
  const float** raw;  // [buffer rows]
  Segment* segments;  // [rows]: a sequence has at least one row
};

DeltaNet::DeltaNet(const DeltaNetConfig& config, DeltaNetWeights weights)
    : config_(config),
      weights_(std::move(weights)),
      recurrence_(config.conv_taps, config.channels(), config.value_heads,
                  kernels::lane_block_floats(config.head_dim, config.head_dim)),
      query_scale_(1.0f / std::sqrt(static_cast<float>(config.head_dim))) {}

memory::StateSpec DeltaNet::state_spec() const {
  return {0, memory::RecurrentSpec{recurrence_.state_floats(), config_.row_floats()}};
}

size_t DeltaNet::weight_bytes() const {
  size_t bytes = weights_.qkv.size_bytes() + weights_.z.size_bytes() + weights_.out.size_bytes();
  for (const Matrix& gate : weights_.gates) bytes += gate.size_bytes();
  return bytes;
}

DeltaNet::Buffers DeltaNet::carve(Carver& carver, size_t rows) const {
  const size_t tokens = Recurrence::buffer_rows(rows);
  Buffers buffers;
  buffers.rows = carver.floats(rows * config_.row_floats());
  buffers.z = carver.floats(rows * config_.inner());
  buffers.convolved = carver.floats(tokens * config_.channels());
  buffers.dt = carver.floats(tokens * config_.value_heads);
  buffers.beta = carver.floats(tokens * config_.value_heads);
  buffers.y = carver.floats(rows * config_.inner());
  buffers.raw = carver.take<const float*>(tokens);
  buffers.segments = carver.take<Segment>(rows);
  buffers.quantized = carver.quantized(rows, std::max(config_.embedding, config_.inner()));
  return buffers;
}

size_t DeltaNet::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void DeltaNet::run(const StepContext& context, size_t spec, const float* x, float* y) const {
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

  context.pool.run(rows * config_.value_heads, 16, [&](size_t begin, size_t end, int) {
    for (size_t head = begin; head < end; ++head) {
      float* out = buffers.y + head * config_.head_dim;
      context.kernels.rms_norm(out, weights_.norm.data(), config_.head_dim, config_.norm_epsilon, out);
      context.kernels.silu_mul(buffers.z + head * config_.head_dim, out, config_.head_dim, out);
    }
  });
  const auto gated = make_activations(context, buffers.y, inner, rows, inner,
                                      weights_.out.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.out, gated, y, config_.embedding);
}

void DeltaNet::project(const StepContext& context, const float* x, const Buffers& buffers) const {
  bool quantize = weights_.qkv.takes_quantized_rows() || weights_.z.takes_quantized_rows();
  for (const Matrix& gate : weights_.gates) quantize |= gate.takes_quantized_rows();
  const auto input = make_activations(context, x, config_.embedding, context.rows(), config_.embedding,
                                      quantize, buffers.quantized);
  multiply(context, weights_.qkv, input, buffers.rows, config_.row_floats());
  float* gates = buffers.rows + config_.channels();
  for (const Matrix& gate : weights_.gates) {
    multiply(context, gate, input, gates, config_.row_floats());
    gates += gate.rows();
  }
  multiply(context, weights_.z, input, buffers.z, config_.inner());
}

void DeltaNet::advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
                       size_t tokens) const {
  Recurrence::for_each_token(context, segments, tokens, [&](const Segment& segment, size_t token) {
    prepare_token(context, buffers, segment, token);
  });
  recurrence_.scan(context, segments, [&](const Segment& segment, size_t head, size_t begin, size_t end) {
    scan_head(context, buffers, segment, head, begin, end);
  });
}

void DeltaNet::prepare_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                             size_t token) const {
  const size_t row = segment.first_row + token;
  const size_t heads = config_.value_heads;
  const float* taps[kMaxConvTaps];
  recurrence_.gather_taps(segment, token, taps);
  float* convolved = buffers.convolved + row * config_.channels();
  context.kernels.conv(taps, weights_.conv.data(), nullptr, config_.conv_taps, config_.channels(), true,
                       convolved);
  for (size_t head = 0; head < 2 * config_.key_heads; ++head) {  // queries, then keys
    float* values = convolved + head * config_.head_dim;
    context.kernels.l2_norm(values, config_.head_dim, config_.norm_epsilon, values);
  }
  const float* gates = segment.raw[token] + config_.channels();
  float* dt = buffers.dt + row * heads;
  float* beta = buffers.beta + row * heads;
  for (size_t head = 0; head < heads; ++head) {
    dt[head] = gates[config_.gates.alpha[head]];
    beta[head] = gates[config_.gates.beta[head]];
  }
  context.kernels.softplus(dt, weights_.dt_bias.data(), heads, dt);
  context.kernels.sigmoid(beta, heads, beta);
}

void DeltaNet::scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment,
                         size_t head, size_t begin, size_t end) const {
  const size_t row = segment.first_row + begin;
  const float* first = buffers.convolved + row * config_.channels();
  kernels::DeltaRuleArgs args;
  args.tokens = end - begin;
  args.key_dim = config_.head_dim;
  args.value_dim = config_.head_dim;
  args.a = weights_.a[head];
  args.scale = query_scale_;
  args.dt = buffers.dt + row * config_.value_heads + head;
  args.beta = buffers.beta + row * config_.value_heads + head;
  args.gate_stride = config_.value_heads;
  args.q = first + config_.key_head(head) * config_.head_dim;
  args.k = args.q + config_.key_width();
  args.v = first + 2 * config_.key_width() + head * config_.head_dim;
  args.qkv_stride = config_.channels();
  args.state = recurrence_.part(segment.state, head);
  args.y = segment.replayed ? nullptr : buffers.y + row * config_.inner() + head * config_.head_dim;
  args.y_stride = config_.inner();
  context.kernels.delta_rule(args);
}

}  // namespace oxbow::model
