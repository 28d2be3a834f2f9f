"""The story of an entity as the judge recorded it: clients and ghosts are compared with it (P3, P4).

A story is one life of one cell part. It has a **track** for each audience (the own client; all other clients): the
changes and calls that this audience gets, in order. The progress of a client in a track is one number, how many facts
it has received. Values are unique (`entity_types.py`), so a whole description shows between which two facts it was
made:

    facts        hp=3   said 1   bag=…   said 2   hp=7        a description with hp=3 and the new bag
    progress  0      1        2       3        4       5      was made at 3 or at 4, before hp=7

After it everything must come in the order of the track, and nothing else. Only calls between the two ends of that span
may be missing: the description does not show whether they were made before it. Descriptions of others have the number
of their step, so their position is exact.

A story also has the row of each numbered step (what a ghost of that number must be), and the facts of that step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from terrazzo.cell.core.body import Body, pack_ride
from terrazzo.cell.core.history import RIDE, EntityEvent
from terrazzo.schema.flags import Receiver
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import Property
from terrazzo.sync.riding import decode_ride
from terrazzo.wire.pairs.base_cell import Direction, Position

Fact = tuple[str, bytes | int]
"""A property and its new value, encoded; or a client method and the number of the call."""


class Row(NamedTuple):
    """The state of a ghost at one number."""

    properties: bytes
    position: Position
    direction: Direction
    space: int
    ride: bytes


class Stay(NamedTuple):
    """A place, and since when the entity was there."""

    since: float
    space: int
    position: Position


class Span(NamedTuple):
    """Where in a track a description was made: after at least `low` and at most `high` facts."""

    low: int
    high: int


class Track:
    """The facts of one audience."""

    def __init__(self, receiver: Receiver, layout: Layout, values: list[object]) -> None:
        self.facts: list[Fact] = []
        self.now: dict[str, bytes] = {}
        """Every property that this audience gets, with its present value."""
        self._codecs = {each.name: each.codec_for(receiver) for each in layout.properties if receiver.gets(each.flags)}
        for name, value in zip(layout.names, values, strict=True):
            if name in self._codecs:
                self.now[name] = self._codecs[name].encode(value)
        self._since: dict[Fact, int] = dict.fromkeys(self.now.items(), 0)
        self._starts: dict[str, list[int]] = {name: [0] for name in self.now}

    def change(self, prop: Property, value: object) -> bool:
        """A property has a new value; False when it had the value before, which the game must avoid. A change of a
        hidden part of the value is no fact of this audience."""
        name = prop.name
        seen = self._codecs[name].encode(value)
        if seen == self.now[name] and self._codecs[name] is not prop.codec:
            return True
        self.now[name] = seen
        return self._add(name, seen)

    def is_new(self, prop: Property, value: object) -> bool:
        """Whether the game may change the property to this value."""
        seen = self._codecs[prop.name].encode(value)
        is_hidden = seen == self.now[prop.name] and self._codecs[prop.name] is not prop.codec
        return is_hidden or (prop.name, seen) not in self._since

    def _add(self, name: str, value: bytes) -> bool:
        self.facts.append((name, value))
        self._starts[name].append(len(self.facts))
        known = self._since.setdefault((name, value), len(self.facts))
        return known == len(self.facts)

    def call(self, method: str, number: int) -> None:
        """A client method is called."""
        self.facts.append((method, number))
        self._since[method, number] = len(self.facts)

    def has(self, name: str) -> bool:
        """Whether this audience gets the property."""
        return name in self._starts

    def place(self, fact: Fact) -> int | None:
        """The number of facts up to this one; 0 for an initial value."""
        return self._since.get(fact)

    def start(self, name: str, mark: int) -> int:
        """The number of facts after which a property had the value that it had after `mark` facts."""
        starts = self._starts[name]
        return starts[bisect_right(starts, mark) - 1]

    def span(self, values: dict[str, bytes]) -> Span | str:
        """The span in which the entity had all these values at once; or what is wrong with them."""
        low, high = 0, len(self.facts)
        latest = earliest = ""
        for name, value in values.items():
            since = self._since.get((name, value))
            if since is None:
                return f"{name} never had that value"
            starts = self._starts[name]
            place = starts.index(since) + 1
            until = starts[place] - 1 if place < len(starts) else len(self.facts)
            if since > low:
                low, latest = since, name
            if until < high:
                high, earliest = until, name
        return Span(low, high) if low <= high else f"{earliest} is older than {latest} was new"

    def follow(self, at: Span, fact: Fact) -> Span | None:
        """The progress of a client after this fact; None when another fact was due."""
        place = at.low
        while place < len(self.facts):
            if self.facts[place] == fact:
                return Span(place + 1, max(place + 1, at.high))
            if place >= at.high or isinstance(self.facts[place][1], bytes):
                return None
            place += 1
        return None

    def due(self, at: Span) -> Fact | None:
        """The next fact that must still arrive; None if there is none."""
        return next((fact for fact in self.facts[max(at) :]), None) or next(
            (fact for fact in self.facts[at.low : at.high] if isinstance(fact[1], bytes)), None
        )


class Steps:
    """The events of each step for other clients, as the history of the real stores them."""

    def __init__(self) -> None:
        self.events: dict[int, list[EntityEvent]] = {}
        """By number; steps without events that are stored are left out."""
        self._replaced: dict[int, set[int]] = {}
        """The subjects of latest events that each step has replaced, perhaps by an event that is not stored: an
        unreliable property is sent reliably, and stored, only where its value does not fit a datagram."""
        self._latest: set[int] = set()
        """The subjects that ever had a latest event which was stored."""

    def add(self, number: int, events: list[EntityEvent], has_changed: Callable[[int], bool]) -> None:
        """A step with these events, which has changed these subjects."""
        if events:
            self.events[number] = events
        self._latest.update(each.subject for each in events if each.manner.is_latest)
        if replaced := {subject for subject in self._latest if has_changed(subject)}:
            self._replaced[number] = replaced

    def between(self, low: int, high: int) -> list[EntityEvent]:
        """The events of the steps after `low`, up to `high`, without those that a later step has replaced."""
        steps = [(number, each) for number in range(low + 1, high + 1) for each in self.events.get(number, ())]
        last = {subject: number for number in range(low + 1, high + 1) for subject in self._replaced.get(number, ())}
        return [each for number, each in steps if not each.manner.is_latest or last.get(each.subject, number) == number]


class Story:
    """One life of one cell part."""

    def __init__(self, body: Body, life: int) -> None:
        layout, values = body.kind.schema.cell_layout, body.state.values()
        self.entity, self.life, self.type = body.id, life, body.kind.name
        self.values = values_of(layout, values)
        """Every property as it is now, encoded."""
        self.own = Track(Receiver.OWN_CLIENT, layout, values)
        self.others = Track(Receiver.OTHER_CLIENTS, layout, values)
        self.rows: dict[int, Row] = {}
        self.steps = Steps()
        self.marks: dict[int, int] = {}
        """The number of facts for others when a step was closed."""
        self.places: list[Stay] = []
        self.number = -1
        self.is_over = False

    def change(self, prop: Property, value: object) -> bool:
        """A property has a new value; False when it had it before."""
        self.values[prop.name] = prop.codec.encode(value)
        return sum(not track.change(prop, value) for track in self._tracks(prop)) == 0

    def is_new(self, prop: Property, value: object) -> bool:
        """Whether a property has not had this value yet, for any audience."""
        is_other = prop.codec.encode(value) != self.values[prop.name]
        return is_other and all(track.is_new(prop, value) for track in self._tracks(prop))

    def _tracks(self, prop: Property) -> list[Track]:
        return [track for track in (self.own, self.others) if track.has(prop.name)]

    def step(
        self, now: float, number: int, row: Row, told: list[EntityEvent], has_changed: Callable[[int], bool]
    ) -> str | None:
        """The real has closed a step, with this state and these events, and with changes of these subjects; returns
        what is wrong with that."""
        if number in self.rows:
            return None if self.rows[number] == row else f"has changed without a step after {number}"
        if self.rows and number != self.number + 1:
            return f"goes from number {self.number} to {number}"
        self.number = number
        self.rows[number] = row
        self.marks[number] = len(self.others.facts)
        self.steps.add(number, told, has_changed)
        if told:
            self.places += [Stay(now, row.space, place) for place in alighted(told)]
        if not self.places or self.places[-1][1:] != (row.space, row.position):
            self.places.append(Stay(now, row.space, row.position))
        return None

    def stays(self, since: float) -> list[Stay]:
        """The places where it was in that time."""
        first = len(self.places) - 1
        while first > 0 and self.places[first].since > since:
            first -= 1
        return self.places[max(first, 0) :]


def alighted(told: list[EntityEvent]) -> list[Position]:
    """The places at which it alighted in a step; it may have moved on in the same step."""
    rides = [decode_ride(each.message.body) for each in told if each.subject == RIDE]
    return [ride.position for ride in rides if not ride.vehicle]


def values_of(layout: Layout, values: list[object]) -> dict[str, bytes]:
    """The encoded values by name."""
    return {name: codec.encode(value) for name, codec, value in zip(layout.names, layout.codecs, values, strict=True)}


def row_of(body: Body) -> Row:
    """The state of a ghost of this body at its present number."""
    layout = body.kind.schema.ghost_layout
    properties = layout.row.encode(body.state.values()[: len(layout)])
    return Row(properties, body.position, body.direction, body.space.id, pack_ride(body))
