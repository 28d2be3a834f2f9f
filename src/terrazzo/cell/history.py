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

An event is a message for clients that lacks only the alias: encoded once, whoever sees the entity (`cell/story.py`).
Its **subject** is what it is about, its **manner** how it is told, which the type says (`cell/kind.py`):

    subject     0, 1, …   a property, by its place in the cell layout
                PLACE     where the entity is, if its position is not volatile
                RIDE      what it stands on (`cell/riding.py`)
                ~0, ~1, … a call of a client method
    manner      level         told to clients that have the entity at this level of detail or nearer
                distance      a call is heard by those who are this near when they are told
                is_reliable   if not, it may be lost: it is told at once or never, and not kept here
                is_latest     a later event takes its place: the earlier one is taken out, the later one is at its own

Each property has a **stamp**, the number of its last change; what has none has not changed in this life of the entity.
For that to be true a history begins with the entity, or is taken over from another copy (`adopt`), in no other way.
What can be caught up by stamps is told as it is now: so a client that comes nearer gets what changed while it was away
(`cell/story.py`), and what was not kept is not lost for who was late.

**Trimming.** With each step that is added the oldest go, as long as there are more than STEPS_MAX or BYTES_MAX of them:
one or two at a time, so that no tick has to clean up. A step that was already there when `Ageing` came by the last time
goes, too: each history is visited once in AGE_S, a few histories in each tick, so a step stays for AGE_S to twice that.
The floor rises to the number of what went: that is how a witness that needed it finds out, and falls back to the
stamps. Those are as many as the type has properties, and stay.

`news` in the arrays (`_speed/area`) is the number of the last step that told something, kept or not; its events are the
headline (`_speed/sight`): compiled code compares the number with what each client has, and tells it the headline where
that is all it lacks. Python runs only for those who lack more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from terrazzo._speed.sight import OUTERMOST
from terrazzo.sync.protocol import Told
from terrazzo.wire.pairs.cell_cell import PackedEvent, Past, Step

if TYPE_CHECKING:
    from terrazzo.cell.body import Body

STEPS_MAX = 128
"""More than the ticks that a real is on its way at most (`mending.ARRIVAL_S`), with its witness."""
BYTES_MAX = 65_536
AGE_S = 120.0
"""As long as the former home of a part forwards (`wire.entity.channel.ChannelLimits.stub_s`): a witness that is on its
way for longer has lost its client."""
PACKED_STEPS_MAX = STEPS_MAX
PACKED_BYTES_MAX = 16_384
PLACE = 1 << 16
RIDE = PLACE + 1
"""Subjects: no property has so high a place."""


class Manner(NamedTuple):
    """How an event is told; see the module."""

    level: int = OUTERMOST
    distance: float = inf
    is_reliable: bool = True
    is_latest: bool = False

    @property
    def is_plain(self) -> bool:
        """Told to all who see the entity, and not to be lost."""
        return self.level == OUTERMOST and self.distance == inf and self.is_reliable


PLAIN = Manner()


class Event(NamedTuple):
    """Something that other clients hear."""

    subject: int
    told: Told
    manner: Manner = PLAIN
    row: int = 0
    """Where it is counted when other clients are told (`cell/account.py`)."""


class _Step(NamedTuple):
    events: tuple[Event, ...]
    size: int


def record(body: Body, number: int, events: Sequence[Event]) -> None:
    """The step of this number of a body told other clients this. Real and ghost alike."""
    if events:
        before = max(body.history.newest, body.space.area.news(body.slot))
        body.history.add(number, events)
        body.space.area.set_news(body.slot, number)
        manners = None if all(each.manner.is_plain for each in events) else [each.manner for each in events]
        told, rows = [each.told for each in events], [each.row for each in events]
        body.space.headlines.set(body.slot, body.id, before, number, told, manners, rows)


def adopt(body: Body, past: Past) -> None:
    """A body is made, or made anew, from what another app sent: what was before. `body.number` is still the old one:
    what the body itself knows of the time before is kept where it reaches further back."""
    history = body.history
    if history.floor < past.floor <= body.number:
        history.go_on(body.number, past, body.kind.event)
    else:
        body.history = history = History.unpack(past, body.kind.event)
    body.space.area.set_news(body.slot, history.news)


def without_places(past: Past) -> Past:
    """The past of an entity that is in another space by now, for those who saw it in this one."""
    steps = (Step(each.number, tuple(e for e in each.events if e.subject not in (PLACE, RIDE))) for each in past.steps)
    return past._replace(steps=tuple(step for step in steps if step.events))


EventOf = Callable[[int, Told], Event]
"""The event of a subject, told in the manner of its type."""


class History:
    """The latest steps of one entity in which clients were told something."""

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
        """The last step of which something is kept. Below the floor nobody knows."""
        return next(reversed(self._steps), self.floor)

    @property
    def news(self) -> int:
        """The last step that told something, kept or not."""
        return max(self.newest, max(self._stamps.values(), default=0))

    def add(self, number: int, events: Sequence[Event]) -> None:
        """The step of this number told this; numbers grow."""
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

    def _put(self, number: int, events: tuple[Event, ...]) -> None:
        step = self._steps[number] = _Step(events, sum(len(each.told.body) + 1 for each in events))
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

    def since(self, number: int) -> list[Event] | None:
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
            Step(number, tuple(PackedEvent(subject, *told) for subject, told, *_ in step.events))
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
                self.add(step, [event(subject, Told(message_id, body)) for subject, message_id, body in events])
        self._stamps = dict(past.stamps)
        self.rows.clear()


class Ageing:
    """Visits the histories of all bodies of one app in turn, each once in AGE_S."""

    def __init__(self, bodies: Mapping[int, Body], tick_s: float) -> None:
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
