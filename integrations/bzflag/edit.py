#!/usr/bin/env python3
"""Edits a source tree by anchors: usage: edit.py EDITS TREE OUT

EDITS holds our lines only. A section begins with `=== path`, an edit with one of

    @ after `anchor` [+N|-N] [K of M]      our lines come after the line with the anchor,
    @ before `anchor` [+N|-N] [K of M]     or before it; N lines further down or up
    @ swap `old` with `new` [K of M]       in the one line that has `old`

and its lines follow, up to the next. An anchor is text that occurs in exactly one line of the file, or in
M lines, of which the K-th is meant. Lines that begin with `#!` before the first section are comments. What is
edited goes to the same path under OUT, if it is not there already; nothing is written unless all edits fit."""

import re
import sys
from pathlib import Path

EDIT = re.compile(r"@ (after|before|swap) `([^`]+)`(?: with `([^`]*)`)?(?: ([+-]\d+))?(?: (\d+) of (\d+))?$")


class EditError(Exception):
    pass


def parse(text, name):
    """The edits by file: [(path, [(line number, kind, anchor, new, offset, which, of, lines)])]."""
    files = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        if line.startswith("=== "):
            files.append((line[4:].strip(), []))
        elif line.startswith("@"):
            match = EDIT.match(line)
            if not match:
                raise EditError(f"{where}: not an edit: {line}")
            kind, anchor, new, offset, which, of = match.groups()
            if not files:
                raise EditError(f"{where}: an edit before the first `=== path`")
            if (kind == "swap") != (new is not None) or (kind == "swap" and offset):
                raise EditError(f"{where}: `swap` needs `with`, and only `after` and `before` take an offset")
            if which and not 1 <= int(which) <= int(of):
                raise EditError(f"{where}: there is no {which} of {of}")
            files[-1][1].append((number, kind, anchor, new, int(offset or 0), int(which or 1), int(of or 1), []))
        elif files and files[-1][1]:
            if files[-1][1][-1][1] == "swap" and line.strip():
                raise EditError(f"{where}: `swap` takes no lines")
            files[-1][1][-1][-1].append(line)
        elif line.strip() and not line.startswith("#!"):
            raise EditError(f"{where}: neither a section nor an edit: {line}")
    return files


def apply(lines, edits, path, name):
    """The file's lines with all edits; anchors are looked for in the file as it was."""
    result = list(lines)
    inserts = []
    for number, kind, anchor, new, offset, which, of, ours in edits:
        hits = [i for i, line in enumerate(lines) if anchor in line]
        if len(hits) != of:
            raise EditError(f"{path} differs from what {name}:{number} expects: `{anchor}` is in {len(hits)} lines,"
                            f" not in {of}. Is this the version that the edits were written for, and untouched?")
        at = hits[which - 1]
        if kind == "swap":
            if result[at].count(anchor) != 1:
                raise EditError(f"{path}: {name}:{number}: `{anchor}` is in line {at + 1} more than once, or was swapped")
            result[at] = result[at].replace(anchor, new)
            continue
        while ours and not ours[-1].strip():
            ours = ours[:-1]
        place = at + offset + (1 if kind == "after" else 0)
        if not 0 <= place <= len(lines):
            raise EditError(f"{path}: {name}:{number}: line {place} is outside of the file")
        inserts.append((place, number, ours))
    for place, _, ours in sorted(inserts, key=lambda insert: insert[:2], reverse=True):
        result[place:place] = ours
    return result


def main(arguments):
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    edits, tree, out = map(Path, arguments)
    try:
        changed = []
        for path, wanted in parse(edits.read_text(encoding="utf-8"), edits.name):
            if not (tree / path).is_file():
                raise EditError(f"{path} is not in {tree}")
            lines = (tree / path).read_text(encoding="latin-1").split("\n")
            changed.append((out / path, "\n".join(apply(lines, wanted, path, edits.name))))
    except EditError as error:
        print(error, file=sys.stderr)
        return 1
    for target, text in changed:
        if not target.is_file() or target.read_text(encoding="latin-1") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="latin-1")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
