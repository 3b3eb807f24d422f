"""Echo and chat over ENet and over Fairlead (examples/beside_enet): both do what they say, and ours are no longer."""
import pathlib
import re
import subprocess
import sys
import time
import unittest

from terminal import Player

PROGRAM = sys.argv.pop(1)
BUILT = pathlib.Path(PROGRAM).parent / "examples"
ROOT = pathlib.Path(__file__).parents[2]
SOURCES = ROOT / "examples" / "beside_enet"


def lines(path):
    return sum(not re.match(r"\s*(//.*)?$", line) for line in path.read_text().splitlines())


class BesideEnet(unittest.TestCase):
    def programs(self, what):
        for with_what in ("enet", "fairlead"):
            if (BUILT / f"beside_{what}_{with_what}").exists():
                yield BUILT / f"beside_{what}_{with_what}"

    def server(self, program):
        server = Player(program)
        time.sleep(1)  # it says nothing when it listens, and ENet's client gives up soon
        return server

    def test_echo(self):
        for program in self.programs("echo"):
            server = self.server(program)
            try:
                answer = subprocess.run([program, "hello"], capture_output=True, text=True, timeout=20)
                self.assertEqual(answer.stdout, "hello\n")
            finally:
                server.end()

    def test_chat(self):
        for program in self.programs("chat"):
            server = self.server(program)
            try:
                players = [Player(program, text) for text in ("one", "two")]
                players[0].line("two")
                players[1].line("one")
                for player in players:
                    player.end()
            finally:
                server.end()

    def test_ours_are_no_longer(self):
        for what in ("echo", "chat"):
            self.assertLessEqual(lines(SOURCES / f"{what}_fairlead.c"), lines(SOURCES / f"{what}_enet.c"))

    def test_the_table_in_the_docs_is_right(self):
        page = ROOT / "docs" / "guide" / "which.md"
        cells = re.findall(r"\[(\d+)\]\((\S+\.c)\)", page.read_text())
        self.assertEqual(len(cells), 6)
        for count, path in cells:
            self.assertEqual(int(count), lines(page.parent / path), path)


if __name__ == "__main__":
    unittest.main()
