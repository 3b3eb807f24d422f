#!/usr/bin/env python3
"""Units of `fairlead lab`: jobs, state folders, shards and merging give the bytes of a single run, whatever is killed.

    test_lab_units.py PROGRAM
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
ACCURACY = ("run", "accuracy", "--length", 15, "--runs", 3)
CLAIMS = ("verify", "--only", "A1,A2,F23")


def lab(*arguments, status=0):
    run = subprocess.run([PROGRAM, "lab", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == status, f"{arguments}: status {run.returncode}\n{run.stdout}{run.stderr}"
    return run


def refused(*arguments, says, status=2):
    run = lab(*arguments, status=status)
    assert run.stdout == "" and run.stderr.count("\n") == 1 and says in run.stderr, run


def check_run(folder):
    """Shards in two folders, merged: table, JSON and series as from one run; so with two processes."""
    whole = lab(*ACCURACY, "--json", "--out", folder / "whole").stdout
    assert lab(*ACCURACY, "--json", "--jobs", 2).stdout == whole
    for i in (1, 2, 3):
        said = lab(*ACCURACY, "--shard", f"{i}/3", "--state", folder / f"shards{i % 2}").stdout
        assert said == f"shard {i} of 3: 3 units, 0 of them known before, 0 failed\n", said
    merged = lab("merge", folder / "shards0", folder / "shards1", "--json", "--out", folder / "merged")
    assert merged.stdout == whole
    for name in ("results.json", "series.csv"):
        assert (folder / "whole" / name).read_bytes() == (folder / "merged" / name).read_bytes(), name
    lacking = lab("merge", folder / "shards1", status=1)
    assert "is in none of the folders" in lacking.stderr and lacking.stdout == "", lacking


def check_verify(folder):
    whole = lab(*CLAIMS, "--json").stdout
    for i in (1, 2):
        lab(*CLAIMS, "--jobs", 2, "--state", folder / "claims", "--shard", f"{i}/2")
    assert lab("merge", folder / "claims", "--json").stdout == whole
    lacking = lab(*CLAIMS, "--json", "--state", folder / "alone").stdout
    assert lacking == whole


def check_array(folder):
    """The job script for Slurm arrays, without Slurm: what it sets is a number of a task and how many there are."""
    command = list(map(str, ACCURACY))
    for i in (1, 2):
        task = {"SLURM_ARRAY_TASK_ID": str(i), "SLURM_ARRAY_TASK_COUNT": "2", "FAIRLEAD": PROGRAM,
                "LAB_STATE": str(folder / "array")}
        subprocess.run(["tools/lab_array.sh", *command], check=True, capture_output=True, cwd=ROOT, env={**os.environ, **task})
    assert lab("merge", folder / "array", "--json").stdout == lab(*ACCURACY, "--json").stdout


def check_whole_experiment(folder):
    """An experiment without units of its own is one."""
    command = ("run", "simultaneity", "--peers", "2,3", "--networks", 5)
    whole = lab(*command, "--json").stdout
    lab(*command, "--shard", "1/2", "--state", folder / "one")
    lab(*command, "--shard", "2/2", "--state", folder / "one")
    assert lab("merge", folder / "one", "--json").stdout == whole


def check_resume(folder):
    """What a killed process left half written is played again, and nothing else."""
    state = folder / "resumed"
    command = (*ACCURACY, "--shard", "1/1", "--state", state)
    lab(*command)
    units = state / "units"
    units.write_bytes(units.read_bytes()[:-100])
    assert "9 units, 8 of them known before, 0 failed" in lab(*command).stdout
    assert "9 units, 9 of them known before, 0 failed" in lab(*command).stdout
    refused(*ACCURACY, "--seed", 2, "--state", state, says="not units of this program with these settings")
    (folder / "other").mkdir()
    (folder / "other" / "units").write_text("no units\n")
    refused(*ACCURACY, "--state", folder / "other", says="not units of this program")


def children_of(process):
    path = pathlib.Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def start(*arguments):
    """Starts it, and waits until it has two workers and has kept the first results."""
    run = subprocess.Popen([PROGRAM, "lab", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, cwd=ROOT)
    state = pathlib.Path(arguments[-1]) / "units"
    while run.poll() is None and (len(children_of(run.pid)) < 2 or not state.exists() or state.stat().st_size < 1500):
        time.sleep(0.02)
    assert run.poll() is None, run.communicate()
    return run


def check_killed(folder):
    """A worker that dies takes one claim with it; the next run plays only what is missing. So if all is ended."""
    command = ("verify", "--only", "A4,F23", "--seed", 3, "--jobs", 2)
    whole = lab(*command, "--json", status=0).stdout
    run = start(*command, "--state", folder / "worker")
    os.kill(children_of(run.pid)[0], signal.SIGKILL)
    out, err = run.communicate()
    assert run.returncode == 1 and re.search(r"^A4 +failed .*was ended by signal 9", out, re.M), out + err
    assert re.search(r"^F23 +holds", out, re.M), out
    assert lab(*command, "--json", "--state", folder / "worker").stdout == whole
    run = start(*command, "--state", folder / "all")
    workers = children_of(run.pid)
    run.kill()
    run.communicate()
    for _ in range(500):  # they end with it
        if not any(pathlib.Path(f"/proc/{worker}").exists() for worker in workers):
            break
        time.sleep(0.02)
    assert not any(pathlib.Path(f"/proc/{worker}/exe").exists() for worker in workers)
    assert lab(*command, "--json", "--state", folder / "all").stdout == whole


def check_refusals(folder):
    refused(*ACCURACY, "--shard", "1/2", says="--shard: its results are for lab merge, so name a --state DIR")
    for shard in ("0/2", "3/2", "1", "1/2x"):
        refused(*ACCURACY, "--state", folder / "none", "--shard", shard, says=f"'{shard}' is not I/N")
    refused("merge", says="folders of lab run|verify")
    refused("merge", folder / "nowhere", says="nowhere: No such file")
    (folder / "empty").mkdir()
    refused("merge", folder / "empty", says="no units there")
    assert "Usage: fairlead lab merge" in lab("merge", "--help").stdout


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    check_refusals(folder)
    check_run(folder)
    check_verify(folder)
    check_array(folder)
    check_whole_experiment(folder)
    check_resume(folder)
    check_killed(folder)
