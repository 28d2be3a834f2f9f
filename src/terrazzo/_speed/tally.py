"""A table of counters: how many messages of each row there were, and their bytes together.

The kernels count into it themselves what they write for clients (`_speed/sight`); `cell/core/account.py` has the
meaning of the rows. Row 0 is there from the start, for what needs no row of its own.
"""

from __future__ import annotations


class Tally:
    """Rows 0, 1, …"""

    def __init__(self) -> None:
        self._messages = [0]
        self._bytes = [0]

    def __len__(self) -> int:
        return len(self._messages)

    def new_row(self) -> int:
        """One more, at zero."""
        self._messages.append(0)
        self._bytes.append(0)
        return len(self._messages) - 1

    def add(self, row: int, messages: int, size: int) -> None:
        """So many more messages, of so many bytes together."""
        if not 0 <= row < len(self._messages):
            raise IndexError(row)
        self._messages[row] += messages
        self._bytes[row] += size

    def get(self, row: int) -> tuple[int, int]:
        """Messages and bytes of a row so far."""
        if not 0 <= row < len(self._messages):
            raise IndexError(row)
        return self._messages[row], self._bytes[row]
