"""The checks of what one client of the seamless scenario is sent, message by message (P4).

no message is a violation      the messages fit together (`sync.view`): nothing twice, all in pairs
a description                  is the state of the entity at that number, and not older than what was sent before
changes and calls              exactly the next of the entity's story: none missing, twice, early or late
places                         one that the entity had in that space, as exact as packing allows; never back
leaving                        has a reason: the entity was far away lately, or ended (without faults)
a body is lost                 only when the game did that
at rest                        the client has everything in the area, with equal values, and nothing else
"""

from __future__ import annotations

from math import hypot, inf, pi

from terrazzo.cell.core.real import Real
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.seamless.calls import Hold
from terrazzo.sim.scenarios.seamless.entity_story import Fact, Span, Stay, Story, Track
from terrazzo.sim.scenarios.seamless.history_gaps import Catching
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.reals_and_ghosts import NEAR_M
from terrazzo.sync.riding import encode_ride, place_on
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import (
    CellLost,
    CellPlayer,
    Changed,
    Entered,
    Left,
    MethodCalled,
    Moved,
    Seen,
    ViewEvent,
    Violation,
)
from terrazzo.wire.ids import life_of
from terrazzo.wire.pairs.base_cell import Position

PLACE_M = 1e-3
"""Places are sent as 32-bit floats."""
ANGLE = 2 * pi / 256 + 1e-3
LATELY_S = 5.0
"""Without faults no effect is later than this."""


