"""Measures an exported file with names, values and wordings that training never saw.

    evaluate.py --work FOLDER --model FILE.gguf [--count 100] [--prose-tokens 20000] [--show 0]

Recall: one to four facts are told, other talk follows, then one fact is asked for; the distance counts the tokens from the end of the
telling turn to the end of the question. The assistant's earlier turns are given and never repeat a fact. An answer is right if it holds the
value as a word and no value that was told of something else or corrected; of a question about what was not told, if it says that it does
not know. All answers are the greedy ones. Prose: bits per byte and perplexity per byte of held-out chapters.
"""
import argparse
import json
import math
import pathlib
import random
import re

import torch
import torch.nn.functional as F

import bpe
import corpus
import dialogues
import export

DISTANCES = (100, 300, 500)
ANSWER_TOKENS = 24
REFUSALS = ("don't know", "do not know", "not told me", "haven't told me")


class Chat:
    """Greedy answers of a network."""

    def __init__(self, network, tokenizer):
        self.network, self.tokenizer = network, tokenizer

    @torch.no_grad()
    def answer(self, turns, guess=""):
        """The answer to the last turn. A right guess costs one evaluation, because greedy decoding would give the same tokens."""
        t = self.tokenizer
        prompt, out = dialogues.render(turns, t)[0] + [t.im_start] + t.encode("assistant\n"), []
        if guess:
            ids = t.encode(guess) + [t.im_end]
            best = self.network(torch.tensor([prompt + ids]))[0, len(prompt) - 1:-1].argmax(-1).tolist()
            if best == ids:
                return guess
            wrong = next(i for i, (a, b) in enumerate(zip(best, ids)) if a != b)
            out = best[:wrong + 1]      # up to its first own word the model has said the same
        while not out or out[-1] != t.im_end and len(out) < ANSWER_TOKENS:
            out.append(int(self.network(torch.tensor([prompt + out]))[0, -1].argmax()))
        return t.decode(out)

    def length(self, turns):
        return len(dialogues.render(turns, self.tokenizer)[0])


def holds(text, value):
    return re.search(rf"\b{re.escape(value)}\b", text) is not None


def facts_told(rng, turns, taken):
    """Tells one to four facts with held-out wordings; the assistant's replies repeat none."""
    facts = []
    for fact in dialogues.new_facts(rng, rng.randrange(1, 5), True, taken):
        if fact.value not in [f.value for f in facts]:
            facts.append(fact)
    i = 0
    while i < len(facts):
        now = facts[i:i + rng.choice((1, 2))]
        turns += [("user", dialogues.join(rng, [f.tell(rng) for f in now]), ""), ("assistant", rng.choice(dialogues.NOTED), "")]
        i += len(now)
    return facts


def talk(rng, chat, pool, turns, tokens):
    """Adds other talk until `tokens` tokens have been added, at most."""
    start = chat.length(turns)
    while True:
        question, answer = pool(rng)
        more = [("user", question, ""), ("assistant", answer, "")]
        if chat.length(turns + more) - start > tokens:
            return
        turns += more


def recall_case(rng, chat, pool, distance, correct):
    """(turns, fact, values that would be wrong)"""
    turns, taken = [], set()
    facts = facts_told(rng, turns, taken)
    fact = rng.choice(facts)
    wrong = [f.value for f in facts if f is not fact]
    if correct:
        talk(rng, chat, pool, turns, rng.randrange(10, max(11, distance // 2)))
        wrong.append(fact.value)
        fact.change(rng)
        turns += [("user", rng.choice(dialogues.HELD_CORRECTIONS).format(t=fact.tell(rng)), ""),
                  ("assistant", rng.choice(dialogues.NOTED), "")]
    question = ("user", fact.ask(rng), "")
    last = max(i for i, t in enumerate(turns) if t[0] == "user" and holds(t[1], fact.value))
    already = chat.length(turns[last + 1:] + [question])
    talk(rng, chat, pool, turns, max(0, distance - already))
    return turns + [question], fact, wrong


def measure(rng, chat, pool, count, distance, kind, show):
    right = 0
    for n in range(count):
        if kind == "unknown":
            turns, taken = [], set()
            facts = facts_told(rng, turns, taken)
            talk(rng, chat, pool, turns, distance)
            fact = dialogues.unknown(rng, facts, True, taken)
            asked = fact.ask(rng)
            answer = chat.answer(turns + [("user", asked, "")], dialogues.UNKNOWN)
            good = any(r in answer for r in REFUSALS)
        else:
            turns, fact, wrong = recall_case(rng, chat, pool, distance, kind == "corrected")
            answer = chat.answer(turns, fact.say())
            good = holds(answer, fact.value) and not any(holds(answer, w) for w in wrong)
            asked = f"{turns[-1][1]} ({fact.value})"
        right += good
        if not good and show > 0:
            show -= 1
            print(f"    wrong: {asked} -> {answer}")
    return right / count


@torch.no_grad()
def bits_per_byte(network, tokenizer, text, limit, window=512):
    """Of the first `limit` tokens; each window is read from its start and predicts its second half (the first window: all of it)."""
    ids = tokenizer.encode(text)[:limit]
    nats, at = 0.0, 0
    while at + 1 < len(ids):
        piece = torch.tensor([ids[at:at + window]])
        loss = F.cross_entropy(network(piece)[0, :-1], piece[0, 1:], reduction="none")
        nats += float(loss[0 if at == 0 else window // 2 - 1:].sum())
        if at + window >= len(ids):
            break
        at += window // 2
    return nats / math.log(2) / len(tokenizer.decode(ids).encode())


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--model", required=True)
    args.add_argument("--count", type=int, default=100, help="questions of each kind and distance")
    args.add_argument("--prose-tokens", type=int, default=20000)
    args.add_argument("--show", type=int, default=0, help="wrong answers to show of each kind")
    args.add_argument("--seed", type=int, default=7)
    args.add_argument("--kinds", default="recall,unknown,corrected,fixed,prose", help="what to measure")
    args = args.parse_args()
    network, keys = export.load(args.model)
    tokenizer = bpe.Tokenizer([m.split(" ") for m in keys["tokenizer.ggml.merges"]])
    with open(args.work / "pool.json", encoding="utf-8") as f:
        fixed = json.load(f)
    pool, chat, kinds = corpus.chat_of(fixed), Chat(network, tokenizer), args.kinds.split(",")
    for kind in ("recall", "unknown", "corrected"):
        for distance in DISTANCES if kind in kinds else ():
            rng = random.Random(f"{args.seed} {kind} {distance}")
            share = measure(rng, chat, pool, args.count, distance, kind, args.show)
            print(f"{kind}, up to {distance} tokens: {100 * share:.1f} %", flush=True)
    if "fixed" in kinds:
        asked = random.Random(args.seed).choices(fixed, [w for w, _, _ in fixed], k=args.count)
        good = sum(chat.answer([("user", q, "")], a) in [x for _, y, x in fixed if y == q] for _, q, a in asked)
        print(f"fixed questions answered word for word: {100 * good / args.count:.1f} %", flush=True)
    if "prose" in kinds:
        with open(args.work / "held.json", encoding="utf-8") as f:
            held = json.load(f)
        for title, text in held.items():
            bits = bits_per_byte(network, tokenizer, text, args.prose_tokens // len(held))
            print(f"{title}, held-out chapter: {bits:.3f} bits per byte, perplexity per byte {2 ** bits:.3f}")


if __name__ == "__main__":
    main()
