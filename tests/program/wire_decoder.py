"""Reads updates from bytes, as spec/WIRE.md says and in no other way: no line here was taken from the library.

World(definition) has the quantisers and the protocol id; decode(world, bytes, stamp_ns) gives a dict of what an
update says or raises Refused; where(update, seconds) says what it means.
"""
import math
import pathlib
import re
import struct

MODELS = ("still", "linear", "quadratic", "circular", "cubic")
FACINGS = ("none", "yaw", "free")
STEP_NS = 250_000
WIRE_VERSION = 4
SPEC = pathlib.Path(__file__).resolve().parents[2] / "spec/WIRE.md"


def kinds(what):
    """{name: number} of the kinds of sections or messages, as the tables of sections 7 and 8 say."""
    table = re.search(rf"^\| kind \| {what} \|.*\n\|[-|]+\n((?:\|.*\n)+)", SPEC.read_text(), re.M)[1]
    return {name: int(number) for number, name in re.findall(r"^\| (\d+) \| (\w+) \|", table, re.M)}


class Refused(Exception):
    pass


# ---------------------------------------------------------------- section 1: bits and rounding

class Bits:
    def __init__(self, data):
        self.whole = int.from_bytes(data, "little")  # the lowest bit of the first byte comes first
        self.size = 8 * len(data)
        self.at = 0

    def take(self, width):
        if self.at + width > self.size:
            raise Refused("TRUNCATED")
        value = self.whole >> self.at & ((1 << width) - 1)
        self.at += width
        return value


def round_away(x):
    """The nearest integer, half way away from zero."""
    whole = math.floor(abs(x))
    whole += abs(x) - whole >= 0.5
    return whole if x >= 0 else -whole


# ---------------------------------------------------------------- section 3: the world

class Quantiser:
    def __init__(self, step, low=None, high=None, top=None):
        self.step = step
        if top is None:
            self.origin, self.zero = low, 0
            self.last = round_away((high - low) / step)
        else:
            self.origin, self.zero = 0.0, round_away(top / step)
            self.last = 2 * self.zero
        self.width = self.last.bit_length()

    def value(self, index):
        return self.origin + (index - self.zero) * self.step

    def fits(self, value):
        steps = (value - self.origin) / self.step
        return math.isfinite(steps) and 0 <= self.zero + round_away(steps) <= self.last


class World:
    def __init__(self, d):
        self.definition = d
        precision, angle = d["precision"], d["angle_precision"]
        there = [high > low for low, high in zip(d["low"], d["high"])]
        self.position = [Quantiser(precision, low=low, high=high) for low, high in zip(d["low"], d["high"])]
        self.velocity = [Quantiser(precision, top=d["top_speed"] if axis else 0.0) for axis in there]
        self.acceleration = [Quantiser(2 * precision, top=d["top_acceleration"] if axis else 0.0) for axis in there]
        self.turn_rate = [Quantiser(2 * precision / d["top_speed"], top=d["top_turn_rate"])]
        self.spin = [Quantiser(angle, top=d["top_turn_rate"]) for _ in range(3)]
        self.entity_width = (d["entity_capacity"] - 1).bit_length()
        self.yaw_width = 1
        while 2 ** self.yaw_width * angle < 2 * math.pi:
            self.yaw_width += 1
        self.part_width = 3
        while self.rotation_scale() * angle < 3.5:
            self.part_width += 1

    def rotation_scale(self):
        return math.isqrt(2 ** (2 * self.part_width - 1))

    def protocol_id(self):
        d = self.definition
        reals = [*d["low"], *d["high"], d["precision"], d["top_speed"], d["top_acceleration"], d["top_turn_rate"],
                 d["angle_precision"]]
        data = struct.pack("<I11dII", WIRE_VERSION, *[x + 0.0 for x in reals], d["entity_capacity"],
                           d["application_version"])
        assert len(data) == 100
        hashed = 0xCBF29CE484222325
        for byte in data:
            hashed = (hashed ^ byte) * 0x100000001B3 % 2 ** 64
        return hashed


# ---------------------------------------------------------------- section 4: UPDATE

def take_reals(bits, quantisers, wide):
    """One value per quantiser. None in place of what is not valid: the whole must be read first."""
    if not wide:
        indices = [bits.take(q.width) for q in quantisers]
        return [q.value(i) if i <= q.last else None for q, i in zip(quantisers, indices)]
    values = []
    for _ in quantisers:
        pattern = bits.take(64)
        value = struct.unpack("<d", struct.pack("<Q", pattern))[0]
        values.append(value if math.isfinite(value) and pattern != 1 << 63 else None)
    return values


