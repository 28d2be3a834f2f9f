"""The seamless scenario: whole clusters with real clients, cells that change, and a faulty network.

Players and creatures live on three to six cells of very different shapes. They walk along borders and around corners,
jump between spaces, call each other and change all the time, while cells are added and retired and borders move. Some
paths
between apps are much longer than others, so that messages on two paths overtake each other; with faults, paths lag,
clog, break and are narrow, and apps stop for a while. No app crashes: crashes belong to the scenarios of recovery.

`__init__.py` lists the modules. `skeleton` is the small form: cells that do not change, no teleports, no faults.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from terrazzo.cell.client.clients import witness_of
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame
from terrazzo.sim.liveness import Problem
from terrazzo.sim.scenario import scenario
from terrazzo.sim.scenarios.seamless import at_rest
from terrazzo.sim.scenarios.seamless.game import game_of
from terrazzo.sim.scenarios.seamless.liveness_bounds import Kind
from terrazzo.sim.scenarios.seamless.players import Player
from terrazzo.sim.scenarios.seamless.shape import Shape, hastened, large, small, thrifty
from terrazzo.sim.scenarios.seamless.sightings import BITS_S_MIN, Sightings
from terrazzo.sim.scenarios.torn import Torn
from terrazzo.sim.world import FaultLevel, World


class Seamless(Torn):
    """One cluster and its entities."""

    name = "seamless"
    paths = "seamless paths"
    player_type: type[Player] = Player
    growing = ("visits", "gold")
    walkers: Collection[str] = ("Avatar",)
    """The types that only their clients move."""

    def __init__(self, world: World, shape: Shape, mutation: str | None) -> None:
        super().__init__(world, shape, mutation)
        self.judge.speed_limit.walkers = self.walkers
        self.players = [
            self.player_type(self.cluster, self.judge, self.truth, f"player-{n}") for n in range(1, shape.players + 1)
        ]
        self.sightings = Sightings(world, self.judge, self.truth, self.players)
        if shape.is_peaceful and not self.busy_s and shape.client_bits_s >= BITS_S_MIN:
            self.sightings.begin()

    def _game(self) -> LoadedGame:
        return game_of(self.judge, self.shape, on_ready=self._populate)

    def problems(self) -> Iterator[Problem]:
        """See Torn."""
        lost = self.judge.calls.unrest()
        if lost is not None:
            yield Problem(Kind.CALLS, lost[0], lost[1:])
        for player in self.players:
            what = player.unrest()
            if what is not None:
                yield Problem(self._kind_of(player), what, (player.name, player.entity))
        yield from self.truth.unrest()
        is_over = self.judge.is_over
        found = {
            Kind.ONCE: self.judge.once.unrest(lambda entity, life: is_over("cell", entity, life)),
            Kind.CALLS: self.judge.rates.unrest(),
            Kind.REALS: self.judge.darts.unrest(),
            Kind.CLIENTS: self.judge.clients.unrest(self.cluster.base_apps, self.truth.real_of),
            Kind.HOOKS: self.judge.migration_hooks.unrest(self.cluster.cell_apps),
            Kind.AREAS: at_rest.unrest(self.judge, self.truth.reals()),
            Kind.BASES: at_rest.unrest_of_bases(self.judge, self.cluster.base_apps, self.truth),
        }
        yield from (Problem(kind, each[0], each[1:]) for kind, each in found.items() if each is not None)

    def _kind_of(self, player: Player) -> Kind:
        """The kind of problem when a player is not at rest."""
        if not player.is_seeing:
            return Kind.PLAYERS
        real = self.truth.real_of(player.entity)
        witness = None if real is None else witness_of(real)
        owes = witness is not None and witness.sent.budget.deficit > 0
        return Kind.BACKLOGS if owes else Kind.VIEWS

    def _populate(self, server: Any) -> None:
        number = 0
        for name, count in self.shape.population.items():
            for _ in range(count):
                number -= 1
                space, position = self.judge.entry(number)
                server.create(name, space=space, position=position)


@scenario("seamless")
def seamless(world: World, mutation: str | None) -> Seamless:
    """See the module."""
    return Seamless(world, thrifty(world, hastened(world, large(world.rng("seamless"), world.level))), mutation)


@scenario("skeleton")
def skeleton(world: World, mutation: str | None) -> Seamless:
    """See the module."""
    if world.level is not FaultLevel.NONE:
        raise UsageError("the skeleton scenario has no faults: run it with --faults none, or run seamless")
    return Seamless(world, hastened(world, small(world.rng("skeleton"))), mutation)
