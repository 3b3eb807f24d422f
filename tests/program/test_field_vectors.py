#!/usr/bin/env python3
"""spec/vectors/fields.json against a reader of KIND and GROUPS written from spec/WIRE.md alone (sections 7.16 and 8.14).

    test_field_vectors.py PROGRAM        (the program is not needed; all tests here are called alike)
"""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wire_decoder as wire  # noqa: E402
from vector_reader import check, finish, load  # noqa: E402

TYPES = ("int", "real", "bits", "angle", "bytes")


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


def last_of(field):
    if field["type"] in ("int", "real"):
        step = field["step"] if field["type"] == "real" else 1
        return wire.round_away((field["high"] - field["low"]) / step)
    return field["size"] if field["type"] == "bytes" else (1 << field["size"]) - 1


def field_hash(field):
    real = field["type"] == "real"
    step = field["step"] if real else 1.0 if field["type"] == "int" else 0.0
    low = field["low"] if field["type"] in ("int", "real") else 0.0
    return fnv(field["name"].encode() + b"\0" + struct.pack("<QQQdd", TYPES.index(field["type"]), field["group"], last_of(field), low, step))


def kind_hash(kind):
    return fnv(kind["name"].encode() + b"\0" + struct.pack("<QQ", kind["version"], kind["private_groups"])
               + b"".join(struct.pack("<Q", field_hash(field)) for field in kind["fields"]))


def check_kind(kind, message):
    bits = wire.Bits(bytes.fromhex(message["bytes"]))
    check(bits.take(8) == wire.kinds("message")["KIND"], "KIND: its kind")
    check((bits.take(8), bits.take(8)) == (message["sort"], message["reply"]), "KIND: sort, reply")
    check(bits.take(32) == kind_hash(kind) & 0xffffffff, "KIND: hash")
    check(bits.take(16) == kind["version"], "KIND: version")
    name = bytes(bits.take(8) for _ in range(bits.take(8)))
    check(name.decode() == kind["name"], "KIND: name", name)
    hashes = [bits.take(16) for _ in range(bits.take(8))]
    check(hashes == [field_hash(field) & 0xffff for field in kind["fields"]], "KIND: hashes of fields")
    check(bits.at == bits.size, "KIND: more follows")


def read_field(bits, field):
    last = last_of(field)
    index = bits.take(last.bit_length())
    if index > last:
        raise wire.Refused("index")
    if field["type"] == "int":
        return int(field["low"]) + index
    if field["type"] == "real":
        return field["low"] + index * field["step"]
    if field["type"] == "angle":
        whole = 1 << field["size"]
        return (index - whole if index > whole // 2 else index) * (2 * math.pi / whole)
    return index if field["type"] == "bits" else bytes(bits.take(8) for _ in range(index)).hex()


def read_groups(kind, data):
    bits = wire.Bits(data)
    groups = 1 + max(field["group"] for field in kind["fields"])
    mask = bits.take(groups) if groups > 1 else 1
    if mask == 0:
        raise wire.Refused("no group")
    said = {"mask": mask}
    for group in range(groups):
        for field in kind["fields"]:
            if field["group"] == group and mask >> group & 1:
                said[field["name"]] = read_field(bits, field)
    if bits.take(-bits.at % 8) != 0 or bits.at != bits.size:
        raise wire.Refused("padding")
    return said


def is_refused(kind, data):
    try:
        read_groups(kind, data)
    except wire.Refused:
        return True
    return False


def main():
    vectors = load("fields")
    kind = vectors["kind"]
    for message in vectors["messages"]:
        check_kind(kind, message)
    for row in vectors["groups"]:
        got = read_groups(kind, bytes.fromhex(row["bytes"]))
        want = {key: value for key, value in row.items() if key != "bytes"}
        check(got == want, row["bytes"], "is", got, "not", want)
    for row in vectors["refused"]:
        check(is_refused(kind, bytes.fromhex(row["bytes"])), row["bytes"], row["why"], "and is taken")
    finish(f"{len(vectors['groups'])} groups, {len(vectors['refused'])} refused")


main()
