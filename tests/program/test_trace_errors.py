#!/usr/bin/env python3
"""Bad input: one clear line on standard error, the right place in the file, exit status 2; never a crash.

    test_trace_errors.py PROGRAM
"""
import gzip
import os
import pathlib
import random
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
HEAD = b"t,id,x,y,z\n"
GOOD = HEAD + b"0,1,0,0,0\n0.5,1,1,0,0\n"

# (what is wrong, the file, line, column, a word of the message)
FILES = [
    ("nothing at all", b"", 1, 1, "empty"),
    ("only blank lines", b"\n\n\n", 1, 1, "empty"),
    ("a header and no rows", HEAD, 2, 1, "no rows"),
    ("a header without its end", b"t,id,x,y,z", 2, 1, "no rows"),
    ("a column missing", b"t,id,x,z\n0,1,0,0\n", 1, 9, "'y'"),
    ("the first column missing", b"id,x,y,z\n", 1, 9, "'t'"),
    ("no header", b"0,1,2,3,4\n", 1, 10, "'t'"),
    ("a column twice", b"t,id,x,y,z,x\n", 1, 12, "'x'"),
    ("not text", bytes(range(256)) * 4, 1, None, ""),
    ("a zero byte in the header", b"t,id,x\0,y,z\n", 1, 7, "zero byte"),
    ("a zero byte in a row", HEAD + b"0,1,0,0\x00,0\n", 2, 8, "zero byte"),
    ("a word for a number", HEAD + b"0,1,0,zero,0\n", 2, 7, "'y' is not a number: 'zero'"),
    ("a number with more behind", HEAD + b"0,1,0,0,1.5m\n", 2, 9, "'z'"),
    ("two points", HEAD + b"0,1,0,0,1.5.2\n", 2, 9, "'z'"),
    ("a comma for a point", HEAD + b"0,1,0,0,1,5\n", 2, 11, "too many fields"),
    ("an exponent without digits", HEAD + b"0,1,1e,0,0\n", 2, 5, "'x'"),
    ("hexadecimal", HEAD + b"0,1,0x10,0,0\n", 2, 5, "'x'"),
    ("only a sign", HEAD + b"0,1,-,0,0\n", 2, 5, "'x'"),
    ("nan", HEAD + b"0,1,0,0,nan\n", 2, 9, "'z' is not a number: 'nan'"),
    ("inf", HEAD + b"0,1,-inf,0,0\n", 2, 5, "'x'"),
    ("a number beyond doubles", HEAD + b"0,1,0,1e999,0\n", 2, 7, "out of range"),
    ("a time beyond reason", HEAD + b"1e10,1,0,0,0\n", 2, 1, "out of range"),
    ("an empty field", HEAD + b"0,1,,0,0\n", 2, 5, "'x' is empty"),
    ("an id that is no integer", HEAD + b"0,1.0,0,0,0\n", 2, 3, "'id' is not a 64-bit integer"),
    ("an id with too many bits", HEAD + b"0,9223372036854775808,0,0,0\n", 2, 3, "'id'"),
    ("a life that is no integer", b"life,t,id,x,y,z\none,0,1,0,0,0\n", 2, 1, "'life'"),
    ("too few fields", HEAD + b"0,1,0,0\n", 2, 8, "too few fields"),
    ("too many fields", HEAD + b"0,1,0,0,0,7\n", 2, 11, "too many fields"),
    ("time going back", HEAD + b"1,1,0,0,0\n0.999,2,0,0,0\n", 3, 1, "'t' goes back"),
    ("a sample twice", HEAD + b"0,1,0,0,0\n0,2,0,0,0\n0,1,1,1,1\n", 4, 3, "'id' repeats 1"),
    ("a sample twice within a nanosecond", HEAD + b"1,1,0,0,0\n1.0000000001,1,0,0,0\n", 3, 14, "'id'"),
    ("a sample twice in two lives", b"t,id,x,y,z,life\n0,1,0,0,0,1\n0,1,0,0,0,2\n", 3, 3, "'id'"),
    ("a blank line inside", HEAD + b"0,1,0,0,0\n\n1,1,0,0,0\n", 3, 1, "blank line"),
    ("a line too long", HEAD + b"0,1,0,0,0\n" + b"1" * 70000 + b"\n", 3, 65537, "longer than 65536"),
    ("a line too long without an end", HEAD + b"1" * 10**6, 2, 65537, "longer than 65536"),
    ("too many columns", b",".join(b"c%d" % i for i in range(3000)), 1, None, "more than 1024 columns"),
    ("an open quote", HEAD + b'0,1,"0,0,0\n', 2, 5, "quote"),
    ("text behind a quote", HEAD + b'0,1,"0"0,0,0\n', 2, 5, "quote"),
    ("a bad row after good ones", GOOD + b"1,1,0,0,x\n", 4, 9, "'z'"),
    ("a bad row with Windows line ends", GOOD.replace(b"\n", b"\r\n") + b"1,1,0,0,x\r\n", 4, 9, "'z' is not a number: 'x'"),
    ("control characters", HEAD + b"0,1,0,0,\x1b[31m\x07\r0\n", 2, 9, "'z'"),
]

