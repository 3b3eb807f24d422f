"""The sealed handshake once more, in Python: a client and a server of netcode 1.02 written from spec/WIRE.md section 9.

Written from that text alone, without our C code beside it, so that where both understand each other the text has said
enough. Conformance mode only: nothing that the text marks as ours. Cryptography is libsodium's, through ctypes.

No sockets and no clock: `receive` takes a datagram, `due` answers what is to be sent, `now` is seconds.
"""
import ctypes
import ctypes.util
import os
import socket
import struct

VERSION = b"NETCODE 1.02\0"
REQUEST, DENIED, CHALLENGE, RESPONSE, KEEP_ALIVE, PAYLOAD, DISCONNECT = range(7)
BODY = {DENIED: 0, CHALLENGE: 308, RESPONSE: 308, KEEP_ALIVE: 8, DISCONNECT: 0}  # bytes; PAYLOAD: 1 to 1200
PROOF, WINDOW, ASK_S, KEEP_S, GOODBYES = 16, 1024, 0.1, 0.1, 10


def load_sodium():
    for name in ("libsodium.so.23", ctypes.util.find_library("sodium")):
        try:
            library = ctypes.CDLL(name)
        except (OSError, TypeError):
            continue
        if library.sodium_init() < 0:
            raise OSError("libsodium does not start")
        return library
    raise OSError("libsodium is missing (libsodium23)")


SODIUM = load_sodium()


def _aead(function, data, covered, nonce, key, room):
    out, count = ctypes.create_string_buffer(max(1, room)), ctypes.c_ulonglong()
    covered_count, data_count = ctypes.c_ulonglong(len(covered)), ctypes.c_ulonglong(len(data))
    if function.__name__.endswith("_encrypt"):
        failed = function(out, ctypes.byref(count), data, data_count, covered, covered_count, None, nonce, key)
    else:
        failed = function(out, ctypes.byref(count), None, data, data_count, covered, covered_count, nonce, key)
    return None if failed else out.raw[:count.value]


def seal(plain, covered, number, key):
    return _aead(SODIUM.crypto_aead_chacha20poly1305_ietf_encrypt, plain, covered,
                 bytes(4) + struct.pack("<Q", number), key, len(plain) + PROOF)


def unseal(sealed, covered, number, key):
    """None: not genuine."""
    return _aead(SODIUM.crypto_aead_chacha20poly1305_ietf_decrypt, sealed, covered,
                 bytes(4) + struct.pack("<Q", number), key, len(sealed) - PROOF)


# ---------------------------------------------------------------- connect tokens: 9.1

def put_address(address):
    host, port = address
    if ":" not in host:
        return b"\1" + socket.inet_aton(host) + struct.pack("<H", port)
    groups = struct.unpack(">8H", socket.inet_pton(socket.AF_INET6, host))
    return b"\2" + struct.pack("<8HH", *groups, port)


class Bytes:
    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, count):
        part = self.raw[self.at:self.at + count]
        if len(part) != count:
            raise ValueError("ends too early")
        self.at += count
        return part

    def number(self, count):
        return int.from_bytes(self.take(count), "little")

    def address(self):
        kind = self.number(1)
        if kind == 1:
            return socket.inet_ntoa(self.take(4)), self.number(2)
        if kind == 2:
            groups = struct.pack(">8H", *(self.number(2) for _ in range(8)))
            return socket.inet_ntop(socket.AF_INET6, groups), self.number(2)
        raise ValueError(f"address type {kind}")

    def addresses(self):
        count = self.number(4)
        if not 1 <= count <= 32:
            raise ValueError(f"{count} addresses")
        return [self.address() for _ in range(count)]

    def signed(self):
        return struct.unpack("<i", self.take(4))[0]


def covered_by_token(protocol, expire):
    return VERSION + struct.pack("<QQ", protocol, expire)


