"""The sync scenario: how properties are sent, in worlds of which no two have the same schema.

It is the seamless scenario (`sim/scenarios/seamless/scenario.py`: the same ground, walks, players, faults, and the
judges of reals and ghosts) with other entities and another judge of clients. `__init__.py` lists the modules.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from terrazzo.game import LoadedGame
from terrazzo.sim.scenario import scenario
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.players import Player
from terrazzo.sim.scenarios.seamless.scenario import Seamless
from terrazzo.sim.scenarios.seamless.shape import Shape, large
from terrazzo.sim.scenarios.sync.client_view import SyncView
from terrazzo.sim.scenarios.sync.game import Cast, SyncJudge
from terrazzo.sim.scenarios.sync.reals_and_ghosts import SyncTruth
from terrazzo.sim.world import FaultLevel, World


class SyncPlayer(Player):
    """A player with an account."""

    view_type = SyncView
    saved = ("name",)
    pushes = False

    def _come(self) -> None:
        before = self.seat
        super()._come()
        if self.seat is not None and self.seat is not before:
            assert isinstance(self._judge, SyncJudge)
            self._judge.lost_messages.watch_view(self.seat.app.view)


class Sync(Seamless):
    """One cluster, its schema, and its entities."""

    name = "sync"
    truth_type = SyncTruth
    player_type = SyncPlayer
    walkers = ()  # here players also walk by themselves

    def _judge(self, world: World) -> Judge:
        self._cast = Cast(world, self.shape)
        return SyncJudge(world, self.ground, self.shape, self._cast.schema)

    def _game(self) -> LoadedGame:
        assert isinstance(self.judge, SyncJudge)
        return self._cast.game(self.judge, self.shape, self._populate)


def shape_of(rng: Random, level: FaultLevel) -> Shape:
    """The shape as in the seamless scenario, but with types of its own."""
    kinds = rng.randrange(1, 4)
    population = {f"Thing{number}": rng.randrange(2, 6) for number in range(1, kinds + 1)}
    return replace(large(rng, level), population=population)


@scenario("sync")
def sync(world: World, mutation: str | None) -> Sync:
    """See the module."""
    return Sync(world, shape_of(world.rng("sync"), world.level), mutation)
