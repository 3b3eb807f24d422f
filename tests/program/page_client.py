"""A page without a browser: the WebSocket of the program's pages, for tests."""
import base64
import json
import os
import socket
import struct
import time


class Page:
    """A WebSocket as a page has it: text messages in, text messages out (RFC 6455)."""

    def __init__(self, port, origin=None, host=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        try:
            self.shake_hands(host or f"127.0.0.1:{port}", origin)
        except OSError:
            self.close()
            raise

    def shake_hands(self, host, origin):
        lines = ["GET /live HTTP/1.1", "Host: " + host, "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(), "Sec-WebSocket-Version: 13"]
        if origin:
            lines.append("Origin: " + origin)
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = self.socket.recv(4096)
            if not more:
                raise ConnectionError("no answer")
            answer += more
        answer, self.bytes = answer.split(b"\r\n\r\n", 1)
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise ConnectionError(answer.decode())

    def take(self, count):
        while len(self.bytes) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("closed")
            self.bytes += more
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def read(self):
        """The next message, put together from its frames."""
        text = b""
        while True:
            first, length = self.take(2)
            if length == 126:
                length, = struct.unpack(">H", self.take(2))
            elif length == 127:
                length, = struct.unpack(">Q", self.take(8))
            piece = self.take(length)
            if first & 15 == 8:
                raise ConnectionError("closed")
            if first & 15 == 9:
                self.send_frame(0x8a, piece)
                continue
            text += piece
            if first & 128:
                return json.loads(text)

    def wait(self, kind, when=lambda news: True, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            news = self.read()
            if news["type"] == kind and when(news):
                return news
        raise AssertionError(f"no such {kind} within {seconds} s")

    def send_frame(self, first, payload):
        """One frame, whatever its first byte says; masked, as clients must."""
        mask = os.urandom(4)
        length = len(payload)
        head = bytes([first]) + (bytes([0x80 | length]) if length < 126 else bytes([0x80 | 126]) + struct.pack(">H", length)
                                 if length < 65536 else bytes([0x80 | 127]) + struct.pack(">Q", length))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def send_text(self, text):
        self.send_frame(0x81, text.encode())

    def send(self, command):
        self.send_text(json.dumps(command))

    def close(self):
        self.socket.close()
