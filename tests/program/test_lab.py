#!/usr/bin/env python3
"""`fairlead lab`: results have the promised form, the same seed gives the same bytes, bad input one clear line.

    test_lab.py PROGRAM
"""
import csv
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "data/tanks/match01_80s.csv.gz"
FIELDS = ["motion", "delay_ms", "mode", "mean_error", "p95_error", "max_error", "clock_error_ms"]
MOTIONS, DELAYS, MODES = ["linear", "circular", "random"], [100, 300, 800], ["local", "global", "oneway"]
SPEED = 25.0


def lab(*arguments, status=0):
    run = subprocess.run([PROGRAM, "lab", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == status, f"{arguments}: status {run.returncode}\n{run.stdout}{run.stderr}"
    return run


def refused(*arguments, says, status=2):
    """One line on standard error, nothing on standard output."""
    run = lab(*arguments, status=status)
    assert run.stdout == "", run.stdout
    assert run.stderr.count("\n") == 1 and says in run.stderr, run.stderr


def check_rows(rows):
    assert [(row["motion"], row["delay_ms"], row["mode"]) for row in rows] == [
        (motion, delay, mode) for motion in MOTIONS for delay in DELAYS for mode in MODES]
    for row in rows:
        assert 0 <= row["mean_error"] <= row["max_error"], row
        assert row["p95_error"] <= row["max_error"], row
        assert 0 <= row["clock_error_ms"] < 5, row
    error = {(row["motion"], row["delay_ms"], row["mode"]): row["mean_error"] for row in rows}
    for delay in DELAYS:
        for motion in ("linear", "circular"):
            assert error[motion, delay, "global"] < 0.05, (motion, delay, error)
            assert abs(error[motion, delay, "local"] / (SPEED * delay / 1000) - 1) < 0.1, (motion, delay, error)
        assert error["random", delay, "global"] < error["random", delay, "local"], (delay, error)


def check_accuracy(folder):
    out = folder / "first"
    command = ("run", "accuracy", "--length", "40", "--seed", "5")
    printed = json.loads(lab(*command, "--json", "--out", out).stdout)
    written = json.loads((out / "results.json").read_text())
    assert printed == written
    assert list(written) == ["experiment", "version", "seed", "config", "rows"]
    assert written["experiment"] == "accuracy" and written["seed"] == 5
    assert written["config"]["length"] == 40 and written["config"]["delays"] == DELAYS
    assert all(list(row) == FIELDS for row in written["rows"])
    check_rows(written["rows"])

    with open(out / "series.csv", newline="") as file:
        series = list(csv.DictReader(file))
    assert [name for name in series[0]][:5] == ["t", "motion", "x", "y", "z"]
    for motion in MOTIONS:
        times = [float(line["t"]) for line in series if line["motion"] == motion]
        assert times[0] == 0 and all(abs(b - a - 0.1) < 1e-9 for a, b in zip(times, times[1:])), times[:5]
        assert 39 <= times[-1] <= 40

    again = folder / "again"
    lab(*command, "--out", again)
    for name in ("results.json", "series.csv"):
        assert (out / name).read_bytes() == (again / name).read_bytes(), name
    lab("run", "accuracy", "--length", "40", "--seed", "6", "--out", again)
    assert (out / "results.json").read_bytes() != (again / "results.json").read_bytes()


def check_runs():
    rows = json.loads(lab("run", "accuracy", "--length", "20", "--runs", "3", "--plain", "--json").stdout)["rows"]
    for row in rows:
        assert row["mean_error_ci95"] >= 0 and row["p95_error_ci95"] >= 0
    table = lab("run", "accuracy", "--length", "20", "--runs", "2", "--delays", "50,60").stdout
    assert table.count("\n") == 1 + 3 * 2 * 3 and "±" in table, table


def check_trace():
    answer = json.loads(lab("run", "accuracy", "--trace", TRACE, "--length", "20", "--json").stdout)
    check_rows(answer["rows"])
    assert all("mean_error_ci95" in row for row in answer["rows"] if row["motion"] == "random")


def check_full_disk():
    with open("/dev/full", "w") as full:
        run = subprocess.run([PROGRAM, "lab", "run", "accuracy", "--length", "2", "--json"], stdout=full,
                             stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert run.returncode == 1 and "cannot write" in run.stderr, run


def check_refusals(folder):
    refused("run", says="experiment is needed")
    refused("run", "nothing", says="unknown experiment 'nothing'")
    refused("walk", says="unknown command 'walk'")
    refused("run", "accuracy", "--delays", "fast", says="--delays")
    refused("run", "accuracy", "--runs", "0", says="--runs")
    refused("run", "accuracy", "--length", "nan", says="--length")
    refused("run", "accuracy", "--colour", says="unknown option '--colour'")
    refused("run", "accuracy", "--delays", "1,2,3,4,5,6,7,8,9", says="at most 8")
    refused("run", "accuracy", "--trace", folder / "none.csv", says="none.csv")
    broken = folder / "broken.csv"
    broken.write_text("t,id,x,y,z\n0,1,zero,0,0\n")
    refused("run", "accuracy", "--trace", broken, says=f"{broken}:2:5")
    short = folder / "short.csv"
    short.write_text("t,id,x,y,z\n0,1,0,0,0\n1,1,1,0,0\n")
    refused("run", "accuracy", "--trace", short, says="no life lasts 30 s")
    refused("run", "accuracy", "--length", "2", "--out", folder / "no" / "such", says="cannot make")
    refused("verify", "--only", "Z9", says="no claim 'Z9'")
    refused("verify", "--only", "F1", "--expect", folder / "none.txt", says="none.txt")
    bad = folder / "bad.txt"
    bad.write_text("# comment\nD11 perhaps -\n")
    refused_verify = lab("verify", "--only", "D11", "--expect", bad, status=2)
    assert f"{bad}:2" in refused_verify.stderr


def check_verify(folder):
    """D11 costs nothing: no experiment can tell. The straight motion of A2 costs little."""
    expect = folder / "expectations.txt"
    run = lab("verify", "--only", "D11", "--expect", expect, "--update")
    lines = run.stdout.splitlines()
    assert len(lines) == 2 and lines[0].startswith("D11  cannot be measured here"), run.stdout
    assert lines[1].startswith("1 claims, cannot be measured here: 1;"), run.stdout
    lab("verify", "--only", "D11", "--expect", expect)
    expect.write_text(expect.read_text().replace("D11  cannot-be-measured-here", "D11  holds"))
    changed = lab("verify", "--only", "D11", "--expect", expect, status=1)
    assert "CHANGED" in changed.stdout and "1 verdicts are not as expected" in changed.stderr
    answer = json.loads(lab("verify", "--only", "A2", "--json", "--expect", expect, "--update").stdout)
    assert [claim["id"] for claim in answer["claims"]] == ["A2"]
    assert answer["claims"][0]["verdict"] == "holds", answer
    assert "A2   holds" in expect.read_text() and "D11  holds" in expect.read_text()


def check_going_on(folder):
    """An experiment that fails takes no other verdict with it: here there is no recording of the arena."""
    command = [PROGRAM, "lab", "verify", "--only", "F23,D9,D10,D11", "--trace", TRACE]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    lines = run.stdout.splitlines()
    assert run.returncode != 0 and "could not be measured: D9, D10" in run.stderr, run
    assert [line.split()[:2] for line in lines[:4]] == [["F23", "holds"], ["D9", "failed"], ["D10", "failed"],
                                                        ["D11", "cannot"]], run.stdout
    assert "| failed: data/arena/" in lines[1] and "failed: 2" in lines[4], run.stdout
    expect = folder / "kept.txt"
    expect.write_text("D9 holds holds\n")
    run = subprocess.run([*command, "--json", "--expect", expect, "--update"], capture_output=True, text=True, cwd=folder)
    verdicts = {claim["id"]: claim["verdict"] for claim in json.loads(run.stdout)["claims"]}
    assert verdicts == {"F23": "holds", "D9": "failed", "D10": "failed", "D11": "cannot be measured here"}, run
    assert run.returncode != 0 and "F23  holds" in expect.read_text()
    assert "D9   holds" in expect.read_text() and "D10  -" in expect.read_text()  # nothing is known: nothing changes


def check_as_they_come(folder):
    """Whoever ends it keeps what it has found: the first verdict is there while the second is being measured."""
    expect = folder / "interrupted.txt"
    expect.write_text("F23 - -\n")
    with subprocess.Popen([PROGRAM, "lab", "verify", "--only", "F23,R15", "--expect", expect, "--update"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as run:
        line = run.stdout.readline()
        running = run.poll() is None
        run.kill()
    assert running and line.startswith("F23  holds"), line
    assert re.search(r"^F23 +holds +-$", expect.read_text(), re.M), expect.read_text()


def check_expectations():
    """What is built in is what comes out, for the claims that take seconds."""
    run = lab("verify", "--only", "A1,A2,A3,A4,A5,A6,A7,L1")
    assert run.stdout.splitlines()[-1] == "8 claims, holds: 8; as expected: all", run.stdout
    parts = [line.rsplit(":", 1)[0] for line in run.stderr.splitlines()]
    assert parts == ["verifying, part 1 of 2: A1 to A7", "verifying, part 2 of 2: L1"], run.stderr
    check_bar()


def check_bar():
    """On a terminal there is a bar, and it is gone at the end."""
    leader, terminal = pty.openpty()
    run = subprocess.Popen([PROGRAM, "lab", "verify", "--only", "A4,L1"], stdout=subprocess.PIPE, stderr=terminal, cwd=ROOT)
    os.close(terminal)
    said = b""
    try:
        while piece := os.read(leader, 4096):
            said += piece
    except OSError:
        pass  # it has ended
    os.close(leader)
    run.communicate()
    assert run.returncode == 0
    if said:  # under a second there is nothing to show
        assert re.search(rb"verifying, part \d of 2: [AL]\d \[#*-*\] +\d+ %", said) and said.endswith(b"\r\x1b[K"), said[-200:]


def check_list():
    assert lab("list").stdout.startswith("accuracy ")
    assert json.loads(lab("list", "--json").stdout)[0]["experiment"] == "accuracy"
    for command in (("--help",), ("run", "--help"), ("run", "accuracy", "--help"), ("verify", "--help")):
        assert "Usage: fairlead lab" in lab(*command).stdout


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    check_list()
    check_refusals(folder)
    check_full_disk()
    check_verify(folder)
    check_going_on(folder)
    check_as_they_come(folder)
    check_accuracy(folder)
    check_runs()
    check_trace()
    check_expectations()
print("lab: rows, series, seeds, refusals and verdicts are as promised")
