"""The judge of the parties scenario.

names      no two instances have one name, and no entity is refused in an instance that was not ended
P1         an entity has one real at most; a real is destroyed only by its own code, for its base, or in a space that
           has been ended; at rest none is lost on its way
ends       when the manager forgets an instance, no CellApp has a real of it or one that has left it unconfirmed
data       no client and no entity gets an older value after a newer one; at rest all have the same (`notes.py`)
rest       the instances are those that were made and not ended; each CellApp has the spaces of its cells, no others
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.parties.notes import Notes
from terrazzo.sim.world import FaultLevel, World

ENDED = "has been ended"
"""In the reason of a refusal."""
REACH_M = 30.0
"""From the middle of each space to its edges."""
PLAZA = "plaza"
KEYS = ("music", "gate", "round")


class Judge:
    """What happens in one world. A game's exception is confined to its entity, so a violation that the game's code
    finds is stored, and raised again outside."""

    cluster: Cluster

    def __init__(self, world: World) -> None:
        self.world = world
        self.broken: Broken | None = None
        self.is_working = True
        self.is_peaceful = world.level is FaultLevel.NONE
        self.made: dict[str, None] = {}
        """The instances with a name that the code of the game has."""
        self.ending: set[str] = set()
        """Those of which it has asked for the end."""
        self.is_dismissed: set[int] = set()
        """Entities that were to be destroyed by their own code, or with their base."""
        self.homes: dict[int, str] = {}
        """By entity: the CellApp that has its real; empty: the real is on its way."""
        self.trips: dict[int, tuple[str, str]] = {}
        """By entity: its teleport, from one space to another."""
        self.visits: dict[int, int] = {}
        """By entity: how often it has come into a space."""
        self.counts: dict[str, int] = {}
        self.notes = Notes(self.check)
        self._token = 0
        self._rngs: dict[int, Random] = {}

    def rng(self, entity: int) -> Random:
        """The stream of an entity."""
        if entity not in self._rngs:
            self._rngs[entity] = self.world.rng(f"party of {entity}")
        return self._rngs[entity]

    def token(self) -> int:
        """A value that was never set before."""
        self._token += 1
        return self._token

    def data(self, rng: Random) -> dict[str, int]:
        """What an entity sets."""
        return {key: self.token() for key in rng.sample(KEYS, rng.choice([1, 1, 2]))}

    def count(self, what: str) -> None:
        """Counts an event, for tests."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def check(self, holds: bool, promise: str, what: str, *about: object) -> None:
        """Stores and raises a violation."""
        if not holds:
            self.broken = self.broken or Broken(promise, what, *about)
            raise self.broken

    # What the game's code reports.

    def place(self, entity: int) -> tuple[float, float, float]:
        """A point of a space."""
        rng = self.rng(entity)
        return (rng.uniform(-REACH_M, REACH_M), 0.0, rng.uniform(-REACH_M, REACH_M))

    def live(self) -> list[str]:
        """The instances that no code has ended."""
        return [name for name in self.made if name not in self.ending]

    def somewhere(self, entity: int) -> str:
        """A space to go to: mostly one that is there, sometimes one that was ended."""
        rng, live = self.rng(entity), self.live()
        if live and rng.random() < 0.7:
            return rng.choice(live[-3:])
        return rng.choice([*self.made, PLAZA]) if rng.random() < 0.2 else PLAZA

    def name_of(self, space: int) -> str:
        """The name of the space of this number, whether it has been ended or not."""
        return next((name for name in self.made if name.endswith(f"-{space}")), PLAZA)

    def make(self, name: str) -> None:
        """The code of the game has got the name of an instance."""
        self.check(name not in self.made, "names", f"{name} was made before", name)
        self.made[name] = None
        self.count("made")

    def fail(self, reason: str) -> None:
        """An instance was not made, or not in time."""
        self.check(not self.is_peaceful, "liveness", reason)
        self.count("not made")

    def refuse(self, space: str, reason: str, entity: int) -> None:
        """An entity was not let into a space."""
        is_alive = space == PLAZA or (space in self.made and space not in self.ending)
        what = f"{entity} does not get into {space}: {reason}"
        self.check(not is_alive or ENDED not in reason, "names", what, entity, space)
        self.check(not is_alive or not self.is_peaceful, "liveness", what, entity, space)
        self.count("refused" if ENDED in reason else "not let in")

    def come(self, entity: int) -> None:
        """An entity has come into a space: what it has had of the data of spaces before does not count."""
        self.visits[entity] = self.visits.get(entity, 0) + 1

    def depart(self, entity: int, here: str, there: str) -> None:
        """An entity is to go from one space to another."""
        self.trips[entity] = (here, there)

    def arrive(self, entity: int, space: str) -> None:
        """A teleport has come to its end."""
        here, there = self.trips.pop(entity, ("", ""))
        self.come(entity)
        self.check(space == there, "P1", f"{entity} was to go to {there}, and is in {space}", entity)
        self.count("arrived" if space != here else "moved")

    def stay(self, entity: int, space: str, reason: str) -> None:
        """A teleport has failed."""
        here, there = self.trips.pop(entity, ("", ""))
        self.check(space == here, "P1", f"{entity} was to stay in {here}, and is in {space}", entity)
        self.refuse(there, reason, entity)

    # What is seen from outside.

    def watch(self, app: App) -> None:
        """Watches the reals of a CellApp that starts, and the data at the manager."""
        if isinstance(app, CellAppMgr):
            self.notes.watch(app)
        if isinstance(app, CellApp):
            register, me = app.core.register_real, str(app.me)

            def begin(real: Real) -> None:
                register(real)
                home = self.homes.get(real.body.id, "")
                self.check(not home, "P1", f"{real.body.id} has a real at {me}, and one at {home}", real.body.id)
                self.homes[real.body.id] = me

            object.__setattr__(app.core, "register_real", begin)
            app.core.real_ended.append(lambda real: self._on_real_ended(me, real))

    def _on_real_ended(self, me: str, real: Real) -> None:
        entity, space = real.body.id, real.body.space
        self.check(self.homes.get(entity) == me, "P1", f"a real of {entity} ends at {me}", entity)
        self.homes[entity] = ""
        if real.is_destroyed:
            del self.homes[entity]
            self.trips.pop(entity, None)
            is_fine = entity in self.is_dismissed or space.name in self.ending or not self.is_open(space.id)
            self.check(is_fine, "P1", f"{entity} was destroyed in {space.name}, without a reason", entity)
            self.count("destroyed with its space" if entity not in self.is_dismissed else "destroyed")

    def is_open(self, space: int) -> bool:
        """Whether there is a space of this number that has not been ended."""
        found = self.cluster.manager._by_id.get(space)
        return found is not None and not found.is_ended

    def on_space_ended(self, name: str) -> None:
        """The manager has forgotten an instance."""
        self.count("ended")
        for app in self.cluster.cell_apps:
            for real in app.reals.values():
                left = f"{real.body.id} is left in {name}, which has ended"
                self.check(real.body.space.name != name, "ends", left, real.body.id, name)
            known = [space.name for space in app.spaces.values()]
            self.check(name not in known, "ends", f"{app.me} has {name}, which has ended", name)

    # At rest.

    def unrest(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        """What is still under way."""
        manager = self.cluster.manager
        there = {space.policy.name for space in manager.spaces if space.is_instance}
        if there != set(self.live()):
            yield f"the instances are {sorted(there)}, and those of the game are {sorted(self.live())}", ()
        for app in self.cluster.cell_apps:
            spaces = {space.id for space in manager.spaces if app.me in space.members}
            if set(app.spaces) != spaces:
                yield f"{app.me} has the spaces {sorted(app.spaces)}, and cells of {sorted(spaces)}", (app.me,)
            if app.offloads.kept or len(app.space_asker) or len(app.core.awaiting):
                yield f"{app.me} has {len(app.offloads.kept)} reals on their way, or something to ask", (app.me,)
        for base in self.cluster.base_apps:
            if len(base.space_asker) or len(base.awaiting) or base.creator.open:
                yield f"{base.me} has something to ask", (base.me,)
        yield from self._unrest_of_entities()
        yield from self.notes.unrest(manager, self.cluster.cell_apps)

    def _unrest_of_entities(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        homes: dict[int, str] = {
            real.body.id: str(app.me) for app in self.cluster.cell_apps for real in app.reals.values()
        }
        lost = [entity for entity, home in self.homes.items() if homes.get(entity) != home]
        if lost:
            yield f"the real of {lost[0]} is lost, or on its way", (lost[0],)
        if self.trips:
            entity, (here, there) = next(iter(self.trips.items()))
            yield f"{entity} is to go from {here} to {there}", (entity,)
        bases: dict[int, Any] = {each.id: each for app in self.cluster.base_apps for each in app.bases.values()}
        for entity, base in bases.items():
            if base.schema.name in ("Avatar", "Guest") and base.has_cell != (entity in homes):
                yield f"{base} has a cell part: {base.has_cell}, and a real: {entity in homes}", (entity,)
