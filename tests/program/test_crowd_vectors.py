"""spec/vectors/crowd.json read by a decoder that knows spec/WIRE.md only: packets, messages, and who carries for whom.
(The program's path, given as an argument, is not needed.)"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wire_decoder as wire  # noqa: E402
from vector_reader import check, finish, load  # noqa: E402

HEARTBEAT, STREAM, BATCH, LOOK, REDIRECT, PART, BATCH_EPOCH, MISSED, MESSAGE, GUIDED = range(1, 11)

# ---------------------------------------------------------------- packets (11.2 to 11.8)

class Packet:
    """One packet."""

    def __init__(self, vectors, data, now):
        self.world, self.data, self.at, self.now = wire.World(vectors["world"]), data, 2, now
        self.entities = range(vectors["world"]["entity_capacity"])
        self.number = int.from_bytes(data[:2], "little")
        self.sections = []
        if len(data) <= 2:
            raise wire.Refused("no section")
        while self.at < len(data):
            self.sections.append(self.section())

    def take(self, count):
        if self.at + count > len(self.data):
            raise wire.Refused("cut short")
        value = int.from_bytes(self.data[self.at:self.at + count], "little")
        self.at += count
        return value

    def update(self):
        got = wire.decode(self.world, self.data[self.at:], self.now)
        self.at += got["size"]
        return {name: got[name] for name in ("entity", "life", "time_ns", "position", "velocity")}

    def entity(self):
        number = self.take(2)
        if number not in self.entities:
            raise wire.Refused("no entity")
        return number

    def guidance(self):
        """A GUIDANCE (7.11), to a whole byte."""
        bits, world = wire.Bits(self.data[self.at:]), self.world
        entity, life, low, ahead = bits.take(world.entity_width), bits.take(2), bits.take(16), bits.take(8)
        position = wire.take_reals(bits, world.position, False)
        points = bits.take(2)
        ways = [wire.take_reals(bits, world.position, False) for _ in range(points)]
        target = bits.take(world.entity_width) if bits.take(1) else 0
        bits.take(world.yaw_width + 6)
        actions = [bits.take(4), bits.take(4)]
        padding = bits.take(-bits.at % 8)
        reals = [real for way in [position, *ways] for real in way]
        if padding or None in reals or entity not in self.entities or target not in self.entities:
            raise wire.Refused("guidance")
        self.at += bits.at // 8
        return {"entity": entity, "life": life, "time_ns": wire.unwrap(low, self.now) * 250_000,
                "ahead_ns": ahead * 16_000_000, "position": position, "points": points, "actions": actions}

    def guided(self):
        count = self.take(1)
        if count == 0:
            raise wire.Refused("empty")
        return [{"epoch": self.take(1), "guidance": self.guidance()} for _ in range(count)]

    def updates(self, epochs):
        count = self.take(1)
        if count == 0:
            raise wire.Refused("empty")
        return [{"epoch": self.take(1) if epochs else 0, "update": self.update()} for _ in range(count)]

    def section(self):
        kind = self.take(1)
        if kind == HEARTBEAT:
            return {"kind": kind, "stamp": self.take(2), "spare": self.take(1), "passes": self.take(1),
                    "newest": self.take(2), "before": self.take(4)}
        if kind == STREAM:
            hops = self.take(1)
            if hops & 127 > 15:
                raise wire.Refused("hops")
            epoch = self.take(1) if hops & 128 else 0
            return {"kind": kind, "hops": hops & 127, "epoch": epoch, "update": self.update()}
        if kind in (BATCH, BATCH_EPOCH):
            return {"kind": kind, "updates": self.updates(kind == BATCH_EPOCH)}
        if kind == GUIDED:
            return {"kind": kind, "guided": self.guided()}
        if kind == LOOK:
            of = self.entity()
            return {"kind": kind, "of": of, "attention": self.take(1), "avoid": self.take(2)}
        if kind == REDIRECT:
            of, count = self.entity(), self.take(1)
            if count > 2:
                raise wire.Refused("too many")
            return {"kind": kind, "of": of, "to": [self.take(2) for _ in range(count)]}
        if kind == MISSED:
            carriers = [self.take(2) for _ in range(self.take(1))]
            if not 1 <= len(carriers) <= 4 or min(carriers) < 1:
                raise wire.Refused("missed")
            return {"kind": kind, "carriers": carriers}
        if kind == PART:
            return {"kind": kind}
        if kind == MESSAGE:
            count = self.take(2)
            if not 1 <= count <= 300:
                raise wire.Refused("length")
            return {"kind": kind, "message": self.take(count).to_bytes(count, "little").hex()}
        raise wire.Refused("kind")


def refusal(vectors, vector):
    try:
        Packet(vectors, bytes.fromhex(vector["bytes"]), vector.get("now_ns", 0))
    except wire.Refused as refused:
        return str(refused)
    return None


def check_packet(vectors, vector):
    got = Packet(vectors, bytes.fromhex(vector["bytes"]), vector["now_ns"])
    check(got.number == vector["number"], vector["bytes"], "number")
    check(got.sections == vector["sections"], vector["bytes"], got.sections, vector["sections"])


def check_message(vector):
    data = bytes.fromhex(vector["bytes"])
    kind, rest = data[0], int.from_bytes(data[1:], "little")
    kinds = wire.kinds("message")
    want = kind == kinds["WANT"]
    check(rest == vector.get("want" if want else "plan"), data.hex())
    check((kind, len(data)) in ((kinds["WANT"], 3), (kinds["PLAN"], 2)), data.hex())


# ---------------------------------------------------------------- the plan (11.10)

def points(q):
    """In the order of the seats: the first coordinate that is not zero is 1."""
    return [(1, a, b) for a in range(q) for b in range(q)] + [(0, 1, a) for a in range(q)] + [(0, 0, 1)]


class Plan:
    def __init__(self, vector):
        self.first, self.members = vector["first"], vector["members"]
        self.q = vector["order"]
        self.points = points(self.q)
        self.seats = len(self.points)
        self.present = [m for m in range(self.first, self.members) if m not in vector["gone"]]
        self.sitters = {seat: [] for seat in range(self.seats)}
        self.seat = {}
        self.sit_down()
        self.stands_in = {}  # (seat, number): who
        self.stand_in()

    def own_seat(self, m):
        i = (m - self.first) % self.seats
        x = i % self.q
        return x * self.q + (x * x + i // self.q) % self.q if i < self.q * self.q else i

    def after(self, seat):
        return [s % self.seats for s in range(seat + 1, seat + 1 + self.seats)]

    def sit_down(self):
        def sit(m, seat):
            self.sitters[seat].append(m)
            self.seat[m] = seat
        for m in self.present:
            if not self.sitters[self.own_seat(m)]:
                sit(m, self.own_seat(m))
        for m in self.present:
            if m not in self.seat:
                free = [s for s in self.after(self.own_seat(m)) if not self.sitters[s]]
                sit(m, free[0] if free else self.own_seat(m))

    def stand_in(self):
        for empty in [s for s in range(self.seats) if not self.sitters[s]]:
            at = empty
            for number in range(3):
                taken = [s for s in self.after(at) if self.sitters[s]]
                idle = [s for s in taken if self.sitters[s][0] not in self.stands_in.values()]
                at = (idle or taken)[0]
                self.stands_in[empty, number] = self.sitters[at][0]

    def third(self, empty, seat):
        return (seat // self.q if self.points[empty][2] != 0 else seat % self.q) % 3

    def seats_linked(self, a, b):
        return sum(x * y for x, y in zip(self.points[a], self.points[b])) % self.q == 0

    def linked(self, a, b):
        def stands_in_for(one, other):
            return any(who == one and self.seats_linked(empty, self.seat[other])
                       and self.third(empty, self.seat[other]) != number
                       for (empty, number), who in self.stands_in.items())
        return (self.seats_linked(self.seat[a], self.seat[b]) or self.seat[a] == self.seat[b]
                or stands_in_for(a, b) or stands_in_for(b, a))

    def carrier(self, a, b):
        common = [seat for seat in range(self.seats)
                  if self.seats_linked(seat, self.seat[a]) and self.seats_linked(seat, self.seat[b])]
        check(len(common) == 1, "one seat in common", a, b, common)
        sitters = self.sitters[common[0]]
        if not sitters:
            one, other = self.third(common[0], self.seat[a]), self.third(common[0], self.seat[b])
            number = 3 - one - other if one != other else (one + 1) % 3
            return self.stands_in[common[0], number]
        lot = ((min(a, b) << 16 | max(a, b)) * 0x9E3779B97F4A7C15 % 2 ** 64) >> 40
        return sitters[lot % len(sitters)]


def check_plan(vector):
    plan = Plan(vector)
    for a in range(plan.first, plan.members):
        for b in range(plan.first, plan.members):
            there = a != b and a in plan.seat and b in plan.seat
            expected = plan.carrier(a, b) if there and not plan.linked(a, b) else 0
            got = vector["carriers"][a - plan.first][b - plan.first]
            check(got == expected, f"order {plan.q}: between {a} and {b}: {got}, not {expected}")


vectors = load("crowd")
for vector in vectors["packets"]:
    check_packet(vectors, vector)
    data = bytes.fromhex(vector["bytes"])
    check(refusal(vectors, {**vector, "bytes": (data + b"\0").hex()}) is not None, "a byte too many", data.hex())
for vector in vectors["refused"]:
    check(refusal(vectors, vector) is not None, "taken:", vector["why"])
for vector in vectors["messages"]:
    check_message(vector)
for vector in vectors["plans"]:
    check_plan(vector)
finish(f"{len(vectors['packets'])} packets, {len(vectors['refused'])} refused, {len(vectors['plans'])} plans")
