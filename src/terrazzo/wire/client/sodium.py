"""Where libsodium's functions are in memory, for compiled code that calls them without Python in between.

PyNaCl brings libsodium along, and its private module `nacl._sodium` gives the addresses. Since it is private, nothing
depends on it: where it is missing or different, the addresses are 0, and packets are sealed by `cryptography`
(`cipher.py`). Both give the same bytes, which is tried out here before an address is given.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.limits import TAG_BYTES, Suite

_NAMES = {
    Suite.CHACHA20_POLY1305: "crypto_aead_chacha20poly1305_ietf",
    Suite.AES_256_GCM: "crypto_aead_aes256gcm",
}
_KEY = bytes(range(32))
_HEADER = b"a header"


class Functions(NamedTuple):
    """The addresses of one suite's functions; 0 where there is none."""

    encrypt: int = 0
    decrypt: int = 0


def find(suite: Suite) -> Functions:
    """The functions of a suite, if they are there and do what `cryptography` does."""
    try:
        _sodium = import_module("nacl._sodium")

        ffi, lib = _sodium.ffi, _sodium.lib
        if lib.sodium_init() < 0 or (suite is Suite.AES_256_GCM and not lib.crypto_aead_aes256gcm_is_available()):
            return Functions()
        encrypt, decrypt = (getattr(lib, f"{_NAMES[suite]}_{what}") for what in ("encrypt", "decrypt"))
        if not all(_agrees(suite, size, ffi, encrypt, decrypt) for size in (0, 1, 63, 64, 300, 1175)):
            return Functions()
        found = (ffi.addressof(lib, f"{_NAMES[suite]}_{what}") for what in ("encrypt", "decrypt"))
        return Functions(*(int(ffi.cast("intptr_t", each)) for each in found))
    except (ImportError, AttributeError, TypeError):
        return Functions()


def _agrees(suite: Suite, size: int, ffi: Any, encrypt: Any, decrypt: Any) -> bool:
    """Whether both make the same packet of the same bytes, and libsodium opens it again."""
    plain = bytes(at & 0xFF for at in range(size))
    sealed = Cipher(suite, _KEY).seal(7, plain, _HEADER)
    nonce = bytes(4) + (7).to_bytes(8, "little")
    out, opened = ffi.new("unsigned char[]", size + TAG_BYTES), ffi.new("unsigned char[]", size + 1)
    count = ffi.new("unsigned long long *")
    encrypt(out, count, plain, size, _HEADER, len(_HEADER), ffi.NULL, nonce, _KEY)
    if bytes(ffi.buffer(out)) != sealed:
        return False
    if decrypt(opened, count, ffi.NULL, sealed, len(sealed), _HEADER, len(_HEADER), nonce, _KEY) != 0:
        return False
    return bytes(ffi.buffer(opened))[:size] == plain
