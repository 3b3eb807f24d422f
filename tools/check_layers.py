"""Who may include and call whom: check_layers.py BUILD_DIR. The table is the one in docs/architecture.md; the library stays
free of I/O and clocks.

A room's files see its own private.h, its own public headers, the public headers of the rooms it uses, and
base/private.h. A room has one public header of its name; those that have more are named here. Programs see include/fairlead and each other's folders, never src/; a game sees include/fairlead and itself.

Modules below a session have no public header: others see the headers that INNER names, and never their private.h, which
has their structs. Objects are looked at, too: no module calls one that it does not use.

Folders of app/ and lab/ include each other as FOLDERS says, and it says no more than they do. A folder stands below all that it uses, so there is no way round.
"""
import pathlib
import re
import subprocess
import sys

import tree

USES = {
    "base": "",
    "wire": "base",
    "motion": "base wire",
    "clock": "base",
    "seal": "base wire",
    "link": "base clock wire",
    "send": "base motion wire",
    "show": "base motion wire",
    "agree": "base motion wire",
    "group": "base wire",
    "crowd": "base motion wire",
    "core": "base wire motion clock seal link send show agree group crowd",
    "play": "core base wire motion clock seal link send show agree group crowd",
    "session": "play core base wire motion clock seal link send show agree group crowd",
    "impair": "base",
    "net": "base",
}
HEADERS = {"agree": "agree timeline call", "core": "", "play": ""}
INNER = {"core": "core/core.h core/feature.h", "play": "play/play.h"}
TYPES = {"fairlead/session.h"}  # the session's own, for those who make it up
PROGRAMS = ("app", "bench", "examples", "games", "lab")
FOLDERS = {
    "lab/trace": "",
    "lab/figures": "",
    "lab/world": "",
    "lab/actors": "lab/trace lab/world",
    "lab/experiments": "lab/figures lab/world",
    "lab/experiments/accuracy": "lab/actors lab/experiments lab/figures lab/world",
    "lab/experiments/attention": "lab/actors lab/experiments lab/figures lab/trace lab/world",
    "lab/experiments/crowd": "lab/experiments/attention lab/figures lab/world",
    "lab/experiments/duels": "lab/actors lab/experiments lab/figures lab/world",
    "lab/experiments/fairness": "lab/actors lab/experiments lab/figures lab/world",
    "lab/experiments/finish": "lab/experiments lab/world",
    "lab/experiments/liar": "lab/experiments/fairness",
    "lab/experiments/racing": "lab/experiments lab/figures lab/trace lab/world",
    "lab/experiments/scale": "lab/experiments/crowd",
    "lab/experiments/simultaneity": "lab/experiments lab/figures lab/world",
    "lab/experiments/tradeoff": "lab/experiments/fairness",
    "lab/report": "lab/experiments lab/trace",
    "lab/claims": "lab/actors lab/experiments lab/experiments/accuracy lab/experiments/attention lab/experiments/crowd"
                  " lab/experiments/duels lab/experiments/fairness lab/experiments/racing lab/experiments/scale"
                  " lab/experiments/simultaneity lab/figures",
    "bench": "",
    "app/cli": "lab/trace",
    "app/page": "",
    "app/tape": "app/cli",
    "app/play": "app/cli app/page app/tape",
    "app/demo": "app/cli app/page app/play app/tape lab/experiments/racing lab/world",
    "app/replay": "app/play lab/experiments/fairness lab/world",
    "app/wan": "app/cli",
    "app/reckon": "app/cli lab/trace",
    "app/lab": "app/cli lab/experiments",
    "app/commands": "app/cli app/demo app/lab app/page app/play app/reckon app/replay app/wan bench lab/claims"
                    " lab/experiments lab/report lab/trace",
    "app": "app/cli app/commands",
}

# What compiles anywhere and neither waits, reads a clock nor talks to the system. Only `net` goes beyond.
PURE = {"float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h", "stdbool.h", "stddef.h", "stdint.h",
        "stdlib.h", "string.h"}
EXTRA = {"base": {"stdio.h"}, "motion": {"emmintrin.h"}, "seal": {"sodium.h"}}  # stdio: an assert's last words

ROOM_OF = {header: room for room in USES for header in HEADERS.get(room, room).split()}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)')


