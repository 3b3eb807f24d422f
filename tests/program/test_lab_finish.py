#!/usr/bin/env python3
"""`fairlead lab run finish` and `fairlead bench rollback`: rows as promised, with control everybody agrees, processes
over sockets too, the same seed the same bytes, bad input one clear line.

    test_lab_finish.py PROGRAM
"""
import json
import os
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
FIELDS = ["control", "races", "agreed", "order_differs", "hash_differs", "rollbacks_per_minute",
          "reexecuted_ticks_per_second", "settled_lag_ms_p50", "settled_lag_ms_p95", "late", "dropped",
          "display_error_m"]
SMALL = ["finish", "--cars", 4, "--races", 1]


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


rows = rows_of(*SMALL)
assert [row["control"] for row in rows] == ["none", "constant-200", "constant-400", "inputs", "perceptive"], rows
for row in rows:
    for field in FIELDS:
        assert field in row, (field, row)
by_control = {row["control"]: row for row in rows}
assert by_control["none"]["agreed"] == 0 and by_control["none"]["rollbacks_per_minute"] == 0
for control in ("inputs", "perceptive"):
    assert by_control[control]["agreed"] == 1 and by_control[control]["hash_differs"] == 0
    assert by_control[control]["dropped"] == 0 and by_control[control]["rollbacks_per_minute"] > 100
assert by_control["constant-200"]["settled_lag_ms_p50"] == 200 and by_control["constant-200"]["dropped"] > 0
assert 100 < by_control["inputs"]["settled_lag_ms_p50"] < 250
assert by_control["inputs"]["settled_lag_ms_p50"] <= by_control["perceptive"]["settled_lag_ms_p50"]

one = run("lab", "run", *SMALL, "--control", "perceptive", "--json").stdout
assert one == run("lab", "run", *SMALL, "--control", "perceptive", "--json").stdout
assert rows_of(*SMALL, "--control", "perceptive", "--plain")[0]["agreed"] == 1

live = rows_of(*SMALL, "--control", "perceptive", "--live")
assert len(live) == 1 and live[0]["agreed"] == 1, live

refused("finish", "--control", "hope", says="no 'hope'")
refused("finish", "--cars", 17, says="--cars")
refused("finish", "--races", 1000, "--live", says="at most 100")

bench = json.loads(run("bench", "rollback", "--json").stdout)["rows"]
assert [row["name"] for row in bench][1:] == ["30 steps", "30 saves", "one load", "two hashes"], bench
assert all(row["ns"] > 0 for row in bench)
print("ok")
