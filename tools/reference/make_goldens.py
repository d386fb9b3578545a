#!/usr/bin/python3
"""Writes the models and logits of tests/golden. Deterministic: the same files each time.

    make_goldens.py [DIR]        writes all (default: tests/golden of this checkout)
    make_goldens.py --check      compares what it would write with what is stored
"""
import json
import os
import sys
import tempfile

import numpy as np

from forward import forward
from gguf_file import read_gguf
from make_gguf import make

GOLDEN = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden"))
TOKENS = 40

V = dict(n_vocab=512, d_conv=4)
TINY = dict(n_vocab=272, d_conv=4, n_embd=32)
SMALL_Q = dict(V, n_embd=256, n_layer=2, attn_layers=[1], n_head=4, n_kv=1, d_inner=256, ssm_heads=8, ssm_groups=1,
               d_state=32, tied=True, attention_scale=0.125, embedding_scale=12.0, residual_scale=0.5, logit_scale=6.0)

# name -> (what it covers, family, parameters, weights)
MODELS = {
    "granitehybrid-dense": (
        "Mamba-2 with 2 groups, attention without rope, dense feed-forward, all four multipliers, tied head",
        "granitehybrid", dict(V, n_embd=64, n_layer=3, attn_layers=[1], n_head=4, n_kv=2, n_ff=64, d_inner=128, ssm_heads=8,
                              ssm_groups=2, d_state=16, tied=True, attention_scale=0.2, embedding_scale=12.0,
                              residual_scale=0.5, logit_scale=6.0), "F32"),
    "granitehybrid-moe": (
        "8 experts (3 used) and a shared expert, 1 KV head, state size 24",
        "granitehybrid", dict(V, n_embd=48, n_layer=2, attn_layers=[1], n_head=4, n_kv=1, n_ff=24, n_ff_sh=40, n_expert=8,
                              n_used=3, d_inner=96, ssm_heads=4, ssm_groups=1, d_state=24, tied=True, attention_scale=0.25,
                              embedding_scale=12.0, residual_scale=0.4, logit_scale=3.0), "F32"),
    "granitehybrid-bamba": (
        "what a Bamba model becomes: rope on half of the head, no multipliers, separate head, inner size not twice the width",
        "granitehybrid", dict(V, n_embd=48, n_layer=2, attn_layers=[1], n_head=2, n_kv=1, n_rot=12, rope=True, n_ff=72,
                              d_inner=80, ssm_heads=10, ssm_groups=2, d_state=20), "F32"),
    "granitehybrid-recurrent": (
        "no attention layer at all, multipliers stored as 0 (neutral)",
        "granitehybrid", dict(V, n_embd=48, n_layer=2, attn_layers=[], n_head=4, n_kv=1, n_ff=64, d_inner=96, ssm_heads=6,
                              ssm_groups=1, d_state=32, tied=True, attention_scale=0.0, embedding_scale=0.0,
                              residual_scale=0.0, logit_scale=0.0), "F32"),
    "mamba2": (
        "Mamba-2 alone, 2 groups, tied head",
        "mamba2", dict(V, n_embd=48, n_layer=3, d_inner=96, ssm_heads=8, ssm_groups=2, d_state=16, tied=True), "F32"),
    "llama": (
        "attention alone, rope, 2 query heads per KV head",
        "llama", dict(V, n_embd=64, n_layer=2, n_head=4, n_kv=2, n_ff=96, tied=True), "F32"),
    "granitehybrid-Q8_0": (
        "width 128, weights Q8_0", "granitehybrid",
        dict(SMALL_Q, n_embd=128, n_ff=96, attention_scale=0.18), "Q8_0"),
    "granitehybrid-Q4_K_M": (
        "width 256, the usual Q4_K_M mix (Q4_K, Q6_K, F32)", "granitehybrid", dict(SMALL_Q, n_ff=256), "Q4_K_M"),
    "granitehybrid-MIX": (
        "width 256, one tensor each of F16, BF16, Q2_K to Q6_K, Q4_0 to Q5_1, Q8_0",
        "granitehybrid", dict(SMALL_Q, n_ff=256), "MIX"),
    "mamba": (
        "Mamba-1 alone, weightless norms on dt, B and C",
        "mamba", dict(TINY, n_layer=2, d_inner=64, d_state=16, dt_rank=4, dt_b_c_rms=True), "F32"),
    "jamba": (
        "Mamba-1 with norms, attention without rope, experts on every other layer (weights not renormalised)",
        "jamba", dict(TINY, n_layer=3, attn_layers=[1], moe_layers=[1], n_head=4, n_kv=2, n_ff=40, n_expert=4, n_used=2,
                      d_inner=64, d_state=16, dt_rank=4, tied=True), "F32"),
    "falcon-h1": (
        "attention and Mamba-2 side by side with grouped norm, head size not width / heads, inner size 1.5 times the width",
        "falcon-h1", dict(TINY, n_layer=2, n_head=2, n_kv=1, head_dim=24, n_ff=48, d_inner=48, ssm_heads=6, ssm_groups=2,
                          d_state=16, ssm_norm=True, tied=True), "F32"),
    "nemotron_h_moe": (
        "layers that are one thing each: Mamba-2, experts (sigmoid router, bias, scale, squared relu), attention",
        "nemotron_h_moe", dict(TINY, pattern="ME*E", n_layer=4, n_head=4, n_kv=2, head_dim=16, n_ff=20, n_ff_sh=32,
                               n_expert=8, n_used=3, d_inner=48, ssm_heads=6, ssm_groups=2, d_state=16), "F32"),
    "lfm2moe": (
        "short convolution, attention with head norms and rope, experts after one dense layer",
        "lfm2moe", dict(TINY, n_layer=3, attn_layers=[1], n_head=4, n_kv=2, n_ff=48, n_ff_exp=16, n_expert=8, n_used=3,
                        dense_lead=1, l_cache=3, tied=True), "F32"),
    "qwen35moe": (
        "gated delta net (value head j, key head j modulo), gated attention, partial rope, gated shared expert",
        "qwen35moe", dict(TINY, n_layer=2, interval=2, n_head=2, n_kv=1, head_dim=32, n_rot=16, sections=[3, 3, 2, 0], n_ff=48,
                          n_ff_exp=16, n_ff_sh=24, n_expert=4, n_used=2, d_inner=64, ssm_heads=4, ssm_groups=2, d_state=16,
                          recurrent_key=False, tied=True), "F32"),
    "qwen3next": (
        "gated delta net with interleaved head repeat and one projection for beta and alpha",
        "qwen3next", dict(TINY, n_layer=2, interval=2, n_head=2, n_kv=1, head_dim=32, n_rot=8, n_ff=48, n_ff_exp=16, n_ff_sh=24,
                          n_expert=4, n_used=2, d_inner=64, ssm_heads=4, ssm_groups=2, d_state=16, tied=True), "F32"),
    "gemma3": (
        "sliding window of 12 on 5 of 6 layers, two rope bases, linear rope scaling on the global layer, head norms",
        "gemma3", dict(TINY, n_layer=6, n_head=2, n_kv=1, head_dim=16, n_ff=32, window=12, tied=True, rope_factor=8.0), "F32"),
    "plamo2": (
        "a recurrent layer first, Mamba with norms and shared decays per head, attention with a norm per head, post norms",
        "plamo2", dict(TINY, n_layer=3, attn_layers=[1], n_head=2, n_kv=1, head_dim=24, n_ff=40, d_inner=48, ssm_heads=3,
                       ssm_groups=0, d_state=12, tied=True), "F32"),
    "kimi-linear": (
        "Kimi delta attention (decay per key channel), latent attention, experts after one dense layer",
        "kimi-linear", dict(TINY, n_layer=3, attn_layers=[1], n_head=3, kda_dim=20, kv_lora=24, n_rot=8, qk_nope=12, v_dim=20,
                            n_ff=40, n_ff_exp=16, n_expert=4, n_used=2, dense_lead=1), "F32"),
    "kimi-linear-Q8_0": (
        "the same with all widths multiples of 32, weights Q8_0",
        "kimi-linear", dict(TINY, n_layer=2, attn_layers=[1], n_head=2, kda_dim=32, kv_lora=32, n_rot=32, qk_nope=32, v_dim=32,
                            n_ff=64, n_ff_exp=32, n_expert=4, n_used=2, dense_lead=1), "Q8_0"),
    "rwkv7": (
        "RWKV-7: token shift, decay per key channel, values of the first layer mixed into the others, channel mixing",
        "rwkv7", dict(TINY, n_embd=48, n_layer=3, head_size=24, n_ff=80, r_w=6, r_a=10, r_v=5, r_g=12), "F32"),
    "plamo2-Q8_0": (
        "all widths multiples of 32, weights Q8_0",
        "plamo2", dict(TINY, n_embd=64, n_layer=2, attn_layers=[1], n_head=2, n_kv=1, head_dim=32, n_ff=64, d_inner=64, ssm_heads=2,
                       ssm_groups=0, d_state=16, tied=True), "Q8_0"),
    "rwkv7-Q8_0": (
        "weights Q8_0, low-rank projections F32",
        "rwkv7", dict(TINY, n_layer=2, head_size=16, n_ff=64, r_w=8, r_a=8, r_v=8, r_g=8), "Q8_0"),
    "nemotron_h_moe-latent": (
        "experts on a latent width that the router does not see",
        "nemotron_h_moe", dict(TINY, pattern="ME*", n_layer=3, n_head=2, n_kv=1, head_dim=16, n_ff=20, n_ff_sh=24,
                               n_expert=4, n_used=2, latent=12, d_inner=32, ssm_heads=4, ssm_groups=1, d_state=16, tied=True),
        "F32"),
}


