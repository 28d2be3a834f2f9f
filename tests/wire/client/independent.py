"""A second reader of the client channel, made from docs/wire.md alone: it imports nothing of the engine.

Given a client's private key and the server's public key it listens to both directions of a session, opens
every packet, and puts the streams together. It is strict: what the document does not allow is a Malformed.
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

KINDS = {1: "HELLO", 2: "RETRY", 3: "OPEN", 4: "WELCOME", 5: "REFUSE", 6: "DATA"}
STREAM_WINDOW = 262144
REPLAY_WINDOW = 1024


class Malformed(Exception):
    """The document does not allow these bytes."""


class Reader:
    """Takes fields off the front of some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise Malformed(f"{count} bytes wanted at {self.at}, {len(self.data)} there")
        self.at += count
        return self.data[self.at - count : self.at]

    def uint(self, count):
        return int.from_bytes(self.take(count), "little")

    def packed_length(self):
        length = self.uint(1)
        if length == 255:
            length = self.uint(3)
            if length < 255:
                raise Malformed("long form of a short length")
        return length

    def rest(self):
        return self.take(len(self.data) - self.at)

    @property
    def empty(self):
        return self.at == len(self.data)


def expand(low, near):
    value = near - near % 2**32 + low
    if value > near + 2**31 and value >= 2**32:
        return value - 2**32
    if value + 2**31 < near:
        return value + 2**32
    return value


def parse_packet(data):
    """The fields of a packet in the clear, as a dict with its kind's name."""
    reader = Reader(data)
    kind = KINDS.get(reader.uint(1))
    if kind is None:
        raise Malformed("no such kind")
    fields = {"kind": kind}
    if kind == "DATA":
        fields |= {"id": reader.uint(4), "number": reader.uint(4), "seal": reader.rest()}
        if len(fields["seal"]) < 17:
            raise Malformed("DATA without a body")
        return fields
    fields |= {"version": reader.uint(1), "client_id": reader.uint(4)}
    if kind in ("HELLO", "OPEN"):
        fields |= {"suite": reader.uint(1), "client_key": reader.take(32)}
    if kind == "HELLO":
        if len(data) != 1200 or any(reader.rest()):
            raise Malformed("HELLO is 1200 bytes, the rest of it zeros")
    elif kind == "RETRY":
        fields |= {"echo": reader.take(8), "cookie": reader.take(24)}
    elif kind == "OPEN":
        fields |= {"cookie": reader.take(24), "seal": reader.rest()}
        if not 16 <= len(fields["seal"]) <= 1040:
            raise Malformed("OPEN's seal has 16 to 1040 bytes")
    elif kind == "WELCOME":
        fields |= {"server_id": reader.uint(4), "server_key": reader.take(32), "seal": reader.take(16)}
    elif kind == "REFUSE":
        fields |= {"echo": reader.take(8), "why": reader.uint(1)}
        fields |= {"lowest": reader.uint(1), "highest": reader.uint(1), "suites": reader.uint(1)}
    if not reader.empty:
        raise Malformed(f"{kind} is too long")
    return fields


def parse_body(body):
    """The frames of a body, as a list of dicts."""
    reader = Reader(body)
    frames, once = [], set()
    if reader.empty:
        raise Malformed("an empty body")
    while not reader.empty:
        frame = parse_frame(reader)
        if frame["frame"] in ("ACK", "END", "CLOSE", "CHALLENGE", "ANSWER"):
            if frame["frame"] in once:
                raise Malformed("a frame that stands once came twice")
            once.add(frame["frame"])
        frames.append(frame)
    return frames


def parse_frame(reader):
    kind = reader.uint(1)
    if kind == 1:
        fields = {"newest": reader.uint(4), "delay": reader.uint(2), "received": reader.uint(4)}
        count = reader.uint(1)
        if count > 32:
            raise Malformed("too many bits")
        return {"frame": "ACK", **fields, "bits": reader.take(count)}
    if kind == 2:
        offset, length = reader.uint(4), reader.uint(2)
        if not length:
            raise Malformed("STREAM of no bytes")
        return {"frame": "STREAM", "offset": offset, "data": reader.take(length)}
    if kind == 3:
        return {"frame": "MESSAGE", "data": reader.take(reader.packed_length())}
    if kind == 4:
        return {"frame": "PING"}
    if kind == 5:
        return {"frame": "END", "final": reader.uint(4)}
    if kind == 6:
        return {"frame": "CLOSE", "reason": reader.uint(1)}
    if kind in (7, 8):
        return {"frame": "CHALLENGE" if kind == 7 else "ANSWER", "token": reader.take(8)}
    raise Malformed("no such frame")


