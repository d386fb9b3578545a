#!/usr/bin/python3
"""Renders chat templates with Debian's python3-jinja2, as the reference for Oxbow's engine.

    jinja_oracle.py FOLDER

FOLDER holds *.jinja, conversations.json and snippets.json (tests/text/templates). Prints a JSON list with an object
per rendering: template, conversation and either text or error. Exits with 77 when jinja2 is missing.
"""
import datetime
import glob
import json
import os
import sys

try:
    import jinja2
    from jinja2 import nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    print("python3-jinja2 is missing", file=sys.stderr)
    sys.exit(77)

NOW = datetime.datetime(2026, 3, 5, 9, 7, 8)


class Generation(Extension):
    """{% generation %}: marks what the model wrote."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


def render(source, variables):
    """{"text": ...} or {"error": ...}."""
    try:
        return {"text": environment().from_string(source).render(**variables)}
    except Exception as error:  # whatever Python raises, the engine must refuse as well
        return {"error": "%s: %s" % (type(error).__name__, error)}


def main(folder):
    with open(os.path.join(folder, "conversations.json"), encoding="utf-8") as f:
        conversations = json.load(f)
    with open(os.path.join(folder, "snippets.json"), encoding="utf-8") as f:
        snippets = json.load(f)
    results = []
    for path in sorted(glob.glob(os.path.join(folder, "*.jinja"))):
        with open(path, encoding="utf-8", newline="") as f:
            source = f.read()
        for conversation in conversations:
            variables = {"tools": None, "documents": None, "add_generation_prompt": True, "bos_token": "<s>",
                         "eos_token": "</s>"}
            for name in ("messages", "tools", "documents", "add_generation_prompt"):
                if name in conversation:
                    variables[name] = conversation[name]
            variables.update(conversation.get("arguments", {}))
            results.append(dict(render(source, variables), template=os.path.basename(path),
                                conversation=conversation["name"]))
    for source in snippets["sources"]:
        variables = {"messages": None, "tools": None, "documents": None, "add_generation_prompt": True, "bos_token": "",
                     "eos_token": ""}
        variables.update(snippets["variables"])
        results.append(dict(render(source, variables), template=source, conversation=""))
    json.dump(results, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1])
