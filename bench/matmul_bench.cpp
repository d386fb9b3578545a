// The matrix product per weight type: few tokens with the weights in DRAM (GB/s of weights, share of the read
// bandwidth) and tiles of tokens with the weights in cache (GOP/s, share of the peak of the dot-product
// instruction). Peaks are measured in the same
// process; all rates are per CPU second, so that a shared machine disturbs them less. OXBOW_ISA picks a lower
// kernel table.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/aligned_buffer.h"
#include "base/cpu.h"
#include "kernels/kernels.h"
#include "quant/half.h"

namespace oxbow::kernels {
namespace {

using gguf::TensorType;

constexpr size_t kCols = 2048;
constexpr size_t kRows = 2048;
constexpr size_t kStreamBytes = size_t{192} << 20;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename F>
double best_seconds(int repeats, F run) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = cpu_seconds();
    run();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

#if defined(__x86_64__)
constexpr size_t kPeakSteps = 20000;

__attribute__((target("avx512f,avx512vnni"))) void dot_products_vnni() {
  __m512i sums[12];
#pragma GCC unroll 12
  for (int j = 0; j < 12; ++j) sums[j] = _mm512_setzero_si512();
  const __m512i w = _mm512_set1_epi8(1);
  const __m512i x = _mm512_set1_epi8(2);
  for (size_t i = 0; i < kPeakSteps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) {
      sums[j] = _mm512_dpbusd_epi32(sums[j], w, x);
      asm volatile("" : "+v"(sums[j]));
    }
  }
}

__attribute__((target("avx512f"))) void fused_sums() {
  __m512 sums[12];
#pragma GCC unroll 12
  for (int j = 0; j < 12; ++j) sums[j] = _mm512_setzero_ps();
  const __m512 w = _mm512_set1_ps(1);
  for (size_t i = 0; i < kPeakSteps; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) {
      sums[j] = _mm512_fmadd_ps(w, w, sums[j]);
      asm volatile("" : "+v"(sums[j]));
    }
  }
}
#endif

// Operations (a multiply and an add are two) per second; 0 where there is no such instruction.
double dot_peak() {
#if defined(__x86_64__)
  static const double peak =
      cpu_features().avx512_vnni ? kPeakSteps * 12 * 128 / best_seconds(200, dot_products_vnni) : 0;
  return peak;
#else
  return 0;
#endif
}

double float_peak() {
#if defined(__x86_64__)
  static const double peak =
      cpu_features().avx512_vnni ? kPeakSteps * 12 * 32 / best_seconds(200, fused_sums) : 0;
  return peak;
#else
  return 0;
#endif
}

double read_bandwidth(const std::byte* data, size_t size) {
  const auto sum = [&] {
    uint64_t sums[8] = {};
    for (size_t i = 0; i + 64 <= size; i += 64) {
      uint64_t words[8];
      std::memcpy(words, data + i, 64);
      for (int j = 0; j < 8; ++j) sums[j] += words[j];
    }
    for (uint64_t s : sums) benchmark::DoNotOptimize(s);
  };
  return static_cast<double>(size) / best_seconds(5, sum);
}

// `rows` rows whose panels are copies of one random panel.
struct Matrix {
  AlignedBuffer bytes;
  PanelMatrix view;
};

Matrix random_matrix(TensorType type, size_t rows) {
  std::mt19937 random(1);
  const gguf::TensorTypeInfo& info = gguf::tensor_type_info(type);
  const size_t row_bytes = *gguf::tensor_bytes(type, kCols);
  std::vector<std::byte> source(16 * row_bytes);
  for (std::byte& b : source) b = static_cast<std::byte>(random() & 0x3b);  // no infinities
  // Nor subnormal scales, which processors multiply slowly and no model has.
  for (size_t i = 0; type == TensorType::kMXFP4 && i < source.size(); i += 17) source[i] = std::byte{120};
  Matrix m;
  m.view = {panel_format(type), rows, kCols, panel_bytes(panel_format(type), kCols), nullptr};
  m.bytes = AlignedBuffer(m.view.panel_count() * m.view.panel_stride);
  pack_panel(type, source.data(), row_bytes, 16, kCols, m.bytes.data());
  for (size_t p = 1; p < m.view.panel_count(); ++p) {
    std::memcpy(m.bytes.data() + p * m.view.panel_stride, m.bytes.data(), m.view.panel_stride);
  }
  m.view.panels = m.bytes.data();
  benchmark::DoNotOptimize(info);
  return m;
}

