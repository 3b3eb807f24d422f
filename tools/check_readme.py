"""The README's C example is examples/00_readme.c, word for word, and short: so what people read first is built and run."""
import re

import tree

readme = (tree.ROOT / "README.md").read_text()
example = (tree.ROOT / "examples" / "00_readme.c").read_text()
blocks = re.findall(r"^```c\n(.*?)^```$", readme, re.S | re.M)
problems = []
if blocks != [example]:
    problems.append("README.md: its one C block is not examples/00_readme.c")
for name, most in (("00_readme.c", 35), ("00_readme.cpp", 30)):
    if (tree.ROOT / "examples" / name).read_text().count("\n") > most:
        problems.append(f"examples/{name}: more than {most} lines")
tree.report(problems)
