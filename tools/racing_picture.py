"""The README's moving picture, from a recorded race of two: racing_picture.py [RACE.csv.gz] [OUT_DIR].

Two screens, 75 ms apart. First each places the other's car where an update says when it arrives: they disagree who leads. Then both
show both cars by the session's clock, 100 ms late: they agree. The still is for those who want no motion. What the library itself does
on such races is measured by `fairlead lab run racing`; this draws the two rules.
"""
import bisect
import csv
import gzip
import pathlib
import sys

DELAY, LATE, SPAN, STEP = 0.075, 0.100, 5.0, 0.1  # seconds
METRES_SHOWN, WIDTH, LANE = 16.0, 760, 26
CARS = ("#c2410c", "#1d4ed8")


def load(path):
    """Per car, sorted times and progress."""
    cars = {}
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            times, progress = cars.setdefault(row["id"], ([], []))
            times.append(float(row["t"]))
            progress.append(float(row["progress"]))
    return [cars[key] for key in sorted(cars)][:2]


def at(car, time):
    times, progress = car
    i = min(max(bisect.bisect(times, time), 1), len(times) - 1)
    share = (time - times[i - 1]) / max(times[i] - times[i - 1], 1e-9)
    return progress[i - 1] + share * (progress[i] - progress[i - 1])


def screens(cars, time, agreed):
    """Each screen's two positions."""
    if agreed:
        shown = [at(car, time - LATE) for car in cars]
        return [shown, shown]
    return [[at(car, time - (0 if c == s else DELAY)) for c, car in enumerate(cars)] for s in range(2)]


def leader(shown):
    return 0 if shown[0] > shown[1] else 1


def closest(cars):
    """Where the two screens disagree most."""
    times = [cars[0][0][0] + 2 + 0.5 * i for i in range(int((cars[0][0][-1] - cars[0][0][0] - SPAN - 4) / 0.5))]

    def apart(start):
        looks = [screens(cars, start + STEP * i, False) for i in range(int(SPAN / STEP))]
        return sum(leader(a) != leader(b) for a, b in looks)
    return max(times, key=apart), max(map(apart, times))


def frames(cars, start):
    """(screens, agreed) for both halves."""
    count = int(SPAN / STEP)
    return [(screens(cars, start + STEP * (i % count), i >= count), i >= count) for i in range(2 * count)]


def x_of(shown, car):
    middle = (shown[0] + shown[1]) / 2
    return WIDTH / 2 + (shown[car] - middle) / METRES_SHOWN * WIDTH


def keyframes(name, prop, values):
    last = len(values)
    steps = []
    for i, value in enumerate(values):
        if 0 < i < last - 1 and values[i - 1] == value == values[i + 1]:
            continue
        steps.append(f"{100 * i / last:.2f}%{{{prop.format(value)}}}")
    return f"@keyframes {name}{{{''.join(steps)}100%{{{prop.format(values[-1])}}}}}"


def draw(all_frames, moving):
    style, body = [], []
    seconds = 2 * SPAN
    still = all_frames[0]
    for s in range(2):
        top = 40 + s * 110
        body.append(f'<text x="10" y="{top - 8}" class="t">Player {"AB"[s]}\'s screen</text>')
        body.append(f'<rect x="0" y="{top}" width="{WIDTH}" height="{2 * LANE + 8}" class="road"/>')
        for c in range(2):
            xs = [round(x_of(f[0][s], c) - 18, 1) for f in all_frames]
            x = round(x_of(still[0][s], c) - 18, 1)
            y = top + 6 + c * LANE
            body.append(f'<g class="c{s}{c}" transform="translate({x} {y})"><rect width="36" height="18" rx="6" fill="{CARS[c]}"/>'
                        f'<text x="12" y="14" fill="#fff" class="t">{"AB"[c]}</text></g>')
            style.append(keyframes(f"m{s}{c}", "transform:translate({0}px," + str(y) + "px)", xs))
            style.append(f".c{s}{c}{{animation:m{s}{c} {seconds}s linear infinite}}")
        for c in range(2):
            leads = [1 if leader(f[0][s]) == c else 0 for f in all_frames]
            body.append(f'<text x="{WIDTH - 90}" y="{top - 8}" class="t l{s}{c}" opacity="{leads[0]}" fill="{CARS[c]}">{"AB"[c]} leads</text>')
            style.append(keyframes(f"o{s}{c}", "opacity:{0}", leads) + f".l{s}{c}{{animation:o{s}{c} {seconds}s step-end infinite}}")
    for half, words in enumerate(("each places the other where its last update says: they disagree",
                                  "Fairlead: both by one clock, 100 ms late: they agree")):
        shown = [1 if f[1] == bool(half) else 0 for f in all_frames]
        body.append(f'<text x="10" y="262" class="t h{half}" opacity="{shown[0]}">{words}</text>')
        style.append(keyframes(f"h{half}", "opacity:{0}", shown) + f".h{half}{{animation:h{half} {seconds}s step-end infinite}}")
    motion = "".join(style) + "@media (prefers-reduced-motion:reduce){*{animation:none!important}}" if moving else ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 275" role="img" aria-label="Two players\' screens of one race: first they '
            f'disagree who leads, then they agree"><style>.t{{font:14px sans-serif}}.road{{fill:#e5e7eb}}svg{{background:#fff}}{motion}</style>'
            f'{"".join(body)}</svg>\n')


def main():
    folder = pathlib.Path("data/racing")
    races = [pathlib.Path(sys.argv[1])] if len(sys.argv) > 1 else sorted(folder.glob("*.csv.gz"))
    out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "docs/pictures")
    best = max(((closest(cars), i) for i, cars in enumerate(map(load, races)) if len(cars) == 2), key=lambda found: found[0][1])
    (start, count), index = best
    all_frames = frames(load(races[index]), start)
    (out / "racing.svg").write_text(draw(all_frames, True))
    (out / "racing_still.svg").write_text(draw(all_frames, False))
    print(f"{races[index]}: from {start:.1f} s the screens disagree in {count} of {int(SPAN / STEP)} looks")


if __name__ == "__main__":
    main()
