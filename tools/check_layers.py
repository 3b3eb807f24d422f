"""Who may include whom. The table is the one in docs/architecture.md; the library stays free of I/O and clocks.

A room's files see its own private.h, its own public headers, the public headers of the rooms it uses, and
base/private.h. A room has one public header of its name; those that have more are named here. Programs see include/fairlead and each other's folders, never src/; a game sees include/fairlead and itself.
"""
import re

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
    "session": "base wire motion clock seal link send show agree group crowd",
    "impair": "base",
    "net": "base",
}
HEADERS = {"agree": "agree timeline call"}
PROGRAMS = ("app", "bench", "examples", "games", "lab")

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
    system = PURE | EXTRA.get(room, set())
    for where, name, ours in includes(path):
        if not (name in allowed if ours else name in system or room == "net"):
            problems.append(f"{where}: room {room} may not include {name}")


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
rooms, headers = set(), set()
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
        continue
    if room not in USES:
        problems.append(f"{path.relative_to(tree.ROOT)}: {room} is no room (see tools/check_layers.py)")
        continue
    check_room(room, path, problems)
    if parts[0] == "src" and path.suffix == ".h" and path.name != "private.h":
        problems.append(f"{path.relative_to(tree.ROOT)}: a room has one private header, private.h")
wanted = {header for header, room in ROOM_OF.items() if room in rooms}
problems += [f"src/{ROOM_OF[header]}: has no include/fairlead/{header}.h" for header in sorted(wanted - headers)]
problems += [f"include/fairlead/{header}.h: has no src/{ROOM_OF.get(header, header)}" for header in sorted(headers - wanted)]
tree.report(problems)
