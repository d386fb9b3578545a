#pragma once
// The kernel table: all arithmetic of a step, one set of bodies compiled per instruction set.
//
// Invariants
//  1. Bits: each output element is computed by one fixed sequence of operations, whatever the number of rows
//  or tokens in the call and
//     whichever table runs it: tables differ in speed only. Vectors are 16 floats wide everywhere (one
//     AVX-512 register, two AVX2 registers, or an array), every reduction is a fixed tree over those 16
//     lanes, every fused multiply-add is written as one.
//  2. Kernels allocate nothing, start no threads and touch only what their arguments name.
//  3. Pointers need the alignment of their element type only.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/kv_type.h"
#include "kernels/panel.h"

namespace oxbow::kernels {

// Part of the numeric settings: raised whenever any result of a kernel changes for some input (order of a
// sum, a polynomial, rounding of activations), so that what was stored before is recomputed, not mixed with
// new bits. New kernels and formats leave it as it is.
inline constexpr uint32_t kNumericsVersion = 1;

// ---- matrix product
// ---------------------------------------------------------------------------------------------

// Rows of 8-bit codes: value = scale * code, one scale per 32 values, scale = max|x| / 127, nearest even
// codes.
struct QuantizedRows {
  int8_t* codes = nullptr;  // [rows, code_stride]
  float* scales = nullptr;  // [rows, block_stride]
  int32_t* sums = nullptr;  // [rows, 2 * block_stride]: sum of codes of each 16 values
  size_t code_stride = 0;   // bytes from row to row, >= cols rounded up to 32
  size_t block_stride = 0;  // blocks of 32 from row to row
};

// The right-hand side of y = W x for several tokens. `values` serves float panels, `quantized` the others.
struct Activations {
  const float* values = nullptr;  // [rows, stride]
  size_t stride = 0;
  QuantizedRows quantized;
  size_t rows = 0;
};

// ---- attention
// --------------------------------------------------------------------------------------------------

// One K/V head inside a block of 64 positions: K is stored [head_dim_k, 64] (a key is a column, so that keys
// are lanes), V is stored [64, head_dim_v].
struct AttendArgs {
  size_t head_dim_k = 0;
  size_t head_dim_v = 0;
  size_t query_heads = 0;  // query heads that share this K/V head
  float scale = 1.0f;
  KvType k_type = KvType::kF32;
  KvType v_type = KvType::kF32;
  size_t window = 0;                        // keys at a distance >= window are not seen; 0: all are
  const std::byte* const* pages = nullptr;  // pages[i] holds positions [64 i, 64 i + 64)
  size_t k_offset = 0;                      // of this layer and head inside a page, bytes
  size_t v_offset = 0;
  size_t tokens = 0;          // consecutive positions of one sequence, at most kAttendTokens
  size_t first_position = 0;  // of the first token; token t sees keys [0, first_position + t]
  const float* q = nullptr;   // token t, head h: q + t * q_stride + h * head_dim_k
  size_t q_stride = 0;
  float* out = nullptr;  // token t, head h: out + t * out_stride + h * head_dim_v
  size_t out_stride = 0;
  float* scratch = nullptr;  // attend_scratch_floats()
};
inline constexpr size_t kAttendTokens = 16;
size_t attend_scratch_floats(size_t head_dim_k, size_t head_dim_v, size_t query_heads);

enum class RopeStyle : uint8_t { kNorm, kNeox };

// ---- recurrences
// ------------------------------------------------------------------------------------------------

// Mamba-2 (Dao & Gu 2024), one head of head_dim p and state size s over consecutive tokens:
//   S = exp(dt * a) * S + dt * x (outer) b;   y = S c + d * x
// state: lane blocks [ceil(p / 16), s, 16], channel 16 i + j of the head in lane j of block i; unused lanes
// stay 0.
struct Mamba2ScanArgs {
  size_t tokens = 0;
  size_t head_dim = 0;
  size_t state_size = 0;
  float a = 0.0f;  // negative
  float d = 0.0f;
  const float* dt = nullptr;  // after softplus; token t: dt[t * dt_stride]
  size_t dt_stride = 0;
  const float* x =
      nullptr;  // token t: x + t * x_stride, head_dim values; b and c likewise, state_size values
  size_t x_stride = 0;
  const float* b = nullptr;
  const float* c = nullptr;
  size_t bc_stride = 0;
  float* state = nullptr;
  float* y = nullptr;  // token t: y + t * y_stride, head_dim values; null: only the state is advanced
  size_t y_stride = 0;
};
constexpr size_t mamba2_state_floats(size_t head_dim, size_t state_size) {
  return (head_dim + 15) / 16 * 16 * state_size;
}

// Mamba-1 (Gu & Dao 2023), consecutive channels over consecutive tokens; each channel has its own row of s
// states:
//   S[n] = exp(dt * a[n]) * S[n] + dt * x * b[n];   y = sum_n c[n] S[n] + d * x
// a and state: lane blocks [ceil(channels / 16), s, 16] as in mamba2_scan; unused lanes stay 0.
struct Mamba1ScanArgs {
  size_t tokens = 0;
  size_t channels = 0;
  size_t state_size = 0;
  const float* a = nullptr;   // negative
  const float* d = nullptr;   // [channels]
  const float* dt = nullptr;  // after softplus; token t: dt + t * dt_stride, `channels` values; x likewise
  size_t dt_stride = 0;
  const float* x = nullptr;
  size_t x_stride = 0;
  const float* b = nullptr;  // token t: b + t * bc_stride, state_size values; c likewise (not read without y)
  const float* c = nullptr;
  size_t bc_stride = 0;
  float* state = nullptr;
  float* y = nullptr;  // token t: y + t * y_stride; null: only the state is advanced
  size_t y_stride = 0;
};

// Gated delta rule (Yang et al. 2024), one head over consecutive tokens; S is [key_dim, value_dim]:
//   S = exp(dt * a) * S;   u = beta * (v - S^T k);   S = S + k (outer) u;   y = scale * S^T q
// state: lane blocks [ceil(value_dim / 16), key_dim, 16], values are lanes; unused lanes stay 0.
struct DeltaRuleArgs {
  size_t tokens = 0;
  size_t key_dim = 0;
  size_t value_dim = 0;
  float a = 0.0f;  // negative
  float scale = 1.0f;
  const float* dt = nullptr;    // token t: dt[t * gate_stride]
  const float* beta = nullptr;  // likewise
  size_t gate_stride = 0;
  const float* q =
      nullptr;  // token t: q + t * qkv_stride, key_dim values (not read without y); k and v likewise
  const float* k = nullptr;
  const float* v = nullptr;  // value_dim values
  size_t qkv_stride = 0;
  float* state = nullptr;
  float* y = nullptr;  // token t: y + t * y_stride, value_dim values; null: only the state is advanced
  size_t y_stride = 0;
};

// Delta rule with a decay per key and with what is unlearned apart from what is stored (Peng et al. 2025),
// one head over consecutive tokens; S is [key_dim, value_dim]:
//   z = S^T a;   S = diag(w) S - b (outer) z + k (outer) v;   y = scale * S^T q
// state: lane blocks as in delta_rule.
struct GeneralDeltaRuleArgs {
  size_t tokens = 0;
  size_t key_dim = 0;
  size_t value_dim = 0;
  float scale = 1.0f;
  const float* w = nullptr;  // token t: w + t * key_stride, key_dim values; a, b, k likewise
  const float* a = nullptr;
  const float* b = nullptr;
  const float* k = nullptr;
  size_t key_stride = 0;
  const float* q = nullptr;  // token t: q + t * q_stride, key_dim values (not read without y)
  size_t q_stride = 0;
  const float* v = nullptr;  // token t: v + t * v_stride, value_dim values
  size_t v_stride = 0;
  float* state = nullptr;
  float* y = nullptr;  // token t: y + t * y_stride, value_dim values; null: only the state is advanced
  size_t y_stride = 0;
};

// Floats of a state of `lanes` channels (values) with `rows` entries each, in lane blocks.
constexpr size_t lane_block_floats(size_t lanes, size_t rows) {
  return (lanes + 15) / 16 * 16 * rows;
}

// ---- the table
// --------------------------------------------------------------------------------------------------

struct KernelTable {
  std::string_view name;  // "portable", "avx2", "avx512"

