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
  float* kernel;     // [threads, kernel_floats]
  size_t kernel_floats;
};

Attention::Attention(const AttentionConfig& config, AttentionWeights weights,
                     const std::vector<RopeConfig>& ropes)
    : config_(config), weights_(std::move(weights)) {
  if (config.rope) rope_ = ropes[*config.rope];
}

memory::StateSpec Attention::state_spec() const {
  return {0, memory::KvSpec{config_.kv_heads, config_.head_dim_k, config_.head_dim_v, config_.window_tokens}};
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
  buffers.kernel_floats = align_up(kernels::attend_scratch_floats(config_.head_dim_k, config_.head_dim_v,
                                                                  config_.heads / config_.kv_heads),
                                   16);
  buffers.kernel = carver.floats(buffers.kernel_floats * static_cast<size_t>(threads));
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
  store(context, view, buffers);
  attend(context, view, buffers);
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
  context.pool.run(context.rows(), 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* first = heads + row * head_count * n;
      for (size_t head = 0; config_.head_norms && head < head_count; ++head) {
        context.kernels.rms_norm(first + head * n, norm.data(), n, config_.norm_epsilon, first + head * n);
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

void Attention::store(const StepContext& context, const memory::AttentionView& view,
                      const Buffers& buffers) const {
  const size_t heads = config_.kv_heads;
  context.pool.run(view.sequences.size() * heads, 1, [&](size_t begin, size_t end, int) {
    for (size_t task = begin; task < end; ++task) {
      const auto& sequence = view.sequences[task / heads];
      const size_t head = task % heads;
      for (size_t t = 0; t < sequence.span.tokens; ++t) {
        const size_t position = sequence.span.position + t;
        const size_t row = sequence.span.first_row + t;
        std::byte* page = sequence.pages[position / kernels::kKeyBlock];
        const size_t slot = position % kernels::kKeyBlock;
        context.kernels.store_key(buffers.k + row * weights_.k.rows() + head * config_.head_dim_k,
                                  config_.head_dim_k, slot, view.k_type,
                                  page + view.k_offset + head * view.k_head_bytes);
        context.kernels.store_value(buffers.v + row * weights_.v.rows() + head * config_.head_dim_v,
                                    config_.head_dim_v, slot, view.v_type,
                                    page + view.v_offset + head * view.v_head_bytes);
      }
    }
  });
}

void Attention::attend(const StepContext& context, const memory::AttentionView& view,
                       const Buffers& buffers) const {
  kernels::AttendArgs shape;
  shape.head_dim_k = config_.head_dim_k;
  shape.head_dim_v = config_.head_dim_v;
  shape.query_heads = config_.heads / config_.kv_heads;
  shape.scale = config_.scale;
  shape.k_type = view.k_type;
  shape.v_type = view.v_type;
  shape.window = config_.window_tokens;
  shape.q_stride = config_.heads * config_.head_dim_k;
  shape.out_stride = weights_.output.cols();
  for (const auto& sequence : view.sequences) {
    const size_t tiles = ceil_div(sequence.span.tokens, kernels::kAttendTokens);
    context.pool.run(tiles * config_.kv_heads, 1, [&](size_t begin, size_t end, int thread) {
      for (size_t task = begin; task < end; ++task) {
        // The last tiles see the most keys: they go first, so that threads end together.
        const size_t first = (tiles - 1 - task / config_.kv_heads) * kernels::kAttendTokens;
        const size_t head = task % config_.kv_heads;
        const size_t row = sequence.span.first_row + first;
        kernels::AttendArgs args = shape;
        args.pages = sequence.pages;
        args.k_offset = view.k_offset + head * view.k_head_bytes;
        args.v_offset = view.v_offset + head * view.v_head_bytes;
        args.tokens = std::min(kernels::kAttendTokens, sequence.span.tokens - first);
        args.first_position = sequence.span.position + first;
        args.q = buffers.q + row * shape.q_stride + head * shape.query_heads * config_.head_dim_k;
        args.out = buffers.attended + row * shape.out_stride + head * shape.query_heads * config_.head_dim_v;
        args.scratch = buffers.kernel + static_cast<size_t>(thread) * buffers.kernel_floats;
        context.kernels.attend(args);
      }
    });
  }
}

}  // namespace oxbow::model
