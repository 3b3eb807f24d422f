"""The README's C example is examples/00_readme.c, word for word, and short: so what people read first is built and run."""
import re

import tree

readme = (tree.ROOT / "README.md").read_text()
example = (tree.ROOT / "examples" / "00_readme.c").read_text()
blocks = re.findall(r"^```c\n(.*?)^```$", readme, re.S | re.M)
problems = []
if blocks != [example]:
    problems.append("README.md: its one C block is not examples/00_readme.c")
if example.count("\n") >= 60:
    problems.append("examples/00_readme.c: 60 lines or more")
tree.report(problems)
