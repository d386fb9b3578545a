"""Writes a checkpoint as a GGUF file of the architecture "granitehybrid".

    export.py --work FOLDER --out FILE.gguf [--type Q8_0|F32] [--weights average|weights]
"""
import argparse
import pathlib

import numpy as np
import torch

import bpe
import gguf
from config import Config
from network import Network

CHAT_TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
                 "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

# Parameter of the network -> tensor of the file, inside a block.
BLOCK_NAMES = {
    "attn_norm.weight": "attn_norm.weight", "ffn_norm.weight": "ffn_norm.weight",
    "ffn.gate.weight": "ffn_gate.weight", "ffn.up.weight": "ffn_up.weight", "ffn.down.weight": "ffn_down.weight",
    "mixer.q.weight": "attn_q.weight", "mixer.k.weight": "attn_k.weight", "mixer.v.weight": "attn_v.weight",
    "mixer.output.weight": "attn_output.weight",
    "mixer.ssm_in.weight": "ssm_in.weight", "mixer.ssm_out.weight": "ssm_out.weight", "mixer.norm.weight": "ssm_norm.weight",
    "mixer.conv": "ssm_conv1d.weight", "mixer.conv_bias": "ssm_conv1d.bias", "mixer.dt_bias": "ssm_dt.bias",
    "mixer.a_log": "ssm_a", "mixer.d": "ssm_d",
}
KEPT_F32 = ("_norm.weight", "ssm_conv1d.weight")


def to_tensors(weights, cfg):
    """[(name, array)] of a network's state."""
    out = [("token_embd.weight", weights["embd"]), ("output_norm.weight", weights["output_norm.weight"])]
    for i in range(len(cfg.layers)):
        for ours, theirs in BLOCK_NAMES.items():
            value = weights.get(f"blk.{i}.{ours}")
            if value is None:
                continue
            if theirs == "ssm_a":
                value = -value.exp()                    # the file holds A itself, which is negative
            if theirs in ("ssm_a", "ssm_d"):
                value = value[:, None]                  # one column per head
            if theirs == "ssm_norm.weight":
                value = value[None]                     # one group
            out.append((f"blk.{i}.{theirs}", value))
    return [(name, value.numpy().astype(np.float32)) for name, value in out]


def from_tensors(tensors, cfg):
    """The state of a network that computes exactly what the file says; the inverse of to_tensors."""
    get = lambda name: torch.from_numpy(tensors[name].copy())
    weights = {"embd": get("token_embd.weight"), "output_norm.weight": get("output_norm.weight")}
    for i in range(len(cfg.layers)):
        for ours, theirs in BLOCK_NAMES.items():
            if f"blk.{i}.{theirs}" not in tensors:
                continue
            value = get(f"blk.{i}.{theirs}")
            if theirs == "ssm_a":
                value = (-value).log()
            weights[f"blk.{i}.{ours}"] = value.flatten() if theirs in ("ssm_a", "ssm_d", "ssm_norm.weight") else value
    return weights


def metadata(cfg, tokenizer, file_type, n_parameters):
    a, n = "granitehybrid", len(tokenizer.tokens)
    specials = range(n - len(bpe.SPECIALS), n)
    keys = [
        ("general.architecture", gguf.STRING, a), ("general.name", gguf.STRING, "oxbow-mini"),
        ("general.size_label", gguf.STRING, f"{n_parameters / 1e6:.1f}M"),
        ("general.description", gguf.STRING, "Small hybrid model (Mamba-2 and attention) for a first contact with Oxbow"),
        ("general.file_type", gguf.U32, file_type), ("general.quantization_version", gguf.U32, 2),
        (f"{a}.vocab_size", gguf.U32, n), (f"{a}.block_count", gguf.U32, len(cfg.layers)),
        (f"{a}.context_length", gguf.U32, cfg.context), (f"{a}.embedding_length", gguf.U32, cfg.n_embd),
        (f"{a}.feed_forward_length", gguf.U32, cfg.n_ff), (f"{a}.attention.head_count", gguf.U32, cfg.n_head),
        (f"{a}.attention.head_count_kv", gguf.I32, [cfg.n_head_kv if kind == "A" else 0 for kind in cfg.layers]),
        (f"{a}.attention.layer_norm_rms_epsilon", gguf.F32, cfg.eps), (f"{a}.rope.freq_base", gguf.F32, cfg.rope_base),
        (f"{a}.rope.dimension_count", gguf.U32, cfg.head_dim), (f"{a}.rope.scaling.finetuned", gguf.BOOL, True),
        (f"{a}.ssm.conv_kernel", gguf.U32, cfg.d_conv), (f"{a}.ssm.inner_size", gguf.U32, cfg.d_inner),
        (f"{a}.ssm.state_size", gguf.U32, cfg.d_state), (f"{a}.ssm.time_step_rank", gguf.U32, cfg.n_ssm_head),
        (f"{a}.ssm.group_count", gguf.U32, 1),
    ]
    return keys + [
        ("tokenizer.ggml.model", gguf.STRING, "gpt2"), ("tokenizer.ggml.pre", gguf.STRING, "gpt-2"),
        ("tokenizer.ggml.tokens", gguf.STRING, tokenizer.tokens),
        ("tokenizer.ggml.token_type", gguf.I32, [3 if i in specials else 1 for i in range(n)]),
        ("tokenizer.ggml.merges", gguf.STRING, [" ".join(m) for m in tokenizer.merges]),
        ("tokenizer.ggml.bos_token_id", gguf.U32, tokenizer.end_of_text),
        ("tokenizer.ggml.eos_token_id", gguf.U32, tokenizer.im_end),
        ("tokenizer.ggml.padding_token_id", gguf.U32, tokenizer.end_of_text),
        ("tokenizer.ggml.add_bos_token", gguf.BOOL, False),
        ("tokenizer.chat_template", gguf.STRING, CHAT_TEMPLATE),
    ]


def load(path):
    """(network, keys) of an exported file; the network computes in float32 with the file's rounded weights."""
    keys, tensors = gguf.read(path)
    cfg = Config()
    network = Network(cfg)
    network.load_state_dict(from_tensors(tensors, cfg))
    return network.eval(), keys


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--out", required=True)
    args.add_argument("--type", choices=("Q8_0", "F32"), default="Q8_0")
    args.add_argument("--weights", choices=("average", "weights"), default="average")
    args = args.parse_args()
    cfg, saved = Config(), torch.load(args.work / "checkpoint.pt")
    tensors = []
    for name, array in to_tensors(saved[args.weights], cfg):
        small = array.ndim < 2 or name.endswith(KEPT_F32) or not name.endswith(".weight")
        tensors.append((name, array, gguf.TENSOR_F32 if small or args.type == "F32" else gguf.TENSOR_Q8_0))
    n_parameters = sum(array.size for _, array, _ in tensors)
    tokenizer = bpe.Tokenizer.load(args.work / "tokenizer.json")
    gguf.write(args.out, metadata(cfg, tokenizer, 7 if args.type == "Q8_0" else 0, n_parameters), tensors)
    print(f"{args.out}: {n_parameters} parameters, {saved['tokens'] / 1e6:.1f} million tokens seen")


if __name__ == "__main__":
    main()
