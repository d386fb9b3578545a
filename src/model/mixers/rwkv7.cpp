#include "model/mixers/rwkv7.h"

namespace oxbow::model {
namespace {

constexpr float kDecayScale = -0.606531f;   // -exp(-1/2): no channel forgets faster than exp of it per token
constexpr float kHeadNormEpsilon = 64e-5f;  // 1e-5 times the square of the division by 8 before the norm
constexpr float kUnitLengthEpsilon = 1e-24f;  // under the root: lengths count as at least 1e-12

}  // namespace

struct Rwkv7::Buffers {
  kernels::QuantizedRows quantized;
  kernels::QuantizedRows quantized_low;
  float* rows;        // [rows, 5, embedding]: input, key, value, decay, rate; what goes to the log
  float* mixed;       // [rows, embedding]: the input of a projection
  float* low;         // [rows, largest rank]
  float* receptance;  // [rows, embedding]
  float* gate;        // [rows, embedding]
  float* value_mix;   // [rows, embedding]
  float* keys;        // [buffer rows, 5, embedding]: decay, removal key, removal key * rate, key, value
  float* y;           // [rows, embedding]
  const float** raw;  // [buffer rows]
  Segment* segments;  // [rows]: a sequence has at least one row
};

Rwkv7::Rwkv7(const Rwkv7Config& config, Rwkv7Weights weights)
    : config_(config),
      weights_(std::move(weights)),
      recurrence_(2, config.embedding, config.heads(),
                  kernels::lane_block_floats(config.head_size, config.head_size)) {}

memory::StateSpec Rwkv7::state_spec() const {
  return {0, memory::RecurrentSpec{recurrence_.state_floats(), config_.row_floats()}};
}

size_t Rwkv7::weight_bytes() const {
  const Rwkv7Weights& w = weights_;
  size_t bytes = 0;
  for (const Matrix* matrix : {&w.receptance, &w.key, &w.value, &w.output}) bytes += matrix->size_bytes();
  for (const LowRank* f : {&w.decay, &w.rate, &w.value_mix, &w.gate}) {
    bytes += f->down.size_bytes() + f->up.size_bytes();
  }
  return bytes;
}

size_t Rwkv7::largest_rank() const {
  return std::max({weights_.decay.down.rows(), weights_.rate.down.rows(), weights_.value_mix.down.rows(),
                   weights_.gate.down.rows()});
}

Rwkv7::Buffers Rwkv7::carve(Carver& carver, size_t rows) const {
  const size_t tokens = Recurrence::buffer_rows(rows);
  const size_t embedding = config_.embedding;
  Buffers buffers;
  buffers.rows = carver.floats(rows * config_.row_floats());
  buffers.mixed = carver.floats(rows * embedding);
  buffers.low = carver.floats(rows * largest_rank());
  buffers.receptance = carver.floats(rows * embedding);
  buffers.gate = carver.floats(rows * embedding);
  buffers.value_mix = carver.floats(rows * embedding);
  buffers.keys = carver.floats(tokens * 5 * embedding);
  buffers.y = carver.floats(rows * embedding);
  buffers.raw = carver.take<const float*>(tokens);
  buffers.segments = carver.take<Segment>(rows);
  buffers.quantized = carver.quantized(rows, embedding);
  buffers.quantized_low = carver.quantized(rows, largest_rank());
  return buffers;
}

size_t Rwkv7::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void Rwkv7::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  const size_t embedding = config_.embedding;
  const memory::RecurrentView& view = context.views.recurrent[spec];
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  recurrence_.start(view, buffers.raw, [&](std::span<const Segment> segments, size_t tokens) {
    advance(context, buffers, segments, tokens);
  });
  for (size_t row = 0; row < rows; ++row) {
    float* own = buffers.rows + row * config_.row_floats();
    std::memcpy(own, x + row * embedding, embedding * sizeof(float));
    buffers.raw[row] = own;
  }
  const auto segments = recurrence_.new_tokens(view, buffers.raw, buffers.segments);
  project(context, segments, buffers);
  Recurrence::write_rows(view, buffers.raw);
  advance(context, buffers, segments, rows);

