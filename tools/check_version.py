"""One version, wherever it is said: check_version.py BUILD_DIR"""
import pathlib
import re
import subprocess
import sys

import tree

build = pathlib.Path(sys.argv[1])


def find(path, pattern):
    match = re.search(pattern, path.read_text(), re.MULTILINE)
    return match[1] if match else "none"


said = {
    "CMakeLists.txt": find(tree.ROOT / "CMakeLists.txt", r"^project\(fairlead VERSION ([\d.]+)"),
    "fairlead.pc": find(build / "fairlead.pc", r"^Version: (\S+)"),
    "fairlead-config-version.cmake": find(build / "fairlead-config-version.cmake",
                                          r'^set\(PACKAGE_VERSION "([^"]+)"'),
}
changelog = tree.ROOT / "CHANGELOG.md"
if changelog.exists():
    said["CHANGELOG.md"] = find(changelog, r"^## \[?v?(\d[\d.]*)")
if (build / "fairlead").exists():
    run = subprocess.run([build / "fairlead", "--version"], capture_output=True, text=True)
    match = re.search(r"\d+\.\d+\.\d+", run.stdout)
    said["fairlead --version"] = match[0] if match and run.returncode == 0 else "none"
tree.report([] if len(set(said.values())) == 1 else [f"{place}: {version}" for place, version in said.items()])
