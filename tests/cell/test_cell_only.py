"""Entities without a base part: an arrow is there in the tick in which it is shot, crosses borders, is found, called
and ends; and whole entities that the code of a cell part creates."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    CELL_PRIVATE,
    Base,
    Cell,
    EntityType,
    Game,
    Int32,
    Ref,
    Space,
    build,
    prop,
    remote,
)
from terrazzo.errors import CallFailed, CreationFailed, EntityMoved, UsageError
from terrazzo.game import LoadedGame, parts_of
from terrazzo.schema.refs import Component
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.validation import violations_of
from terrazzo.sim.world import World

PLAIN = Space("plain", (-50.0, -50.0, 50.0, 50.0))


class Archer(EntityType):
    number: Int32 = prop(BASE)
    hits: Int32 = prop(ALL_CLIENTS)


class Arrow(EntityType):
    power: Int32 = prop(ALL_CLIENTS, default=3)
    splits: Int32 = prop(CELL_PRIVATE)

    cell_only = True


class ArcherBase(Base, of=Archer):
    seen: list[Any]

    async def ask(self, arrow: Ref) -> None:
        try:
            self.seen.append(await self.ref(arrow).tell_power(timeout=20.0))
        except CallFailed as problem:
            self.seen.append((type(problem), str(problem)))


class ArcherCell(Cell, of=Archer):
    seen: list[Any]

    def shoot(self, **named: Any) -> Ref:
        return self.spawn(Arrow, **named)

    def order(self, arrow: Ref, method: str, *args: Any) -> None:
        getattr(self.ref(arrow), method)(*args)

    async def raise_guard(self, **named: Any) -> None:
        try:
            self.seen.append(await self.create(Archer, **named))
        except CallFailed as problem:
            self.seen.append((type(problem), str(problem)))

    @remote
    def be_hit(self) -> None:
        self.hits += 1


class ArrowCell(Cell, of=Arrow):
    seen: list[Any]

    def on_created(self) -> None:
        self.seen.append("created")
        if self.splits:
            self.spawn("Arrow", splits=self.splits - 1)

    def on_reached(self, number: int) -> None:
        self.seen.append("reached")

    @remote
    def tell_power(self) -> Int32:
        power: int = self.power
        return power

    @remote
    def fly(self, x: Int32) -> None:
        self.move_to((float(x), 0.0, 0.0), 20.0)

    @remote
    def end(self) -> None:
        self.destroy()


class Land:
    """A plain of two cells, with the border at x = 0."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.logged: list[Any] = []
        self.world = World(seed=8)
        self.world.on_log = lambda where, event, facts: self.logged.append((str(event), facts))
        parts = {
            name: {side: type(each.__name__, (each,), {"seen": self.seen}) for side, each in sides.items()}
            for name, sides in parts_of([Archer, Arrow]).items()
        }
        policy = Game(player=Archer, spaces=[PLAIN], on_ready=self._populate, area_radius_m=20.0, ghost_distance_m=20.0)
        self.cluster = Cluster(
            self.world, LoadedGame(build([Archer, Arrow]).checked(), policy, parts), cells=2, bases=2
        )
        self.wait(6.0)
        [base] = [app.bases for app in self.cluster.base_apps if app.bases]
        self.west, self.east = sorted(base.values(), key=lambda each: each.part.number)

    def _populate(self, server: Any) -> None:
        for number, x in ((1, -30.0), (2, 30.0)):
            server.create(Archer, number=number, space="plain", position=(x, 0.0, 0.0))

    def wait(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def home(self, entity: int) -> Any:
        homes = [app for app in self.cluster.cell_apps if entity in app.reals]
        assert len(homes) <= 1
        return homes[0] if homes else None

    def act(self, entity: int, name: str, *args: Any, **named: Any) -> Any:
        real = self.home(entity).reals[entity]
        function = getattr(real.part, name)
        return real.body.core.run(real.body, name, lambda: function(*args, **named))

    def sound(self) -> bool:
        return not [each for app in self.cluster.cell_apps for each in violations_of(app)]

    @property
    def errors(self) -> list[Any]:
        return [facts for event, facts in self.logged if event == "game error"]


@pytest.fixture
def land() -> Land:
    return Land()


def test_arrow_is_born_where_its_archer_is_in_the_same_tick(land):
    arrow = land.act(land.west.id, "shoot", power=7)
    assert arrow.component is Component.CELL
    land.wait(0.1)
    app = land.home(arrow.id)
    assert app is land.home(land.west.id)
    body = app.bodies[arrow.id]
    assert body.position == (-30.0, 0.0, 0.0)
    assert body.view.power == 7
    assert land.seen == ["created"]
    assert land.sound()


def test_arrow_crosses_the_border_with_ghosts_and_is_lost_nowhere(land):
    arrow = land.act(land.west.id, "shoot")
    land.act(land.west.id, "order", arrow, "fly", 25)
    west = land.home(land.west.id)
    homes = set()
    for _ in range(60):
        land.wait(0.1)
        homes.add(land.home(arrow.id))
    assert homes - {None} == set(land.cluster.cell_apps)
    assert land.home(arrow.id) is land.home(land.east.id) is not west
    assert land.seen == ["created", "reached"]
    assert land.sound()
    assert west.bodies[arrow.id].real is None, "a ghost is left, since the border is near"
    assert land.errors == []


def test_distant_base_finds_and_calls_an_arrow_wherever_it_went(land):
    arrow = land.act(land.west.id, "shoot", power=9)
    land.act(land.west.id, "order", arrow, "fly", 25)
    land.wait(6.0)
    land.east.guarded("ask", lambda: land.east.part.ask(arrow), ())
    land.wait(3.0)
    assert land.seen[-1] == 9
    land.act(land.east.id, "order", arrow, "end")
    land.wait(1.0)
    assert land.home(arrow.id) is None
    land.wait(400.0)
    land.east.guarded("ask", lambda: land.east.part.ask(arrow), ())
    land.wait(10.0)
    assert land.seen[-1][1] == f"tell_power of {arrow.id}.cell: there is no such entity (any more)"
    assert land.errors == []


def test_call_of_an_arrow_that_has_just_ended_fails_without_waiting_for_searches(land):
    arrow = land.act(land.west.id, "shoot", power=9)
    land.wait(1.0)
    land.act(land.west.id, "order", arrow, "end")
    land.wait(1.0)
    land.east.guarded("ask", lambda: land.east.part.ask(arrow), ())
    land.wait(2.0)
    assert land.seen[-1][1] == f"tell_power of {arrow.id}.cell: there is no such entity (any more)"
    assert land.errors == []


def test_arrows_may_split_when_they_are_born(land):
    land.act(land.west.id, "shoot", splits=20)
    land.wait(1.0)
    assert land.seen == ["created"] * 21
    arrows = [
        body
        for app in land.cluster.cell_apps
        for body in app.bodies.values()
        if body.real and body.kind.name == "Arrow"
    ]
    assert len({body.id for body in arrows}) == len(arrows) == 21


def test_arrow_shot_beyond_the_border_is_offloaded(land):
    arrow = land.act(land.west.id, "shoot", position=(20.0, 0.0, 0.0))
    land.wait(2.0)
    assert land.home(arrow.id) is land.home(land.east.id)
    assert land.seen == ["created"]


def test_ids_of_two_cells_never_meet_and_run_out_with_an_error(land):
    one, two = (land.act(archer.id, "shoot") for archer in (land.west, land.east))
    assert one.id != two.id
    land.cluster.base_mgr.app._db = None
    stock = land.home(land.west.id).ids
    for _ in range(len(stock)):
        stock.take()
    land.act(land.west.id, "shoot")
    assert "no entity ids are left at this moment" in land.errors[-1]["error"]


def test_arrow_has_no_base(land):
    arrow = land.act(land.west.id, "shoot")
    land.wait(0.2)
    part = land.home(arrow.id).reals[arrow.id].part
    with pytest.raises(UsageError, match="Arrow is cell_only: it has no base part"):
        _ = part.base
    with pytest.raises(UsageError, match="cell_only: it has no base part that could be called"):
        land.west.part.ref(Ref(arrow.id, Component.BASE, arrow.type_id))
    with pytest.raises(UsageError, match="Arrow is cell_only: the code of a cell part makes it, with spawn"):
        land.west.part.create(Arrow)
    with pytest.raises(UsageError, match="spawn: Archer has a base part: use create"):
        land.home(land.west.id).reals[land.west.id].part.spawn(Archer)


def test_cell_part_creates_a_whole_entity(land):
    land.act(land.west.id, "raise_guard", position=(-20.0, 0.0, 5.0), number=3)
    land.act(land.west.id, "raise_guard", number=4)
    land.wait(3.0)
    bases = {each.id: each for app in land.cluster.base_apps for each in app.bases.values()}
    third, fourth = sorted((bases[ref.id] for ref in land.seen), key=lambda each: each.part.number)
    assert land.home(third.id).bodies[third.id].position == (-20.0, 0.0, 5.0)
    assert not fourth.has_cell
    assert fourth.part.number == 4


def test_creation_goes_on_when_the_creator_moves_and_fails_with_the_reason(land, monkeypatch):
    monkeypatch.setattr(land.cluster.cell_mgr.app, "_entry_at", lambda asked: "closed for today")
    land.act(land.west.id, "raise_guard", position=(-20.0, 0.0, 5.0))
    land.wait(3.0)
    assert land.seen == [(CreationFailed, "Archer: closed for today")]
    land.act(land.west.id, "raise_guard")
    part = land.home(land.west.id).reals[land.west.id].part
    land.home(land.west.id).core.run(part._body, "go", lambda: setattr(part, "position", (40.0, 0.0, 0.0)))
    land.wait(0.3)
    assert [kind for kind, _ in land.seen[1:]] == [EntityMoved]
    land.wait(3.0)
    assert sum(len(app.bases) for app in land.cluster.base_apps) == 3


def test_cell_only_type_has_nothing_that_a_base_part_does():
    class Ghostly(EntityType):
        name: Int32 = prop(ALL_CLIENTS, saved=True)
        bank: Int32 = prop(BASE)
        cell_only = True

    class GhostlyBase(Base, of=Ghostly):
        pass

    problems = [str(problem) for problem in build([Ghostly]).errors]
    assert len(problems) == 3
    assert any("Ghostly.name is saved, which a base part does" in each for each in problems)
    assert any("Ghostly.bank is BASE" in each for each in problems)
    assert any("leave out GhostlyBase" in each for each in problems)
