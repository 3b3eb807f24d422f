#!/usr/bin/env python3
"""`fairlead lab run shots`, a quick one: rewound poses are what was drawn, also where clients own what moves; verdicts are the
screen's; the usual way is off; the same seed gives the same rows.

    test_lab_shots.py PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK = ["--shots", "300", "--rtt", "20,300", "--length", "20", "--seed", "3"]
TANKS = ["--trace", "data/tanks/match02_31s.csv.gz"]
ARENA = ["--trace", "data/arena/ffa16_20s.csv.gz", "--radius", "15", "--unit", "3.2"]


def rows(*options):
    run = subprocess.run([PROGRAM, "lab", "run", "shots", *options, "--json"], capture_output=True, text=True, cwd=ROOT, check=True)
    return json.loads(run.stdout)["rows"]


def check(found):
    names = [(row["view"], row["judge"], row["rtt_ms"]) for row in found]
    views = [("placed", "rewind"), ("smoothed", "rewind"), ("held", "rewind"), ("interpolated", "rewind"),
             ("interpolated", "ping"), ("interpolated", "stamp")]
    assert names == [(*view, rtt) for view in views for rtt in (20, 300, None)], names
    for row in found:
        assert row["shots"] >= 100 and 20 < row["hit_percent"] < 80, row
        if row["judge"] == "rewind":
            assert row["p99_cm"] < 1 and row["exact_percent"] > 99, row
            assert row["differ_percent"] * row["shots"] <= 100 * (row["behind_percent"] > 0), row  # one, for want of an update
        elif row["judge"] == "ping":
            assert row["median_cm"] > 2 and row["differ_percent"] > 0.5, row


tanks = rows(*QUICK, *TANKS, "--plain")
check(tanks)
assert tanks == rows(*QUICK, *TANKS, "--plain"), "the same seed gave other rows"
check(rows(*QUICK, *ARENA))
check(rows(*QUICK, *TANKS, "--relayed"))
refused = subprocess.run([PROGRAM, "lab", "run", "shots", "--rtt", "1,2,3,4,5,6,7,8,9"], capture_output=True, text=True)
assert refused.returncode == 2 and "at most 8" in refused.stderr, refused
print("ok")
