#!/usr/bin/env python3
"""A long match of tanks over real sockets, through a bad network, with players coming and going.

    tools/soak.py PROGRAM [--minutes 20] [--bots 64] [--topology star] [--seed 1] [--loss 2] [--delay 40] [--jitter 10]

One `fairlead serve`, one `fairlead wan` in front of it, and several `fairlead bots`, which are stopped (politely, or by
SIGKILL) and started again at random. At the end, and whenever a process of bots leaves, its own summary is read: every
node checks all the time what must hold (docs/guide/play.md). Memory of the processes that stay is looked at every second.
Prints a JSON summary; exit status 1 if anything was wrong.
"""
import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

KILL_SHARE = 0.2  # of those who leave, without a goodbye
WARM_UP = 0.25  # of the time, before memory counts
SPARE = 3  # groups for which there is room besides the bots: who was killed keeps its place until the time-out
GROWTH = 1.05  # at most


def resident_kib(process):
    try:
        for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def processor_s(process):
    try:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100.0
    except (OSError, IndexError):
        return 0.0


class Process:
    """A `fairlead` command. The first line of a server is read at once, the rest when it has ended."""

    running = []

    def __init__(self, arguments, announces=False):
        self.arguments = [str(argument) for argument in arguments]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.arguments, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        Process.running.append(self.process)
        self.memory = []  # KiB, every second
        self.first = {}
        self.out = ""
        if announces:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{' '.join(self.arguments)}: {self.said()}")
            self.first = json.loads(line)
        # A summary is longer than a pipe holds: somebody must read it while the process ends.
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        self.out = self.process.stdout.read()

    def said(self):
        self.errors.seek(0)
        return self.errors.read().strip()

    def look(self):
        self.memory.append(resident_kib(self.process))

    def end(self, how=signal.SIGTERM):
        """The summary; None after SIGKILL."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        Process.running.remove(self.process)
        self.reader.join()
        self.process.stdout.close()
        return json.loads(self.out) if self.out.strip() else None

    @property
    def status(self):
        return self.process.returncode


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.problems = []
        self.totals = {}
        self.started = self.left = self.killed = 0
        self.peak_seen = 0
        self.session_drops = {}

    def open(self):
        o = self.options
        # The proxy must know the server's port, and the invite the proxy's: so a free port is found first.
        probe = Process([o.program, "serve", "--port", 0, "--open", "--json", "--seconds", 0.05], announces=True)
        port = int(probe.first["listening"].rsplit(":", 1)[1])
        probe.end()
        self.wan = None
        address = f"127.0.0.1:{port}"
        if not o.no_wan:
            self.wan = Process([o.program, "wan", "--listen", "127.0.0.1:0", "--to", address, "--delay", o.delay, "--jitter",
                                o.jitter, "--loss", o.loss, "--clients", 4 * o.bots + 8, "--idle", 20, "--seed", o.seed,
                                "--json"], announces=True)
            address = self.wan.first["listening"]
        players = min(o.bots + SPARE * o.each + 2, 127)
        self.host = Process([o.program, "serve", "--port", port, "--address", address, "--topology", o.topology, "--players",
                             players, "--bots", 1, "--seed", o.seed, "--policy", o.policy, "--json"], announces=True)

    def start_bots(self):
        self.started += 1
        o = self.options
        return Process([o.program, "bots", self.host.first["invite"], "--count", o.each, "--seed", 1000 + self.started,
                        "--frames", o.frames, "--direct", o.direct, "--policy", o.policy, "--json"])

    # ------------------------------------------------------------ what is checked

    def wrong(self, what):
        self.problems.append(what)
        print(f"soak: {what}", file=sys.stderr)

    def read_summary(self, name, summary, status, said):
        if summary is None:
            self.wrong(f"{name}: no summary, exit status {status}: {said}")
            return
        checks = summary["checks"]
        faults = {kind: count for kind, count in checks["by_kind"].items() if count}
        if faults:
            self.wrong(f"{name}: {faults}")
        if summary["malformed"]:
            self.wrong(f"{name}: {summary['malformed']} malformed or foreign messages")
        if checks["deaths_applied"] != checks["kills_told"] + summary["kills_waiting"]:
            self.wrong(f"{name}: {checks['deaths_applied']} deaths, but {checks['kills_told']} kills told")
        home = summary["seconds"] < 2.0 and not any(node["joined"] for node in summary["nodes"])  # we sent it, before it was in
        if status != 0 and not faults and not home:
            self.wrong(f"{name}: exit status {status}: {said} {summary['trouble']}")
        for key in ("deaths_applied", "kills_told", "kills_heard", "shots_told", "shots_heard", "shots_dropped",
                    "events_rejected", "looks", "ticks", "ticks_skipped"):
            self.totals[key] = self.totals.get(key, 0) + checks[key]
        self.totals["outside_worst"] = max(self.totals.get("outside_worst", 0.0), checks["outside_worst"])
        for node in summary["nodes"]:
            self.peak_seen = max(self.peak_seen, node["players_peak"])
            for drop, count in node["drops"].items():
                self.session_drops[drop] = self.session_drops.get(drop, 0) + count

    def check_memory(self, name, memory, result):
        settled = memory[int(len(memory) * WARM_UP):]
        if len(settled) < 100:
            return  # too short to say: what was reserved is touched little by little
        tenth = max(len(settled) // 10, 1)
        early, late = max(settled[:tenth]), max(settled[-tenth:])
        result[name] = {"warm_kib": early, "end_kib": late}
        if late > early * GROWTH:
            self.wrong(f"{name}: {early} KiB resident after warm-up, {late} KiB at the end")

    # ------------------------------------------------------------ running

    def fill(self):
        """Everybody who may come comes once. What is reserved is touched at its first use, so only after the game was as
        full as it will ever be does growth mean anything."""
        if self.options.minutes >= 2.0:
            crowd = [self.start_bots() for _ in range(SPARE)]
            time.sleep(15.0)
            for group in crowd:
                self.stop(group, False)

    def servers(self):
        return [self.host] if self.wan is None else [self.host, self.wan]

    def stop(self, group, politely):
        how = signal.SIGTERM if politely else signal.SIGKILL
        self.left += 1 if politely else 0
        self.killed += 0 if politely else 1
        summary = group.end(how)
        if politely:
            self.read_summary(f"bots {group.process.pid}", summary, group.status, group.said())

    def run(self):
        o = self.options
        self.open()
        groups = [self.start_bots() for _ in range(o.bots // o.each)]
        self.fill()
        stay = groups[: max(len(groups) // 2, 1)]  # these stay to the end, for their memory
        churn = groups[len(stay):]
        absent = []  # when to start again
        begun = time.monotonic()
        end = begun + 60.0 * o.minutes
        change = begun + o.churn
        while time.monotonic() < end:
            time.sleep(min(1.0, max(end - time.monotonic(), 0.0)))
            for process in (*self.servers(), *stay):
                process.look()
                if process.process.poll() is not None:
                    self.wrong(f"{process.arguments[1]} ended by itself: {process.said()}")
                    end = time.monotonic()
            now = time.monotonic()
            if now >= change and churn:
                change = now + o.churn * self.random.uniform(0.5, 1.5)
                self.stop(churn.pop(self.random.randrange(len(churn))), self.random.random() >= KILL_SHARE)
                absent.append(now + self.random.uniform(0.5, o.churn))
            while absent and now >= min(absent):
                absent.remove(min(absent))
                churn.append(self.start_bots())
        busy = {server.arguments[1]: processor_s(server.process) for server in self.servers()}
        busy["bots_that_stayed"] = sum(processor_s(group.process) for group in stay)
        seconds = time.monotonic() - begun
        for group in (*churn, *stay):
            self.stop(group, True)
        return self.finish(stay, seconds, busy)

    def finish(self, stay, seconds, busy):
        o = self.options
        host = self.host.end()
        self.read_summary("serve", host, self.host.status, self.host.said())
        wan = self.wan.end() if self.wan is not None else None
        memory = {}
        self.check_memory("serve", self.host.memory, memory)
        for index, group in enumerate(stay):
            self.check_memory(f"bots {index}", group.memory, memory)
        if self.totals.get("looks", 0) == 0 or self.totals.get("shots_heard", 0) == 0:
            self.wrong("nobody saw or heard anybody: nothing was tested")
        node = host["nodes"][0] if host else {}
        return {"minutes": seconds / 60.0, "bots": o.bots, "topology": o.topology, "seed": o.seed,
                "network": {"delay_ms": o.delay, "jitter_ms": o.jitter, "loss_percent": o.loss} if wan else None,
                "processes_started": self.started, "left_politely": self.left, "killed": self.killed,
                "players_peak": self.peak_seen, "peers_joined": node.get("peers_joined"),
                "peers_left": node.get("peers_left"), "totals": self.totals, "drops": self.session_drops,
                "wan_packets": {way: wan[way]["packets"] for way in ("up", "down")} if wan else None,
                "wan_dropped": wan["dropped"] if wan else None, "memory": memory,
                "processor_share": {name: round(used / seconds, 3) for name, used in busy.items()},
                "problems": self.problems}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--bots", type=int, default=64)
    parser.add_argument("--each", type=int, default=8, help="bots in one process")
    parser.add_argument("--topology", default="star")
    parser.add_argument("--policy", default="base")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay", type=float, default=40.0)
    parser.add_argument("--jitter", type=float, default=10.0)
    parser.add_argument("--loss", type=float, default=2.0)
    parser.add_argument("--no-wan", action="store_true", help="everybody talks directly")
    parser.add_argument("--frames", type=int, default=20, help="of a bot, a second")
    parser.add_argument("--direct", type=int, default=16, help="peers a bot talks to directly, in a mesh or hybrid")
    parser.add_argument("--churn", type=float, default=10.0, help="seconds between leaves, on average")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        result = Soak(options).run()
    finally:  # nothing is left behind, whatever happened
        for process in Process.running:
            process.kill()
            process.wait()
    json.dump(result, sys.stdout, indent=1)
    print()
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
