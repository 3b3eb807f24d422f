#!/usr/bin/env python3
"""A host rules `fairlead serve`: an invite for each player, list, kick and ban on standard input: test_play_rules.py PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"


class Host:
    def __init__(self, invites, *options):
        command = [PROGRAM, "serve", "--port", "0", "--address", "127.0.0.1", "--invites", str(invites), "--json", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.door = json.loads(self.process.stdout.readline())
        self.invites = json.loads(self.process.stdout.readline())["invites"]

    def say(self, line):
        """Answers come on standard error, since standard output is JSON."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stderr.readline().strip()

    def players(self):
        answer = self.say("list")
        return [self.process.stderr.readline().split()[1] for _ in range(int(answer.split()[0]))]

    def end(self):
        self.process.terminate()
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, json.loads(out)


def join(*arguments, **more):
    return subprocess.Popen([PROGRAM, "join", *arguments, "--headless", "--seconds", "120"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


class Rules(unittest.TestCase):
    def test_a_host_sends_away_and_bans(self):
        host = Host(3)
        self.assertEqual(len(set(host.invites)), 3)
        with tempfile.NamedTemporaryFile("w", suffix=".invite") as file:
            file.write(host.invites[0] + "\n")
            file.flush()
            anna = join("--secret-file", file.name, "--name", "anna")
            bert = join("--secret-file", "-", "--name", "bert", stdin=subprocess.PIPE)
            bert.stdin.write(host.invites[1] + "\n")
            bert.stdin.flush()
            while sorted(host.players()) != ["anna", "bert"]:
                self.assertIsNone(anna.poll() or bert.poll())
            self.assertIn("is called carl", host.say("kick carl"))
            carl = join(host.invites[2], "--name", "bert")  # as another does
            while sorted(host.players()) != ["anna", "bert", "bert"]:
                self.assertIsNone(carl.poll())
            self.assertIn("more than one is called bert", host.say("kick bert"))
            self.assertEqual(sorted(host.players()), ["anna", "bert", "bert"])
            carl.terminate()
            carl.communicate(timeout=60)
            while sorted(host.players()) != ["anna", "bert"]:
                self.assertIsNone(anna.poll() or bert.poll())
            self.assertIn("sent away", host.say("ban anna"))
            self.assertIn("You are banned.", anna.communicate(timeout=60)[1])
            again = join(host.invites[0], "--name", "another")  # the same invite, as somebody else
            self.assertIn("You are banned.", again.communicate(timeout=60)[1])
            self.assertEqual(host.players(), ["bert"])
            self.assertIn("sent away", host.say("kick bert See you tomorrow."))
            self.assertIn("See you tomorrow.", bert.communicate(timeout=60)[1])
            bert = join(host.invites[1], "--name", "bert")  # who was kicked may come back
            while host.players() != ["bert"]:
                self.assertIsNone(bert.poll())
            bert.terminate()
            bert.communicate(timeout=60)
        status, summary = host.end()
        self.assertEqual(status, 0)
        self.assertEqual(summary["ended"], "signal")

    def test_what_does_not_go_together(self):
        for options in (["--invites", "2", "--open"], ["--invites", "2", "--key", os.devnull]):
            done = subprocess.run([PROGRAM, "serve", *options], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
        done = subprocess.run([PROGRAM, "join", "--name", "two words"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        done = subprocess.run([PROGRAM, "join", "--secret-file", "/nowhere/at/all"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
