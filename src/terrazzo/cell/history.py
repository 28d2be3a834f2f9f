"""What happened to an entity lately that clients may see, by running number.

Everything that goes from a real to its ghosts is one row of numbered steps. A step has items (changes of properties,
calls of client methods, in the order in which the game made them) and the place of the entity. Real and ghosts turn
the items of a step into the very same messages for clients, and keep the latest of them here. So a number means the
same on every cell: a witness that arrives with "my client has entity 7 up to number 41" goes on with 42 from the local
copy, whichever that is.

An item of a step:

    0, 2, 3 …     a change, in the internal form of `schema.changes`
    128           uint16 index of a client method, then its arguments: a call that every other client hears
    129           msgpack [floor, steps]: the history so far. It follows a CreateGhost, under the same number: a new
                  ghost may be looked at by a witness whose client has a little less than it begins with

The history is complete above its `floor`. What lies below is gone: who has less must be told anew what each property
that has changed since is now. For that each property has a stamp, the number of its last change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from terrazzo.errors import DecodeError

STEPS_MAX = 128
BYTES_MAX = 65_536
PACKED_STEPS_MAX = 64
PACKED_BYTES_MAX = 16_384

_CALL = 128
_HISTORY = 129


def encode_call_item(index: int, args: bytes) -> bytes:
    """A call of the client method `index` as an item of a step."""
    return bytes([_CALL]) + index.to_bytes(2, "little") + args


def is_call_item(item: bytes) -> bool:
    """Whether an item is a call; else it is a change."""
    return item[:1] == bytes([_CALL])


def decode_call_item(item: bytes) -> tuple[int, bytes]:
    """The index of the client method, and the arguments."""
    if len(item) < 3:
        raise DecodeError("a call of a client method begins with three bytes", len(item))
    return int.from_bytes(item[1:3], "little"), item[3:]


class Told(NamedTuple):
    """One message for clients, and the place of the property that it is about; -1 for a call."""

    place: int
    message: bytes


class Step(NamedTuple):
    """What one step told clients."""

    number: int
    told: tuple[Told, ...]

    @property
    def size(self) -> int:
        """Bytes of its messages."""
        return sum(len(each.message) for each in self.told)


class PackedHistory(NamedTuple):
    """A history at rest."""

    floor: int
    steps: tuple[Step, ...]


_DECODER = msgspec.msgpack.Decoder(PackedHistory)


def is_history_item(item: bytes) -> bool:
    """Whether an item is a history."""
    return item[:1] == bytes([_HISTORY])


def decode_history_item(item: bytes) -> PackedHistory:
    """The history."""
    try:
        return _DECODER.decode(item[1:])
    except msgspec.MsgspecError as problem:
        raise DecodeError(f"not a history: {problem}", 1) from None


class History:
    """The latest steps of one entity in which clients were told something."""

    __slots__ = ("_bytes", "_first", "_stamps", "_steps", "floor")

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self._first = floor
        """What has no stamp has not changed after this."""
        self._stamps: dict[int, int] = {}
        self._steps: deque[Step] = deque()
        self._bytes = 0

    def add(self, number: int, told: Sequence[Told]) -> None:
        """The step of this number told clients this; numbers grow. Nothing to tell is nothing to keep."""
        if not told:
            return
        step = Step(number, tuple(told))
        for place, _ in told:
            self._stamps[place] = number
        self._steps.append(step)
        self._bytes += step.size
        while len(self._steps) > STEPS_MAX or self._bytes > BYTES_MAX:
            dropped = self._steps.popleft()
            self.floor = dropped.number
            self._bytes -= dropped.size

    def has_changed(self, place: int, number: int) -> bool:
        """Whether a property may have changed after the step of this number."""
        return self._stamps.get(place, self._first) > number

    def since(self, number: int) -> list[bytes] | None:
        """Everything after the step of this number, in order; None where that is no longer known."""
        if number < self.floor:
            return None
        later: list[Step] = []
        for step in reversed(self._steps):
            if step.number <= number:
                break
            later.append(step)
        return [each.message for step in reversed(later) for each in step.told]

    def encode_item(self) -> bytes:
        """The latest of it, as an item for a new ghost."""
        floor, size, steps = self.floor, 0, list(self._steps)
        for place in range(len(steps) - 1, -1, -1):
            size += steps[place].size
            if len(steps) - place > PACKED_STEPS_MAX or size > PACKED_BYTES_MAX:
                floor, steps = steps[place].number, steps[place + 1 :]
                break
        return bytes([_HISTORY]) + msgspec.msgpack.encode(PackedHistory(floor, tuple(steps)))

    def precede(self, number: int, packed: PackedHistory) -> None:
        """A history that begins with `number` learns what was before."""
        if self.floor != number or self._first != number:
            return
        self.floor = self._first = packed.floor
        older = [step for step in packed.steps if step.number <= number]
        self._steps.extendleft(reversed(older))
        self._bytes += sum(step.size for step in older)
        for step in older:
            for place, _ in step.told:
                self._stamps[place] = max(self._stamps.get(place, 0), step.number)
