#pragma once
// The kernel table of one instruction set. Included by isa/NAME.cpp and nowhere else.

#include "kernels/isa/tables.h"
#include "kernels/simd/f32x16.h"

#if __has_include("kernels/body/quantize.h")
#include "kernels/body/quantize.h"
#define OXBOW_QUANTIZE_ROWS quantize_rows
#else
#define OXBOW_QUANTIZE_ROWS nullptr
#endif
#if __has_include("kernels/body/matmul.h")
#include "kernels/body/matmul.h"
#define OXBOW_MATMUL matmul
#else
#define OXBOW_MATMUL nullptr
#endif
#include "kernels/body/attend.h"
#include "kernels/body/conv.h"
#include "kernels/body/elementwise.h"
#include "kernels/body/mamba2_scan.h"
#include "kernels/body/norm.h"
#include "kernels/body/rope.h"

namespace oxbow::kernels::OXBOW_ISA {

constinit const KernelTable kTable = {
    .name = OXBOW_ISA_NAME,
    .quantize_rows = OXBOW_QUANTIZE_ROWS,
    .matmul = OXBOW_MATMUL,
    .rms_norm = rms_norm,
    .add_scaled = add_scaled,
    .scale = scale,
    .silu_mul = silu_mul,
    .gate_norm = gate_norm,
    .softplus = softplus,
    .softmax = softmax,
    .rope = rope,
    .conv = conv,
    .mamba2_scan = mamba2_scan,
    .store_key = store_key,
    .store_value = store_value,
    .attend = attend,
};

}  // namespace oxbow::kernels::OXBOW_ISA
