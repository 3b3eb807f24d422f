"""clang-format agrees with every C file. With --fix it has the last word."""
import subprocess
import sys

import tree

files = tree.files(".c", ".h")
if "--fix" in sys.argv:
    sys.exit(subprocess.run(["clang-format-14", "-i", *files]).returncode)
run = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *files], capture_output=True, text=True)
wrong = sorted({line.split(":")[0] for line in run.stderr.splitlines() if "code should be" in line})
if run.returncode != 0 and not wrong:
    wrong = [run.stderr]
tree.report([f"{name}: not as clang-format has it (tools/check_format.py --fix)" for name in wrong])
