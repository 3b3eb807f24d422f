"""fairlead demo without a browser: what it serves and to whom, orders, and that it leaves nothing behind."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from page_client import Page

PROGRAM = sys.argv.pop(1)
TOKEN = "sesame"


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Running:
    """A demo of its own, at a free port."""

    def __init__(self, *options, game="tanks"):
        self.process = subprocess.Popen([PROGRAM, "demo", game, "--port", "0", "--no-browser", "--token", TOKEN, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while "Ctrl-C" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError("it did not start: " + said + self.process.stderr.read())
            said += line
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/#" + TOKEN, said)[1])
        self.children = children(self.process.pid)
        self.pages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for page in self.pages:
            page.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def gone(self, seconds=5):
        end = time.monotonic() + seconds
        while any(is_there(pid) for pid in self.children) and time.monotonic() < end:
            time.sleep(0.02)
        return not any(is_there(pid) for pid in self.children)

    def get(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(headers.pop("method", "GET"), path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def page(self, token=None):
        page = Page(self.port)
        self.pages.append(page)
        if token is not None:
            page.send({"token": token})
            page.wait("control")
        return page


class Served(unittest.TestCase):
    def test_the_page_and_everything_it_names_is_served_with_its_type(self):
        with Running() as demo:
            answer, body = demo.get("/")
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
            types = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
            names = re.findall(r'(?:src|href)="([^"]+)"', body.decode())
            self.assertGreater(len(names), 3)
            for name in names:
                answer, body = demo.get("/" + name)
                self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, types[name.rsplit(".")[-1]]), name)
                self.assertEqual(len(body), int(answer.headers["Content-Length"]))
                modules = re.findall(rb'from "\./([^"]+)"', body)
                self.assertEqual([demo.get("/" + m.decode())[0].status for m in modules], [200] * len(modules))

    def test_what_a_browser_has_is_not_sent_again(self):
        with Running() as demo:
            answer, _ = demo.get("/main.js")
            again, body = demo.get("/main.js", **{"If-None-Match": answer.headers["ETag"]})
            self.assertEqual((again.status, body), (304, b""))
            other, body = demo.get("/main.js", **{"If-None-Match": '"something else"'})
            self.assertEqual(other.status, 200)
            self.assertGreater(len(body), 100)

    def test_strange_requests_get_an_error_and_nothing_else(self):
        with Running() as demo:
            self.assertEqual(demo.get("/nothing")[0].status, 404)
            self.assertEqual(demo.get("/../app/main.c")[0].status, 404)
            self.assertEqual(demo.get("/", Host="elsewhere.example")[0].status, 403)
            with self.assertRaises((ConnectionError, OSError)):
                Page(demo.port, origin="http://elsewhere.example")
            with self.assertRaises((ConnectionError, OSError)):
                Page(demo.port, host="elsewhere.example")
            Page(demo.port, origin=f"http://127.0.0.1:{demo.port}").close()
            self.assertIsNone(demo.process.poll())


class Live(unittest.TestCase):
    def test_all_receivers_come_in_and_their_errors_grow(self):
        with Running() as demo:
            page = demo.page(TOKEN)
            hello = demo.page().wait("hello")
            self.assertEqual([r["delay_ms"] for r in hello["receivers"]], [200, 500, 800])
            frame = page.wait("frame", lambda f: all(r["aee"] > 0 for r in f["receivers"]), 30)
            self.assertEqual(len(frame["screens"]), 4)
            self.assertTrue(all(len(s["tanks"]) == 4 * hello["players"] for s in frame["screens"]))
            later = page.wait("frame", lambda f: f["t"] > frame["t"] + 2000)
            for before, after in zip(frame["receivers"], later["receivers"]):
                self.assertGreaterEqual(after["aee"], before["aee"])
            mean = sum(r["aee"] for r in later["receivers"]) / 3
            self.assertAlmostEqual(later["mean"], mean, delta=1e-3 * mean)

    def test_settings_change_for_everybody_while_it_runs(self):
        with Running() as demo:
            page, other = demo.page(TOKEN), demo.page()
            page.send({"set": {"policy": "equal/2-75", "jitter_ms": 60, "loss_percent": 5, "clock": "one-way"}})
            for reader in (page, other):
                news = reader.wait("settings", lambda s: s["policy"] == "equal/2-75")
                self.assertEqual((news["jitter_ms"], news["loss_percent"], news["clock"]), (60, 5, "one-way"))
            page.send({"set": {"policy": "no such policy", "jitter_ms": 1e9, "clock": 7}})
            news = page.wait("settings", lambda s: s["jitter_ms"] != 60)
            self.assertEqual((news["policy"], news["jitter_ms"], news["clock"]), ("equal/2-75", 180, "one-way"))
            self.assertEqual(news["refused"], "no such policy")
            page.send({"set": {"jitter_ms": 10}})  # something else: it is still said
            self.assertEqual(page.wait("settings", lambda s: s["jitter_ms"] == 10)["refused"], "no such policy")
            page.send({"set": {"policy": "base"}})
            self.assertIsNone(page.wait("settings", lambda s: s["policy"] == "base")["refused"])

    def test_counting_starts_again_when_asked_to(self):
        with Running() as demo:
            page = demo.page(TOKEN)
            page.wait("frame", lambda f: f["mean"] > 1, 30)
            page.send({"restart": True})
            frame = page.wait("frame", lambda f: f["count"] == 1)
            self.assertLess(frame["mean"], 1)
            page.wait("frame", lambda f: all(r["sees"] for r in f["receivers"]) and f["mean"] > 0.1, 30)

    def test_a_tank_goes_where_it_is_driven(self):
        with Running() as demo:
            page = demo.page(TOKEN)
            page.send({"drive": {"drive": 0, "turn": 1, "fire": False}})
            first = page.wait("frame", lambda f: f["driven"] and f["screens"][0]["tanks"][3] == 2)
            page.send({"drive": {"drive": 0, "turn": 1, "fire": False}})
            page.wait("frame", lambda f: f["t"] > first["t"] + 300)
            a = page.wait("frame", lambda f: f["screens"][0]["tanks"][3] == 2)
            b = page.wait("frame", lambda f: f["t"] >= a["t"] + 500)
            if a["life"] == b["life"] and b["screens"][0]["tanks"][3] == 2:  # it may be shot while we look
                (ax, ay, ayaw), (bx, by, byaw) = a["screens"][0]["tanks"][:3], b["screens"][0]["tanks"][:3]
                self.assertLess(abs(ax - bx) + abs(ay - by), 5)  # cm: it turns on the spot
                turned = (byaw - ayaw) % 6283
                self.assertAlmostEqual(turned, 785 * (b["t"] - a["t"]) / 1000, delta=30)
            page.send({"drive": None})
            page.wait("frame", lambda f: not f["driven"])

    def test_nobody_changes_anything_without_the_token(self):
        with Running() as demo:
            for page in (demo.page(), demo.page("wrong"), demo.page(TOKEN[:-1])):
                page.send({"set": {"policy": "equal-100"}})
                page.send({"restart": True})
                page.send({"drive": {"drive": 1, "turn": 0, "fire": True}})
            time.sleep(0.3)
            frame = page.wait("frame", lambda f: f["t"] > 500)
            self.assertEqual((frame["count"], frame["driven"]), (0, False))
            self.assertEqual(demo.page().wait("settings")["policy"], "base")

    def test_rubbish_does_no_harm(self):
        with Running() as demo:
            page = demo.page(TOKEN)
            for text in ("", "x", "[]", "null", "{", '{"set":1}', '{"set":{"policy":1}}', '{"drive":{"drive":"x"}}',
                         '{"drive":{"drive":1e999,"turn":1}}', '{"token":1}', "\u00e9" * 200, "[" * 1000):
                page.send_text(text)
            page.wait("frame")
            with self.assertRaises((ConnectionError, OSError)):
                page.send_text("x" * 5000)
                while True:
                    page.read()
            self.assertIsNone(demo.process.poll())
            demo.page(TOKEN).wait("frame")


class Racing(unittest.TestCase):
    def test_screens_agree_by_the_best_scheme_and_not_without_one(self):
        rates = {}
        for scheme in ("nc", "best"):
            with Running("--scheme", scheme, game="racing") as demo:
                page = demo.page()
                first = page.wait("frame", lambda f: f["compared"], 30)
                last = page.wait("frame", lambda f: f["t"] > first["t"] + 10000, 30)
                rates[scheme] = last["rate"]
        self.assertGreater(rates["nc"], 15)
        self.assertLess(rates["best"], rates["nc"] / 3)

    def test_schemes_and_network_change_while_it_runs(self):
        with Running(game="racing") as demo:
            page = demo.page(TOKEN)
            page.send({"set": {"scheme": "adaptive", "delay_ms": 20, "jitter_ms": 0, "loss_percent": 3}})
            news = page.wait("settings", lambda s: s["scheme"] == "adaptive")
            self.assertEqual((news["delay_ms"], news["jitter_ms"], news["loss_percent"]), (20, 0, 3))
            page.send({"set": {"scheme": "no such scheme", "delay_ms": 1e9}})
            news = page.wait("settings", lambda s: s["delay_ms"] != 20)
            self.assertEqual((news["scheme"], news["delay_ms"], news["refused"]), ("adaptive", 300, "no such scheme"))
            page.send({"set": {"delay_ms": 10}})
            # Both agree on a shorter delay of the picture than the 100 ms they began with.
            page.wait("frame", lambda f: f["compared"] and all(20 <= s["behind_ms"] < 90 for s in f["screens"]), 40)

    def test_a_car_that_stood_still_for_over_half_a_lap_loses_none(self):
        length = 400
        with Running("--scheme", "best", game="racing") as demo:
            page = demo.page(TOKEN)
            page.wait("frame", lambda f: f["compared"], 30)
            page.send({"set": {"scheme": "causality", "delay_ms": 150}})  # every sample is too late
            # The other's car stands still on each screen while the own one drives on.
            page.wait("frame", lambda f: f["screens"][0]["gap"] > 0.55 * length > -0.55 * length > f["screens"][1]["gap"], 25)
            page.send({"set": {"scheme": "best", "delay_ms": 30}})
            begin = page.wait("frame", lambda f: f["screens"][0]["gap"] < 0.5 * length)
            frame = page.wait("frame", lambda f: f["t"] > begin["t"] + 1000)
            gaps = [screen["gap"] for screen in frame["screens"]]
            self.assertLess(max(map(abs, gaps)), 0.25 * length)
            self.assertLess(abs(gaps[0] - gaps[1]), 10)

    def test_a_race_is_not_about_to_start_while_cars_move(self):
        with Running(game="racing") as demo:
            page = demo.page()
            grid = page.wait("frame", lambda f: f["phase"] == "grid", 30)
            moving = page.wait("frame", lambda f: abs(f["truth"][0] - grid["truth"][0]) > 50)
            self.assertEqual((moving["phase"], moving["compared"]), ("race", False))

    def test_another_race_follows_when_asked_for(self):
        with Running(game="racing") as demo:
            page = demo.page(TOKEN)
            first = page.wait("frame", lambda f: f["compared"], 30)
            page.send({"restart": True})
            later = page.wait("frame", lambda f: f["race"] > first["race"] and f["compared"], 30)
            self.assertEqual(later["count"], 1)


def all_seen(frame):
    return all(how > 0 for how in frame["players"]["how"])


class Arena(unittest.TestCase):
    def test_everybody_is_seen_and_another_mode_is_another_match_within_its_budget(self):
        with Running("--scheme", "lobw", "--players", "8", game="arena") as demo:
            page = demo.page(TOKEN)
            first = page.wait("frame", lambda f: all_seen(f) and f["error"][1] is not None, 40)
            self.assertEqual(set(first["players"]["serves"][1:]), {2})  # nobody's focus is asked for
            page.send({"set": {"mode": "donny", "kbps": 64, "rtt_ms": 100, "loss_percent": 1}})
            news = page.wait("settings", lambda s: s["mode"] == "donny")
            self.assertEqual((news["kbps"], news["rtt_ms"], news["loss_percent"]), (64, 100, 1))
            frame = page.wait("frame", lambda f: f["game"] > first["game"] and all_seen(f), 40)
            page.wait("frame", lambda f: 1 in f["players"]["serves"] and 3 in f["players"]["how"], 40)
            begin = page.wait("frame", lambda f: f["t"] > frame["t"] + 500)
            end = page.wait("frame", lambda f: f["t"] > begin["t"] + 3000)
            seconds = (end["t"] - begin["t"]) / 1000
            for before, after in zip(begin["upload"]["all"], end["upload"]["all"]):
                self.assertGreater(after, before)
                self.assertLess((after - before) * 8 / 1000, 64 * (seconds + 0.5))  # as figures come 20 times a second
            page.send({"set": {"mode": "no such mode", "kbps": 1e9, "rtt_ms": "x"}})
            news = page.wait("settings", lambda s: s["kbps"] != 64)
            self.assertEqual((news["mode"], news["kbps"], news["rtt_ms"]), ("donny", 512, 100))

    def test_a_player_runs_where_it_is_driven(self):
        with Running("--players", "2", game="arena") as demo:
            page = demo.page(TOKEN)
            page.wait("frame", all_seen, 40)
            page.send({"drive": {"drive": 0, "turn": 1, "fire": False}})
            first = page.wait("frame", lambda f: f["driven"])
            a = page.wait("frame", lambda f: f["t"] > first["t"] + 300)
            page.send({"drive": {"drive": 0, "turn": 1, "fire": False}})
            b = page.wait("frame", lambda f: f["t"] > a["t"] + 1000)
            if a["own"]["deaths"] == b["own"]["deaths"] and b["own"]["health"] > 0:
                turned = (b["players"]["seen"][2] - a["players"]["seen"][2]) % 6283
                self.assertAlmostEqual(turned, 3 * (b["t"] - a["t"]), delta=300)
            page.send({"drive": None})
            page.wait("frame", lambda f: not f["driven"])


class Recorded(unittest.TestCase):
    def recorded(self, folder, game, count, orders):
        """Records a demo of which `orders` are asked; each process's recording repeats what it sent."""
        path = pathlib.Path(folder, game)
        with Running("--record", str(path), game=game) as demo:
            page = demo.page(TOKEN)
            page.wait("frame", lambda f: f["t"] > 2000)
            for order in orders:
                page.send(order)
                page.wait("frame", lambda f, t=page.wait("frame")["t"]: f["t"] > t + 700)
            demo.process.send_signal(signal.SIGINT)
            self.assertEqual((demo.process.wait(10), demo.process.stderr.read()), (0, ""))
        self.assertEqual(sorted(p.name for p in path.parent.glob(game + ".*")), [f"{game}.{i}" for i in range(count)])
        for i in range(count):
            run = subprocess.run([PROGRAM, "replay", f"{path}.{i}", "--json"], capture_output=True, text=True, timeout=60)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            report = json.loads(run.stdout)
            self.assertTrue(report["same"])
            self.assertEqual((report["command"], report["game"], report["fault"]), ("demo", game, "none"))
            self.assertGreater(min(report["datagrams_in"], report["datagrams_out"], report["rounds"]), 10)
        return path

    def test_every_process_of_tanks_is_repeated_with_what_was_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.recorded(folder, "tanks", 4, [{"set": {"policy": "equal-50", "loss_percent": 10, "jitter_ms": 50}},
                                                      {"drive": {"drive": 1, "turn": 1, "fire": True}}, {"restart": True}])
            whole = pathlib.Path(f"{path}.0").read_bytes()
            cut = pathlib.Path(folder, "cut")
            cut.write_bytes(whole[:len(whole) // 2])
            run = subprocess.run([PROGRAM, "replay", str(cut)], capture_output=True, text=True, timeout=60)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1))
            self.assertIn("same hashes", run.stdout)

    def test_both_players_of_a_race_are_repeated(self):
        with tempfile.TemporaryDirectory() as folder:
            self.recorded(folder, "racing", 2, [{"set": {"scheme": "adaptive", "delay_ms": 120}},
                                                {"drive": {"drive": 1, "turn": 0}}])

    def test_every_process_of_the_arena_is_repeated_over_two_matches(self):
        with tempfile.TemporaryDirectory() as folder:
            self.recorded(folder, "arena", 4, [{"set": {"mode": "donny"}}, {"drive": {"drive": 1, "turn": 1, "fire": True}}])


