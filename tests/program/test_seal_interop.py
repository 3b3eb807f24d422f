#!/usr/bin/env python3
"""Our sealed ends against others, written from spec/WIRE.md section 9 (seal_peer.py), over real UDP, by the standard alone.

test_seal_interop.py PROGRAM: net_seal_interop lies in the folder tests beside the program.
"""
import contextlib
import os
import pathlib
import select
import socket
import subprocess
import sys
import time
import unittest

import seal_peer
from vector_reader import load

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"
HELPER = pathlib.Path(PROGRAM).resolve().parent / "tests/net_seal_interop"
VECTORS = load("seal")
KEY = bytes(range(32))
PROTOCOL = 0x1122334455667788
SIZES = (1, 2, 3, 17, 64, 255, 256, 600, 1199, 1200)
PATIENCE_S = 20  # for what must happen; nothing is expected to take a second


def payload_of(size):
    return bytes((size * 31 + i * 7) & 255 for i in range(size))


def udp(host="127.0.0.1"):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((host, 0))
    s.setblocking(False)
    unittest.addModuleCleanup(s.close)
    return s


def arrived(s):
    """All datagrams that are there, after a short wait for the first."""
    select.select([s], [], [], 0.01)
    with contextlib.suppress(BlockingIOError, ConnectionError):
        while True:
            data, sender = s.recvfrom(4096)
            yield data, sender[:2]


def token(server, client_id=7, key=KEY, protocol=PROTOCOL, life=60, addresses=None, **more):
    now = int(time.time())
    return seal_peer.token_make(key, protocol, client_id, addresses or [server], now - 10, now + life,
                                **more)


