"""The answers of clients about the entities around them, on their way to the cell part: with every client that walks
some come nearly every second tick.

    client ──want, released (`sync/protocol.py`)──▶ `decode_want`, `decode_released` ──▶ BaseApp
    BaseApp ──`encode_wants`: ClientWants (`wire/pairs/base_cell.py`)──▶ `WantsReader` ──▶ CellApp

The reader makes no object for a payload. It reads msgpack as any encoder writes it:
`[88, [witness, [[entity, number], …], [alias, …]]]`. Where it finds anything else, a number below zero for example, it
reads nothing, and the table of messages (`wire/messages.py`) decides what the payload is, or why it is none. What it
does read is what that table would.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, iter_unpack

import msgspec

from terrazzo.errors import DecodeError

WANTS_MAX = 80
"""Entities in one `want` of a client."""
RELEASED_MAX = 400
"""Aliases in one `released` of a client."""
STEP_MAX = (1 << 63) - 1
"""The highest number of a step."""

COUNT_MAX = 1 << 62
ENTITY_MAX = 1 << 31
ALIAS_MAX = 1 << 16

_HEAD = b"\x92\x58\x93"
_WANT = Struct("<iQ")


def decode_want(message: bytes, at: int = 0) -> list[tuple[int, int]]:
    """The (entity, number) pairs of a want, whose body begins at this place."""
    data = message[at:]
    if not data or len(data) % _WANT.size or len(data) > WANTS_MAX * _WANT.size:
        raise DecodeError(f"a want has 1 to {WANTS_MAX} entries of twelve bytes", len(data))
    wants = list(_WANT.iter_unpack(data))
    if any(number > STEP_MAX for _, number in wants):
        raise DecodeError("a number that no step has", 0)
    return wants


def decode_released(message: bytes, at: int = 0) -> list[int]:
    """The aliases of a released, whose body begins at this place."""
    data = message[at:]
    if not data or len(data) % 2 or len(data) > RELEASED_MAX * 2:
        raise DecodeError(f"a released has 1 to {RELEASED_MAX} aliases of two bytes", len(data))
    return [alias for (alias,) in iter_unpack("<H", data)]


def encode_wants(witness: int, wants: Sequence[tuple[int, int]], released: Sequence[int]) -> bytes:
    """The ClientWants payload, as the table of messages encodes it."""
    return msgspec.msgpack.encode((88, (witness, tuple(wants), tuple(released))))


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
