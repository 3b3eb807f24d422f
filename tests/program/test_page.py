"""`--web`: the page of a real session, without a browser: what it tells and to whom, and what it stands."""
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from page_client import Page

PROGRAM = sys.argv.pop(1)
TOKEN = "sesame"
PLACES = 64
MISTAKES = 16


class Served:
    """A host with a page of its own."""

    def __init__(self, *options, game="tanks", token=TOKEN):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", game, "--port", "0", "--json", "--web", "0", *(["--web-token", token] if token else []),
             *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        if not first:
            raise AssertionError(self.process.stderr.read())
        self.door = json.loads(first)
        self.port = urllib.parse.urlparse(self.door["page"]).port
        self.pages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for page in self.pages:
            page.close()
        self.process.kill()
        self.process.communicate()

    def page(self, token=None, **options):
        page = Page(self.port, **options)
        self.pages.append(page)
        if token is not None:
            page.send({"token": token})
            page.wait("control")
        return page

    def status(self, path="/", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(headers.pop("method", "GET"), path, headers=headers)
        status = connection.getresponse().status
        connection.close()
        return status

    def end(self):
        """Ends it; nothing that must hold may have been broken. Answers the summary."""
        self.process.send_signal(signal.SIGINT)
        out, errors = self.process.communicate(timeout=60)
        if self.process.returncode != 0 or errors:
            raise AssertionError(f"exit {self.process.returncode}: {errors}")
        return json.loads(out)


def bots(host, count, *options):
    return subprocess.Popen([PROGRAM, "bots", host.door["invite"] or host.door["address"], "--count", str(count),
                             *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_closed(page, seconds=10):
    """Reads on until the other end closes."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            page.read()
    except (ConnectionError, OSError):
        return True
    return False


class News(unittest.TestCase):
    def test_a_session_tells_of_its_things_its_peers_and_their_errors(self):
        with Served("--bots", 2) as host:
            guests = bots(host, 2, "--seconds", 4)
            page = host.page()
            hello = page.wait("hello")
            self.assertEqual((hello["demo"], hello["game"]), ("session", "tanks"))
            self.assertGreater(len(hello["map"]["boxes"]), 0)
            self.assertEqual(page.wait("settings")["policy"], "base")
            frame = page.wait("frame", lambda f: len(f["things"]) == 4 * 6 and any(p["aee"] > 0 for p in f["peers"]))
            half = 100 * hello["map"]["half"]
            owners = frame["things"][1::6]
            self.assertEqual(sorted(owners), [0, 0, 1, 2])
            self.assertTrue(all(abs(x) <= half + 300 for x in frame["things"][2::6] + frame["things"][3::6]))
            self.assertEqual(sorted(p["number"] for p in frame["peers"]), [1, 2])
            self.assertTrue(all(p["direct"] and p["pairs"] == 3 for p in frame["peers"]), frame["peers"])
            self.assertEqual(guests.wait(), 0)
            guests.communicate()
            page.wait("frame", lambda f: f["peers"] == [])
            self.assertEqual(set(host.end()["page_refused"].values()), {0})

    def test_a_race_comes_with_its_course_and_a_guest_has_a_page_too(self):
        with Served("--bots", 2, game="racing") as host:
            guest = subprocess.Popen([PROGRAM, "join", host.door["invite"], "--bot", "--json", "--web", "0"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            port = urllib.parse.urlparse(json.loads(guest.stdout.readline())["page"]).port
            for page in (host.page(), Page(port)):
                hello = page.wait("hello", lambda h: "map" in h)
                self.assertGreater(len(hello["map"]["line"]), 100)
                page.wait("frame", lambda f: len(f["things"]) == 3 * 6)
                page.close()
            guest.send_signal(signal.SIGINT)
            self.assertEqual((guest.wait(), guest.stderr.read()), (0, ""))
            guest.communicate()
            host.end()

    def test_a_policy_is_changed_by_who_has_the_token_and_a_replay_repeats_it(self):
        with tempfile.TemporaryDirectory() as folder:
            tape = pathlib.Path(folder, "host.tape")
            with Served("--bots", 2, "--record", tape) as host:
                guests = bots(host, 2)
                page, other = host.page(TOKEN), host.page()
                page.wait("frame", lambda f: len(f["peers"]) == 2)
                other.send({"set": {"policy": "equal-100"}})
                page.send({"set": {"policy": "no such policy"}})
                self.assertEqual(page.wait("settings", lambda s: s["refused"])["refused"], "no such policy")
                page.send({"set": {"policy": 7}, "restart": True, "drive": {}})
                page.send({"set": {"policy": "equal-50"}})
                for reader in (page, other):
                    self.assertEqual(reader.wait("settings", lambda s: s["policy"] != "base")["policy"], "equal-50")
                begun = page.wait("frame")["t"]
                page.wait("frame", lambda f: f["t"] > begun + 1500)
                refused = host.end()["page_refused"]
                self.assertEqual((refused["no_token"], sum(refused.values())), (1, 1))
                guests.send_signal(signal.SIGINT)
                guests.communicate()
            done = subprocess.run([PROGRAM, "replay", str(tape), "--json"], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            report = json.loads(done.stdout)
            self.assertTrue(report["same"])
            self.assertGreater(report["datagrams_out"], 50)


class Attacked(unittest.TestCase):
    def test_other_names_and_other_pages_are_refused_and_counted(self):
        with Served() as host:
            for name in ("elsewhere.example", f"elsewhere.example:{host.port}", "127.0.0.1.elsewhere.example",
                         "localhost.elsewhere.example", "evil.test", "[::1", "10.0.0.1", ""):
                self.assertIn(host.status(Host=name), (400, 403), name)
            for origin in ("http://elsewhere.example", f"http://127.0.0.1:{host.port}.elsewhere.example", "null",
                           f"https://127.0.0.1:{host.port}", "http://127.0.0.1"):
                with self.assertRaises((ConnectionError, OSError)):
                    Page(host.port, origin=origin)
            with self.assertRaises((ConnectionError, OSError)):
                Page(host.port, host="elsewhere.example", origin="http://elsewhere.example")
            self.assertEqual(host.status("/nothing"), 404)
            self.assertEqual(host.status("/../app/main.c"), 404)
            self.assertIn(host.status(method="POST"), (404, 405))
            host.page(origin=f"http://127.0.0.1:{host.port}").wait("hello")
            self.assertEqual(host.status(Host=f"localhost:{host.port}"), 200)
            refused = host.end()["page_refused"]
            self.assertGreaterEqual(refused["foreign"], 11)
            self.assertGreaterEqual(refused["bad_request"], 2)

    def test_bad_messages_are_counted_and_many_of_them_end_the_connection(self):
        bad = [b"", b"{", b"[]", b"7", b'"x"', b"null", b"[" * 1000, b"{\"a\":" * 300, b"\x00\x01\x02", b"{} {}", b"nul"]
        with Served() as host:
            good = host.page(TOKEN)
            for first in (0x81, 0x82):  # text and binary
                page = host.page()
                page.wait("hello")
                for i in range(MISTAKES):
                    page.send_frame(first, bad[i % len(bad)])
                self.assertTrue(is_closed(page))
            broken = host.page()
            broken.send_frame(0x81, b"\xff\xfe{}")  # no UTF-8
            odd = host.page()
            odd.socket.sendall(b"\xf7\x85\x00\x00\x00\x00hello")  # bits that mean nothing
            self.assertTrue(is_closed(odd))
            good.send({"set": {"policy": "base/3"}})
            good.wait("settings", lambda s: s["policy"] == "base/3")
            refused = host.end()["page_refused"]
            self.assertEqual((refused["bad_message"], refused["sent_away"]), (2 * MISTAKES + 1, 2))

    def test_long_messages_whole_or_in_pieces_end_the_connection(self):
        with Served() as host:
            whole = host.page(TOKEN)
            whole.send_frame(0x81, b'{"set": "' + b"x" * 5000 + b'"}')
            self.assertTrue(is_closed(whole))
            pieces = host.page(TOKEN)
            pieces.send_frame(0x01, b"{")
            try:
                for _ in range(100):
                    pieces.send_frame(0x00, b" " * 100)
            except OSError:
                pass  # it did not wait for all of them
            self.assertTrue(is_closed(pieces))
            vast = host.page()
            vast.socket.sendall(b"\x81\xff" + b"\x7f" + b"\xff" * 7 + b"\x00" * 4 + b"x" * 4000)
            self.assertTrue(is_closed(vast))
            request = socket.create_connection(("127.0.0.1", host.port), timeout=10)
            try:
                request.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"y" * 1_000_000)
                while request.recv(4096):
                    pass
            except OSError:
                pass
            request.close()
            host.page().wait("hello")
            self.assertEqual(host.end()["page_refused"]["too_long"], 3)

    def test_tokens_are_not_tried_out(self):
        with Served(token=None) as host:
            token = urllib.parse.urlparse(host.door["page"]).fragment
            self.assertGreaterEqual(len(token), 24)
            page = host.page()
            for i in range(MISTAKES):
                page.send({"token": token[:-1] + "xyz"[i % 3]})
            self.assertTrue(is_closed(page))
            host.page(token)
            refused = host.end()["page_refused"]
            self.assertEqual((refused["wrong_token"], refused["sent_away"]), (MISTAKES, 1))

    def test_a_crowd_finds_no_room_and_leaves_it_to_others_when_it_goes(self):
        with Served() as host:
            first = host.page()
            first.wait("hello")
            crowd = [socket.create_connection(("127.0.0.1", host.port), timeout=10) for _ in range(3 * PLACES)]
            first.wait("frame", lambda f: f["refused"] == 2 * PLACES + 1)  # the others have the places
            for one in crowd:
                one.close()
            first.wait("frame", lambda f: f["viewers"] == 1)
            for tries in range(50):  # until it has noticed that they went
                try:
                    host.page().wait("hello")
                    break
                except (ConnectionError, OSError):
                    time.sleep(0.1)
            self.assertGreaterEqual(host.end()["page_refused"]["crowded"], 2 * PLACES + 1)
            self.assertEqual(len(host.pages), 2)

    def test_who_does_not_read_or_never_finishes_asking_holds_up_nobody(self):
        with Served("--bots", 16, "--players", 8) as host:
            slow = [host.page() for _ in range(8)]
            for page in slow:
                page.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            half = socket.create_connection(("127.0.0.1", host.port), timeout=20)
            half.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
            reader = host.page()
            begun = reader.wait("frame")["t"]
            reader.wait("frame", lambda f: f["t"] > begun + 3000, 30)
            try:
                half.settimeout(20)
                self.assertEqual(half.recv(100), b"")  # given up
            except ConnectionError:
                pass
            half.close()
            summary = host.end()
            self.assertLess(summary["resident_kib"]["end"] - summary["resident_kib"]["start"], 8192)


class Piped(unittest.TestCase):
    """`yourgame | fairlead page`."""

    def test_lines_that_are_news_reach_the_page_and_others_pass(self):
        show = subprocess.Popen([PROGRAM, "page", "--port", "0", "--token", TOKEN], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        port = urllib.parse.urlparse(show.stderr.readline().split()[-1]).port

        def say(*lines):
            show.stdin.write("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
            show.stdin.flush()

        say("loading ...", {"type": "hello", "game": "ships"}, "{not json", {"type": "other"}, '{"type": 7}')
        page = Page(port)
        hello = page.wait("hello")
        self.assertEqual((hello["game"], hello["demo"], hello["policies"]), ("ships", "session", []))
        say({"type": "frame", "t": 1, "things": [1, 2, 3]}, {"type": "frame", "t": "x", "things": []},
            {"type": "frame", "t": 2, "things": list("abcdef")}, {"type": "frame", "t": 3, "things": [], "peers": {}},
            {"type": "frame", "t": 4, "pad": "x" * 300000, "things": []}, {"type": "frame", "t": 5, "things": [0, 0, 1, 2, 3, 2]})
        frame = page.wait("frame")
        self.assertEqual((frame["t"], frame["peers"]), (5, []))
        page.send({"token": TOKEN})
        page.send({"set": {"policy": "base"}})  # nobody is there to do it, and nothing happens
        page.wait("control")
        say({"type": "frame", "t": 6, "things": []})
        page.wait("frame", lambda f: f["t"] == 6)
        out, errors = show.communicate(timeout=20)
        page.close()
        self.assertEqual((show.returncode, out.splitlines()), (0, ["loading ...", "{not json", '{"type": "other"}',
                                                                     '{"type": 7}']))
        self.assertIn("3 news, 5 lines", errors)


class Elsewhere(unittest.TestCase):
    def test_beyond_this_machine_even_looking_on_needs_the_token(self):
        with Served("--web-address", "0.0.0.0") as host:
            page = host.page("wrong")
            page.socket.settimeout(0.7)
            with self.assertRaises((TimeoutError, socket.timeout)):
                page.read()
            page.socket.settimeout(10)
            page.send({"token": TOKEN})
            self.assertTrue(page.wait("control")["looks"])
            page.wait("hello")
            self.assertEqual(host.status(Host=f"192.0.2.7:{host.port}"), 200)  # digits cannot be bent
            self.assertEqual(host.status(Host="elsewhere.example"), 403)
            host.end()

    def test_what_cannot_be_is_one_line_and_status_2(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            for options in (["--web", str(port)], ["--web=70000"], ["--web", "0", "--web-token", "a b"],
                            ["--web", "0", "--web-address", "192.0.2.77"], ["--web", "0", "--web-address", "no such host"]):
                done = subprocess.run([PROGRAM, "serve", "--port", "0", "--headless", "--seconds", "3", *options],
                                      capture_output=True, text=True, timeout=30)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), (options, done.stderr))


if __name__ == "__main__":
    if "built without" in subprocess.run([PROGRAM, "demo", "--help"], capture_output=True, text=True).stderr:
        print("skipped: built without the page")
        sys.exit(0)
    unittest.main()
