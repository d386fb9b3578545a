// Float kernels on every table of this machine: attention, scan, row kernels, beside two yardsticks of the
// same run, the peak of fused multiply-adds and the read bandwidth of one thread. Rates count processor time.

#include <benchmark/benchmark.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/cpu.h"
#include "kernels/kernels.h"

namespace oxbow::kernels {
namespace {

using benchmark::Counter;

void set_rate(benchmark::State& state, const char* name, double per_iteration) {
  state.counters[name] = Counter(per_iteration, Counter::kIsIterationInvariantRate);
}

std::vector<float> ramp(size_t n, float low, float high) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = low + (high - low) * static_cast<float>((i * 7919) % 1009) / 1009.0f;
  return values;
}

// ---- yardsticks
// -------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
// 24 independent chains hide the latency. The empty asm statements keep the loop from being folded.
__attribute__((target("avx512f"))) float multiply_add_chains(int rounds) {
  __m512 sum[24];
  for (auto& s : sum) s = _mm512_set1_ps(1.0f);
  __m512 a = _mm512_set1_ps(0.999f);
  for (int i = 0; i < rounds; ++i) {
    asm volatile("" : "+v"(a));
#pragma GCC unroll 24
    for (int k = 0; k < 24; ++k) sum[k] = _mm512_fmadd_ps(sum[k], a, a);
  }
  for (int k = 1; k < 24; ++k) sum[0] = _mm512_add_ps(sum[0], sum[k]);
  return _mm512_cvtss_f32(sum[0]);
}

void fma_peak(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(multiply_add_chains(1000));
  set_rate(state, "FLOP/s", 1000.0 * 24 * 32);
}
#endif

void read_bandwidth(benchmark::State& state) {
  static const std::vector<uint64_t> words(size_t{64} << 20);
  for (auto _ : state) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i < words.size(); i += 32) {
      a += words[i] + words[i + 4], b += words[i + 8] + words[i + 12];
      c += words[i + 16] + words[i + 20], d += words[i + 24] + words[i + 28];
    }
    benchmark::DoNotOptimize(a + b + c + d);
  }
  set_rate(state, "bytes/s", static_cast<double>(words.size() * 8));
}

// ---- attention
// --------------------------------------------------------------------------------------------------

struct AttendCase {
  size_t head_dim;
  size_t query_heads;
  size_t tokens;
  size_t positions;
  size_t kv_heads;  // visited in turn, so that decoding streams from memory
  KvType type;
};

void attend(benchmark::State& state, const KernelTable& table, const AttendCase& c) {
  const size_t block_bytes = c.head_dim * kKeyBlock * (c.type == KvType::kF32 ? 4 : 2);
  const size_t blocks = (c.positions + kKeyBlock - 1) / kKeyBlock;
  const size_t page_bytes = 2 * block_bytes * c.kv_heads;
  AlignedBuffer storage(blocks * page_bytes);
  std::vector<const std::byte*> pages;
  for (size_t i = 0; i < blocks; ++i) pages.push_back(storage.data() + i * page_bytes);
  const std::vector<float> row = ramp(c.head_dim, -1, 1);
  for (size_t i = 0; i < c.positions; ++i) {
    for (size_t h = 0; h < c.kv_heads; ++h) {
      std::byte* block = storage.data() + i / kKeyBlock * page_bytes + 2 * h * block_bytes;
      table.store_key(row.data(), c.head_dim, i % kKeyBlock, c.type, block);
      table.store_value(row.data(), c.head_dim, i % kKeyBlock, c.type, block + block_bytes);
    }
  }
  const std::vector<float> q = ramp(c.tokens * c.query_heads * c.head_dim, -1, 1);
  std::vector<float> out(q.size()), scratch(attend_scratch_floats(c.head_dim, c.head_dim, c.query_heads));
  AttendArgs args;
  args.head_dim_k = args.head_dim_v = c.head_dim;
  args.query_heads = c.query_heads;
  args.scale = 0.125f;
  args.k_type = args.v_type = c.type;
  args.pages = pages.data();
  args.tokens = c.tokens;
  args.first_position = c.positions - c.tokens;
  args.q = q.data();
  args.out = out.data();
  args.q_stride = args.out_stride = c.query_heads * c.head_dim;
  args.scratch = scratch.data();
  for (auto _ : state) {
    for (size_t h = 0; h < c.kv_heads; ++h) {
      args.k_offset = 2 * h * block_bytes;
      args.v_offset = args.k_offset + block_bytes;
      table.attend(args);
    }
  }
  const double rows = static_cast<double>(c.kv_heads * c.tokens * c.query_heads);
  set_rate(state, "FLOP/s", rows * 4.0 * static_cast<double>(c.head_dim * (c.positions - c.tokens / 2)));
  set_rate(state, "bytes/s", static_cast<double>(storage.size()));
}

// ---- recurrences and rows
// ---------------------------------------------------------------------------------------

