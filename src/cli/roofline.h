#pragma once
// What a test must read and multiply, and what this machine can read and multiply: the roofline model
// (Williams et al. 2009).

#include <cstddef>

#include "base/status.h"
#include "cli/bench_plan.h"
#include "memory/layout.h"
#include "model/model.h"

namespace oxbow::cli {

// Measured with as many threads as the tests use.
struct Peaks {
  double read_bytes = 0;  // a second, of memory that no cache holds
  double dot_ops = 0;     // a second, of the kernels' 8-bit dot products; a multiply and an add are two
};
// A second or less. kOutOfBudget when there is no memory to read.
Result<Peaks> measure_peaks(int threads);

// A model's matrices, counted from its file: its weights, and what share of the bytes lies in experts.
class ModelWork {
 public:
  ModelWork(const model::Model& model, const memory::MemoryLayout& layout);

  struct PerToken {
    double bytes = 0;  // weights as often as steps read them, states read and written, keys and values
    double ops = 0;    // of the matrix products
  };
  // Averages over the tokens of a test. Experts are taken as chosen at random.
  PerToken of(const BenchTest& test, size_t batch) const;

 private:
  struct Totals {
    double bytes = 0;
    double ops = 0;
  };
  void add_prompt(Totals& totals, double tokens, double depth, size_t batch) const;
  // One step of `tokens` tokens of `sequences` sequences that hold `held` tokens each.
  void add_step(Totals& totals, double tokens, double outputs, double sequences, double held) const;

  double layer_weights_ = 0;   // of matrices that every token meets, the output head not among them
  double expert_weights_ = 0;  // of all experts
  double output_weights_ = 0;
  double expert_share_ = 0;  // of an expert: chosen for a token
  double bytes_per_weight_ = 0;
  double state_bytes_ = 0;
  double kv_bytes_ = 0;  // a token
};

}  // namespace oxbow::cli
