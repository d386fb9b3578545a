#include "cli/roofline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/peaks.h"

namespace oxbow::cli {
namespace {

constexpr size_t kReadBytes = size_t{256} << 20;  // more than caches hold
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kDotSteps = 1 << 13;
constexpr size_t kDotPieces = 64;  // at least; shared out as threads become free
constexpr int kRounds = 5;
constexpr uint64_t kShortestRow = 8;  // of a matrix; convolutions have shorter ones

template <typename F>
double best_seconds(F run) {
  double best = INFINITY;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

bool is_expert(std::string_view name) {
  return name.find("_exps.") != std::string_view::npos;
}

}  // namespace

Result<Peaks> measure_peaks(int threads) {
  Peaks peaks;
  ThreadPool pool(threads);
  const size_t pieces = std::max(kDotPieces, static_cast<size_t>(threads) * 4);
  std::atomic<uint64_t> operations{0};
  const double dot_seconds = best_seconds([&] {
    operations = 0;
    pool.run(pieces, 1, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) operations += kernels::run_dot_products(kDotSteps);
    });
  });
  peaks.dot_ops = static_cast<double>(operations) / dot_seconds;

  AlignedBuffer buffer = AlignedBuffer::try_allocate(kReadBytes);
  if (buffer.empty()) {
    return fail(ErrorKind::kOutOfBudget, "the system has no {} bytes to measure the read bandwidth with",
                kReadBytes);
  }
  std::fill_n(buffer.data(), buffer.size(), std::byte{1});  // pages that exist
  std::atomic<uint64_t> sum{0};
  const double read_seconds = best_seconds([&] {
    pool.run(kReadBytes / kPieceBytes, 1, [&](size_t begin, size_t end, int) {
      sum += kernels::read_all(
          std::span<const std::byte>(buffer.data() + begin * kPieceBytes, (end - begin) * kPieceBytes));
    });
  });
  peaks.read_bytes = static_cast<double>(kReadBytes) / read_seconds;
  return peaks;
}

ModelWork::ModelWork(const model::Model& model, const memory::MemoryLayout& layout) {
  const gguf::File& file = model.file();
  const bool has_head = file.find_tensor("output.weight") != nullptr;
  const std::string_view head = has_head ? "output.weight" : "token_embd.weight";
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (tensor.shape[0] < kShortestRow || tensor.elements == tensor.shape[0]) continue;
    const double weights = static_cast<double>(tensor.elements);
    if (tensor.name == head) {
      output_weights_ += weights;
    } else if (is_expert(tensor.name)) {
      expert_weights_ += weights;
    } else if (tensor.name != "token_embd.weight") {
      layer_weights_ += weights;
    }
  }
  const double all = layer_weights_ + expert_weights_ + output_weights_;
  bytes_per_weight_ = all > 0 ? static_cast<double>(model.weight_bytes()) / all : 0;
  const auto count = [&](const char* key) {
    const auto value = file.find_uint(fmt::format("{}.{}", model.architecture(), key));
    return value && *value ? static_cast<double>(**value) : 0.0;
  };
  if (const double experts = count("expert_count"); experts > 0) {
    expert_share_ = std::min(1.0, count("expert_used_count") / experts);
  }
  state_bytes_ = static_cast<double>(layout.state_bytes());
  kv_bytes_ = static_cast<double>(layout.kv_bytes_per_token());
}

void ModelWork::add_step(Totals& totals, double tokens, double outputs, double sequences, double held) const {
  const double experts_met = 1.0 - std::pow(1.0 - expert_share_, tokens);
  const double head = outputs > 0 ? output_weights_ : 0;
  totals.bytes += bytes_per_weight_ * (layer_weights_ + experts_met * expert_weights_ + head);
  totals.bytes += sequences * (2 * state_bytes_ + kv_bytes_ * held);
  totals.ops += 2 * (tokens * (layer_weights_ + expert_share_ * expert_weights_) + outputs * output_weights_);
}

void ModelWork::add_prompt(Totals& totals, double tokens, double depth, size_t batch) const {
  for (double done = 0; done < tokens;) {
    const double count = std::min(static_cast<double>(batch), tokens - done);
    done += count;
    add_step(totals, count, done < tokens ? 0 : 1, 1, depth + done);
  }
}

ModelWork::PerToken ModelWork::of(const BenchTest& test, size_t batch) const {
  Totals totals;
  const double sequences = static_cast<double>(test.parallel);
  const double depth = static_cast<double>(test.depth);
  for (size_t i = 0; i < test.parallel; ++i) {
    add_prompt(totals, static_cast<double>(test.prompt), depth, batch);
  }
  for (size_t n = 0; n < test.generate; ++n) {
    add_step(totals, sequences, sequences, sequences, depth + static_cast<double>(test.prompt + n + 1));
  }
  for (size_t n = 0; test.draft > 0 && n < kDraftSteps; ++n) {
    const double tokens = static_cast<double>(test.draft);
    add_step(totals, tokens, tokens, 1, depth + static_cast<double>(n + 1) * tokens);
  }
  const double tokens = static_cast<double>(test.tokens());
  return {totals.bytes / tokens, totals.ops / tokens};
}

}  // namespace oxbow::cli
