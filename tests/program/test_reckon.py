#!/usr/bin/env python3
"""`fairlead trace reckon` against the oracle beside this file, on the bundled traces and on hand-made ones.

    test_reckon.py PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import reckon_oracle  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"

# (trace, model, distance, silence, delays in ms)
CASES = [
    ("tanks/match01_80s.csv.gz", "linear", "0.09", "1", "50,100,250"),
    ("tanks/match01_80s.csv.gz", "circular", "0.09", "1", "50,100,250"),
    ("tanks/match01_80s.csv.gz", "circular", "2", "0.3", "33.3"),
    ("tanks/match02_31s.csv.gz", "linear", "1", "0.5", "0,20"),
    ("tanks/match02_31s.csv.gz", "circular", "0.1", "5", "100,1000"),
    ("tanks/match02_31s.csv.gz", "still", "5", "1", "100"),
    ("racing/pair01.csv.gz", "linear", "0.1", "1", "100,15000,30000,40000"),
    ("racing/pair02.csv.gz", "linear", "0", "1", "66.67"),
    ("racing/pair02.csv.gz", "linear", "1e9", "0.1", "100"),
    ("racing/pair02.csv.gz", "linear", "1e9", "1e6", "100"),
    ("arena/ffa16_20s.csv.gz", "linear", "5", "1", "50,150"),
]


def program(*arguments):
    command = [PROGRAM, "trace", "reckon", *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def check_oracle():
    worst_of_all = 0.0
    for trace, model, distance, silence, delays in CASES:
        wrong, worst, _ = reckon_oracle.compare(PROGRAM, DATA / trace, model, distance, silence, delays.split(","))
        assert not wrong, f"{trace} {model} {distance} {silence} {delays}:\n" + "\n".join(wrong[:10])
        worst_of_all = max(worst_of_all, worst)
    return worst_of_all


def without(source, target, columns):
    """Copies a trace without some of its columns."""
    import csv
    import gzip
    with gzip.open(source, "rt", newline="") as file, open(target, "w", newline="") as out:
        rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name not in columns]
        writer = csv.DictWriter(out, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def check_positions_only(folder):
    """Without velocities they come from the last two samples of the same life; without lives all is one life."""
    path = folder / "positions.csv"
    without(DATA / "tanks/match02_31s.csv.gz", path, {"vx", "vy", "vz"})
    for model in ("linear", "circular"):
        wrong, _, _ = reckon_oracle.compare(PROGRAM, path, model, "0.1", "1", ["100"])
        assert not wrong, "\n".join(wrong[:10])
    without(DATA / "racing/pair01.csv.gz", path, {"vx", "vy", "vz", "yaw", "progress"})
    wrong, _, _ = reckon_oracle.compare(PROGRAM, path, "linear", "0.3", "1", ["100"])
    assert not wrong, "\n".join(wrong[:10])


def check_by_hand(folder):
    """Something that stands for 1 s and then moves at 2 units/s, checked with a pencil."""
    path = folder / "hand.csv"
    rows = ["0,-5,0,0,0,0,0,0", "0.25,-5,0,0,0,0,0,0", "1,-5,0,0,0,2,0,0", "1.5,-5,1,0,0,2,0,0", "2,-5,2,0,0,2,0,0"]
    path.write_text("t,id,x,y,z,vx,vy,vz\n" + "\n".join(rows))
    answer = program(path, "--model", "linear", "--distance", "0.5", "--silence", "1", "--delay", "500,2000,2001")
    # Updates: first at 0; silence at 1; silence at 2. Delay 500 ms: arrivals at 0.5, 1.5 and 2.5. From 1 to 1.5 the
    # receiver still shows x = 0 while 2 (t - 1) is told: 0.25 in all. Samples from 0.5 on: at 1 and 1.5 and 2, no error.
    assert answer["entities"][0]["id"] == -5 and answer["entities"][0]["life"] == 0
    assert answer["entities"][0]["updates"] == 3 and answer["entities"][0]["seconds"] == 2
    near, last_moment, never = answer["entities"][0]["receivers"]
    assert abs(near["export_error"] - 0.25) < 1e-12 and near["max_error"] == 0 and near["mean_error"] == 0, near
    # Delay 2 s: the first update arrives with the last sample, which is 2 units away from it.
    assert last_moment == {"delay_ms": 2000, "export_error": 0, "mean_error": 2, "max_error": 2}, last_moment
    assert never == {"delay_ms": 2001, "export_error": None, "mean_error": None, "max_error": None}, never
    assert answer["total"] == {"seconds": 2, "updates": 3, "updates_per_second": 1.5}, answer["total"]
    path.write_text("t,id,x,y,z\n3,1,0,0,0\n")
    answer = program(path, "--delay", "0")
    assert answer["total"] == {"seconds": 0, "updates": 1, "updates_per_second": None}, answer["total"]
    assert answer["entities"][0]["receivers"][0]["mean_error"] == 0


def check_silence_is_exact(folder):
    """Samples every 0.1 s, silence 0.3 s: every third one, though 0.1 has no exact double."""
    path = folder / "silence.csv"
    path.write_text("t,id,x,y,z\n" + "".join(f"{1700000000 + i // 10}.{i % 10},1,0,0,0\n" for i in range(301)))
    assert program(path, "--silence", "0.3", "--model", "linear")["total"]["updates"] == 101


def check_angle(folder):
    """Turning on the spot triggers only when the angle is asked for."""
    path = folder / "angle.csv"
    path.write_text("t,id,x,y,z,yaw\n" + "".join(f"{i / 10},1,0,0,0,{i / 10}\n" for i in range(101)))
    assert program(path, "--silence", "100")["total"]["updates"] == 1
    assert program(path, "--silence", "100", "--angle", "0.25")["total"]["updates"] == 34


def main():
    worst = check_oracle()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_positions_only(folder)
        check_by_hand(folder)
        check_silence_is_exact(folder)
        check_angle(folder)
    print(f"ok: {len(CASES)} cases equal to the oracle, errors to {worst:.1e} relative")


if __name__ == "__main__":
    main()
