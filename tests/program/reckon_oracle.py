#!/usr/bin/env python3
"""What `fairlead trace reckon` must answer, worked out a second time and in another way.

Written from the definition (docs/guide/traces.md, "What is counted"), not from the C code: times are exact integers,
motions are evaluated by the textbook formulas, and integrals are taken numerically (adaptive Gauss-Kronrod), never in
closed form. Slow and simple on purpose. Standard library only.

    reckon_oracle.py FILE MODEL DISTANCE SILENCE DELAY_MS[,DELAY_MS...]      prints the JSON
    reckon_oracle.py --against PROGRAM FILE MODEL DISTANCE SILENCE DELAYS    runs both, compares, says so
"""
import csv
import gzip
import json
import math
import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

NS = 10**9


class Update:
    """A sample as it was told: stamped, with velocity and (circular only) turn rate."""

    def __init__(self, time, position, velocity, turn_rate):
        self.time, self.position, self.velocity, self.turn_rate = time, position, velocity, turn_rate

    def at(self, dt):
        """The position `dt` seconds after the stamp."""
        (x, y, z), (vx, vy, vz), w = self.position, self.velocity, self.turn_rate
        if abs(w) * abs(dt) < 1e-9:
            return x + vx * dt, y + vy * dt, z + vz * dt
        along = math.sin(w * dt) / w
        across = 2.0 * math.sin(w * dt / 2.0) ** 2 / w  # (1 - cos) / w, without cancellation
        return x + vx * along - vy * across, y + vy * along + vx * across, z + vz * dt


# ---------------------------------------------------------------- reading


