"""Vocabularies for generated models."""
import os
import sys

from gguf_file import read_gguf


def byte_chars():
    """GPT-2 byte -> printable character map."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    out, n = {}, 0
    for b in range(256):
        if b in keep:
            out[b] = chr(b)
        else:
            out[b] = chr(256 + n)
            n += 1
    return out


TRAIN_TEXT = (
    "the quick brown fox jumps over the lazy dog. a state space model keeps a small "
    "state and reads one token at a time; an attention layer keeps every key and value. "
    "mixing the two gives most of the quality of attention with much less memory. the "
    "engine loads the weights, runs the prompt through the layers, and then produces one "
    "token after another until it is told to stop. the numbers 0 1 2 3 4 5 6 7 8 9 10 and "
    "100 and 1000 are here so that digits are seen as well. this text exists only to make "
    "a few byte pairs more common than the others, in the way that real text would. "
) * 4


def tiny_vocab(n_vocab):
    bc = byte_chars()
    tokens = [bc[b] for b in range(256)]
    specials = ["<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>"]
    n_merge = n_vocab - 256 - len(specials)
    words = {}
    for w in TRAIN_TEXT.split(" "):
        if w:
            t = tuple(bc[b] for b in (" " + w).encode())
            words[t] = words.get(t, 0) + 1
    merges = []
    seen = set(tokens)
    while len(merges) < n_merge:
        pairs = {}
        for t, c in words.items():
            for a, b in zip(t, t[1:]):
                pairs[a, b] = pairs.get((a, b), 0) + c
        pairs = {p: c for p, c in pairs.items() if p[0] + p[1] not in seen}
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        seen.add(best[0] + best[1])
        new = {}
        for t, c in words.items():
            out, i = [], 0
            while i < len(t):
                if i + 1 < len(t) and (t[i], t[i + 1]) == best:
                    out.append(t[i] + t[i + 1])
                    i += 2
                else:
                    out.append(t[i])
                    i += 1
            new[tuple(out)] = new.get(tuple(out), 0) + c
        words = new
    tokens += [a + b for a, b in merges]
    types = [1] * len(tokens)
    i = 0
    while len(tokens) < n_vocab - len(specials):
        tokens.append("[UNUSED%d]" % i)
        types.append(5)
        i += 1
    base = len(tokens)
    tokens += specials
    types += [3] * len(specials)
    assert len(tokens) == n_vocab
    return tokens, types, ["%s %s" % m for m in merges], base


def gpt2_path():
    """The GPT-2 vocabulary of the shared test data (OXBOW_SHARED, or the folder `shared` beside the checkout), or None."""
    checkout = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    shared = os.environ.get("OXBOW_SHARED") or os.path.join(checkout, "..", "shared")
    path = os.path.join(shared, "tokenizers", "ggml-vocab-gpt-2.gguf")
    return path if os.path.exists(path) else None


def gpt2_vocab(n_vocab):
    """GPT-2 vocabulary cut or padded to n_vocab (ids follow merge order, so a
    cut vocabulary with a cut merge list is still a valid tokenizer)."""
    path = gpt2_path()
    if path is None:
        print("no GPT-2 vocabulary at hand: padding a small one to %d tokens" % n_vocab, file=sys.stderr)
        return tiny_vocab(n_vocab)
    kv, _ = read_gguf(path, tensors=False)
    toks = kv["tokenizer.ggml.tokens"]
    types = kv["tokenizer.ggml.token_type"]
    merges = kv["tokenizer.ggml.merges"]
    eot = "<|endoftext|>"
    plain = [t for t in toks if t != eot]
    keep = min(len(plain), n_vocab - 1)
    tokens = plain[:keep]
    merges = merges[:max(0, keep - 256)]
    types = [1] * keep
    while len(tokens) < n_vocab - 1:
        tokens.append("[PAD%d]" % len(tokens))
        types.append(5)
    tokens.append(eot)
    types.append(3)
    return tokens, types, merges, n_vocab - 1