def token_ids(name, count, n_vocab):
    """A fixed scramble of the vocabulary, another one for each model."""
    index = list(MODELS).index(name) + 1
    return [(97 * index + 211 * i + 13 * i * i) % n_vocab for i in range(count)]


def write(directory, name):
    covers, family, parameters, quant = MODELS[name]
    path = os.path.join(directory, name + ".gguf")
    make(family, name, path, quant, parameters)
    tokens = token_ids(name, TOKENS, parameters["n_vocab"])
    logits = forward(path, np.array(tokens)).astype("<f4")
    np.save(os.path.join(directory, name + ".npy"), logits, allow_pickle=False)
    # How much a lost state would show: the last row when only the first token is another.
    other = forward(path, np.array([(tokens[0] + 1) % parameters["n_vocab"]] + tokens[1:]))[-1]
    info = {
        "covers": covers, "family": family, "weights": quant, "tokens": tokens, "shape": list(logits.shape),
        "argmax": [int(t) for t in logits.argmax(1)], "logits_std": round(float(logits.std()), 4),
        "first_token_changed_rms_in_last_row": float("%.3g" % np.sqrt(((other - logits[-1]) ** 2).mean())),
    }
    lines = ",\n".join(" %s: %s" % (json.dumps(k), json.dumps(v)) for k, v in info.items())
    with open(os.path.join(directory, name + ".json"), "w") as f:
        f.write("{\n" + lines + "\n}\n")


