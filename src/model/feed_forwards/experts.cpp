#include "model/feed_forwards/experts.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace oxbow::model {

// An assignment is one (token, rank); assignments sorted by expert are "slots".
struct Experts::Buffers {
  float* probabilities;  // [rows, experts]
  uint32_t* chosen;      // [rows, used], best first
  float* weights;        // [rows, used]
  uint32_t* first_slot;  // [experts + 1]
  uint32_t* busy;        // [1 + experts]: how many experts have slots, then which, ascending
  uint32_t* slot;        // [rows, used]: slot of an assignment
  uint32_t* token;       // [rows * used]: token of a slot
  float* latent;         // [rows, latent]
  float* latent_sum;     // [rows, latent]
  float* gathered;       // [rows * used, expert_inputs()]
  float* gate;           // [rows * used, width]
  float* up;
  float* outputs;                     // [rows * used, expert_inputs()]
  kernels::QuantizedRows token_rows;  // [rows, max(embedding, latent)]
  kernels::QuantizedRows quantized;   // [rows * used, max(expert_inputs(), width)]
};

size_t Experts::weight_bytes() const {
  return weights_.router.size_bytes() + weights_.gate.size_bytes() + weights_.up.size_bytes() +
         weights_.down.size_bytes() + weights_.latent_down.size_bytes() + weights_.latent_up.size_bytes();
}

Experts::Buffers Experts::carve(Carver& carver, size_t rows) const {
  const size_t slots = rows * config_.used;
  Buffers buffers;
  buffers.probabilities = carver.floats(rows * config_.experts);
  buffers.chosen = carver.take<uint32_t>(slots);
  buffers.weights = carver.floats(slots);
  buffers.first_slot = carver.take<uint32_t>(config_.experts + 1);
  buffers.busy = carver.take<uint32_t>(config_.experts + 1);
  buffers.slot = carver.take<uint32_t>(slots);
  buffers.token = carver.take<uint32_t>(slots);
  buffers.latent = carver.floats(rows * config_.latent);
  buffers.latent_sum = carver.floats(rows * config_.latent);
  buffers.gathered = carver.floats(slots * config_.expert_inputs());
  buffers.gate = carver.floats(slots * weights_.gate.rows());
  buffers.up = carver.floats(slots * weights_.up.rows());
  buffers.outputs = carver.floats(slots * config_.expert_inputs());
  buffers.token_rows = carver.quantized(rows, std::max(config_.embedding, config_.latent));
  buffers.quantized = carver.quantized(slots, std::max(config_.expert_inputs(), weights_.up.rows()));
  return buffers;
}

size_t Experts::scratch_bytes(size_t rows, int) const {
  Carver carver;
  carve(carver, rows);
  return carver.used_bytes();
}

void Experts::run(const StepContext& context, size_t, const float* x, float* y) const {
  const size_t rows = context.rows();
  const size_t embedding = config_.embedding;
  const size_t latent = config_.latent;
  Carver carver(context.scratch);
  const Buffers buffers = carve(carver, rows);
  bool quantize = weights_.router.takes_quantized_rows();
  if (latent > 0) quantize |= weights_.latent_down.takes_quantized_rows();
  const auto input = make_activations(context, x, embedding, rows, embedding, quantize, buffers.token_rows);
  multiply(context, weights_.router, input, buffers.probabilities, config_.experts);
  route(context, rows, buffers);
  group(rows, buffers);
  if (latent == 0) return run_chosen(context, x, buffers, y);

  multiply(context, weights_.latent_down, input, buffers.latent, latent);
  run_chosen(context, buffers.latent, buffers, buffers.latent_sum);
  const auto sum = make_activations(context, buffers.latent_sum, latent, rows, latent,
                                    weights_.latent_up.takes_quantized_rows(), buffers.token_rows);
  multiply(context, weights_.latent_up, sum, y, embedding);
}

void Experts::run_chosen(const StepContext& context, const float* x, const Buffers& buffers, float* y) const {
  const size_t rows = context.rows();
  const size_t slots = rows * config_.used;
  const size_t inputs = config_.expert_inputs();
  const size_t width = weights_.up.rows();
  gather(context, rows, x, buffers);
  bool quantize = weights_.up.takes_quantized_rows();
  if (has_gate(config_.activation)) quantize |= weights_.gate.takes_quantized_rows();
  const auto grouped =
      make_activations(context, buffers.gathered, inputs, slots, inputs, quantize, buffers.quantized);
  if (has_gate(config_.activation)) multiply_grouped(context, weights_.gate, grouped, buffers, buffers.gate);
  multiply_grouped(context, weights_.up, grouped, buffers, buffers.up);
  activate(context, config_.activation, buffers.gate, buffers.up, slots, width);
  const auto hidden = make_activations(context, buffers.up, width, slots, width,
                                       weights_.down.takes_quantized_rows(), buffers.quantized);
  multiply_grouped(context, weights_.down, hidden, buffers, buffers.outputs);
  context.pool.run(rows, 4, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* sum = y + row * inputs;
      std::memset(sum, 0, inputs * sizeof(float));
      for (size_t rank = 0; rank < config_.used; ++rank) {
        const size_t assignment = row * config_.used + rank;
        context.kernels.add_scaled(buffers.outputs + buffers.slot[assignment] * inputs,
                                   buffers.weights[assignment], inputs, sum);
      }
    }
  });
}

