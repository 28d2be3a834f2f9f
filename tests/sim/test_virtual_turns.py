"""Turns in virtual time: soon after something came, at most one in `turn_s`, none for an app that takes none."""

from __future__ import annotations

import pytest

from terrazzo.cluster.app import TURN_S
from terrazzo.cluster.connection import LinkLimits
from terrazzo.sim.world import TURNS_S, FaultLevel, World
from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.outbox import Outbox

LIMITS = LinkLimits()
NOTE = Astray(PartId(EntityId(1), Part.CELL), 0)
PEER = AppId(AppKind.CELL_APP, 1, 1)


class Ticker:
    """An app that works in its ticks."""

    def __init__(self, world: World) -> None:
        self.outbox = Outbox()
        self.heard: list[float] = []
        self._world = world

    def on_message(self, source: AppId, message: object) -> None:
        self.heard.append(self._world.clock.now)

    def on_link_up(self, peer: AppId) -> None: ...

    def on_link_lost(self, peer: AppId) -> None: ...

    def on_tick(self) -> None: ...


class Answerer(Ticker):
    """An app that answers every message in its turn."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.turns: list[float] = []
        self.answered = 0

    def on_turn(self) -> None:
        self.turns.append(self._world.clock.now)
        for _ in self.heard[self.answered :]:
            self.outbox.send(PEER, NOTE)
        self.answered = len(self.heard)


class Town:
    """Both, linked; their ticks are an hour long."""

    def __init__(self, level: FaultLevel = FaultLevel.NONE) -> None:
        self.world = World(3, level)
        self.ticker, self.answerer = Ticker(self.world), Answerer(self.world)
        add = self.world.add
        self.far = add(AppKind.CELL_APP, 1, lambda process: self.ticker, tick_s=3600.0, limits=LIMITS)
        self.near = add(AppKind.BASE_APP, 1, lambda process: self.answerer, tick_s=3600.0, limits=LIMITS)
        self.far.join(self.near.id)
        self.run(1.0)
        self.answerer.turns.clear()

    def run(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def say(self) -> None:
        """The ticker sends something now."""
        self.ticker.outbox.send(self.near.id, NOTE)
        self.far._links._drain()  # type: ignore[union-attr]


def test_answer_comes_with_a_turn_long_before_a_tick():
    town = Town()
    begun = town.world.clock.now
    town.say()
    town.run(1.0)
    assert len(town.answerer.turns) == 1
    [at] = town.ticker.heard
    assert at - begun == pytest.approx(2 * town.world.network.default.latency_s, abs=1e-5)


def test_messages_soon_after_a_turn_share_the_next_one():
    town = Town()
    for _ in range(10):
        town.say()
        town.run(TURN_S / 10)
    town.run(1.0)
    assert len(town.ticker.heard) == 10
    assert 2 <= len(town.answerer.turns) <= 3
    first, second, *_ = town.answerer.turns
    assert second - first == pytest.approx(TURN_S)


def test_app_without_turns_waits_for_its_tick():
    town = Town()
    assert not town.far._links.takes_turns  # type: ignore[union-attr]
    town.far.turn_soon()
    town.run(1.0)
    assert town.answerer.turns == []


def test_turn_of_a_paused_process_comes_when_it_wakes():
    town = Town()
    town.say()
    town.near.pause(0.5)
    town.run(0.4)
    assert town.answerer.turns == []
    town.run(0.4)
    assert len(town.answerer.turns) == 1
    assert len(town.ticker.heard) == 1


def test_turn_of_a_former_incarnation_does_not_come():
    town = Town()
    town.say()
    town.run(town.world.network.default.latency_s)
    town.near.crash(silently=False)
    town.near.start()
    town.run(TURN_S)
    assert town.answerer.turns == []


def test_hostile_worlds_have_turns_of_different_pace():
    assert Town().near.turn_s == TURN_S
    assert Town(FaultLevel.HARSH).near.turn_s in TURNS_S
