"""spec/vectors/ read by a decoder that knows spec/WIRE.md only: layout and meaning. And the layouts that stand above
the code are those of the document, word for word. (The program's path, given as an argument, is not needed.)"""
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wire_decoder as wire  # noqa: E402
from vector_reader import ROOT, check, finish, load  # noqa: E402

# ---------------------------------------------------------------- vectors

def near(got, want, allowed):
    return all(math.isclose(g, w, rel_tol=1e-9, abs_tol=allowed) for g, w in zip(got, want, strict=True))


def check_world(named):
    world = wire.World(named)
    check(f"{world.protocol_id():016x}" == named["protocol_id"], named["name"], "protocol id")
    got = {"entity": world.entity_width, "yaw": world.yaw_width, "rotation_part": world.part_width,
           "turn_rate": world.turn_rate[0].width}
    for field in ("position", "velocity", "acceleration", "spin"):
        for axis, quantiser in zip("xyz", getattr(world, field)):
            got[f"{field}_{axis}"] = quantiser.width
    check(got == named["widths"], named["name"], "widths", got, named["widths"])
    return world


def check_said(want, got, where):
    """Every field of the vector, to the last bit: a reader computes the same doubles."""
    for name, value in want.items():
        if name not in ("world", "stamp_ns", "bytes", "told", "later", "shown"):
            check(got[name] == value, where, name, "is", got[name], "not", value)


def check_told(world, told, got, where):
    """What was said is what was meant: within half a step, or exactly if wide."""
    back = (got["time_ns"] - told["time_ns"]) / 1e9
    check(-0.00025 < back <= 0.0, where, "time")
    if told["model"] != "cubic":  # between its ends the curve changes with them; they are checked by their fields
        half = 1e-9 if got["wide"] else 0.501 * world.definition["precision"]
        meant = wire.place(told, back)[0]
        check(all(abs(g - m) <= half + 1e-9 * abs(m) for g, m in zip(got["position"], meant)), where, "told position",
              got["position"], meant)
    if told["facing"] != "none":
        turned = angle_between(wire.turn(got, 0.0), wire.turn(told, back))
        check(turned <= world.definition["angle_precision"], where, "turned by", turned)


def angle_between(a, b):
    dot = abs(sum(x * y for x, y in zip(a, b, strict=True)))
    return 2.0 * math.acos(min(1.0, dot)) if dot < 0.999 else 2.0 * math.asin(distance(a, b) / 2.0) * 2.0


def distance(a, b):
    return min(math.dist(a, b), math.dist(a, [-x for x in b]))


def check_later(later, got, where):
    seconds = later["after_ns"] / 1e9
    position, velocity = wire.place(got, seconds)
    check(near(position, later["position"], 1e-9), where, "position after", seconds, position, later["position"])
    check(near(velocity, later["velocity"], 1e-9), where, "velocity after", seconds, velocity, later["velocity"])
    if got["facing"] != "none":
        apart = distance(wire.turn(got, seconds), later["rotation"])
        check(apart < 1e-9, where, "rotation after", seconds, "off by", apart)


def refusal(world, data, stamp):
    try:
        wire.decode(world, data, stamp)
    except wire.Refused as refused:
        return str(refused)
    return "OK"


def check_update(worlds, vector):
    world = worlds[vector["world"]]
    data = bytes.fromhex(vector["bytes"])
    where = f"{vector['world']} {vector['bytes']}:"
    got = wire.decode(world, data + b"\xff", vector["stamp_ns"])  # whatever follows is the next one's
    check(got["size"] == len(data), where, "size")
    check_said(vector, got, where)
    check_told(world, vector["told"], got, where)
    for later in vector["later"]:
        check_later(later, got, where)
    for shown in vector.get("shown", []):
        position = wire.shown(got, shown["delay_ns"], shown["at_ns"])
        check(near(position, shown["position"], 1e-9), where, "shown", shown, position)
    for size in range(len(data)):
        check(refusal(world, data[:size], vector["stamp_ns"]) == "TRUNCATED", where, "cut to", size)


def check_vectors():
    vectors = load("update")
    worlds = {named["name"]: check_world(named) for named in vectors["worlds"]}
    for vector in vectors["updates"]:
        check_update(worlds, vector)
    for vector in vectors["refused"]:
        fault = refusal(worlds[vector["world"]], bytes.fromhex(vector["bytes"]), vector["stamp_ns"])
        check(fault == vector["fault"], vector["why"], "is", fault, "not", vector["fault"])
    forms = {(v["model"], v["facing"], v["wide"]) for v in vectors["updates"]}
    check(len(forms) == 30, "not every form is there")
    check(any("shown" in v for v in vectors["updates"]), "none fades")
    return len(vectors["updates"]) + len(vectors["refused"])


# ---------------------------------------------------------------- layouts

TITLE = re.compile(r"^// ([A-Z][A-Z_ ]*): .* spec/WIRE\.md section ([\d.]*\d)$")


def sections():
    """Each numbered section's lines, its subsections' included."""
    found = {}
    open_numbers = []
    for line in (ROOT / "spec/WIRE.md").read_text().splitlines():
        heading = re.match(r"^#+ ([\d.]*\d)\.? ", line)
        if heading:
            number = heading[1]
            open_numbers = [n for n in open_numbers if number.startswith(n + ".")] + [number]
        for number in open_numbers:
            found.setdefault(number, []).append(line.strip())
    return found


def check_layout(where, number, layout, text):
    """The layout's lines stand in the section, in their order; unless it is still to come."""
    while number not in text and "." in number:
        number = number.rpartition(".")[0]
    if any(line.startswith("*To come") for line in text.get(number, [])):
        print(where, f"pending: spec/WIRE.md section {number} is still to come")
        return
    rest = iter(text.get(number, []))
    for line in layout:
        check(line in rest, where, f"not in spec/WIRE.md section {number} (or out of order):", line)


def check_layouts():
    text = sections()
    count = 0
    for path in sorted((ROOT / "src").rglob("*.c")):
        if path.parent.name == "seal":  # a standard's tables, told in its words; test_seal_layout.py has them
            continue
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            title = TITLE.match(line)
            if title:
                comment = []
                for below in lines[i + 1:]:
                    if not below.startswith("//"):
                        break
                    if below.startswith("//   "):  # the table, not the prose around it
                        comment.append(below[2:].strip())
                check_layout(f"{path.relative_to(ROOT)}:{i + 1}: {title[1]}:", title[2], comment, text)
                count += 1
    check(count >= 2, "layouts are missing: have the titles changed?")
    return count


vectors = check_vectors()
layouts = check_layouts()
finish(f"{vectors} vectors, {layouts} layouts")
