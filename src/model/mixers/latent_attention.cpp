#include "model/mixers/latent_attention.h"

#include <algorithm>
#include <cstring>

namespace oxbow::model {

struct LatentAttention::Buffers {
  kernels::QuantizedRows quantized;
  kernels::QuantizedRows quantized_heads;  // [rows * heads, max(key_own, latent)]
  float* projected;                        // [rows, heads, query_dim()]
  float* kept;                             // [rows, kept()]
  float* q;                                // [rows, heads, kept()]
  float* answers;                          // [rows, heads, latent]
  float* values;                           // [rows, heads, value_dim]
  AttendRoom room;
};

size_t LatentAttention::weight_bytes() const {
  return weights_.q.size_bytes() + weights_.compress.size_bytes() + weights_.key_to_latent.size_bytes() +
         weights_.latent_to_value.size_bytes() + weights_.output.size_bytes();
}

LatentAttention::Buffers LatentAttention::carve(Carver& carver, size_t rows, int threads) const {
  const size_t heads = rows * config_.heads;
  Buffers buffers;
  buffers.projected = carver.floats(heads * config_.query_dim());
  buffers.kept = carver.floats(rows * config_.kept());
  buffers.q = carver.floats(heads * config_.kept());
  buffers.answers = carver.floats(heads * config_.latent);
  buffers.values = carver.floats(heads * config_.value_dim);
  buffers.room = carve_attend_room(carver, config_.shape(), threads);
  buffers.quantized = carver.quantized(rows, std::max(config_.embedding, weights_.output.cols()));
  buffers.quantized_heads = carver.quantized(heads, std::max(config_.key_own, config_.latent));
  return buffers;
}

size_t LatentAttention::scratch_bytes(size_t rows, int threads) const {
  Carver carver;
  carve(carver, rows, threads);
  return carver.used_bytes();
}

void LatentAttention::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows, context.pool.size());
  project(context, x, buffers);
  const memory::AttentionView& view = context.views.attention[spec];
  const HeadRows kept{buffers.kept, config_.kept()};
  store_keys_values(context, view, config_.shape(), kept, kept);
  attend_all(context, view, config_.shape(), buffers.q, buffers.room, buffers.answers);
  multiply_heads(context, weights_.latent_to_value, buffers.answers, config_.latent, buffers, buffers.values,
                 config_.value_dim);
  const size_t width = weights_.output.cols();
  const auto values = make_activations(context, buffers.values, width, rows, width,
                                       weights_.output.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.output, values, y, config_.embedding);
}

void LatentAttention::project(const StepContext& context, const float* x, const Buffers& buffers) const {
  const bool quantize = weights_.q.takes_quantized_rows() || weights_.compress.takes_quantized_rows();
  const auto input = make_activations(context, x, config_.embedding, context.rows(), config_.embedding,
                                      quantize, buffers.quantized);
  multiply(context, weights_.q, input, buffers.projected, weights_.q.rows());
  multiply(context, weights_.compress, input, buffers.kept, config_.kept());
  multiply_heads(context, weights_.key_to_latent, buffers.projected, config_.query_dim(), buffers, buffers.q,
                 config_.kept());
  context.pool.run(context.rows(), 4, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* kept = buffers.kept + row * config_.kept();
      context.kernels.rms_norm(kept, weights_.norm.data(), config_.latent, config_.norm_epsilon, kept);
      for (size_t i = row * config_.heads; i < (row + 1) * config_.heads; ++i) {
        std::memcpy(buffers.q + i * config_.kept() + config_.latent,
                    buffers.projected + i * config_.query_dim() + config_.key_own,
                    config_.key_shared * sizeof(float));
      }
    }
  });
}

void LatentAttention::multiply_heads(const StepContext& context, const Matrix& w, const float* x,
                                     size_t input_stride, const Buffers& buffers, float* y,
                                     size_t y_stride) const {
  const size_t rows = context.rows();
  const size_t heads = config_.heads;
  const auto all = make_activations(context, x, input_stride, rows * heads, w.cols(),
                                    w.takes_quantized_rows(), buffers.quantized_heads);
  context.pool.run(heads, 1, [&](size_t begin, size_t end, int) {
    for (size_t head = begin; head < end; ++head) {
      // The rows of one head are `heads` rows of `all` apart.
      kernels::Activations own = all;
      own.rows = rows;
      own.values += head * all.stride;
      own.stride = heads * all.stride;
      own.quantized.codes += head * all.quantized.code_stride;
      own.quantized.scales += head * all.quantized.block_stride;
      own.quantized.sums += 2 * head * all.quantized.block_stride;
      own.quantized.code_stride *= heads;
      own.quantized.block_stride *= heads;
      const kernels::PanelMatrix matrix = w.view(head);
      context.kernels.matmul(matrix, own, 0, matrix.panel_count(), y + head * y_stride, heads * y_stride);
    }
  });
}

}  // namespace oxbow::model
