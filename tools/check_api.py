"""What the library shows to others: check_api.py. Public functions by header, and in all at most MOST; words that are given
up, in src, include, docs and the README, and how many are left of them.

A public function is one that a header of include/fairlead declares with FL_API; inline ones are counted beside them. fairlead.h, the game's door, has at most FRONT of them, and a session's definition at most SETTINGS: fields that are reached
from FlSessionDef by value; those of `tuning`, for experiments, are counted beside it. DESIGN: the front header is for games, the others for people who use one module beside their own netcode.
"""
import re

import tree

MOST = 300  # exported functions in all public headers together; 260 without authority
INLINE = 18  # and small ones that headers define
FRONT = 90  # of these in fairlead.h: 70, and 20 for games whose server decides
SETTINGS = 40
EXPORTED = re.compile(r"^FL_API\b[^;{(]*?\b(fl_[a-z0-9_]+)\(", re.MULTILINE)
DEFINED = re.compile(r"^static inline\b[^;{(]*?\b(fl_[a-z0-9_]+)\(", re.MULTILINE)

# Words of our own for which the field has one: the pattern, what to say instead, and how many are left. That number may
# fall, never rise.
RETIRED = {
    r"told|telling|heard": ("sent, reported, received", 0),
    r"rooms|(?:this|that|each|every|whose|a) room(?! for)|room `\w+`": ("module", 0),
    r"lanes?": ("light connection", 0),
    r"estates?": ("handover", 0),
    r"letters?": ("queued message", 0),
    r"nobody|somebody": ("no peer, another player, whoever", 0),
    r"knobs?": ("the setting's name", 0),
    r"patience": ("timeout, retry", 0),
    r"parcels?": ("batch", 0),
    r"pulses?": ("heartbeat", 0),
    r"news": ("announcement", 0),
    r"mappings?": ("clock offset", 0),
    r"doubts?": ("clock bound, uncertainty", 0),
    r"unmet|owes_words": ("introductions due, handshake pending", 0),
    r"blanks": ("replayed actions", 0),
}
WHERE = ("src", "include", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md")


def functions(pattern):
    """Header -> the functions that it declares so."""
    return {path.name: sorted(set(pattern.findall(path.read_text())))
            for path in sorted((tree.ROOT / "include/fairlead").glob("*.h"))}


def settings(struct, structs):
    """Fields reached from a struct by value, but for cookies."""
    count = 0
    for line in re.sub(r"/\*.*?\*/", "", structs[struct], flags=re.S).split(";"):
        line = " ".join(line.split())
        match = re.match(r"(?:const )?(\w+) (.+)$", line)
        if not match or match[2] in ("cookie", "tuning"):
            continue
        names = 1 if "(" in line else match[2].count(",") + 1
        nested = match[1] in structs and match[1].endswith("Def") and "*" not in match[2]
        count += settings(match[1], structs) if nested else names
    return count


def definitions():
    text = "".join(re.sub(r"//.*", "", path.read_text()) for path in (tree.ROOT / "include/fairlead").glob("*.h"))
    return {name: body for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, re.S)}


def retired_words(problems):
    found = {pattern: [] for pattern in RETIRED}
    for path in tree.files(".c", ".h", ".md"):
        name = path.relative_to(tree.ROOT).as_posix()
        if not name.startswith(WHERE):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for pattern in RETIRED:
                found[pattern] += [f"{name}:{number}: '{word}'" for word in
                                   re.findall(rf"\b(?:{pattern})\b", line, re.IGNORECASE)]
    for pattern, (better, left) in RETIRED.items():
        print(f"{pattern}: {len(found[pattern])}, at most {left}; say: {better}")
        if len(found[pattern]) > left:
            problems += found[pattern] + [f"{pattern}: {len(found[pattern])} times, more than {left}: say {better}"]


def main():
    problems = []
    found, inline = functions(EXPORTED), functions(DEFINED)
    count, inline_count = (sum(len(names) for names in by_header.values()) for by_header in (found, inline))
    for header, names in found.items():
        print(f"{header}: {len(names)}")
    print(f"exported functions: {count}, at most {MOST}; {inline_count} inline, at most {INLINE}")
    if count > MOST or inline_count > INLINE:
        problems.append(f"include/fairlead: {count} exported functions, at most {MOST}; {inline_count} inline, at most {INLINE}")
    structs = definitions()
    reached = settings("FlSessionDef", structs)
    print(f"settings of a session: {reached}, at most {SETTINGS}; {settings('FlSessionTuning', structs)} more for experiments")
    if reached > SETTINGS:
        problems.append(f"FlSessionDef: {reached} settings, more than {SETTINGS}")
    if len(found["fairlead.h"]) > FRONT:
        problems.append(f"fairlead.h: {len(found['fairlead.h'])} functions, more than {FRONT}")
    retired_words(problems)
    tree.report(problems)


main()
