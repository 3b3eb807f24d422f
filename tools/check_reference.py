"""The reference is whole: check_reference.py. Every exported function has a sentence above it (or stands right below one that
has), every one that answers an FlResult says with which errors, or points to one that does, and every one is called in a program
of ours that is compiled and run: an example, the tutorial, a game, the program, the lab, a benchmark or a test. And doxygen, if
it is installed, reads the headers without a warning.
"""
import re
import shutil
import subprocess
import tempfile

import tree

CALLERS = ("examples/", "docs/tutorial/", "games/", "app/", "lab/", "bench/", "tests/")
DECLARATION = re.compile(r"((?:^ *//[^\n]*\n)*)^FL_API\b([^;{(]*?)\b(fl_[a-z0-9_]+)\([^;]*;\n", re.MULTILINE)


def declared(path):
    """Yields name, whether it answers an FlResult, its comment; that of the one before where it has none and follows at once."""
    end, before = -1, ""
    for match in DECLARATION.finditer(path.read_text()):
        comment = match[1] if "///" in match[1] or match.start() != end else before
        yield match[3], re.search(r"\bFlResult\s*$", match[2].strip()) is not None, comment
        end, before = match.end(), comment


def calls():
    """Name -> the first folder of CALLERS in which it is called."""
    found = {}
    files = [path for path in tree.files(".c", ".h", ".cpp", ".hpp")]
    for caller in CALLERS:
        for path in files:
            if path.relative_to(tree.ROOT).as_posix().startswith(caller):
                for name in set(re.findall(r"\bfl_[a-z0-9_]+\b", re.sub(r"//.*", "", path.read_text()))):
                    found.setdefault(name, caller)
    return found


KNOWN = {"fl_assert_failed"}  # FL_ASSERT calls it

problems = []
used = calls()
total, only_tests = 0, []
for header in sorted((tree.ROOT / "include/fairlead").glob("*.h")):
    for name, fails, comment in declared(header):
        total += 1
        if "///" not in comment:
            problems.append(f"{header.name}: {name} has no sentence")
        if fails and "Errors:" not in comment:
            problems.append(f"{header.name}: {name} does not say with which errors it answers")
        if name not in used and name not in KNOWN:
            problems.append(f"{header.name}: {name} is called in no example, program or test")
        elif used.get(name) == "tests/":
            only_tests.append(name)
print(f"{total} functions, {len(only_tests)} of them called in tests only: {', '.join(only_tests)}")
if shutil.which("doxygen"):
    with tempfile.TemporaryDirectory() as folder:
        settings = (tree.ROOT / "docs/Doxyfile").read_text() + f"OUTPUT_DIRECTORY = {folder}\n"
        run = subprocess.run(["doxygen", "-"], cwd=tree.ROOT, input=settings, capture_output=True, text=True)
    if run.returncode != 0 or run.stderr.strip():
        problems.append(f"doxygen docs/Doxyfile:\n{run.stderr}")
else:
    print("doxygen is not installed: not run (./test installs it)")
tree.report(problems)
