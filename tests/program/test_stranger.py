"""A stranger's game (examples/stranger/yard.c): a server and five players, one late, one leaving, one kicked, over a bad network."""
import pathlib
import sys
import time
import unittest

from terminal import Player, Way

PROGRAM = sys.argv.pop(1)
YARD = pathlib.Path(PROGRAM).parent / "examples" / "stranger_yard"


class Stranger(unittest.TestCase):
    def start(self, *arguments):
        player = Player(YARD, *arguments)
        self.addCleanup(player.end)
        return player

    def test_a_whole_match(self):
        way = Way(PROGRAM)
        self.addCleanup(way.end)
        server = self.start("serve", way.to, way.at, "5", "14")
        invites = [server.line(r"^(fairlead:\S+)")[1] for _ in range(5)]
        names = ("ann", "bob", "cat", "eve")
        players = {name: self.start("join", invite, name, *(["6"] if name == "bob" else []))
                   for name, invite in zip(names, invites)}
        self.assertEqual({server.line(r"player \d \((\w+)\) joined")[1] for _ in names}, set(names))
        players["eve"].line("The host has sent us away: no spam here")
        server.line("player \\d left: sent away")
        time.sleep(2)
        players["late"] = self.start("join", invites[4], "late")
        granted = {name: players[name].line(r"my pick-up was (\w+)")[1] for name in ("ann", "bob", "cat")}
        self.assertEqual(sorted(granted.values()), ["granted", "refused", "refused"])
        players["late"].line("kit taken: 1")  # what came before it
        players["late"].line("my pick-up was refused")
        all_hits = 0  # who shoots at one that is down already makes none
        for name in ("ann", "bob", "cat", "late"):
            hits, off, jump = players[name].line(r"made (\d+) hits.* at most (\S+) m, longest jump (\S+) m").groups()
            all_hits += int(hits)
            self.assertLess(float(off), 0.5)
            self.assertLess(float(jump), 0.5)
            if name != "bob":
                players[name].line("The host has left")
        self.assertGreater(all_hits, 5)
        server.line("kit taken 1 times")


if __name__ == "__main__":
    unittest.main()
