#!/usr/bin/env python3
"""`fairlead wan` between a client and an echo server on loopback: test_wan.py PROGRAM

Bounds are five standard errors where chance decides; where the machine's load decides, only upper bounds are generous.
"""
import concurrent.futures
import contextlib
import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"


class EchoServer:
    """Sends every datagram back and remembers the numbers it saw, in order."""

    def __init__(self, family=socket.AF_INET, host="127.0.0.1"):
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((host, 0))
        self.socket.settimeout(0.05)
        self.seen, self.senders = [], set()
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.running:
            with contextlib.suppress(TimeoutError, ConnectionError):
                data, sender = self.socket.recvfrom(4096)
                self.seen.append(struct.unpack("!I", data[:4])[0])
                self.senders.add(sender)
                self.socket.sendto(data, sender)

    def close(self):
        if self.running:
            self.running = False
            self.thread.join()
            self.socket.close()

    @property
    def address(self):
        host, port = self.socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Wan:
    """A running proxy. `end` stops it as Ctrl-C would and answers its summary."""

    def __init__(self, server, *options, listen="127.0.0.1:0"):
        self.process = subprocess.Popen(
            [PROGRAM, "wan", "--listen", listen, "--to", server.address, "--json", "--duration", "30", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        if not first:
            raise AssertionError(self.process.stderr.read())
        host, port = json.loads(first)["listening"].rsplit(":", 1)
        self.address = (host.strip("[]"), int(port))

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        out, errors = self.process.communicate(timeout=10)
        if self.process.returncode != 0 or errors:
            raise AssertionError(f"exit {self.process.returncode}: {errors}")
        return json.loads(out)


@contextlib.contextmanager
def scene(*options, family=socket.AF_INET, host="127.0.0.1", listen="127.0.0.1:0"):
    """An echo server, a proxy in front of it, and a client's socket."""
    server = EchoServer(family, host)
    client = socket.socket(family, socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    wan = Wan(server, *options, listen=listen)
    try:
        yield server, wan, client
    finally:
        if wan.process.poll() is None:
            wan.process.kill()
            wan.process.communicate()
        client.close()
        server.close()


def send(client, wan, count, pause=0.002, group=20):
    """Packets 0 .. count-1 in small groups, so that no buffer overflows. Answers when each was sent."""
    sent = []
    for number in range(count):
        sent.append(time.monotonic())
        client.sendto(struct.pack("!I", number) + bytes(60), wan.address)
        if number % group == group - 1:
            time.sleep(pause)
    return sent


def receive(client, expected=None, silence=0.6):
    """(number, arrival) of everything that comes until there are as many as expected, or silence for so long."""
    got = []
    client.settimeout(silence if expected is None else 5.0)
    with contextlib.suppress(TimeoutError):
        while len(got) != expected:
            data = client.recv(4096)
            got.append((struct.unpack("!I", data[:4])[0], time.monotonic()))
    return got


def run(*arguments):
    return subprocess.run([PROGRAM, "wan", *arguments], capture_output=True, text=True, timeout=10)


class WanTest(unittest.TestCase):
    def assert_share(self, count, total, share):
        self.assertLess(abs(count - total * share), 5 * math.sqrt(total * share * (1 - share)))

    def test_delay_is_what_was_asked_for(self):
        with scene("--up-delay", "60", "--down-delay", "30", "--jitter", "10",
                   "--distribution", "uniform") as (_, wan, client):
            got = []
            thread = threading.Thread(target=lambda: got.extend(receive(client, 400)))
            thread.start()
            sent = send(client, wan, 400, group=1)
            thread.join()
            summary = wan.end(signal.SIGINT)
        trips = [(arrival - sent[number]) * 1e3 for number, arrival in got]
        self.assertEqual(len(trips), 400)
        self.assertGreaterEqual(min(trips), 70.0)
        mean = sum(trips) / len(trips)
        error = 5 * math.sqrt(2 * 10**2 / 3 / len(trips))
        self.assertGreater(mean, 90.0 - error)
        self.assertLess(mean, 90.0 + error + 20.0)  # the rest is this test's own slowness
        self.assertLess(abs(summary["up"]["delay_mean_ms"] - 60), error)
        self.assertLess(abs(summary["down"]["delay_mean_ms"] - 30), error)
        self.assertGreater(summary["up"]["overtaken"], 0)

    def test_order_is_kept_if_asked_for(self):
        with scene("--jitter", "5", "--delay", "20", "--keep-order") as (server, wan, client):
            send(client, wan, 300, pause=0.001, group=2)
            echoed = [number for number, _ in receive(client, 300)]
            summary = wan.end()
        self.assertEqual(server.seen, list(range(300)))
        self.assertEqual(echoed, list(range(300)))
        self.assertGreater(summary["up"]["held"], 0)

    def test_loss_and_duplication_have_their_share(self):
        count = 3000
        with scene("--up-loss", "30", "--down-duplicate", "20") as (server, wan, client):
            send(client, wan, count)
            got = receive(client)
            summary = wan.end()
        self.assertEqual(summary["up"]["packets"], count)
        self.assert_share(summary["up"]["lost_random"], count, 0.3)
        self.assertEqual(len(server.seen), summary["up"]["delivered"])
        self.assert_share(summary["down"]["duplicated"], len(server.seen), 0.2)
        self.assertEqual(len(got), len(server.seen) + summary["down"]["duplicated"])
        self.assertEqual(sum(summary["dropped"].values()), 0)

    def test_a_seed_loses_the_same_packets_again(self):
        def pattern(seed):
            with scene("--loss", "20", "--seed", seed) as (server, wan, client):
                send(client, wan, 1000)
                echoed = [number for number, _ in receive(client)]
                wan.end()
            return server.seen, echoed

        with concurrent.futures.ThreadPoolExecutor() as pool:
            patterns = list(pool.map(pattern, ("7", "7", "8")))
        self.assertEqual(patterns[0], patterns[1])
        self.assertNotEqual(patterns[0], patterns[2])

    def test_each_client_has_its_own_way_and_gets_its_own_answers(self):
        with tempfile.NamedTemporaryFile("w", suffix=".schedule") as schedule:
            schedule.write("at 0 pair 1 up loss 100 # the second client is cut off\n")
            schedule.flush()
            with scene("--schedule", schedule.name) as (server, wan, client):
                other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                third = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                answers = []
                for index, one in enumerate((client, other, third)):
                    one.sendto(struct.pack("!I", 100 + index), wan.address)
                    answers.append([number for number, _ in receive(one, silence=0.2)])
                    if one is not client:
                        one.close()
                summary = wan.end()
        self.assertEqual(answers, [[100], [], [102]])
        self.assertEqual(len(server.senders), 2)
        self.assertEqual(summary["clients_total"], 3)

    def test_rate_limit_delays_and_drops(self):
        # 65 * 8 bits + 28 bytes of headers a packet: 100 kbit/s carry 135 packets/s, and 100 ms hold about 14.
        with scene("--up-rate", "100", "--up-queue", "100") as (server, wan, client):
            send(client, wan, 200, pause=0.0)
            receive(client)
            summary = wan.end()
        self.assertGreater(summary["up"]["queue_full"], 150)
        self.assertEqual(summary["up"]["queue_full"] + len(server.seen), 200)
        self.assertGreater(summary["up"]["delay_mean_ms"], 20.0)

    def test_idle_clients_are_forgotten(self):
        with scene("--idle", "0.2", "--clients", "1") as (_, wan, client):
            other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            send(client, wan, 1)
            time.sleep(0.05)
            send(other, wan, 1)  # no room
            time.sleep(1.3)
            send(other, wan, 1)
            answers = receive(other, 1)
            summary = wan.end()
            other.close()
        self.assertEqual(len(answers), 1)
        self.assertEqual(summary["clients_total"], 2)
        self.assertEqual(summary["dropped"]["turned_away"], 1)

    def test_ipv6(self):
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("::1", 0))
            except OSError:
                self.skipTest("no IPv6 here")
        with scene("--delay", "5", family=socket.AF_INET6, host="::1", listen="[::1]:0") as (_, wan, client):
            send(client, wan, 10)
            self.assertEqual(len(receive(client, 10)), 10)

    def test_a_server_that_is_not_there_is_counted(self):
        with scene() as (server, wan, client):
            server.close()
            send(client, wan, 10, group=1, pause=0.01)
            time.sleep(0.1)
            summary = wan.end()
        self.assertGreater(summary["dropped"]["refused"], 0)

    def test_bad_input_is_refused_in_one_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".schedule") as schedule:
            schedule.write("at 1 delay 5\nat 2 delay five\n")
            schedule.flush()
            ways = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"]
            for arguments, words in (
                ([], "--listen HOST:PORT is needed"),
                (["--listen", "127.0.0.1:0"], "--to HOST:PORT is needed"),
                (["--listen", "nonsense", "--to", "127.0.0.1:9"], "is not HOST:PORT"),
                (["--listen", "127.0.0.1:0", "--to", "no host:9"], "there is no host"),
                ([*ways, "--delay", "fast"], "--delay: a plain number"),
                ([*ways, "--down-loss", "101"], "--down-loss: loss"),
                ([*ways, "--distribution", "cauchy"], "--distribution: the distribution is constant"),
                ([*ways, "--seed", "-1"], "--seed"),
                ([*ways, "--correlation", "0.99999"], "lasts for minutes"),
                ([*ways, "--schedule", schedule.name], ":2: a plain number"),
                ([*ways, "--schedule", os.devnull + "/none"], "cannot open"),
                ([*ways, "--frobnicate", "1"], "unknown option"),
            ):
                with self.subTest(arguments=arguments):
                    result = run(*arguments)
                    self.assertEqual(result.returncode, 2)
                    self.assertIn(words, result.stderr)
                    self.assertEqual(result.stderr.count("\n"), 1)
                    self.assertEqual(result.stdout, "")

    def test_a_port_in_use_is_said_so(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            result = run("--listen", address, "--to", "127.0.0.1:9")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{address}: another program has that address and port", result.stderr)


if __name__ == "__main__":
    unittest.main()
