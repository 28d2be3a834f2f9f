"""Instances: bases and cell parts make spaces, enter them and end them; what is in an ended space goes."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo import ALL_CLIENTS, BASE, Base, Cell, EntityType, Game, Int32, Space, build, prop
from terrazzo.errors import CallFailed, CallTimeout, SpaceFailed, UsageError
from terrazzo.game import LoadedGame, parts_of
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.validation import violations_of
from terrazzo.sim.world import World

PLAIN = Space("plain", (-50.0, -50.0, 50.0, 50.0))
BOUNDS = (-10.0, -10.0, 10.0, 10.0)


class Guide(EntityType):
    number: Int32 = prop(BASE)
    steps: Int32 = prop(ALL_CLIENTS)


class Spark(EntityType):
    steps: Int32 = prop(ALL_CLIENTS)
    cell_only = True


class GuideBase(Base, of=Guide):
    seen: list[Any]

    async def make(self, name: Any = "hall", **named: Any) -> None:
        try:
            self.seen.append(await self.create_space(name, **named))
        except CallFailed as problem:
            self.seen.append(problem)

    async def make_in_vain(self) -> None:
        self.create_space("hall", bounds=BOUNDS)
        await self.sleep(0.5)

    async def make_two(self) -> None:
        first, second = self.create_space("first"), self.create_space("second")
        await self.sleep(2.0)
        self.seen += [await second, await first]

    async def write(self, name: str, data: Any) -> None:
        try:
            await self.set_space_data(name, data)
        except CallFailed as problem:
            self.seen.append(problem)

    async def end(self, name: str) -> None:
        try:
            await self.end_space(name)
            self.seen.append("end")
        except CallFailed as problem:
            self.seen.append(problem)

    def on_cell_lost(self) -> None:
        self.seen.append("lost")

    def on_cell_failed(self, reason: str) -> None:
        self.seen.append(reason)


class GuideCell(Cell, of=Guide):
    seen: list[Any]

    async def make(self) -> None:
        self.seen.append(await self.create_space("den", bounds=BOUNDS))

    def go(self, space: str, x: float = 0.0) -> None:
        self.teleport(space, (x, 0.0, 0.0))

    def shine(self) -> None:
        self.spawn(Spark)

    def write(self, **data: Any) -> None:
        self.set_space_data(data)

    def on_space_data(self, key: str, value: Any) -> None:
        self.seen.append((self.id, key, value))

    def on_teleported(self) -> None:
        self.seen.append(("in", self.space))

    def on_teleport_failed(self, reason: str) -> None:
        self.seen.append((self.space, reason))


class Land:
    """A plain on two CellApps, and a guide on each."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.world = World(seed=8)
        parts = {
            name: {side: type(each.__name__, (each,), {"seen": self.seen}) for side, each in sides.items()}
            for name, sides in parts_of([Guide, Spark]).items()
        }
        policy = Game(player=Guide, spaces=[PLAIN], on_ready=self._populate, area_radius_m=20.0, ghost_distance_m=20.0)
        game = LoadedGame(build([Guide, Spark]).checked(), policy, parts)
        self.cluster = Cluster(self.world, game, cells=2, spares=1, bases=1)
        self.wait(6.0)
        [base] = self.cluster.base_apps
        self.west, self.east = sorted(base.bases.values(), key=lambda each: each.part.number)

    def _populate(self, server: Any) -> None:
        for number, x in ((1, -30.0), (2, 30.0)):
            server.create(Guide, number=number, space="plain", position=(x, 0.0, 0.0))

    def wait(self, seconds: float = 2.0) -> list[Any]:
        self.world.clock.run_until(self.world.clock.now + seconds)
        seen, self.seen[:] = list(self.seen), []
        return seen

    def base(self, name: str, *args: Any, **named: Any) -> None:
        """Runs a method of the base in the west."""
        self.west.guarded(name, lambda: getattr(self.west.part, name)(*args, **named), ())

    def cell(self, name: str, *args: Any, **named: Any) -> None:
        """Runs a method of its cell part."""
        body = self.real().body
        body.core.run(body, name, lambda: getattr(body.real.part, name)(*args, **named))

    def real(self) -> Any:
        [real] = [app.reals[self.west.id] for app in self.cluster.cell_apps if self.west.id in app.reals]
        return real

    def make(self) -> str:
        self.base("make", bounds=BOUNDS)
        [name] = self.wait()
        assert isinstance(name, str)
        return name

    def spaces(self) -> set[str]:
        """The instances at the manager; the CellApps have those with a cell, and no others."""
        for app in self.cluster.cell_apps:
            assert [*violations_of(app)] == []
            assert {each.id for each in self.cluster.manager.spaces if app.me in each.members} == set(app.spaces)
        return {space.policy.name for space in self.cluster.manager.spaces if space.is_instance}


