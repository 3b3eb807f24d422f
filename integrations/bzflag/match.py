"""Plays BZFlag matches without a screen: a server, clients with robots, observers behind `fairlead wan`.

Everything runs on this machine and its own clock, so that what an observer shows can be compared with where the
tanks truly were at the same moment."""

import asyncio
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = Path(os.environ.get("BZFLAG_DIR", ROOT / "build" / "bzflag"))

CONFIG = "set quality 0\nset shadows 0\nset lighting 0\nset remoteSounds 0\nset saveEnergy 0\nset volume 0\n"


def free_port():
    """A port that neither TCP nor UDP has at 127.0.0.1."""
    while True:
        with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            try:
                udp.bind(("127.0.0.1", tcp.getsockname()[1]))
            except OSError:
                continue
            return tcp.getsockname()[1]


class SlowTcp:
    """Forwards TCP connections, each byte so much later; `fairlead wan` does the same for datagrams."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def _pump(self, reader, writer, delay):
        queue = deque()
        more = asyncio.Event()

        async def deliver():
            while True:
                while not queue:
                    more.clear()
                    await more.wait()
                at, data = queue.popleft()
                await asyncio.sleep(max(0.0, at - self.loop.time()))
                if not data or writer.is_closing():
                    writer.close()
                    return
                writer.write(data)

        task = asyncio.ensure_future(deliver())
        try:
            while True:
                data = await reader.read(65536)
                queue.append((self.loop.time() + delay, data))
                more.set()
                if not data:
                    break
            await task
        except OSError:
            task.cancel()
            writer.close()

    def forward(self, port, to, delay):
        async def accept(reader, writer):
            reader2, writer2 = await asyncio.open_connection("127.0.0.1", to)
            await asyncio.gather(self._pump(reader, writer2, delay), self._pump(reader2, writer, delay))

        asyncio.run_coroutine_threadsafe(asyncio.start_server(accept, "127.0.0.1", port), self.loop).result()

    def tap(self, port, to, loses):
        made = self.loop.create_datagram_endpoint(lambda: Tap(self.loop, to, loses), local_addr=("127.0.0.1", port))
        return asyncio.run_coroutine_threadsafe(made, self.loop).result()[1]


TANKS = (0x7075, 0x7073, 0x666C)  # MsgPlayerUpdate, MsgPlayerUpdateSmall, MsgFairlead
UDP_BYTES = 28


class Tap(asyncio.DatagramProtocol):
    """Forwards one client's datagrams, but for the first few each way if it `loses` them. Counts the server's messages to
    it by code and player, and the bytes that tanks take each way, with all headers: of a datagram that carries other
    things as well, the share."""

    def __init__(self, loop, to, loses):
        self.loop, self.to, self.near, self.address = loop, to, None, None
        self.counts = {}
        self.down = self.up = self.datagrams = 0
        self.lost_up, self.lost_down = loses, loses
        self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def connection_made(self, transport):
        self.near = transport
        self.server.setblocking(False)
        self.server.connect(("127.0.0.1", self.to))
        self.loop.add_reader(self.server, self._from_server)

    def datagram_received(self, data, addr):
        if self.lost_up > 0:
            self.lost_up -= 1
            return
        self.address = addr
        self.up += self._of_tanks(data, {})
        self.server.send(data)

    @staticmethod
    def _of_tanks(data, counts):
        at = ours = 0
        while at + 4 <= len(data):
            count, code = struct.unpack_from("!HH", data, at)
            player = data[at + 8] if 4 < count <= len(data) - at - 4 else None  # of updates: a float, then whose
            counts[code, player] = counts.get((code, player), 0) + 1
            at += 4 + count
            ours += 4 + count if code in TANKS else 0
        return ours * (1.0 + UDP_BYTES / len(data)) if data else 0

    def _from_server(self):
        data = self.server.recv(65536)
        if self.lost_down > 0:
            self.lost_down -= 1
            return
        bytes_of_tanks = self._of_tanks(data, self.counts)
        self.down += bytes_of_tanks
        self.datagrams += bytes_of_tanks > 0
        self.near.sendto(data, self.address)


class Match:
    """One server and who plays there. Ends all it started when it is closed."""

    def __init__(self, directory, server_kind="game", policy="base", environment=None, players="40"):
        self.directory = Path(directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.processes = []
        self.tcp = None
        self.taps = {}
        self.port = free_port()
        self.environment = dict(os.environ, LC_ALL="C", SDL_AUDIODRIVER="dummy", LIBGL_ALWAYS_SOFTWARE="1",
                                # what is freed stays in quarantine: little of it, or it would count as growth
                                ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:log_path=" +
                                str(self.directory / "asan"))
        for name in [name for name in self.environment if name.startswith("FAIRLEAD_")]:
            del self.environment[name]
        self.environment.update(environment or {})
        self._screen()
        command = [str(WORK / server_kind / "src/bzfs/bzfs"), "-i", "127.0.0.1", "-p", str(self.port), "-mp", players,
                   "-ms", "1", "-j", "-passwd", "measure", "-dd"]
        try:
            self.server = self.start("server", command, FAIRLEAD_POLICY=policy)
            self.wait_for(self._listens, "the server does not listen")
        except BaseException:
            self.close()
            raise

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _screen(self):
        read, write = os.pipe()
        process = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "640x480x24", "-nolisten", "tcp"],
                                   pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        self.processes.append(process)
        with os.fdopen(read) as pipe:
            self.environment["DISPLAY"] = ":" + pipe.readline().strip()

    def start(self, name, command, **environment):
        log = self.directory / f"{name}.log"
        env = dict(self.environment, FAIRLEAD_LOG=str(log), **environment)
        with open(self.directory / f"{name}.out", "wb") as out:
            process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       cwd=self.directory)
        self.processes.append(process)
        return process

    def wait_for(self, condition, sentence, seconds=60.0):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{sentence}; see {self.directory}")
            time.sleep(0.3) # proxies and taps share this process

    def client(self, name, kind="game", robots=0, delay=0.0, jitter=0.0, loss=0.0, tap=False, loses=0, **environment):
        """A client that looks on, with robots of its own; `delay` (each way) and `jitter` in ms, `loss` in percent.
        With `tap`, what the server sends to it is counted, in `taps`; so many datagrams each way are lost at first."""
        port = to = self.port
        if tap:
            port = to = free_port()
            self.tcp = self.tcp or SlowTcp()
            self.tcp.forward(port, self.port, 0.0)
            self.taps[name] = self.tcp.tap(port, self.port, loses)
        if delay or jitter or loss:
            port = free_port()
            wan = [str(ROOT / "build" / "fairlead"), "wan", "--listen", f"127.0.0.1:{port}", "--to",
                   f"127.0.0.1:{to}", "--delay", str(delay), "--jitter", str(jitter), "--loss", str(loss),
                   "--distribution", "uniform"]
            self.start(name + "-wan", wan)
            self.wait_for(lambda: (self.directory / f"{name}-wan.out").stat().st_size > 0, "fairlead wan does not listen")
            self.tcp = self.tcp or SlowTcp()
            self.tcp.forward(port, self.port, delay / 1000.0)
        home = self.directory / (name + "-home")
        (home / "2.4").mkdir(parents=True)
        for place in (home / "config.cfg", home / "2.4" / "config.cfg"):
            place.write_text(CONFIG, encoding="ascii")
        command = [str(WORK / kind / "src/bzflag/bzflag"), "-directory", str(WORK / kind / "data"), "-configdir",
                   str(home), "-window", "320x240", "-mute", "-nolist", "-nomotd", "-team", "observer"]
        if robots:
            command += ["-solo", str(robots)]
        return self.start(name, command + [f"{name}@127.0.0.1:{port}"], HOME=str(home), FAIRLEAD_HEADLESS="1", **environment)

    def running(self):
        return [process.poll() is None for process in self.processes]

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                self.stop(process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
