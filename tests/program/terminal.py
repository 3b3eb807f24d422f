"""Programs on terminals, and a bad network between them."""
import os
import pty
import queue
import re
import socket
import subprocess
import threading
import time


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Player:
    """A program on a terminal, so that its lines come at once; read all the time, so that it never waits for us."""

    def __init__(self, *command):
        self.terminal, inner = pty.openpty()
        self.process = subprocess.Popen(command, stdout=inner, stderr=inner, stdin=subprocess.DEVNULL)
        os.close(inner)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with open(self.terminal, errors="replace", closefd=False) as text:
            try:
                for line in text:
                    self.lines.put(line)
            except OSError:
                pass  # the other end is gone

    def line(self, pattern, seconds=20):
        """The first line from now on that matches."""
        end = time.monotonic() + seconds
        while True:
            match = re.search(pattern, self.lines.get(timeout=max(0.01, end - time.monotonic())))
            if match:
                return match

    def end(self):
        self.process.terminate()
        self.process.wait(10)
        self.reader.join(10)
        os.close(self.terminal)


class Way:
    """`fairlead wan` in front of a host: 80 +- 20 ms each way, 3 % loss."""

    def __init__(self, program):
        self.to, self.at = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.process = subprocess.Popen([program, "wan", "--listen", self.at, "--to", self.to, "--delay", "80",
                                         "--jitter", "20", "--loss", "3", "--seed", "1"], stdout=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait(10)
