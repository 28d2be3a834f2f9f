"""The packets that open a session, and the keys that come of them.

    client                                             server
      HELLO  suite, ephemeral key, padded  ──────────►   keeps nothing
             ◄──────────  RETRY  cookie                  MAC over address, time, HELLO
      OPEN   cookie, sealed application data  ───────►   address proved: two X25519, half-open session
             ◄──────────  WELCOME  ephemeral key         sealed with nothing inside: proof of the server's key
      DATA   ────────────────────────────────────────►   authentic: session open
             ◄──────────  REFUSE  why                    instead of RETRY or WELCOME

Over an ordered transport the address needs no proof: it starts with OPEN, the cookie all zero.

    HELLO    01 | version | client id u32 | suite | client key 32 | zeros up to 1200 bytes
    RETRY    02 | version | client id u32 | echo 8 | cookie 24
    OPEN     03 | version | client id u32 | suite | client key 32 | cookie 24 | sealed application data
    WELCOME  04 | version | client id u32 | server id u32 | server key 32 | seal 16
    REFUSE   05 | version | client id u32 | echo 8 | why | lowest version | highest version | suites

The echo is the first eight bytes of the client's key: an attacker that cannot read the path cannot forge these answers.
Kind, version, client id and key stay where they are in every version, so that any server can refuse.

Keys, with HKDF-SHA256 and transcript hashes as salt (`h_open` binds everything before OPEN's seal,
`h_session` everything up to WELCOME's seal):

    es = X25519(client ephemeral, server static)     ee = X25519(client ephemeral, server ephemeral)
    h_open    = SHA256(label | server static key | OPEN before the seal)
    h_session = SHA256(h_open | OPEN's seal | WELCOME before the seal)
    key for OPEN                                     = HKDF(es,      salt h_open,    "open")
    key client→server | server→client | for WELCOME  = HKDF(es | ee, salt h_session, "session")
"""

from __future__ import annotations

import hashlib
import hmac
from struct import Struct
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from terrazzo.errors import DecodeError
from terrazzo.wire.client import limits

HELLO = 1
RETRY = 2
OPEN = 3
WELCOME = 4
REFUSE = 5
DATA = 6

LABEL = b"terrazzo client channel 1"
KEY_BYTES = 32
COOKIE_BYTES = 24
ECHO_BYTES = 8
NO_COOKIE = bytes(COOKIE_BYTES)

_HELLO = Struct("<BBIB32s")
_RETRY = Struct("<BBI8s24s")
_OPEN = Struct("<BBIB32s24s")
_WELCOME = Struct("<BBII32s")
_REFUSE = Struct("<BBI8sBBBB")
_COOKIE_TIME = Struct("<Q")

OPEN_HEAD_BYTES = _OPEN.size
WELCOME_HEAD_BYTES = _WELCOME.size


class ClientHello(NamedTuple):
    """What the client offers, in HELLO and again in OPEN."""

    version: int
    client_id: int
    suite: int
    client_key: bytes

    @property
    def echo(self) -> bytes:
        """What an unauthenticated answer must repeat."""
        return self.client_key[:ECHO_BYTES]


class Retry(NamedTuple):
    """Come back with this cookie."""

    client_id: int
    echo: bytes
    cookie: bytes


class ServerWelcome(NamedTuple):
    """The server's half of the agreement."""

    client_id: int
    server_id: int
    server_key: bytes


class Refuse(NamedTuple):
    """No session, and why; with what the server would speak."""

    client_id: int
    echo: bytes
    why: int
    lowest_version: int
    highest_version: int
    suites: int


class SessionKeys(NamedTuple):
    """The keys of one session."""

    to_server: bytes
    to_client: bytes
    welcome: bytes


def encode_hello(hello: ClientHello, padded_bytes: int) -> bytes:
    """HELLO, padded with zeros: no answer is larger, and it proves that the path carries full packets."""
    return _HELLO.pack(HELLO, *hello).ljust(padded_bytes, b"\0")


def decode_hello(data: bytes) -> ClientHello:
    """The fields of HELLO, or of OPEN, which begins in the same way."""
    if len(data) < _HELLO.size:
        raise DecodeError("a HELLO or OPEN that is cut short")
    return ClientHello(*_HELLO.unpack_from(data)[1:])


def encode_retry(retry: Retry) -> bytes:
    """RETRY."""
    return _RETRY.pack(RETRY, limits.VERSION, *retry)


def decode_retry(data: bytes) -> Retry:
    """The fields of RETRY."""
    if len(data) != _RETRY.size:
        raise DecodeError("a RETRY of the wrong length")
    return Retry(*_RETRY.unpack(data)[2:])


def encode_open_head(hello: ClientHello, cookie: bytes) -> bytes:
    """OPEN up to its seal."""
    return _OPEN.pack(OPEN, *hello, cookie)


