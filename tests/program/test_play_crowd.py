#!/usr/bin/env python3
"""Many at once, too many, and hosts that cannot keep up, on loopback: test_play_crowd.py PROGRAM

As in test_play.py nothing depends on how long something took.
"""
import concurrent.futures
import json
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"
sys.argv.insert(1, PROGRAM)  # test_play takes it, too
from test_play import bots, host, run, until  # noqa: E402  (beside this file)


# Sanitizers cost two to five times, and a mesh of 32 has 496 pairs in this one machine.
MANY = 12 if "asan" in PROGRAM else 32


def rush(topology):
    """Many who come at once to the arena, until all see whom they can: their summary and the host's."""
    with host("arena", "--topology", topology, "--players", 40) as served:
        result = until(lambda seconds: bots(served.invite, MANY, seconds),
                       lambda r: not r["late"] and all(node["joined"] and node["players"] for node in r["nodes"])
                       and (topology == "mesh" or all(node["players_seen"] == MANY for node in r["nodes"])), first=3.0)
        return result, served.end()


def narrow():
    """A host with an upload that is too small: what it says."""
    process = subprocess.Popen([PROGRAM, "serve", "arena", "--topology", "star", "--upload-kbps", "24", "--port", "0",
                                "--open", "--headless"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        port = re.match(r"listening on .*:(\d+);", process.stdout.readline()).group(1)
        bots("arena", 8, 4.0, f"127.0.0.1:{port}")
        process.send_signal(signal.SIGTERM)
        return process.communicate(timeout=30)[0]
    finally:
        process.kill()
        process.wait()


def held_up():
    """A host that gets the processor a third of the time: what it says."""
    process = subprocess.Popen([PROGRAM, "serve", "tanks", "--port", "0", "--bots", "2", "--headless"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()  # it listens
        for _ in range(10):
            time.sleep(0.1)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        return process.communicate(timeout=30)[0]
    finally:
        process.kill()
        process.wait()


def too_many():
    with host("tanks", "--players", 2) as served:
        return run("bots", served.invite, "--count", 4, "--seconds", 3, "--json")


def large():
    """More than 255 players: by invite, and of an open host by its number."""
    with host("tanks", "--players", 300) as served:
        invited = bots(served.invite, 2, 2.0)
    process = subprocess.Popen([PROGRAM, "serve", "tanks", "--port", "0", "--open", "--players", "300", "--json"],
                               stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(process.stdout.readline())["address"]
        known = run("bots", address, "--players", 300, "--seconds", 2, "--json")
        unknown = run("bots", address, "--seconds", 2, "--json")
    finally:
        process.kill()
        process.communicate()
    return invited, known, unknown


played = {}


def setUpModule():
    pool = concurrent.futures.ThreadPoolExecutor(3)
    for topology in ("star", "mesh", "hybrid"):
        played[topology] = pool.submit(rush, topology)
    for name, attempt in (("narrow", narrow), ("held_up", held_up), ("too_many", too_many), ("large", large)):
        played[name] = pool.submit(attempt)
    pool.shutdown(wait=False)


class Crowds(unittest.TestCase):
    def test_a_crowd_that_comes_at_once_gets_in(self):
        for topology in ("star", "mesh", "hybrid"):
            with self.subTest(topology=topology):
                result, served = played[topology].result()
                self.assertFalse(result["late"])
                self.assertEqual([node["trouble"] for node in result["nodes"]], [""] * MANY)
                self.assertTrue(all(node["joined"] and node["players"] for node in result["nodes"]))
                self.assertEqual(served["nodes"][0]["players_peak"], MANY + 1)
                self.assertEqual(result["checks"]["faults"], 0)

    def test_an_upload_that_is_too_small_says_so(self):
        lines = played["narrow"].result().splitlines()
        self.assertTrue(any(" s  " in line and "upload too small: " in line for line in lines), lines)
        self.assertTrue(any(re.match(r"upload too small: \d+ updates held back, \d+ a second$", line) for line in lines), lines)

    def test_a_host_that_cannot_keep_up_says_so(self):
        lines = played["held_up"].result().splitlines()
        self.assertTrue(any(" s  " in line and "behind: " in line for line in lines), lines)
        self.assertRegex(lines[-1], r"^behind: \d+ % of frames missed, one was \d+ ms late")

    def test_who_is_refused_does_not_end_the_others(self):
        result = played["too_many"].result()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 of 4 did not play to the end", result.stderr)
        nodes = json.loads(result.stdout)["nodes"]
        self.assertEqual(sorted(node["joined"] for node in nodes), [False, False, True, True])
        self.assertEqual(sorted(node["tanks_seen"] for node in nodes if node["joined"]), [2, 2])

    def test_as_many_players_as_a_session_takes(self):
        invited, known, unknown = played["large"].result()
        self.assertTrue(all(node["joined"] for node in invited["nodes"]))
        self.assertEqual(known.returncode, 0, known.stderr)
        self.assertEqual(unknown.returncode, 2)

    def test_bots_that_never_joined_are_no_success(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            result = run("bots", f"127.0.0.1:{silent.getsockname()[1]}", "--count", 2, "--seconds", 1, "--json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("did not let us in within", result.stderr)

    def test_an_upload_that_carries_nothing_is_refused(self):
        result = run("serve", "--upload-kbps", 7, "--port", 0)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--upload-kbps: 8 at least", result.stderr)


if __name__ == "__main__":
    unittest.main()