def differences(name, fresh, stored):
    """What differs between two written versions of a model. Other CPUs may round the last bit of exp or log differently, so
    numbers are compared to within 1e-5 of their size (weights) and 1e-4 (logits); everything else must be equal."""
    old, new = (os.path.join(d, name) for d in (stored, fresh))
    old_keys, old_weights = read_gguf(old + ".gguf")
    new_keys, new_weights = read_gguf(new + ".gguf")
    found = []
    if old_keys != new_keys:
        found.append("keys")
    if list(old_weights) != list(new_weights):
        found.append("tensor names")
    else:
        found += [t for t in old_weights if old_weights[t].shape != new_weights[t].shape
                  or not np.allclose(old_weights[t], new_weights[t], rtol=1e-5, atol=0)]
    a, b = np.load(old + ".npy"), np.load(new + ".npy")
    if a.shape != b.shape or np.abs(a - b).max() > 1e-4:
        found.append("logits")
    with open(old + ".json") as f, open(new + ".json") as g:
        if json.load(f)["tokens"] != json.load(g)["tokens"]:
            found.append("tokens")
    return found


def check():
    """Writes all models again and reports which differ from the stored ones; 0 when none does."""
    with tempfile.TemporaryDirectory() as fresh:
        bad = 0
        for name in MODELS:
            write(fresh, name)
            found = differences(name, fresh, GOLDEN)
            if found:
                bad += 1
                print("%s: differs in %s" % (name, ", ".join(found)))
        print("%d of %d models as stored" % (len(MODELS) - bad, len(MODELS)))
        return 1 if bad else 0


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    directory = sys.argv[1] if len(sys.argv) > 1 else GOLDEN
    os.makedirs(directory, exist_ok=True)
    for name in MODELS:
        write(directory, name)
        print("%-26s %8d bytes" % (name, sum(os.path.getsize(os.path.join(directory, name + e)) for e in (".gguf", ".json", ".npy"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
