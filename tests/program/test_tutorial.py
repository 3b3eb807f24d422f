"""The tutorial's four programs (docs/tutorial), each as its page says, through a bad network."""
import pathlib
import subprocess
import sys
import unittest

from terminal import Player, Way

PROGRAM = sys.argv.pop(1)
STEPS = pathlib.Path(PROGRAM).parent / "examples"


class Tutorial(unittest.TestCase):
    def start(self, step, *arguments):
        player = Player(STEPS / f"tutorial_{step}", *arguments)
        self.addCleanup(player.end)
        return player

    def host(self, step):
        way = Way(PROGRAM)
        self.addCleanup(way.end)
        return self.start(step, way.to, way.at)

    def test_1_a_tank_moves(self):
        run = subprocess.run([STEPS / "tutorial_1_tank"], capture_output=True, text=True, timeout=20)
        self.assertEqual(run.returncode, 0)
        self.assertGreater(run.stdout.count("ms:"), 20)

    def test_2_a_second_player_over_a_bad_network(self):
        host = self.host("2_two_players")
        guest = self.start("2_two_players", host.line(r"^(fairlead:\S+)")[1])
        host.line("a player came")
        for player in (host, guest):
            for _ in range(60):
                player.line("shown")
            self.assertLess(float(player.line(r"shown (\S+) m")[1]), 2.0)

    def test_3_one_of_two_has_the_pickup_and_both_shots_are_seen(self):
        host = self.host("3_pickup_and_shot")
        invites = [host.line(r"^(fairlead:\S+)")[1] for _ in range(2)]
        guests = [self.start("3_pickup_and_shot", invite) for invite in invites]
        answers = sorted(guest.line("we have the medkit|another was faster")[0] for guest in guests)
        self.assertEqual(answers, ["another was faster", "we have the medkit"])
        self.assertEqual({host.line(r"player (\d) shoots: bang")[1] for _ in range(2)}, {"1", "2"})

    def test_4_a_server_answers_and_kicks(self):
        server = self.host("4_server")
        invites = [server.line(r"^(fairlead:\S+)")[1] for _ in range(4)]
        polite = self.start("4_server", invites[0], "!who")
        server.line("^Ada came")
        polite.line("^1 players")
        rude = self.start("4_server", invites[1], "darn")
        rude.line("sent us away: No swearing here.")
        server.line("a player left: .*sent away")


if __name__ == "__main__":
    unittest.main()
