#!/usr/bin/env python3
"""`fairlead serve arena` and those who join, on loopback: test_play_arena.py PROGRAM

As in test_play.py nothing depends on how long something took.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"
sys.argv.insert(1, PROGRAM)  # test_play takes it, too
from test_play import Terminal, bots, host, orphaned, run, until  # noqa: E402  (beside this file)


def match(topology):
    """Three bots and the host's, until all see all and some have hit: their summary and the host's."""
    with host("arena", "--topology", topology, "--bots", 1) as served:
        result = until(lambda seconds: bots(served.invite, 3, seconds),
                       lambda r: all(node["players_seen"] == 4 for node in r["nodes"]) and r["checks"]["deeds_applied"] > 0,
                       first=5.0)
        return result, served.end()


def watched():
    """A host that only keeps the things, two bots, and one who looks on."""
    with host("arena") as served, concurrent.futures.ThreadPoolExecutor(1) as pool:
        def attempt(seconds):
            playing = pool.submit(bots, served.invite, 2, seconds + 2)
            seen = run("watch", served.invite, "--seconds", seconds, "--json")
            return seen, playing.result()
        seen, playing = until(attempt, lambda r: json.loads(r[0].stdout)["nodes"][0]["players_seen"] == 2
                              and r[1]["checks"]["deeds_applied"] > 0, first=5.0)
        return seen, playing, served.end()


played = {}


def setUpModule():
    pool = concurrent.futures.ThreadPoolExecutor(5)
    for topology in ("star", "mesh", "hybrid"):
        played[topology] = pool.submit(match, topology)
    played["watched"] = pool.submit(watched)
    played["orphaned"] = pool.submit(until, lambda seconds: orphaned(seconds, "arena"),
                                     lambda r: r[0] == 0 and r[2]["nodes"][0]["host_changes"] == 1, 3.0)
    pool.shutdown(wait=False)


class Matches(unittest.TestCase):
    def test_everybody_sees_everybody_and_deeds_are_answered_in_all_topologies(self):
        for topology in ("star", "mesh", "hybrid"):
            with self.subTest(topology=topology):
                result, served = played[topology].result()
                self.assertEqual([node["players_seen"] for node in result["nodes"]], [4, 4, 4])
                self.assertEqual((result["checks"]["faults"], result["malformed"]), (0, 0))
                self.assertEqual((served["checks"]["faults"], served["malformed"]), (0, 0))
                self.assertGreater(result["checks"]["deeds_applied"], 0)
                self.assertEqual(len({node["players"][0]["player"] for node in result["nodes"]}), 3)

    def test_a_watcher_has_no_player_and_sees_all_and_a_host_without_one_keeps_the_things(self):
        seen, playing, served = played["watched"].result()
        self.assertEqual((seen.returncode, seen.stderr), (0, ""))
        node = json.loads(seen.stdout)["nodes"][0]
        self.assertEqual((node["players"], node["players_seen"]), ([], 2))
        self.assertGreater(playing["checks"]["deeds_applied"], 0)
        self.assertEqual(served["checks"]["faults"], 0)

    def test_a_match_goes_on_when_its_host_leaves(self):
        status, errors, result = played["orphaned"].result()
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual([node["host_changes"] for node in result["nodes"]], [1, 1, 1])
        self.assertEqual([node["players_seen"] for node in result["nodes"]], [3, 3, 3])
        self.assertEqual((result["checks"]["faults"], result["malformed"]), (0, 0))


class People(unittest.TestCase):
    def test_a_player_plays_by_keys_and_it_is_replayed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder, "tape"))
            with host("arena", "--bots", 1) as served, \
                    contextlib.closing(Terminal("join", served.invite, "--record", path)) as terminal:
                self.assertTrue(terminal.pump(b"health 1"))
                terminal.pump(b"no such words", b"\x1b[A ", 2.0)  # runs and shoots for a while
                os.write(terminal.master, b"q")
                self.assertTrue(terminal.pump())
                self.assertEqual(terminal.process.returncode, 0)
                scores = re.findall(rb"  health \d+  [^\r\n]*", terminal.out)
                self.assertTrue(all(line.endswith(b"\x1b[K") for line in scores), scores[:3])  # no stale rest
                self.assertEqual(served.end()["checks"]["faults"], 0)
            again = run("replay", path, "--json")
            self.assertEqual((again.returncode, again.stderr), (0, ""))
            report = json.loads(again.stdout)
            self.assertEqual((report["same"], report["game"]), (True, "arena"))

    def test_what_cannot_be_is_refused_in_one_line(self):
        for arguments, words in (
            (["serve", "arena", "--bots", "2"], "has room for 1 players"),
            (["serve", "arena", "--laps", "2"], "are for racing"),
        ):
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1))
                self.assertIn(words, result.stderr)

    def test_an_invite_says_that_it_is_for_the_arena(self):
        with host("arena") as served:
            result = run("join", "tanks", served.invite)
            self.assertIn("that invite is for arena, not for tanks", result.stderr)
            result = until(lambda seconds: bots(served.invite, 1, seconds), lambda r: r["nodes"][0]["joined"])
            self.assertEqual(result["game"], "arena")
            served.end()


if __name__ == "__main__":
    unittest.main()