class OurServer:
    def __init__(self, slots=4, host="127.0.0.1"):
        self.process = subprocess.Popen([HELPER, "server", KEY.hex(), f"{PROTOCOL:x}", str(slots), host],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        host, port = self.process.stdout.readline().split()[1].rsplit(":", 1)
        self.address = host.strip("[]"), int(port)

    def end(self):
        """Its counters."""
        words = self.process.communicate("", timeout=PATIENCE_S)[0].split()
        return {name: int(count) for name, count in zip(words[::2], words[1::2])}


class OurClient:
    def __init__(self, raw_token, then="leave", host="127.0.0.1"):
        self.process = subprocess.Popen([HELPER, "client", then, host], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.process.stdin.write(raw_token.hex() + "\n")
        self.process.stdin.flush()

    def end(self):
        """Every state it was in, with what it knew then."""
        lines = self.process.communicate("", timeout=PATIENCE_S)[0].splitlines()
        assert self.process.returncode == 0, self.process.returncode
        states = []
        for line in lines:
            words = line.replace(" of ", " slots ").split()
            states.append((words[0], dict(zip(words[1::2], map(int, words[2::2])))))
        return states


class TheirClient:
    def __init__(self, raw_token, host="127.0.0.1"):
        self.socket = udp(host)
        self.client = seal_peer.Client(raw_token, time.monotonic())
        self.sent = []

    def put(self, packets):
        for address, data in packets:
            self.sent.append(data)
            self.socket.sendto(data, address)

    def step(self):
        self.put(self.client.due(time.monotonic()))
        for data, sender in arrived(self.socket):
            self.client.receive(data, sender, time.monotonic())

    def until(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition() and time.monotonic() < end:
            self.step()
        return condition()

    def state(self, state):
        return self.until(lambda: self.client.state == state)

    def say(self, payload):
        self.put([self.client.send(payload, time.monotonic())])

    def hear(self, payload):
        return self.until(lambda: payload in self.client.payloads)


class TheirServer:
    def __init__(self, slots=4, host="127.0.0.1"):
        self.socket = udp(host)
        self.address = self.socket.getsockname()[:2]
        self.server = seal_peer.Server(KEY, PROTOCOL, [self.address], slots)
        self.heard, self.ids = [], set()

    def step(self):
        for data, sender in arrived(self.socket):
            self.server.receive(data, sender, time.monotonic(), int(time.time()))
        self.ids |= {c.private.client_id for c in self.server.connected.values()}
        for address, payload in self.server.payloads:
            self.heard.append(payload)
            if address in self.server.connected:
                self.server.send(address, payload[::-1], time.monotonic())
        self.server.payloads.clear()
        for address, data in self.server.due(time.monotonic()):
            self.socket.sendto(data, address)

    def until(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition() and time.monotonic() < end:
            self.step()
        return condition()


class TheirClientAtOurServer(unittest.TestCase):
    def test_it_connects_talks_in_all_sizes_and_leaves(self):
        server = OurServer()
        client = TheirClient(token(server.address))
        self.assertTrue(client.state("CONNECTED"))
        self.assertEqual((client.client.slot, client.client.slot_count), (0, 4))
        for size in SIZES:
            client.say(payload_of(size))
            self.assertTrue(client.hear(payload_of(size)[::-1]), size)
        client.put(client.client.leave(time.monotonic()))
        counters = server.end()
        self.assertEqual((counters["accepted"], counters["connected"]), (1, 0))
        self.assertNotIn("tampered", counters)
        self.assertNotIn("replay", counters)

    def test_what_it_said_before_is_not_heard_again(self):
        server = OurServer()
        client = TheirClient(token(server.address))
        self.assertTrue(client.state("CONNECTED"))
        client.say(b"once")
        self.assertTrue(client.hear(b"ecno"))
        before = len(client.client.payloads)
        packet = client.sent[-1]
        client.socket.sendto(packet, server.address)
        changed = bytearray(packet)
        changed[-1] ^= 1
        changed[1] += 1  # a number that is fresh
        client.socket.sendto(changed, server.address)
        client.say(b"twice")
        self.assertTrue(client.hear(b"eciwt"))
        self.assertEqual(len(client.client.payloads), before + 1)
        counters = server.end()
        self.assertGreaterEqual(counters["replay"], 1)
        self.assertGreaterEqual(counters["tampered"], 1)

    def test_it_is_thrown_out_and_understands(self):
        server = OurServer()
        client = TheirClient(token(server.address))
        self.assertTrue(client.state("CONNECTED"))
        client.say(b"kick")
        self.assertTrue(client.state("DISCONNECTED"))
        server.end()

    def test_two_take_two_slots_and_a_third_is_denied(self):
        server = OurServer(slots=2)
        clients = [TheirClient(token(server.address, client_id=i)) for i in (1, 2)]
        for slot, client in enumerate(clients):
            self.assertTrue(client.state("CONNECTED"))
            self.assertEqual((client.client.slot, client.client.slot_count), (slot, 2))
        third = TheirClient(token(server.address, client_id=3))
        self.assertTrue(third.state("DENIED"))
        self.assertGreaterEqual(server.end()["denials"], 1)

    def test_over_ipv6_too(self):
        try:
            udp("::1").close()
        except OSError:
            self.skipTest("no IPv6 here")
        server = OurServer(host="::1")
        client = TheirClient(token(server.address), host="::1")
        self.assertTrue(client.state("CONNECTED"))
        server.end()

    def test_each_thing_wrong_is_counted_under_its_own_reason(self):
        server = OurServer()
        elsewhere = ("127.0.0.1", 1)
        wrong = {
            "protocol": token(server.address, protocol=PROTOCOL + 1),
            "key": token(server.address, key=bytes(32)),
            "expired": token(server.address, life=-1),
            "address": token(server.address, addresses=[elsewhere]),
        }
        s = udp()
        for raw in wrong.values():
            for _, data in seal_peer.Client(raw, 0.0).due(0.0):
                s.sendto(data, server.address)
        good = seal_peer.Client(token(server.address), 0.0)
        (_, request), = good.due(0.0)
        s.sendto(request[:-1], server.address)
        s.sendto(request + b"\0", server.address)
        s.sendto(request[:8] + b"X" + request[9:], server.address)
        counters = server.end()
        self.assertEqual(list(arrived(s)), [])
        s.close()
        for reason in (*wrong, "short", "large", "version"):
            self.assertEqual(counters.get(reason), 1, (reason, counters))
        self.assertEqual((counters["challenges"], counters["denials"]), (0, 0))


class OurClientAtTheirServer(unittest.TestCase):
    def test_it_connects_talks_in_all_sizes_and_leaves(self):
        server = TheirServer()
        client = OurClient(token(server.address, client_id=99))
        self.assertTrue(server.until(lambda: server.ids and not server.server.connected))
        states = client.end()
        self.assertEqual([name for name, _ in states][-2:], ["CONNECTED", "DISCONNECTED"])
        self.assertEqual(states[-1][1]["back"], len(SIZES))
        self.assertEqual(states[-1][1]["wrong"], 0)
        self.assertEqual(states[-1][1]["slots"], 4)
        self.assertEqual(server.ids, {99})
        self.assertEqual(server.server.refused, [])
        for size in SIZES:
            self.assertIn(payload_of(size), server.heard)

    def test_it_is_thrown_out_and_understands(self):
        server = TheirServer()
        client = OurClient(token(server.address), "stay")
        self.assertTrue(server.until(lambda: payload_of(SIZES[-1]) in server.heard))
        server.server.kick(next(iter(server.server.connected)), time.monotonic())
        self.assertTrue(server.until(lambda: client.process.poll() is not None))
        self.assertEqual(client.end()[-1][0], "DISCONNECTED")

    def test_it_is_denied_when_they_are_full(self):
        server = TheirServer(slots=0)
        client = OurClient(token(server.address))
        self.assertTrue(server.until(lambda: client.process.poll() is not None))
        self.assertEqual(client.end()[-1][0], "DENIED")

    def test_it_goes_on_to_the_next_server_when_one_denies_it(self):
        full, free = TheirServer(slots=0), TheirServer()
        now = int(time.time())
        raw = seal_peer.token_make(KEY, PROTOCOL, 5, [full.address, free.address], now, now + 60)
        client = OurClient(raw)
        self.assertTrue(full.until(lambda: free.step() or free.ids and not free.server.connected))
        states = client.end()
        self.assertEqual(states[-1][0], "DISCONNECTED")
        self.assertEqual((states[-1][1]["server"], states[-1][1]["back"]), (1, len(SIZES)))


class Vectors(unittest.TestCase):
    """Bytes that our library wrote, opened by theirs."""

    def test_the_private_part_of_tokens_says_what_it_should(self):
        for vector in VECTORS["tokens"]:
            public = seal_peer.Token(bytes.fromhex(vector["token"]))
            private = seal_peer.Private(public.private, bytes.fromhex(vector["private_key"]), public.protocol,
                                        public.expire, public.nonce)
            self.assertEqual(private.user.hex(), vector["user"])
            self.assertEqual(private.to_server.hex(), vector["to_server"])
            self.assertEqual(private.to_client.hex(), vector["to_client"])
            self.assertEqual((private.timeout, private.addresses), (public.timeout, public.addresses))

    def test_sealed_packets_open_and_say_what_they_should(self):
        key, protocol = bytes.fromhex(VECTORS["key"]), int(VECTORS["protocol"], 16)
        opened_count = 0
        for vector in VECTORS["packets"]:
            if vector["kind"] <= seal_peer.DISCONNECT:  # above: ours, which they do not know
                opened = seal_peer.packet_open(bytes.fromhex(vector["packet"]), range(1, 7), key, protocol,
                                               seal_peer.Replay())
                self.assertEqual(opened, (vector["kind"], bytes.fromhex(vector["body"])))
                again = seal_peer.packet_seal(vector["kind"], int(vector["sequence"], 16), opened[1], key, protocol)
                self.assertEqual(again.hex(), vector["packet"])
                opened_count += 1
        self.assertGreaterEqual(opened_count, 8)

    def test_the_ends_here_understand_each_other(self):
        server = seal_peer.Server(KEY, PROTOCOL, [("127.0.0.1", 1)], 1)
        now = int(time.time())
        client = seal_peer.Client(seal_peer.token_make(KEY, PROTOCOL, 1, [("127.0.0.1", 1)], now, now + 9), 0.0)
        for i in range(20):
            for _, data in client.due(i / 10):
                server.receive(data, ("127.0.0.1", 2), i / 10, now)
            for _, data in server.due(i / 10):
                client.receive(data, ("127.0.0.1", 1), i / 10)
        self.assertEqual(client.state, "CONNECTED")


if __name__ == "__main__":
    if not os.access(HELPER, os.X_OK):
        sys.exit(f"{HELPER} is missing: build the tests")
    unittest.main(argv=["test_seal_interop"])
