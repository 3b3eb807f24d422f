#!/usr/bin/env python3
"""integrations/bzflag, as far as it goes without BZFlag's source: the adapter against a stand-in of what it uses of
BZFlag, the edits' form and messages, the package sources that the source comes from, and what is made of logs."""
import importlib.machinery
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import types
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "integrations" / "bzflag"
sys.dont_write_bytecode = True


def load(name, file=None):
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / (file or f"{name}.py")))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


edit, fetch, chart, measure = load("edit"), load("fetch"), load("chart"), load("measure", "measure")


def refused(text, lines=("one", "two", "three")):
    """What edit.py says against edits of a file of these lines."""
    try:
        for path, edits in edit.parse(text, "e"):
            edit.apply(list(lines), edits, path, "e")
    except edit.EditError as error:
        return str(error)
    return None


def edited(text, lines):
    (path, edits), = edit.parse(text, "e")
    assert path == "a/b.c", path
    return edit.apply(list(lines), edits, path, "e")


def edits_are_made_by_anchors():
    lines = ["alpha", "beta", "gamma", "beta", "delta"]
    assert edited("#! a comment\n=== a/b.c\n@ after `alpha`\nx\n\ny\n\n", lines)[:5] == ["alpha", "x", "", "y", "beta"]
    assert edited("=== a/b.c\n@ before `beta` 2 of 2\nx\n", lines) == ["alpha", "beta", "gamma", "x", "beta", "delta"]
    assert edited("=== a/b.c\n@ before `delta` -1\nx\n", lines) == ["alpha", "beta", "gamma", "x", "beta", "delta"]
    assert edited("=== a/b.c\n@ after `alpha` +1\nx\n", lines) == ["alpha", "beta", "x", "gamma", "beta", "delta"]
    assert edited("=== a/b.c\n@ swap `elt` with `ELT`\n", lines)[-1] == "dELTa"
    both = "=== a/b.c\n@ after `gamma`\nx\n@ before `gamma`\ny\n"
    assert edited(both, lines) == ["alpha", "beta", "y", "gamma", "x", "beta", "delta"]


def another_source_is_named():
    said = refused("=== a/b.c\n@ after `four`\nx\n")
    assert "a/b.c differs" in said and "e:2" in said and "`four` is in 0 lines, not in 1" in said, said
    assert "in 2 lines, not in 1" in refused("=== a/b.c\n@ after `o`\nx\n")
    assert "in 2 lines, not in 3" in refused("=== a/b.c\n@ after `o` 1 of 3\nx\n")
    assert "outside of the file" in refused("=== a/b.c\n@ before `one` -1\nx\n")
    assert "more than once" in refused("=== a/b.c\n@ swap `e` with `E` 2 of 2\n")


def mistakes_in_edits_are_named():
    assert "e:1: neither" in refused("hello\n")
    assert "e:1: an edit before" in refused("@ after `one`\n")
    assert "e:2: not an edit" in refused("=== a/b.c\n@ behind `one`\n")
    assert "e:2: `swap` needs" in refused("=== a/b.c\n@ swap `one`\n")
    assert "e:2: `swap` needs" in refused("=== a/b.c\n@ after `one` with `two`\n")
    assert "e:3: `swap` takes no lines" in refused("=== a/b.c\n@ swap `one` with `two`\nx\n")
    assert "no 3 of 2" in refused("=== a/b.c\n@ after `o` 3 of 2\nx\n")


def nothing_is_written_unless_all_fits(directory):
    tree, out = directory / "tree", directory / "out"
    tree.mkdir()
    (tree / "a.c").write_text("one\ntwo\n")
    edits = directory / "e"
    run = [sys.executable, "-B", str(HERE / "edit.py"), str(edits), str(tree), str(out)]
    edits.write_text("=== a.c\n@ after `one`\nx\n=== b.c\n@ after `one`\nx\n")
    result = subprocess.run(run, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "b.c is not in" in result.stderr and not out.exists(), result
    edits.write_text("=== a.c\n@ after `one`\nx\n")
    assert subprocess.run(run, check=False).returncode == 0
    assert (out / "a.c").read_text() == "one\nx\ntwo\n" and (tree / "a.c").read_text() == "one\ntwo\n"


def our_edits_are_few_and_ours():
    """They parse; at most 500 lines; and no line is an anchor's, but what swaps need."""
    files = edit.parse((HERE / "bzflag.edits").read_text(encoding="utf-8"), "bzflag.edits")
    lines = [line for _, edits in files for e in edits for line in e[-1]]
    assert len(files) >= 8 and 100 < len(lines) <= 500, (len(files), len(lines))
    anchors = [e[2] for _, edits in files for e in edits]
    adapter = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in HERE.glob("adapter/FairleadTanks.*"))
    assert 100 < adapter <= 600, adapter  # FairleadMeasure is no part of the game
    assert all(len(anchor) <= 60 for anchor in anchors), [anchor for anchor in anchors if len(anchor) > 60]


def package_sources_are_the_machines_own():
    text = ("Types: deb\n# a comment\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates other\n"
            "Components: main\nSigned-By: /k.gpg\n\nTypes: deb\nURIs: http://other.example\nSuites: nodistro\n")
    made = fetch.from_sources(text, "bookworm", "trixie")
    assert made == ("Types: deb-src\nURIs: http://mirror.example/debian\nSuites: trixie trixie-updates\nComponents: main\n"
                    "Signed-By: /k.gpg\n"), made
    text = ("# deb http://x.example bookworm main\ndeb [arch=amd64 signed-by=/k] http://m.example/debian bookworm main\n"
            "deb-src http://m.example/debian bookworm-updates main contrib # new\ndeb http://o.example stable main\n")
    made = fetch.from_list(text, "bookworm", "trixie")
    assert made == ("deb-src [arch=amd64 signed-by=/k] http://m.example/debian trixie main\n"
                    "deb-src http://m.example/debian trixie-updates main contrib\n"), made
    assert fetch.codename('NAME="x"\nVERSION_CODENAME="bookworm"\n') == "bookworm"


