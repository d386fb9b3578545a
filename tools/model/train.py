"""Trains the bundled model; stops and resumes at any time.

    train.py --work FOLDER [--tokens 30e6] [--threads 2]

FOLDER holds what corpus.py wrote. Every few minutes and at SIGTERM the state goes to FOLDER/checkpoint.pt (written beside it, then renamed) and a
line with the losses and the share of exactly right answers to FOLDER/train.log. The rate of learning stays constant and falls
over the last part, so --tokens may be changed when resuming. A moving average of the weights is kept for export.

Each worker is one thread with a copy of the weights: it computes the gradient of its own batch and applies it under a lock to the
common weights, which the others may have moved meanwhile. No worker ever waits for another one, which matters on a busy machine.
"""
import argparse
import os
import pathlib
import random
import signal
import threading
import time

import torch

import batches
import dialogues
import fused
import optimiser
from config import Config
from network import Network

WARMUP, FALL = 0.4e6, 0.3           # tokens; share of all tokens over which the rate falls
CHECKPOINT_SECONDS, PROBE_STEPS = 150, 100


def rate(tokens, total):
    """Factor on the learning rates."""
    left = (total - tokens) / (FALL * total)
    return min(1.0, (tokens + 4096) / WARMUP, max(0.02, left))


def loss_of(network, ids, weight):
    """Mean over the tokens to be predicted, by weight."""
    hidden = network.hidden(ids[:, :-1]).reshape(-1, network.cfg.n_embd)
    weight = weight[:, 1:].reshape(-1)
    keep = weight.nonzero()[:, 0]
    weight = weight[keep] / weight.sum()
    return fused.Entropy.apply(network.logits(hidden[keep]), ids[:, 1:].reshape(-1)[keep], weight)


@torch.no_grad()
def probe(network, source, length, held):
    """{kind: (exactly right answers, answers)} of fresh dialogues, from the likeliest token at each place."""
    rng, tokenizer, out = random.Random(time.time()), source.tokenizer, {}
    rows = [dialogues.fact_dialogue(rng, source.chat, length * 0.7, held) for _ in range(3072 // length)]
    for turns in rows:
        ids, spoken = (x[:length] for x in dialogues.render(turns, tokenizer))
        guess = network(torch.tensor([ids]))[0].argmax(-1).tolist()
        for i, (_, _, kind) in enumerate(turns):
            at = [p for p, turn in enumerate(spoken) if turn == i + 1]
            if kind and at and at[-1] < length - 1:
                right, n = out.get(kind, (0, 0))
                out[kind] = right + all(guess[p - 1] == ids[p] for p in at), n + 1
    return out


class Run:
    def __init__(self, args):
        self.args, self.tokens, self.step = args, 0, 0
        torch.manual_seed(1)
        self.network = Network(Config())
        self.optimisers = optimiser.make(self.network, args.lr_matrix, args.lr_other)
        self.average = {k: v.clone() for k, v in self.network.state_dict().items()}
        self.path = args.work / "checkpoint.pt"
        if self.path.exists():
            self.load()
        self.source = batches.Batches(args.work, self.step + 1, args.batch)
        self.lock, self.stopping = threading.Lock(), False
        self.losses, self.reported, self.saved = [], time.time(), time.time()

    def load(self):
        saved = torch.load(self.path)
        self.network.load_state_dict(saved["weights"])
        for o, state in zip(self.optimisers, saved["optimisers"]):
            o.load_state_dict(state)
        self.average, self.tokens, self.step = saved["average"], saved["tokens"], saved["step"]

    def save(self):
        saved = {"weights": self.network.state_dict(), "optimisers": [o.state_dict() for o in self.optimisers],
                 "average": self.average, "tokens": self.tokens, "step": self.step}
        torch.save(saved, f"{self.path}.new")
        os.replace(f"{self.path}.new", self.path)
        self.saved = time.time()

    def work(self, made):
        """One worker: step after step until all tokens are used, or a signal or the failure of another worker ends the run."""
        torch.set_flush_denormal(True)
        network = Network(self.network.cfg)
        network.set_low(True)
        while self.tokens < self.args.tokens and not self.stopping:
            try:
                ids, weight = next(made)
                with self.lock:
                    network.load_state_dict(self.network.state_dict())
                network.zero_grad(set_to_none=True)
                loss = loss_of(network, ids, weight)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                with self.lock:
                    self.apply([p.grad for p in network.parameters()], float(loss), ids.numel())
            except BaseException:
                self.stopping = True
                raise

    def apply(self, gradients, loss, n_tokens):
        factor = rate(self.tokens, self.args.tokens)
        for p, grad in zip(self.network.parameters(), gradients):
            p.grad = grad
        for o, lr in zip(self.optimisers, (self.args.lr_matrix, self.args.lr_other)):
            for group in o.param_groups:
                group["lr"] = lr * factor
            o.step()
        self.step += 1
        self.tokens += n_tokens
        keep = min(0.995, 1 - 10 / (self.step + 10))
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                self.average[name].lerp_(value, 1 - keep)
        self.losses.append(loss)
        if self.step % PROBE_STEPS == 0:
            self.report()
        if time.time() - self.saved > CHECKPOINT_SECONDS:
            self.save()

    def report(self):
        length = batches.stage_at(self.tokens)[0]
        text = " ".join(f"{'held ' if held else ''}{kind} {right}/{n}" for held in (False, True)
                        for kind, (right, n) in sorted(probe(self.network, self.source, length, held).items()))
        speed = PROBE_STEPS * self.args.batch / (time.time() - self.reported)
        with open(self.args.work / "train.log", "a", encoding="utf-8") as log:
            log.write(f"step {self.step} tokens {self.tokens / 1e6:.2f}M length {length} loss {sum(self.losses) / len(self.losses):.3f} "
                      f"rate {rate(self.tokens, self.args.tokens):.2f} {speed:.0f} tokens/s | {text}\n")
        self.losses, self.reported = [], time.time()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--tokens", type=float, default=30e6)
    args.add_argument("--batch", type=int, default=4096, help="tokens of one step")
    args.add_argument("--workers", type=int, default=os.cpu_count())
    args.add_argument("--lr-matrix", type=float, default=0.02)
    args.add_argument("--lr-other", type=float, default=0.003)
    args = args.parse_args()
    torch.set_num_threads(1)
    run = Run(args)
    made = batches.Ahead(lambda: run.source.batch(run.tokens))
    workers = [threading.Thread(target=run.work, args=(made,)) for _ in range(args.workers)]
    signal.signal(signal.SIGTERM, lambda *_: setattr(run, "stopping", True))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    run.save()


if __name__ == "__main__":
    main()
