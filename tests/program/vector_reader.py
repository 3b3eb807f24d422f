"""What the readers of spec/vectors/ share: one loader, one list of problems, one end."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wire_decoder as wire  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
problems = []


def check(good, *words):
    if not good:
        problems.append(" ".join(str(word) for word in words))


def load(name):
    """spec/vectors/NAME.json, of the wire version that the decoders know."""
    vectors = json.loads((ROOT / f"spec/vectors/{name}.json").read_text())
    check(vectors.get("wire_version", wire.WIRE_VERSION) == wire.WIRE_VERSION, f"{name}.json: wire version")
    return vectors


def finish(counted):
    """Says what was read and what is wrong with it, and ends the program."""
    for problem in problems[:20]:
        print(problem)
    print(f"{counted}, {len(problems)} problems")
    sys.exit(1 if problems else 0)
