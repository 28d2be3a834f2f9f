"""What happened to an entity lately that other clients may hear, by running number.

Everything that goes from a real to its ghosts is one row of numbered steps. A step has items (changes of properties,
calls of client methods, in the order in which the game made them) and the place of the entity. Real and ghosts turn the
items of a step into the very same **events**, and keep the latest of them here. So a number means the same on every
cell: a witness that arrives with "my client has entity 7 up to number 41" goes on with 42 from the local copy,
whichever that is.

    floor          number
      │  · · 44 · · 47 48 · ·│        the steps that told something; the others moved the entity, or told nobody
      ▼                      ▼
    who has 41 gets …   the steps after it, in order                       history is complete above its floor
    who has less        each property stamped later, as it is now          the calls between are gone, for that client

An event is a message for clients that lacks only the alias: encoded once, whoever sees the entity (`cell/witness.py`).
Each property has a **stamp**, the number of its last change; what has none has not changed in this life of the entity.
For that to be true a history begins with the entity, or is taken over from another copy (`adopt`), in no other way.

`news` in the arrays (`_speed/area`) is the number of the last step that told something, its events are the headline
(`_speed/sight`): compiled code compares the number with what each client has, and tells it the headline where that is
all it lacks. Python runs only for those who lack more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from terrazzo.sync.protocol import Told
from terrazzo.wire.pairs.cell_cell import PackedEvent, Past, Step

if TYPE_CHECKING:
    from terrazzo.cell.body import Body

STEPS_MAX = 128
BYTES_MAX = 65_536
PACKED_STEPS_MAX = 64
PACKED_BYTES_MAX = 16_384


class Event(NamedTuple):
    """Something that other clients hear, and the place of the property that it is about; -1 for a call."""

    place: int
    told: Told


class _Step(NamedTuple):
    number: int
    events: tuple[Event, ...]
    size: int


def record(body: Body, number: int, events: Sequence[Event]) -> None:
    """The step of this number of a body told other clients this. Real and ghost alike."""
    if events:
        before = body.history.newest
        body.history.add(number, events)
        body.space.area.set_news(body.slot, number)
        body.space.headlines.set(body.slot, body.id, before, number, [each.told for each in events])


def adopt(body: Body, past: Past) -> None:
    """A body is made, or made anew, from what another app sent: what was before. `body.number` is still the old one:
    what the body itself knows of the time before is kept where it reaches further back."""
    history = body.history
    if history.floor < past.floor <= body.number:
        history.go_on(body.number, past)
    else:
        body.history = history = History.unpack(past)
    body.space.area.set_news(body.slot, history.newest)


class History:
    """The latest steps of one entity in which clients were told something."""

    __slots__ = ("_bytes", "_stamps", "_steps", "floor", "row")

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.row: bytes | None = None
        """The properties for other clients, encoded (`EntityKind.describe`); until the next event they are the same."""
        self._stamps: dict[int, int] = {}
        self._steps: deque[_Step] = deque()
        self._bytes = 0

    @property
    def newest(self) -> int:
        """The last step that told something. Below the floor nobody knows."""
        return self._steps[-1].number if self._steps else self.floor

    def add(self, number: int, events: Sequence[Event]) -> None:
        """The step of this number told this; numbers grow."""
        step = _Step(number, tuple(events), sum(len(each.told.body) + 1 for each in events))
        for place, _ in events:
            if place >= 0:
                self._stamps[place] = number
        self.row = None
        self._steps.append(step)
        self._bytes += step.size
        while len(self._steps) > STEPS_MAX or self._bytes > BYTES_MAX:
            dropped = self._steps.popleft()
            self.floor = dropped.number
            self._bytes -= dropped.size

    def has_changed(self, place: int, number: int) -> bool:
        """Whether a property has changed after the step of this number."""
        return self._stamps.get(place, -1) > number

    def since(self, number: int) -> list[Told] | None:
        """Everything after the step of this number, in order; None where that is no longer known."""
        if number < self.floor:
            return None
        later: list[_Step] = []
        for step in reversed(self._steps):
            if step.number <= number:
                break
            later.append(step)
        return [each.told for step in reversed(later) for each in step.events]

    def pack(self) -> Past:
        """The latest of it, for another copy."""
        floor, size, steps = self.floor, 0, list(self._steps)
        for at in range(len(steps) - 1, -1, -1):
            size += steps[at].size
            if len(steps) - at > PACKED_STEPS_MAX or size > PACKED_BYTES_MAX:
                floor, steps = steps[at].number, steps[at + 1 :]
                break
        packed = (Step(each.number, tuple(PackedEvent(place, *told) for place, told in each.events)) for each in steps)
        return Past(floor, tuple(packed), tuple(self._stamps.items()))

    @classmethod
    def unpack(cls, past: Past) -> History:
        """Goes on here."""
        history = cls(past.floor)
        history.go_on(past.floor, past)
        return history

    def go_on(self, number: int, past: Past) -> None:
        """Learns what came after the step of this number, up to which it is complete."""
        for step, events in past.steps:
            if step > number:
                self.add(step, [Event(place, Told(message_id, body)) for place, message_id, body in events])
        self._stamps = dict(past.stamps)
        self.row = None
