"""The keys of introduced pairs, once more: from spec/WIRE.md section 9.6 alone, without our C code beside it.

BLAKE2b is hashlib's; X25519 and the opening of packets are libsodium's, through seal_peer.py. spec/vectors/seal.json
holds two agreements of the same pair, the second one a renewal.
"""
import ctypes
import hashlib
import unittest

from seal_peer import SODIUM, VERSION, unseal
from vector_reader import load

VECTORS = load("seal")
HELLO = 10


def kdf(key, number, size=32):
    return hashlib.blake2b(b"", digest_size=size, key=key, salt=number.to_bytes(16, "little"),
                           person=b"fairlead").digest()


def multiply(secret, point=None):
    out = ctypes.create_string_buffer(32)
    failed = SODIUM.crypto_scalarmult_base(out, secret) if point is None else SODIUM.crypto_scalarmult(out, secret, point)
    assert failed == 0
    return out.raw


def read_introduction(raw):
    number = lambda at, size: int.from_bytes(raw[at:at + size], "little")
    protocol, own, peer, expire = (number(at, 8) for at in (0, 8, 16, 24))
    timeout, count, at = number(32, 2), raw[34], 35
    assert own != peer and 1 <= timeout <= 3600 and 1 <= count <= 8 and expire > 0
    for _ in range(count):
        at += {1: 7, 2: 19}[raw[at]]
    assert len(raw) == at + 32
    return protocol, min(own, peer), max(own, peer), raw[at:]


class Pair(unittest.TestCase):
    def hello(self, raw, protocol, hint, key):
        """What a HELLO brings: public key and proof."""
        size = raw[0] >> 4
        self.assertEqual(raw[0] & 15, HELLO)
        number = int.from_bytes(raw[1:1 + size], "little")
        self.assertEqual(raw[1 + size:5 + size], hint)
        body = unseal(raw[5 + size:], VERSION + protocol.to_bytes(8, "little") + raw[:1], number, key)
        self.assertEqual(len(body), 48)
        return body[:32], body[32:]

    def test_both_ends_come_to_the_keys_that_the_text_says(self):
        root = bytes(32)
        for vector in VECTORS["pairs"]:
            raw = {name: bytes.fromhex(value) for name, value in vector.items()}
            protocol, client, server, key = read_introduction(raw["introduction"])
            hints = kdf(key, 3, 16)
            secrets = raw["client_secret"], raw["server_secret"]
            publics = [multiply(secret) for secret in secrets]
            self.assertEqual(raw["before"], root)
            shared = multiply(secrets[0], publics[1])
            self.assertEqual(shared, multiply(secrets[1], publics[0]))
            said = b"".join(value.to_bytes(8, "little") for value in (protocol, client, server)) + b"".join(publics)
            root = hashlib.blake2b(root + shared + said, digest_size=32, key=key).digest()
            self.assertEqual(self.hello(raw["client_hello"], protocol, hints[:4], kdf(key, 1)), (publics[0], bytes(16)))
            self.assertEqual(self.hello(raw["server_hello"], protocol, hints[4:8], kdf(key, 2)),
                             (publics[1], kdf(root, 7, 16)))
            self.assertEqual(self.hello(raw["client_proves"], protocol, hints[:4], kdf(key, 1)),
                             (publics[0], kdf(root, 6, 16)))
            self.assertEqual((raw["to_server"], raw["to_client"], raw["binding"]), tuple(kdf(root, n) for n in (4, 5, 8)))


if __name__ == "__main__":
    unittest.main(argv=["test_seal_pair"])