  // rows x cols values, `stride` floats apart -> codes, scales, sums. cols is a multiple of 32.
  void (*quantize_rows)(const float* values, size_t stride, size_t rows, size_t cols,
                        const QuantizedRows& out);
  // y[t * y_stride + r] = sum over the columns of W[r] * x[t], for the rows of panels [panel_begin,
  // panel_end) that exist and all rows of x. Blocks of columns are added in ascending order.
  void (*matmul)(const PanelMatrix& w, const Activations& x, size_t panel_begin, size_t panel_end, float* y,
                 size_t y_stride);

  // y = x / sqrt(mean(x^2) + eps) * w; w may be null. y may be x.
  void (*rms_norm)(const float* x, const float* w, size_t n, float eps, float* y);
  // y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * w + b. y may be x.
  void (*layer_norm)(const float* x, const float* w, const float* b, size_t n, float eps, float* y);
  // y += a * x
  void (*add_scaled)(const float* x, float a, size_t n, float* y);
  // y = a * x; y may be x.
  void (*scale)(const float* x, float a, size_t n, float* y);
  // y = silu(gate) * up; y may be either.
  void (*silu_mul)(const float* gate, const float* up, size_t n, float* y);
  // y = gelu(gate) * up with the tanh form of GELU (Hendrycks & Gimpel 2016); y may be either.
  void (*gelu_mul)(const float* gate, const float* up, size_t n, float* y);
  // y = max(x, 0)^2; y may be x.
  void (*relu_squared)(const float* x, size_t n, float* y);
  // y = 1 / (1 + exp(-x)); y may be x.
  void (*sigmoid)(const float* x, size_t n, float* y);
  // y = tanh(x); y may be x.
  void (*tanh)(const float* x, size_t n, float* y);
  // y = exp(a * x); y may be x.
  void (*exp_scaled)(const float* x, float a, size_t n, float* y);
  // y = a * b; y may be either.
  void (*mul)(const float* a, const float* b, size_t n, float* y);
  // y = a + (b - a) * m; y may be any of them.
  void (*lerp)(const float* a, const float* b, const float* m, size_t n, float* y);
  // sum(a * b)
  float (*dot)(const float* a, const float* b, size_t n);
  // y = x / sqrt(sum(x^2) + eps); y may be x.
  void (*l2_norm)(const float* x, size_t n, float eps, float* y);
  // y = x * silu(z), then, when w is not null, RMS norm over the whole of n with weights w.
  void (*gate_norm)(const float* x, const float* z, const float* w, size_t n, float eps, float* y);
  // y = softplus(x + bias), softplus(v) = v for v > 20. bias may be null.
  void (*softplus)(const float* x, const float* bias, size_t n, float* y);
  // x = exp(x - max(x)) / sum, in place.
  void (*softmax)(float* x, size_t n);
  // Rotates the first n_rot values of each of `heads` heads, head_dim apart, by the angles of one position.
  // cos, sin: [n_rot / 2]. kNorm pairs (2j, 2j+1), kNeox pairs (j, j + n_rot/2).
  void (*rope)(float* x, size_t heads, size_t head_dim, size_t n_rot, RopeStyle style, const float* cos,
               const float* sin);

