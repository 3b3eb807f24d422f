#!/usr/bin/env python3
"""`fairlead lab run fields`: the same states as blobs and as fields; fields take less, and motion takes the same.

    test_lab_fields.py PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]

run = subprocess.run([PROGRAM, "lab", "run", "fields", "--players", "4", "--seconds", "20", "--plain", "--json"],
                     capture_output=True, text=True, cwd=ROOT, check=True)
rows = json.loads(run.stdout)["rows"]
# The blobs are as large as the games' own.
assert [(row["game"], row["blob_bytes"]) for row in rows] == [("tanks", 13), ("racing", 14), ("arena", 13)], rows
for row in rows:
    assert row["changes_per_s"] > 0, row
    assert 0 < row["fields_bytes_per_s"] < row["blob_bytes_per_s"] < row["motion_bytes_per_s"], row
print("ok")
