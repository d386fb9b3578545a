#pragma once
// The kernel table of one instruction set. Included by isa/NAME.cpp and nowhere else.

#include "kernels/isa/tables.h"
#include "kernels/simd/f32x16.h"

#include "kernels/body/attend.h"
#include "kernels/body/conv.h"
#include "kernels/body/elementwise.h"
#include "kernels/body/kv_store.h"
#include "kernels/body/mamba2_scan.h"
#include "kernels/body/norm.h"
#include "kernels/body/rope.h"

#if __has_include("kernels/body/matmul.h")
#define OXBOW_ENTRY(name) name
#else
#define OXBOW_ENTRY(name) nullptr
#endif

namespace oxbow::kernels::OXBOW_ISA {

constinit const KernelTable kTable = {
    .name = OXBOW_ISA_NAME,
    .quantize_rows = OXBOW_ENTRY(quantize_rows_entry),
    .matmul = OXBOW_ENTRY(matmul_entry),
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