def nanoseconds(seconds):
    return int((Decimal(seconds) * NS).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def read_lives(path):
    """Lives in order of id, then of time: [(id, life, samples)], a sample being (time, position, velocity, yaw_rate)."""
    opener = gzip.open if str(path).endswith(".gz") else open
    lives, current = [], {}
    with opener(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            key, life = int(row["id"]), int(row.get("life", 0))
            if key not in current or current[key][1] != life:
                current[key] = (key, life, [])
                lives.append(current[key])
            samples = current[key][2]
            time = nanoseconds(row["t"])
            position = tuple(float(row[c]) for c in "xyz")
            if "vx" in row:
                velocity = tuple(float(row["v" + c]) for c in "xyz")
            elif samples:
                seconds = (time - samples[-1][0]) / NS
                velocity = tuple((a - b) / seconds for a, b in zip(position, samples[-1][1]))
            else:
                velocity = (0.0, 0.0, 0.0)
            samples.append((time, position, velocity, float(row["yaw_rate"]) if "yaw_rate" in row else None))
    return sorted(lives, key=lambda life: life[0])  # stable: begins stay in order of time


# ---------------------------------------------------------------- the owner


def export(samples, model, distance, silence_ns):
    updates = []
    for time, position, velocity, yaw_rate in samples:
        if updates:
            last = updates[-1]
            gap = math.dist(position, last.at((time - last.time) / NS))
            if gap <= distance and time - last.time < silence_ns:
                continue
        if model == "still":
            velocity = (0.0, 0.0, 0.0)
        updates.append(Update(time, position, velocity, yaw_rate if model == "circular" else 0.0))
    return updates


# ---------------------------------------------------------------- a receiver

KRONROD = (
    (0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0),
    (0.949107912342758524526189684047851, 0.063092092629978553290700663189204, 0.129484966168869693270611432679082),
    (0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0),
    (0.741531185599394439863864773280788, 0.140653259715525918745189590510238, 0.279705391489276667901467771423780),
    (0.586087235467691130294144145387689, 0.169004726639267902826583426598550, 0.0),
    (0.405845151377397166906606412076961, 0.190350578064785409913256402421014, 0.381830050505118944950369775488975),
    (0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0),
    (0.000000000000000000000000000000000, 0.209482141084727828012999174891714, 0.417959183673469387755102040816327),
)


def integrate(f, a, b, depth=0):
    """Adaptive Gauss-Kronrod: halves until both rules agree to 1e-10 of the piece (a kink is halved away), or to the
    1e-12 that is lost in the rounding of coordinates anyway."""
    middle, half = (a + b) / 2.0, (b - a) / 2.0
    fine = coarse = 0.0
    for node, wk, wg in KRONROD:
        value = f(middle + half * node) + (f(middle - half * node) if node else 0.0)
        fine += wk * value
        coarse += wg * value
    fine, coarse = fine * half, coarse * half
    if abs(fine - coarse) <= max(1e-10 * abs(fine), 1e-12 * (b - a)) or depth == 40:
        return fine
    return integrate(f, a, middle, depth + 1) + integrate(f, middle, b, depth + 1)


def gap_integral(told, seen, begin, end):
    """Of |told - seen| over [begin, end] in nanoseconds."""
    if told is seen or begin >= end:
        return 0.0
    t0, s0 = (begin - told.time) / NS, (begin - seen.time) / NS
    return integrate(lambda u: math.dist(told.at(t0 + u), seen.at(s0 + u)), 0.0, (end - begin) / NS)


def view(samples, updates, delay_ns):
    end = samples[-1][0]
    first = updates[0].time + delay_ns
    if first > end:
        return {"export_error": None, "mean_error": None, "max_error": None}
    # Export error: between any two moments at which told or seen changes, both are one motion.
    moments = sorted({t for u in updates for t in (u.time, u.time + delay_ns) if first <= t <= end} | {end})
    total, told, seen = 0.0, 0, 0
    for begin, until in zip(moments, moments[1:]):
        while told + 1 < len(updates) and updates[told + 1].time <= begin:
            told += 1
        while seen + 1 < len(updates) and updates[seen + 1].time + delay_ns <= begin:
            seen += 1
        total += gap_integral(updates[told], updates[seen], begin, until)
    # Mean and maximum: against the truth, at the samples.
    errors, seen = [], 0
    for time, position, _, _ in samples:
        if time < first:
            continue
        while seen + 1 < len(updates) and updates[seen + 1].time + delay_ns <= time:
            seen += 1
        errors.append(math.dist(position, updates[seen].at((time - updates[seen].time) / NS)))
    return {"export_error": total, "mean_error": math.fsum(errors) / len(errors), "max_error": max(errors)}


# ---------------------------------------------------------------- the answer


def reckon(path, model, distance, silence, delays_ms):
    """`distance`, `silence` and `delays_ms` as they stand on the command line, as strings."""
    entities, span_total, update_total = [], 0, 0
    for key, life, samples in read_lives(path):
        updates = export(samples, model, float(distance), nanoseconds(silence))
        span = samples[-1][0] - samples[0][0]
        receivers = []
        for ms in delays_ms:
            receiver = {"delay_ms": float(ms)}
            receiver.update(view(samples, updates, nanoseconds(Decimal(ms) / 1000)))
            receivers.append(receiver)
        entities.append({"id": key, "life": life, "samples": len(samples), "seconds": span / NS,
                         "updates": len(updates), "receivers": receivers})
        span_total += span
        update_total += len(updates)
    rate = float(Fraction(update_total * NS, span_total)) if span_total else None
    return {"entities": entities,
            "total": {"seconds": span_total / NS, "updates": update_total, "updates_per_second": rate}}


def close(a, b, relative=1e-6, floor=1e-9):
    if a is None or b is None:
        return a is None and b is None
    return abs(a - b) <= max(floor, relative * abs(b))


def differences(got, want):
    """Everything in which the program's answer is not the oracle's; and the largest relative difference of errors."""
    wrong, worst = [], 0.0
    if list(got) != ["entities", "total"] or len(got["entities"]) != len(want["entities"]):
        return ["another shape of the answer"], worst
    for g, w in zip(got["entities"], want["entities"]):
        name = f"entity {w['id']} life {w['life']}"
        if list(g) != list(w):
            wrong.append(f"{name}: members {list(g)}")
        for key in ("id", "life", "samples", "updates"):
            if g[key] != w[key]:
                wrong.append(f"{name}: {key} {g[key]}, should be {w[key]}")
        if not close(g["seconds"], w["seconds"], 1e-12):
            wrong.append(f"{name}: seconds {g['seconds']}, should be {w['seconds']}")
        if len(g["receivers"]) != len(w["receivers"]):
            wrong.append(f"{name}: {len(g['receivers'])} receivers")
        for gr, wr in zip(g["receivers"], w["receivers"]):
            for key in wr:
                if not close(gr[key], wr[key]):
                    wrong.append(f"{name}, {wr['delay_ms']} ms: {key} {gr[key]}, should be {wr[key]}")
                elif wr[key] is not None and abs(wr[key]) > 1e-6:
                    worst = max(worst, abs(gr[key] - wr[key]) / abs(wr[key]))
    for key in want["total"]:
        if not close(got["total"][key], want["total"][key], 1e-12):
            wrong.append(f"total {key}: {got['total'][key]}, should be {want['total'][key]}")
    return wrong, worst


def compare(program, path, model, distance, silence, delays_ms):
    """Runs both. Answers (differences, largest relative difference, updates)."""
    command = [program, "trace", "reckon", str(path), "--json", "--model", model, "--distance", distance,
               "--silence", silence, "--delay", ",".join(delays_ms)]
    got = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    want = reckon(path, model, distance, silence, delays_ms)
    wrong, worst = differences(got, want)
    return wrong, worst, want["total"]["updates"]


def main(arguments):
    if len(arguments) == 7 and arguments[0] == "--against":
        wrong, worst, updates = compare(*arguments[1:6], arguments[6].split(","))
        print(*arguments[2:], f": {updates} updates,", f"{len(wrong)} differences" if wrong else "equal,",
              f"largest relative difference {worst:.1e}")
        print("\n".join(wrong[:20]), end="\n" if wrong else "")
        return 1 if wrong else 0
    if len(arguments) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    print(json.dumps(reckon(*arguments[:4], arguments[4].split(",")), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
