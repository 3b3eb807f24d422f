"""clang-tidy (see .clang-tidy) over everything that is built, cppcheck over what ships: check_analysis.py BUILD_DIR [--deep]

A file that was clean is not looked at again until it, a header or the settings change.

clang's analyser follows the paths through a function until it has made so many nodes. Its own limit is 225000; ours take
a fraction of the time, and may miss what lies deep in a large function. --deep leaves it at its own: run it now and then.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import tree

SHIPS = ("src", "games")
FOLDERS = ("src", "games", "lab", "app", "bench", "examples")
NODES_SHIPS, NODES = (225000, 225000) if "--deep" in sys.argv else (10000, 5000)
# clang does not know a flag of gcc's, which is none the worse.
TIDY = ["clang-tidy-14", "--quiet", "-p", sys.argv[1], "--extra-arg=-Wno-ignored-optimization-argument"]
CPPCHECK = ["cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability", "--inline-suppr",
            "--error-exitcode=1", "-I", "include", "-I", "src", "-I", "."]
# cppcheck looks at a file once for each way its headers can be configured, eight in all, and these differ in attributes
# of declarations only. A file that asks by itself is looked at every way.
ONE_WAY = ["-D__GNUC__=12", "-DFL_BUILDING", "-U_WIN32", "-UFL_SHARED", "-UFL_NO_ASSERT", "-U__clang__"]

build = pathlib.Path(sys.argv[1])
clean = build / "analysis"
clean.mkdir(exist_ok=True)
commands = json.loads((build / "compile_commands.json").read_text())
ours = {path: entry["command"] for entry in commands
        if (path := pathlib.Path(entry["file"])).relative_to(tree.ROOT).parts[0] in FOLDERS}
shared = b"".join(path.read_bytes()
                  for path in [tree.ROOT / ".clang-tidy", pathlib.Path(__file__), *tree.files(".h")])


def tidy(nodes):
    words = ("-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={nodes}")
    return TIDY + [f"--extra-arg={word}" for word in words]


def analyse(path):
    ships = path.relative_to(tree.ROOT).parts[0] in SHIPS
    nodes = NODES_SHIPS if ships else NODES
    key = hashlib.sha256(shared + repr((nodes, ours[path])).encode() + path.read_bytes()).hexdigest()
    if (clean / key).exists():
        return []
    said = ""
    failed = False
    asks = re.search(rb"^#\s*if", path.read_bytes(), re.MULTILINE)
    for command in (tidy(nodes), CPPCHECK + ([] if asks else ONE_WAY)) if ships else (tidy(nodes),):
        run = subprocess.run([*command, str(path)], cwd=tree.ROOT, capture_output=True, text=True)
        said += run.stdout + run.stderr
        failed = failed or run.returncode != 0
    if not failed:
        (clean / key).touch()
        return []
    short = re.findall(r"^\S+:\d+:\d+: (?:error|warning): .*", said, re.MULTILINE)
    return [*(short or [said]), f"  more: {' '.join(tidy(nodes))} {path}"]


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    problems = [line for lines in pool.map(analyse, sorted(ours)) for line in lines]
tree.report(problems if ours else ["nothing to analyse"])
