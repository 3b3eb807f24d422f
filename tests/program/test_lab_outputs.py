#!/usr/bin/env python3
"""Outputs and options are checked before any work: a run of hours that could not write its results ends at once, with one
line that says what to do, and whatever stood there before is still there.

    test_lab_outputs.py PROGRAM
"""
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
LONG = ("lab", "run", "accuracy", "--runs", "10000", "--length", "3000")  # hours
PICTURE = ("lab", "run", "tradeoff", "--runs", "10000")
AT_ONCE_S = 20  # generous: what is refused before the work takes milliseconds


def refused(*arguments, says):
    """Standard input stays open and empty: what waits for it has begun its work."""
    with subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=ROOT) as run:
        try:
            status = run.wait(AT_ONCE_S)
        except subprocess.TimeoutExpired:
            run.kill()
            raise AssertionError(f"{arguments}: began its work") from None
        out, err = run.stdout.read(), run.stderr.read()
    assert status == 2 and out == "", f"{arguments}: status {status}\n{out}{err}"
    assert err.count("\n") == 1 and says in err, f"{arguments}: {err}"


def check_lab_run(folder):
    nowhere, file, text_db = folder / "no" / "where", folder / "file", folder / "text.db"
    file.write_text("mine")
    text_db.write_text("no database at all, but long enough to look at. " * 40)
    refused(*LONG, "--out", nowhere, says=f"--out: cannot make {nowhere}: No such file or directory; ")
    refused(*LONG, "--out", file, says=f"--out: cannot make {file}: ")
    (folder / "taken" / "report.html").mkdir(parents=True)
    refused(*LONG, "--out", folder / "taken", says="report.html: Is a directory; ")
    refused(*LONG, "--db", nowhere, says=f"--db: {nowhere}: unable to open database file; ")
    refused(*LONG, "--db", text_db, says="file is not a database; ")
    refused(*LONG, "--svg", folder / "x.svg", says="--svg: accuracy draws no picture; ")
    refused(*PICTURE, "--svg", nowhere, says=f"--svg: cannot write {nowhere}: No such file or directory; ")
    refused(*PICTURE, "--svg", folder, says="Is a directory; ")
    other = folder / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE runs(name TEXT)")
    refused(*LONG, "--db", other, says="; name another file")
    assert file.read_text() == "mine" and "no database" in text_db.read_text()


def check_nothing_is_lost(folder):
    """A run that fails later leaves what was there, and nothing beside it."""
    out, svg = folder / "out", folder / "old.svg"
    out.mkdir()
    (out / "results.json").write_text("{}")
    svg.write_text("<svg/>")
    before = sorted(path.name for path in folder.rglob("*"))
    refused("lab", "run", "tradeoff", "--trace", folder / "none.csv", "--out", out, "--svg", svg, says="none.csv")
    refused("lab", "run", "tradeoff", "--trace", folder / "none.csv", "--out", folder / "new", says="none.csv")
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert (out / "results.json").read_text() == "{}" and svg.read_text() == "<svg/>"


def check_others(folder):
    nowhere, bad = folder / "no" / "where", folder / "bad.txt"
    bad.write_text("# comment\nA1 holds holds\nD11 perhaps -\n")
    refused("lab", "verify", "--full", "--update", "--expect", nowhere, says=f"--expect: cannot write {nowhere}: ")
    refused("lab", "verify", "--full", "--expect", bad, says=f"{bad}:3: ")
    refused("lab", "verify", "--full", "--trace", folder / "none.csv", says="--trace: cannot read ")
    refused("lab", "figures", "--out", nowhere, says=f"--out: cannot make {nowhere}: ")
    refused("lab", "figures", "nonsense", "--out", folder / "figures", says="no figure 'nonsense'")
    assert not (folder / "figures").exists()
    refused("lab", "report", folder / "none", "--to", nowhere, says=f"--to: cannot write {nowhere}: ")
    refused("trace", "reckon", "-", "--svg", nowhere, says=f"--svg: cannot write {nowhere}: ")
    refused("trace", "reckon", "-", "--svg", folder / "x.svg", "--entity", "he", says="--entity: 'he' is not an integer")


def check_recordings(folder):
    """A recording is written as it goes, but not over an old one before there is something to record."""
    tape = folder / "tape"
    tape.write_text("old")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", 0))
        port = taken.getsockname()[1]
        run = subprocess.run([PROGRAM, "serve", "--port", str(port), "--seconds", "1", "--record", tape],
                             capture_output=True, text=True, timeout=AT_ONCE_S)
        assert run.returncode != 0, run
    assert tape.read_text() == "old"
    subprocess.run([PROGRAM, "join", "no-such-host.invalid", "--record", tape], capture_output=True, timeout=AT_ONCE_S)
    assert tape.read_text() == "old"
    run = subprocess.run([PROGRAM, "serve", "--open", "--port", "0", "--seconds", "0.2", "--json", "--record", tape],
                         capture_output=True, text=True, timeout=AT_ONCE_S)
    assert run.returncode == 0 and tape.read_bytes().startswith(b"FLTAPE"), run
    run = subprocess.run([PROGRAM, "replay", "--json", tape], capture_output=True, text=True, timeout=AT_ONCE_S)
    assert run.returncode == 0 and json.loads(run.stdout)["fault"] == "none", run


with tempfile.TemporaryDirectory() as name:
    for check in (check_lab_run, check_nothing_is_lost, check_others, check_recordings):
        place = pathlib.Path(name) / check.__name__
        place.mkdir()
        check(place)
print("outputs: checked before the work, and nothing is lost")
