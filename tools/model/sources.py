"""Reads the free texts that the prose part of the corpus is made of.

Novels: data of the package r-cran-janeaustenr (the texts are in the public domain). It need not be installed: `apt-get download`
and `dpkg -x` are enough, and --austen names the unpacked root. Bible: the program `bible` of the package bible-kjv (King James
Version, public domain). Glosses and examples: wordnet-base (WordNet licence).
"""
import pathlib
import re
import struct
import subprocess
import zlib

RDB = "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
WORDNET = pathlib.Path("/usr/share/wordnet")


def plain(text):
    """ASCII punctuation and single spaces, so that few tokens are spent on typography."""
    for old, new in (("\u2019", "'"), ("\u2018", "'"), ("\u201c", '"'), ("\u201d", '"'), ("\u2014", "--"), ("_", "")):
        text = text.replace(old, new)
    return re.sub(r"[ \t]+", " ", text).strip()


def r_strings(data):
    """The strings of one serialised R character vector: each is flags 0x00040009 or alike, a length and the bytes."""
    at, out = data.index(b"\x00\x00\x00\x10") + 8, []
    while at + 8 <= len(data):
        flags, size = struct.unpack_from(">Ii", data, at)
        if flags & 0xFF != 9:
            break
        size = max(size, 0)
        out.append(data[at + 8:at + 8 + size].decode("utf-8", "replace"))
        at += 8 + size
    return out


def novels(root):
    """[(title, [chapter, ...])]; a chapter is a list of paragraphs."""
    data, at, books = (pathlib.Path(root) / RDB).read_bytes(), 0, []
    while at + 5 < len(data) and data[at + 4:at + 5] == b"x":
        packed = zlib.decompressobj()
        lines = r_strings(packed.decompress(data[at + 4:]))
        at = len(data) - len(packed.unused_data)
        chapters, paragraph = [[]], []
        for line in lines + [""]:
            if re.match(r"\s*(chapter|volume)\b", line, re.I):
                chapters.append([])
            elif line.strip():
                paragraph.append(line.strip())
            elif paragraph:
                chapters[-1].append(plain(" ".join(paragraph)))
                paragraph = []
        chapters = [c for c in chapters if sum(map(len, c)) > 2000]
        if chapters:
            books.append((lines[0].strip().title(), chapters))
    return books


def bible():
    """Verses in order, without their numbers."""
    text = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], capture_output=True, text=True, check=True).stdout
    return [plain(line.split(" ", 1)[1]) for line in text.splitlines() if " " in line]


def glosses(part):
    """Yields (lemma, senses seen in tagged text, definition, [example, ...]) of each first sense of noun, verb, adj or adv."""
    data = (WORDNET / f"data.{part}").read_bytes()
    for line in (WORDNET / f"index.{part}").read_text().splitlines():
        if line.startswith(" "):
            continue
        fields = line.split()
        pointers = int(fields[3])
        tagged, offset = int(fields[5 + pointers]), int(fields[6 + pointers])
        entry = data[offset:data.index(b"\n", offset)].decode("utf-8", "replace")
        gloss = plain(entry.split("| ", 1)[1])
        examples = [e for e in re.findall(r'"([^"]+)"', gloss) if " " in e]
        definition = re.split(r'; "|: "', gloss)[0].split(";")[0].strip()
        yield fields[0].replace("_", " "), tagged, definition, examples


def antonyms():
    """[(adjective, opposite)] of frequent adjectives."""
    data = (WORDNET / "data.adj").read_bytes()
    frequent = {lemma for lemma, tagged, _, _ in glosses("adj") if tagged > 1}
    pairs = set()
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split("|")[0].split()
        words = [re.sub(r"\(.*", "", fields[4 + 2 * i]) for i in range(int(fields[3], 16))]
        at = 4 + 2 * len(words)
        for i in range(int(fields[at])):
            kind, offset, part, link = fields[at + 1 + 4 * i:at + 5 + 4 * i]
            if kind == "!" and part == "a" and int(link[:2], 16):
                other = data[int(offset):].split(b"\n", 1)[0].decode().split()
                a = words[int(link[:2], 16) - 1]
                b = re.sub(r"\(.*", "", other[4 + 2 * (int(link[2:], 16) - 1)])
                if a in frequent and b in frequent and "_" not in a + b:
                    pairs.add((a, b))
    return sorted(pairs)


def frequencies():
    """How often each noun was met in the texts that WordNet's makers tagged by hand."""
    out = {}
    for line in (WORDNET / "cntlist.rev").read_text().splitlines():
        key, _, count = line.split()
        lemma, _, sense = key.partition("%")
        if sense.startswith("1:"):
            out[lemma] = out.get(lemma, 0) + int(count)
    return out
