"""How long the app stood still: its process was stopped, or got no processor.

What clients sent meanwhile lies in the sockets and comes at once afterwards: messages of seconds, all within a few
turns. A client that kept to its rates then looks like a flood. So rates leave room for that time (`wire/rates.py`):

    turn ·· turn ·· turn ·················· turn ·· turn ·· turn ··
                        └─ STANDSTILL_S ─┘   └── SPARE_S ──┘
                           or longer             buckets hold what fills them in the standstill, beyond their burst
"""

from __future__ import annotations

STANDSTILL_S = 0.5
"""A longer time between two turns is a standstill. All buckets hold what fills them in a second."""
SPARE_S = 3.0
"""What piled up has been read by then, and what was lost has been sent again."""
SPARE_MAX_S = 30.0
"""A client that was without an answer for longer has given up."""
_STANDSTILL_S, _SPARE_S, _SPARE_MAX_S = STANDSTILL_S, SPARE_S, SPARE_MAX_S


class Standstill:
    """The standstills of one app."""

    __slots__ = ("_length_s", "_present_at", "_until")

    def __init__(self, now: float) -> None:
        self._present_at = self._until = now
        self._length_s = 0.0

    def note_turn(self, now: float) -> None:
        """The app has a turn, or a tick."""
        still_s = now - self._present_at
        self._present_at = now
        if still_s >= _STANDSTILL_S:
            earlier_s = self.spare_s(now - still_s)  # soon after another one, so that both have piled up messages
            self._length_s = min(earlier_s + still_s, _SPARE_MAX_S)
            self._until = now + _SPARE_S

    def spare_s(self, now: float) -> float:
        """For how long the app stood still just now."""
        return self._length_s if now < self._until else 0.0
