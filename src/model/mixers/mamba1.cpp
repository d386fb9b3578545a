#include "model/mixers/mamba1.h"

namespace oxbow::model {
namespace {

constexpr size_t kBlockChannels = 64;  // channels that one task scans, without heads

Recurrence layout(const Mamba1Config& config) {
  if (config.heads > 0) {
    return Recurrence(config.conv_taps, config.inner, config.heads,
                      kernels::mamba2_state_floats(config.inner / config.heads, config.state));
  }
  return Recurrence(config.conv_taps, config.inner, ceil_div(config.inner, kBlockChannels),
                    kernels::lane_block_floats(kBlockChannels, config.state));
}

}  // namespace

struct Mamba1::Buffers {
  kernels::QuantizedRows quantized;
  float* projected;   // [rows, 2 * inner]: x, z
  float* rows;        // [rows, row_floats()]: what goes to the log
  float* convolved;   // [buffer rows, inner]
  float* gates;       // [rows, dt_rank + 2 * state]: dt, B, C
  float* dt;          // [buffer rows, steps()]
  float* bc;          // [buffer rows, 2 * state]
  float* y;           // [rows, inner]
  const float** raw;  // [buffer rows]
  Segment* segments;  // [rows]: a sequence has at least one row
};

Mamba1::Mamba1(const Mamba1Config& config, Mamba1Weights weights)
    : config_(config), weights_(std::move(weights)), recurrence_(layout(config)) {}

memory::StateSpec Mamba1::state_spec() const {
  return {0, memory::RecurrentSpec{recurrence_.state_floats(), config_.row_floats()}};
}

size_t Mamba1::weight_bytes() const {
  return weights_.in.size_bytes() + weights_.x.size_bytes() + weights_.dt.size_bytes() +
         weights_.out.size_bytes();
}

Mamba1::Buffers Mamba1::carve(Carver& carver, size_t rows) const {
  const size_t tokens = Recurrence::buffer_rows(rows);
  Buffers buffers;
  buffers.projected = carver.floats(rows * 2 * config_.inner);
  buffers.rows = carver.floats(rows * config_.row_floats());
  buffers.convolved = carver.floats(tokens * config_.inner);
  buffers.gates = carver.floats(rows * weights_.x.rows());
  buffers.dt = carver.floats(tokens * config_.steps());
  buffers.bc = carver.floats(tokens * 2 * config_.state);
  buffers.y = carver.floats(rows * config_.inner);
  buffers.raw = carver.take<const float*>(tokens);
  buffers.segments = carver.take<Segment>(rows);
  buffers.quantized = carver.quantized(rows, std::max({config_.embedding, config_.inner, config_.dt_rank}));
  return buffers;
}

size_t Mamba1::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void Mamba1::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  const size_t inner = config_.inner;
  const memory::RecurrentView& view = context.views.recurrent[spec];
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  const auto input = make_activations(context, x, config_.embedding, rows, config_.embedding,
                                      weights_.in.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.in, input, buffers.projected, 2 * inner);

  recurrence_.start(view, buffers.raw, [&](std::span<const Segment> segments, size_t tokens) {
    convolve(context, buffers, segments, tokens);
    advance(context, buffers, segments, tokens);
  });
  for (size_t row = 0; row < rows; ++row) {
    buffers.raw[row] = buffers.rows + row * config_.row_floats();
    std::memcpy(buffers.rows + row * config_.row_floats(), buffers.projected + row * 2 * inner,
                inner * sizeof(float));
  }
  const auto segments = recurrence_.new_tokens(view, buffers.raw, buffers.segments);
  convolve(context, buffers, segments, rows);
  project_gates(context, buffers);
  Recurrence::write_rows(view, buffers.raw);
  advance(context, buffers, segments, rows);

  context.pool.run(rows, 4, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* out = buffers.y + row * inner;
      context.kernels.silu_mul(buffers.projected + row * 2 * inner + inner, out, inner, out);
    }
  });
  const auto gated = make_activations(context, buffers.y, inner, rows, inner,
                                      weights_.out.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.out, gated, y, config_.embedding);
}

void Mamba1::convolve(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
                      size_t tokens) const {
  Recurrence::for_each_token(context, segments, tokens, [&](const Segment& segment, size_t token) {
    const float* taps[kMaxConvTaps];
    recurrence_.gather_taps(segment, token, taps);
    context.kernels.conv(taps, weights_.conv.data(),
                         weights_.conv_bias.empty() ? nullptr : weights_.conv_bias.data(), config_.conv_taps,
                         config_.inner, true,
                         buffers.convolved + (segment.first_row + token) * config_.inner);
  });
}

