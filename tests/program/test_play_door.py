#!/usr/bin/env python3
"""Who gets in at `fairlead serve`, and what the others are told: test_play_door.py PROGRAM"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"


def run(*arguments, timeout=60):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)


@contextlib.contextmanager
def host(*options, port=0):
    """A running `serve`: its first line, as JSON, with its port."""
    process = subprocess.Popen([PROGRAM, "serve", "--port", str(port), "--json", *map(str, options)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        first = process.stdout.readline()
        if not first:
            raise AssertionError(process.stderr.read())
        door = json.loads(first)
        door["port"] = int(door["listening"].rsplit(":", 1)[1])
        yield door
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0 or errors:
            raise AssertionError(f"exit {process.returncode}: {errors}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def bots(where, *options):
    """Bots until they have joined, or as long as a busy machine may need."""
    for seconds in (1, 4, 16):
        result = run("bots", where, "--seconds", seconds, "--json", *options)
        if result.returncode == 2 or (result.stdout and all(n["joined"] for n in json.loads(result.stdout)["nodes"])):
            break
    return result


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
            one.bind(("::1", 0))
        return True
    except OSError:
        return False


class Told(unittest.TestCase):
    def refused(self, result, *words):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_without_an_invite_one_is_told_that_it_takes_one(self):
        with host() as door:
            self.refused(run("join", f"127.0.0.1:{door['port']}", "--headless"), "by invite only", "fairlead serve")

    def test_with_an_invite_one_is_told_that_a_host_is_open(self):
        with host() as door:
            pass
        with host("--open", port=door["port"]):
            self.refused(run("join", door["invite"], "--headless"), "This host is open")

    def test_who_never_gets_in_fails_and_says_so(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{silent.getsockname()[1]}"
            for command in (["join", "--headless"], ["bots"], ["watch", "--headless"], ["join", "--json"]):
                with self.subTest(command=command):
                    result = run(command[0], where, "--seconds", 0.3, *command[1:])
                    self.assertEqual(result.returncode, 1)
                    self.assertIn(f"{where} did not let us in within ", result.stderr)
                    self.assertNotIn("nothing wrong", result.stdout)


class Keys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_key_file_keeps_invites_good_over_a_restart(self):
        key = self.folder / "key"
        with host("--key", key) as first:
            pass
        self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
        before = key.read_bytes()
        with host("--key", key, port=first["port"]) as second:
            result = bots(first["invite"])
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertTrue(json.loads(result.stdout)["nodes"][0]["joined"])
            self.assertTrue(second["invite"])
        self.assertEqual(key.read_bytes(), before)

    def test_without_it_an_old_invite_is_unknown(self):
        with host() as first:
            pass
        with host(port=first["port"]):
            result = run("join", first["invite"], "--headless")
        self.assertEqual(result.returncode, 2)
        self.assertIn("Unknown invite", result.stderr)

    def test_a_recording_needs_no_key_file(self):
        key, tape = self.folder / "key", self.folder / "tape"
        with host("--key", key, "--record", tape, "--bots", 1):
            pass
        key.unlink()
        result = run("replay", tape)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertFalse(key.exists())

    def test_what_is_wrong_with_a_key_file_is_said_before_anything_else(self):
        wide, short, long = (self.folder / name for name in ("wide", "short", "long"))
        wide.write_text("0" * 64 + "\n")
        wide.chmod(0o644)
        for path, text in ((short, "12\n"), (long, "0" * 64 + "\nmore")):
            path.write_text(text)
            path.chmod(0o600)
        for path, words in ((wide, "others may read it: chmod 600"), (short, "is no key file"), (long, "is no key file"),
                            (self.folder, "is no key file"), (self.folder / "no" / "key", "No such file")):
            with self.subTest(path=path):
                result = run("serve", "--port", 0, "--key", path)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(words, result.stderr)
                self.assertIn(str(path), result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)
        result = run("serve", "--port", 0, "--open", "--key", short)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--open takes no --key", result.stderr)


class Addresses(unittest.TestCase):
    @unittest.skipUnless(has_ipv6(), "no IPv6 here")
    def test_one_host_serves_both_families(self):
        with host("--open", "--topology", "mesh", "--bots", 1) as door, \
                concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.assertTrue(door["listening"].startswith("[::]:"))
            wheres = (f"127.0.0.1:{door['port']}", f"[::1]:{door['port']}")
            for where, result in zip(wheres, pool.map(lambda where: bots(where, "--count", 2), wheres)):
                with self.subTest(where=where):
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    self.assertTrue(all(node["joined"] for node in json.loads(result.stdout)["nodes"]))

    @unittest.skipUnless(has_ipv6(), "no IPv6 here")
    def test_an_invite_to_an_ipv6_address_works(self):
        for text in ("::1", "[::1]"):
            with self.subTest(text=text), host("--address", text) as door:
                self.assertEqual(door["address"], f"[::1]:{door['port']}")
                result = bots(door["invite"])
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_an_address_with_another_port_is_told_of(self):
        with host("--address", "127.0.0.1:1") as door:
            self.assertEqual((door["address"], door["forwarded"]), ("127.0.0.1:1", True))
        with host("--address", "127.0.0.1") as door:
            self.assertEqual(door["forwarded"], False)
        result = run("serve", "--port", 0, "--address", "127.0.0.1:1", "--headless", "--seconds", 0.1)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, "we do not listen on port 1: a router or `fairlead wan` must pass it on to port \\d+")


if __name__ == "__main__":
    unittest.main()
