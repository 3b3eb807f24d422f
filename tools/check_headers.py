"""Each public header compiles alone, as C17 and as C++17, with gcc and clang, without a warning."""
import subprocess

import tree

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
COMPILERS = [["gcc", "-std=c17", "-xc"], ["g++", "-std=c++17", "-xc++"],
             ["clang-14", "-std=c17", "-xc"], ["clang++-14", "-std=c++17", "-xc++"]]

problems = []
headers = sorted((tree.ROOT / "include/fairlead").glob("*.h"))
for header in headers:
    for compiler in COMPILERS:
        source = f'#include "fairlead/{header.name}"\n'
        run = subprocess.run([*compiler, *WARNINGS, "-I", "include", "-fsyntax-only", "-"],
                             cwd=tree.ROOT, input=source, capture_output=True, text=True)
        if run.returncode != 0:
            problems.append(f"{header.name} alone with {' '.join(compiler)}:\n{run.stderr}")
if not headers:
    problems.append("no public headers found")
tree.report(problems)