void scan(benchmark::State& state, const KernelTable& table, size_t tokens, size_t heads) {
  constexpr size_t kHeadDim = 64, kStateSize = 128;
  std::vector<float> states(heads * mamba2_state_floats(kHeadDim, kStateSize));
  const std::vector<float> x = ramp(tokens * kHeadDim, -1, 1), bc = ramp(tokens * 2 * kStateSize, -1, 1);
  const std::vector<float> dt = ramp(tokens, 0.01f, 0.1f);
  std::vector<float> y(tokens * kHeadDim);
  Mamba2ScanArgs args;
  args.tokens = tokens;
  args.head_dim = kHeadDim;
  args.state_size = kStateSize;
  args.a = -1.0f;
  args.d = 1.0f;
  args.dt = dt.data();
  args.dt_stride = 1;
  args.x = x.data();
  args.x_stride = args.y_stride = kHeadDim;
  args.b = bc.data();
  args.c = bc.data() + kStateSize;
  args.bc_stride = 2 * kStateSize;
  args.y = y.data();
  for (auto _ : state) {
    for (size_t h = 0; h < heads; ++h) {
      args.state = states.data() + h * mamba2_state_floats(kHeadDim, kStateSize);
      table.mamba2_scan(args);
    }
  }
  set_rate(state, "FLOP/s", static_cast<double>(heads * tokens * kHeadDim * kStateSize * 5));
  set_rate(state, "state bytes/s", static_cast<double>(2 * states.size() * 4));
}

void silu_row(benchmark::State& state, const KernelTable& table) {
  const std::vector<float> gate = ramp(4096, -5, 5), up = ramp(4096, -1, 1);
  std::vector<float> y(4096);
  for (auto _ : state) table.silu_mul(gate.data(), up.data(), y.size(), y.data());
  set_rate(state, "elements/s", 4096);
}

void softmax_row(benchmark::State& state, const KernelTable& table) {
  const std::vector<float> x = ramp(4096, -5, 5);
  std::vector<float> y(4096);
  for (auto _ : state) {
    std::memcpy(y.data(), x.data(), 4096 * 4);
    table.softmax(y.data(), y.size());
  }
  set_rate(state, "elements/s", 4096);
}

void norm_row(benchmark::State& state, const KernelTable& table) {
  const std::vector<float> x = ramp(4096, -5, 5), w = ramp(4096, -1, 1);
  std::vector<float> y(4096);
  for (auto _ : state) table.rms_norm(x.data(), w.data(), y.size(), 1e-5f, y.data());
  set_rate(state, "elements/s", 4096);
}

void register_attention(const KernelTable* table) {
  constexpr KvType kF16 = KvType::kF16, kF32 = KvType::kF32;
  const struct {
    const char* name;
    AttendCase value;
  } cases[] = {
      {"prefill_d64_h4_f16", {64, 4, 16, 2048, 1, kF16}},
      {"prefill_d128_h4_f16", {128, 4, 16, 2048, 1, kF16}},
      {"prefill_d128_h1_f16", {128, 1, 16, 2048, 1, kF16}},
      {"prefill_d128_h4_f32", {128, 4, 16, 2048, 1, kF32}},
      {"decode_d128_h1_f16", {128, 1, 1, 4096, 32, kF16}},
      {"decode_d128_h4_f16", {128, 4, 1, 4096, 32, kF16}},
      {"decode_d128_h8_f16", {128, 8, 1, 4096, 32, kF16}},
      {"decode_d64_h4_f16", {64, 4, 1, 4096, 64, kF16}},
      {"decode_d64_h12_f16", {64, 12, 1, 4096, 64, kF16}},
      {"decode_d128_h4_f32", {128, 4, 1, 4096, 32, kF32}},
  };
  for (const auto& c : cases) {
    benchmark::RegisterBenchmark((std::string(table->name) + "/attend_" + c.name).c_str(),
                                 [table, value = c.value](benchmark::State& s) { attend(s, *table, value); });
  }
}

int register_all() {
#if defined(__x86_64__)
  if (cpu_features().avx512_vnni) benchmark::RegisterBenchmark("fma_peak_avx512", fma_peak);
#endif
  benchmark::RegisterBenchmark("read_bandwidth", read_bandwidth);
  for (const KernelTable* table : available_kernels()) {
    const std::string name(table->name);
    register_attention(table);
    const auto add = [&](const char* what, auto run) {
      benchmark::RegisterBenchmark((name + "/" + what).c_str(),
                                   [table, run](benchmark::State& s) { run(s, *table); });
    };
    add("scan_prefill", [](auto& s, const KernelTable& t) { scan(s, t, 512, 8); });
    add("scan_decode", [](auto& s, const KernelTable& t) { scan(s, t, 1, 48 * 64); });
    add("silu_mul", silu_row);
    add("softmax", softmax_row);
    add("rms_norm", norm_row);
  }
  return 0;
}

const int registered = register_all();

}  // namespace
}  // namespace oxbow::kernels
