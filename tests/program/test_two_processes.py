#!/usr/bin/env python3
"""Two real processes talk through `fairlead wan`: test_two_processes.py PROGRAM [MESSAGES] [SECONDS]

Each sends MESSAGES reliable ordered messages and drives a tank, at 30 % loss and 20 ms each way. By hand, with the numbers:

    python3 tests/program/test_two_processes.py build/fairlead 100000 300
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "build/fairlead"
MESSAGES = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 15000
SECONDS = float(sys.argv.pop(1)) if len(sys.argv) > 1 else 100  # most machines need 5
PEER = pathlib.Path(PROGRAM).parent / "examples" / "example_02_messages"

LOSS, DELAY_MS = 30, 20
TRIGGER_M, SPEED_M_S = 0.1, 20.0  # of the tanks


def resident_kib(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return None


class Peer:
    def __init__(self, role, address):
        self.process = subprocess.Popen([PEER, role, address, str(MESSAGES)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.resident = []  # KiB, every tenth of a second
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()

    def watch(self):
        while self.process.poll() is None:
            try:
                kib = resident_kib(self.process)
            except OSError:
                return
            if kib:
                self.resident.append(kib)
            time.sleep(0.1)

    def end(self, deadline):
        try:
            out, errors = self.process.communicate(timeout=max(deadline - time.monotonic(), 1))
        finally:
            self.process.kill()
        self.watcher.join()
        if self.process.returncode != 0 or errors:
            raise AssertionError(f"exit {self.process.returncode}: {errors}{out}")
        return json.loads(out)


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TwoProcesses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        address = f"127.0.0.1:{free_port()}"
        wan = subprocess.Popen(
            [PROGRAM, "wan", "--listen", "127.0.0.1:0", "--to", address, "--loss", str(LOSS), "--delay", str(DELAY_MS),
             "--json", "--duration", str(SECONDS + 20)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            listening = json.loads(wan.stdout.readline())["listening"]
            began = time.monotonic()
            host, client = Peer("host", address), Peer("join", listening)
            cls.host, cls.client = (peer.end(began + SECONDS) for peer in (host, client))
            cls.seconds = time.monotonic() - began
            cls.resident = [host.resident, client.resident]
        finally:
            wan.send_signal(signal.SIGTERM)
            out, _ = wan.communicate(timeout=10)
        cls.wan = json.loads(out)
        host_ahead = cls.host["ahead_ns"][0]
        cls.clock_error_s = max(abs(ahead - host_ahead) for ahead in cls.client["ahead_ns"]) / 1e9
        if os.environ.get("FL_SAY") or MESSAGES > 50000:
            print(f"{MESSAGES} messages each way in {cls.seconds:.1f} s; {cls.wan}")
            for who, what, kib in (("host", cls.host, host.resident), ("client", cls.client, client.resident)):
                print(f"{who}: {what}; resident {kib[len(kib) // 10]} KiB after a tenth, {kib[-1]} KiB at the end")
            print(f"session time at the client was off by {1e3 * cls.clock_error_s:.3f} ms at worst")

    def test_every_message_arrives_once_and_in_order(self):
        for peer in (self.host, self.client):
            self.assertEqual(peer["heard"], MESSAGES + 1)
            self.assertEqual(peer["wrong"], 0)

    def test_the_network_was_as_bad_as_asked_for(self):
        for way in ("up", "down"):
            counts = self.wan[way]
            share = counts["lost_random"] / counts["packets"]
            self.assertGreater(counts["packets"], MESSAGES / 100)
            self.assertAlmostEqual(share, LOSS / 100, delta=5 * (0.21 / counts["packets"]) ** 0.5)

    def test_memory_stays_flat(self):
        for kib in self.resident:
            early = kib[len(kib) // 4]
            self.assertLess(kib[-1], early + 256)

    def test_the_hosts_clock_does_not_move_and_the_clients_is_near_it(self):
        least, most = self.host["ahead_ns"]
        self.assertEqual(least, most)
        self.assertLess(self.clock_error_s, 0.05)

    def test_the_others_tank_is_off_by_no_more_than_trigger_and_clock_error_explain(self):
        # A circle told as a circle stays true: updates repeat it, so neither the way nor loss makes a difference.
        for peer in (self.host, self.client):
            self.assertLess(peer["worst_m"], TRIGGER_M + SPEED_M_S * self.clock_error_s)


if __name__ == "__main__":
    unittest.main()
