#include "model/mixers/attention.h"

#include <algorithm>
#include <cstring>

namespace oxbow::model {

struct Attention::Buffers {
  kernels::QuantizedRows quantized;
  float* projected;  // [rows, query_outputs()]
  float* q;          // [rows, heads * head_dim_k]; the same as projected when there are no gates
  float* gates;      // [rows, heads * head_dim_k], with gates
  float* k;          // [rows, kv_heads * head_dim_k]
  float* v;          // [rows, kv_heads * head_dim_v]
  float* attended;   // [rows, heads * head_dim_v]
  AttendRoom room;
};

Attention::Attention(const AttentionConfig& config, AttentionWeights weights,
                     const std::vector<RopeConfig>& ropes)
    : config_(config), weights_(std::move(weights)) {
  if (config.rope) rope_ = ropes[*config.rope];
}

memory::StateSpec Attention::state_spec() const {
  return {0, config_.shape().kv_spec()};
}

size_t Attention::weight_bytes() const {
  return weights_.q.size_bytes() + weights_.k.size_bytes() + weights_.v.size_bytes() +
         weights_.output.size_bytes();
}

Attention::Buffers Attention::carve(Carver& carver, size_t rows, int threads) const {
  Buffers buffers;
  buffers.projected = carver.floats(rows * weights_.q.rows());
  buffers.q = config_.gated ? carver.floats(rows * config_.heads * config_.head_dim_k) : buffers.projected;
  buffers.gates = config_.gated ? carver.floats(rows * config_.heads * config_.head_dim_k) : nullptr;
  buffers.k = carver.floats(rows * weights_.k.rows());
  buffers.v = carver.floats(rows * weights_.v.rows());
  buffers.attended = carver.floats(rows * weights_.output.cols());
  buffers.quantized = carver.quantized(rows, std::max(weights_.q.cols(), weights_.output.cols()));
  buffers.room = carve_attend_room(carver, config_.shape(), threads);
  return buffers;
}

size_t Attention::scratch_bytes(size_t rows, int threads) const {
  Carver carver;
  carve(carver, rows, threads);
  return carver.used_bytes();
}

void Attention::run(const StepContext& context, size_t spec, const float* x, float* y) const {
  const size_t rows = context.rows();
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows, context.pool.size());
  project(context, x, buffers);
  const memory::AttentionView& view = context.views.attention[spec];
  store_keys_values(context, view, config_.shape(), {buffers.k, weights_.k.rows()},
                    {buffers.v, weights_.v.rows()});
  attend_all(context, view, config_.shape(), buffers.q, buffers.room, buffers.attended);
  if (config_.gated) apply_gates(context, buffers);
  const auto attended =
      make_activations(context, buffers.attended, weights_.output.cols(), rows, weights_.output.cols(),
                       weights_.output.takes_quantized_rows(), buffers.quantized);
  multiply(context, weights_.output, attended, y, config_.embedding);
}

void Attention::project(const StepContext& context, const float* x, const Buffers& buffers) const {
  const bool quantize = weights_.q.takes_quantized_rows() || weights_.k.takes_quantized_rows() ||
                        weights_.v.takes_quantized_rows();
  const auto input = make_activations(context, x, config_.embedding, context.rows(), config_.embedding,
                                      quantize, buffers.quantized);
  multiply(context, weights_.q, input, buffers.projected, weights_.q.rows());
  multiply(context, weights_.k, input, buffers.k, weights_.k.rows());
  multiply(context, weights_.v, input, buffers.v, weights_.v.rows());
  if (config_.gated) split_gates(context, buffers);
  if (!config_.rope && !config_.head_norms) return;
  place_heads(context, buffers.q, config_.heads, weights_.q_norm);
  place_heads(context, buffers.k, config_.kv_heads, weights_.k_norm);
}

void Attention::split_gates(const StepContext& context, const Buffers& buffers) const {
  const size_t n = config_.head_dim_k;
  context.pool.run(context.rows() * config_.heads, 32, [&](size_t begin, size_t end, int) {
    for (size_t head = begin; head < end; ++head) {
      std::memcpy(buffers.q + head * n, buffers.projected + 2 * head * n, n * sizeof(float));
      std::memcpy(buffers.gates + head * n, buffers.projected + (2 * head + 1) * n, n * sizeof(float));
    }
  });
}

// Norm and rotation of query or key heads [rows, head_count, head_dim_k].
void Attention::place_heads(const StepContext& context, float* heads, size_t head_count,
                            const std::vector<float>& norm) const {
  const size_t n = config_.head_dim_k;
  const size_t pairs = rope_.dimensions / 2;
  const size_t norm_stride = norm.size() > n ? n : 0;
  context.pool.run(context.rows(), 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* first = heads + row * head_count * n;
      for (size_t head = 0; config_.head_norms && head < head_count; ++head) {
        context.kernels.rms_norm(first + head * n, norm.data() + head * norm_stride, n, config_.norm_epsilon,
                                 first + head * n);
      }
      if (!config_.rope) continue;
      const RopeTable& table = context.ropes[*config_.rope];
      context.kernels.rope(first, head_count, n, rope_.dimensions, rope_.style, table.cos + row * pairs,
                           table.sin + row * pairs);
    }
  });
}

void Attention::apply_gates(const StepContext& context, const Buffers& buffers) const {
  const size_t n = weights_.output.cols();
  context.pool.run(context.rows(), 8, [&](size_t begin, size_t end, int) {
    const size_t count = (end - begin) * n;
    context.kernels.sigmoid(buffers.gates + begin * n, count, buffers.gates + begin * n);
    context.kernels.mul(buffers.attended + begin * n, buffers.gates + begin * n, count,
                        buffers.attended + begin * n);
  });
}

}  // namespace oxbow::model
