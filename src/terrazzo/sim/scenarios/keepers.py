"""The keepers scenario: bases that create, save, load and delete stored entities, while links and the database fail.

    BaseApps ↔ BaseApps, BaseAppMgr, DBApp       links break, lag, clog and are shut, for longer than the time limits
    BaseAppMgr ↔ DBApp                           of a load
    the database                                 fails for a while

Keepers make treasures, which save themselves; then they load treasures by their dbids, also by dbids that they can only
guess, have them count and save, end them, and delete them, in the world or outside of it. What is judged at every step:
there are never two bases of one stored entity (P1); a treasure that was deleted for certain never comes back (P5). Of
each load: the Ref is of the entity with that dbid; its count is no less than what was confirmed as saved, and a
treasure that no keeper wanted to delete is found (P5). At rest the log-on records name exactly the stored entities that
are in the world, and nothing is under way.
"""

from __future__ import annotations

from functools import partial

from terrazzo import BASE, Base, EntityType, Int32, build, prop, remote
from terrazzo.base import Server
from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.db.dbapp import DBApp
from terrazzo.errors import CallFailed, StoredFailed
from terrazzo.game import Game, LoadedGame, Space, parts_of
from terrazzo.schema.refs import Ref
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.faults import FaultPlan
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.scenarios.logins import CALM_S, LOOK_S, LongFaults
from terrazzo.sim.world import FaultLevel, World


class Keeper(EntityType):
    """Makes and loads treasures."""

    number: Int32 = prop(BASE)


class Treasure(EntityType):
    """Is stored."""

    token: Int32 = prop(BASE, saved=True)
    count: Int32 = prop(BASE, saved=True)


