#!/usr/bin/env python3
"""`fairlead lab run fairness`, `tradeoff` and `liar`: rows as promised, base's errors worked out a second time by
quadrature, the same seed the same bytes, bad input one clear line.

    test_lab_fairness.py PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import reckon_oracle as oracle

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "data/tanks/match01_80s.csv.gz"
FIELDS = ["policy", "jitter_ms", "runs", "updates_sent", "mean_aee", "sd_aee", "mean_ci95", "sd_ci95", "aee"]
DELAYS = [800, 500, 200]


def lab(*arguments, status=0):
    run = subprocess.run([PROGRAM, "lab", "run", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == status, f"{arguments}: status {run.returncode}\n{run.stdout}{run.stderr}"
    return run


def rows_of(*arguments):
    return json.loads(lab(*arguments, "--json").stdout)["rows"]


def refused(*arguments, says):
    run = lab(*arguments, status=2)
    assert run.stdout == "", run.stdout
    assert run.stderr.count("\n") == 1 and says in run.stderr, run.stderr


def every_kth(entity, k):
    """Updates and accumulated errors if every k-th update of a life goes to everybody, the first always."""
    updates, errors = 0, [0.0] * len(DELAYS)
    for key, _, samples in oracle.read_lives(TRACE):
        if key != entity or len(samples) < 2:
            continue
        told = oracle.export(samples, "linear", 0.09, oracle.NS)
        sent = told[::k]
        updates += len(sent) * len(DELAYS)
        for number, delay_ms in enumerate(DELAYS):
            errors[number] += error_of(told, sent, samples[-1][0], delay_ms * 10**6)
    return updates, errors


def error_of(told, sent, end, delay):
    first = sent[0].time + delay
    moments = sorted({t for t in [u.time for u in told] + [u.time + delay for u in sent] if first <= t <= end} | {end})
    total, now, seen = 0.0, 0, 0
    for begin, until in zip(moments, moments[1:]):
        while now + 1 < len(told) and told[now + 1].time <= begin:
            now += 1
        while seen + 1 < len(sent) and sent[seen + 1].time + delay <= begin:
            seen += 1
        total += oracle.gap_integral(told[now], sent[seen], begin, until)
    return total


def check_against_quadrature():
    rows = rows_of("fairness", "--trace", TRACE, "--entity", 1, "--policies", "base base/3")
    for row, k in zip(rows, (1, 3)):
        updates, errors = every_kth(1, k)
        # Sessions round what they tell, which moves a trigger now and then.
        assert abs(row["updates_sent"] - updates) <= 0.02 * updates + 3, (row, updates)
        for ours, theirs in zip(row["aee"], errors):
            assert abs(ours - theirs) < 0.02 * theirs + 0.2, (row, errors)


def check_fairness():
    command = ("fairness", "--length", 30, "--runs", 2, "--jitter", "0,100", "--seed", 4)
    rows = rows_of(*command)
    assert all(list(row) == FIELDS for row in rows)
    names = [row["policy"] for row in rows if row["jitter_ms"] == 0]
    main = ["base", "base/3", "schedule1", "schedule2", "probabilistic", "deterministic", "equal-0", "equal-100"]
    assert set(main) <= set(names) and "deterministic-0,1,0" in names and "schedule1-thesis" in names, names
    assert names == [row["policy"] for row in rows if row["jitter_ms"] == 100]
    for row in rows:
        assert row["runs"] == 2 and len(row["aee"]) == 3 and row["updates_sent"] > 0, row
        assert abs(sum(row["aee"]) / 3 - row["mean_aee"]) < 1e-6 * row["mean_aee"], row
    assert lab(*command, "--json").stdout == lab(*command, "--json").stdout
    two = rows_of("fairness", "--length", 20, "--delays", "300,20", "--policies", "base", "--model", "circular")
    assert len(two) == 1 and len(two[0]["aee"]) == 2 and two[0]["aee"][0] > two[0]["aee"][1]
    coarse = rows_of("fairness", "--length", 20, "--distance", 1, "--policies", "base")
    fine = rows_of("fairness", "--length", 20, "--policies", "base")
    assert coarse[0]["updates_sent"] < fine[0]["updates_sent"]


def check_tradeoff(folder):
    picture = folder / "picture.svg"
    lab("tradeoff", "--length", 20, "--budgets", "3,2", "--svg", picture, "--out", folder / "out")
    rows = json.loads((folder / "out/results.json").read_text())["rows"]
    bound = [(row["mean_aee"], row["sd_aee"]) for row in rows if row["policy"] == "bound"]
    assert bound == sorted(bound, key=lambda at: (at[0], -at[1])) and bound[-1][1] < 1e-9, bound
    base = next(row for row in rows if row["policy"] == "base")
    assert abs(base["over_bound"] - 1) < 1e-9, base
    assert {f"equal-{knob}" for knob in range(0, 101, 10)} <= {row["policy"] for row in rows}
    assert {f"equal/2-{knob}" for knob in range(0, 101, 10)} <= {row["policy"] for row in rows}
    root = xml.etree.ElementTree.parse(picture).getroot()
    words = " ".join(text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "units × s" in words and "schedule2" in words, words


def check_liar():
    rows = rows_of("liar", "--length", 60, "--policies", "deterministic")
    found = {(row["behaviour"], row["cap"]): row for row in rows}
    assert len(found) == 10
    assert found["honest", 1]["contradictions"] == 0 and found["delaying", 1]["contradictions"] == 0
    assert found["contradicting, later", 1]["contradictions"] > 0
    assert found["honest", 1]["liar_ratio"] == 1


def check_live():
    """Processes and sockets in real time; how late a busy machine makes them is not judged."""
    rows = rows_of("fairness", "--live", "--live-length", 4, "--delays", "100,20", "--policies", "base base/3")
    assert [row["policy"] for row in rows] == ["base", "base/3"]
    for row in rows:
        assert 0.5 < row["updates_sent"] / row["virtual_updates_sent"] < 2, row
        assert row["mean_aee"] > 0 and row["aee"][0] > row["aee"][1], row


def check_refusals():
    refused("fairness", "--entity", 3, says="only with --trace")
    refused("fairness", "--trace", TRACE, "--entity", "x", says="not a whole number")
    refused("fairness", "--trace", TRACE, "--entity", 99, says="no such entity")
    refused("fairness", "--trace", "nowhere.csv", says="nowhere.csv")
    refused("fairness", "--policies", "equal-101", says="equal-101")
    refused("fairness", "--model", "square", says="square")
    refused("fairness", "--delays", "", says="--delays")
    refused("fairness", "--jitter", -1, says="--jitter")
    refused("fairness", "--length", 5, "--policies", "base", "--svg", "x.svg", says="--svg")
    refused("liar", "--liar", 4, says="--liar")


def main():
    check_against_quadrature()
    check_fairness()
    check_refusals()
    check_liar()
    check_live()
    with tempfile.TemporaryDirectory() as folder:
        check_tradeoff(pathlib.Path(folder))
    print("ok")


main()