void Experts::route(const StepContext& context, size_t rows, const Buffers& buffers) const {
  context.pool.run(rows, 8, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      float* p = buffers.probabilities + row * config_.experts;
      config_.sigmoid ? context.kernels.sigmoid(p, config_.experts, p)
                      : context.kernels.softmax(p, config_.experts);
      choose(p, buffers.chosen + row * config_.used, buffers.weights + row * config_.used);
    }
  });
}

void Experts::choose(const float* p, uint32_t* chosen, float* weights) const {
  const std::vector<float>& bias = weights_.selection_bias;
  float sum = 0.0f;
  for (size_t rank = 0; rank < config_.used; ++rank) {
    // Weights that are not numbers lose every comparison; the experts are then 0, 0, ...
    size_t best = 0;
    float best_score = -std::numeric_limits<float>::infinity();
    for (size_t e = 0; e < config_.experts; ++e) {
      const float score = bias.empty() ? p[e] : p[e] + bias[e];
      const bool taken = std::find(chosen, chosen + rank, e) != chosen + rank;
      if (!taken && score > best_score) {
        best = e;
        best_score = score;
      }
    }
    chosen[rank] = static_cast<uint32_t>(best);
    weights[rank] = p[best];
    sum += p[best];
  }
  if (config_.renormalize) {
    sum = std::max(sum, 6.103515625e-5f);  // the smallest normal binary16, as the published models clamp it
    for (size_t rank = 0; rank < config_.used; ++rank) weights[rank] /= sum;
  }
  for (size_t rank = 0; rank < config_.used; ++rank) weights[rank] *= config_.weight_scale;
}

// Counting sort of the assignments by expert.
void Experts::group(size_t rows, const Buffers& buffers) const {
  const size_t slots = rows * config_.used;
  uint32_t* first = buffers.first_slot;
  std::fill(first, first + config_.experts + 1, 0U);
  for (size_t i = 0; i < slots; ++i) ++first[buffers.chosen[i] + 1];
  for (size_t e = 0; e < config_.experts; ++e) first[e + 1] += first[e];
  for (size_t i = 0; i < slots; ++i) {
    const uint32_t slot = first[buffers.chosen[i]]++;
    buffers.slot[i] = slot;
    buffers.token[slot] = static_cast<uint32_t>(i / config_.used);
  }
  // first[e] is now the end of expert e, that is the start of e + 1.
  for (size_t e = config_.experts; e > 0; --e) first[e] = first[e - 1];
  first[0] = 0;
  buffers.busy[0] = 0;
  for (size_t e = 0; e < config_.experts; ++e) {
    if (first[e + 1] > first[e]) buffers.busy[++buffers.busy[0]] = static_cast<uint32_t>(e);
  }
}

void Experts::gather(const StepContext& context, size_t rows, const float* x, const Buffers& buffers) const {
  const size_t inputs = config_.expert_inputs();
  context.pool.run(rows * config_.used, 8, [&](size_t begin, size_t end, int) {
    for (size_t slot = begin; slot < end; ++slot) {
      std::memcpy(buffers.gathered + slot * inputs, x + buffers.token[slot] * inputs, inputs * sizeof(float));
    }
  });
}

void Experts::multiply_grouped(const StepContext& context, const Matrix& w, const kernels::Activations& x,
                               const Buffers& buffers, float* y) const {
  constexpr size_t kPanelsPerTask = 16;  // a task packs its activations once: fewer panels, and that shows
  const size_t tasks_per_expert = ceil_div(w.view().panel_count(), kPanelsPerTask);
  context.pool.run(buffers.busy[0] * tasks_per_expert, 1, [&](size_t begin, size_t end, int) {
    for (size_t task = begin; task < end; ++task) {
      const size_t expert = buffers.busy[1 + task / tasks_per_expert];
      const size_t first = buffers.first_slot[expert];
      const size_t count = buffers.first_slot[expert + 1] - first;
      const kernels::PanelMatrix matrix = w.view(expert);
      const size_t panel = task % tasks_per_expert * kPanelsPerTask;
      context.kernels.matmul(matrix, rows_of(x, first, count), panel,
                             std::min(panel + kPanelsPerTask, matrix.panel_count()), y + first * w.rows(),
                             w.rows());
    }
  });
}

}  // namespace oxbow::model
