"""Training batches: rows of equal length, each one dialogue from its start or one window of prose."""
import json
import queue
import random
import threading

import numpy as np
import torch

import bpe
import corpus
import dialogues
import smalltalk

PROSE_SHARES = {"novels": 0.5, "bible": 0.1, "examples": 0.25, "glosses": 0.15}
MEMORY_WEIGHT = 3.0     # of answers that take looking back, against 1 for all other words
USER_SHARE = 0.1        # of the words that are not the assistant's, so many are learnt, too

# From this many millions of tokens on: longest row, share of prose rows, share of copying exercises, share of plain talk.
STAGES = [(0.0, 64, 0.00, 0.30, 0.10), (0.8, 96, 0.10, 0.15, 0.10), (2.0, 160, 0.15, 0.05, 0.10), (4.0, 256, 0.25, 0.03, 0.10),
          (6.0, 384, 0.25, 0.02, 0.10), (6.5, 512, 0.25, 0.02, 0.10), (7.5, 640, 0.25, 0.02, 0.10)]


def stage_at(tokens):
    return [s for s in STAGES if s[0] * 1e6 <= tokens][-1][1:]


class Batches:
    def __init__(self, work, seed, size):
        self.tokenizer = bpe.Tokenizer.load(work / "tokenizer.json")
        with open(work / "pool.json", encoding="utf-8") as f:
            pool = json.load(f)
        self.chat = corpus.chat_of(pool)
        self.prose = dict(np.load(work / "prose.npz"))
        self.rng = random.Random(seed)
        self.size = size

    def dialogue(self, length, copies, talk):
        """Ids and weights of one dialogue of exactly `length` tokens (cut at the end)."""
        rng = self.rng
        r = rng.random()
        if r < copies + talk:
            turns = [] if rng.random() < 0.7 else [("system", rng.choice(dialogues.SYSTEM), "")]
            while sum(len(t.split()) + 3 for _, t, _ in turns) < length:
                if r < copies:
                    turns += dialogues.copy_dialogue(rng)
                else:
                    question, answer = smalltalk.story(rng) if rng.random() < 0.08 else self.chat(rng)
                    turns += [("user", question, ""), ("assistant", answer, "chat")]
        else:
            turns = dialogues.fact_dialogue(rng, self.chat, length)
        ids, spoken = dialogues.render(turns, self.tokenizer)
        of_turn = [MEMORY_WEIGHT if kind in ("recall", "changed", "unknown") else 1.0 for _, _, kind in turns]
        weight = [of_turn[s - 1] if s else float(rng.random() < USER_SHARE) for s in spoken]
        missing = max(0, length - len(ids))
        return (ids + [self.tokenizer.end_of_text] * missing)[:length], (weight + [0.0] * missing)[:length]

    def window(self, length):
        source = self.rng.choices(list(PROSE_SHARES), list(PROSE_SHARES.values()))[0]
        ids = self.prose[source]
        at = self.rng.randrange(len(ids) - length)
        return ids[at:at + length].tolist(), [1.0] * length

    def batch(self, tokens):
        """(ids [b, t], weight [b, t]) for a training run that has seen `tokens` tokens."""
        longest, prose, copies, talk = stage_at(tokens)
        steps = [t for t in (64, 96, 128, 160, 192, 256, 320, 384, 448, 512, 576, 640) if t <= longest]
        length = self.rng.choice(steps[len(steps) // 3:])
        rows = [self.window(length) if self.rng.random() < prose else self.dialogue(length, copies, talk)
                for _ in range(self.size // length)]
        ids, weight = zip(*rows)
        return torch.tensor(ids), torch.tensor(weight)


class Ahead:
    """Calls make() on its own thread and gives the results in order, to any number of threads."""

    def __init__(self, make, depth=6):
        self.ready = queue.Queue(depth)
        threading.Thread(target=self._work, args=(make,), daemon=True).start()

    def _work(self, make):
        while True:
            self.ready.put(make())

    def __next__(self):
        return self.ready.get()
