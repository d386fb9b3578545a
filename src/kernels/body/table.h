#pragma once
// The kernel table of one instruction set. Included by isa/NAME.cpp and nowhere else.

#include "kernels/body/attend.h"
#include "kernels/body/conv.h"
#include "kernels/body/delta_rule.h"
#include "kernels/body/elementwise.h"
#include "kernels/body/general_delta_rule.h"
#include "kernels/body/kv_store.h"
#include "kernels/body/mamba1_scan.h"
#include "kernels/body/mamba2_scan.h"
#include "kernels/body/norm.h"
#include "kernels/body/rope.h"
#include "kernels/isa/tables.h"

namespace oxbow::kernels::OXBOW_ISA {

constinit const KernelTable kTable = {
    .name = OXBOW_ISA_NAME,
    .quantize_rows = quantize_rows_entry,
    .matmul = matmul_entry,
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .add_scaled = add_scaled,
    .scale = scale,
    .silu_mul = silu_mul,
    .gelu_mul = gelu_mul,
    .relu_squared = relu_squared,
    .sigmoid = sigmoid,
    .tanh = tanh,
    .exp_scaled = exp_scaled,
    .mul = multiply,
    .lerp = lerp,
    .dot = dot,
    .l2_norm = l2_norm,
    .gate_norm = gate_norm,
    .softplus = softplus,
    .softmax = softmax,
    .rope = rope,
    .conv = conv,
    .mamba2_scan = mamba2_scan,
    .mamba1_scan = mamba1_scan,
    .delta_rule = delta_rule,
    .general_delta_rule = general_delta_rule,
    .store_key = store_key,
    .store_value = store_value,
    .attend = attend,
};

}  // namespace oxbow::kernels::OXBOW_ISA
