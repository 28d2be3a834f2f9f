"""One-time login keys: sixteen random bytes, each for one proxy that waits for its client.

The key is created with the proxy and travels through the LoginApp to the client. The first session that presents the
key is the client's session. A key is removed when it is presented or expires; there are never more than `most` keys.
"""

from __future__ import annotations

from terrazzo.wire.client.session import Entropy
from terrazzo.wire.ids import EntityId

KEY_BYTES = 16


class KeyRing:
    """The keys that are valid at present."""

    def __init__(self, entropy: Entropy, *, life_s: float, most: int) -> None:
        self._entropy = entropy
        self._life_s = life_s
        self._most = most
        self._keys: dict[bytes, tuple[EntityId, float]] = {}  # in the order in which they expire

    def __len__(self) -> int:
        return len(self._keys)

    def is_full(self, now: float) -> bool:
        """Whether no more keys may be made at present."""
        self._forget_expired(now)
        return len(self._keys) >= self._most

    def make(self, entity: EntityId, now: float) -> bytes:
        """A new key for this proxy."""
        self._forget_expired(now)
        key = self._entropy(KEY_BYTES)
        assert key not in self._keys, "the source of entropy repeats itself"
        self._keys[key] = (entity, now + self._life_s)
        return key

    def take(self, key: bytes, now: float) -> EntityId | None:
        """The proxy that this key is for; None when the key was used, has expired, or was never issued."""
        self._forget_expired(now)
        found = self._keys.pop(key, None)
        return None if found is None else found[0]

    def forget(self, key: bytes) -> None:
        """The proxy no longer waits for a client."""
        self._keys.pop(key, None)

    def _forget_expired(self, now: float) -> None:
        while self._keys:
            key, (_, expires_at) = next(iter(self._keys.items()))
            if now < expires_at:
                return
            del self._keys[key]
