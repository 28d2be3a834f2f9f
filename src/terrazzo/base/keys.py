"""One-time login keys: sixteen random bytes, each for one proxy that waits for its client.

The key is created with the proxy and travels through the LoginApp to the client. The first session that presents the
key is the client's session. A key is removed when it is presented or expires; there are never more than `most` keys.

A key is bound to the client that asked for it: the client presents `key + attempt`, and the SHA-256 of `attempt` must
be the key's `holder`. `attempt` is the random text of the login request (`sync.protocol.LoginRequest`), which has
passed between the client and the LoginApp only, so a key without it is of no use. It is not bound to an address: the
address of an honest client may change between the login and its first packet here (a phone that leaves a wireless
network, two families of addresses, a provider with several gateways). A wrong `attempt` does not use up the key, so a
party that has only the key cannot keep the client out. A request without `attempt` gets a key without holder.
"""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from terrazzo.wire.client.session import Entropy
from terrazzo.wire.ids import EntityId

KEY_BYTES = 16


class _LoginKey(NamedTuple):
    """One valid key."""

    entity: EntityId
    expires_at: float
    holder: bytes


class KeyRing:
    """The keys that are valid at present."""

    def __init__(self, entropy: Entropy, *, life_s: float, most: int) -> None:
        self._entropy = entropy
        self._life_s = life_s
        self._most = most
        self._keys: dict[bytes, _LoginKey] = {}  # in the order in which they expire

    def __len__(self) -> int:
        return len(self._keys)

    def is_full(self, now: float) -> bool:
        """Whether no more keys may be made at present."""
        self._forget_expired(now)
        return len(self._keys) >= self._most

    def make(self, entity: EntityId, now: float, holder: bytes = b"") -> bytes:
        """A new key for this proxy; without `holder` it is valid for any client that presents it."""
        self._forget_expired(now)
        key = self._entropy(KEY_BYTES)
        assert key not in self._keys, "the source of entropy repeats itself"
        self._keys[key] = _LoginKey(entity, now + self._life_s, holder)
        return key

    def take(self, presented: bytes, now: float) -> EntityId | None:
        """The proxy that this key is for; None when the key was used, has expired, was never issued, or belongs to
        another client."""
        self._forget_expired(now)
        key, attempt = presented[:KEY_BYTES], presented[KEY_BYTES:]
        found = self._keys.get(key)
        if found is None or (found.holder and not compare_digest(sha256(attempt).digest(), found.holder)):
            return None
        del self._keys[key]
        return found.entity

    def forget(self, key: bytes) -> None:
        """The proxy no longer waits for a client."""
        self._keys.pop(key, None)

    def _forget_expired(self, now: float) -> None:
        while self._keys:
            key, found = next(iter(self._keys.items()))
            if now < found.expires_at:
                return
            del self._keys[key]
