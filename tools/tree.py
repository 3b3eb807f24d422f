"""The project's own files, for the checks: what git tracks or would track."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(*suffixes):
    """Paths of our files below ROOT, sorted; all of them, or those with one of the suffixes."""
    # A tree owned by somebody else (a container's mount) is still ours to read.
    git = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True)
    if git.returncode == 0:
        names = [ROOT / name for name in git.stdout.split("\0") if name]
    else:  # an unpacked archive
        names = [path for path in ROOT.rglob("*") if path.suffix != ".pyc"
                 and not path.relative_to(ROOT).parts[0].startswith((".git", "build", "node_modules"))]
    found = sorted(path for path in names if path.is_file() and (not suffixes or path.suffix in suffixes))
    if not found:
        sys.exit(f"no files found below {ROOT}: this check would pass for nothing")
    return found


def report(problems):
    """Prints what is wrong, one per line, and ends the check."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
