#!/usr/bin/python3
"""What the golden and same-bits tests measured, one row per family, as a Markdown table.

    family_table.py build/release/tests/oxbow_engine_tests [cases]

OXBOW_SHARED names the shared folder with the golden models; cases is the number of random cases per tiny model.
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
GOLDEN = re.compile(r"^(\S+) +largest difference (\S+), argmax equal (\d+)/(\d+)")
SAME_BITS = re.compile(r"^(\S+): (\d+) random cases, (\d+) operations, (\d+) tokens evaluated")
QUANTISED = re.compile(r"Q\d|MIX")


def run(program, test, cases):
    environment = dict(os.environ)
    if cases:
        environment["OXBOW_CASES"] = cases
    done = subprocess.run([program, "--gtest_filter=" + test], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit("%s fails:\n%s" % (test, done.stdout[-2000:]))
    return done.stdout.splitlines()


def family(name):
    shared = os.environ.get("OXBOW_SHARED") or os.path.join(ROOT, "..", "shared")
    for path, key in ((os.path.join(ROOT, "tests", "golden", name + ".json"), "family"),
                      (os.path.join(shared, "golden", name + ".json"), "arch")):
        if os.path.exists(path):
            with open(path) as f:
                return json.load(f)[key]
    sys.exit("no golden %s" % name)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, cases = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None
    families = {}
    row = lambda name: families.setdefault(name, {"f32": [], "quantised": [], "cases": [0, 0, 0]})
    for line in run(program, "Models/SharedGolden.AllPositionsMatchTheReference/*", None):
        if found := GOLDEN.match(line):
            name, difference, equal, of = found.groups()
            row(family(name))["quantised" if QUANTISED.search(name) else "f32"].append((float(difference), int(equal), int(of)))
    for line in run(program, "Models/SameBits.WhateverTheOperations/*", cases):
        if found := SAME_BITS.match(line):
            architecture = found.group(1).split(".")[0]  # the file's name: "_" for "-"
            names = [name for name in families if name.replace("-", "_") == architecture]
            counts = row(names[0] if names else architecture)["cases"]
            for i in range(3):
                counts[i] += int(found.group(2 + i))
    print("| family | models | difference | argmax | quantised: difference, argmax | same bits: cases, operations, tokens "
          "| prompt t/s | decode t/s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    measured = lambda tests: "%.1e" % max(t[0] for t in tests) if tests else ""
    agreed = lambda tests: "%d of %d" % (sum(t[1] for t in tests), sum(t[2] for t in tests)) if tests else ""
    for name in sorted(families):
        f32, quantised, counts = (families[name][k] for k in ("f32", "quantised", "cases"))
        print("| `%s` | %d | %s | %s | %s | %d, %d, %d | | |" % (
            name, len(f32) + len(quantised), measured(f32), agreed(f32),
            ", ".join(filter(None, (measured(quantised), agreed(quantised)))), *counts))


if __name__ == "__main__":
    main()