struct Tokens {
  std::vector<float> values;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  Activations view;

  explicit Tokens(size_t count)
      : values(count * kCols), codes(count * kCols), scales(count * kCols / 32), sums(count * kCols / 16) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (float& v : values) v = normal(random);
    view.values = values.data();
    view.stride = kCols;
    view.quantized = {codes.data(), scales.data(), sums.data(), kCols, kCols / 32};
    view.rows = count;
    kernels().quantize_rows(values.data(), kCols, count, kCols, view.quantized);
  }
};

void matmul_tokens(benchmark::State& state, TensorType type, size_t tokens) {
  const Matrix w = random_matrix(type, kRows);
  const Tokens x(tokens);
  std::vector<float> y(tokens * kRows);
  for (auto _ : state) {
    kernels().matmul(w.view, x.view, 0, w.view.panel_count(), y.data(), kRows);
    benchmark::ClobberMemory();
  }
  const double operations = 2.0 * kRows * kCols * static_cast<double>(tokens * state.iterations());
  const double peak = takes_quantized_rows(w.view.format) ? dot_peak() : float_peak();
  state.counters["op/s"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
  if (peak > 0)
    state.counters["of_peak"] = benchmark::Counter(operations / peak, benchmark::Counter::kIsRate);
}

// Weights from memory: as many panels as do not fit any cache.
void matmul_stream(benchmark::State& state, TensorType type, size_t tokens) {
  const size_t panels = kStreamBytes / panel_bytes(panel_format(type), kCols);
  const Matrix w = random_matrix(type, panels * kPanelRows);
  const Tokens x(tokens);
  std::vector<float> y(tokens * w.view.rows);
  const double bandwidth = read_bandwidth(w.bytes.data(), w.bytes.size());
  for (auto _ : state) {
    kernels().matmul(w.view, x.view, 0, panels, y.data(), w.view.rows);
    benchmark::ClobberMemory();
  }
  const double bytes = static_cast<double>(w.bytes.size() * state.iterations());
  state.counters["B/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsRate);
  state.counters["of_read"] = benchmark::Counter(bytes / bandwidth, benchmark::Counter::kIsRate);
}

void quantize(benchmark::State& state) {
  const Tokens x(64);
  for (auto _ : state) {
    kernels().quantize_rows(x.view.values, kCols, 64, kCols, x.view.quantized);
    benchmark::ClobberMemory();
  }
  state.counters["values/s"] =
      benchmark::Counter(64.0 * kCols * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(quantize);

void pack(benchmark::State& state, TensorType type) {
  const size_t row_bytes = *gguf::tensor_bytes(type, kCols);
  std::vector<std::byte> source(16 * row_bytes);
  AlignedBuffer panel(panel_bytes(panel_format(type), kCols));
  for (auto _ : state) {
    pack_panel(type, source.data(), row_bytes, 16, kCols, panel.data());
    benchmark::ClobberMemory();
  }
  state.counters["weights/s"] =
      benchmark::Counter(16.0 * kCols * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

const bool registered = [] {
  for (TensorType type : {TensorType::kQ4_K, TensorType::kQ6_K, TensorType::kQ8_0, TensorType::kQ5_K,
                          TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ5_1,
                          TensorType::kQ3_K, TensorType::kQ2_K, TensorType::kIQ4_NL, TensorType::kIQ4_XS,
                          TensorType::kMXFP4, TensorType::kF16, TensorType::kBF16, TensorType::kF32}) {
    const std::string name(gguf::tensor_type_info(type).name);
    for (size_t tokens : {1, 4, 8, 9, 16}) {
      benchmark::RegisterBenchmark(("stream/" + name + "/" + std::to_string(tokens)).c_str(), matmul_stream,
                                   type, tokens);
    }
    for (size_t tokens : {1, 2, 4, 8, 9, 12, 16, 24, 32, 64, 512}) {
      benchmark::RegisterBenchmark(("matmul/" + name + "/" + std::to_string(tokens)).c_str(), matmul_tokens,
                                   type, tokens);
    }
    benchmark::RegisterBenchmark(("pack/" + name).c_str(), pack, type);
  }
  return true;
}();

}  // namespace
}  // namespace oxbow::kernels
