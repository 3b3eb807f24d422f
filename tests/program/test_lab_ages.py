#!/usr/bin/env python3
"""`fairlead lab run ages` and `models`: on recordings made here whose best predictions are known.

    test_lab_ages.py PROGRAM
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])


def rows(*options):
    run = subprocess.run([PROGRAM, "lab", "run", *options, "--json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["rows"]


def record(path, seconds, at):
    lines = ["t,id,x,y,z,vx,vy,vz"]
    for i in range(seconds * 20):
        x, y, vx, vy = at(i / 20)
        lines.append(f"{i / 20:.3f},1,{x:.6f},{y:.6f},0,{vx:.6f},{vy:.6f},0")
    path.write_text("\n".join(lines) + "\n")


def circle(t):
    return 10 * math.sin(t), -10 * math.cos(t), 10 * math.cos(t), 10 * math.sin(t)


def shuttle(t):
    """To and fro at 10 units/s, a second each way: after 1.5 s nothing is known better than standing still."""
    phase = t % 2
    return (10 * phase if phase < 1 else 20 - 10 * phase), 0.0, (10.0 if phase < 1 else -10.0), 0.0


def weave(t):
    """Half circles of radius 10, to the left and to the right in turn."""
    half, angle = divmod(t, math.pi)
    side = 1 if half % 2 == 0 else -1
    return (20 * half + 10 * (1 - math.cos(angle)), 10 * side * math.sin(angle),
            10 * math.sin(angle), 10 * side * math.cos(angle))


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    record(folder / "circle.csv", 30, circle)
    record(folder / "shuttle.csv", 60, shuttle)
    record(folder / "weave.csv", 60, weave)

    # A chord of 0.5 rad on a circle of radius 10; straight on from there: exact figures.
    found = rows("ages", "--trace", str(folder / "circle.csv"), "--ages", "0.5")
    assert [row["owners"] for row in found] == ["one each", "one of all"], found
    for row in found:
        assert abs(row["still"] - 20 * math.sin(0.25)) < 1e-3, row
        assert abs(row["linear"] - math.hypot(5 - 10 * math.sin(0.5), 10 - 10 * math.cos(0.5))) < 1e-3, row
        assert row["samples"] == 590 and row["circular"] < 0.1, row
        assert row["of_linear"] < 0.2 and row["ours"] <= 3 * row["circular"] + 0.02, row

    # What turns round is not where its velocity leads: that must be learnt within the minute.
    late = rows("ages", "--trace", str(folder / "shuttle.csv"), "--ages", "1.5")[0]
    assert late["linear"] > 1.5 * late["still"] and late["ours"] < 0.75 * late["linear"], late

    # Turning one way, then the other, for the same time: arcs are best, and auto finds that out.
    cells = rows("models", "--trace", str(folder / "weave.csv"), "--slack", "20", "--delays", "100,500")
    assert [(row["delay_ms"], row["best"]) for row in cells] == [(100, "circular"), (500, "circular")], cells
    for row in cells:
        assert 0.5 < row["of_best"] < 1.1 and row["of_unfaded"] < 1.03 and row["updates"] > 60, row
        assert abs(row["updates_of_unfaded"] - 1) < 0.02, row

    for wrong in (["ages"], ["models"], ["ages", "--trace", str(folder / "none.csv")]):
        run = subprocess.run([PROGRAM, "lab", "run", *wrong], capture_output=True, text=True)
        assert run.returncode == 2 and len(run.stderr.splitlines()) == 1, run
print("ok")
