"""The progress of one client of the sync scenario in the story of one entity, and whether the next fact fits (P4).

For each property the client has one of the values that the property had, and gets only newer ones. Facts may be missing
in between only for a reason that is in the schema:

    (none of these)          no fact is missing: the client gets all such facts, in the order of the story
    latest-only              values that were replaced; but no fact of an earlier step is sent after it, and none of a
                             later one before. (Not judged for a share of a value: a value that is sent whole because
                             of a hidden change is sent later than this audience saw it change.)
    level of detail          facts of a time when the entity was too far away; judged by the places (`client_view.py`)
    not reliable             facts that were lost

and for one reason in the engine: the history no longer had what the client missed
(`sim/scenarios/seamless/history_gaps.py`). Only the facts of those numbers may be missing then.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from typing import NamedTuple

from terrazzo.schema.flags import Receiver
from terrazzo.schema.model import EntitySchema
from terrazzo.sim.scenarios.seamless.entity_story import Fact, Span, Story, Track


class Manner(NamedTuple):
    """How a property, or a client method, is sent to one audience: to other clients or the own one."""

    is_latest: bool = False
    is_reliable: bool = True
    within_m: float | None = None
    """The distance up to which it is sent, by its level of detail or by the method."""
    hysteresis_m: float = 0.0
    is_share: bool = False
    """This audience gets only a share of the value."""

    @property
    def is_complete(self) -> bool:
        """Whether no fact of it may be missing."""
        return not self.is_latest and self.is_reliable and self.within_m is None

    @property
    def may_repeat(self) -> bool:
        """Whether the value is sent whole when anything in it has changed, also something hidden from this audience."""
        return self.is_share and (self.is_latest or not self.is_reliable)


def manners_of(schema: EntitySchema, *, is_own: bool) -> dict[str, Manner]:
    """The manners by property and client method; for the own client no distance is too far."""
    levels = {each.label: each for each in schema.detail_levels}
    found = {}
    for prop in schema.client_properties:
        level = None if is_own or prop.detail_level is None else levels[prop.detail_level]
        within_m, hysteresis_m = (None, 0.0) if level is None else (level.start, level.hysteresis)
        is_share = prop.codec_for(Receiver.OWN_CLIENT if is_own else Receiver.OTHER_CLIENTS) is not prop.codec
        found[prop.name] = Manner(prop.send_latest_only, prop.is_reliable, within_m, hysteresis_m, is_share)
    for method in schema.client_methods:
        distance = None if is_own else method.detail_distance
        found[method.name] = Manner(method.send_latest_only, method.is_reliable, distance)
    return found


class Wrong(Enum):
    """What can be wrong with a fact that a client gets."""

    NEVER = "was never so"
    AGAIN = "is not newer than what it has got"
    SKIPPED = "comes before what was due"
    TOO_EARLY = "is of a later step than what is still due"
    TOO_LATE = "is of an earlier step than what it has got"


class ClientProgress:
    """One client, one entity."""

    def __init__(self, story: Story, track: Track, manners: dict[str, Manner], at: int, sure: int) -> None:
        self.story = story
        self.begin = self.at = at
        """The number of facts of the story before the description."""
        self.has: dict[str, int] = {}
        """The value of each property that it has, and the last call of each method that it got, by place in the
        story."""
        self.open: set[str] = set()
        """Properties with a level of detail without a fact since the description, which may have had an older value."""
        self.track = track
        self.manners = manners
        self._excused: set[Span] = set()
        """The places in the story that the history no longer had."""
        self._sure = sure
        """Calls before this place may have been made before the description."""

    @property
    def facts(self) -> list[Fact]:
        """All facts of the story."""
        return self.track.facts

    def excuse(self, spans: list[Span]) -> None:
        """Allows the facts between two places of the story to be missing."""
        self._excused.update(spans)

    def is_excused(self, place: int) -> bool:
        """Whether this fact, counted from 0, may be missing."""
        return any(low <= place < high for low, high in self._excused)

    def hear(self, fact: Fact) -> Wrong | None:
        """Takes the next fact; returns what is wrong with it."""
        name = fact[0]
        manner, place = self.manners[name], self.track.place(fact)
        if place is None:
            return Wrong.NEVER
        has, is_open = self.has.get(name, 0), name in self.open
        if place < has or (place == has and not (is_open or manner.may_repeat)):
            return Wrong.AGAIN
        self.has[name] = place
        self.open.discard(name)
        if place == has:
            return None
        if manner.is_complete:
            due = self.due()
            self.at = max(self.at, place)
            return Wrong.SKIPPED if due is not None and due + 1 < place else None
        may_stray = manner.may_repeat or self.is_excused(place - 1)
        if manner.is_latest and not may_stray and manner.is_reliable and manner.within_m is None:
            return self._misplaced(place)
        return None

    def due(self) -> int | None:
        """The first fact that must still arrive."""
        for place in range(self.at, len(self.facts)):
            name, value = self.facts[place]
            is_due = self.manners[name].is_complete and (place >= self._sure or isinstance(value, bytes))
            if is_due and not self.is_excused(place):
                return place
        return None

    def _misplaced(self, place: int) -> Wrong | None:
        """Whether a latest-only fact is at the wrong place among the others; their steps are compared."""
        if self.track is not self.story.others:
            return None
        marks = list(self.story.marks.values())
        step, due = bisect_left(marks, place), self.due()
        if due is not None and bisect_left(marks, due + 1) < step:
            return Wrong.TOO_EARLY
        return Wrong.TOO_LATE if self.at and bisect_left(marks, self.at) > step else None
