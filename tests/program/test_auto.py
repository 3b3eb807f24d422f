"""The automatic choice of model against each single one, on the bundled traces: never more than 5 % worse than the best,
better than all of them where tanks have inertia, and circular worth half of linear for tanks that turn at once."""
import json
import pathlib
import subprocess
import sys

PROGRAM = sys.argv[1]
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
SINGLE = ("linear", "quadratic", "circular")


def reckon(trace, model):
    command = [PROGRAM, "trace", "reckon", str(trace), "--model", model, "--distance", "0.09",
               "--silence", "1", "--delay", "100,300,800", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def mean_errors(result):
    """Per delay, over all samples of all lives."""
    means = []
    for delay in range(3):
        seen = [(life["receivers"][delay]["mean_error"], life["samples"]) for life in result["entities"]]
        seen = [(error, samples) for error, samples in seen if error is not None]
        means.append(sum(e * n for e, n in seen) / sum(n for _, n in seen))
    return means


traces = sorted(DATA.glob("*/*.csv.gz"))
assert traces, "no bundled traces"
for trace in traces:
    results = {model: reckon(trace, model) for model in (*SINGLE, "auto")}
    updates = {model: result["total"]["updates"] for model, result in results.items()}
    best = min(updates[model] for model in SINGLE)
    print(f"{trace.name}: {updates}, auto / best single {updates['auto'] / best:.3f}")
    assert updates["auto"] <= 1.05 * best, trace
    if trace.name.startswith("match02"):
        assert updates["auto"] < best, trace
    if trace.name.startswith("match01"):
        assert 2 * updates["circular"] <= updates["linear"], trace
        for circular, linear in zip(mean_errors(results["circular"]), mean_errors(results["linear"])):
            assert circular < linear, trace
print("ok")
