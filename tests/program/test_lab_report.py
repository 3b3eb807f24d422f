#!/usr/bin/env python3
"""`lab run --out` and `--db`, `lab report`, `lab runs`: pages that need nothing else, and bad input in one clear line.

    test_lab_report.py PROGRAM
"""
import html.parser
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ("run", "accuracy", "--length", "20")


def lab(*arguments, status=0):
    run = subprocess.run([PROGRAM, "lab", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == status, f"{arguments}: status {run.returncode}\n{run.stdout}{run.stderr}"
    return run


def refused(*arguments, says, status=2):
    run = lab(*arguments, status=status)
    assert run.stdout == "" and run.stderr.count("\n") == 1 and says in run.stderr, run.stderr


class Outside(html.parser.HTMLParser):
    """Finds whatever a page would have to fetch."""
    found = False

    def handle_starttag(self, tag, attributes):
        self.found |= tag in ("script", "link", "img", "iframe") or any(name in ("src", "href") for name, _ in attributes)


def pictures(page):
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        yield xml.etree.ElementTree.fromstring(svg)


def check_page(page, charts):
    outside = Outside()
    outside.feed(page)
    assert not outside.found and "url(" not in page and "@import" not in page
    drawn = list(pictures(page))
    assert len(drawn) == charts, len(drawn)
    for svg in drawn:
        words = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert any("ms" in word for word in words) and any("units" in word for word in words), words


def undated(page):
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page)


def check_rows(folder):
    """Two runs with other delays: the second's rows are there, too. Numbers have the digits that they were given."""
    one, two, page = folder / "one", folder / "two", folder / "rows.html"
    lab("run", "accuracy", "--length", "20.1", "--delays", "70.09", "--out", one)
    lab("run", "accuracy", "--length", "20.1", "--delays", "90", "--out", two)
    assert "20.1," in (one / "results.json").read_text() and "70.09\n" in (one / "results.json").read_text()
    assert "accuracy --delays 70.09 --length 20.1 --seed 1<" in (one / "report.html").read_text()
    lab("report", one, two, "--to", page)
    for delay in ("70", "90"):
        assert page.read_text().count(f"<td class=\"words\">{delay}</td>") == 9, delay


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first, second, db, page = folder / "first", folder / "second", folder / "runs.db", folder / "page.html"
        lab(*RUN, "--out", first, "--db", db)
        lab(*RUN, "--seed", 3, "--runs", 2, "--out", second, "--db", db)
        check_page((first / "report.html").read_text(), 3)
        text = (second / "report.html").read_text()
        check_page(text, 3)
        command = re.search(r"<pre>(.*?)</pre>", text).group(1)
        assert command == "fairlead lab run accuracy --length 20 --runs 2 --seed 3", command
        assert "--length 20 --seed 1</pre>" in (first / "report.html").read_text()
        assert re.search(r">date</td><td class=\"words\">\d{4}-\d\d-\d\d \d\d:\d\d UTC<", text)
        again = folder / "again"
        lab(*command.split()[2:], "--out", again)
        assert (again / "results.json").read_bytes() == (second / "results.json").read_bytes()

        lab("report", first, second, "--to", page)
        check_page(page.read_text(), 6)
        listed = json.loads(lab("runs", db, "--json").stdout)
        assert [(run["run"], run["experiment"], run["seed"], run["rows"]) for run in listed] == [
            (1, "accuracy", 1, 27), (2, "accuracy", 3, 27)], listed
        assert lab("runs", db).stdout.count("\n") == 3
        lab("report", "--db", db, 2, "--to", page)
        assert undated(page.read_text()) == undated(text)
        with sqlite3.connect(db) as open_db:
            rows = json.loads(open_db.execute("SELECT rows FROM runs WHERE number = 2").fetchone()[0])
        assert rows == json.loads((second / "results.json").read_text())["rows"]

        check_rows(folder)
        (folder / "bad").mkdir()
        (folder / "bad/results.json").write_text('{"experiment": "accuracy", "config": {}, "rows": [1]}')
        (folder / "text.db").write_text("no database at all, but long enough to look at. " * 40)
        refused("report", folder / "none", says="results.json")
        refused("report", folder / "bad", says="a row is no object")
        refused("report", says="DIR... is needed")
        refused("report", "--db", db, 9, says="there is no run 9")
        refused("report", "--db", db, "x", says="named by number")
        refused("runs", folder / "none.db", says="unable to open", status=1)
        refused("runs", folder / "text.db", says="not a database", status=1)
        refused(*RUN, "--db", folder / "text.db", says="not a database")
        refused("report", first, "--to", folder / "no/where.html", says="cannot write")
    print("1 passed, 0 failed")


main()
