"""Sealing and opening of packets: one key, one direction, the packet number as nonce.

    nonce = 4 zero bytes | packet number u64, little-endian        associated data = the packet's header

A number is used once (the channel counts it up and never resends a packet), so a nonce is never used twice
under a key. The handshake's two seals have keys of their own, each used once, with number 0.
"""

from __future__ import annotations

from struct import Struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from terrazzo.wire.client.limits import Suite

_NONCE = Struct("<IQ")


class Cipher:
    """Seals or opens with one key."""

    __slots__ = ("_decrypt", "_encrypt")

    def __init__(self, suite: Suite, key: bytes) -> None:
        aead = ChaCha20Poly1305(key) if suite is Suite.CHACHA20_POLY1305 else AESGCM(key)
        self._encrypt = aead.encrypt
        self._decrypt = aead.decrypt

    def seal(self, number: int, plain: bytes, header: bytes) -> bytes:
        """The sealed bytes: without the key they can neither be read nor made."""
        return self._encrypt(_NONCE.pack(0, number), plain, header)

    def open(self, number: int, sealed: bytes, header: bytes) -> bytes | None:
        """What was sealed, or None if this is not what was sealed."""
        try:
            return self._decrypt(_NONCE.pack(0, number), sealed, header)
        except InvalidTag:
            return None