class KeeperJudge:
    """What was asked for, and what came of it. A violation that the game's code finds is stored, and raised again
    outside."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.broken: Broken | None = None
        self.is_working = True
        self.dbids: dict[int, int] = {}
        """Token → dbid, once that is known."""
        self.tokens: dict[int, int] = {}
        """Entity → token."""
        self.saved: dict[int, int] = {}
        """Token → the count that was confirmed as saved."""
        self.doomed: set[int] = set()
        """The dbids that a keeper wanted to delete."""
        self.deleted: set[int] = set()
        """The dbids of which that was confirmed."""
        self.counts: dict[str, int] = {}
        self._token = 0

    def token(self) -> int:
        """The token of the next treasure."""
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

    def begin(self, entity: int, token: int, dbid: int, count: int) -> None:
        """A treasure was loaded."""
        self.tokens[entity] = token
        known = self.dbids.setdefault(token, dbid)
        self.check(known == dbid, "P1", f"treasure {token} has the dbids {known} and {dbid}", entity)
        self.check(dbid not in self.deleted, "P5", f"treasure {token} was deleted, and is loaded", entity)
        least = self.saved.get(token, 0)
        self.check(count >= least, "P5", f"treasure {token} has counted {count}, {least} was saved", entity)

    def keep(self, entity: int, token: int, dbid: int, count: int) -> None:
        """A save was confirmed."""
        known = self.dbids.setdefault(token, dbid)
        self.check(known == dbid, "P1", f"treasure {token} has the dbids {known} and {dbid}", entity)
        self.saved[token] = max(count, self.saved.get(token, 0))

    def loaded(self, dbid: int, ref: Ref) -> None:
        """A load gave a Ref."""
        token = self.tokens.get(ref.id)
        self.check(token is not None, "P1", f"dbid {dbid} was loaded as entity {ref.id}, which never began", ref.id)
        known = self.dbids.get(token or 0, dbid)
        self.check(known == dbid, "P1", f"dbid {dbid} was loaded as entity {ref.id}, with dbid {known}", ref.id)

    def missed(self, dbid: int, was_stored: bool, why: str) -> None:
        """A load has failed for certain; `was_stored`: whether its dbid was known when it was asked for."""
        is_lost = was_stored and dbid not in self.doomed
        self.check(not is_lost, "P5", f"dbid {dbid} is stored, and was not loaded: {why}", dbid)


class KeeperBase(Base, of=Keeper):
    """Acts by a timer."""

    judge: KeeperJudge

    def on_created(self) -> None:
        """Begins."""
        self.rng = self.judge.world.rng(f"keeper {self.number}")
        self.timer(self.rng.uniform(0.0, 2.0))

    def on_timer(self, number: int) -> None:
        """Does something, and goes on later. One act may be under way while the next begins."""
        if self.judge.is_working:
            self._engine.guarded("act", self.act, ())

    async def act(self) -> None:
        """Does something."""
        self.timer(self.rng.choice([0.05, 0.5, 3.0]))
        what, dbid = self.rng.random(), self._some_dbid()
        if what < 0.2:
            self.create(Treasure, token=self.judge.token(), here=self.rng.random() < 0.3)
        elif what < 0.85:
            await self._load(dbid)
        else:
            await self._delete(dbid)

    def _some_dbid(self) -> int:
        """Of a treasure, or one that may be given next."""
        known = sorted(self.judge.dbids.values())
        return (
            self.rng.choice(known[-6:]) if known and self.rng.random() < 0.8 else len(known) + self.rng.randrange(1, 3)
        )

    async def _load(self, dbid: int) -> None:
        was_stored = dbid in self.judge.dbids.values()
        try:
            ref = await self.load(Treasure, dbid=dbid, timeout=self.rng.choice([2.0, 30.0]))
        except StoredFailed as problem:
            self.judge.missed(dbid, was_stored, str(problem))
            self.judge.count("missed")
        except CallFailed:
            self.judge.count("not in time")
        else:
            self.judge.loaded(dbid, ref)
            self.judge.count("loaded")
            what = self.rng.random()
            if what < 0.4:
                self.ref(ref).grow()
            elif what < 0.8:
                self.ref(ref).end(0)
            elif what < 0.9:
                self.judge.doomed.add(dbid)
                self.ref(ref).end(1)

    async def _delete(self, dbid: int) -> None:
        if dbid not in self.judge.dbids.values():
            return
        self.judge.doomed.add(dbid)
        try:
            await self.delete(Treasure, dbid=dbid, timeout=self.rng.choice([2.0, 30.0]))
        except CallFailed:
            self.judge.count("not deleted")
        else:
            self.judge.deleted.add(dbid)
            self.judge.count("deleted")


class TreasureBase(Base, of=Treasure):
    """Is saved, and counts."""

    judge: KeeperJudge

    def on_created(self) -> None:
        """A new one is saved at once."""
        self.judge.tokens[self.id] = self.token
        if self.dbid == 0:
            self.grow()

    def on_loaded(self) -> None:
        """Is recorded."""
        self.judge.begin(self.id, self.token, self.dbid, self.count)

    @remote
    def grow(self) -> None:
        """Counts, and saves."""
        if self._engine.life is BaseLife.ALIVE:
            self._engine.guarded("keep", self.keep, ())

    async def keep(self) -> None:
        """Counts, and saves."""
        self.count += 1
        count = self.count
        try:
            await self.save()
        except CallFailed:
            return
        self.judge.keep(self.id, self.token, self.dbid, count)
        self.judge.count("saved")

    @remote
    def end(self, is_deleted: Int32) -> None:
        """Ends."""
        self.destroy(delete=bool(is_deleted))


def _populate(count: int, server: Server) -> None:
    for number in range(count):
        server.create(Keeper, number=number)


class Keepers:
    """One cluster and its keepers."""

    def __init__(self, world: World, mutation: str | None) -> None:
        rng = world.rng("keepers")
        self.world = world
        self.duration_s = rng.uniform(20.0, 80.0)
        self.judge = KeeperJudge(world)
        self._mutation = mutation_of(mutation, "keepers")
        parts = {
            name: {side: type(each.__name__, (each,), {"judge": self.judge}) for side, each in sides.items()}
            for name, sides in parts_of([Keeper, Treasure]).items()
        }
        policy = Game(
            player=Keeper,
            spaces=[Space("plaza", bounds=(-20.0, -20.0, 20.0, 20.0))],
            on_ready=partial(_populate, rng.randrange(2, 6)),
        )
        world.on_log = self._on_log
        self.cluster = Cluster(
            world,
            LoadedGame(build([Keeper, Treasure]).checked(), policy, parts),
            cells=1,
            bases=rng.choice([1, 2, 2, 3]),
            on_start=lambda _, app: self._mutation.app(app),
        )
        if world.level is not FaultLevel.NONE:
            for _ in range(rng.choice([0, 0, 1, 3])):
                at = rng.uniform(CALM_S, self.duration_s * 0.8)
                lasts = min(rng.choice([1.0, 15.0]), self.duration_s - at)
                world.clock.at(at, self._set_failing, "the disk is full")
                world.clock.at(at + lasts, self._set_failing, "")
        world.clock.after(LOOK_S, self._look)

    @property
    def plan(self) -> FaultPlan:
        """See Scenario."""
        cluster = self.cluster
        bases = [each.name for each in cluster.bases]
        db, manager = cluster.db.name, cluster.base_mgr.name
        pairs = [(db, manager), *((db, each) for each in bases), *((manager, each) for each in bases)]
        pairs += [(a, b) for a in bases for b in bases if a < b]
        return LongFaults([db, manager, *bases], pairs=pairs)

    def quiesce(self) -> None:
        """See Scenario."""
        self.judge.is_working = False

    def unrest(self) -> Unrest | None:
        """See Scenario."""
        for app in self.cluster.base_apps:
            if app.creator.open or len(app.awaiting) or len(app.log_offs):
                return Unrest(
                    f"{app.me} has {len(app.awaiting)} waits and {len(app.log_offs)} log-offs", (str(app.me),)
                )
            for each in app.bases.values():
                if each.life is not BaseLife.ALIVE or not each.saver.is_idle:
                    return Unrest(f"{each} ends or is being saved", (each.id,))
        db = self.cluster.db.app
        assert isinstance(db, DBApp)
        if len(db.log_ons.doubts) or len(db.loads):
            return Unrest(f"{len(db.log_ons.doubts)} records are in doubt, {len(db.loads)} entities are being loaded")
        there = {each.data.dbid: (each.id, index) for each, index in self._bases() if each.data.dbid}
        if self.cluster.database.log_ons != there:
            return Unrest(f"recorded are {self.cluster.database.log_ons}, there are {there}")
        return None

    def _set_failing(self, why: str) -> None:
        self.cluster.database.failing = why

    def _bases(self) -> list[tuple[BaseEntity, int]]:
        return [(each, app.me.index) for app in self.cluster.base_apps for each in app.bases.values()]

    def _look(self) -> None:
        judge = self.judge
        found: dict[int, BaseEntity] = {}
        for each, _ in self._bases():
            if each.schema.name != "Treasure":
                continue
            token = each.data.base["token"]
            other = found.setdefault(token, each)
            what = f"treasure {token} has the bases {other.id} and {each.id}"
            judge.check(other is each, "P1", what, other.id, each.id)
            is_gone = judge.dbids.get(token) in judge.deleted
            judge.check(not is_gone, "P5", f"treasure {token} was deleted, and entity {each.id} is it", each.id)
        back = judge.deleted & self.cluster.database.entities.keys()
        judge.check(not back, "P5", f"deleted were {sorted(back)}, and they are stored", *sorted(back))
        self.world.clock.after(LOOK_S, self._look)

    def _on_log(self, where: str, event: str, facts: dict[str, object]) -> None:
        if str(event) == "game error":
            raise self.judge.broken or Broken("invariant", f"game code failed: {facts}", where)


@scenario("keepers")
def keepers(world: World, mutation: str | None) -> Keepers:
    """See the module."""
    return Keepers(world, mutation)
