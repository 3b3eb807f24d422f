#!/usr/bin/env python3
"""Players who cannot reach each other directly, as behind two symmetric NATs: test_play_ways.py PROGRAM

Both join through `fairlead wan`, so the host sees each at a port at which nobody but the host is let through.
"""
import concurrent.futures
import contextlib
import json
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"


@contextlib.contextmanager
def running(*arguments):
    """A program that says in its first line where it listens: its port."""
    process = subprocess.Popen([PROGRAM, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())["listening"].rsplit(":", 1)[1]
    finally:
        process.kill()
        process.communicate()


def join(port, seconds, *options):
    return subprocess.run([PROGRAM, "bots", f"127.0.0.1:{port}", "--count", "1", "--seconds", str(seconds), *options],
                          capture_output=True, text=True, timeout=60)


def all_seen(node):
    return node["tanks_seen"] == node["players_peak"] - 1


def play(topology):
    """Two bots behind NATs, and how they ended; the second one's output is for people. Longer if they began too late."""
    for seconds in (6, 12, 24):
        with running("serve", "--port", "0", "--open", "--topology", topology) as host, \
                running("wan", "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{host}") as door, \
                concurrent.futures.ThreadPoolExecutor() as pool:
            first = pool.submit(join, door, seconds, "--json")
            second = pool.submit(join, door, seconds)
            first, second = first.result(), second.result()
        node = json.loads(first.stdout)["nodes"][0]
        if node["never_met"] == 1 and (topology == "mesh" or all_seen(node)):
            break
    return first, node, second


class Ways(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = {name: pool.submit(play, name) for name in ("mesh", "hybrid")}
            cls.runs = {name: run.result() for name, run in runs.items()}

    def test_a_mesh_says_who_was_never_met_and_fails(self):
        first, node, second = self.runs["mesh"]
        self.assertEqual((first.returncode, second.returncode), (1, 1))
        self.assertIn("1 of the players could not be reached", first.stderr)
        self.assertIn("hybrid", first.stderr)
        self.assertIn("(1 not reached)", second.stdout)
        self.assertEqual((node["never_met"], node["counts"]["parted"]), (1, 1))

    def test_a_hybrid_relays_and_says_so(self):
        first, node, second = self.runs["hybrid"]
        self.assertEqual((first.returncode, first.stderr, second.returncode), (0, "", 0))
        self.assertIn("(1 through the host)", second.stdout)
        self.assertEqual((node["never_met"], all_seen(node)), (1, True))


if __name__ == "__main__":
    unittest.main()
