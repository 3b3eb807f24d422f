"""What the libraries show to a linker: check_symbols.py LIBFAIRLEAD.A LIBFAIRLEAD.SO

Every public function is exported and nothing else; the static library's names cannot clash with a game's; and
the shared one needs no library that is not promised.
"""
import re
import subprocess
import sys

import tree

PROMISED = re.compile(r"^(lib(c|m|sodium)|ld-linux.*)\.so")

static, shared = sys.argv[1:]


def names(*command):
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    # What follows a dot is the compiler's: function.resolver picks one of several versions at load time.
    return {line.split()[-1].split(".")[0] for line in lines if len(line.split()) == 3}


exported = names("nm", "--dynamic", "--defined-only", shared)
declared = set()
for header in (tree.ROOT / "include/fairlead").glob("*.h"):
    declared |= set(re.findall(r"^FL_API\b[^;{(]*?\b(\w+)\(", header.read_text(), re.MULTILINE))

problems = [f"exported but not public: {name}" for name in sorted(exported - declared)]
problems += [f"declared but not exported: {name}" for name in sorted(declared - exported)]
problems += [f"a public name must start with fl_ and not fl__: {name}"
             for name in sorted(declared) if not re.match(r"fl_[a-z]", name)]
problems += [f"static library: name does not start with fl_: {name}"
             for name in sorted(names("nm", "--extern-only", "--defined-only", static))
             if not name.startswith("fl_")]
dynamic = subprocess.run(["objdump", "-p", shared], check=True, capture_output=True, text=True).stdout
problems += [f"shared library needs {name}" for name in re.findall(r"NEEDED\s+(\S+)", dynamic)
             if not PROMISED.match(name)]
if not declared:
    problems.append("no public functions found")
tree.report(problems)
