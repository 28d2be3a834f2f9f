"""Reads `ClientWants` payloads (`wire/pairs/base_cell.py`) without an object for each: with every client that walks one
comes nearly every second tick.

It reads msgpack as any encoder writes it: `[88, [witness, [[entity, number], …], [alias, …]]]`. Where it finds anything
else, a number below zero for example, it reads nothing, and the table of messages (`wire/messages.py`) decides what the
payload is, or why it is none. What it does read is what that table would.
"""

from __future__ import annotations

COUNT_MAX = 1 << 62
ENTITY_MAX = 1 << 31
ALIAS_MAX = 1 << 16

_HEAD = b"\x92\x58\x93"


class _Other(Exception):
    """The payload is something else."""


class WantsReader:
    """The content of the payload that was read last."""

    def __init__(self) -> None:
        self.witness = 0
        self.wanted = 0
        """How many entities are wanted: as many of `entities` and `numbers` count."""
        self.released = 0
        """How many aliases are released: as many of `aliases` count."""
        self.entities: list[int] = []
        self.numbers: list[int] = []
        self.aliases: list[int] = []
        self._data = b""
        self._at = 0

    def read(self, payload: bytes) -> bool:
        """Reads one. False: it is something else, and nothing here counts."""
        if payload[:3] != _HEAD:
            return False
        self._data, self._at = payload, 3
        try:
            self._read()
        except _Other:
            return False
        return self._at == len(payload)

    def _read(self) -> None:
        self.witness = self._number(COUNT_MAX)
        self.wanted = self._count()
        self.entities, self.numbers, self.aliases = [], [], []
        for _ in range(self.wanted):
            if self._take(1) != 0x92:
                raise _Other
            self.entities.append(self._number(ENTITY_MAX))
            self.numbers.append(self._number(COUNT_MAX))
        self.released = self._count()
        for _ in range(self.released):
            self.aliases.append(self._number(ALIAS_MAX))

    def _take(self, size: int) -> int:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise _Other
        self._at += size
        return int.from_bytes(taken, "big")

    def _number(self, limit: int) -> int:
        mark = self._take(1)
        if mark < 0x80:
            return mark
        if not 0xCC <= mark <= 0xCF:
            raise _Other
        number = self._take(1 << mark - 0xCC)
        if number >= limit:
            raise _Other
        return number

    def _count(self) -> int:
        mark = self._take(1)
        if mark & 0xF0 == 0x90:
            return mark & 15
        if mark not in (0xDC, 0xDD):
            raise _Other
        return self._take(2 << mark - 0xDC)

    def said(self) -> tuple[int, list[tuple[int, int]], list[int]]:
        """The witness, the wants and the released aliases that were read."""
        return self.witness, list(zip(self.entities, self.numbers, strict=True)), self.aliases