def token_make(key, protocol, client_id, addresses, create, expire, timeout=5, user=bytes(256)):
    to_server, to_client, nonce = os.urandom(32), os.urandom(32), os.urandom(24)
    where = struct.pack("<iI", timeout, len(addresses)) + b"".join(map(put_address, addresses))
    private = (struct.pack("<Q", client_id) + where + to_server + to_client + user).ljust(1008, b"\0")
    private = _aead(SODIUM.crypto_aead_xchacha20poly1305_ietf_encrypt, private, covered_by_token(protocol, expire),
                    nonce, key, 1024)
    head = VERSION + struct.pack("<QQQ", protocol, create, expire) + nonce + private
    return (head + where + to_server + to_client).ljust(2048, b"\0")


class Token:
    """What a client reads of its token."""

    def __init__(self, raw):
        b = Bytes(raw)
        if len(raw) != 2048 or b.take(13) != VERSION:
            raise ValueError("no token of this version")
        self.protocol, self.create, self.expire = b.number(8), b.number(8), b.number(8)
        self.nonce, self.private, self.timeout = b.take(24), b.take(1024), b.signed()
        self.addresses = b.addresses()
        self.to_server, self.to_client = b.take(32), b.take(32)
        if any(raw[b.at:]) or self.create > self.expire:
            raise ValueError("padding or times")


class Private:
    """What the server reads of it. ValueError: not genuine."""

    def __init__(self, sealed, key, protocol, expire, nonce):
        plain = _aead(SODIUM.crypto_aead_xchacha20poly1305_ietf_decrypt, sealed, covered_by_token(protocol, expire),
                      nonce, key, 1008)
        if plain is None:
            raise ValueError("key")
        b = Bytes(plain)
        self.client_id, self.timeout, self.addresses = b.number(8), b.signed(), b.addresses()
        self.to_server, self.to_client, self.user = b.take(32), b.take(32), b.take(256)


# ---------------------------------------------------------------- packets: 9.3

