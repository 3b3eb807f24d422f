"""Each public header compiles alone, as C17 and as C++17, with gcc and clang, without a warning.

And an answer that must be looked at can be ignored by (void), but not by silence.
"""
import subprocess

import tree

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
COMPILERS = [["gcc", "-std=c17", "-xc"], ["g++", "-std=c++17", "-xc++"],
             ["clang-14", "-std=c17", "-xc"], ["clang++-14", "-std=c++17", "-xc++"]]

problems = []
headers = sorted((tree.ROOT / "include/fairlead").glob("*.h*"))
for header in headers:
    for compiler in COMPILERS[1::2] if header.suffix == ".hpp" else COMPILERS:
        source = f'#include "fairlead/{header.name}"\n'
        run = subprocess.run([*compiler, *WARNINGS, "-I", "include", "-fsyntax-only", "-"],
                             cwd=tree.ROOT, input=source, capture_output=True, text=True)
        if run.returncode != 0:
            problems.append(f"{header.name} alone with {' '.join(compiler)}:\n{run.stderr}")
IGNORED = '#include "fairlead/fairlead.h"\nvoid use(FlSession *s, FlNotice *n);\nvoid use(FlSession *s, FlNotice *n)\n{{\n    {}fl_notice_take(s, n);\n}}\n'
for compiler in [*COMPILERS, ["gcc", "-std=c2x", "-xc"], ["clang-14", "-std=c2x", "-xc"]]:
    for cast, good in (("(void)", True), ("", False)):
        run = subprocess.run([*compiler, *WARNINGS, "-I", "include", "-fsyntax-only", "-"],
                             cwd=tree.ROOT, input=IGNORED.format(cast), capture_output=True, text=True)
        if (run.returncode == 0) != good or (not good and "unused-result" not in run.stderr):
            problems.append(f"ignoring an FlResult {'by (void) ' if good else ''}with {' '.join(compiler)}:\n{run.stderr}")
if not headers:
    problems.append("no public headers found")
tree.report(problems)
