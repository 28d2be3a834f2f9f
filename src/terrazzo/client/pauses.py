"""The pauses of a client that lost its connection: when it tries to resume, and when it gives up.

The first attempt comes soon, since most losses are short. The pauses double from FIRST_S to MOST_S, and each has a
random part, so that the clients of a server that was out of reach do not all come at the same moment.
"""

from __future__ import annotations

from terrazzo.wire.client.session import Entropy

FIRST_S = 0.25
MOST_S = 4.0


class Pauses:
    """The attempts after one loss."""

    def __init__(self, entropy: Entropy, now: float, within_s: float) -> None:
        self.tries = 0
        """Attempts so far."""
        self.at = now
        """When the next attempt begins."""
        self._entropy = entropy
        self._until = now + within_s
        self.draw(now)

    def draw(self, now: float) -> bool:
        """The next attempt is scheduled; False: it would be too late."""
        most = min(FIRST_S * 2.0**self.tries, MOST_S)
        share = int.from_bytes(self._entropy(2), "little") / 0xFFFF
        self.at = now + most * (0.5 + share / 2)
        self.tries += 1
        return self.at < self._until
