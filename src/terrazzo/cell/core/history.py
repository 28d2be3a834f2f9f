"""The recent events of an entity that other clients may be sent, by number.

Everything that a real sends to its ghosts is one row of numbered steps. A step has items (changes of properties, calls
of client methods, in the order in which the game made them) and the place of the entity. The real and each ghost make
the same **events** from the items of a step, and store the latest of them here. So a number means the same on every
CellApp: a witness that arrives with "the client has entity 7 up to number 41" goes on with 42 from the local copy.

    floor          number
      │  · · 44 · · 47 48 · ·│        the steps that have events; the others only moved the entity
      ▼                      ▼
    a client that has 41 gets …   the steps after 41, in order                 the history is complete above its floor
    a client that has less        each property stamped later, as it is now    it misses the calls between

An event is a message for clients that lacks only the alias: it is encoded once for all of them
(`cell/client/sent.py`). Its **subject** is what it is about, its **manner** how it is sent; both follow from the entity
type (`cell/core/kind.py`):

    subject     0, 1, …   a property, by its place in the cell layout
                PLACE     where the entity is, if its position is not volatile
                RIDE      what it stands on (`cell/motion/riding.py`)
                ~0, ~1, … a call of a client method
    manner      level         sent to clients that have the entity at this level of detail or nearer
                distance      a call is sent to clients that are this near when it is sent
                is_reliable   if not, it may be lost: it is sent at once or never, and not stored here
                is_latest     a later event replaces it: the earlier one is taken out, the later one has its own place

Each property has a **stamp**, the number of its last change; a property without one has not changed in this life of the
entity. For that to hold, a history begins with the entity, or is taken over from another copy (`Body.adopt`), in no
other way. What can be caught up by stamps is sent as it is now: a client that comes nearer gets what changed while it
was far away (`cell/client/sent.py`), and an event that was not stored is not lost for a client that was late.

**Trimming.** With each step that is added the oldest ones are dropped, as long as there are more than STEPS_MAX or
BYTES_MAX of them: one or two at a time, so that no tick has to clean up. A step that was there at the last visit of
`Ageing` is dropped, too: `Ageing` visits each history once in AGE_S, a few in each tick, so a step is stored for AGE_S
to twice that. The floor rises to the number of the dropped step; a witness that needed it sees that, and falls back to
the stamps. There are as many stamps as the type has properties, and they are not dropped.

`news` in the arrays (`_speed/area`) is the number of the last step that had events, stored or not; these events are the
headline (`_speed/sight`). Compiled code compares the number with what each client has, and sends the headline where
that is all that the client lacks. Python runs only for clients that lack more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol

from terrazzo._speed.sight import OUTERMOST
from terrazzo.sync.protocol import EntityMessage
from terrazzo.wire.pairs.cell_cell import PackedEvent, Past, Step

STEPS_MAX = 128
"""More than the ticks that a real is on its way at most (`mending.ARRIVAL_S`), with its witness."""
BYTES_MAX = 65_536
AGE_S = 120.0
"""As long as the former home of a part forwards (`wire.entity.limits.ChannelLimits.stub_s`): a witness that is on its
way for longer has lost its client."""
PACKED_STEPS_MAX = STEPS_MAX
PACKED_BYTES_MAX = 16_384
PLACE = 1 << 16
RIDE = PLACE + 1
"""Subjects: no property has so high a place."""


class Manner(NamedTuple):
    """How an event is sent; see the module."""

    level: int = OUTERMOST
    distance: float = inf
    is_reliable: bool = True
    is_latest: bool = False

    @property
    def is_plain(self) -> bool:
        """Sent to all clients that see the entity, and not to be lost."""
        return self.level == OUTERMOST and self.distance == inf and self.is_reliable


PLAIN = Manner()


class EntityEvent(NamedTuple):
    """Something that other clients are sent."""

    subject: int
    message: EntityMessage
    manner: Manner = PLAIN
    row: int = 0
    """Where it is counted when it is sent to other clients (`cell/core/account.py`)."""


class _Step(NamedTuple):
    events: tuple[EntityEvent, ...]
    size: int


def without_places(past: Past) -> Past:
    """The past of an entity that is in another space by now, for clients that saw it in this one."""
    steps = (Step(each.number, tuple(e for e in each.events if e.subject not in (PLACE, RIDE))) for each in past.steps)
    return past._replace(steps=tuple(step for step in steps if step.events))


EventOf = Callable[[int, EntityMessage], EntityEvent]
"""The event of a subject, in the manner of its type."""


class History:
    """The latest steps of one entity that had events for clients."""

    __slots__ = ("_aged", "_bytes", "_stamps", "_steps", "floor", "rows")

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.rows: dict[int, bytes] = {}
        """By level of detail, until the next event: the properties for others, encoded (`EntityKind.describe`)."""
        self._stamps: dict[int, int] = {}
        self._steps: dict[int, _Step] = {}
        self._bytes = 0
        self._aged = floor
        """The newest step at the last call of `age`."""

    @property
    def newest(self) -> int:
        """The last step that is stored; the floor, if none is."""
        return next(reversed(self._steps), self.floor)

    @property
    def news(self) -> int:
        """The last step that had events, stored or not."""
        return max(self.newest, max(self._stamps.values(), default=0))

    def add(self, number: int, events: Sequence[EntityEvent]) -> None:
        """The events of the step of this number; numbers grow."""
        kept = tuple(each for each in events if each.manner.is_reliable)
        for subject, _, manner, _ in events:
            if manner.is_latest:
                self._take_out(subject)
            if subject >= 0 or manner.is_latest:
                self._stamps[subject] = number
        self.rows.clear()
        if kept:
            self._put(number, kept)
        while len(self._steps) > STEPS_MAX or self._bytes > BYTES_MAX:
            self._drop_oldest()

    def age(self) -> None:
        """Drops the steps that were there at the last call already."""
        while self._steps and next(iter(self._steps)) <= self._aged:
            self._drop_oldest()
        self._aged = self.newest

    def _drop_oldest(self) -> None:
        self.floor = next(iter(self._steps))
        self._bytes -= self._steps.pop(self.floor).size

    def _put(self, number: int, events: tuple[EntityEvent, ...]) -> None:
        step = self._steps[number] = _Step(events, sum(len(each.message.body) + 1 for each in events))
        self._bytes += step.size

    def _take_out(self, subject: int) -> None:
        """A later event of the same subject follows."""
        number = self._stamps.get(subject, -1)
        step = self._steps.get(number)
        if step is None:
            return
        self._bytes -= step.size
        rest = tuple(each for each in step.events if each.subject != subject)
        if rest:
            self._put(number, rest)
        else:
            del self._steps[number]

    def has_changed(self, subject: int, number: int) -> bool:
        """Whether a property, or the place, has changed after the step of this number."""
        return self._stamps.get(subject, -1) > number

    def since(self, number: int) -> list[EntityEvent] | None:
        """Everything kept after the step of this number, in order; None where that is no longer known."""
        if number < self.floor:
            return None
        later: list[_Step] = []
        for at, step in reversed(self._steps.items()):
            if at <= number:
                break
            later.append(step)
        return [each for step in reversed(later) for each in step.events]

    def pack(self, *, is_whole: bool = False) -> Past:
        """The latest of it, for another copy; all of it for one that has to be mended, and may be far behind."""
        floor, size, steps = self.floor, 0, list(self._steps.items())
        for at in range(len(steps) - 1, -1, -1):
            size += steps[at][1].size
            if not is_whole and (len(steps) - at > PACKED_STEPS_MAX or size > PACKED_BYTES_MAX):
                floor, steps = steps[at][0], steps[at + 1 :]
                break
        packed = (
            Step(number, tuple(PackedEvent(subject, *message) for subject, message, *_ in step.events))
            for number, step in steps
        )
        return Past(floor, tuple(packed), tuple(self._stamps.items()))

    @classmethod
    def unpack(cls, past: Past, event: EventOf) -> History:
        """Goes on here."""
        history = cls(past.floor)
        history.go_on(past.floor, past, event)
        return history

    def go_on(self, number: int, past: Past, event: EventOf) -> None:
        """Learns what came after the step of this number, up to which it is complete."""
        for step, events in past.steps:
            if step > number:
                self.add(
                    step, [event(subject, EntityMessage(message_id, body)) for subject, message_id, body in events]
                )
        self._stamps = dict(past.stamps)
        self.rows.clear()


class HasHistory(Protocol):
    """A body, as far as its history is concerned."""

    history: History


class Ageing:
    """Visits the histories of all bodies of one app in turn, each once in AGE_S."""

    def __init__(self, bodies: Mapping[int, HasHistory], tick_s: float) -> None:
        self._bodies = bodies
        self._share = tick_s / AGE_S
        self._due = 0.0
        self._left: list[int] = []

    def run(self) -> None:
        """One tick's share of the visits."""
        self._due += len(self._bodies) * self._share
        while self._due >= 1.0:
            self._due -= 1.0
            if not self._left:
                self._left = list(self._bodies)
            body = self._bodies.get(self._left.pop())
            if body is not None:
                body.history.age()
