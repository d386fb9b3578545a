#include "model/feed_forwards/channel_mix.h"

#include "model/feed_forwards/activation.h"

namespace oxbow::model {

struct ChannelMix::Buffers {
  kernels::QuantizedRows quantized;
  float* mixed;       // [rows, embedding]
  float* hidden;      // [rows, width]
  const float** raw;  // [buffer rows]
  Segment* segments;  // [rows]: a sequence has at least one row
};

std::optional<memory::StateSpec> ChannelMix::state_spec() const {
  return memory::StateSpec{0, memory::RecurrentSpec{recurrence_.state_floats(), weights_.key.cols()}};
}

ChannelMix::Buffers ChannelMix::carve(Carver& carver, size_t rows) const {
  const size_t embedding = weights_.key.cols();
  const size_t width = weights_.key.rows();
  Buffers buffers;
  buffers.mixed = carver.floats(rows * embedding);
  buffers.hidden = carver.floats(rows * width);
  buffers.raw = carver.take<const float*>(Recurrence::buffer_rows(rows));
  buffers.segments = carver.take<Segment>(rows);
  buffers.quantized = carver.quantized(rows, std::max(embedding, width));
  return buffers;
}

size_t ChannelMix::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void ChannelMix::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  const size_t embedding = weights_.key.cols();
  const size_t width = weights_.key.rows();
  const memory::RecurrentView& view = context.views.recurrent[spec];
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);

  // Replaying only shifts the history: there is nothing else in the state.
  const auto shift = [&](std::span<const Segment> segments, size_t) {
    recurrence_.scan(context, segments, [](const Segment&, size_t, size_t, size_t) {});
  };
  recurrence_.start(view, buffers.raw, shift);
  for (size_t row = 0; row < rows; ++row) buffers.raw[row] = x + row * embedding;
  Recurrence::write_rows(view, buffers.raw);
  const auto segments = recurrence_.new_tokens(view, buffers.raw, buffers.segments);
  Recurrence::for_each_token(context, segments, rows, [&](const Segment& segment, size_t token) {
    const float* taps[2];
    recurrence_.gather_taps(segment, token, taps);
    context.kernels.lerp(taps[1], taps[0], weights_.shift.data(), embedding,
                         buffers.mixed + (segment.first_row + token) * embedding);
  });
  shift(segments, rows);

  const auto input = make_activations(context, buffers.mixed, embedding, rows, embedding,
                                      weights_.key.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.key, input, buffers.hidden, width);
  activate(context, Activation::kReluSquared, nullptr, buffers.hidden, rows, width);
  const auto hidden = make_activations(context, buffers.hidden, width, rows, width,
                                       weights_.value.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.value, hidden, y, embedding);
}

}  // namespace oxbow::model
