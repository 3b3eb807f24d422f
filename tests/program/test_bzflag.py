#!/usr/bin/env python3
"""integrations/bzflag, as far as it goes without BZFlag's source: the adapter against a stand-in of what it uses of
BZFlag, the edits' form and messages, and the package sources that the source comes from."""
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "integrations" / "bzflag"
sys.dont_write_bytecode = True


def load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


edit, fetch = load("edit"), load("fetch")


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


def main():
    edits_are_made_by_anchors()
    another_source_is_named()
    mistakes_in_edits_are_named()
    our_edits_are_few_and_ours()
    package_sources_are_the_machines_own()
    with tempfile.TemporaryDirectory() as directory:
        nothing_is_written_unless_all_fits(Path(directory))
        a_wrong_tarball_is_refused(Path(directory))
        the_adapter_works_without_bzflag(sys.argv[1], Path(directory))


main()
