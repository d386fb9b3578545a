// The forward pass: embed; for each layer norm, mixers, residual, feed-forwards; head -> logits.

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "model/model.h"
#include "quant/blocks.h"

namespace oxbow::model {

struct Model::Buffers {
  float* x;                     // [rows, embedding]
  float* normed;                // [rows, embedding]
  float* y;                     // [rows, embedding]
  float* carried;               // [rows, carried_floats]
  RopeTable* ropes;             // one per configuration
  kernels::QuantizedRows head;  // [outputs, embedding]
};

Model::Buffers Model::carve(Carver& carver, size_t rows, size_t outputs) const {
  Buffers buffers;
  buffers.x = carver.floats(rows * network_.embedding);
  buffers.normed = carver.floats(std::max(rows, outputs) * network_.embedding);
  buffers.y = carver.floats(rows * network_.embedding);
  buffers.carried = carver.floats(rows * network_.carried_floats);
  buffers.ropes = carver.take<RopeTable>(ropes_.size());
  for (size_t i = 0; i < ropes_.size(); ++i) {
    const float* cos = carver.floats(rows * ropes_[i].pairs());
    const float* sin = carver.floats(rows * ropes_[i].pairs());
    if (buffers.ropes != nullptr) buffers.ropes[i] = {cos, sin};
  }
  buffers.head = carver.quantized(outputs, network_.embedding);
  return buffers;
}

size_t Model::scratch_bytes(size_t max_rows, size_t max_outputs, int threads) const {
  Carver carver;
  carve(carver, max_rows, max_outputs);
  size_t part_bytes = 0;
  for (const Layer& layer : network_.layers) {
    for (const auto& mixer : layer.mixers)
      part_bytes = std::max(part_bytes, mixer->scratch_bytes(max_rows, threads));
    for (const auto& feed_forward : layer.feed_forwards) {
      part_bytes = std::max(part_bytes, feed_forward->scratch_bytes(max_rows, threads));
    }
  }
  return carver.used_bytes() + part_bytes;
}

// The next state spec of each kind: parts run in the order in which they declared them.
struct NextSpec {
  size_t kv = 0;
  size_t recurrent = 0;
  size_t take(const memory::StateSpec& spec) { return spec.recurrent() != nullptr ? recurrent++ : kv++; }
};

void Model::forward(const memory::StepViews& views, std::span<const TokenId> tokens,
                    std::span<const size_t> output_rows, ThreadPool& pool, std::span<std::byte> scratch,
                    float* logits) const {
  const size_t rows = views.rows;
  const size_t embedding = network_.embedding;
  OXBOW_CHECK(tokens.size() == rows &&
              scratch.size() >= scratch_bytes(rows, output_rows.size(), pool.size()));
  Carver carver(scratch.data());
  const Buffers buffers = carve(carver, rows, output_rows.size());
  const StepContext context{kernels::kernels(), pool,           views, {buffers.ropes, ropes_.size()},
                            carver.rest(),      buffers.carried};
  for (size_t i = 0; i < ropes_.size(); ++i) {
    ropes_[i].fill(views.spans, const_cast<float*>(buffers.ropes[i].cos),
                   const_cast<float*>(buffers.ropes[i].sin));
  }

  embed(context, tokens, buffers.x);
  if (!network_.embedding_norm.empty()) norm(context, buffers.x, network_.embedding_norm, rows, buffers.x);
  NextSpec next;
  for (const Layer& layer : network_.layers) run_layer(context, layer, next, buffers);

  if (output_rows.empty()) return;
  for (size_t i = 0; i < output_rows.size(); ++i) {
    std::memcpy(buffers.normed + i * embedding, buffers.x + output_rows[i] * embedding,
                embedding * sizeof(float));
  }
  norm(context, buffers.normed, network_.output_norm, output_rows.size(), buffers.normed);
  const auto head = make_activations(context, buffers.normed, embedding, output_rows.size(), embedding,
                                     network_.output.takes_quantized_rows(), buffers.head);
  multiply(context, network_.output, head, logits, network_.vocabulary);
  if (network_.logit_scale != 1.0f) {
    context.pool.run(output_rows.size(), 1, [&](size_t begin, size_t end, int) {
      float* first = logits + begin * network_.vocabulary;
      context.kernels.scale(first, 1.0f / network_.logit_scale, (end - begin) * network_.vocabulary, first);
    });
  }
}

void Model::run_layer(const StepContext& context, const Layer& layer, NextSpec& next,
                      const Buffers& buffers) const {
  const size_t rows = context.rows();
  if (!layer.mixers.empty()) norm(context, buffers.x, layer.mixer_norm, rows, buffers.normed);
  for (const auto& mixer : layer.mixers) {
    mixer->run(context, next.take(mixer->state_spec()), buffers.normed, buffers.y);
    if (!layer.mixer_post_norm.empty()) norm(context, buffers.y, layer.mixer_post_norm, rows, buffers.y);
    add_residual(context, buffers.y, buffers.x);
  }
  if (!layer.feed_forwards.empty()) norm(context, buffers.x, layer.feed_forward_norm, rows, buffers.normed);
  for (const auto& feed_forward : layer.feed_forwards) {
    const auto spec = feed_forward->state_spec();
    feed_forward->run(context, spec ? next.take(*spec) : 0, buffers.normed, buffers.y);
    if (!layer.feed_forward_post_norm.empty()) {
      norm(context, buffers.y, layer.feed_forward_post_norm, rows, buffers.y);
    }
    add_residual(context, buffers.y, buffers.x);
  }
}

void Model::embed(const StepContext& context, std::span<const TokenId> tokens, float* x) const {
  const gguf::Tensor& table = *network_.token_embedding;
  const size_t row_bytes = table.data.size() / network_.vocabulary;
  context.pool.run(tokens.size(), 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      const auto token = static_cast<size_t>(tokens[row]);
      OXBOW_CHECK(token < network_.vocabulary);
      float* out = x + row * network_.embedding;
      quant::decode(table.type, table.data.subspan(token * row_bytes, row_bytes), {out, network_.embedding});
      if (network_.embedding_scale != 1.0f) {
        context.kernels.scale(out, network_.embedding_scale, network_.embedding, out);
      }
    }
  });
}

void Model::norm(const StepContext& context, const float* x, const Norm& weights, size_t rows,
                 float* y) const {
  const size_t n = network_.embedding;
  context.pool.run(rows, 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      if (weights.bias.empty()) {
        context.kernels.rms_norm(x + row * n, weights.scale.data(), n, network_.norm_epsilon, y + row * n);
      } else {
        context.kernels.layer_norm(x + row * n, weights.scale.data(), weights.bias.data(), n,
                                   network_.norm_epsilon, y + row * n);
      }
    }
  });
}

void Model::add_residual(const StepContext& context, const float* y, float* x) const {
  const size_t n = network_.embedding;
  context.pool.run(context.rows(), 8, [&](size_t begin, size_t end, int) {
    context.kernels.add_scaled(y + begin * n, network_.residual_scale, (end - begin) * n, x + begin * n);
  });
}

}  // namespace oxbow::model
