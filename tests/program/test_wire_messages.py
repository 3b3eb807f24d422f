#!/usr/bin/env python3
"""spec/vectors/message.json against readers of messages written from spec/WIRE.md alone (sections 7.11, 8.1, 8.8 to 8.12).

    test_wire_messages.py PROGRAM        (the program is not needed; all tests here are called alike)

No line here was taken from the library. Each reader gives a dict of what a message says, or raises Refused.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wire_decoder as wire  # noqa: E402
from vector_reader import finish, load, problems  # noqa: E402

STEP_NS = 250_000
KINDS = wire.kinds("message")


class Fields(wire.Bits):
    """Fields one after the other, by name."""

    def __init__(self, data):
        super().__init__(data)
        self.said = {}

    def refuse_unless(self, good, why):
        if not good:
            raise wire.Refused(why)

    def field(self, name, width, least=0, most=None):
        value = self.take(width)
        self.refuse_unless(value >= least and (most is None or value <= most), name)
        self.said[name] = value
        return value

    def signed(self, name, most):
        value = self.take(64)
        value -= (value >> 63) << 64
        self.refuse_unless(-most <= value <= most, name)
        self.said[name] = value

    def kind(self, value):
        self.refuse_unless(self.take(8) == value, "kind")

    def time(self, name):
        self.said[name] = self.take(40) * STEP_NS

    def left(self):
        return (self.size - self.at) // 8

    def hex(self, name, count):
        self.said[name] = bytes(self.take(8) for _ in range(count)).hex()

    def rest(self, most=None, least=0):
        self.refuse_unless(least <= self.left() and (most is None or self.left() <= most), "rest")
        self.hex("rest", self.left())

    def reals(self, name, quantisers):
        values = wire.take_reals(self, quantisers, False)
        self.refuse_unless(None not in values, name)
        self.said[name] = values

    def end(self):
        """Nothing more, but zeros to the end of the byte."""
        self.refuse_unless(self.take(-self.at % 8) == 0 and self.at == self.size, "padding")
        return self.said


# ---------------------------------------------------------------- section 8.1

def event(f, about):
    f.kind(KINDS["EVENT"])
    f.field("from", 16)
    if f.field("delivery", 8, 0, 3) == 3:
        f.field("channel", 8, 1, 15)
        f.field("priority", 8)
    count = f.take(8)
    f.refuse_unless(count <= 64, "to_count")
    f.said["to"] = [f.take(16) for _ in range(count)]
    f.field("type", 16)
    f.rest(1024)


# ---------------------------------------------------------------- section 8.8

def probe(f, about):
    f.kind(1)
    f.signed("stamp", 2 ** 63)


def vector(f, about):
    f.kind(2)
    f.field("round", 32, 1)
    f.field("asks", 8, 0, 1)
    members = f.field("members", 64)
    f.refuse_unless(members >> about["sender"] & 1, "its own bit")
    if f.field("plays", 8, 0, 2) != 0:
        f.signed("a", 2 ** 61)
    for member in range(64):
        if members >> member & 1 and member != about["sender"]:
            f.signed(f"v{member}", 2 ** 60)


def ready(f, about):
    f.kind(3)
    f.field("round", 32, 1)
    f.field("asks", 8, 0, 1)
    f.signed("stamp", 2 ** 63)


def offset(f, about):
    f.kind(5)
    f.signed("at", 2 ** 61)
    f.signed("from", 2 ** 61)
    f.signed("to", 2 ** 61)
    f.refuse_unless(abs(f.said["to"] - f.said["from"]) <= 2 ** 31, "to")
    f.field("slew", 32, 1000, 500_000)


def action(f, about):
    f.kind(4)
    f.field("sequence", 32)
    f.signed("play", 2 ** 63)
    f.signed("stamp", 2 ** 63)
    f.field("type", 16)
    f.rest(160)


# ---------------------------------------------------------------- section 8.9

def hashes(f, about):
    f.field("first", 32)
    f.said["hashes"] = []
    count = f.take(8)
    f.refuse_unless(1 <= count <= 64, "count")
    f.said["hashes"] = [f.take(16) for _ in range(count)]


def tick_range(f, about):
    f.field("player", 8, 0, 63)
    f.field("of", 8)
    f.field("flags", 8, 0, 3)
    newest = f.field("newest", 32)
    first = f.field("first", 32)
    count = f.field("count", 16)
    f.refuse_unless((first + count - 1 - newest - 1) % 2 ** 32 >= 2 ** 31, "more than up to the newest")
    f.hex("rest", count * about["input_bytes"])


def enter(f, about):
    f.field("player", 8, 0, 63)
    f.field("of", 8)
    f.field("tick", 32)


def snapshot(f, about):
    f.field("tick", 64)
    f.field("offset", 32)
    f.rest(least=1)


# ---------------------------------------------------------------- sections 8.10 and 8.12

def name(f):
    f.field("from", 16)
    f.field("of", 8)
    f.field("serial", 32)


def state(f):
    f.hex("state", f.take(8))


def call(f, about):
    f.kind(KINDS["CALL"])
    name(f)
    f.field("number", 16)
    f.field("epoch", 16)
    f.field("call", 16)
    f.time("until_ns")
    if f.field("predicted", 8, 0, 1) == 1:
        f.field("hash", 16)
    f.rest(64)


def answer(f, about):
    f.kind(KINDS["ANSWER"])
    name(f)
    f.field("number", 16)
    f.field("epoch", 16)
    f.field("answer", 8, 0, 2)
    f.field("version", 16)
    state(f)


def handover(f, about):
    f.kind(KINDS["HANDOVER"])
    f.field("number", 16)
    epoch = f.field("epoch", 16)
    floor = f.field("floor", 16)
    f.refuse_unless((floor - epoch - 1) % 2 ** 16 >= 2 ** 15, "floor")
    f.field("version", 16)
    state(f)
    count = f.take(8)
    f.refuse_unless(count <= 64, "decided")
    f.said["decided"] = []
    for _ in range(count):
        decided = [f.take(16), f.take(8), f.take(32), f.take(8), f.take(40) * STEP_NS]
        f.refuse_unless(decided[3] <= 1, "applied")
        f.said["decided"].append(decided)


def ask(f, about):
    f.kind(KINDS["ASK"])
    f.field("round", 16)
    f.field("all", 8, 0, 1)


def claim(f, about):
    f.kind(KINDS["CLAIM"])
    f.field("number", 16)
    f.field("epoch", 16)
    owner = f.field("owner", 16)
    ended = f.field("ended", 8, 0, 1)
    f.field("version", 16)
    state(f)
    f.refuse_unless(not ended or (owner == 0 and f.said["version"] == 0 and f.said["state"] == ""), "ended, and more")


def claimed(f, about):
    f.kind(KINDS["CLAIMED"])
    f.field("round", 16)


# ---------------------------------------------------------------- section 8.11

def damage(f, about):
    f.field("shooter", 16)
    f.field("weapon", 8)
    f.field("damage", 16)
    f.time("time_ns")
    f.reals("position", about["world"].position)


def death(f, about):
    f.field("victim", 16)
    f.field("weapon", 8)
    f.time("time_ns")


def pickup(f, about):
    f.field("taker", 16)
    f.time("time_ns")


def door(f, about):
    f.field("by", 16)
    f.field("open", 1)
    f.time("time_ns")


def missile(f, about):
    f.field("shooter", 16)
    f.field("weapon", 8)
    f.time("time_ns")
    f.reals("position", about["world"].position)
    f.reals("velocity", about["world"].velocity)


# ---------------------------------------------------------------- section 7.11

def guidance(f, about):
    world = about["world"]
    capacity = world.definition["entity_capacity"]
    f.field("entity", world.entity_width, 0, capacity - 1)
    f.field("life", 2)
    f.said["time_ns"] = wire.unwrap(f.take(16), about["stamp_ns"]) * STEP_NS
    f.said["ahead_ns"] = f.take(8) * 16_000_000
    f.reals("position", world.position)
    for number in range(f.field("points", 2)):
        f.reals(f"point_{number}", world.position)
    if f.field("aimed", 1) == 1:
        f.field("target", world.entity_width, 0, capacity - 1)
    f.said["yaw"] = wire.yaw_of(world, f.take(world.yaw_width))
    f.said["pitch"] = (f.take(6) - 32) * (math.pi / 64)
    f.field("actions_0", 4)
    f.field("actions_1", 4)


READERS = {reader.__name__.upper(): reader for reader in (
    probe, vector, ready, offset, action, hashes, tick_range, enter, snapshot, call, answer, handover, ask, claim, claimed, damage,
    death, pickup, door, missile, guidance, event)}

# What follows to the end has no length of its own, so a shorter one is another message.
OPEN = {"ACTION": 23, "SNAPSHOT": 13, "CALL": 20, "EVENT": 7}


def read(vector_, about):
    fields = Fields(bytes.fromhex(vector_["bytes"]))
    READERS[vector_["message"]](fields, about)
    return fields.end()


def is_refused(vector_, about):
    try:
        read(vector_, about)
    except wire.Refused:
        return True
    return False


def check_message(vector_, about):
    where = f"{vector_['message']} {vector_['bytes'][:40]}:"
    about = {**about, "stamp_ns": vector_.get("stamp_ns", 0)}
    want = {key: value for key, value in vector_.items() if key not in ("message", "bytes", "stamp_ns")}
    got = read(vector_, about)
    for key in want.keys() | got.keys():
        if want.get(key) != got.get(key):
            problems.append(f"{where} {key} is {got.get(key)}, not {want.get(key)}")
    data = vector_["bytes"]
    least = OPEN.get(vector_["message"], len(data) // 2) + 2 * bool(got.get("predicted")) + 2 * len(got["to"] if vector_["message"] == "EVENT" else ())
    for size in range(least):
        if not is_refused({"message": vector_["message"], "bytes": data[:2 * size]}, about):
            problems.append(f"{where} is taken when cut to {size} bytes")


def main():
    kept = load("message")
    worlds = load("update")["worlds"]
    about = {"sender": kept["sender"], "input_bytes": kept["input_bytes"], "stamp_ns": 10 ** 9,
             "world": wire.World(next(world for world in worlds if world["name"] == "default"))}
    for one in kept["messages"]:
        check_message(one, about)
    for one in kept["refused"]:
        if not is_refused(one, about):
            problems.append(f"{one['message']} {one['bytes'][:40]}: {one['why']}, and is taken")
    for missing in READERS.keys() - {one["message"] for one in kept["messages"]}:
        problems.append(f"{missing}: no vectors")
    finish(f"{len(kept['messages'])} messages, {len(kept['refused'])} refused")


main()
