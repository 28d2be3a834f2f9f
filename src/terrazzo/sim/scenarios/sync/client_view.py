"""The checks of what one client of the sync scenario is sent of properties and calls (P4).

    a description      has every property as it was at that number; a property with a level may have an earlier value
    a fact             fits the client's progress (`client_progress.py`); a change runs one callback, with the old value
    from near only     arrives only at clients that were near lately (or before a long time without facts of that
                       entity), and none is missing for a client that was near all the time; judged without faults,
                       since then no place is long out of date
    at rest            each property has a value that its flags and level allow: the present one, the last one that the
                       client got, or the default

The contents of the area, the places, and the reasons for leaving are judged as in
`sim/scenarios/seamless/client_view.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf

from terrazzo.cell.core.real import Real
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.seamless.client_view import (
    LATELY_S,
    PLACE_M,
    ViewJudge,
    encoded,
    packing_m,
    place_of,
    values,
    vehicle_of,
)
from terrazzo.sim.scenarios.seamless.entity_story import Fact, Span, Story
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.reals_and_ghosts import NEAR_M
from terrazzo.sim.scenarios.sync.client_progress import ClientProgress, Manner, Wrong, manners_of
from terrazzo.sim.scenarios.sync.game import SyncJudge
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import CellLost, CellPlayer, Changed, Entered, MethodCalled, Seen, ViewEvent

FAR_M = 2.0
"""An entity may move so far while its place is on the way to the client."""
TOGETHER_S = 1.0
"""Messages that were sent together arrive within this time."""


class SyncView(ViewJudge):
    """Follows one session of one client."""

    def __init__(self, name: str, judge: Judge) -> None:
        super().__init__(name, judge)
        assert isinstance(judge, SyncJudge)
        self._sync = judge
        self._progress: dict[int, ClientProgress] = {}
        self._described_at: dict[int, float] = {}
        self._told_at: dict[tuple[int, str], float] = {}
        """The time of the last fact of a property, or method, of an entity."""
        self._heard_at: dict[int, float] = {}
        """The time of the last message about an entity."""
        self._silent: dict[int, tuple[float, float]] = {}
        """The time of the first message about an entity after a longer pause, and of the one before the pause."""
        self._values: dict[tuple[int, str], bytes] = {}
        """Every property of every entity as this client has it."""
        self._known: dict[tuple[int, str], set[bytes]] = {}
        """Every value that this client has had of an entity's property."""

    def on_event(self, event: ViewEvent, view: ClientView) -> None:
        """See ViewJudge."""
        if isinstance(event, Changed):
            self._check_callback(event)
        if isinstance(event, MethodCalled) and view.space is None and not event.method.is_reliable:
            return  # sent by the next body, before the client has it: unreliable messages may come early
        super().on_event(event, view)
        if isinstance(event, CellLost):
            self._progress.clear()  # with the next body all other entities are described anew
        if isinstance(event, (CellPlayer, Entered)):
            layout = event.entity.state.layout
            self._values |= {(event.entity.id, name): encoded(event.entity, name) for name in layout.names}

    def _check_callback(self, event: Changed) -> None:
        """Checks that the callback of this change ran once, with the old value."""
        seen, name = event.entity, event.name
        calls, self._sync.callbacks = self._sync.callbacks, []
        exact, args = event.applied.callback(name)
        what = f"{self.name} got {name} of {seen}, and its part was called with {calls}"
        check(len(calls) == 1 and calls[0][0] == seen.id, "P4", what, self.name, seen.id)
        before = self._values.get((seen.id, name))
        if calls[0][1] != f"set_{name}":
            check(calls[0][1:] == (exact, args), "P4", what, self.name, seen.id)
        elif before is not None:
            layout = seen.state.layout
            old = layout.codecs[layout.index[name]].encode(calls[0][2][0])
            check(old == before, "P4", f"{what}, which is not what it had", self.name, seen.id)
        self._values[seen.id, name] = encoded(seen, name)

    # Descriptions.

    def _on_own(self, seen: Seen) -> None:
        super()._on_own(seen)
        story, span = self._at[seen.id]
        manners = manners_of(seen.schema, is_own=True)
        self._progress[seen.id] = progress = ClientProgress(story, story.own, manners, span.low, span.high)
        for name, value in values(seen, story.own).items():
            progress.has[name] = story.own.start(name, span.low)
            self._known.setdefault((seen.id, name), set()).add(value)

    def _on_entered(self, seen: Seen) -> None:
        story, mark = self._place(seen)
        progress = ClientProgress(story, story.others, manners_of(seen.schema, is_own=False), mark, mark)
        before = self._progress.get(seen.id)
        if before is not None and before.story is story:
            what = f"{self.name} was shown {seen} as of fact {mark} after {before.at}"
            check(mark >= before.at, "P4", what, self.name, seen.id)
        for name, value in values(seen, story.others).items():
            self._describe(seen, progress, name, value, mark)
        self._progress[seen.id] = progress
        self._described_at[seen.id] = self._judge.world.clock.now
        self._at[seen.id] = (story, Span(mark, mark))
        self._hear_of(seen.id)
        self._check_shown(seen)

    def _describe(self, seen: Seen, progress: ClientProgress, name: str, value: bytes, mark: int) -> None:
        track = progress.story.others
        current, place = track.start(name, mark), track.place((name, value))
        known = self._known.setdefault((seen.id, name), {self._default(seen, name)})
        is_stale = progress.manners[name].within_m is not None and value in known
        what = f"{self.name} was shown {seen} at {seen.number} with a {name} that it had not: {place}, not {current}"
        check(place == current or is_stale, "P4", what, self.name, seen.id)
        if place is not None and place > mark:
            place = 0  # the property got the same value again later; the client has the earlier one
        progress.has[name] = -1 if place is None else place
        if progress.manners[name].within_m is not None:
            progress.open.add(name)
        known.add(value)
        self._told_at[seen.id, name] = self._judge.world.clock.now

    # Facts.

    def _follow(self, seen: Seen, fact: Fact, words: str, *, is_own: bool) -> None:
        progress, name = self._progress[seen.id], fact[0]
        manner, now = progress.manners[name], self._judge.world.clock.now
        since, silent_since = self._told_at.get((seen.id, name), now), self._hear_of(seen.id)
        has = max(progress.has.get(name, 0), progress.begin if isinstance(fact[1], int) else 0)
        progress.excuse(self._judge.gaps.spans(self._own, progress.story))
        wrong = progress.hear(fact)
        if wrong is Wrong.AGAIN and not manner.is_reliable:
            wrong = None  # facts that are caught up are sent reliably, and a newer unreliable one may overtake them
        due = progress.due()
        after = "nothing" if due is None else f"{progress.facts[due][0]} (fact {due})"
        what = f"{self.name} got {words} of {seen}"
        if wrong is not None:
            text = f"{what}, which {wrong.value}: had fact {has}, {after} is due"
            check(False, "P4", text, self.name, seen.id)
        if manner.within_m is not None and self._judge.shape.is_peaceful:
            self._check_near(seen, manner, now - silent_since + LATELY_S, what)
            self._check_missed(seen, fact, manner, max(now - since, LATELY_S), has, what)
        if isinstance(fact[1], bytes):
            self._known.setdefault((seen.id, name), set()).add(fact[1])
        self._told_at[seen.id, name] = now
        self.heard += 1

    def _hear_of(self, entity: int) -> float:
        """A message about an entity has come. Returns the earliest time at which the place that decided its level may
        have held: while no message about an entity is sent, since others are more urgent, the client keeps it at the
        former level."""
        now = self._judge.world.clock.now
        last, self._heard_at[entity] = self._heard_at.get(entity, now), now
        if now > last + TOGETHER_S:
            self._silent[entity] = (now, last)
        at, since = self._silent.get(entity, (-inf, now))
        return since if now <= at + TOGETHER_S else now

    def _check_near(self, seen: Seen, manner: Manner, lately_s: float, what: str) -> None:
        """Checks that the entity was near enough for this fact to be sent."""
        assert manner.within_m is not None
        story, own = self._progress[seen.id].story, self._progress[self._own].story
        most = manner.within_m + manner.hysteresis_m + FAR_M
        is_near = self._ever(story, own, lately_s, lambda away: away <= most)
        check(is_near, "P4", f"{what} from farther away than {manner.within_m:.1f} m", self.name, seen.id)

    def _check_missed(self, seen: Seen, fact: Fact, manner: Manner, lately_s: float, has: int, what: str) -> None:
        """Checks that an entity with a missing fact was too far away for it."""
        assert manner.within_m is not None
        progress, own = self._progress[seen.id], self._progress[self._own].story
        skipped = range(has, progress.has[fact[0]] - 1)
        missed = any(progress.facts[each][0] == fact[0] and not progress.is_excused(each) for each in skipped)
        if missed and not manner.is_latest and manner.is_reliable:
            least = manner.within_m - FAR_M
            was_far = self._ever(progress.story, own, lately_s + LATELY_S, lambda away: away > least)
            text = f"{what}, but not of all before, near as it was all the time"
            check(was_far, "P4", text, self.name, seen.id)

    def _ever(self, story: Story, own: Story, lately_s: float, holds: Callable[[float], bool]) -> bool:
        """Whether the distance between the two has met a condition at some moment of that time."""
        since = self._judge.world.clock.now - lately_s
        mine = own.stays(since)
        return any(
            holds(hypot(a.position[0] - b.position[0], a.position[2] - b.position[2]))
            for a in story.stays(since)
            for b in mine
            if a.space == b.space
        )

    # At rest.

    def _wrong_words(self, seen: Seen, real: Real, view: ClientView, *, is_own: bool) -> str | None:
        progress, away = self._progress[seen.id], self._away(real, view)
        progress.excuse(self._judge.gaps.spans(self._own, progress.story))
        due = progress.due()
        if due is not None:
            return f"{self.name} has not got {progress.facts[due][0]} of {seen} (fact {due})"
        for name in seen.state.layout.names:
            problem = self._wrong_value(seen, name, progress, away)
            if problem is not None:
                return f"{self.name} {problem} {name} of {seen}"
        return None

    def _wrong_value(self, seen: Seen, name: str, progress: ClientProgress, away: float) -> str | None:
        """What is wrong with one property at rest."""
        value, track = encoded(seen, name), progress.track
        if not track.has(name):
            base = self._sync.bases.get(seen.id)
            prop = seen.state.layout.properties[seen.state.layout.index[name]]
            if prop.flags.value.base and base is not None and seen.id == self._own:
                layout = seen.state.layout
                is_equal = layout.codecs[layout.index[name]].encode(getattr(base, name)) == value
                return None if is_equal else "has an old"
            return None if value == self._default(seen, name) else "has what is not for it:"
        manner = progress.manners[name]
        if value == track.now[name]:
            return None
        is_too_far = manner.within_m is not None and away > manner.within_m - NEAR_M
        is_sure = seen.id != self._own and any(progress.manners[each].is_complete for each in track.now)
        is_lost = (
            self._sync.lost_messages.lost_at(self._own, seen.id) > self._described_at.get(seen.id, -inf) - LATELY_S
        )
        may_be_lost = not manner.is_reliable and (is_lost or not is_sure or not self._judge.shape.is_peaceful)
        if is_too_far or may_be_lost:
            known = self._known.get((seen.id, name), set())
            return None if value in known or value == self._default(seen, name) else "has an unknown"
        return "has an old"

    def _misplaced(self, seen: Seen, real: Real, view: ClientView) -> str | None:
        """What is wrong with its place, up to the distance to which its type is sent. Vehicles and their riders are
        sent at any distance."""
        vehicle, reach = vehicle_of(seen, view), seen.schema.volatile.position
        if vehicle is None and reach is not None and self._away(real, view) > reach - NEAR_M:
            return None
        error = PLACE_M if reach is None and vehicle is None else packing_m(seen, view)
        place = place_of(seen, real, view)
        if any(abs(a - b) > error for a, b in zip(seen.position, place, strict=True)):
            return f"{self.name} sees {seen} at {seen.position}, it is at {place}"
        return None

    def _away(self, real: Real, view: ClientView) -> float:
        """The distance of a real from the client's own one. The true place of the own one is used, since the client has
        no exact place of it while it rides."""
        assert view.player is not None
        own = self._judge.story(view.player.id)
        assert own is not None
        x, _, z = own.places[-1].position
        return hypot(real.body.position[0] - x, real.body.position[2] - z)

    def _default(self, seen: Seen, name: str) -> bytes:
        layout = seen.state.layout
        at = layout.index[name]
        return layout.codecs[at].encode(layout.properties[at].new_default())
