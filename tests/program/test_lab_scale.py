#!/usr/bin/env python3
"""`fairlead lab run scale` and `lab run crowd`: rows as promised, within the upload, through others better than directly,
processes over sockets too, bad input one clear line.

    test_lab_scale.py PROGRAM
"""
import json
import os
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
SCALE = ["mode", "players", "kbps", "focus_hz", "best_effort_hz", "age_p50_ms", "age_p95_ms", "peak_kbps", "quality",
         "sim_speed", "rss_mib", "error_focus", "error_rest"]
CROWD = ["players", "watchers", "mode", "delivered_share", "age_p50_ms", "age_p95_ms", "max_upload_kbps", "recovery_ms"]
UNTIMED = ["sim_speed", "rss_mib", "join_cpu_s"]


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, f"{arguments}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def rows_of(*arguments):
    return json.loads(run("lab", "run", *arguments, "--json").stdout)["rows"]


def refused(*arguments, says):
    done = run("lab", "run", *arguments, status=2)
    assert done.stdout == "", done.stdout
    assert done.stderr.count("\n") == 1 and says in done.stderr, done.stderr


rows = rows_of("scale", "--players", "12", "--kbps", "256", "--seconds", "4")
assert [row["mode"] for row in rows] == ["broadcast", "donny", "ours"], rows
for row in rows:
    for field in SCALE:
        assert field in row, (field, row)
    assert row["quality"] == "held" and row["peak_kbps"] <= 256 and row["players"] == 12, row
    assert row["sim_speed"] > 0 and row["rss_mib"] > 1, row
assert rows[0]["best_effort_hz"] is None and rows[2]["best_effort_hz"] > 0.9, rows

found = rows_of("scale", "--modes", "broadcast", "--kbps", "108", "--seconds", "4", "--limit", "12")
assert [row["quality"] for row in found] == ["held", "not held"], found
assert 4 <= found[0]["players"] < found[1]["players"] <= 8, found
again = rows_of("scale", "--modes", "broadcast", "--kbps", "108", "--seconds", "4", "--limit", "12")
for row in found + again:
    for field in UNTIMED:
        del row[field]
assert found == again

rows = rows_of("crowd", "--players", "32", "--seconds", "2")
assert [row["mode"] for row in rows] == ["direct", "overlay"], rows
for row in rows:
    for field in CROWD:
        assert field in row, (field, row)
assert rows[0]["delivered_share"] < rows[1]["delivered_share"] and rows[1]["delivered_share"] > 0.8, rows
assert rows[0]["recovery_ms"] is None and rows[1]["recovery_ms"] > 0, rows

page = run("lab", "run", "scale", "--help").stdout
for words in ("at least 19 Hz", "at least 0.9\n", "at least 0.95 Hz", "at least 0.74 Hz", "[2 to 2000]", "[8 to 2000]"):
    assert words in page, (words, page)
refused("scale", "--players", "2001", says="from 2 to 2000")
refused("scale", "--modes", "hope", says="broadcast, donny or ours")
refused("scale", "--players", "1", says="--players")
refused("crowd", "--modes", "both", says="direct or overlay")
refused("crowd", "--case", "ball", says="flag or match")
refused("crowd", "--players", "300", "--live", says="at most 128")
print("ok")
