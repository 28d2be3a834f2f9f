"""Stored passwords: scrypt, with its parameters in the stored text, so that the cost may rise without a migration.

The text is a PHC string, as other tools write it (base64 without padding):

    $scrypt$ln=14,r=8,p=1$<salt, 16 bytes>$<key, 32 bytes>          ln is the binary logarithm of the cost n

A password is brought into Unicode's composed form first: the same keys pressed on two systems are the same password.
Keys are compared in constant time. For a name that does not exist, `check(password, None)` does the same work, so that
the time until the answer does not reveal whether the name exists.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hmac import compare_digest

from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from terrazzo.db.store import StoreError

SALT_BYTES = 16
KEY_BYTES = 32
LOG_COST_MAX = 20
"""A stored hash with a higher cost is damaged: checking it would take gigabytes."""

_STORED = re.compile(r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)", re.ASCII)


@dataclass(frozen=True)
class Cost:
    """The cost of one check: 128 · r · 2**log_n bytes of memory, and time in proportion to that and to p."""

    log_n: int = 14
    r: int = 8
    p: int = 1


class Hasher:
    """Hashes passwords at one cost; checks hashes of any cost."""

    def __init__(self, entropy: Callable[[int], bytes], cost: Cost | None = None) -> None:
        self._entropy = entropy
        self._cost = cost or Cost()

    def hash(self, password: str) -> str:
        """The text to store for a password."""
        cost = self._cost
        salt = self._entropy(SALT_BYTES)
        key = _derive(password, salt, cost)
        return f"$scrypt$ln={cost.log_n},r={cost.r},p={cost.p}${_to_text(salt)}${_to_text(key)}"

    def check(self, password: str, password_hash: str | None) -> bool:
        """Whether this is the password that was hashed. Raises StoreError for a hash that cannot be read."""
        if password_hash is None:
            _derive(password, bytes(SALT_BYTES), self._cost)
            return False
        cost, salt, key = _parse(password_hash)
        return compare_digest(_derive(password, salt, cost), key)


def _derive(password: str, salt: bytes, cost: Cost) -> bytes:
    scrypt = Scrypt(salt=salt, length=KEY_BYTES, n=1 << cost.log_n, r=cost.r, p=cost.p)
    return scrypt.derive(unicodedata.normalize("NFC", password).encode())


def _parse(password_hash: str) -> tuple[Cost, bytes, bytes]:
    found = _STORED.fullmatch(password_hash)
    if found is None:
        raise StoreError("the stored password hash is not one of ours; give this account a new password")
    cost = Cost(*map(int, found.group(1, 2, 3)))
    try:
        salt, key = map(_to_bytes, found.group(4, 5))
    except binascii.Error:
        salt = key = b""
    if not (1 <= cost.log_n <= LOG_COST_MAX and cost.r and cost.p and salt and len(key) == KEY_BYTES):
        raise StoreError("the stored password hash is damaged; give this account a new password")
    return cost, salt, key


def _to_text(data: bytes) -> str:
    return b64encode(data).decode().rstrip("=")


def _to_bytes(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