def includes(path):
    """Yields where, what, and whether that is a header of this project, however it is quoted."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            mark, name = match.groups()
            ours = mark == '"' or any((tree.ROOT / base / name).exists() for base in ("include", "src"))
            yield f"{path.relative_to(tree.ROOT)}:{number}", name, ours


def check_room(room, path, problems):
    seen = {room, *USES[room].split()}
    allowed = {f"fairlead/{header}.h" for header, owner in ROOM_OF.items() if owner in seen}
    if "src" in path.relative_to(tree.ROOT).parts:
        allowed |= {"private.h", f"{room}/private.h", "base/private.h"}
        allowed |= {header for inner in INNER if inner in seen for header in INNER[inner].split()}
        allowed |= {header.split("/")[1] for header in INNER.get(room, "").split()} | (TYPES if room in INNER else set())
    system = PURE | EXTRA.get(room, set())
    for where, name, ours in includes(path):
        if not (name in allowed if ours else name in system or room == "net"):
            problems.append(f"{where}: room {room} may not include {name}")


def check_calls(build, problems):
    """By the symbols of the library's objects: who defines what, and who needs it."""
    objects = pathlib.Path(build) / "src/CMakeFiles/fairlead_objects.dir"
    defines, needs = {}, []
    for path in sorted(objects.glob("*/*.o")):
        if not (tree.ROOT / "src" / path.parent.name / path.stem).exists():
            continue  # of a file that was there once
        lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout.splitlines()
        for kind, name in (line.split()[-2:] for line in lines):
            if kind == "U":
                needs.append((path.parent.name, path.stem, name))
            elif kind.isupper():
                defines[name] = path.parent.name
    if not defines:
        problems.append(f"{objects}: no objects, so no calls are checked")
    for room, file, name in needs:
        owner = defines.get(name, room)
        if owner != room and owner not in USES.get(room, "").split():
            problems.append(f"src/{room}/{file}: room {room} may not call {name} of {owner}")


def check_folder(path, used, problems):
    """Notes in `used` which folders a folder of FOLDERS includes."""
    folder = path.parent.relative_to(tree.ROOT).as_posix()
    if folder not in FOLDERS:
        if folder.split("/")[0] in ("app", "lab"):
            problems.append(f"{path.relative_to(tree.ROOT)}: {folder} is no folder of FOLDERS (tools/check_layers.py)")
        return
    seen = used.setdefault(folder, set())
    for where, name, _ in includes(path):
        found = next((file for base in (path.parent, tree.ROOT) if (file := base / name).is_file()), path).resolve()
        other = found.parent.relative_to(tree.ROOT).as_posix() if tree.ROOT in found.parents else folder
        if other == folder or other not in FOLDERS:
            continue
        seen.add(other)
        if other not in FOLDERS[folder].split():
            problems.append(f"{where}: {folder} may not include {name}")


def check_folders(used, problems):
    above = set()
    for folder, uses in FOLDERS.items():
        for other in uses.split():
            if other not in above:
                problems.append(f"FOLDERS: {folder} uses {other}, which does not stand above it")
            elif other not in used.get(folder, ()):
                problems.append(f"FOLDERS: {folder} does not use {other}")
        above.add(folder)


def check_program(path, problems):
    search = [path.parent, tree.ROOT / "include", tree.ROOT, tree.ROOT / "games"]
    allowed = [tree.ROOT / folder for folder in ("include/fairlead", *PROGRAMS)]
    if path.relative_to(tree.ROOT).parts[0] == "games":  # a game knows the library, itself and picture/
        allowed = [tree.ROOT / "include/fairlead", tree.ROOT / "games/picture", path.parent]
    for where, name, ours in includes(path):
        found = next((base / name for base in search if (base / name).is_file()), tree.ROOT)
        if ours and not any(folder in found.resolve().parents for folder in allowed):
            problems.append(f"{where}: a program may include fairlead/… and programs' headers, not {name}")


problems = []
rooms, headers, used = set(), set(), {}
for path in tree.files(".c", ".h"):
    parts = path.relative_to(tree.ROOT).parts
    if parts[0] == "src":
        rooms.add(parts[1])
        room = parts[1]
    elif parts[:2] == ("include", "fairlead") and parts[2] != "fairlead.h":
        headers.add(path.stem)
        room = ROOM_OF.get(path.stem, path.stem)
    else:
        if parts[0] in PROGRAMS:
            check_program(path, problems)
            check_folder(path, used, problems)
        continue
    if room not in USES:
        problems.append(f"{path.relative_to(tree.ROOT)}: {room} is no room (see tools/check_layers.py)")
        continue
    check_room(room, path, problems)
    inner = path.relative_to(tree.ROOT / "src").as_posix() in INNER.get(room, "") if parts[0] == "src" else False
    if parts[0] == "src" and path.suffix == ".h" and path.name != "private.h" and not inner:
        problems.append(f"{path.relative_to(tree.ROOT)}: a room has one private header, private.h")
check_folders(used, problems)
check_calls(sys.argv[1], problems)
wanted = {header for header, room in ROOM_OF.items() if room in rooms}
problems += [f"src/{ROOM_OF[header]}: has no include/fairlead/{header}.h" for header in sorted(wanted - headers)]
problems += [f"include/fairlead/{header}.h: has no src/{ROOM_OF.get(header, header)}" for header in sorted(headers - wanted)]
tree.report(problems)