def a_wrong_tarball_is_refused(directory):
    (directory / fetch.TARBALL).write_bytes(b"something else")
    result = subprocess.run([sys.executable, "-B", str(HERE / "fetch.py"), str(directory)], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 1 and "is another file" in result.stderr and fetch.SHA256 in result.stderr, result


def the_adapter_works_without_bzflag(program, directory):
    library = Path(program).resolve().parent / "src" / "libfairlead.a"
    sanitized = b"__asan_init" in library.read_bytes()
    compiler = ["clang++-14", "-fsanitize=address,undefined"] if sanitized else ["g++"]
    includes = [f"-I{ROOT / 'include'}", f"-I{HERE / 'standin'}", f"-I{HERE / 'adapter'}"]
    sources = [str(path) for path in sorted(HERE.glob("adapter/*.cxx"))] + [str(HERE / "standin" / "exercise.cxx")]
    subprocess.run([*compiler, "-std=c++11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow", *includes,
                    *sources, str(library), "-lsodium", "-lm", "-o", str(directory / "exercise")], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLEAD_")}
    result = subprocess.run([str(directory / "exercise")], capture_output=True, text=True, env=environment, timeout=60,
                            check=False)
    assert result.returncode == 0, result


def write_log(path, kinds):
    """Frames of 20 ms: a tank that drives 20 units a second and stops dead after 6 s, and where it is shown, too late."""
    lines = []
    for frame in range(500):
        for kind, late_s in kinds:
            x = 20.0 * min(6.0, max(0.0, 0.02 * frame - late_s))
            lines.append(f"{kind} {frame * 20_000_000} 3 {x:.3f} 0.000 0.000\n")
    path.write_text("".join(lines), encoding="ascii")


def errors_are_distances_at_the_same_moment(directory):
    write_log(directory / "owner.log", [("T", 0.0), ("E", 0.0)])
    write_log(directory / "late.log", [("S", 0.3)])
    played = measure.Played.__new__(measure.Played)
    played.directory, played.begin, played.end = directory, 10**9, 8 * 10**9
    played.read()
    shown = played.shown("late")
    errors, beyond = measure.compare(played.truth, shown, played.begin, played.end, 10**9)
    driving = [error for at, error in errors if at < 6 * 10**9]
    assert all(abs(error - 6.0) < 0.01 for error in driving) and len(driving) > 200, driving
    assert errors[-1][1] == 0.0 and beyond == [0.0], (errors[-1], beyond)
    sums = {}
    measure.around_stops(played, shown, 10**9, sums)
    assert sums[10] == [0.0, sums[10][1]] and abs(sums[-10][0] / sums[-10][1] - 6.0) < 0.01, sums
    frames = played.frames("late")
    assert abs(frames["frames_s"] - 50.0) < 0.2 and frames["gap_ms"] == 20.0, frames
    straight = measure.foreseeable(played.truth, played.begin, played.end, 10**9, 500_000_000)
    assert 0.2 < straight < 0.5, straight  # half a second after the stop


def intervals_are_of_the_mean():
    assert math.isnan(measure.interval([1.0])) and abs(measure.interval([1.0, 3.0]) - 12.71) < 0.01
    rows = [{"mean": 2.0}, {"mean": 4.0}, {"samples": 0}, {"mean": math.nan}]
    assert measure.over_matches(rows, "mean")[0] == 3.0


def pictures_are_made_of_results(directory):
    rows = [{"scheme": scheme, "delay_ms": delay, "mean": delay / 50.0, "straight_on": 1.0}
            for scheme in chart.NAMES for delay in (100.0, 500.0)]
    stops = {scheme + "500-0-0": [(-0.5, 1.0), (0.5, 2.0)] for scheme in chart.NAMES}
    lines = measure.by_name({5: [(0.0, 0.0), (10.0, 9.0)], 6: [(0.0, 0.0), (10.0, 5.0)]}, "Player far200 [6] has joined from\n"
                            "Player far500 [5] has joined from\n")
    assert lines["far200"][1][1] == 5.0, lines
    (directory / "accuracy.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    (directory / "linear.json").write_text(json.dumps({"rows": rows, "stops": stops}), encoding="utf-8")
    (directory / "policies.json").write_text(json.dumps({"rows": [{"policy": "base", "lines": lines}]}), encoding="utf-8")
    assert chart.main([str(directory), str(directory)]) == 0
    for name in ("bzflag_accuracy.svg", "bzflag_fairness.svg"):
        drawn = xml.etree.ElementTree.parse(directory / name)
        assert len(drawn.findall(".//{http://www.w3.org/2000/svg}path")) > 10, name
    results = HERE / "results"
    for path in results.glob("*.json"):
        kept = types.SimpleNamespace(**json.loads(path.read_text(encoding="utf-8")))
        assert kept.settings and kept.rows, path


def main():
    edits_are_made_by_anchors()
    another_source_is_named()
    mistakes_in_edits_are_named()
    our_edits_are_few_and_ours()
    package_sources_are_the_machines_own()
    intervals_are_of_the_mean()
    with tempfile.TemporaryDirectory() as directory:
        nothing_is_written_unless_all_fits(Path(directory))
        a_wrong_tarball_is_refused(Path(directory))
        errors_are_distances_at_the_same_moment(Path(directory))
        pictures_are_made_of_results(Path(directory))
        the_adapter_works_without_bzflag(sys.argv[1], Path(directory))


main()
