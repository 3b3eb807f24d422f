#!/usr/bin/env python3
"""`fairlead serve tanks --authority host`: players send inputs, predict, and are corrected: test_play_authority.py PROGRAM

Nothing here depends on how long something took: the machine may be busy.
"""
import json
import signal
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100)


class Server:
    """A running `serve`, ended as by Ctrl-C."""

    def __init__(self, *options):
        self.process = subprocess.Popen([PROGRAM, "serve", "tanks", "--authority", "host", "--port", "0", "--json", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.door = json.loads(self.process.stdout.readline())
        self.address = "127.0.0.1:" + self.door["listening"].rsplit(":", 1)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, errors = self.process.communicate(timeout=60)
        if self.process.returncode != 0 or errors:
            raise AssertionError(f"exit {self.process.returncode}: {errors}")
        return json.loads(out)


def play(where, *options):
    """Bots that have played, with ever more time until every one of them has."""
    for seconds in (6, 20, 60):
        done = run("bots", *where, "--count", 3, "--frames", 60, "--seconds", seconds, "--json", *options)
        if done.returncode == 0 and not done.stderr:
            summary = json.loads(done.stdout)
            if all(node.get("prediction", {}).get("ticks", 0) > 100 for node in summary["nodes"]):
                return summary
    raise AssertionError(f"exit {done.returncode}: {done.stderr} {done.stdout}")


class Authority(unittest.TestCase):
    def check(self, summary):
        self.assertEqual(summary["checks"]["faults"], 0, summary["checks"])
        for node in summary["nodes"]:
            own = node["prediction"]
            self.assertGreater(own["confirmed"], 30)
            self.assertLess(own["differing"], own["confirmed"])
            self.assertEqual(len(node["tanks"]), 1)
            self.assertEqual(node["counts"]["hostile"], 0)
            self.assertEqual(node["counts"]["foreign"], 0)

    def test_an_invite_says_who_decides(self):
        with Server("--bots", "2") as server:
            self.check(play([server.door["invite"]]))
            self.check(play(["tanks", server.door["invite"]]))
            summary = server.end()
        self.assertEqual(summary["game"], "tanks_host")
        self.assertEqual(summary["checks"]["faults"], 0)
        self.assertEqual(summary["checks"]["events_rejected"], 0)
        self.assertEqual(summary["checks"]["shots_heard"], 0)  # only the server fires

    def test_through_a_bad_network(self):
        with Server("--open") as server:
            wan = subprocess.Popen([PROGRAM, "wan", "--listen", "127.0.0.1:0", "--to", server.address, "--delay", "40",
                                    "--jitter", "5", "--loss", "3", "--json"], stdout=subprocess.PIPE, text=True)
            try:
                listening = json.loads(wan.stdout.readline())["listening"]
                self.check(play(["tanks", listening, "--authority", "host"]))
            finally:
                wan.kill()
                wan.communicate()
            server.end()

    def test_who_does_not_play_looks_on(self):
        with Server("--bots", "1") as server:
            done = run("watch", server.door["invite"], "--seconds", 4, "--headless", "--json")
            summary = json.loads(done.stdout)
            server.end()
        self.assertNotIn("prediction", summary["nodes"][0])

    def test_bad_options(self):
        for options, words in ((["tanks", "--authority", "me"], "neither owner nor host"),
                               (["racing", "--authority", "host"], "is not played that way"),
                               (["tanks", "--authority", "host", "--topology", "mesh"], "--topology star")):
            done = run("serve", *options, "--seconds", 1)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


unittest.main()