# What looks odd and is fine: (what, file, entities, lives, samples)
FINE = [
    ("Windows line ends", GOOD.replace(b"\n", b"\r\n"), 1, 1, 2),
    ("no end of the last line", GOOD[:-1], 1, 1, 2),
    ("no end of the last line, Windows", GOOD.replace(b"\n", b"\r\n")[:-1], 1, 1, 2),
    ("blank lines at the end", GOOD + b"\n\n", 1, 1, 2),
    ("a byte order mark", b"\xef\xbb\xbf" + GOOD, 1, 1, 2),
    ("another order and unknown columns", b"colour,z,y,x,id,t\nred,0,0,0,1,0\n,0,0,1,1,1\n", 1, 1, 2),
    ("quotes", b'"t","id","x","y","z","name"\n"0","1",0,0,0,"a, ""b"""\n', 1, 1, 1),
    ("blanks around fields", b"t , id, x, y, z\n 0 ,\t1, 0, 0, 0 \n", 1, 1, 1),
    ("largest and smallest id", HEAD + b"0,-9223372036854775808,0,0,0\n0,9223372036854775807,0,0,0\n", 2, 2, 2),
    ("many digits", HEAD + b"0.000000000000000000000000000001,1,3.14159265358979323846264338327950288,-0,+1e-400\n", 1, 1, 1),
    ("ids that come and go", HEAD + b"0,1,0,0,0\n1,2,0,0,0\n2,1,0,0,0\n", 2, 2, 3),
    ("lives", b"t,id,x,y,z,life\n0,1,0,0,0,4\n1,1,0,0,0,4\n2,1,0,0,0,7\n3,1,0,0,0,4\n", 1, 3, 4),
    ("two of three velocities", b"t,id,x,y,z,vx,vy\n0,1,0,0,0,1,bad\n", 1, 1, 1),
]


def run(*arguments, stdout=subprocess.PIPE):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, timeout=60)


def check_refused(what, result, start="", word=""):
    text = result.stderr.decode("utf-8", "replace")
    assert result.returncode == 2, f"{what}: exit status {result.returncode}, said {text!r}"
    assert not result.stdout, f"{what}: printed something nevertheless"
    assert text.endswith("\n") and text.count("\n") == 1 and text.strip(), f"{what}: not one line: {text!r}"
    assert text[:-1].isprintable(), f"{what}: unprintable: {text!r}"
    assert text.startswith(start), f"{what}: {text!r} should start with {start!r}"
    assert word in text, f"{what}: {text!r} should say {word!r}"


def check_files(folder):
    path = folder / "trace.csv"
    for what, content, line, column, word in FILES:
        for data in (content, gzip.compress(content)):
            path.write_bytes(data)
            place = f"{path}:{line}:" + (f"{column}: " if column else "")
            check_refused(what, run("trace", "info", path), place, word)
            check_refused(what, run("trace", "reckon", path, "--json"), place, word)
    for what, content, entities, lives, samples in FINE:
        path.write_bytes(content)
        result = run("trace", "info", path)
        text = result.stdout.decode()
        assert result.returncode == 0, f"{what}: {result.stderr}"
        assert f"entities   {entities}\n" in text, f"{what}: {text}"
        assert f"lives      {lives}," in text and f"samples    {samples}\n" in text, f"{what}: {text}"
        assert run("trace", "reckon", path, "--json").returncode == 0, what


