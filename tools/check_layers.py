"""Who may include and call whom: check_layers.py BUILD_DIR. The table is the one in docs/architecture.md; the library stays
free of I/O and clocks.

A module has up to three sorts of headers:
- public, in include/fairlead: what people use who take this module alone. One of the module's name; HEADERS names exceptions;
- inner, in its folder, named by INNER: what the modules above it call;
- private, all others in its folder: its structs, for its own files only; private.h, or one for a concept of several files.
A module's files see all of its own headers, the public and inner ones of the modules it uses, and SHARED of base. No header in
src has more than 300 lines. Programs see include/fairlead and each other's folders; INSIDERS, which measure and emulate,
see inner headers, too; a game sees include/fairlead and itself. Objects are looked at, too: no module calls one that it does not use.

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
    # The parts of a session: each sees those below it.
    "kernel": "base agree",
    "connection": "kernel base wire clock seal link",
    "packet": "connection kernel base wire link",
    "member": "packet connection kernel base wire clock link",
    "entity": "member packet connection kernel base wire motion clock link send show agree",
    "attention": "entity member packet connection kernel base wire send",
    "guidance": "entity member packet connection kernel base wire motion send show",
    "rewind": "entity member packet connection kernel base wire motion send show",
    "crowd": "attention entity member packet connection kernel base motion show wire",
    "play": "rewind entity member packet connection kernel base wire motion clock link send show agree",
    "session": "play crowd rewind guidance attention entity member packet connection kernel base wire motion clock seal link"
               " send show agree",
    "run": "session play member connection kernel base wire seal net",
    "impair": "base",
    "net": "base",
}
HEADERS = {"wire": "wire fields", "session": "session tuning", "agree": "agree timeline call", "kernel": "", "connection": "", "packet": "", "member": "", "entity": "",
           "attention": "", "guidance": "", "play": "predict"}
INNER = {"wire": "wire/wire.h wire/fields.h", "motion": "motion/motion.h", "clock": "clock/clock.h", "seal": "seal/seal.h",
         "link": "link/link.h", "send": "send/send.h", "show": "show/show.h",
         "agree": "agree/agree.h agree/lags.h agree/timeline.h agree/call.h", "kernel": "kernel/kernel.h", "connection": "connection/connection.h connection/sealed.h",
         "packet": "packet/packet.h packet/feature.h packet/kinds.h", "member": "member/member.h", "entity": "entity/entity.h",
         "attention": "attention/attention.h", "guidance": "guidance/guidance.h", "rewind": "rewind/rewind.h", "crowd": "crowd/light.h crowd/engine.h",
         "play": "play/play.h", "session": "session/session.h", "impair": "impair/impair.h"}
SHARED = {"base/private.h", "base/maths.h", "base/kernels.h"}  # small things, mathematics, the same for loops
HEADER_LINES = 300
TYPES = {"fairlead/session.h", "fairlead/fairlead.h", "fairlead/tuning.h"}  # the session's own, for those who make it up
PROGRAMS = ("app", "bench", "examples", "games", "lab")
INSIDERS = ("lab", "bench", "app/wan", "app/reckon", "app/commands")  # what plays (games, app/play, app/demo) is no insider
FOLDERS = {
    "lab/trace": "",
    "lab/figures": "",
    "lab/world": "lab/figures",
    "lab/actors": "lab/trace lab/world",
    "lab/experiments": "lab/figures lab/world",
    "lab/experiments/accuracy": "lab/actors lab/experiments lab/figures lab/world",
    "lab/experiments/ages": "lab/experiments lab/trace",
    "lab/experiments/attention": "lab/actors lab/experiments lab/figures lab/trace lab/world",
    "lab/experiments/crowd": "lab/experiments/attention lab/figures lab/world",
    "lab/experiments/duels": "lab/actors lab/experiments lab/figures lab/world",
    "lab/experiments/fairness": "lab/actors lab/experiments lab/figures lab/world",
    "lab/experiments/fields": "lab/experiments lab/world",
    "lab/experiments/finish": "lab/experiments lab/world",
    "lab/experiments/liar": "lab/experiments/fairness",
    "lab/experiments/models": "lab/experiments lab/trace",
    "lab/experiments/prediction": "lab/experiments lab/figures lab/world",
    "lab/experiments/quality": "lab/actors lab/experiments lab/figures lab/world",
    "lab/experiments/racing": "lab/experiments lab/figures lab/trace lab/world",
    "lab/experiments/scale": "lab/experiments/crowd",
    "lab/experiments/shots": "lab/actors lab/experiments lab/experiments/quality lab/figures lab/world",
    "lab/experiments/simultaneity": "lab/experiments lab/figures lab/world",
    "lab/experiments/tradeoff": "lab/experiments/fairness",
    "lab/report": "lab/experiments lab/trace",
    "lab/experiments/judge": "lab/actors lab/experiments lab/figures lab/world",
    "lab/claims": "lab/actors lab/experiments lab/experiments/accuracy lab/experiments/attention lab/experiments/crowd"
                  " lab/experiments/duels lab/experiments/fairness lab/experiments/racing lab/experiments/scale"
                  " lab/experiments/simultaneity lab/figures lab/world",
    "bench": "",
    "app/cli": "lab/trace",
    "app/page": "",
    "app/tape": "app/cli",
    "app/play": "app/cli app/page app/tape lab/figures",
    "app/demo": "app/cli app/page app/play app/tape lab/experiments/racing lab/figures lab/world",
    "app/replay": "app/play lab/experiments/fairness lab/world",
    "app/wan": "app/cli",
    "app/reckon": "app/cli lab/trace",
    "app/lab": "app/cli lab/experiments lab/world",
    "app/commands": "app/cli app/demo app/lab app/page app/play app/reckon app/replay app/wan bench lab/claims"
                    " lab/experiments lab/report lab/trace",
    "app": "app/cli app/commands",
}

# What compiles anywhere and neither waits, reads a clock nor talks to the system. Only `net` goes beyond.
PURE = {"float.h", "inttypes.h", "stdarg.h", "limits.h", "math.h", "stdalign.h", "stdbool.h", "stddef.h", "stdint.h",
        "stdlib.h", "string.h"}
EXTRA = {"base": {"stdio.h"}, "run": {"time.h"}, "motion": {"emmintrin.h"}, "seal": {"sodium.h"}}  # stdio: an assert's last words

MODULE_OF = {header: module for module in USES for header in HEADERS.get(module, module).split()}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)')


def includes(path):
    """Yields where, what, and whether that is a header of this project, however it is quoted."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            mark, name = match.groups()
            ours = mark == '"' or any((tree.ROOT / base / name).exists() for base in ("include", "src"))
            yield f"{path.relative_to(tree.ROOT)}:{number}", name, ours