def yaw_of(world, index):
    count = 2 ** world.yaw_width
    return (index - count if index > count // 2 else index) * (2 * math.pi / count)


def rotation_of(world, field):
    scale, width = world.rotation_scale(), world.part_width
    largest = field & 3
    steps = [(field >> 2 + i * width & 2 ** width - 1) - (2 ** (width - 1) - 1) for i in range(3)]
    left = scale ** 2 - sum(a * a for a in steps)
    others = [component for component in range(4) if component != largest]
    for component, a in zip(others, steps):
        if a * a > left or (component < largest and a * a == left):
            return None
    rotation = [0.0] * 4
    rotation[largest] = math.sqrt(left) / scale
    for component, a in zip(others, steps):
        rotation[component] = a / scale
    return rotation


def curve(start, speed, end, end_speed, seconds):
    """Acceleration and jerk of the cubic between two ends, on one axis."""
    missed = end - (start + speed * seconds)
    change = (end_speed - speed) * seconds
    return ((3 * missed - change) * (2 / (seconds * seconds)),
            (change - 2 * missed) * (6 / (seconds * seconds * seconds)))


def unwrap(low, stamp_ns):
    latest = stamp_ns // STEP_NS + 4000
    return latest - (latest - low) % 65536


def fits_narrow(world, u):
    """Whether a wide update could have been narrow."""
    pairs = list(zip(world.position, u["position"]))
    if u["model"] != "still":
        pairs += zip(world.velocity, u["velocity"])
    if u["model"] == "quadratic":
        pairs += zip(world.acceleration, u["acceleration"])
    if u["model"] == "circular":
        pairs.append((world.turn_rate[0], u["turn_rate"]))
    if u["model"] == "cubic":
        steps = max(1, (u["duration_ns"] + STEP_NS // 2) // STEP_NS)
        if steps > 65535:
            return False
        end, end_velocity = place(u, steps * STEP_NS / 1e9)
        pairs += [*zip(world.position, end), *zip(world.velocity, end_velocity)]
    if u["facing"] == "yaw":
        pairs.append((world.spin[0], u["yaw_rate"]))
    if u["facing"] == "free":
        pairs += zip(world.spin, u["spin"])
    return all(quantiser.fits(value) for quantiser, value in pairs)


def decode(world, data, stamp_ns):
    bits = Bits(data)
    u = {"wide": False}
    form = bits.take(4)
    fades = False
    if form == 15:
        form = bits.take(4)
        fades = form == 15
        u["wide"] = not fades
    if fades:
        form = bits.take(4)
        if not 3 <= form <= 11:
            raise Refused("BAD_FORM")
    wide = u["wide"]
    u["model"], u["facing"] = MODELS[form // 3], FACINGS[form % 3]
    u["entity"] = bits.take(world.entity_width)
    u["life"] = bits.take(2)
    u["time_ns"] = unwrap(bits.take(16), stamp_ns) * STEP_NS
    if fades:
        u["trust"], u["level"], u["vertical"] = bits.take(2), bits.take(4), bits.take(4)
        u["curve"] = bits.take(4) if u["model"] != "linear" else 0
    u["position"] = take_reals(bits, world.position, wide)
    u["velocity"] = [0.0, 0.0, 0.0]
    if u["model"] != "still":
        u["velocity"] = take_reals(bits, world.velocity, wide)
    values = [*u["position"], *u["velocity"]]
    if u["model"] == "quadratic":
        u["acceleration"] = take_reals(bits, world.acceleration, wide)
        values += u["acceleration"]
    if u["model"] == "circular":
        u["turn_rate"] = take_reals(bits, world.turn_rate, wide)[0]
        values.append(u["turn_rate"])
    if u["model"] == "cubic":
        first = take_reals(bits, world.position, wide)  # end position, or acceleration if wide
        second = take_reals(bits, world.velocity, wide)  # end velocity, or jerk if wide
        duration = bits.take(64 if wide else 16)
        u["duration_ns"] = duration if wide else duration * STEP_NS
        values += [*first, *second, duration if 1 <= duration < 2 ** 63 else None]
    if u["facing"] == "yaw":
        u["yaw"] = yaw_of(world, bits.take(world.yaw_width))
        u["yaw_rate"] = take_reals(bits, world.spin[:1], wide)[0]
        values.append(u["yaw_rate"])
    if u["facing"] == "free":
        u["rotation"] = rotation_of(world, bits.take(2 + 3 * world.part_width))
        u["spin"] = take_reals(bits, world.spin, wide)
        values += [u["rotation"], *u["spin"]]
    padding = bits.take(-bits.at % 8)
    if u["entity"] >= world.definition["entity_capacity"]:
        raise Refused("BAD_ENTITY")
    if abs(u["time_ns"]) > ((2 ** 63 - 1) // STEP_NS - 65536) * STEP_NS:
        raise Refused("BAD_TIME")
    if None in values or (fades and u["level"] == 0):
        raise Refused("BAD_VALUE")
    if padding != 0:
        raise Refused("BAD_PADDING")
    if u["model"] == "cubic" and wide:
        u["acceleration"], u["jerk"] = first, second
    elif u["model"] == "cubic":
        seconds = u["duration_ns"] / 1e9
        pairs = [curve(*axis, seconds) for axis in zip(u["position"], u["velocity"], first, second)]
        u["acceleration"], u["jerk"] = [list(axis) for axis in zip(*pairs)]
    if wide and fits_narrow(world, u):
        raise Refused("BAD_WIDE")
    u["size"] = bits.at // 8
    return u


# ---------------------------------------------------------------- what it means

def place(u, s):
    """Position and velocity s seconds after the update's time."""
    p, v = u["position"], u["velocity"]
    if u["model"] == "still":
        return list(p), [0.0, 0.0, 0.0]
    if u["model"] == "linear":
        return [p[i] + v[i] * s for i in range(3)], list(v)
    if u["model"] == "quadratic":
        a = u["acceleration"]
        return [p[i] + v[i] * s + a[i] * s * s / 2 for i in range(3)], [v[i] + a[i] * s for i in range(3)]
    if u["model"] == "circular":
        return place_on_circle(u, s)
    a, j, d = u["acceleration"], u["jerk"], u["duration_ns"] / 1e9
    on = min(max(s, 0.0), d)
    there = [p[i] + v[i] * on + a[i] * on ** 2 / 2 + j[i] * on ** 3 / 6 for i in range(3)]
    speed = [v[i] + a[i] * on + j[i] * on ** 2 / 2 for i in range(3)]
    return [there[i] + speed[i] * (s - on) for i in range(3)], speed


def place_on_circle(u, s):
    (px, py, pz), (vx, vy, vz), rate = u["position"], u["velocity"], u["turn_rate"]
    turned = [vx * math.cos(rate * s) - vy * math.sin(rate * s), vx * math.sin(rate * s) + vy * math.cos(rate * s), vz]
    if rate == 0.0:
        return [px + vx * s, py + vy * s, pz + vz * s], turned
    # The integral of the turning velocity: a circle about the point a quarter turn to the left.
    return [px + (turned[1] - vy) / rate, py - (turned[0] - vx) / rate, pz + vz * s], turned


FADE_NS = [0] + [ms * 10 ** 6 for ms in (25, 35, 50, 70, 100, 140, 200, 280, 400, 560, 800, 1100, 1600, 2200)]


def fade_time(code):
    return math.inf if code == 15 else FADE_NS[code] / 1e9


def reach(t, b):
    """How far it got b seconds after it was last known of, in seconds of its motion."""
    if b <= t:
        return b
    return t + (b - t) / 2 if b <= 3 * t else 2 * t + (b - 3 * t) / 4 if b <= 5 * t else 2.5 * t


def way_ahead(u, b):
    """The vector it went since then, and how far that is in x and y, and in z."""
    level, rise = reach(fade_time(u["level"]), b), reach(fade_time(u["vertical"]), b)

    def along(r):
        on = min(r, fade_time(u["curve"])) if u["model"] != "linear" else r
        there, speed = place(u, on)
        return [there[i] + speed[i] * (r - on) - u["position"][i] for i in range(3)]
    flat = along(level)
    return [flat[0], flat[1], along(rise)[2]], level, rise


def shown(u, delay_ns, at_ns):
    """Where a receiver whom it reached after delay_ns shows it, at_ns after its time."""
    trust = (0.0, 1.1, 2.2, math.inf)[u["trust"]]
    if trust == 0.0:
        return [u["position"][i] + way_ahead(u, at_ns / 1e9)[0][i] for i in range(3)]
    delay, at = delay_ns / 1e9, at_ns / 1e9
    codes = ["level", "vertical"] + (["curve"] if u["model"] != "linear" else [])
    seen, known = dict(u), trust + delay
    if any(fade_time(u[code]) < delay for code in codes):
        w, level, rise = way_ahead(u, delay)
        a, rate = u.get("acceleration", [0.0] * 3), u.get("turn_rate", 0.0)
        seen["position"] = [u["position"][i] + w[i] for i in range(3)]
        seen["velocity"] = [u["velocity"][0] + a[0] * level - rate * w[1], u["velocity"][1] + a[1] * level + rate * w[0],
                            u["velocity"][2] + a[2] * rise]
        at, known = at - delay, trust
    if at <= known:
        return place(seen, at)[0]
    start, speed = place(seen, known)
    on = dict(seen, position=start, velocity=speed)
    return [start[i] + way_ahead(on, at - known)[0][i] for i in range(3)]


def turn(u, s):
    """Facing s seconds after the update's time, as a quaternion (w, x, y, z); None if it has none."""
    if u["facing"] == "none":
        return None
    if u["facing"] == "yaw":
        half = (u["yaw"] + u["yaw_rate"] * s) / 2
        return [math.cos(half), 0.0, 0.0, math.sin(half)]
    length = math.sqrt(sum(x * x for x in u["spin"]))
    half = length * s / 2
    sine = math.sin(half) / length if length > 0.0 else 0.0
    return multiply([math.cos(half), *[x * sine for x in u["spin"]]], u["rotation"])


def multiply(a, b):
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return [aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw]
