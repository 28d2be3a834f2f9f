"""A client of the channel that keeps to no rule: it makes handshake packets and DATA one by one, as attackers do."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from struct import Struct
from typing import NamedTuple

from terrazzo.errors import DecodeError
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.handshake import ClientHello
from terrazzo.wire.client.limits import Suite

_HEADER = Struct("<BII")
_PIECE = Struct("<IH")
_READ_BYTES = 2048
PIECE_BYTES = 1100


class Target(NamedTuple):
    """The door that an attack is aimed at."""

    host: str
    udp_port: int
    tcp_port: int
    public_key: bytes


def udp_socket(source: str) -> socket.socket:
    """A socket that sends from this address, and from any port."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.bind((source, 0))
    return made


class RawSession:
    """One attempt to have a session; over UDP from `source`, or (empty) with packets that are sent otherwise."""

    def __init__(self, target: Target, source: str, app_data: bytes = b"") -> None:
        self.target = target
        self._app_data = app_data
        self._stream_at = 0
        self.sent: list[bytes] = []
        self._private = os.urandom(32)
        self._hello = ClientHello(
            limits.VERSION,
            int.from_bytes(os.urandom(4), "little"),
            Suite.CHACHA20_POLY1305,
            handshake.public_key(self._private),
        )
        self._cookie = handshake.NO_COOKIE
        self._open = b""
        self._seal: Cipher | None = None
        self._server_id = 0
        self._number = 0
        self._socket = udp_socket(source) if source else None

    @property
    def client_id(self) -> int:
        """What answers bear."""
        return self._hello.client_id

    @property
    def cookie(self) -> bytes:
        """That of the last RETRY."""
        return self._cookie

    def close(self) -> None:
        """Gives up the socket, without a word to the server."""
        if self._socket is not None:
            self._socket.close()

    def send(self, packet: bytes) -> None:
        """Sends a packet and remembers it."""
        if len(self.sent) < 100:
            self.sent.append(packet)
        self.resend(packet)

    def resend(self, packet: bytes) -> None:
        """Sends a packet; what the system does not take is lost."""
        assert self._socket is not None
        with suppress(OSError):
            self._socket.sendto(packet, (self.target.host, self.target.udp_port))

    def hello(self) -> bytes:
        """HELLO."""
        return handshake.encode_hello(self._hello, limits.UDP.packet_bytes_max)

    async def get_cookie(self, seconds: float) -> bool:
        """HELLO, and the cookie that comes for it."""
        self.send(self.hello())
        answer = await self._receive(seconds)
        if answer[:1] != bytes([handshake.RETRY]):
            return False
        self._cookie = handshake.decode_retry(answer).cookie
        return True

    async def open(self, seconds: float) -> bool:
        """The whole handshake, as an honest client does it."""
        if not await self.get_cookie(seconds):
            return False
        self.send(self.open_packet(self._cookie))
        if not self.on_welcome(await self._receive(seconds)):
            return False
        self.send_body(b"\x04")
        return True

    def open_packet(self, cookie: bytes) -> bytes:
        """An OPEN that the server must take."""
        head = handshake.encode_open_head(self._hello, cookie)
        self._es = handshake.agree(self._private, self.target.public_key)
        self._open_hash = handshake.hash_open(self.target.public_key, head)
        key = handshake.derive_open_key(self._es, self._open_hash)
        self._open_seal = Cipher(Suite.CHACHA20_POLY1305, key).seal(0, self._app_data, head)
        return head + self._open_seal

    def forged_open(self) -> bytes:
        """An OPEN with the cookie and a wrong seal."""
        return handshake.encode_open_head(self._hello, self._cookie) + os.urandom(limits.TAG_BYTES)

    def on_welcome(self, answer: bytes) -> bool:
        """The keys that a WELCOME leads to; False for any other packet."""
        try:
            welcome = handshake.decode_welcome(answer)
        except DecodeError:
            return False
        head = answer[: handshake.WELCOME_HEAD_BYTES]
        ee = handshake.agree(self._private, welcome.server_key)
        session_hash = handshake.hash_session(self._open_hash, self._open_seal, head)
        keys = handshake.derive_session_keys(self._es, ee, session_hash)
        self._seal = Cipher(Suite.CHACHA20_POLY1305, keys.to_server)
        self._server_id = welcome.server_id
        return True

    def seal_body(self, body: bytes) -> bytes:
        """A DATA packet with this body."""
        assert self._seal is not None
        header = _HEADER.pack(handshake.DATA, self._server_id, self._number)
        packet = header + self._seal.seal(self._number, body, header)
        self._number += 1
        return packet

    def send_body(self, body: bytes) -> None:
        """Sends a DATA packet with this body."""
        self.send(self.seal_body(body))

    def send_message(self, message: bytes) -> None:
        """Sends a message over the reliable stream, in pieces, whether or not the server acknowledges any."""
        size = len(message)
        whole = (bytes((size,)) if size < 255 else b"\xff" + size.to_bytes(3, "little")) + message
        for at in range(0, len(whole), PIECE_BYTES):
            piece = whole[at : at + PIECE_BYTES]
            self.send_body(b"\x02" + _PIECE.pack(self._stream_at, len(piece)) + piece)
            self._stream_at += len(piece)

    async def _receive(self, seconds: float) -> bytes:
        assert self._socket is not None
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_reader(self._socket.fileno(), came.set)
        try:
            async with asyncio.timeout(seconds):
                await came.wait()
            return self._socket.recv(_READ_BYTES)
        except (TimeoutError, OSError):
            return b""
        finally:
            loop.remove_reader(self._socket.fileno())
