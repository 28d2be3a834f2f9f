"""The numbers of an entity's story that a client may miss, because no history has them any more (P4).

A cell keeps the latest steps of each entity (`cell/core/history.py`). A client that has the entity up to a number below
the floor of that history gets each property that has changed since, with its present value; the calls between are lost
for it. So a client may miss the facts between the number that it had and the number at which it was caught up so. All
facts before and after it must get as any other client does.

The numbers are recorded when a client was served, by client (its own entity) and by entity, and only if the client was
caught up then. A client that owes bytes may lack the same steps over many ticks, in several cells: the cell that
catches it up at last may have the entity at an earlier number than the cell before.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core import history
from terrazzo.cell.core.real import Real
from terrazzo.sim.scenarios.seamless.entity_story import Fact, Span, Story, Track

USUAL_STEPS = history.STEPS_MAX


class Gap(NamedTuple):
    """Numbers of an entity of which no history had the steps."""

    low: int
    """The client had everything up to this one."""
    high: int
    """It has the entity up to this one since it was caught up."""


class Lack(NamedTuple):
    """What a client lacks of an entity before it is served, while no history has it."""

    sent: int
    """The client has everything up to this one."""
    number: int
    """The number of the entity in the client's cell."""


class Gaps:
    """The gaps of all clients of one world."""

    def __init__(self) -> None:
        self._gaps: dict[tuple[int, int], dict[Gap, None]] = {}
        """By client and entity, in their order."""

    def __len__(self) -> int:
        return len(self._gaps)

    def note(self, own: int, entity: int, low: int, high: int) -> None:
        """The client of `own` had the entity up to `low`, and was caught up to `high`."""
        self._gaps.setdefault((own, entity), {})[Gap(low, high)] = None

    def lacks(self, real: Real) -> dict[int, Lack]:
        """What a client lacks before it is served, by entity, in a world of short histories."""
        witness = witness_of(real)
        assert witness is not None
        if history.STEPS_MAX >= USUAL_STEPS:
            return {}
        sight, bodies = witness.sent.sight, real.body.space.bodies
        here = [(entity, bodies[entity]) for entity in sight.entities() if entity in bodies]
        return {
            entity: Lack(sight.sent(entity), body.number)
            for entity, body in here
            if sight.sent(entity) < body.history.floor
        }

    def note_all(self, real: Real, lacks: dict[int, Lack]) -> None:
        """The client was served: what it lacked before and does not lack now it was caught up with. An entity that is
        gone for the client was caught up to its number, before the leave."""
        witness = witness_of(real)
        for entity, lack in lacks.items():
            is_gone = witness is None or witness.sent.sight.flags(entity) < 0
            sent = lack.number if witness is None or is_gone else witness.sent.sight.sent(entity)
            if sent != lack.sent:
                self.note(real.body.id, entity, lack.sent, sent)

    def of(self, own: int, entity: int) -> list[Gap]:
        """The gaps of one client in the story of one entity."""
        return list(self._gaps.get((own, entity), ()))

    def spans(self, own: int, story: Story) -> list[Span]:
        """The same as places in the facts for others: those from `low` up to, not including, `high` may be missing."""
        marks = story.marks
        return [Span(marks[a], marks[b]) for a, b in self.of(own, story.entity) if a in marks and b in marks]


class Catching:
    """A client of the seamless scenario that gets the latest values in place of lost facts."""

    def __init__(self) -> None:
        self._owed: dict[str, bytes] = {}
        """The properties that it must still get, before anything else."""

    def follow(self, track: Track, at: Span, spans: list[Span], fact: Fact) -> Span | None:
        """The progress of the client after this fact; None when it does not fit any gap."""
        if self._owed.get(fact[0]) == fact[1]:
            del self._owed[fact[0]]
            return at
        if self._owed:
            return None
        for low, high in spans:
            if low <= at.low < high:
                latest = _latest(track, at.low, high)
                if latest.get(fact[0]) == fact[1]:
                    del latest[fact[0]]
                    self._owed = latest
                    return Span(high, high)
                after = None if latest else track.follow(Span(high, high), fact)
                if after is not None:
                    return after
        return None

    def due(self, track: Track, at: Span, spans: list[Span]) -> Fact | None:
        """The next fact that must still arrive."""
        if self._owed:
            return next(iter(self._owed.items()))
        due = track.due(at)
        for low, high in spans:
            if due is not None and low <= at.low < high and not _latest(track, at.low, high):
                due = track.due(Span(high, high))
        return due


def _latest(track: Track, low: int, high: int) -> dict[str, bytes]:
    """The properties that changed between two places, with their values at the second."""
    return {name: value for name, value in track.facts[low:high] if isinstance(value, bytes)}
