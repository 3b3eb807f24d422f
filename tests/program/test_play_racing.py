#!/usr/bin/env python3
"""`fairlead serve racing` and those who join, on loopback, directly and through `fairlead wan`: test_play_racing.py PROGRAM

As in test_play.py nothing depends on how long something took.
"""
import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import time
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"
sys.argv.insert(1, PROGRAM)  # test_play takes it, too
from test_play import Terminal, bots, host, orphaned, run, until  # noqa: E402  (beside this file)

SCHEMES = ("nc", "causality", "dr", "dr+causality", "adaptive", "best")


@contextlib.contextmanager
def wan(port):
    """75 ± 10 ms and 5 % loss each way, in front of a port. Answers its own address."""
    process = subprocess.Popen([PROGRAM, "wan", "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{port}", "--delay", "75",
                                "--jitter", "10", "--loss", "5", "--seed", "7", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())["listening"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def free_port():
    result = run("serve", "--port", 0, "--open", "--json", "--seconds", 0.05)
    return json.loads(result.stdout.splitlines()[0])["listening"].rsplit(":", 1)[1]


def race(*options, cars=4, through_wan=False):
    """One race of bots from the grid to the end. Answers the summaries of the bots and of the host."""
    with contextlib.ExitStack() as stack:
        port = free_port()
        way = ["--address", stack.enter_context(wan(port))] if through_wan else []
        served = stack.enter_context(
            host("racing", "--port", port, "--races", 1, "--cars", cars, "--course", "ring", "--laps", 1, *way, *options))
        result = run("bots", "racing", served.invite or served.address, "--count", cars, "--json", timeout=100)
        if result.returncode != 0 or result.stderr:
            raise AssertionError(f"exit {result.returncode}: {result.stderr} {result.stdout[-3000:]}")
        out, errors = served.process.communicate(timeout=60)
        if served.process.returncode != 0 or errors:
            raise AssertionError(f"host: exit {served.process.returncode}: {errors}")
        return json.loads(result.stdout), json.loads(out)


def finishes(node):
    return [(car["car"], car["finish_s"]) for car in node["race"]["result"]]


def rounds():
    """Two rounds of the host's two bots and one more, with a watcher. Answers status and output of those who came, and the
    host's output."""
    with host("racing", "--races", 2, "--cars", 3, "--bots", 2, "--course", "ring", "--laps", 1, "--seed", 3) as served:
        process = subprocess.Popen([PROGRAM, "bots", served.invite, "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        watcher = run("watch", served.invite, "--json", timeout=100)
        out, errors = process.communicate(timeout=60)
        summary, _ = served.process.communicate(timeout=60)
    return (process.returncode, errors, out), (watcher.returncode, watcher.stderr, watcher.stdout), summary


def late():
    """Somebody who comes to watch when cars have been round and round."""
    with host("racing", "--bots", 2, "--cars", 2, "--laps", 100, "--course", "ring") as served:
        time.sleep(24)
        return until(lambda seconds: run("watch", served.invite, "--seconds", seconds, "--json"),
                     lambda r: r.returncode == 0 and json.loads(r.stdout)["nodes"][0]["cars_seen"] == 2, first=8), served.end()


played = {}  # all at once: a race takes its time, and little else


def setUpModule():
    pool = concurrent.futures.ThreadPoolExecutor(16)
    for name in ("star", "hybrid"):
        played[name] = pool.submit(race, "--topology", name, through_wan=True)
    for name in SCHEMES:
        played[name] = pool.submit(race, "--show", name, "--open")
    played["rounds"] = pool.submit(rounds)
    played["late"] = pool.submit(late)
    played["orphaned"] = pool.submit(
        until, lambda seconds: orphaned(seconds + 3, "racing", "--cars", 3, "--laps", 100),
        lambda r: r[0] == 0 and all(node["host_changes"] == 1 and node["cars_seen"] == 3 for node in r[2]["nodes"]))


class Races(unittest.TestCase):
    def check(self, result, served, cars=4):
        everybody = result["nodes"] + served["nodes"]
        for summary in (result, served):
            self.assertEqual((summary["ended"], summary["trouble"]), ("over", ""))
            self.assertEqual((summary["checks"]["faults"], summary["malformed"]), (0, 0))
        self.assertGreater(result["checks"]["looks"], 100)
        self.assertGreater(result["checks"]["told"], 0)
        for node in everybody:
            self.assertEqual(node["race"]["phase"], "closed")
            self.assertEqual(finishes(node), finishes(everybody[0]))  # one race, one result
            self.assertEqual(sorted(name for name, _ in finishes(node)), list("ABCD"[:cars]))
            times = [finish for _, finish in finishes(node)]
            self.assertNotIn(None, times)
            self.assertEqual(times, sorted(times))
        for node in result["nodes"]:
            self.assertIsNotNone(node["cars"][0]["finish_s"])

    def test_four_bots_finish_through_a_bad_network(self):
        for topology in ("star", "hybrid"):
            with self.subTest(topology=topology):
                self.check(*played[topology].result())

    def test_every_scheme_brings_the_race_home(self):
        for show in SCHEMES:
            with self.subTest(show=show):
                result, served = played[show].result()
                self.check(result, served)
                if show == "adaptive":
                    self.assertGreater(result["checks"]["delta_changes"], 0)
                else:
                    self.assertEqual({node["race"]["delta_ms"] for node in result["nodes"]}, {100.0})
                for node in result["nodes"]:
                    self.assertEqual(node["race"]["show"], show)
                    self.assertEqual(node["direct"], 4)  # a mesh

    def test_rounds_follow_each_other_and_everybody_sees_the_same_result(self):
        player, watcher, summary = played["rounds"].result()
        self.assertEqual((player[:2], watcher[:2]), ((0, ""), (0, "")))
        watched = json.loads(watcher[2])["nodes"][0]
        raced = json.loads(player[2])["nodes"][0]
        self.assertEqual((watched["race"]["round"], raced["race"]["round"]), (2, 2))
        self.assertEqual(len(finishes(watched)), 3)
        self.assertEqual(finishes(watched), finishes(raced))
        self.assertEqual(finishes(watched), finishes(json.loads(summary)["nodes"][0]))
        self.assertEqual(watched["cars"], [])

    def test_who_comes_late_counts_the_same_laps(self):
        result, served = played["late"].result()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        seen = json.loads(result.stdout)
        self.assertEqual((seen["checks"]["by_kind"]["wrong_lap"], seen["nodes"][0]["cars_seen"]), (0, 2))
        self.assertGreater(seen["checks"]["looks"], 0)
        self.assertEqual(served["checks"]["faults"], 0)

    def test_a_race_goes_on_when_its_host_leaves(self):
        status, errors, result = played["orphaned"].result()
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual([node["host_changes"] for node in result["nodes"]], [1, 1, 1])
        self.assertEqual([node["cars_seen"] for node in result["nodes"]], [3, 3, 3])
        self.assertEqual([node["race"]["phase"] for node in result["nodes"]], ["running"] * 3)
        self.assertEqual([node["race"]["round"] for node in result["nodes"]], [1] * 3)


class People(unittest.TestCase):
    def test_a_player_drives_by_keys_and_sees_the_standings(self):
        with host("racing", "--bots", 2, "--cars", 3, "--course", "ring") as served, \
                contextlib.closing(Terminal("join", served.invite)) as terminal:
            self.assertTrue(terminal.pump(b"you are C"))
            self.assertTrue(terminal.pump(b"C  lap   1", b"\x1b[A"))  # across the line
            self.assertIn(b" of the ring, ", terminal.out)
            os.write(terminal.master, b"q")
            self.assertTrue(terminal.pump())
            self.assertEqual(terminal.process.returncode, 0)
            self.assertEqual(served.end()["checks"]["faults"], 0)

    def test_lines_for_people_when_there_is_no_terminal(self):
        with host("racing", "--open", "--bots", 1) as served:
            result = until(lambda seconds: run("join", "racing", served.address, "--bot", "--seconds", seconds),
                           lambda r: "car B off by" in r.stdout, first=2.5)
            served.end()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("car B off by", result.stdout)
        self.assertIn("nothing wrong in", result.stdout)


class Refusals(unittest.TestCase):
    def refused(self, result, words):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(words, result.stderr)
        self.assertEqual((result.stdout, result.stderr.count("\n")), ("", 1))

    def test_bad_options_are_refused_in_one_line(self):
        for arguments, words in (
            (["serve", "racing", "--course", "oval"], "'oval' is none of ring, bean, serpent"),
            (["serve", "racing", "--show", "kind"], "'kind' is none of nc, causality"),
            (["serve", "racing", "--laps", "0"], "--laps"),
            (["serve", "racing", "--cars", "17"], "--cars"),
            (["serve", "racing", "--cars", "1"], "--cars"),
            (["serve", "racing", "--bots", "17"], "has room for 14 cars"),
            (["serve", "--laps", "2"], "are for racing"),
            (["serve", "tanks", "--show", "best"], "are for racing"),
            (["serve", "racing", "tanks"], "one argument too many"),
            (["join", "chess", "127.0.0.1"], "there is no game 'chess'"),
            (["bots", "racing", "1:2:3:x"], "neither an invite nor HOST[:PORT]"),
        ):
            with self.subTest(arguments=arguments):
                self.refused(run(*arguments), words)

    def test_an_invite_says_which_game_it_is_for(self):
        with host("racing") as racing, host() as tanks:
            self.refused(run("join", "tanks", racing.invite), "that invite is for racing, not for tanks")
            self.refused(run("watch", "racing", tanks.invite), "that invite is for tanks, not for racing")
            result = until(lambda seconds: bots(tanks.invite, 1, seconds), lambda r: r["nodes"][0]["joined"])
            self.assertEqual(result["game"], "tanks")
            result = until(lambda seconds: bots(racing.invite, 1, seconds), lambda r: r["nodes"][0]["joined"])
            self.assertEqual(result["game"], "racing")
            racing.end()
            tanks.end()

    def test_an_open_host_of_another_game_is_told_apart(self):
        with host("racing", "--open") as served:
            result = run("bots", served.address, "--json")
            served.end()
        self.assertEqual(result.returncode, 2)
        self.assertIn("another world", result.stderr)
        self.assertIn("We came for tanks", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
