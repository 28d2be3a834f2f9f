"""Timers and sleeps of a base part: on time, once, and over when the base is destroyed."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo import BASE, Base, ComponentType, EntityType, Game, Int32, Space, build, component, prop
from terrazzo.base.entity import BaseLife
from terrazzo.errors import EntityGone, UsageError
from terrazzo.game import LoadedGame, parts_of
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.world import World

TAXES = 7


class Purse(ComponentType):
    gold: Int32 = prop(BASE)


class Guild(EntityType):
    """A base alone."""

    size: Int32 = prop(BASE, saved=True)
    purse = component(Purse)


class PurseBase(Base, of=Purse):
    async def fill(self) -> None:
        self.timer(1.0, number=5)
        await self.sleep(2.0)
        self.gold += 10


class GuildBase(Base, of=Guild):
    seen: list[Any]
    at: Any

    def on_created(self) -> None:
        self.note("on_created")

    def on_timer(self, number: int) -> None:
        self.note(number)
        if number == 13:
            raise RuntimeError("unlucky")

    def note(self, what: Any) -> None:
        self.seen.append((what, round(self.at() - 1e-6, 1)))

    async def nap(self, seconds: float) -> None:
        self.note("naps")
        try:
            await self.sleep(seconds)
        except EntityGone:
            self.size = 77
            raise
        finally:
            self.note("awake")

    async def count(self, times: int) -> None:
        for _ in range(times):
            await self.sleep(1.0)
            self.size += 1


class Town:
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.errors: list[Any] = []
        self.world = World(seed=4)
        self.world.on_log = lambda where, event, facts: self.errors.append(facts) if event == "game error" else None
        self.began = 0.0
        of_world = {"seen": self.seen, "at": staticmethod(lambda: self.world.clock.now - self.began)}
        parts = parts_of([Guild])
        parts["Guild"] = {side: type(each.__name__, (each,), of_world) for side, each in parts["Guild"].items()}
        policy = Game(player=Guild, spaces=[Space("plain")], on_ready=lambda server: server.create("Guild"))
        self.cluster = Cluster(self.world, LoadedGame(build([Guild]).checked(), policy, parts), cells=1, bases=1)
        self.wait(4.0)
        [self.app] = self.cluster.base_apps
        [self.guild] = self.app.bases.values()
        assert [what for what, _ in self.seen] == ["on_created"]
        self.seen.clear()
        self.began = self.world.clock.now

    @property
    def part(self) -> Any:
        return self.guild.part

    def wait(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def act(self, name: str, *args: Any) -> None:
        self.guild.guarded(name, getattr(self.part, name), args)


@pytest.fixture
def town() -> Town:
    return Town()


def test_timer_fires_once_and_a_repeating_one_keeps_its_beat(town):
    assert town.part.timer(1.0, number=TAXES) == TAXES
    town.part.timer(0.5, 1.0, number=8)
    town.wait(3.2)
    assert [what for what, _ in town.seen] == [8, TAXES, 8, 8]
    late = [at - due for (_, at), due in zip(town.seen, (0.5, 1.0, 1.5, 2.5), strict=True)]
    assert all(-0.01 <= each <= 0.11 for each in late), "in the first tick after it is due"


def test_cancelled_timer_does_not_fire_and_drawn_numbers_differ(town):
    first, second = town.part.timer(0.5), town.part.timer(0.5)
    assert first != second
    town.part.cancel(first)
    town.part.cancel(first)
    town.wait(1.0)
    assert [what for what, _ in town.seen] == [second]


def test_repeating_timer_goes_on_after_an_exception(town):
    town.part.timer(0.5, 0.5, number=13)
    town.wait(1.3)
    assert [what for what, _ in town.seen] == [13, 13]
    assert len(town.errors) == 2


def test_sleep_takes_its_time_and_leaves_the_base_free(town):
    town.act("count", 3)
    town.act("nap", 1.5)
    town.wait(2.2)
    assert town.part.size == 2
    [(_, began), (_, woke)] = town.seen
    assert 1.5 <= woke - began <= 1.7
    town.wait(1.1)
    assert town.part.size == 3
    assert len(town.app.awaiting) == 0
    assert not town.app.awaiting._waits


def test_sleep_outside_of_an_async_def_is_refused(town):
    with pytest.raises(UsageError, match="sleep: only an async def can wait"):
        town.part.sleep(1.0)
    town.act("count", 1)
    assert town.errors == []


def test_destroyed_base_has_no_timers_and_its_sleeping_methods_end_before_the_last_save(town, monkeypatch):
    saved: list[int] = []
    save = town.guild.saver.save

    def note_and_save(*args: Any) -> None:
        saved.append(town.part.size)
        save(*args)

    monkeypatch.setattr(town.guild.saver, "save", note_and_save)
    town.part.save()
    town.part.timer(0.0, 0.1)
    town.act("nap", 100.0)
    town.part.destroy()
    with pytest.raises(UsageError, match="gets no timer any more"):
        town.part.timer(1.0)
    town.wait(2.0)
    assert [what for what, _ in town.seen] == ["naps", "awake"]
    assert saved == [0, 77], "what the method changed at its end is saved"
    assert town.guild.life is BaseLife.GONE
    assert town.errors == []
    assert not town.app.awaiting._waits


def test_component_has_the_timers_and_sleeps_of_its_entity(town):
    town.guild.guarded("fill", lambda: town.part.purse.fill(), ())
    town.wait(2.5)
    assert [what for what, _ in town.seen] == [5]
    assert town.part.purse.gold == 10
    assert town.errors == []