  context.pool.run(rows, 2, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) finish_row(context, buffers, row);
  });
  const auto mixed = make_activations(context, buffers.y, embedding, rows, embedding,
                                      weights_.output.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.output, mixed, y, embedding);
}

kernels::Activations Rwkv7::shifted(const StepContext& context, std::span<const Segment> segments,
                                    Input input, bool quantize, const Buffers& buffers) const {
  const size_t embedding = config_.embedding;
  const float* share = weights_.shift.data() + input * embedding;
  Recurrence::for_each_token(context, segments, context.rows(), [&](const Segment& segment, size_t token) {
    const float* taps[2];
    recurrence_.gather_taps(segment, token, taps);
    context.kernels.lerp(taps[1], taps[0], share, embedding,
                         buffers.mixed + (segment.first_row + token) * embedding);
  });
  return make_activations(context, buffers.mixed, embedding, context.rows(), embedding, quantize,
                          buffers.quantized);
}

void Rwkv7::run_low_rank(const StepContext& context, const LowRank& f, Squash squash,
                         const kernels::Activations& input, const Buffers& buffers, float* out,
                         size_t stride) const {
  const size_t rows = context.rows();
  const size_t rank = f.down.rows();
  multiply(context, f.down, input, buffers.low, rank);
  if (squash == Squash::kTanh) context.kernels.tanh(buffers.low, rows * rank, buffers.low);
  if (squash == Squash::kSigmoid) context.kernels.sigmoid(buffers.low, rows * rank, buffers.low);
  const auto low = make_activations(context, buffers.low, rank, rows, rank, f.up.takes_quantized_rows(),
                                    buffers.quantized_low);
  multiply(context, f.up, low, out, stride);
  if (f.bias.empty()) return;
  context.pool.run(rows, 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* sum = out + row * stride;
      context.kernels.add_scaled(f.bias.data(), 1.0f, config_.embedding, sum);
      context.kernels.sigmoid(sum, config_.embedding, sum);
    }
  });
}

void Rwkv7::project(const StepContext& context, std::span<const Segment> segments,
                    const Buffers& buffers) const {
  const Rwkv7Weights& w = weights_;
  const size_t embedding = config_.embedding;
  const size_t stride = config_.row_floats();
  const auto input = [&](Input which, const Matrix& matrix) {
    return shifted(context, segments, which, matrix.takes_quantized_rows(), buffers);
  };
  multiply(context, w.receptance, input(kReceptance, w.receptance), buffers.receptance, embedding);
  multiply(context, w.key, input(kKey, w.key), buffers.rows + embedding, stride);
  project_values(context, segments, buffers);
  float* decay = buffers.rows + 3 * embedding;
  run_low_rank(context, w.decay, Squash::kTanh, input(kDecay, w.decay.down), buffers, decay, stride);
  context.pool.run(context.rows(), 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      context.kernels.exp_scaled(decay + row * stride, kDecayScale, embedding, decay + row * stride);
    }
  });
  run_low_rank(context, w.rate, Squash::kNone, input(kRate, w.rate.down), buffers, decay + embedding, stride);
  run_low_rank(context, w.gate, Squash::kSigmoid, input(kGate, w.gate.down), buffers, buffers.gate,
               embedding);
}