@pytest.fixture
def land() -> Land:
    return Land()


def test_base_makes_an_instance_and_its_cell_part_enters_it(land):
    name = land.make()
    assert name.startswith("hall#")
    land.cell("go", name)
    assert land.wait() == [("in", name)]
    assert land.real().body.space.name == name
    assert land.spaces() == {name}


def test_cell_part_makes_an_instance(land):
    land.cell("make")
    [name] = land.wait()
    assert name.startswith("den#")
    assert land.spaces() == {name}


def test_entity_enters_an_instance_that_is_still_being_made(land):
    for each in land.cluster.cells:
        land.world.network.path(land.cluster.cell_mgr.name, each.name).latency_s += 1.5
    land.base("make", bounds=BOUNDS)
    [name] = land.wait(0.5)
    assert not next(space.is_made for space in land.cluster.manager.spaces if space.policy.name == name)
    land.west.cell.take_down()
    assert land.wait(0.5) == ["lost"]
    land.west.part.create_cell(name, (1.0, 0.0, 1.0))
    assert land.wait(6.0) == []
    assert land.real().body.space.name == name


def test_point_outside_of_an_instance_is_refused(land):
    name = land.make()
    land.cell("go", name, 11.0)
    [(space, reason)] = land.wait()
    assert space == "plain"
    assert "not within" in reason


def test_end_destroys_what_is_there_and_lets_nothing_in(land):
    name = land.make()
    land.cell("go", name)
    land.wait()
    land.cell("shine")
    land.wait(0.5)
    assert sum(len(app.reals) for app in land.cluster.cell_apps) == 3
    land.base("end", name)
    assert sorted(map(str, land.wait())) == ["end", "lost"]
    assert land.spaces() == set()
    assert [len(app.reals) for app in land.cluster.cell_apps if app.reals] == [1], "the guide in the east"
    land.west.part.create_cell(name, (0.0, 0.0, 0.0))
    [reason] = land.wait()
    assert "has been ended" in reason


def test_end_of_an_instance_with_several_cells_is_complete(land):
    name = land.make()
    land.cluster.manager.add_cell(name)
    land.wait()
    land.cell("go", name, 9.0)
    land.wait()
    land.base("end", name)
    land.wait(4.0)
    assert land.spaces() == set()


def test_teleport_into_an_instance_that_has_been_ended_leaves_the_entity_where_it_was(land):
    name = land.make()
    land.base("end", name)
    land.wait()
    land.cell("go", name)
    [(space, reason)] = land.wait()
    assert space == "plain"
    assert "has been ended" in reason


def test_end_is_repeated_for_a_cellapp_that_was_out_of_reach(land):
    name = land.make()
    land.cell("go", name)
    land.wait()
    home = next(each for each in land.cluster.cells if each.app is not None and land.west.id in each.app.reals)
    path = land.world.network.path(land.cluster.cell_mgr.name, home.name)
    path.shut += 1
    land.world.network.break_between(land.cluster.cell_mgr.name, home.name)
    land.wait(1.0)
    land.base("end", name)
    assert land.wait(3.0) == ["end"], "the manager has it; the CellApp does not"
    assert land.real().body.space.name == name
    path.shut -= 1
    land.world.network.reconsider()
    assert land.wait(10.0) == ["lost"]
    assert land.spaces() == set()


def test_instance_is_ended_when_no_method_has_got_its_name(land):
    land.base("make_in_vain")
    land.wait(0.3)
    assert len(land.spaces()) == 1
    land.wait(2.0)
    assert land.spaces() == set()


def test_names_may_be_awaited_later(land):
    land.base("make_two")
    second, first = land.wait(4.0)
    assert (second.partition("#")[0], first.partition("#")[0]) == ("second", "first")
    assert land.spaces() == {first, second}


