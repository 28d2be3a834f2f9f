"""The makers scenario: bases that create entities, take names and look them up, while links between the apps fail.

    BaseApps ↔ BaseApps, BaseAppMgr, DBApp       links break, lag, clog and are shut, for longer than the time limits
    BaseApps ↔ CellAppMgr, CellApps              of a creation

Makers create things, with and without a body, and end some of them; they race for a few names, give them back, and end
themselves. What is judged at every step: no creation makes two entities (P1), and no name is granted to a base while
another one has it (names). A lookup never gives None for a name that a base has had all the time. At rest: what was
reported as created is there, unless it was ended; what was reported as failed for certain is not; and the registry has
exactly the names that bases have been granted and have not given back.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from terrazzo import BASE, Base, EntityType, Int32, build, prop, remote
from terrazzo.base import Server
from terrazzo.base.entity import BaseLife
from terrazzo.errors import CallFailed, CallTimeout, CreationFailed, NameTaken
from terrazzo.game import Game, LoadedGame, Space, parts_of
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.faults import FaultPlan
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.scenarios.logins import LongFaults
from terrazzo.sim.world import World

NAMES = ("auction", "bank", "guild")
UNCERTAIN = "is uncertain"
"""In the reason of a creation of which it is open whether the entity exists."""


class Maker(EntityType):
    """Creates things, and takes names."""

    number: Int32 = prop(BASE)


class Thing(EntityType):
    """Is created."""

    token: Int32 = prop(BASE)


class Judge:
    """What was asked for, and what came of it. A game's exception is confined to its entity, so a violation that the
    game's code finds is stored, and raised again outside."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.broken: Broken | None = None
        self.is_working = True
        self.made: dict[int, int] = {}
        """The entity with each token."""
        self.outcomes: dict[int, str] = {}
        """By token: "ok", "failed", "open"."""
        self.ended: set[int] = set()
        self.holders: dict[str, tuple[int, float]] = {}
        """Which base has each name, and since when."""
        self.counts: dict[str, int] = {}
        self._token = 0

    def token(self) -> int:
        """The token of the next creation."""
        self._token += 1
        return self._token

    def count(self, what: str) -> None:
        """Counts an event, for tests."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def check(self, holds: bool, promise: str, what: str, *about: object) -> None:
        """Stores and raises a violation."""
        if not holds:
            self.broken = self.broken or Broken(promise, what, *about)
            raise self.broken

    def begin(self, token: int, entity: int) -> None:
        """An entity with this token exists."""
        other = self.made.setdefault(token, entity)
        self.check(other == entity, "P1", f"the entities {other} and {entity} were made by one creation", other, entity)

    def grant(self, name: str, entity: int) -> None:
        """A base has been granted a name."""
        other, _ = self.holders.setdefault(name, (entity, self.world.clock.now))
        self.check(other == entity, "names", f"{name} is granted to {entity}, and {other} has it", other, entity)

    def give_back(self, entity: int, name: str | None = None) -> None:
        """A base has given a name back; None: it ends, with all its names."""
        for each in [each for each, (holder, _) in self.holders.items() if holder == entity and name in (None, each)]:
            del self.holders[each]

    def found(self, name: str, asked_at: float, entity: int | None) -> None:
        """A lookup has its answer."""
        holder, since = self.holders.get(name, (0, 0.0))
        has_had_it = holder != 0 and since < asked_at
        what = f"{name} is looked up as {entity}, and {holder} has it since {since:.2f}"
        self.check(not has_had_it or entity == holder, "names", what, holder)


class MakerBase(Base, of=Maker):
    """Acts by a timer."""

    judge: Judge

    def on_created(self) -> None:
        """Begins."""
        self.rng = self.judge.world.rng(f"maker {self.number}")
        self.timer(self.rng.uniform(0.0, 2.0))

    def on_timer(self, number: int) -> None:
        """Does something, and goes on later. One act may be under way while the next begins."""
        if self.judge.is_working:
            self._engine.guarded("act", self.act, ())

    async def act(self) -> None:
        """Does something."""
        self.timer(self.rng.choice([0.05, 0.5, 3.0]))
        what = self.rng.random()
        if what < 0.4:
            await self._make(self.rng)
        elif what < 0.65:
            await self._take(self.rng.choice(NAMES))
        elif what < 0.75:
            name = self.rng.choice(NAMES)
            self.judge.give_back(self.id, name)
            self.drop_name(name)
        elif what < 0.98:
            await self._look(self.rng.choice(NAMES))
        elif self._engine.life is BaseLife.ALIVE:
            self.judge.give_back(self.id)
            self.create(Maker, number=self.judge.token() + 1000)
            self.destroy()

    async def _make(self, rng: Random) -> None:
        token = self.judge.token()
        place = {"space": "plaza", "position": (rng.uniform(-9, 9), 0.0, rng.uniform(-9, 9))}
        where: dict[str, Any] = place if rng.random() < 0.5 else {}
        timeout = rng.choice([2.0, 30.0])
        self.judge.outcomes[token] = "open"
        try:
            thing = await self.create(Thing, token=token, here=rng.random() < 0.2, timeout=timeout, **where)
        except CreationFailed as problem:
            self.judge.outcomes[token] = "open" if UNCERTAIN in str(problem) else "failed"
            self.judge.count("failed")
        except CallTimeout:
            self.judge.count("timeout")
        else:
            self.judge.check(
                self.judge.made.get(token) == thing.id, "P1", f"creation {token} gave entity {thing.id}", thing.id
            )
            self.judge.outcomes[token] = "ok"
            self.judge.count("made")
            if rng.random() < 0.5:
                self.judge.ended.add(token)
                self.ref(thing).end()

    async def _take(self, name: str) -> None:
        try:
            await self.register_name(name, timeout=self.rng.choice([1.0, 30.0]))
        except NameTaken:
            self.judge.count("name taken")
        except CallTimeout:
            self.judge.count("name timeout")
        else:
            if self._engine.life is BaseLife.ALIVE:
                self.judge.grant(name, self.id)
                self.judge.count("name granted")

    async def _look(self, name: str) -> None:
        asked_at = self.judge.world.clock.now
        try:
            ref = await self.lookup(name, timeout=10.0)
        except CallFailed:
            return
        self.judge.found(name, asked_at, None if ref is None else ref.id)
        self.judge.count("looked up")


class ThingBase(Base, of=Thing):
    """Is there."""

    judge: Judge

    def on_created(self) -> None:
        """Is recorded."""
        self.judge.begin(self.token, self.id)

    @remote
    def end(self) -> None:
        """Ends."""
        self.destroy()


def _populate(count: int, server: Server) -> None:
    for number in range(count):
        server.create(Maker, number=number)


class Makers:
    """One cluster and its makers."""

    def __init__(self, world: World, mutation: str | None) -> None:
        rng = world.rng("makers")
        self.world = world
        self.duration_s = rng.uniform(20.0, 80.0)
        self.judge = Judge(world)
        self._mutation = mutation_of(mutation, "makers")
        parts = {
            name: {side: type(each.__name__, (each,), {"judge": self.judge}) for side, each in sides.items()}
            for name, sides in parts_of([Maker, Thing]).items()
        }
        count = rng.randrange(2, 7)
        policy = Game(
            player=Maker,
            spaces=[Space("plaza", bounds=(-20.0, -20.0, 20.0, 20.0))],
            on_ready=partial(_populate, count),
        )
        world.on_log = self._on_log
        self.cluster = Cluster(
            world,
            LoadedGame(build([Maker, Thing]).checked(), policy, parts),
            cells=rng.choice([1, 2]),
            bases=rng.choice([1, 2, 3]),
            on_start=lambda _, app: self._mutation.app(app),
        )

    @property
    def plan(self) -> FaultPlan:
        """See Scenario."""
        cluster = self.cluster
        bases = [each.name for each in cluster.bases]
        others = [cluster.db.name, cluster.base_mgr.name, cluster.cell_mgr.name, *(each.name for each in cluster.cells)]
        pairs = [(a, b) for a in bases for b in others] + [(a, b) for a in bases for b in bases if a < b]
        return LongFaults([*bases, *others], pairs=pairs)

    def quiesce(self) -> None:
        """See Scenario."""
        self.judge.is_working = False

    def unrest(self) -> Unrest | None:
        """See Scenario."""
        for app in self.cluster.base_apps:
            if app.creator.open or len(app.awaiting):
                return Unrest(
                    f"{app.me} has {app.creator.open} creations and {len(app.awaiting)} waits", (str(app.me),)
                )
            leaving = [each for each in app.bases.values() if each.life is not BaseLife.ALIVE or each.on_settled]
            if leaving:
                return Unrest(f"{leaving[0]} is ending, or being made", (leaving[0].id,))
        return self._unrest_of_things() or self._unrest_of_names()

    def _unrest_of_things(self) -> Unrest | None:
        there = {each.id for app in self.cluster.base_apps for each in app.bases.values()}
        for token, outcome in self.judge.outcomes.items():
            entity = self.judge.made.get(token, 0)
            if outcome == "ok" and (entity in there) is (token in self.judge.ended):
                return Unrest(f"creation {token}: entity {entity} is there: {entity in there}", (entity,))
            if outcome == "failed" and entity in there:
                return Unrest(f"creation {token} has failed, and entity {entity} is there", (entity,))
        return None

    def _unrest_of_names(self) -> Unrest | None:
        manager = self.cluster.base_mgr.app
        assert isinstance(manager, BaseAppMgr)
        registered = {name: named.entity for name, (named, _) in manager.names._names.items()}
        held = {name: entity for name, (entity, _) in self.judge.holders.items()}
        return None if registered == held else Unrest(f"registered are {registered}, held are {held}")

    def _on_log(self, where: str, event: str, facts: dict[str, object]) -> None:
        if str(event) == "game error":
            raise self.judge.broken or Broken("invariant", f"game code failed: {facts}", where)


@scenario("makers")
def makers(world: World, mutation: str | None) -> Makers:
    """See the module."""
    return Makers(world, mutation)