def packet_seal(kind, number, body, key, protocol):
    length = max(1, (number.bit_length() + 7) // 8)
    prefix = bytes([kind | length << 4])
    sealed = seal(body, VERSION + struct.pack("<Q", protocol) + prefix, number, key)
    return prefix + number.to_bytes(length, "little") + sealed


def packet_read(raw, kinds):
    """(kind, number, prefix, sealed) of a packet that is well-formed and of one of the kinds; else None."""
    if len(raw) < 18 or raw[0] & 15 not in kinds or not 1 <= raw[0] >> 4 <= 8:
        return None
    kind, length = raw[0] & 15, raw[0] >> 4
    body = len(raw) - 1 - length - PROOF
    if not (1 <= body <= 1200 if kind == PAYLOAD else body == BODY[kind]):
        return None
    return kind, int.from_bytes(raw[1:1 + length], "little"), raw[:1], raw[1 + length:]


class Replay:
    """Which numbers came; remembers the newest 1024."""

    def __init__(self):
        self.newest, self.seen = -1, set()

    def fresh(self, number):
        return number > self.newest - WINDOW and number not in self.seen

    def note(self, number):
        self.seen.add(number)
        self.newest = max(self.newest, number)
        self.seen = {n for n in self.seen if n > self.newest - WINDOW}


def packet_open(raw, kinds, key, protocol, replay):
    """(kind, body), or None. The window moves only for genuine packets."""
    read = packet_read(raw, kinds)
    if read is None:
        return None
    kind, number, prefix, sealed = read
    if kind >= KEEP_ALIVE and not replay.fresh(number):
        return None
    body = unseal(sealed, VERSION + struct.pack("<Q", protocol) + prefix, number, key)
    if body is None:
        return None
    if kind >= KEEP_ALIVE:
        replay.note(number)
    return kind, body


# ---------------------------------------------------------------- client: 9.4

class Client:
    def __init__(self, token, now):
        self.token, self.state, self.server = Token(token), "REQUESTING", 0
        self.number, self.replay, self.payloads = 0, Replay(), []
        self.started = self.since = now
        self.heard, self.sent = now, float("-inf")
        self.challenge, self.slot, self.slot_count = b"", None, None

    @property
    def address(self):
        return self.token.addresses[self.server]

    def _enter(self, state, now):
        self.state, self.since, self.sent = state, now, float("-inf")

    def _next_server(self, otherwise, now):
        if self.server + 1 < len(self.token.addresses):
            self.server, self.replay = self.server + 1, Replay()
            self._enter("REQUESTING", now)
        else:
            self._enter(otherwise, now)

    def _packet(self, kind, body, now):
        self.sent, number = now, self.number
        self.number += 1
        return self.address, packet_seal(kind, number, body, self.token.to_server, self.token.protocol)

    def receive(self, raw, sender, now):
        if sender != self.address:
            return
        opened = packet_open(raw, (DENIED, CHALLENGE, KEEP_ALIVE, PAYLOAD, DISCONNECT), self.token.to_client,
                             self.token.protocol, self.replay)
        if opened is None:
            return
        kind, body = opened
        self.heard = now
        if kind == DENIED and self.state in ("REQUESTING", "RESPONDING"):
            self._next_server("DENIED", now)
        elif kind == CHALLENGE and self.state == "REQUESTING":
            self.challenge = body
            self._enter("RESPONDING", now)
        elif kind == KEEP_ALIVE and self.state == "RESPONDING":
            self.slot, self.slot_count = struct.unpack("<II", body)
            self._enter("CONNECTED", now)
        elif kind == PAYLOAD and self.state == "CONNECTED":
            self.payloads.append(body)
        elif kind == DISCONNECT and self.state == "CONNECTED":
            self._enter("DISCONNECTED", now)

    def due(self, now):
        timeout = self.token.timeout if self.token.timeout >= 0 else float("inf")
        if self.state in ("REQUESTING", "RESPONDING"):
            if now - self.started >= self.token.expire - self.token.create:
                self._enter("TOKEN_EXPIRED", now)
            elif now - self.since >= timeout:
                self._next_server("REQUEST_TIMED_OUT" if self.state == "REQUESTING" else "RESPONSE_TIMED_OUT", now)
        elif self.state == "CONNECTED" and now - self.heard >= timeout:
            self._enter("TIMED_OUT", now)
        if self.state == "REQUESTING" and now - self.sent >= ASK_S:
            self.sent = now
            t = self.token
            yield self.address, (b"\0" + covered_by_token(t.protocol, t.expire) + t.nonce + t.private)
        elif self.state == "RESPONDING" and now - self.sent >= ASK_S:
            yield self._packet(RESPONSE, self.challenge, now)
        elif self.state == "CONNECTED" and now - self.sent >= KEEP_S:
            yield self._packet(KEEP_ALIVE, struct.pack("<II", self.slot, self.slot_count), now)

    def send(self, payload, now):
        return self._packet(PAYLOAD, payload, now)

    def leave(self, now):
        packets = [self._packet(DISCONNECT, b"", now) for _ in range(GOODBYES if self.state == "CONNECTED" else 0)]
        self._enter("DISCONNECTED", now)
        return packets


# ---------------------------------------------------------------- server: 9.2, 9.3

class Server:
    class Handshake:
        def __init__(self, private, expire):
            self.private, self.expire = private, expire

    class Connection:
        def __init__(self, slot, private, now):
            self.slot, self.private, self.replay, self.number = slot, private, Replay(), 0
            self.heard, self.sent, self.confirmed = now, float("-inf"), False

    def __init__(self, key, protocol, addresses, slots):
        self.key, self.protocol, self.addresses, self.slots = key, protocol, addresses, slots
        self.challenge_key, self.challenges = os.urandom(32), 0
        self.number = 1 << 63  # of packets to who is not connected
        self.pending, self.connected, self.used = {}, {}, {}  # by address; by address; proof of a token: address
        self.payloads, self.out, self.refused = [], [], []

    def _unconnected(self, kind, body, private, address):
        self.out.append((address, packet_seal(kind, self.number, body, private.to_client, self.protocol)))
        self.number += 1

    def _packet(self, connection, address, kind, body, now):
        packet = packet_seal(kind, connection.number, body, connection.private.to_client, self.protocol)
        connection.number += 1
        connection.sent = now
        self.out.append((address, packet))

    def _keep_alive(self, connection, address, now):
        self._packet(connection, address, KEEP_ALIVE, struct.pack("<II", connection.slot, self.slots), now)

    def receive(self, raw, sender, now, unix):
        if raw[:1] == b"\0":
            why = self._request(raw, sender, unix)
            if why:
                self.refused.append(why)
            return
        connection, handshake = self.connected.get(sender), self.pending.get(sender)
        if connection:
            self._sealed(raw, sender, connection, now)
        elif handshake:
            self._response(raw, sender, handshake, now)

    def _request(self, raw, sender, unix):
        """None, or why not."""
        if len(raw) != 1078:
            return "short"
        b = Bytes(raw[1:])
        if b.take(13) != VERSION:
            return "version"
        if b.number(8) != self.protocol:
            return "protocol"
        expire = b.number(8)
        if expire <= unix:
            return "expired"
        nonce, sealed = b.take(24), b.take(1024)
        try:
            private = Private(sealed, self.key, self.protocol, expire, nonce)
        except ValueError as error:
            return "key" if str(error) == "key" else "token"
        if not set(private.addresses) & set(self.addresses):
            return "address"
        if sender in self.connected:
            return "connected"
        if any(c.private.client_id == private.client_id for c in self.connected.values()):
            return "client"
        if self.used.setdefault(sealed[-PROOF:], sender) != sender:
            return "reused"
        if len(self.connected) == self.slots:
            self._unconnected(DENIED, b"", private, sender)
            return "full"
        self.pending[sender] = self.Handshake(private, expire)
        number = struct.pack("<Q", self.challenges)
        plain = struct.pack("<Q", private.client_id) + private.user + bytes(20)
        token = seal(plain, b"", self.challenges, self.challenge_key)
        self.challenges += 1
        self._unconnected(CHALLENGE, number + token, private, sender)
        return None

    def _response(self, raw, sender, handshake, now):
        private = handshake.private
        opened = packet_open(raw, (RESPONSE,), private.to_server, self.protocol, Replay())
        if opened is None:
            return
        number, = struct.unpack("<Q", opened[1][:8])
        plain = unseal(opened[1][8:], b"", number, self.challenge_key)
        if plain is None or struct.unpack("<Q", plain[:8])[0] != private.client_id:
            self.refused.append("challenge")
            return
        if len(self.connected) == self.slots:
            self._unconnected(DENIED, b"", private, sender)
            return
        del self.pending[sender]
        taken = {c.slot for c in self.connected.values()}
        slot = next(s for s in range(self.slots) if s not in taken)
        self.connected[sender] = self.Connection(slot, private, now)
        self._keep_alive(self.connected[sender], sender, now)

    def _sealed(self, raw, sender, connection, now):
        opened = packet_open(raw, (KEEP_ALIVE, PAYLOAD, DISCONNECT), connection.private.to_server, self.protocol,
                             connection.replay)
        if opened is None:
            return
        connection.heard, connection.confirmed = now, True
        if opened[0] == PAYLOAD:
            self.payloads.append((sender, opened[1]))
        elif opened[0] == DISCONNECT:
            del self.connected[sender]

    def send(self, address, payload, now):
        connection = self.connected[address]
        if not connection.confirmed:
            self._keep_alive(connection, address, now)
        self._packet(connection, address, PAYLOAD, payload, now)

    def kick(self, address, now):
        connection = self.connected[address]
        for _ in range(GOODBYES):
            self._packet(connection, address, DISCONNECT, b"", now)
        del self.connected[address]

    def due(self, now):
        for address, connection in list(self.connected.items()):
            timeout = connection.private.timeout
            if 0 <= timeout <= now - connection.heard:
                del self.connected[address]
            elif now - connection.sent >= KEEP_S:
                self._keep_alive(connection, address, now)
        out, self.out = self.out, []
        return out
