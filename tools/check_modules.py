#!/usr/bin/python3
"""Checks that modules include only what is before them.

    check_modules.py [SOURCE_DIR]     default: src of this checkout

Prints one line per violation (file:line: what is wrong) and fails when there is one.
"""
import os
import re
import sys

# Lowest first (docs/tour.md).
ORDER = ["base", "gguf", "quant", "kernels", "text", "store", "memory", "model", "grammar", "engine", "c_api", "server", "cli"]

# All that the model may know of memory.
MODEL_SEES_OF_MEMORY = {"memory/state_spec.h", "memory/views.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
EXTENSIONS = (".h", ".cpp", ".hpp", ".cc", ".inc")


def problem(module, included):
    """Why a file of `module` must not include `included`, or None."""
    other = included.split("/")[0] if "/" in included else None
    if other not in ORDER:
        return 'includes "%s": write the path from src/, starting with a module (%s)' % (included, ", ".join(ORDER))
    if other == module:
        return None
    if ORDER.index(other) > ORDER.index(module):
        return 'includes "%s", but %s stands after %s' % (included, other, module)
    if module == "model" and other == "memory" and included not in MODEL_SEES_OF_MEMORY:
        return 'includes "%s", but model sees only %s of memory' % (included, " and ".join(sorted(MODEL_SEES_OF_MEMORY)))
    return None


def check_text(module, text):
    """Violations in one file of `module`: (line number, what is wrong)."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        reason = problem(module, match.group(1)) if match else None
        if reason:
            found.append((number, reason))
    return found


def check_tree(source):
    """Violations in a source folder, as printable lines."""
    found = []
    for folder, folders, files in os.walk(source):
        folders.sort()
        for name in sorted(files):
            if not name.endswith(EXTENSIONS):
                continue
            path = os.path.join(folder, name)
            module = os.path.relpath(path, source).split(os.sep)[0]
            if module not in ORDER:
                found.append("%s: %s is not a module (%s)" % (path, module, ", ".join(ORDER)))
                continue
            with open(path, encoding="utf-8") as f:
                found += ["%s:%d: %s" % (path, number, reason) for number, reason in check_text(module, f.read())]
    return found


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    source = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "src")
    found = check_tree(os.path.normpath(source))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