  // y[c] = act(bias[c] + sum_i weights[i, c] * taps[i][c]), taps oldest first, added in ascending i starting
  // from the bias (or 0); act is SiLU when silu is set.
  void (*conv)(const float* const* taps, const float* weights, const float* bias, size_t tap_count,
               size_t channels, bool silu, float* y);
  void (*mamba2_scan)(const Mamba2ScanArgs& args);
  void (*mamba1_scan)(const Mamba1ScanArgs& args);
  void (*delta_rule)(const DeltaRuleArgs& args);
  void (*general_delta_rule)(const GeneralDeltaRuleArgs& args);

  // Writes one token's key (value) of one head into column (row) `slot` of a block, rounded to the stored
  // type.
  void (*store_key)(const float* k, size_t head_dim, size_t slot, KvType type, std::byte* block);
  void (*store_value)(const float* v, size_t head_dim, size_t slot, KvType type, std::byte* block);
  // Softmax attention of up to kAttendTokens tokens over one K/V head; online softmax over key blocks in
  // ascending order (Milakov & Gimelshein 2018).
  void (*attend)(const AttendArgs& args);
};

// The best table this processor runs, unless OXBOW_ISA or use_kernels names a lower one. Chosen once.
const KernelTable& kernels();

// All tables that this processor can run, lowest first ("portable" always exists).
std::span<const KernelTable* const> available_kernels();

// Makes kernels() return the named table; false when it is unknown or cannot run here. Call before any step.
bool use_kernels(std::string_view name);

}  // namespace oxbow::kernels
