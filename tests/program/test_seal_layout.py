"""The layout of connect tokens, requests and packets, read from the standard's text (netcode 1.02) alone.

Written without looking at our C code. It has no cryptography: it checks everything that stands in clear, the
sizes, the order of bytes, and that what is sealed does not show. spec/vectors/seal.json holds the bytes.
"""
import struct
import unittest

from vector_reader import load

VECTORS = load("seal")
VERSION = b"NETCODE 1.02\0"
KINDS = {1: 0, 2: 308, 3: 308, 4: 8, 6: 0, 7: 16, 8: 8, 9: 8, 10: 48}  # bytes of the body; 7 to 10 are Fairlead's own
IN_CLEAR = {7: 4, 9: 4, 10: 4}  # Fairlead's own: the slot, between number and body


class Bytes:
    def __init__(self, raw):
        self.raw = raw
        self.at = 0

    def take(self, count):
        part = self.raw[self.at:self.at + count]
        assert len(part) == count, "ends too early"
        self.at += count
        return part

    def number(self, count):
        return int.from_bytes(self.take(count), "little")


def read_address(b):
    kind = b.number(1)
    if kind == 1:
        ip = b.take(4)
    elif kind == 2:
        ip = b"".join(struct.pack(">H", b.number(2)) for _ in range(8))
    else:
        raise AssertionError(f"address type {kind}")
    return {"ip": ip.hex(), "port": b.number(2)}


def read_token(raw):
    b = Bytes(raw)
    assert len(raw) == 2048
    assert b.take(13) == VERSION
    token = {"protocol": f"{b.number(8):016x}", "create": b.number(8), "expire": b.number(8),
             "nonce": b.take(24).hex()}
    token["private"] = b.take(1024)
    timeout = b.number(4)
    token["timeout"] = timeout - (1 << 32) if timeout >> 31 else timeout
    count = b.number(4)
    assert 1 <= count <= 32
    token["addresses"] = [read_address(b) for _ in range(count)]
    token["to_server"] = b.take(32).hex()
    token["to_client"] = b.take(32).hex()
    assert not any(b.raw[b.at:]), "padding"
    assert token["create"] <= token["expire"]
    return token


class Layout(unittest.TestCase):
    def test_tokens_say_what_they_should(self):
        self.assertEqual(len(VECTORS["tokens"]), 3)
        for vector in VECTORS["tokens"]:
            token = read_token(bytes.fromhex(vector["token"]))
            for field in ("protocol", "create", "expire", "nonce", "timeout", "addresses", "to_server", "to_client"):
                self.assertEqual(token[field], vector[field], field)

    def test_what_is_private_does_not_show(self):
        for vector in VECTORS["tokens"]:
            private = read_token(bytes.fromhex(vector["token"]))["private"]
            for secret in ("to_server", "to_client", "user"):
                self.assertNotIn(bytes.fromhex(vector[secret])[:16], private)
            self.assertNotIn(bytes(16), private)  # the padding is sealed too
            self.assertNotIn(bytes.fromhex(vector["private_key"]), bytes.fromhex(vector["token"]))

    def test_a_request_is_1078_bytes_of_the_token(self):
        for vector in VECTORS["tokens"]:
            token = read_token(bytes.fromhex(vector["token"]))
            b = Bytes(bytes.fromhex(vector["request"]))
            self.assertEqual(len(b.raw), 1 + 13 + 8 + 8 + 24 + 1024)
            self.assertEqual(b.number(1), 0)
            self.assertEqual(b.take(13), VERSION)
            self.assertEqual(f"{b.number(8):016x}", vector["protocol"])
            self.assertEqual(b.number(8), vector["expire"])
            self.assertEqual(b.take(24).hex(), vector["nonce"])
            self.assertEqual(b.take(1024), token["private"])

    def test_packets_have_prefix_number_body_and_proof(self):
        seen = set()
        for vector in VECTORS["packets"]:
            b = Bytes(bytes.fromhex(vector["packet"]))
            prefix = b.number(1)
            kind, length = prefix & 15, prefix >> 4
            seen.add(kind)
            self.assertEqual(kind, vector["kind"])
            sequence = int(vector["sequence"], 16)
            self.assertEqual(length, max(1, (sequence.bit_length() + 7) // 8))  # high zero bytes left out
            self.assertEqual(b.number(length), sequence)
            if kind in IN_CLEAR:
                self.assertEqual(b.number(IN_CLEAR[kind]), 3)
            body = bytes.fromhex(vector["body"])
            if kind == 5:
                self.assertTrue(1 <= len(body) <= 1200)
            else:
                self.assertEqual(len(body), KINDS[kind])
            sealed = b.take(len(body))
            self.assertEqual(len(b.take(16)), 16)
            self.assertEqual(b.at, len(b.raw))
            if len(body) >= 8:
                self.assertNotEqual(sealed[:8], body[:8])
        self.assertEqual(seen, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})


if __name__ == "__main__":
    unittest.main(argv=["test_seal_layout"])
