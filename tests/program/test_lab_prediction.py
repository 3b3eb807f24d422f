#!/usr/bin/env python3
"""`fairlead lab run prediction`: no corrections without loss; where inputs come late there are some, and no picture jumps;
the same seed gives the same bytes.

    test_lab_prediction.py PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*options):
    command = [PROGRAM, "lab", "run", "prediction", "--runs", "1", "--players", "2", "--seconds", "10", "--json", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


first = run()
rows = json.loads(first)["rows"]
assert [(row["rtt_ms"], row["jitter_ms"], row["loss"]) for row in rows] == [
    (rtt, jitter, loss) for rtt in (20, 80, 200) for jitter in (0, 5) for loss in (0, 3)], rows
for row in rows:
    assert row["lead_ms"] >= row["rtt_ms"] / 2 - 1000 / 60, row  # its tick is due a tick after it began
    assert row["jump_cm"] <= 100 * 25 / 60 * 0.25 + 0.1, row  # time runs a quarter faster at most
    if row["jitter_ms"] == 0 and row["loss"] == 0:
        assert row["corrections_min"] == 0 and row["missed_min"] == 0, row
assert run() == first
bad = json.loads(run("--rtt", "100", "--jitter", "5", "--loss", "3", "--burst", "1500"))["rows"][0]
assert bad["missed_min"] > 0 and bad["corrections_min"] > 0, bad  # it can count them
print("ok")
