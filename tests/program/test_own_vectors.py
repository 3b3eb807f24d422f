#!/usr/bin/env python3
"""spec/vectors/own.json against a reader of OWN written from spec/WIRE.md alone (section 7.15).

    test_own_vectors.py PROGRAM        (the program is not needed; all tests here are called alike)
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wire_decoder as wire  # noqa: E402
from vector_reader import check, finish, load  # noqa: E402

HEAD = struct.Struct("<BIBhhH")
STATE_MOST = 1000
NONE_CAME = -32768


def read(data):
    """(tick, missed, late_tick, late, state) of a section; None: no host writes that."""
    if len(data) < HEAD.size:
        return None
    kind, tick, missed, late_tick, late, count = HEAD.unpack_from(data)
    whole = kind == wire.kinds("section")["OWN"] and 1 <= count <= STATE_MOST and len(data) == HEAD.size + count
    if not whole or (late == NONE_CAME and late_tick != 0):
        return None
    return tick, missed, late_tick, late, data[HEAD.size:]


def main():
    vectors = load("own")
    for row in vectors["sections"]:
        said = tuple(row[name] for name in ("tick", "missed", "late_tick", "late")) + (bytes.fromhex(row["state"]),)
        found = read(bytes.fromhex(row["bytes"]))
        check(found == said, "OWN:", found, "is not", said)
    for row in vectors["refused"]:
        check(read(bytes.fromhex(row["bytes"])) is None, "taken, though", row["why"])
    check(len(vectors["sections"]) > 0 and len(vectors["refused"]) > 0, "nothing to read")
    finish(f"{len(vectors['sections'])} sections, {len(vectors['refused'])} refused")


main()
