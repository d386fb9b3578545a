"""Builds everything training reads: tokenizer, prose as token ids, fixed questions and answers.

    corpus.py --austen ROOT --work FOLDER

Writes tokenizer.json, pool.json, prose.npz (one array per source) and held.json (held-out texts) into FOLDER.
"""
import argparse
import json
import pathlib
import random

import numpy as np

import bpe
import dialogues
import smalltalk
import sources

HELD_CHAPTER = 9            # of each novel, counted from 0
BPE_DIALOGUES = 6000
BPE_DIALOGUE_WEIGHT = 8     # so that names and values of dialogues become single tokens


def read_prose(root):
    """({source: [document, ...]}, {held-out title: text})"""
    rng = random.Random(1)
    prose, held = {"novels": []}, {}
    for title, chapters in sources.novels(root):
        for i, chapter in enumerate(chapters):
            if i == HELD_CHAPTER:
                held[title] = "\n\n".join(chapter)
            else:
                prose["novels"].append("\n\n".join(chapter))
    verses = sources.bible()
    prose["bible"] = [" ".join(verses[i:i + 50]) for i in range(0, len(verses), 50)]
    examples, definitions = [], []
    for part in ("noun", "verb", "adj", "adv"):
        for lemma, tagged, text, quoted in sources.glosses(part):
            examples += [e[0].upper() + e[1:] + ("" if e[-1] in ".!?" else ".") for e in quoted if len(e.split()) > 3]
            if tagged and len(text.split()) > 2:
                definitions.append(f"{lemma}: {text}.")
    for name, lines in (("examples", sorted(set(examples))), ("glosses", definitions)):
        rng.shuffle(lines)
        prose[name] = ["\n".join(lines[i:i + 30]) for i in range(0, len(lines), 30)]
    return prose, held


def chat_of(pool):
    weights = [w for w, _, _ in pool]
    total = np.cumsum(weights).tolist()

    def chat(rng):
        if rng.random() < 0.03:
            return smalltalk.story(rng)
        _, question, answer = rng.choices(pool, cum_weights=total)[0]
        return question, answer
    return chat


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--austen", required=True, help="root of the unpacked package r-cran-janeaustenr")
    args.add_argument("--work", required=True, type=pathlib.Path, help="folder for everything that is written")
    args.add_argument("--vocab", type=int, default=4096)
    args = args.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)

    prose, held = read_prose(args.austen)
    pool = smalltalk.pool()
    rng = random.Random(2)
    chat = chat_of(pool)
    talk = [text for _ in range(BPE_DIALOGUES) for _, text, _ in dialogues.fact_dialogue(rng, chat, rng.randrange(20, 200))]
    texts = [(document, 1) for name in ("novels", "bible", "examples") for document in prose[name]]
    texts += [(text, BPE_DIALOGUE_WEIGHT) for text in talk + ["user\n", "assistant\n", "system\n"] * BPE_DIALOGUES]
    tokenizer = bpe.Tokenizer(bpe.train(texts, args.vocab))
    tokenizer.save(args.work / "tokenizer.json")

    def stream(documents):
        ids = []
        for document in documents:
            ids += tokenizer.encode(document) + [tokenizer.end_of_text]
        return np.array(ids, np.uint16)
    arrays = {name: stream(documents) for name, documents in prose.items()}
    np.savez(args.work / "prose.npz", **arrays)
    with open(args.work / "held.json", "w", encoding="utf-8") as f:
        json.dump(held, f)
    with open(args.work / "pool.json", "w", encoding="utf-8") as f:
        json.dump(pool, f)
    for name, ids in arrays.items():
        size = sum(len(d.encode()) for d in prose[name])
        print(f"{name}: {size} bytes, {len(ids)} tokens, {size / len(ids):.2f} bytes per token")
    print(f"pool: {len(pool)} questions; held out: {', '.join(held)}")


if __name__ == "__main__":
    main()
