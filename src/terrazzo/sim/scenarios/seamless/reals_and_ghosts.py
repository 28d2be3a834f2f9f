"""The true state of the cell parts of the seamless scenario, and the checks of the CellApps against it (P1, P3).

The truth is recorded at its origin: each change of a real's property, each numbered step. It is compared with the state
of a CellApp after every tick and every frame that the CellApp has received:

    P1   no entity has two reals; a real that is gone was sent away or destroyed; a real that arrives has every
         property, private ones too, as the former home left it
    P3   a ghost has the state of its real at the ghost's number (properties, place, space); its number never goes
         back; and the steps that it took have the same facts: none left out, none twice
    P4   a client loses only entities that are far away in this very cell, have ended or are withheld, and has no
         entity that is withheld
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import hypot
from typing import Any

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core import history
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import EntityEvent
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.sim.liveness import Problem
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.seamless.allowed_skips import AllowedSkips
from terrazzo.sim.scenarios.seamless.entity_story import Story, row_of, values_of
from terrazzo.sim.scenarios.seamless.holders import Holders
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.liveness_bounds import Kind
from terrazzo.sim.world import Process, World
from terrazzo.sync.protocol import EntityMessage
from terrazzo.wire.ids import life_of
from terrazzo.world.rect import Rect

GHOST_SLACK_M = 20.0
"""A ghost that is farther out than this, beyond the distance for which it is needed, must be deleted at rest."""
NEAR_M = 0.05
"""An entity so near to the edge of an area may be in it or not."""


class Truth:
    """The judge of all CellApps of one world."""

    is_unique = True
    """Whether no property has a value twice, so that a value shows when it was set."""

    knows_ends = True
    """Whether the game reports to the judge which entities it destroys."""

    def __init__(self, world: World, judge: Judge) -> None:
        self.apps: list[CellApp] = []
        self.offloads = 0
        self.allowed_skips = AllowedSkips()
        self.holders = Holders(judge)
        self._world = world
        self._judge = judge
        self._reals: dict[CellApp, dict[int, Real]] = {}
        self._looked: dict[CellApp, dict[int, tuple[Body, int]]] = {}
        self._numbers: dict[tuple[CellApp, int], int] = {}
        """The highest number that a copy of an entity has had on an app."""

    # The record.

    def watch(self, process: Process, app: App) -> None:
        """A process has started: if it is a CellApp, all its reals and ghosts are watched."""
        if not isinstance(app, CellApp):
            return
        close_step, close_steps = app.core.close_step, app.steps.close_all
        settle, take_down, serve = app.core.register_real, app._take_down, app.scheduler.serve

        self.allowed_skips.watch(app)
        self.holders.watch(app)

        def served(real: Real) -> None:
            self._look_at_ends(real)
            lacks = self._judge.gaps.lacks(real)
            serve(real)
            self._judge.gaps.note_all(real, lacks)
            self._look_at_hidden(real)

        def closed(real: Real) -> None:
            close_step(real)
            self._on_step(real.body)

        def closed_all() -> None:
            close_steps()
            for real in app.reals.values():
                self._on_step(real.body)

        def settled(real: Real) -> None:
            settle(real)
            self._on_settled(real)

        def taken_down(real: Real) -> None:
            self._on_end(real)
            take_down(real)

        vars(app.core)["close_step"] = closed
        vars(app.steps)["close_all"] = closed_all
        vars(app.scheduler)["serve"] = served
        vars(app.core)["register_real"] = settled
        vars(app)["_take_down"] = taken_down
        self.apps.append(app)
        self._reals[app] = {}
        self._looked[app] = {}
        process.after_step = lambda: self._look(app)

    def _on_settled(self, real: Real) -> None:
        body, life = real.body, life_of(real.body.epoch)
        self._world.trace.add(
            body.core.me, "real", entity=body.id, epoch=body.epoch, number=body.number, space=body.space.id
        )
        layout = body.kind.schema.cell_layout
        story = self._judge.story(body.id)
        if story is None or story.life < life:
            story = Story(body, life)
            self._judge.stories.setdefault(body.id, []).append(story)
            self._judge.stirred_at = self._world.clock.now
        else:
            now = values_of(layout, body.state.values())
            wrong = [name for name in now if now[name] != story.values[name]]
            check(not wrong, "P1", f"entity {body.id} arrived with another {wrong} than it left with", body.id)
            what = f"entity {body.id} has risen on {body.core.me}"
            check(story.life == life and not story.is_over, "P1", what, body.id)
        self._on_step(body)
        note: Any = body.state.listener
        written = story

        def listen(change: Any) -> None:
            note(change)
            prop = layout.properties[change.prop]
            is_new = written.change(prop, body.state.get(change.prop))
            what = f"the game gave entity {body.id} the same {prop.name} twice"
            check(is_new or not self.is_unique, "invariant", what, body.id)

        body.state.listener = listen

    def _on_end(self, real: Real) -> None:
        """A real ends; the game must have destroyed it."""
        body, life = real.body, life_of(real.body.epoch)
        may_end = not self.knows_ends or self._judge.may_end(body.id, life)
        check(may_end, "P1", f"life {life} of entity {body.id} ended on {body.core.me}, unasked", body.id)
        story = self._judge.story(real.body.id)
        if story is not None and story.life == life_of(real.body.epoch):
            story.is_over = True
            self._judge.stirred_at = self._world.clock.now

    def _on_step(self, body: Body) -> None:
        story, now = self._judge.story(body.id), self._world.clock.now
        assert story is not None, f"entity {body.id} steps and has no story"
        told = [] if body.number in story.rows else body.history.since(body.number - 1)
        has_changed = partial(body.history.has_changed, number=body.number - 1)
        wrong = story.step(now, body.number, row_of(body), told or [], has_changed)
        check(wrong is None, "P3", f"entity {body.id} {wrong}", body.id)
        hasty = self._judge.speed_limit.step(body)
        if hasty is not None:
            raise hasty

    # Checks when a client is served.

    def _look_at_ends(self, real: Real) -> None:
        """Checks the entities that a client is about to lose: the reason must hold in this very cell."""
        witness = witness_of(real)
        assert witness is not None
        story, own = witness.sent, real.body
        for entity in story._ends:
            entry, other = story.get(entity), own.space.bodies.get(entity)
            if entry is None or other is None or life_of(other.number) != life_of(entry[2]):
                continue
            flags = EntryFlag(entry[3])
            if EntryFlag.GONE not in flags:
                is_so = EntryFlag.WITHHELD not in flags
                is_so = is_so or entity in self._judge.riding_and_visibility.withheld(own.id)
                is_so = is_so or EntryFlag.PARTED in flags  # it was withheld until the client's entity began to jump
                check(is_so, "P4", f"entity {entity} is hidden from the client of {own.id}, unasked", own.id, entity)
                continue
            reach = witness.radius + other.kind.schema.appeal_radius - NEAR_M
            what = f"entity {entity} leaves the area of {own.id}, and is near on {own.core.me}"
            check(self._was_away(own, other, entry[2], reach), "P4", what, own.id, entity)

    def _was_away(self, own: Body, other: Body, sent: int, reach: float) -> bool:
        """Whether an entity was out of another's reach at any step since the client got it: it may have jumped."""
        story, (own_x, _, own_z) = self._story_of(other, other.number), own.position
        assert story is not None
        rows = [(each.space, each.position) for n in range(sent, other.number) if (each := story.rows.get(n))]
        return any(
            space != own.space.id or hypot(x - own_x, z - own_z) > reach
            for space, (x, _, z) in (*rows, (other.space.id, other.position))
        )

    def _look_at_hidden(self, real: Real) -> None:
        """Checks that no withheld entity has an alias at the client."""
        witness = witness_of(real)
        assert witness is not None
        story, own = witness.sent, real.body.id
        for entity in self._judge.riding_and_visibility.withheld(own):
            entry = story.get(entity)
            what = f"the client of {own} has {entity}, which is withheld from it"
            check(entry is None or entry[1] == 0, "P4", what, own, entity)

    # Checks after every tick and frame.

    def _look(self, app: CellApp) -> None:
        self.holders.look(app)
        before, now = self._reals[app], app.reals
        if before.keys() != now.keys() or any(now[each] is not real for each, real in before.items()):
            self._look_at_reals(app, before, now)
            self._reals[app] = dict(now)
        looked = self._looked[app]
        for entity, body in app.bodies.items():
            number = body.number
            known = looked.get(entity)
            if known is None or known[0] is not body or known[1] != number:
                looked[entity] = (body, number)
                self._look_at(app, body, number, known)

    def _look_at_reals(self, app: CellApp, before: dict[int, Real], now: dict[int, Real]) -> None:
        for entity in now.keys() - before.keys():
            for other in self.apps:
                both = other is not app and entity in other.reals
                check(not both, "P1", f"entity {entity} has a real on {app.me} and one on {other.me}", entity)
        for entity in before.keys() - now.keys():
            if entity in app.offloads.kept:
                self.offloads += 1
                continue
            story = self._judge.story(entity)
            check(
                story is None or story.is_over,
                "P1",
                f"entity {entity} is lost: {app.me} has neither its real nor sent it away",
                entity,
            )

    def _look_at(self, app: CellApp, body: Body, number: int, known: tuple[Body, int] | None) -> None:
        where = f"the copy of entity {body.id} on {app.me}"
        highest = self._numbers.get((app, body.id), -1)
        check(number >= highest, "P3", f"{where} goes back from {highest} to {number}", body.id)
        self._numbers[app, body.id] = number
        if body.real is not None:
            return
        story = self._story_of(body, number)
        check(story is not None, "P3", f"{where} has number {number} of a life that never was", body.id)
        assert story is not None
        row = story.rows.get(number)
        check(row is not None, "P3", f"{where} has number {number}, which its real never had", body.id)
        check(row == row_of(body), "P3", f"{where} differs from what its real was at {number}", body.id)
        if known is not None and known[0] is body:
            self._look_at_steps(app, body, story, known[1], number)

    def _look_at_steps(self, app: CellApp, body: Body, story: Story, low: int, high: int) -> None:
        """Compares the steps that a ghost has taken between two numbers with those of the story."""
        told, kept = body.history.since(low), low
        if (
            told is None
            and sum(number in story.steps.events for number in range(low + 1, high + 1)) > history.STEPS_MAX
        ):
            kept = body.history.floor  # earlier steps have been trimmed
            told = body.history.since(kept)
        if told is None:
            what = f"the ghost of entity {body.id} on {app.me} has skipped what is between {low} and {high}"
            check(self.allowed_skips.take(app, body.id), "P3", what, body.id)
        elif life_of(low) == life_of(high):
            what = f"the ghost of entity {body.id} on {app.me} got other events between {low} and {high}"
            check(words(told) == words(story.steps.between(kept, high)), "P3", what, body.id)

    def _story_of(self, body: Body, number: int) -> Story | None:
        stories = self._judge.stories.get(body.id, [])
        return next((each for each in reversed(stories) if each.life == life_of(number)), None)

    # At rest.

    def real_of(self, entity: int) -> Real | None:
        """The real of an entity, on any CellApp."""
        return next((app.reals[entity] for app in self.apps if entity in app.reals), None)

    def reals(self) -> list[Real]:
        """All reals."""
        return [real for app in self.apps for real in app.reals.values()]

    def unrest(self) -> Iterator[Problem]:
        """The problems at rest: the first of each kind."""
        for app in self.apps:
            self._looked[app].clear()
            self._look(app)
        yield from self._on_its_way()
        for entity, stories in self._judge.stories.items():
            count = sum(entity in app.reals for app in self.apps)
            if count != (not stories[-1].is_over):
                yield Problem(Kind.REALS, f"entity {entity} has {count} reals", (entity,))
        for real in self.reals():
            yield from self._unrest_of(real)
        for app in self.apps:
            yield from self._unrest_of_ghosts(app)

    def _on_its_way(self) -> Iterator[Problem]:
        for app in self.apps:
            for entity in app.offloads.kept:
                yield Problem(Kind.KEPT, f"{app.me} has a copy of entity {entity}, which is not confirmed", (entity,))
            arrivals = {each.entity for each in app.receiver.holding.arrivals()}
            for entity in app.receiver.held:
                kind = Kind.ARRIVAL if entity in arrivals else Kind.HELD
                yield Problem(kind, f"{app.me} holds something of entity {entity}", (entity,))

    def _unrest_of_ghosts(self, app: CellApp) -> Iterator[Problem]:
        for entity, body in app.bodies.items():
            owner = self.real_of(entity)
            if owner is None or (body.real is None and app.me not in owner.ghosts):
                what = f"{app.me} has a ghost of entity {entity}, which no real tends"
                yield Problem(Kind.GHOSTS, what, (entity,))
                continue
            problem = None if body.real is not None else wrong_of(body, owner.body)
            if problem is not None:
                yield Problem(Kind.GHOSTS, f"the ghost of entity {entity} on {app.me} {problem}", (entity,))

    def _unrest_of(self, real: Real) -> Iterator[Problem]:
        body, shape = real.body, self._judge.shape
        if body.space.outside_by(body.position) > shape.margin_m + 1e-6:
            yield Problem(Kind.REALS, f"entity {body.id} is outside its cell on {body.core.me}", (body.id,))
        appeal = body.kind.schema.appeal_radius
        area = Rect.around(body.position[0], body.position[2], shape.ghost_m + appeal)
        wanted = {leaf.app for leaf in body.space.leaves_touching(area)} - {body.core.me}
        slack = GHOST_SLACK_M + 2 * shape.margin_m + body.core.game.policy.area_hysteresis_m
        allowed = {leaf.app for leaf in body.space.leaves_touching(area.inflate(slack))}
        for app in self.apps:
            ghost = app.bodies.get(body.id)
            if app.me in wanted and (ghost is None or ghost.number != body.number):
                what = f"entity {body.id} should have a ghost of number {body.number} on {app.me}"
                yield Problem(Kind.GHOSTS, what, (body.id,))
            if ghost is not None and app.core is not body.core and app.me not in allowed:
                what = f"entity {body.id} has a ghost on {app.me} that is not needed"
                yield Problem(Kind.GHOSTS, what, (body.id,))


def wrong_of(ghost: Body, owner: Body) -> str | None:
    """What a ghost has at rest, beyond its row, that its real does not have."""
    if ghost.real_app != owner.core.me:
        return f"thinks that its real is on {ghost.real_app}"
    if ghost.base != owner.base:
        return f"thinks that its base is {ghost.base}"
    if len(ghost.state.layout) != len(ghost.kind.schema.ghost_layout):
        return "has kept what is private"
    return None


def words(events: list[EntityEvent]) -> list[tuple[int, EntityMessage]]:
    """The events without the rows of the account under which an app counts them."""
    return [(each.subject, each.message) for each in events]