def check_damage(folder):
    """A gzip file cut off or changed anywhere: an answer, never a crash, and never silently half a trace."""
    rows = b"".join(b"%d.5,%d,%d,0.25,-1e3\n" % (i, i % 7, i) for i in range(5000))
    data = gzip.compress(HEAD + rows, mtime=0)
    path = folder / "damaged.csv.gz"
    for length in [*range(2, 40), *range(40, len(data), 997), len(data) - 9, len(data) - 1]:
        path.write_bytes(data[:length])
        check_refused(f"cut to {length} bytes", run("trace", "info", path), f"{path}:")
    path.write_bytes(data[: len(data) // 2])
    check_refused("cut in half", run("trace", "info", path), f"{path}:", "ends early")
    path.write_bytes(data[:-8] + b"\0\0\0\0" + data[-4:])
    check_refused("wrong check sum", run("trace", "info", path), f"{path}:", "damaged")
    chance = random.Random(1)
    for _ in range(100):
        changed = bytearray(GOOD * 3)
        for _ in range(3):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        path.write_bytes(changed)
        assert run("trace", "reckon", path).returncode in (0, 2)


def check_world(folder):
    """Missing files, folders, full disks, options."""
    good = folder / "good.csv"
    good.write_bytes(GOOD)
    check_refused("a missing file", run("trace", "info", folder / "none.csv"), f"{folder}/none.csv: ", "No such file")
    check_refused("a folder", run("trace", "info", folder), f"{folder}: ", "Is a directory")
    for arguments in ([], ["unknown"], ["--unknown"], ["trace"], ["trace", "unknown"], ["trace", "info"],
                      ["trace", "info", good, good], ["trace", "info", good, "--unknown"], ["trace", "info", "-x", good],
                      ["trace", "reckon", good, "--model", "cubic"], ["trace", "reckon", good, "--model", "best"],
                      ["trace", "reckon", good, "--distance"], ["trace", "reckon", good, "--distance", "far"],
                      ["trace", "reckon", good, "--distance", "-1"], ["trace", "reckon", good, "--distance=nan"],
                      ["trace", "reckon", good, "--silence", "1s"], ["trace", "reckon", good, "--delay", "1,,2"],
                      ["trace", "reckon", good, "--delay", ""], ["trace", "reckon", good, "--delay", "-5"],
                      ["trace", "reckon", good, "--json=yes"], ["trace", "reckon", good, "--angle", "0.1"],
                      ["trace", "reckon", good, "--entity", "1"]):
        check_refused(" ".join(map(str, arguments)), run(*arguments), "fairlead")
    for arguments in (["--help"], ["--version"], ["trace", "--help"], ["trace", "info", "--help"],
                      ["trace", "reckon", "--help"], ["trace", "reckon", good, "--help"]):
        result = run(*arguments)
        assert result.returncode == 0 and result.stdout and not result.stderr, arguments


def check_output(folder):
    good = folder / "good.csv"
    svg = folder / "picture.svg"
    assert run("trace", "reckon", good, "--svg", svg).returncode == 0
    assert svg.read_text().startswith("<svg ") and svg.read_text().endswith("</svg>\n")
    check_refused("nobody to draw", run("trace", "reckon", good, "--svg", svg, "--entity", "5"), "fairlead", "5")
    check_refused("no integer", run("trace", "reckon", good, "--svg", svg, "--entity", "me"), "fairlead", "me")
    result = run("trace", "reckon", good, "--svg", folder / "none" / "picture.svg")
    assert result.returncode == 2 and b"No such file" in result.stderr, result  # before any work
    if os.path.exists("/dev/full"):
        for command in (["trace", "reckon", good], ["trace", "reckon", good, "--json"], ["trace", "info", good], ["--help"]):
            with open("/dev/full", "w") as full:
                result = run(*command, stdout=full)
            assert result.returncode == 1 and result.stderr.count(b"\n") == 1, result
            assert b"No space left" in result.stderr, result
        result = run("trace", "reckon", good, "--svg", "/dev/full")
        assert result.returncode == 1 and b"No space left" in result.stderr, result
    assert sorted(entry.name for entry in folder.iterdir() if "tmp" in entry.name) == [], "something left behind"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_files(folder)
        check_damage(folder)
        check_world(folder)
        check_output(folder)
    print(f"ok: {len(FILES)} malformed files refused at the right place, {len(FINE)} odd ones read")


if __name__ == "__main__":
    main()
