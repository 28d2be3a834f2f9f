"""Names of bases: one holder in the cluster, found from everywhere, free when the base is gone."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo import Base, Cell, EntityType, Game, Int32, Ref, Space, build, prop
from terrazzo.errors import CallFailed, CallTimeout, NameTaken, UsageError
from terrazzo.game import LoadedGame, parts_of
from terrazzo.schema.flags import BASE
from terrazzo.schema.refs import Component
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.world import World


class Guild(EntityType):
    number: Int32 = prop(BASE)


class GuildBase(Base, of=Guild):
    seen: list[Any]

    async def take(self, name: str, timeout: float = 20.0) -> None:
        try:
            await self.register_name(name, timeout=timeout)
            self.seen.append((self.number, name))
        except CallFailed as problem:
            self.seen.append((self.number, type(problem), str(problem)))

    async def look(self, name: str) -> None:
        self.seen.append(await self.lookup(name))

    def take_plainly(self, name: str) -> None:
        self.register_name(name)


class GuildCell(Cell, of=Guild):
    seen: list[Any]

    async def look(self, name: str) -> None:
        self.seen.append(await self.lookup(name))


class Town:
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.logged: list[Any] = []
        self.world = World(seed=6)
        self.world.on_log = lambda where, event, facts: self.logged.append((str(event), facts))
        parts = parts_of([Guild])
        seen = {"seen": self.seen}
        parts["Guild"] = {side: type(each.__name__, (each,), seen) for side, each in parts["Guild"].items()}
        policy = Game(player=Guild, spaces=[Space("plain")], on_ready=self._populate)
        self.cluster = Cluster(self.world, LoadedGame(build([Guild]).checked(), policy, parts), cells=1, bases=2)
        self.wait(6.0)
        self.one, self.two, self.three = (self.guild(number) for number in (1, 2, 3))

    def _populate(self, server: Any) -> None:
        server.create(Guild, number=1, space="plain", position=(0.0, 0.0, 0.0))
        [app] = [app for app in self.cluster.base_apps if app.on_ready_error is not None]
        others = [each for each in self.cluster.base_apps if each is not app]
        for number, home in ((2, others[0]), (3, app)):
            type(server)(home.game, home.factory.create).create(Guild, number=number)

    @property
    def manager(self) -> Any:
        return self.cluster.base_mgr.app

    def guild(self, number: int) -> Any:
        found = [each for app in self.cluster.base_apps for each in app.bases.values() if each.part.number == number]
        return found[0]

    def wait(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def act(self, guild: Any, name: str, *args: Any, seconds: float = 1.0) -> Any:
        """Runs a method, and gives what was seen since."""
        self.seen.clear()
        guild.guarded(name, lambda: getattr(guild.part, name)(*args), ())
        self.wait(seconds)
        return list(self.seen)


@pytest.fixture
def town() -> Town:
    return Town()


def ref_of(guild: Any) -> Ref:
    return Ref(guild.id, Component.BASE, guild.schema.type_id)


def test_named_base_is_found_from_other_bases_and_from_cells(town):
    assert town.act(town.two, "look", "bank") == [None]
    assert town.act(town.one, "take", "bank") == [(1, "bank")]
    assert town.act(town.two, "look", "bank") == [ref_of(town.one)]
    [app] = town.cluster.cell_apps
    [real] = app.reals.values()
    town.seen.clear()
    app.core.run(real.body, "look", real.part.look, "bank")
    town.wait(1.0)
    assert town.seen == [ref_of(town.one)]


def test_name_has_one_holder_and_racing_registrations_have_one_winner(town):
    for guild in (town.two, town.one, town.three):
        guild.guarded("take", lambda guild=guild: guild.part.take("bank"), ())
    town.wait(1.0)
    won = [each for each in town.seen if len(each) == 2]
    lost = [each for each in town.seen if len(each) == 3]
    assert len(won) == 1
    assert [kind for _, kind, _ in lost] == [NameTaken, NameTaken]
    holder = town.guild(won[0][0])
    assert all(f"entity {holder.id} has the name 'bank'" in text for _, _, text in lost)
    assert town.act(holder, "take", "bank") == won, "it has the name already"


def test_name_is_free_when_given_back_or_its_base_is_gone(town):
    town.act(town.one, "take", "bank")
    town.two.part.drop_name("bank")
    town.wait(1.0)
    assert town.act(town.two, "look", "bank") == [ref_of(town.one)], "only the holder gives it back"
    town.one.part.drop_name("bank")
    town.wait(1.0)
    assert town.act(town.two, "take", "bank") == [(2, "bank")]
    town.two.part.destroy()
    town.wait(1.0)
    assert town.act(town.three, "look", "bank") == [None]
    assert town.act(town.three, "take", "bank") == [(3, "bank")]


def test_name_that_is_granted_too_late_is_given_back(town, monkeypatch):
    requests = town.manager.requests
    answer = requests.answer
    monkeypatch.setattr(requests, "answer", lambda *args: town.world.clock.after(3.0, answer, *args))
    seen = town.act(town.two, "take", "bank", 1.0, seconds=2.0)
    assert [kind for _, kind, _ in seen] == [CallTimeout]
    town.wait(5.0)
    assert len(town.manager.names) == 0
    assert [len(app.names) for app in town.cluster.base_apps] == [0, 0]


def test_names_outlast_a_lost_link_and_end_with_the_process(town):
    town.act(town.one, "take", "bank")
    home = next(app for app in town.cluster.base_apps if town.one.id in app.bases)
    assert town.world.network.break_between(f"base_app-{home.me.index}", "base_app_mgr-0")
    assert town.act(town.two if town.two.id not in home.bases else town.three, "look", "bank") == [ref_of(town.one)]
    town.wait(10.0)
    assert town.act(town.two, "look", "bank") == [ref_of(town.one)]
    manager = town.manager
    manager.names.on_joined(home.me._replace(incarnation=home.me.incarnation + 1))
    assert len(manager.names) == 0


def test_without_an_await_a_name_is_taken_or_the_failure_is_logged(town):
    town.act(town.one, "take_plainly", "bank")
    assert town.act(town.two, "look", "bank") == [ref_of(town.one)]
    town.act(town.two, "take_plainly", "bank")
    assert [facts["entity"] for event, facts in town.logged if event == "name not registered"] == [town.two.id]


def test_odd_names_are_refused(town):
    for odd in ("", "x" * 201, 7, "\ud800"):
        for method in ("register_name", "drop_name", "lookup"):
            with pytest.raises(UsageError, match=f"{method}: name"):
                getattr(town.one.part, method)(odd)