def test_instance_that_comes_too_late_is_ended(land):
    path = land.world.network.path(land.cluster.cell_mgr.name, land.cluster.bases[0].name)
    path.latency_s += 1.0
    land.base("make", timeout=0.5)
    [problem] = land.wait(4.0)
    assert isinstance(problem, CallTimeout)
    assert land.spaces() == set()


def test_space_of_the_game_cannot_be_ended(land):
    with pytest.raises(UsageError, match="was not made by create_space"):
        land.west.part.end_space("plain")
    land.base("end", "no such#thing")
    assert land.wait() == ["end"]


@pytest.mark.parametrize("name", ["", "a#b", "x" * 101, 5, None])
def test_impossible_name_is_refused(land, name):
    with pytest.raises(UsageError, match="create_space: name"):
        land.west.part.create_space(name)


@pytest.mark.parametrize("bounds", [None, (1, 2, 3), (0, 0, 0, 1), (0, 0, float("nan"), 1), "abcd", (0, 0, 1e12, 1)])
def test_impossible_bounds_are_refused(land, bounds):
    with pytest.raises(UsageError, match="create_space: bounds"):
        land.west.part.create_space("hall", bounds=bounds)


def test_name_must_be_awaited(land):
    with pytest.raises(UsageError, match="await"):
        land.west.part.create_space("hall")


def test_failure_of_the_manager_is_raised_with_its_reason(land):
    for each in land.cluster.cells:
        land.world.network.path(land.cluster.cell_mgr.name, each.name).shut += 1
        land.world.network.break_between(land.cluster.cell_mgr.name, each.name)
    land.wait(1.0)
    land.base("make")
    [problem] = land.wait()
    assert isinstance(problem, SpaceFailed)
    assert "try again later" in str(problem)


def test_data_reaches_the_entities_of_all_cells_of_a_space(land):
    land.cell("write", gate="open", round=1)
    west, east = land.west.id, land.east.id
    assert sorted(land.wait()) == [(each, *item) for each in (west, east) for item in (("gate", "open"), ("round", 1))]
    assert [app.spaces[1].data_version for app in land.cluster.cell_apps if 1 in app.spaces] == [1, 1]
    assert land.real().part.space_data == {"gate": "open", "round": 1}
    land.base("write", "plain", {"round": 2})
    assert sorted(land.wait()) == [(west, "round", 2), (east, "round", 2)]


def test_data_of_an_instance_is_there_from_the_beginning(land):
    land.base("make", bounds=BOUNDS, data={"level": [1, 2]})
    [name] = land.wait()
    land.cell("go", name)
    assert land.wait() == [("in", name)], "no hook for what is there"
    assert land.real().part.space_data == {"level": [1, 2]}
    land.real().part.space_data["level"].append(3)
    assert land.real().part.space_data == {"level": [1, 2]}, "it is a copy"


def test_entity_that_comes_into_a_cell_with_newer_data_gets_it_once(land):
    """The CellApp in the west is not sent the data; the entity crosses into the east, and comes back."""
    apps = {each.name: each for each in land.cluster.cells}
    home = next(name for name, each in apps.items() if each.app is not None and land.west.id in each.app.reals)
    path = land.world.network.path(land.cluster.cell_mgr.name, home)
    path.shut += 1
    land.world.network.break_between(land.cluster.cell_mgr.name, home)
    land.wait(1.0)
    land.base("write", "plain", {"gate": 5})
    assert land.wait() == [(land.east.id, "gate", 5)]
    land.real().part.position = (20.0, 0.0, 0.0)
    assert land.wait() == [(land.west.id, "gate", 5)]
    land.real().part.position = (-20.0, 0.0, 0.0)
    assert land.wait() == []
    assert land.real().part.space_data == {}, "this cell is behind"
    path.shut -= 1
    land.world.network.reconsider()
    assert land.wait(10.0) == []
    assert land.real().part.space_data == {"gate": 5}


def test_data_of_an_ended_space_is_refused(land):
    name = land.make()
    land.base("end", name)
    land.wait()
    land.base("write", name, {"gate": 1})
    [problem] = land.wait()
    assert isinstance(problem, SpaceFailed)
    assert "has been ended" in str(problem)


@pytest.mark.parametrize("data", [None, [1], {1: 2}, {"x" * 101: 1}, {"a": object()}, {"a": "x" * 9000}])
def test_impossible_data_is_refused(land, data):
    with pytest.raises(UsageError, match="set_space_data: data"):
        land.west.part.set_space_data("plain", data)
