#!/usr/bin/env python3
"""`fairlead lab run judge`: missiles hit whoever decides it, near and far; rows as promised.

    test_lab_judge.py PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]

run = subprocess.run([PROGRAM, "lab", "run", "judge", "--players", "8", "--seconds", "40", "--plain", "--json"],
                     capture_output=True, text=True, cwd=ROOT, check=True)
rows = json.loads(run.stdout)["rows"]
assert [(row["judge"], row["shooter"], row["target"], row["rtt_ms"]) for row in rows] == [
    (judge, shooter, target, 20 + 100 * ((shooter == "far") + (target == "far")))
    for judge in ("shooter", "target") for shooter in ("near", "far") for target in ("near", "far")], rows
for judge in ("shooter", "target"):
    damage = sum(row["damage"] for row in rows if row["judge"] == judge)
    assert damage > 0, f"judged by the {judge}: no missile hit anybody"
print("ok")
