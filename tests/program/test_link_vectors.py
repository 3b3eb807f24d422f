#!/usr/bin/env python3
"""spec/vectors/link.json against a reader of PACKET, ARRIVALS and FRAGMENT written from spec/WIRE.md alone.

    test_link_vectors.py PROGRAM        (the program is not needed; all tests here are called alike)

No line here was taken from the library: sections 1, 2, 5 and 6 say all there is to know.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from vector_reader import finish, load  # noqa: E402


class Dropped(Exception):
    pass


# ---------------------------------------------------------------- sections 1 and 2

class Bits:
    def __init__(self, data):
        self.whole = int.from_bytes(data, "little")
        self.size = 8 * len(data)
        self.at = 0

    def take(self, width):
        if self.at + width > self.size:
            raise Dropped("short")
        value = self.whole >> self.at & (1 << width) - 1
        self.at += width
        return value

    def align(self):
        if self.take(-self.at % 8) != 0:
            raise Dropped("malformed")


def nearest(near, low, width):
    """The number nearest to `near` with these low bits; half way, the later one."""
    circle = 1 << width
    ahead = (low - near) % circle
    return near + ahead if ahead <= circle // 2 else near + ahead - circle


def last_not_after(limit, low, width):
    return limit - (limit - low) % (1 << width)


# ---------------------------------------------------------------- section 6.1

def read_arrivals(bits, next_own, stamp):
    newest = bits.take(16)
    settled = bits.take(16)
    count = bits.take(5)
    refusals = bits.take(1)
    low = bits.take(24)
    if count == 0:
        raise Dropped("malformed")
    sequence = nearest(next_own, newest, 16)
    settled = nearest(sequence, settled, 16)
    arrived = last_not_after(stamp, low, 24)
    unsent = sequence >= next_own
    reports = []
    for i in range(count):
        if i > 0:
            sequence -= 2 + bits.take(8) if bits.take(1) else 1
            long = bits.take(1)
            code = bits.take(16 if long else 8)
            if long and code < 256:
                raise Dropped("malformed")
            arrived -= -(code + 1) // 2 if code % 2 else code // 2
        refused = bits.take(1) == 1 if refusals else False
        if not 0 <= arrived <= stamp:
            raise Dropped("malformed")
        reports.append([sequence, arrived, refused])
    if refusals and not any(refused for _, _, refused in reports):
        raise Dropped("malformed")
    if not 0 <= settled <= sequence:
        raise Dropped("malformed")
    if unsent:
        raise Dropped("unsent")
    return settled, reports


# ---------------------------------------------------------------- section 6.2

def read_fragments(bits, data, firsts):
    fragments = []
    more = 1
    while more:
        if len(fragments) == 16:
            raise Dropped("malformed")
        more = bits.take(1)
        stream = bits.take(1)
        serial = bits.take(16)
        length = bits.take(8) + 1
        after = bits.take(6)
        if stream == 0 and after != 0:
            raise Dropped("malformed")
        start = bits.at // 8
        bits.take(8 * length)
        number = nearest(firsts[stream], serial, 16)
        if number < after or number >= firsts[stream] + 128:
            raise Dropped("window")
        fragments.append([stream, number, after, data[start:start + length].hex()])
    return fragments


def read_messages(fragments):
    data = b"".join(fragments)
    messages = []
    while data:
        length = 0
        for i in range(3):
            length |= (data[i] & 0x7f) << 7 * i
            if data[i] < 0x80:
                break
        assert data[i] < 0x80 and 1 <= length <= 1 << 20 and (i == 0 or data[i] != 0), "a length no sender writes"
        messages.append(data[i + 1:i + 1 + length])
        assert len(messages[-1]) == length
        data = data[i + 1 + length:]
    return messages


# ---------------------------------------------------------------- section 5

def read_packet(data, reader):
    bits = Bits(data)
    said = {}
    if len(data) > 1200:
        raise Dropped("large")
    if "carrier_sequence" in reader:
        said["sequence"] = reader["carrier_sequence"]
    else:
        conversation = bits.take(16)
        low = bits.take(16)
        if conversation != reader["conversation"]:
            raise Dropped("conversation")
        said["sequence"] = nearest(reader["newest_taken"], low, 16)
    low = bits.take(24)
    has_arrivals, has_fragments, answer, crowded, zero = (bits.take(width) for width in (1, 1, 1, 1, 4))
    expected = reader["stamp_expected"]
    said["stamp"] = low if expected is None else nearest(expected, low, 24)
    said["answer"] = answer == 1
    if zero or said["stamp"] < 0 or said["sequence"] < 0:
        raise Dropped("malformed")
    if crowded:
        said["oldest"] = last_not_after(said["sequence"], bits.take(16), 16)
        if said["oldest"] < 0:
            raise Dropped("malformed")
    if has_arrivals:
        said["settled"], said["reports"] = read_arrivals(bits, reader["next_own"], said["stamp"])
        bits.align()
    if has_fragments:
        said["fragments"] = read_fragments(bits, data, reader["first_fragments"])
    said["payload"] = data[bits.at // 8:].hex()
    return said


KNOWN = {"conversation", "newest_taken", "next_own", "stamp_expected", "carrier_sequence", "first_fragments"}
FRESH = {"conversation": 0x1234, "newest_taken": -1, "next_own": 2, "stamp_expected": None, "first_fragments": [0, 0]}


def main():
    vectors = load("link")
    seen = set()
    for vector in vectors["packets"]:
        data = bytes.fromhex(vector["bytes"])
        reader = {key: vector[key] for key in KNOWN if key in vector}
        said = {key: value for key, value in vector.items() if key not in KNOWN | {"why", "bytes"}}
        got = read_packet(data, reader)
        assert got == said, f"{vector['why']}: read {got}, told {said}"
        seen |= {key for key, value in said.items() if value}
        seen |= {"refused" for report in said.get("reports", []) if report[2]}
        # What is cut off is short, or ends a payload early.
        for size in range(len(data)):
            try:
                cut = read_packet(data[:size], reader)
                assert cut | {"payload": said["payload"]} == said and said["payload"].startswith(cut["payload"])
            except Dropped as reason:
                assert str(reason) == "short", f"{vector['why']}, {size} bytes: {reason}"
    missing = {"answer", "oldest", "settled", "reports", "refused", "fragments", "payload"} - seen
    assert not missing, f"no packet shows {missing}"
    reasons = set()
    for vector in vectors["dropped"]:
        try:
            got = read_packet(bytes.fromhex(vector["bytes"]), FRESH)
            raise AssertionError(f"{vector['why']}: taken as {got}")
        except Dropped as reason:
            assert str(reason) == vector["reason"], f"{vector['why']}: {reason}, not {vector['reason']}"
            reasons.add(str(reason))
    assert reasons >= {"short", "malformed", "conversation", "unsent", "window"}, reasons
    for vector in vectors["streams"]:
        messages = [bytes.fromhex(text) for text in vector["messages"]]
        assert read_messages([bytes.fromhex(text) for text in vector["fragments"]]) == messages
    finish(f"{len(vectors['packets'])} packets, {len(vectors['dropped'])} drops, {len(vectors['streams'])} streams")


main()
