"""Byte-level BPE: training, encoding, decoding, with the word splitting that GGUF files call "gpt-2"."""
import collections
import heapq
import json
import re

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# The published pattern needs Unicode classes that the standard `re` lacks; these are the same for all text used here.
PIECE = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_letters():
    """The printable letter that stands for each byte in the vocabulary."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b) if b in own else chr(next(spare)) for b in range(256)]


LETTERS = byte_letters()


def train(texts, n_vocab):
    """Merges, most frequent pair first, that fill a vocabulary of n_vocab tokens including bytes and specials.

    texts: iterable of (text, weight). Pairs are counted once per distinct piece; a merge only touches the pieces that hold it.
    """
    pieces = collections.Counter()
    for text, weight in texts:
        for piece in PIECE.findall(text):
            pieces[piece] += weight
    words = [([LETTERS[b] for b in piece.encode()], n) for piece, n in pieces.items()]
    count, where = collections.Counter(), collections.defaultdict(set)
    for i, (parts, n) in enumerate(words):
        for pair in zip(parts, parts[1:]):
            count[pair] += n
            where[pair].add(i)
    heap = [(-n, pair) for pair, n in count.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < n_vocab - 256 - len(SPECIALS):
        n, pair = heapq.heappop(heap)
        if -n != count[pair]:
            if count[pair] > 0:
                heapq.heappush(heap, (-count[pair], pair))
            continue
        merges.append(pair)
        changed = set()
        for i in where.pop(pair):
            parts, weight = words[i]
            for old in zip(parts, parts[1:]):
                count[old] -= weight
            parts[:] = merge(parts, pair)
            for new in zip(parts, parts[1:]):
                count[new] += weight
                where[new].add(i)
                changed.add(new)
        for new in changed:
            heapq.heappush(heap, (-count[new], new))
        count[pair] = 0
    return merges


def merge(parts, pair):
    out, i = [], 0
    while i < len(parts):
        if i + 1 < len(parts) and parts[i] == pair[0] and parts[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(m) for m in merges]
        self.tokens = LETTERS + [a + b for a, b in self.merges] + SPECIALS
        self.ids = {t: i for i, t in enumerate(self.tokens)}
        assert len(self.ids) == len(self.tokens), "two merges make the same token"
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.end_of_text, self.im_start, self.im_end = (self.ids[s] for s in SPECIALS)
        self.cache = {}
        self.bytes = {letter: b for b, letter in enumerate(LETTERS)}

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as f:
            return cls(json.load(f))

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.merges, f, ensure_ascii=False)

    def piece(self, piece):
        ids = self.cache.get(piece)
        if ids is None:
            parts = [LETTERS[b] for b in piece.encode()]
            while len(parts) > 1:
                best = min(zip(parts, parts[1:]), key=lambda p: self.rank.get(p, 1 << 30))
                if best not in self.rank:
                    break
                parts = merge(parts, best)
            ids = self.cache[piece] = [self.ids[p] for p in parts]
        return ids

    def encode(self, text):
        """Ids of plain text; special tokens written in the text are not recognised."""
        return [i for piece in PIECE.findall(text) for i in self.piece(piece)]

    def decode(self, ids):
        text = bytes(b for i in ids if i < len(self.tokens) - len(SPECIALS) for b in map(self.bytes.get, self.tokens[i]))
        return text.decode("utf-8", "replace")
