"""The README's program, host and guest from one file, in two processes through a bad network (`fairlead wan`)."""
import pathlib
import subprocess
import sys
import unittest

from terminal import Player, Way

PROGRAM = sys.argv.pop(1)
EXAMPLES = pathlib.Path(PROGRAM).parent / "examples"


class Readme(unittest.TestCase):
    def start(self, *command):
        player = Player(*command)
        self.addCleanup(player.end)
        return player

    def test_two_processes_see_each_other(self):
        pairs = []
        for name in ("example_00_readme", "example_00_readme_cpp"):  # the latter where there is a C++ compiler
            if (EXAMPLES / name).exists():
                way = Way(PROGRAM)
                self.addCleanup(way.end)
                host = self.start(EXAMPLES / name, way.to, way.at)
                pairs += [host, self.start(EXAMPLES / name, host.line(r"^(fairlead:\S+)")[1])]
        for player in pairs:
            for _ in range(100):  # until the clocks agree; both drive by session time
                player.line(r"our tank is at")
            for _ in range(20):
                ours, others = map(float, player.line(r"our tank is at (\S+) m, the other's at (\S+) m").groups())
                self.assertLess(abs(ours - others), 1.0)

    def test_errors_are_sentences(self):
        run = subprocess.run([EXAMPLES / "example_00_readme", "fairlead:nonsense"], capture_output=True, text=True, timeout=10)
        self.assertEqual(run.returncode, 1)
        self.assertIn("mistyped or cut off", run.stdout)
        run = subprocess.run([EXAMPLES / "example_00_readme", "nowhere"], capture_output=True, text=True, timeout=10)
        self.assertEqual(run.returncode, 1)
        self.assertIn('address is "nowhere"', run.stdout)


if __name__ == "__main__":
    unittest.main()
