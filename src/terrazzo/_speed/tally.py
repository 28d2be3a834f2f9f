"""A table of counters: how many messages of each row there were, and their bytes together.

The kernels count into it themselves what they write for clients (`_speed/sight`); `cell/core/account.py` has the
meaning of the rows. Row 0 is there from the start, for what needs no row of its own.

One source for both forms: `tally.pxd` has the C types, and there the array is a view of its memory.
"""

from __future__ import annotations

from array import array

_BYTES = 16
"""Of a row: messages and bytes."""
_ROOM = 16


class Tally:
    """Rows 0, 1, …"""

    __slots__ = ("_count", "_room", "_rows")

    def __init__(self) -> None:
        self._rows = array("q", bytes(_BYTES * _ROOM))
        self._room = _ROOM
        self._count = 1

    def __len__(self) -> int:
        return self._count

    def new_row(self) -> int:
        """One more, at zero."""
        if self._count == self._room:
            self._rows = array("q", bytes(self._rows) + bytes(_BYTES * self._room))
            self._room *= 2
        self._count += 1
        return self._count - 1

    def add(self, row: int, messages: int, size: int) -> None:
        """So many more messages, of so many bytes together."""
        if not 0 <= row < self._count:
            raise IndexError(row)
        self._rows[2 * row] += messages
        self._rows[2 * row + 1] += size

    def get(self, row: int) -> tuple[int, int]:
        """Messages and bytes of a row so far."""
        if not 0 <= row < self._count:
            raise IndexError(row)
        return self._rows[2 * row], self._rows[2 * row + 1]