def hkdf(secret, salt, info, length):
    """RFC 5869 with SHA-256, by hand."""
    key = hmac.digest(salt, secret, "sha256")
    out, block, count = b"", b"", 1
    while len(out) < length:
        block = hmac.digest(key, block + info + bytes([count]), "sha256")
        out += block
        count += 1
    return out[:length]


def open_seal(suite, key, number, seal, associated):
    aead = ChaCha20Poly1305(key) if suite == 1 else AESGCM(key)
    try:
        return aead.decrypt(bytes(4) + number.to_bytes(8, "little"), seal, associated)
    except InvalidTag:
        raise Malformed("the seal does not open") from None


class Direction:
    """What has come in one direction of a session."""

    def __init__(self, key):
        self.key = key
        self.newest = -1
        self.seen = set()
        self.pieces = {}
        self.expected = 0
        self.stream = b""
        self.unreliable = []
        self.final = None
        self.close = None

    def accept(self, suite, fields, data):
        number = expand(fields["number"], self.newest + 1)
        if number in self.seen or number <= self.newest - REPLAY_WINDOW:
            return None
        frames = parse_body(open_seal(suite, self.key, number, fields["seal"], data[:9]))
        self.seen.add(number)
        self.newest = max(self.newest, number)
        for frame in frames:
            self.take(frame)
        self.join()
        return frames

    def take(self, frame):
        if frame["frame"] == "STREAM":
            offset = expand(frame["offset"], self.expected)
            if offset + len(frame["data"]) > self.expected + STREAM_WINDOW:
                raise Malformed("beyond the stream window")
            self.pieces[offset] = max(self.pieces.get(offset, b""), frame["data"], key=len)
        elif frame["frame"] == "MESSAGE":
            self.unreliable.append(frame["data"])
        elif frame["frame"] == "END":
            self.final = expand(frame["final"], self.expected)
        elif frame["frame"] == "CLOSE":
            self.close = frame["reason"]

    def join(self):
        for offset in sorted(self.pieces):
            if offset > self.expected:
                break
            fresh = self.pieces.pop(offset)[self.expected - offset :]
            self.stream += fresh
            self.expected += len(fresh)

    def messages(self):
        """The reliable messages that are complete."""
        reader, messages = Reader(self.stream), []
        while not reader.empty:
            try:
                messages.append(reader.take(reader.packed_length()))
            except Malformed:
                break
        return messages


class Tap:
    """Listens to one session."""

    def __init__(self, client_private, server_static):
        self.private = X25519PrivateKey.from_private_bytes(client_private)
        self.static = server_static
        self.es = self.private.exchange(X25519PublicKey.from_public_bytes(server_static))
        self.open = False
        self.app_data = None

    def hear(self, data):
        """One packet of either direction: its kind, and for DATA its frames (None for a copy)."""
        fields = parse_packet(data)
        if fields["kind"] == "OPEN":
            self.suite, self.client_id = fields["suite"], fields["client_id"]
            self.h_open = hashlib.sha256(b"terrazzo client channel 1" + self.static + data[:63]).digest()
            self.open_seal = data[63:]
            key = hkdf(self.es, self.h_open, b"open", 32)
            self.app_data = open_seal(self.suite, key, 0, self.open_seal, data[:63])
        elif fields["kind"] == "WELCOME" and not self.open:
            self.server_id = fields["server_id"]
            ee = self.private.exchange(X25519PublicKey.from_public_bytes(fields["server_key"]))
            h_session = hashlib.sha256(self.h_open + self.open_seal + data[:42]).digest()
            keys = hkdf(self.es + ee, h_session, b"session", 96)
            open_seal(self.suite, keys[64:], 0, data[42:], data[:42])
            self.to_server, self.to_client = Direction(keys[:32]), Direction(keys[32:64])
            self.open = True
        elif fields["kind"] == "DATA":
            way = {self.server_id: self.to_server, self.client_id: self.to_client}[fields["id"]]
            return fields["kind"], way.accept(self.suite, fields, data)
        return fields["kind"], None
