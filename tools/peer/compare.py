#!/usr/bin/python3
"""Times llama.cpp and Oxbow on the same files, in turns, and prints the ratios as a Markdown table.

    compare.py --oxbow PROGRAM --packages FOLDER MODEL.gguf... [--threads 2] [--rounds 3] [--prompts 512,2048]
               [--generate 16] [--depth 512] [--parallel 1,8,16] [--draft 9] [--json FILE]

FOLDER holds node_modules with node-llama-cpp (`./dev bench --peer` fetches it and calls this). A round is one run of
each engine, the one that was second first the next time; numbers are medians over the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def counts(text):
    return [int(part) for part in text.split(",") if part]


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench --peer", usage="%(prog)s MODEL.gguf... [OPTIONS]")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--oxbow", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--packages", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each engine, in turns")
    parser.add_argument("--prompts", type=counts, default=[512, 2048], metavar="N,N")
    parser.add_argument("--generate", type=int, default=16, metavar="N", help="tokens of a decoding test")
    parser.add_argument("--depth", type=int, default=512, metavar="N", help="tokens before a decoding test")
    parser.add_argument("--parallel", type=counts, default=[1, 8, 16], metavar="N,N", help="sequences decoded together")
    parser.add_argument("--draft", type=int, default=9, metavar="N", help="tokens of one sequence in one step; 0: none")
    parser.add_argument("--json", metavar="FILE", help="write every number there")
    return parser.parse_args()


def output_of(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, **how)
    if done.returncode != 0:
        sys.exit("%s failed" % command[0])
    return json.loads(done.stdout)


def peer(options, model):
    command = ["node", os.path.join(HERE, "bench.mjs"), os.path.abspath(model), "--repeat", "1"]
    for name, value in (("threads", options.threads), ("tg", options.generate), ("depth", options.depth),
                        ("pp", ",".join(map(str, options.prompts))), ("parallel", ",".join(map(str, options.parallel)))):
        command += ["--" + name, str(value)]
    if options.draft:
        command += ["--verify", str(options.draft)]
    found = output_of(command, cwd=options.packages)
    rows = {"pp%d" % n: found["pp%d" % n] for n in options.prompts}
    for n in options.parallel:
        rows[decode_name(options, n)] = found["tg%d@%d" % (options.generate, options.depth) + ("x%d" % n if n > 1 else "")]
    if options.draft:
        rows[draft_name(options)] = found["v%d@%d" % (options.draft, options.depth)]
    return dict(rows, load=found["load_s"], memory=found["peak_mib"])


def oxbow(options, model):
    command = [options.oxbow, "bench", model, "-t", str(options.threads), "-r", "1", "-o", "json"]
    rows = {}
    prompts = ["-p", ",".join(map(str, options.prompts)), "-n", "0"]
    decode = ["-p", "0", "-n", str(options.generate), "-d", str(options.depth),
              "--parallel", ",".join(map(str, options.parallel)), "--draft", str(options.draft)]
    for tests in (prompts, decode):
        for row in output_of(command + tests):
            rows[row["test"]] = row["avg_ts"]
            rows.setdefault("load", row["load_s"])
            rows["memory"] = max(rows.get("memory", 0), row["peak_rss"] / 2**20)
    return rows


def decode_name(options, parallel):
    return "tg%d%s @ d%d" % (options.generate, " x%d" % parallel if parallel > 1 else "", options.depth)


def draft_name(options):
    return "draft%d @ d%d" % (options.draft, options.depth)


def show(model, rounds):
    for test in rounds[0][0]:
        theirs, ours = (statistics.median(r[engine][test] for r in rounds) for engine in (0, 1))
        less = test in ("load", "memory")
        name = {"load": "load, s", "memory": "resident at most, MiB"}.get(test, test)
        ratio = "%.2f of it" % (ours / theirs) if less else "%.2f" % (ours / theirs)
        print("| %s | %s | %.*f | %.*f | %s |" % (os.path.basename(model), name, 2, theirs, 2, ours, ratio), flush=True)


def main():
    options = arguments()
    engines = [peer, oxbow]
    everything = {}
    print("| model | test | llama.cpp | Oxbow | ratio |\n| --- | --- | ---: | ---: | ---: |", flush=True)
    for model in options.models:
        rounds = []
        for number in range(options.rounds):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            found = {}
            for engine in order:
                print("%s: round %d of %d, %s" % (os.path.basename(model), number + 1, options.rounds,
                                                  ("llama.cpp", "Oxbow")[engine]), file=sys.stderr)
                found[engine] = engines[engine](options, model)
            rounds.append(found)
        show(model, rounds)
        everything[model] = [{"llama.cpp": found[0], "Oxbow": found[1]} for found in rounds]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(everything, f, indent=1)


if __name__ == "__main__":
    main()