def decode_open_cookie(data: bytes) -> bytes:
    """The cookie in OPEN."""
    if not 0 <= len(data) - OPEN_HEAD_BYTES - limits.TAG_BYTES <= limits.APP_DATA_BYTES_MAX:
        raise DecodeError("an OPEN of an impossible length")
    return data[OPEN_HEAD_BYTES - COOKIE_BYTES : OPEN_HEAD_BYTES]


def encode_welcome_head(welcome: ServerWelcome) -> bytes:
    """WELCOME up to its seal."""
    return _WELCOME.pack(WELCOME, limits.VERSION, *welcome)


def decode_welcome(data: bytes) -> ServerWelcome:
    """The fields of WELCOME."""
    if len(data) != WELCOME_HEAD_BYTES + limits.TAG_BYTES:
        raise DecodeError("a WELCOME of the wrong length")
    return ServerWelcome(*_WELCOME.unpack_from(data)[2:])


def encode_refuse(refuse: Refuse) -> bytes:
    """REFUSE."""
    return _REFUSE.pack(REFUSE, limits.VERSION, *refuse)


def decode_refuse(data: bytes) -> Refuse:
    """The fields of REFUSE; longer ones are read too, for a later version may add fields."""
    if len(data) < _REFUSE.size:
        raise DecodeError("a REFUSE that is cut short")
    return Refuse(*_REFUSE.unpack_from(data)[2:])


def make_cookie(secret: bytes, address: bytes, hello: ClientHello, now: float) -> bytes:
    """Proof, with nothing kept, that the client received it at this address, for this HELLO, at this time."""
    return _sign_cookie(secret, address, hello, _COOKIE_TIME.pack(int(max(now, 0.0) * 1000)))


def cookie_holds(secret: bytes, address: bytes, hello: ClientHello, cookie: bytes, now: float) -> bool:
    """Whether the cookie is ours, for this address and HELLO, and not too old."""
    stamp = cookie[: _COOKIE_TIME.size]
    age_s = now - _COOKIE_TIME.unpack(stamp)[0] / 1000
    if not 0.0 <= age_s <= limits.COOKIE_LIFE_S:
        return False
    return hmac.compare_digest(cookie, _sign_cookie(secret, address, hello, stamp))


def _sign_cookie(secret: bytes, address: bytes, hello: ClientHello, stamp: bytes) -> bytes:
    signed = _HELLO.pack(HELLO, *hello)
    return stamp + hmac.digest(secret, stamp + signed + address, "sha256")[: COOKIE_BYTES - len(stamp)]


def public_key(private_key: bytes) -> bytes:
    """The public key that belongs to a private one."""
    return KeyPair(private_key).public


class KeyPair:
    """A private key, ready to agree: making one of its bytes costs more than half as much as an agreement."""

    __slots__ = ("_private", "public")

    def __init__(self, private_key: bytes) -> None:
        self._private = X25519PrivateKey.from_private_bytes(private_key)
        self.public = self._private.public_key().public_bytes_raw()

    def agree(self, peer: X25519PublicKey) -> bytes:
        """The X25519 secret of both; DecodeError for a peer's key that gives none."""
        try:
            return self._private.exchange(peer)
        except ValueError as error:
            raise DecodeError(f"a public key that leads nowhere: {error}") from None


def read_public_key(peer_key: bytes) -> X25519PublicKey:
    """A peer's key, ready to agree with."""
    return X25519PublicKey.from_public_bytes(peer_key)


def agree(private_key: bytes, peer_key: bytes) -> bytes:
    """The X25519 secret of both; DecodeError for a peer's key that gives none."""
    try:
        peer = X25519PublicKey.from_public_bytes(peer_key)
        return X25519PrivateKey.from_private_bytes(private_key).exchange(peer)
    except ValueError as error:
        raise DecodeError(f"a public key that leads nowhere: {error}") from None


def hash_open(server_static: bytes, open_head: bytes) -> bytes:
    """The transcript up to OPEN's seal."""
    return hashlib.sha256(LABEL + server_static + open_head).digest()


def hash_session(open_hash: bytes, open_seal: bytes, welcome_head: bytes) -> bytes:
    """The transcript up to WELCOME's seal."""
    return hashlib.sha256(open_hash + open_seal + welcome_head).digest()


def derive_open_key(es: bytes, open_hash: bytes) -> bytes:
    """The key that seals OPEN."""
    return _hkdf(es, open_hash, b"open", KEY_BYTES)


def derive_session_keys(es: bytes, ee: bytes, session_hash: bytes) -> SessionKeys:
    """The keys of the session."""
    keys = _hkdf(es + ee, session_hash, b"session", 3 * KEY_BYTES)
    return SessionKeys(keys[:32], keys[32:64], keys[64:])


def _hkdf(secret: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=size, salt=salt, info=info).derive(secret)
