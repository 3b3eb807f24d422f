#!/usr/bin/env python3
"""`--record` and `fairlead replay`: test_replay.py PROGRAM

Sessions are recorded on loopback, replayed, and compared: the same hashes. Then recordings are cut, damaged and forged in
every way, and must be read as far as they go, with one clear line and without a crash.
"""
import concurrent.futures
import json
import os
import pathlib
import pty
import random
import select
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"
SECONDS = 3
HEAD = 12
STATUS_SAME, STATUS_DIFFERS, STATUS_BAD = 0, 1, 2


def run(*arguments, timeout=120):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=timeout)


def replay(path, *options):
    return run("replay", path, *options)


class Host:
    """A running `serve` that records."""

    def __init__(self, path, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", *map(str, options), "--port", "0", "--json", "--record", str(path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        if not first:
            raise AssertionError(self.process.stderr.read())
        self.door = json.loads(first)
        self.where = self.door["invite"] or "127.0.0.1:" + self.door["listening"].rsplit(":", 1)[1]

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        out, errors = self.process.communicate(timeout=60)
        if self.process.returncode != 0 or errors:
            raise AssertionError(f"exit {self.process.returncode}: {errors}")
        return json.loads(out)


def record(folder, name, *options, count=2):
    """A host and bots, both recorded: their files and what they said at the end."""
    host = Host(folder / f"{name}-host", *options)
    try:
        game = [options[0]] if options and options[0] == "racing" else []
        guests = run("bots", *game, host.where, "--count", count, "--seconds", SECONDS, "--json", "--record",
                     folder / f"{name}-bots")
        if guests.returncode != 0:
            raise AssertionError(guests.stderr)
        return {"host": host.end(), "bots": json.loads(guests.stdout)}
    finally:
        if host.process.poll() is None:
            host.process.kill()
            host.process.communicate()


SESSIONS = {
    "sealed": ("tanks", "--bots", 2),
    "open": ("tanks", "--bots", 2, "--open", "--policy", "equal-50"),
    "mesh": ("tanks", "--bots", 1, "--topology", "mesh"),
    "race": ("racing", "--bots", 1, "--cars", 3, "--course", "ring", "--laps", 1, "--show", "adaptive"),
}


def blocks(data):
    """The payloads of a recording's blocks."""
    at, found = HEAD, []
    while at < len(data):
        length, _ = struct.unpack_from("<II", data, at)
        found.append(data[at + 8:at + 8 + length])
        at += 8 + length
    return found


def joined(head, payloads):
    """A recording of these blocks, with checksums that are right."""
    out, checksum = [head], 0
    for payload in payloads:
        checksum = zlib.crc32(payload, checksum)
        out.append(struct.pack("<II", len(payload), checksum) + payload)
    return b"".join(out)


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder_owner = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.folder_owner.name)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = {name: pool.submit(record, cls.folder, name, *options) for name, options in SESSIONS.items()}
            cls.said = {name: each.result() for name, each in made.items()}

    @classmethod
    def tearDownClass(cls):
        cls.folder_owner.cleanup()

    def file(self, data):
        path = self.folder / "changed"
        path.write_bytes(data)
        return path

    def assert_clear(self, result, *words):
        """One line for people, by us, and no crash."""
        self.assertIn(result.returncode, (STATUS_DIFFERS, STATUS_BAD), result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("fairlead replay: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    # ------------------------------------------------------------ the same again

    def test_every_session_replays_with_the_same_hashes(self):
        for name in SESSIONS:
            for side in ("host", "bots"):
                with self.subTest(session=name, side=side):
                    result = replay(self.folder / f"{name}-{side}", "--json")
                    self.assertEqual((result.returncode, result.stderr), (STATUS_SAME, ""))
                    again = json.loads(result.stdout)
                    self.assertTrue(again["same"])
                    self.assertEqual((again["fault"], again["difference"]), ("none", ""))
                    self.assertGreater(again["datagrams_in"], 10)
                    self.assertGreater(again["datagrams_out"], 10)

    def test_a_replay_has_the_figures_of_the_session(self):
        for name in SESSIONS:
            for side in ("host", "bots"):
                with self.subTest(session=name, side=side):
                    said = self.said[name][side]
                    again = json.loads(replay(self.folder / f"{name}-{side}", "--json").stdout)["session"]
                    for each in (said, again):
                        del each["resident_kib"]
                        for node in each["nodes"]:  # what only a kernel counts
                            node["drops"] = {k: v for k, v in node["drops"].items() if not k.startswith("net_")}
                    self.assertEqual(said, again)

    def test_two_replays_are_alike_and_talk_to_people(self):
        one, two = (replay(self.folder / "sealed-host") for _ in range(2))
        self.assertEqual(one.stdout, two.stdout)
        self.assertEqual(one.returncode, STATUS_SAME)
        self.assertIn("same hashes", one.stdout)
        self.assertIn("fairlead serve, tanks", one.stdout)

    def test_only_the_owner_may_read_a_recording(self):
        mode = stat.S_IMODE((self.folder / "sealed-host").stat().st_mode)
        self.assertEqual(mode, 0o600)

    def test_keys_are_recorded(self):
        path = self.folder / "keys"
        host = Host(self.folder / "keys-host", "--open")
        try:
            pid, terminal = pty.fork()
            if pid == 0:
                os.execv(PROGRAM, [PROGRAM, "join", host.where, "--record", str(path)])
            heard = threading.Thread(target=self.drain, args=(terminal,))
            heard.start()
            for key in b"wwwa  wd":
                time.sleep(0.15)
                os.write(terminal, bytes([key]))
            time.sleep(0.3)
            os.write(terminal, b"q")
            _, status = os.waitpid(pid, 0)
            heard.join(10)
            os.close(terminal)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            host.end()
        finally:
            if host.process.poll() is None:
                host.process.kill()
                host.process.communicate()
        result = replay(path, "--json")
        self.assertEqual((result.returncode, result.stderr), (STATUS_SAME, ""))
        self.assertEqual(json.loads(result.stdout)["session"]["ended"], "quit")

    @staticmethod
    def drain(terminal):
        while True:
            ready, _, _ = select.select([terminal], [], [], 10)
            try:
                if not ready or not os.read(terminal, 65536):
                    return
            except OSError:
                return

    # ------------------------------------------------------------ another policy

    def test_another_policy_on_the_same_motion_and_network(self):
        for seconds in (4, 8, 16):  # until everybody was there for long enough
            host = Host(self.folder / "asked", "--open", "--bots", 2)
            try:
                self.assertEqual(run("bots", host.where, "--count", 2, "--seconds", seconds).returncode, 0)
                host.end()
            finally:
                if host.process.poll() is None:
                    host.process.kill()
                    host.process.communicate()
            result = replay(self.folder / "asked", "--policy", "base/3", "--json")
            if result.returncode == STATUS_SAME:
                break
        self.assertEqual((result.returncode, result.stderr), (STATUS_SAME, ""))
        answer = json.loads(result.stdout)["policies"]
        self.assertEqual((answer["things"], answer["receivers"]), (2, 2))
        recorded, again, other = answer["rows"]
        self.assertEqual([recorded["policy"], again["policy"], other["policy"]], ["base", "base", "base/3"])
        self.assertGreater(recorded["updates"], 10)
        # The same triggers, but for those at the edges of the stretch.
        self.assertLess(abs(again["updates"] - recorded["updates"]), 0.3 * recorded["updates"] + 8)
        self.assertLess(other["updates"], 0.6 * again["updates"])
        self.assertGreater(other["mean_aee"], again["mean_aee"])
        text = replay(self.folder / "asked", "--policy", "base/3").stdout
        for word in ("as recorded", "played again", "other", "base/3"):
            self.assertIn(word, text)

    def test_a_policy_that_cannot_be_asked_about_is_said(self):
        result = replay(self.folder / "sealed-bots", "--policy", "base/3")  # the host tells its tanks on
        self.assert_clear(result, "nothing to compare")
        self.assertEqual(result.returncode, STATUS_BAD)
        result = replay(self.folder / "sealed-host", "--policy", "fastest")
        self.assert_clear(result, "no policy 'fastest'")

    # ------------------------------------------------------------ recordings that are not whole

    def test_a_program_that_was_killed_leaves_a_recording(self):
        path = self.folder / "killed"
        host = Host(path, "--open", "--bots", 1)
        time.sleep(2.5)
        host.process.kill()
        host.process.communicate()
        result = replay(path)
        self.assertIn("same hashes", result.stdout)
        self.assert_clear(result, "ends after", "replayed up to there")
        self.assertEqual(result.returncode, STATUS_BAD)

    def test_a_recording_cut_anywhere_is_read_as_far_as_it_goes(self):
        data = (self.folder / "sealed-host").read_bytes()
        chance = random.Random(1)
        places = [0, 1, 7, 8, 11, 12, 13, 19, 20, 21, 60, len(data) - 1]
        places += [chance.randrange(len(data)) for _ in range(20)]
        at = HEAD
        for payload in blocks(data)[:-1]:  # between blocks
            at += 8 + len(payload)
            places.append(at)
        replayed = 0
        for place in places:
            with self.subTest(place=place):
                result = replay(self.file(data[:place]), "--json")
                self.assert_clear(result)
                self.assertEqual(result.returncode, STATUS_BAD)
                if result.stdout:
                    replayed += 1
                    self.assertTrue(json.loads(result.stdout)["same"])
                    self.assertIn(json.loads(result.stdout)["fault"], ("short", "unfinished"))
        self.assertGreater(replayed, 10)

    def test_a_flipped_byte_is_found(self):
        data = (self.folder / "race-host").read_bytes()
        chance = random.Random(2)
        for place in [0, 5, 9, 12, 13, 16, 17, 20, 21] + [chance.randrange(HEAD, len(data)) for _ in range(30)]:
            with self.subTest(place=place):
                changed = bytearray(data)
                changed[place] ^= 1 << chance.randrange(8)
                result = replay(self.file(bytes(changed)))
                self.assert_clear(result)
                self.assertEqual(result.returncode, STATUS_BAD)

    def test_a_block_left_out_or_moved_is_found(self):
        data = (self.folder / "race-host").read_bytes()
        parts = []
        at = HEAD
        for payload in blocks(data):
            parts.append(data[at:at + 8 + len(payload)])
            at += 8 + len(payload)
        self.assertGreater(len(parts), 2)
        missing = data[:HEAD] + b"".join(parts[:1] + parts[2:])
        moved = data[:HEAD] + b"".join(parts[:1] + [parts[2], parts[1]] + parts[3:])
        for changed in (missing, moved):
            result = replay(self.file(changed))
            self.assert_clear(result, "damaged")

    def test_what_is_no_recording_is_said(self):
        data = (self.folder / "sealed-host").read_bytes()
        other = data[:8] + struct.pack("<I", 99) + data[12:]
        for content, words in ((b"", "is empty"), (b"t,id,x,y,z\n0,1,2,3,4\n", "no recording"), (b"\0" * 4096, "no recording"),
                               (other, "format 99"), (data[:HEAD], "says nothing"), (data[:10], "cut off")):
            with self.subTest(words=words):
                result = replay(self.file(content))
                self.assert_clear(result, words)
                self.assertEqual((result.returncode, result.stdout), (STATUS_BAD, ""))
        self.assert_clear(replay(self.folder / "not there"), "cannot read")
        self.assert_clear(replay(self.folder), "cannot read")

    # ------------------------------------------------------------ recordings of something else

    def test_another_datagram_is_a_difference_with_its_time(self):
        data = (self.folder / "open-host").read_bytes()
        parts = blocks(data)
        for number, payload in enumerate(parts):
            at, outs = 0, []
            while at < len(payload):
                kind, length = struct.unpack_from("<BH", payload, at)
                if kind == 11 and number > 0:
                    outs.append(at)
                at += 3 + length
            if outs:
                changed = bytearray(payload)
                changed[outs[0] + 3 + 4] ^= 1  # of the hash
                parts[number] = bytes(changed)
                break
        result = replay(self.file(joined(data[:HEAD], parts)), "--json")
        self.assertEqual(result.returncode, STATUS_DIFFERS)
        self.assert_clear(result, "the first difference", "datagram out", " s: ")
        self.assertFalse(json.loads(result.stdout)["same"])

    def test_forged_recordings_with_right_checksums_crash_nothing(self):
        """Whatever stands in it: entries changed, left out, doubled, exchanged."""
        chance = random.Random(3)
        seen = set()
        for trial in range(90):
            data = (self.folder / chance.choice(["sealed-host", "open-bots", "race-host", "mesh-bots"])).read_bytes()
            parts = blocks(data)
            number = chance.randrange(len(parts)) if trial % 3 else 0
            changed = bytearray(parts[number])
            entries, at = [], 0
            while at < len(changed):
                _, length = struct.unpack_from("<BH", changed, at)
                entries.append(bytes(changed[at:at + 3 + length]))
                at += 3 + length
            at = chance.randrange(len(entries))
            how = chance.randrange(5)
            if how == 0:
                del entries[at]
            elif how == 1:
                entries.insert(at, entries[at])
            elif how == 2:
                other = chance.randrange(len(entries))
                entries[at], entries[other] = entries[other], entries[at]
            elif how == 3:
                body = bytes(chance.randrange(256) for _ in range(chance.choice([0, 1, 4, 8, 9, 40])))
                entries[at] = struct.pack("<BH", chance.randrange(18), len(body)) + body
            elif len(entries[at]) > 3:
                one = bytearray(entries[at])
                one[chance.randrange(3, len(one))] ^= 1 << chance.randrange(8)
                entries[at] = bytes(one)
            parts[number] = b"".join(entries)
            result = replay(self.file(joined(data[:HEAD], parts)))
            with self.subTest(trial=trial):
                self.assertIn(result.returncode, (STATUS_SAME, STATUS_DIFFERS, STATUS_BAD), result.stderr)
                self.assertNotIn("Sanitizer", result.stderr)
                seen.add(result.returncode)
        self.assertIn(STATUS_DIFFERS, seen)

    # ------------------------------------------------------------ writing

    def test_a_full_disk_ends_the_recording_and_not_the_game(self):
        result = run("serve", "--port", 0, "--open", "--bots", 1, "--seconds", 2.5, "--json", "--record", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("the recording ends", result.stderr)
        summary = json.loads(result.stdout.split("\n", 1)[1])
        self.assertEqual(summary["ended"], "time")
        self.assertGreater(summary["checks"]["ticks"], 10)

    def test_a_file_that_cannot_be_made_is_said_before_the_game(self):
        result = run("serve", "--port", 0, "--seconds", 1, "--record", self.folder / "no" / "folder")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("cannot write", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_a_command_that_failed_has_no_session(self):
        path = self.folder / "failed"
        result = run("join", "no-such-host.invalid", "--record", path)
        self.assertEqual(result.returncode, 2)
        self.assert_clear(replay(path), "before the game began")


if __name__ == "__main__":
    unittest.main(verbosity=2)
