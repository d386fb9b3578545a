"""Compares the greedy continuations of an exported file in PyTorch and in llama.cpp; run where node-llama-cpp is installed.

    compare_peer.py MODEL.gguf [--count 48]

A difference is accepted only at a near tie: there PyTorch's two best logits are closer than --tie.
"""
import argparse
import pathlib
import subprocess
import sys

import torch

import bpe
import export

PROMPTS = ["Hello", "Who are you?", "What is a river?", "Tell me a story.", "What is the capital of France?",
           "My dog is called Bello. I live in Oslo. What is my dog called?"]


def greedy(network, ids, count, stop):
    """(tokens, gap between the two best logits at each)"""
    out, gaps = [], []
    with torch.no_grad():
        while len(out) < count and (not out or out[-1] != stop):
            best = network(torch.tensor([ids + out]))[0, -1].topk(2)
            out.append(int(best.indices[0]))
            gaps.append(float(best.values[0] - best.values[1]))
    return out, gaps


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("model")
    args.add_argument("--count", type=int, default=48)
    args.add_argument("--tie", type=float, default=0.05)
    args = args.parse_args()
    network, keys = export.load(args.model)
    tokenizer = bpe.Tokenizer([m.split(" ") for m in keys["tokenizer.ggml.merges"]])
    script, failed = pathlib.Path(__file__).with_name("peer_greedy.mjs"), 0
    for prompt in PROMPTS:
        text = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
        ids = [tokenizer.im_start, *tokenizer.encode("user\n" + prompt), tokenizer.im_end, *tokenizer.encode("\n"),
               tokenizer.im_start, *tokenizer.encode("assistant\n")]
        run = subprocess.run(["node", script, args.model, text, str(args.count), "--text"], capture_output=True, text=True, check=True)
        peer_ids, peer = (list(map(int, line.split(","))) for line in run.stdout.split())
        ours, gaps = greedy(network, ids, args.count, tokenizer.im_end)
        at = next((i for i, (a, b) in enumerate(zip(ours, peer)) if a != b), None)
        good = peer_ids == ids and (at is None and len(ours) == len(peer) or at is not None and gaps[at] < args.tie)
        failed += not good
        where = "all equal" if at is None else f"first difference at {at}, gap {gaps[at]:.3f}"
        print(f"{'ok  ' if good else 'FAIL'} {prompt!r}: {len(ours)} tokens, {where}; prompt ids {'equal' if peer_ids == ids else 'differ'}")
        print(f"     {tokenizer.decode(ours)}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