class ViewJudge:
    """Follows one session of one client."""

    def __init__(self, name: str, judge: Judge) -> None:
        self.name = name
        self.heard = 0
        """The number of changes and calls received."""
        self._judge = judge
        self._at: dict[int, tuple[Story, Span]] = {}
        """The entities that this client has, and its progress in their stories."""
        self._past: dict[tuple[int, int], int] = {}
        """Its progress when an entity left, by entity and life."""
        self._passed: dict[tuple[int, int], int] = {}
        """The latest place of an entity that this client has had, by entity and life."""
        self._answers = 0
        self._own = 0
        self._catching: dict[int, Catching] = {}
        """Of the entities that this client has: the values that it gets in place of facts that no history has."""
        self.own_since = inf
        """When this client got its present body."""
        self._ended = -1
        """The last life of the own body with an end that this client has received."""
        self._turns: dict[int, int] = {}
        """How often each entity has come or gone."""

    def on_event(self, event: ViewEvent, view: ClientView) -> None:
        """The client has received something."""
        if isinstance(event, CellPlayer | CellLost | Entered | Left):
            self._turns[event.entity.id] = self._turns.get(event.entity.id, 0) + 1
        if isinstance(event, Violation):
            check(False, "P4", f"{self.name}: {event.fault.value}: {event.text}", self.name, event.entity)
        elif isinstance(event, CellPlayer):
            self._on_own(event.entity)
        elif isinstance(event, Entered):
            self._on_entered(event.entity)
        elif isinstance(event, Changed):
            self._on_changed(event.entity, event.name, is_own=event.entity is view.player)
        elif isinstance(event, MethodCalled):
            self._on_called(event, is_own=event.entity is view.player)
        elif isinstance(event, Moved):
            self._on_moved(event.entity, view)
        elif isinstance(event, Left):
            self._on_left(event.entity, view)
        elif isinstance(event, CellLost):
            self._past.clear()  # with the next body all other entities are described anew
            self._at.pop(event.entity.id)
            is_over, own = self._ends_one(event.entity.id), event.entity.id
            check(is_over, "P4", f"{self.name} lost its body, which lives", self.name, own)

    def _ends_one(self, entity: int) -> bool:
        """Whether a body of the own entity has ended without this client having received that. When a client receives
        the end of a body, the next one may exist already, and look the same."""
        over = [each.life for each in self._judge.stories[entity] if each.life > self._ended and each.is_over]
        self._ended = min(over, default=self._ended)
        return bool(over)

    def hold(self, entity: int) -> Hold:
        """What the client has of an entity now."""
        turns = self._turns[entity]
        return Hold(self._at[entity][0].life, lambda: self._turns[entity] == turns)

    # Coming and going.

    def _on_own(self, seen: Seen) -> None:
        """The latest body that was as this client was shown its own: while that was on its way, the next one may have
        begun."""
        stories = [each for each in self._judge.stories.get(seen.id, ()) if each.life > self._ended]
        check(bool(stories), "P4", f"{self.name} has a body that never was", self.name, seen.id)
        spans = [(each, each.own.span(values(seen, each.own))) for each in reversed(stories)]
        story, span = next((each for each in spans if isinstance(each[1], Span)), spans[0])
        what = f"{self.name} was shown its own {seen} as it never was: {span}"
        check(isinstance(span, Span), "P4", what, self.name, seen.id)
        assert isinstance(span, Span)
        self._at[seen.id] = (story, span)
        self._own = seen.id
        self.own_since = self._judge.world.clock.now

    def _place(self, seen: Seen) -> tuple[Story, int]:
        """The story that a description belongs to, and the number of facts that it includes."""
        stories = self._judge.stories.get(seen.id, [])
        story = next((each for each in reversed(stories) if each.life == life_of(seen.number)), None)
        mark = None if story is None else story.marks.get(seen.number)
        what = f"{self.name} was shown {seen} at number {seen.number}, which never was"
        check(mark is not None, "P4", what, self.name, seen.id)
        assert story is not None
        assert mark is not None
        return story, mark

    def _on_entered(self, seen: Seen) -> None:
        story, mark = self._place(seen)
        span = story.others.span(values(seen, story.others))
        fits = isinstance(span, Span) and span.low <= mark <= span.high
        what = f"{self.name} was shown {seen} at number {seen.number} (fact {mark}) as it was not: {span}"
        check(fits, "P4", what, self.name, seen.id)
        before = self._past.get((seen.id, story.life), 0)
        what = f"{self.name} was shown {seen} as of fact {mark} after {before}"
        check(mark >= before, "P4", what, self.name, seen.id)
        self._at[seen.id] = (story, Span(mark, mark))
        self._catching[seen.id] = Catching()
        self._check_shown(seen)

    def _check_shown(self, seen: Seen) -> None:
        """Checks that no entity is shown that has been withheld for long."""
        own, now = self._own, self._judge.world.clock.now
        is_hidden = self._judge.riding_and_visibility.withheld(own).get(seen.id, inf) < now - LATELY_S
        what = f"{self.name} was shown {seen}, which is withheld from it"
        check(not (is_hidden and self._judge.shape.is_peaceful), "P4", what, self.name, seen.id)

    def _on_left(self, seen: Seen, view: ClientView) -> None:
        story, at = self._at.pop(seen.id)
        self._past[seen.id, story.life] = at.low
        if self._judge.shape.is_peaceful and view.player is not None:
            what = f"{seen} left the area of {self.name}, though both were near each other all the time"
            since = self._judge.world.clock.now - LATELY_S
            check(self._has_reason(story, self._at[view.player.id][0], since), "P4", what, self.name, seen.id)

    def misses(self, story: Story, view: ClientView, since: float, lag_s: float) -> bool:
        """Whether a living entity is missing in a view though it has been near since then (`sightings.py`). A cell may
        have the place of one of the two up to `lag_s` later: all such pairs of places must be near."""
        own = view.player
        if own is None or own.id not in self._at or view.find(story.entity) is not None or self.own_since > since:
            return False
        mine = self._at[own.id][0]
        is_young = any(each.places[0].since > since for each in (story, mine))
        is_hidden = story.entity in self._judge.riding_and_visibility.withheld(own.id)
        return not (is_young or is_hidden or self._has_reason(story, mine, since, lag_s))

    def _has_reason(self, story: Story, own: Story, since: float, lag_s: float = inf) -> bool:
        """Whether the two were apart since then, or one of them has ended, or the client's radius is smaller than
        before. Places are compared that the two had within `lag_s`."""
        if story.is_over or own.is_over or self._judge.looked.get(own.entity, -inf) > since:
            return True
        if self._judge.riding_and_visibility.was_touched(own.entity, story.entity, since):
            return True
        radius = self._judge.radii.get(own.entity, self._judge.shape.area_radius_m)
        apart = radius + self._judge.appeal(story.type) - NEAR_M
        mine = timed(own.stays(since))
        return any(
            a.space != b.space or hypot(a.position[0] - b.position[0], a.position[2] - b.position[2]) > apart
            for a, a_until in timed(story.stays(since))
            for b, b_until in mine
            if is_within(a, a_until, b, b_until, lag_s)
        )

    # Changes, calls, places.

    def _on_changed(self, seen: Seen, name: str, *, is_own: bool) -> None:
        if not seen.state.layout.properties[seen.state.layout.index[name]].flags.value.base:
            self._follow(seen, (name, encoded(seen, name)), f"{name} = {seen.state[name]!r}", is_own=is_own)

    def _on_called(self, event: MethodCalled, *, is_own: bool) -> None:
        name, number = event.method.name, int(event.args[0])
        if name == "on_noted":
            what = f"{self.name} got answer {number} of its base after {self._answers}"
            check(number == self._answers + 1, "P4", what, self.name, event.entity.id)
            self._answers = number
        else:
            self._follow(event.entity, (name, number), f"{name} {number}", is_own=is_own)

    def _follow(self, seen: Seen, fact: Fact, words: str, *, is_own: bool) -> None:
        story, at = self._at[seen.id]
        track = story.own if is_own else story.others
        after = track.follow(at, fact)
        if after is None and not is_own:
            spans = self._judge.gaps.spans(self._own, story)
            after = self._catching[seen.id].follow(track, at, spans, fact)
        if after is None:
            known = [place for place, each in enumerate(track.facts) if each == fact]
            due = track.facts[at.low][0] if at.low < len(track.facts) else "nothing"
            what = f"{self.name} got {words} of {seen}: fact {known}, but {due} (fact {at.low}) was due"
            check(False, "P4", what, self.name, seen.id)
        assert after is not None
        self._at[seen.id] = (story, after)
        self.heard += 1

    def _on_moved(self, seen: Seen, view: ClientView) -> None:
        own = view.player
        if own is None or self._check_ride(seen, view) or seen is own:
            return
        story, _ = self._at[seen.id]
        error, key = packing_m(seen, view), (seen.id, story.life)
        first = 0 if seen.ride is not None else self._passed.get(key, 0)
        for at in range(first, len(story.places)):
            _, space, place = story.places[at]
            if space == view.space and all(abs(a - b) <= error for a, b in zip(place, seen.position, strict=True)):
                self._passed[key] = at
                return
        where = f"at {seen.position} in {view.space}, where it was not since place {first}"
        what = f"{self.name} got that {seen} is {where}"
        check(False, "P4", what, self.name, seen.id)

    def _check_ride(self, seen: Seen, view: ClientView) -> bool:
        """Checks that a rider is at its vehicle, at a seat that it had; returns whether it rides on a vehicle that this
        client has."""
        if seen.ride is None:
            return False
        what = f"{self.name} got that {seen} rides at {seen.ride}, which it never did"
        check(
            self._judge.riding_and_visibility.has_ridden(seen.id, encode_ride(seen.ride)),
            "P4",
            what,
            self.name,
            seen.id,
        )
        vehicle = view.find(seen.ride.vehicle)
        if vehicle is None:
            return False
        if vehicle.ride is not None:
            return True  # the vehicle has just boarded another one, and its own riders will lose it
        place = place_on(vehicle.position, vehicle.direction, seen.ride)
        what = f"{self.name} sees {seen} at {seen.position}, which is not its seat on {vehicle}: {place}"
        check(place == (seen.position, seen.direction), "P4", what, self.name, seen.id)
        return True

    # At rest.

    def unrest(self, view: ClientView, real: Real, reals: list[Real]) -> str | None:
        """A difference between the view and the true state."""
        own = view.player
        assert own is not None
        if view.space != real.body.space.id:
            return f"{self.name} thinks it is in space {view.space}"
        error, place = PLACE_M if vehicle_of(own, view) is None else packing_m(own, view), place_of(own, real, view)
        if any(abs(a - b) > error for a, b in zip(own.position, place, strict=True)):
            return f"{self.name} thinks it is at {own.position}, it is at {place}"
        there: dict[int, Real] = {
            each.body.id: each for each in reals if each.body.space.id == real.body.space.id and each is not real
        }
        must, may = self.area(real, list(there.values()))
        if must - view.others.keys():
            return f"{self.name} does not see entities {sorted(must - view.others.keys())}"
        if view.others.keys() - may:
            return f"{self.name} still sees entities {sorted(view.others.keys() - may)}"
        problem = self._difference(own, real, view)
        for entity, seen in view.others.items():
            problem = problem or self._difference(seen, there[entity], view)
        return problem

    def area(self, real: Real, others: list[Real]) -> tuple[set[int], set[int]]:
        """The entities that must be in the area of a real's client, and those that may be."""
        radius = self._judge.radii.get(real.body.id, self._judge.shape.area_radius_m)
        seen = [other for other in others if other.body.kind.schema.on_client]
        farther = radius + real.body.core.game.policy.area_hysteresis_m + 2 * NEAR_M
        there: set[int] = {other.body.id for other in seen}
        shown = self._judge.riding_and_visibility.shown
        return (
            shown(real.body.id, inside(real, seen, radius), there),
            shown(real.body.id, inside(real, seen, farther), there),
        )

    def _difference(self, seen: Seen, real: Real, view: ClientView) -> str | None:
        """A difference of one entity at rest."""
        if seen.ride != real.body.ride:
            return f"{self.name} sees {seen} ride {seen.ride}, it rides {real.body.ride}"
        is_own = seen is view.player
        wrong = self._wrong_words(seen, real, view, is_own=is_own)
        return wrong if wrong is not None or is_own else self._misplaced(seen, real, view)

    def _wrong_words(self, seen: Seen, real: Real, view: ClientView, *, is_own: bool) -> str | None:
        """The facts that it has not received."""
        story, at = self._at[seen.id]
        spans = [] if is_own else self._judge.gaps.spans(self._own, story)
        due = story.own.due(at) if is_own else self._catching[seen.id].due(story.others, at, spans)
        return None if due is None else f"{self.name} has not got {due[0]} of {seen} (fact {at.low})"

    def _misplaced(self, seen: Seen, real: Real, view: ClientView) -> str | None:
        """A wrong place or direction."""
        error, place = packing_m(seen, view), place_of(seen, real, view)
        if any(abs(a - b) > error for a, b in zip(seen.position, place, strict=True)):
            return f"{self.name} sees {seen} at {seen.position}, it is at {place}"
        off = abs((seen.yaw - real.body.direction[0] + pi) % (2 * pi) - pi)
        if (vehicle_of(seen, view) is not None or seen.schema.volatile.yaw is not None) and off > ANGLE:
            return f"{self.name} sees {seen} look at {seen.yaw}, it looks at {real.body.direction[0]}"
        return None


