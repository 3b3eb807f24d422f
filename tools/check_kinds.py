"""Kinds of sections and messages: src/packet/kinds.h and spec/WIRE.md have the same tables, numbered from 1 without
gaps; layouts that name a kind's number, in the spec or above code, name that one.
"""
import re

import tree

header = (tree.ROOT / "src/packet/kinds.h").read_text()
spec = (tree.ROOT / "spec/WIRE.md").read_text()
problems = []


def in_header(table):
    """[(name, number, who may send it, what it is)]"""
    body = re.search(rf"^#define {table}\(X\)((?:.*\\\n)+.*)$", header, re.M)[1]
    rows = re.findall(r'X\((\w+), (\d+), (\w+),\s*(?:\\\s*)?"([^"]*)"\)', body)
    if len(rows) != body.count("X("):
        problems.append(f"kinds.h: {table} has rows that are not X(NAME, number, WHO, \"what\")")
    return rows


def in_spec(what):
    body = re.search(rf"^\| kind \| {what} \|.*\n\|[-|]+\n((?:\|.*\n)+)", spec, re.M)[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines()]
    return [(name, number, who.upper(), text) for number, name, who, text, *_ in rows]


numbers = {}
for table, what in (("SECTION_TABLE", "section"), ("MESSAGE_TABLE", "message")):
    ours, theirs = in_header(table), in_spec(what)
    problems += [f"kinds.h, not WIRE.md: {what} {' '.join(row)}" for row in ours if row not in theirs]
    problems += [f"WIRE.md, not kinds.h: {what} {' '.join(row)}" for row in theirs if row not in ours]
    if [int(number) for _, number, *_ in ours] != list(range(1, len(ours) + 1)):
        problems.append(f"kinds.h: {table} does not count from 1 without gaps")
    numbers.update((name, number) for name, number, *_ in ours)

texts = {path.relative_to(tree.ROOT): path.read_text() for path in tree.files(".c", ".h") if "src" in path.parts}
for where, text in {"spec/WIRE.md": spec, **texts}.items():
    for name, number in re.findall(r"\b([A-Z_]+): (?:8 kind|kind 8) = (\d+),", text):
        if numbers.get(name, number) != number:
            problems.append(f"{where}: {name} is kind {numbers[name]}, not {number}")
tree.report(problems)