void Rwkv7::project_values(const StepContext& context, std::span<const Segment> segments,
                           const Buffers& buffers) const {
  const Rwkv7Weights& w = weights_;
  const size_t embedding = config_.embedding;
  const size_t stride = config_.row_floats();
  float* values = buffers.rows + 2 * embedding;
  const bool quantize =
      w.value.takes_quantized_rows() || (!config_.first && w.value_mix.down.takes_quantized_rows());
  const auto input = shifted(context, segments, kValue, quantize, buffers);
  multiply(context, w.value, input, values, stride);
  if (!config_.first) {
    run_low_rank(context, w.value_mix, Squash::kNone, input, buffers, buffers.value_mix, embedding);
  }
  for (size_t row = 0; row < context.rows(); ++row) {
    float* value = values + row * stride;
    float* carried = context.carried + row * embedding;
    if (config_.first) {
      std::memcpy(carried, value, embedding * sizeof(float));
    } else {
      context.kernels.lerp(value, carried, buffers.value_mix + row * embedding, embedding, value);
    }
  }
}

void Rwkv7::advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
                    size_t tokens) const {
  Recurrence::for_each_token(context, segments, tokens, [&](const Segment& segment, size_t token) {
    prepare_token(context, buffers, segment, token);
  });
  recurrence_.scan(context, segments, [&](const Segment& segment, size_t head, size_t begin, size_t end) {
    scan_head(context, buffers, segment, head, begin, end);
  });
}

// From a log row to what the recurrence consumes.
void Rwkv7::prepare_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                          size_t token) const {
  const size_t n = config_.embedding;
  const float* key = segment.raw[token] + n;
  const float* value = key + n;
  const float* decay = value + n;
  const float* rate = decay + n;
  float* out = buffers.keys + (segment.first_row + token) * 5 * n;
  std::memcpy(out, decay, n * sizeof(float));
  std::memcpy(out + 4 * n, value, n * sizeof(float));
  float* removal = out + n;
  context.kernels.mul(key, weights_.k_k.data(), n, removal);
  for (size_t i = 0; i < n; i += config_.head_size) {
    context.kernels.l2_norm(removal + i, config_.head_size, kUnitLengthEpsilon, removal + i);
  }
  context.kernels.mul(removal, rate, n, out + 2 * n);
  context.kernels.mul(key, rate, n, out + 3 * n);
  context.kernels.lerp(key, out + 3 * n, weights_.k_a.data(), n, out + 3 * n);
}

void Rwkv7::scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment, size_t head,
                      size_t begin, size_t end) const {
  const size_t n = config_.embedding;
  const size_t row = segment.first_row + begin;
  const size_t first = head * config_.head_size;
  kernels::GeneralDeltaRuleArgs args;
  args.tokens = end - begin;
  args.key_dim = config_.head_size;
  args.value_dim = config_.head_size;
  args.w = buffers.keys + row * 5 * n + first;
  args.a = args.w + n;
  args.b = args.w + 2 * n;
  args.k = args.w + 3 * n;
  args.key_stride = 5 * n;
  args.q = segment.replayed ? nullptr : buffers.receptance + row * n + first;
  args.q_stride = n;
  args.v = args.w + 4 * n;
  args.v_stride = 5 * n;
  args.state = recurrence_.part(segment.state, head);
  args.y = segment.replayed ? nullptr : buffers.y + row * n + first;
  args.y_stride = n;
  context.kernels.general_delta_rule(args);
}

// Norm of each head, the current token's own value, gate. Consumes the receptance.
void Rwkv7::finish_row(const StepContext& context, const Buffers& buffers, size_t row) const {
  const size_t n = config_.embedding;
  const size_t size = config_.head_size;
  const float* key = buffers.keys + (row * 5 + 3) * n;
  float* y = buffers.y + row * n;
  float* receptance = buffers.receptance + row * n;
  context.kernels.mul(receptance, key, n, receptance);
  for (size_t i = 0; i < n; i += size) {
    context.kernels.layer_norm(y + i, weights_.norm.data() + i, weights_.norm_bias.data() + i, size,
                               kHeadNormEpsilon, y + i);
    const float own = context.kernels.dot(receptance + i, weights_.r_k.data() + i, size);
    context.kernels.add_scaled(key + n + i, own, size, y + i);
  }
  context.kernels.mul(y, buffers.gate + row * n, n, y);
}

}  // namespace oxbow::model