def timed(stays: list[Stay]) -> list[tuple[Stay, float]]:
    """Each stay, with its end."""
    return list(zip(stays, [*(each.since for each in stays[1:]), inf], strict=True))


def is_within(a: Stay, a_until: float, b: Stay, b_until: float, lag_s: float) -> bool:
    """Whether some moments of two stays are at most `lag_s` apart."""
    return a.since <= b_until + lag_s and b.since <= a_until + lag_s


def inside(real: Real, others: list[Real], radius: float) -> set[int]:
    """The entities within the radius, on the ground, plus the appeal of their type."""
    x, _, z = real.body.position
    away = {
        other.body.id: hypot(other.body.position[0] - x, other.body.position[2] - z)
        - other.body.kind.schema.appeal_radius
        for other in others
    }
    return {entity for entity, distance in away.items() if distance <= radius - NEAR_M}


def vehicle_of(seen: Seen, view: ClientView) -> Seen | None:
    """The vehicle of an entity, as this client has it."""
    return None if seen.ride is None else view.find(seen.ride.vehicle)


def place_of(seen: Seen, real: Real, view: ClientView) -> Position:
    """The place at which a client has an entity at rest: its true place; on a vehicle that the client has, the seat.
    The seat may be beyond the bounds of the space, which clients do not have."""
    if seen.ride is None or vehicle_of(seen, view) is None:
        return real.body.position
    vehicle = real.body.core.bodies.get(seen.ride.vehicle)
    if vehicle is None:
        return real.body.position  # the real has lost its vehicle; the client will receive that
    return place_on(vehicle.position, vehicle.direction, seen.ride)[0]


def packing_m(seen: Seen, view: ClientView) -> float:
    """The error of a packed place: it has eight bits of the distance from the viewer. On a vehicle, the error of the
    vehicle's place and of its direction."""
    own, vehicle = view.player, vehicle_of(seen, view)
    assert own is not None
    carrier = vehicle or seen
    away = max(abs(a - b) for a, b in zip(carrier.position, own.position, strict=True))
    if vehicle is None or seen.ride is None:
        return 0.1 + (away + 10.0) / 128
    return 0.1 + (away + 10.0) / 128 + ANGLE * hypot(seen.ride.position[0], seen.ride.position[2])


def values(seen: Seen, track: Track) -> dict[str, bytes]:
    """The values that a client has of an entity, as far as this audience gets them from the cell."""
    return {name: encoded(seen, name) for name in seen.state.layout.names if track.has(name)}


def encoded(seen: Seen, name: str) -> bytes:
    """A value as the client has it."""
    layout = seen.state.layout
    return layout.codecs[layout.index[name]].encode(seen.state[name])
