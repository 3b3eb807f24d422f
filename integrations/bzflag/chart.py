#!/usr/bin/env python3
"""Pictures (SVG) of what `measure --json` kept: chart.py RESULTS DIRECTORY

RESULTS is a directory with any of accuracy.json, linear.json and policies.json; results/ has those of the guide."""

import json
import math
import sys
from pathlib import Path

sys.dont_write_bytecode = True

COLOURS = ("#1f6fb4", "#d9730d", "#2a9d57", "#b3324b", "#7a4fb5", "#8a6d3b", "#3aa6a6", "#777777")
WIDTH, HEIGHT, LEFT, TOP, GAP = 460, 300, 56, 34, 40


def nice_steps(top):
    """Round numbers from 0 to just below `top`, about five of them."""
    step = 10.0 ** -9
    while top / step > 6.0:
        step *= 2.5 if f"{step:e}"[0] == "2" and f"{step:e}"[2] == "0" else 2.0
    count = int(top / step + 1e-9)
    return [i * step for i in range(count + 1)]


def panel(left, title, x_name, y_name, lines):
    """One set of axes; `lines`: [(name, [(x, y)])]."""
    points = [point for _, line in lines for point in line]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = max(1e-9, max(y for _, y in points)) * 1.05
    right, bottom = left + WIDTH - LEFT - 10, TOP + HEIGHT - 80

    def place(x, y):
        return (left + (x - low) / max(1e-9, high - low) * (right - left), bottom - y / top * (bottom - TOP))

    out = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>',
           f'<text x="{(left + right) / 2:.0f}" y="{bottom + 32}" text-anchor="middle">{x_name}</text>',
           f'<text x="{left - 44}" y="{TOP - 1}" font-size="10">{y_name}</text>']
    for y in nice_steps(top):
        _, v = place(low, y)
        out.append(f'<path d="M{left} {v:.1f}H{right}" stroke="#ddd"/><text x="{left - 5}" y="{v + 4:.1f}" '
                   f'text-anchor="end" font-size="10">{y:g}</text>')
    step = nice_steps(high - low or 1.0)[1]
    for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1):
        x = i * step
        h, _ = place(x, 0.0)
        out.append(f'<text x="{h:.1f}" y="{bottom + 15}" text-anchor="middle" font-size="10">{x:.4g}</text>')
    for i, (name, line) in enumerate(lines):
        colour = COLOURS[i % len(COLOURS)]
        way = "L".join("%.1f %.1f" % place(x, y) for x, y in line)
        out.append(f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        h, v = left + (i % 4) * 100, bottom + 50 + (i // 4) * 15
        out.append(f'<path d="M{h} {v - 4}h14" stroke="{colour}" stroke-width="3"/><text x="{h + 18}" y="{v}">{name}</text>')
    return "\n".join(out)


def write(path, panels):
    """`panels`: [(title, name of x, name of y, lines)], three in a row."""
    across = min(3, len(panels))
    width, height = across * WIDTH + GAP, (len(panels) + across - 1) // across * (HEIGHT + 20)
    body = "\n".join(f'<g transform="translate(0 {i // across * (HEIGHT + 20)})">\n{panel(LEFT + i % across * WIDTH, *each)}\n</g>'
                     for i, each in enumerate(panels))
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
                    f'font-size="12">\n<rect width="{width}" height="{height}" fill="white"/>\n{body}\n</svg>\n',
                    encoding="utf-8")


NAMES = {"stock": "as shipped", "local": "on arrival", "global": "Fairlead"}
POLICIES = ("base", "base/3", "deterministic", "equal-100")


def load(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def mean(values):
    return sum(values) / len(values)


def by_delay(rows, scheme, name):
    delays = sorted({row["delay_ms"] for row in rows})
    return [(delay, mean([row[name] for row in rows if row["scheme"] == scheme and row["delay_ms"] == delay])) for delay in delays]


def of_accuracy(free, linear):
    """Error by delay, and around stops."""
    panels = []
    if free is not None:
        lines = [(NAMES[scheme], by_delay(free["rows"], scheme, "mean")) for scheme in NAMES]
        panels.append(("Mean error by delay", "one way, ms", "units", [*lines, ("straight on", by_delay(free["rows"], "global", "straight_on"))]))
    if linear is not None:
        far = "500-0-0"
        panels.append(("Around a stop, at 500 ms", "seconds since it stopped", "units",
                       [(NAMES[scheme], linear["stops"][scheme + far]) for scheme in NAMES]))
    return panels


def of_policies(results):
    """What receivers suffered, over time, by policy; and how unequally."""
    panels, unequal = [], []
    for row in results["rows"]:
        names, lines = zip(*sorted(row["lines"].items()))
        count = min(len(line) for line in lines)
        spread = []
        for at in range(1, count):
            values = [line[at][1] for line in lines]
            spread.append((lines[0][at][0], (mean([value * value for value in values]) - mean(values) ** 2) ** 0.5))
        unequal.append((row["policy"], spread))
        if row["policy"] in POLICIES:
            named = [(f"at {name[len('far'):]} ms", line) for name, line in zip(names, lines)]
            panels.append((f"Accumulated error: {row['policy']}", "seconds", "units x s, all tanks", named))
    return [*panels, ("Deviation of accumulated errors", "seconds", "units x s, all tanks", unequal)]


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    results, pictures = Path(arguments[0]), Path(arguments[1])
    panels = of_accuracy(load(results / "accuracy.json"), load(results / "linear.json"))
    if panels:
        write(pictures / "bzflag_accuracy.svg", panels)
    policies = load(results / "policies.json")
    if policies is not None:
        write(pictures / "bzflag_fairness.svg", of_policies(policies))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