def check_module(module, path, problems):
    seen = {module, *USES[module].split()}
    allowed = {f"fairlead/{header}.h" for header, owner in MODULE_OF.items() if owner in seen}
    if module in ("session", "run", "rewind", "play"):
        allowed |= TYPES
    if "src" in path.relative_to(tree.ROOT).parts:
        own = {file.name for file in path.parent.glob("*.h")}
        allowed |= own | {f"{module}/{name}" for name in own} | SHARED
        allowed |= {header for inner in INNER if inner in seen for header in INNER[inner].split()}
        allowed |= TYPES if "kernel" in seen else set()
    system = PURE | EXTRA.get(module, set())
    for where, name, ours in includes(path):
        if not (name in allowed if ours else name in system or module == "net"):
            problems.append(f"{where}: module {module} may not include {name}")


def check_calls(build, problems):
    """By the symbols of the library's objects: who defines what, and who needs it."""
    objects = pathlib.Path(build) / "src/CMakeFiles/fairlead_objects.dir"
    defines, own, needs = {}, {}, []
    paths = [path for path in sorted(objects.glob("*/*.o")) if (tree.ROOT / "src" / path.parent.name / path.stem).exists()]
    lines = subprocess.run(["nm", "-A", *paths], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        path = pathlib.Path(line.split(":")[0])
        kind, name = line.split()[-2:]
        if kind == "U":
            needs.append((path.parent.name, path.stem, name))
        elif kind.isupper():
            defines[name] = path.parent.name
            own[(path.parent.name, name)] = path.stem
    if not defines:
        problems.append(f"{objects}: no objects, so no calls are checked")
    for module, file, name in needs:
        owner = defines.get(name, module)
        if owner != module and owner not in USES.get(module, "").split():
            problems.append(f"src/{module}/{file}: module {module} may not call {name} of {owner}")
    check_file_layers(own, needs, problems)


def check_file_layers(defines, needs, problems):
    """The files of a module call each other in one direction. Takes away files that call no others until none is left to take."""
    calls = {}
    for module, file, name in needs:
        other = defines.get((module, name), file)
        calls.setdefault((module, file), set())
        if other != file:
            calls[(module, file)].add((module, other))
    for file, others in calls.items():
        calls[file] = {other for other in others if other in calls}
    while free := [file for file, others in calls.items() if not others]:
        for file in free:
            del calls[file]
        for others in calls.values():
            others.difference_update(free)
    for module in sorted({module for module, _ in calls}):
        names = ", ".join(sorted(file for other, file in calls if other == module))
        problems.append(f"src/{module}: these files, or some of them, call each other in a circle: {names}")


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
    inner = {header for headers in INNER.values() for header in headers.split()}
    insider = path.relative_to(tree.ROOT).as_posix().startswith(INSIDERS)
    for where, name, ours in includes(path):
        found = next((base / name for base in search if (base / name).is_file()), tree.ROOT)
        if ours and not any(folder in found.resolve().parents for folder in allowed) and not (insider and name in inner):
            problems.append(f"{where}: a program may include fairlead/… and programs' headers, not {name}")


problems = []
modules, headers, used = set(), set(), {}
for path in tree.files(".c", ".h"):
    parts = path.relative_to(tree.ROOT).parts
    if parts[0] == "src":
        modules.add(parts[1])
        module = parts[1]
    elif parts[:2] == ("include", "fairlead") and parts[2] != "fairlead.h":
        headers.add(path.stem)
        module = MODULE_OF.get(path.stem, path.stem)
    else:
        if parts[0] in PROGRAMS:
            check_program(path, problems)
            check_folder(path, used, problems)
        continue
    if module not in USES:
        problems.append(f"{path.relative_to(tree.ROOT)}: {module} is no module (see tools/check_layers.py)")
        continue
    check_module(module, path, problems)
    lines = len(path.read_text().splitlines())
    if parts[0] == "src" and path.suffix == ".h" and lines > HEADER_LINES:
        problems.append(f"{path.relative_to(tree.ROOT)}: {lines} lines, more than {HEADER_LINES}: two concepts?")
check_folders(used, problems)
check_calls(sys.argv[1], problems)
wanted = {header for header, module in MODULE_OF.items() if module in modules}
problems += [f"src/{MODULE_OF[header]}: has no include/fairlead/{header}.h" for header in sorted(wanted - headers)]
problems += [f"include/fairlead/{header}.h: has no src/{MODULE_OF.get(header, header)}" for header in sorted(headers - wanted)]
tree.report(problems)