// dt and B of the new tokens, into their log rows; C next to where B will be.
void Mamba1::project_gates(const StepContext& context, const Buffers& buffers) const {
  const size_t rows = context.rows();
  const size_t rank = config_.dt_rank;
  const size_t state = config_.state;
  const size_t width = weights_.x.rows();
  const auto convolved = make_activations(context, buffers.convolved, config_.inner, rows, config_.inner,
                                          weights_.x.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.x, convolved, buffers.gates, width);
  context.pool.run(rows, 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* dt = buffers.gates + row * width;
      float* b = dt + rank;
      float* c = b + state;
      if (config_.norms) {
        const auto norm = [&](float* values, size_t n, const std::vector<float>& w) {
          context.kernels.rms_norm(values, w.empty() ? nullptr : w.data(), n, config_.norm_epsilon, values);
        };
        norm(dt, rank, weights_.dt_norm);
        norm(b, state, weights_.b_norm);
        norm(c, state, weights_.c_norm);
      }
      std::memcpy(buffers.rows + row * config_.row_floats() + config_.inner + config_.steps(), b,
                  state * sizeof(float));
      std::memcpy(buffers.bc + (2 * row + 1) * state, c, state * sizeof(float));
    }
  });
  const auto gates = make_activations(context, buffers.gates, width, rows, rank,
                                      weights_.dt.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.dt, gates, buffers.rows + config_.inner, config_.row_floats());
}

// Runs the recurrence over convolved tokens, from what their log rows hold.
void Mamba1::advance(const StepContext& context, const Buffers& buffers, std::span<const Segment> segments,
                     size_t tokens) const {
  const size_t steps = config_.steps();
  Recurrence::for_each_token(context, segments, tokens, [&](const Segment& segment, size_t token) {
    const size_t row = segment.first_row + token;
    const float* dt = segment.raw[token] + config_.inner;
    context.kernels.softplus(dt, weights_.dt_bias.data(), steps, buffers.dt + row * steps);
    std::memcpy(buffers.bc + 2 * row * config_.state, dt + steps, config_.state * sizeof(float));
  });
  recurrence_.scan(context, segments, [&](const Segment& segment, size_t part, size_t begin, size_t end) {
    if (config_.heads > 0) {
      scan_head(context, buffers, segment, part, begin, end);
    } else {
      scan_block(context, buffers, segment, part, begin, end);
    }
  });
}

void Mamba1::scan_block(const StepContext& context, const Buffers& buffers, const Segment& segment,
                        size_t block, size_t begin, size_t end) const {
  const size_t inner = config_.inner;
  const size_t row = segment.first_row + begin;
  const size_t channel = block * kBlockChannels;
  kernels::Mamba1ScanArgs args;
  args.tokens = end - begin;
  args.channels = std::min(kBlockChannels, inner - channel);
  args.state_size = config_.state;
  args.a = weights_.a.data() + channel * config_.state;
  args.d = weights_.d.data() + channel;
  args.dt = buffers.dt + row * inner + channel;
  args.dt_stride = inner;
  args.x = buffers.convolved + row * inner + channel;
  args.x_stride = inner;
  args.b = buffers.bc + 2 * row * config_.state;
  args.c = args.b + config_.state;
  args.bc_stride = 2 * config_.state;
  args.state = recurrence_.part(segment.state, block);
  args.y = segment.replayed ? nullptr : buffers.y + row * inner + channel;
  args.y_stride = inner;
  context.kernels.mamba1_scan(args);
}

void Mamba1::scan_head(const StepContext& context, const Buffers& buffers, const Segment& segment,
                       size_t head, size_t begin, size_t end) const {
  const size_t inner = config_.inner;
  const size_t row = segment.first_row + begin;
  kernels::Mamba2ScanArgs args;
  args.tokens = end - begin;
  args.head_dim = inner / config_.heads;
  args.state_size = config_.state;
  args.a = weights_.a[head];
  args.d = weights_.d[head];
  args.dt = buffers.dt + row * config_.heads + head;
  args.dt_stride = config_.heads;
  args.x = buffers.convolved + row * inner + head * args.head_dim;
  args.x_stride = inner;
  args.b = buffers.bc + 2 * row * config_.state;
  args.c = args.b + config_.state;
  args.bc_stride = 2 * config_.state;
  args.state = recurrence_.part(segment.state, head);
  args.y = segment.replayed ? nullptr : buffers.y + row * inner + head * args.head_dim;
  args.y_stride = inner;
  context.kernels.mamba2_scan(args);
}

}  // namespace oxbow::model
