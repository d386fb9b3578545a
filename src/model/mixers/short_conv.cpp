#include "model/mixers/short_conv.h"

namespace oxbow::model {

struct ShortConv::Buffers {
  kernels::QuantizedRows quantized;
  float* projected;   // [rows, 3 * embedding]: B, C, X
  float* inputs;      // [rows, embedding]: B * X
  float* mixed;       // [rows, embedding]
  const float** raw;  // [buffer rows]
  Segment* segments;  // [rows]: a sequence has at least one row
};

ShortConv::ShortConv(size_t embedding, size_t taps, ShortConvWeights weights)
    : embedding_(embedding), taps_(taps), weights_(std::move(weights)), recurrence_(taps, embedding, 0, 0) {}

memory::StateSpec ShortConv::state_spec() const {
  return {0, memory::RecurrentSpec{recurrence_.state_floats(), embedding_}};
}

size_t ShortConv::weight_bytes() const {
  return weights_.in.size_bytes() + weights_.out.size_bytes();
}

ShortConv::Buffers ShortConv::carve(Carver& carver, size_t rows) const {
  Buffers buffers;
  buffers.projected = carver.floats(rows * 3 * embedding_);
  buffers.inputs = carver.floats(rows * embedding_);
  buffers.mixed = carver.floats(rows * embedding_);
  buffers.raw = carver.take<const float*>(Recurrence::buffer_rows(rows));
  buffers.segments = carver.take<Segment>(rows);
  buffers.quantized = carver.quantized(rows, embedding_);
  return buffers;
}

size_t ShortConv::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void ShortConv::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  const memory::RecurrentView& view = context.views.recurrent[spec];
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  const auto input = make_activations(context, x, embedding_, rows, embedding_,
                                      weights_.in.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.in, input, buffers.projected, 3 * embedding_);

  // Replaying only shifts the history: there is nothing else in the state.
  const auto shift = [&](std::span<const Segment> segments, size_t) {
    recurrence_.scan(context, segments, [](const Segment&, size_t, size_t, size_t) {});
  };
  recurrence_.start(view, buffers.raw, shift);
  context.pool.run(rows, 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      const float* b = buffers.projected + row * 3 * embedding_;
      buffers.raw[row] = buffers.inputs + row * embedding_;
      context.kernels.mul(b, b + 2 * embedding_, embedding_, buffers.inputs + row * embedding_);
    }
  });
  Recurrence::write_rows(view, buffers.raw);
  const auto segments = recurrence_.new_tokens(view, buffers.raw, buffers.segments);
  Recurrence::for_each_token(context, segments, rows, [&](const Segment& segment, size_t token) {
    mix_token(context, buffers, segment, token);
  });
  shift(segments, rows);

  const auto mixed = make_activations(context, buffers.mixed, embedding_, rows, embedding_,
                                      weights_.out.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.out, mixed, y, embedding_);
}

void ShortConv::mix_token(const StepContext& context, const Buffers& buffers, const Segment& segment,
                          size_t token) const {
  const size_t row = segment.first_row + token;
  const float* taps[kMaxConvTaps];
  recurrence_.gather_taps(segment, token, taps);
  float* mixed = buffers.mixed + row * embedding_;
  context.kernels.conv(taps, weights_.conv.data(), nullptr, taps_, embedding_, false, mixed);
  const float* c = buffers.projected + row * 3 * embedding_ + embedding_;
  context.kernels.mul(c, mixed, embedding_, mixed);
}

}  // namespace oxbow::model