class Ends(unittest.TestCase):
    def test_a_signal_ends_everything_well(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Running() as demo:
                page = demo.page(TOKEN)
                page.wait("frame")
                self.assertEqual(len(demo.children), 4)
                demo.process.send_signal(number)
                self.assertEqual(demo.process.wait(10), 0)
                self.assertTrue(demo.gone())
                self.assertEqual(demo.process.stderr.read(), "")

    def test_nobody_survives_a_killed_parent(self):
        with Running() as demo:
            demo.process.kill()
            self.assertTrue(demo.gone())

    def test_a_process_that_dies_ends_the_demo_with_a_message(self):
        with Running() as demo:
            os.kill(demo.children[1], signal.SIGKILL)
            self.assertEqual(demo.process.wait(10), 1)
            self.assertIn("a process of the demo has ended", demo.process.stderr.read())
            self.assertTrue(demo.gone())

    def test_it_ends_by_itself_when_told_to(self):
        with Running("--seconds", "0.5") as demo:
            self.assertEqual(demo.process.wait(10), 0)
            self.assertTrue(demo.gone())


class Refused(unittest.TestCase):
    def refused(self, *options):
        run = subprocess.run([PROGRAM, "demo", "--no-browser", *options], capture_output=True, text=True, timeout=30)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1)
        return run.stderr

    def test_a_port_in_use_is_said_in_one_line(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.assertIn(f"port {port} is in use", self.refused("--port", str(port)))

    def test_wrong_options_are_said_in_one_line(self):
        self.assertIn("chess", self.refused("chess"))
        self.assertIn("nonsense", self.refused("--policy", "nonsense"))
        self.assertIn("nonsense", self.refused("racing", "--scheme", "nonsense"))
        self.assertIn("nonsense", self.refused("arena", "--scheme", "nonsense"))
        self.refused("arena", "--players", "1")
        self.refused("--players", "33")
        self.refused("racing", "--players", "3")
        self.refused("racing", "--players", "1")
        for game in ("racing", "arena"):
            self.assertIn("--scheme", self.refused(game, "--policy", "base"))
        self.assertIn("--policy", self.refused("tanks", "--scheme", "best"))
        self.refused("--port", "70000")
        self.refused("--token", "a b")
        self.assertIn("cannot write", self.refused("--record", "/no/such/folder/file"))


if __name__ == "__main__":
    if "built without" in subprocess.run([PROGRAM, "demo", "--help"], capture_output=True, text=True).stderr:
        print("skipped: built without the page")
        sys.exit(0)
    unittest.main()
