"""The seamless scenario: whole clusters, real clients, a torn ground, and a network that hates them.

Players and creatures on three to six cells in an awkward tree: they hug borders and corners, jump between spaces, call
each other and change all the time, while cells are added and retired and borders move. Some ways between apps are much
longer than others, so that what goes two ways overtakes; with faults they lag, clog, break and are narrow, and apps
stand still for a while. Nobody dies: that is for the scenarios of recovery.

    seamless_shape.py      what is drawn from the seed      seamless_judge.py     what the game's code tells
    seamless_types.py      the entities                     seamless_story.py     what each entity did
    seamless_game.py       what they do;                    seamless_calls.py     P2; seamless_haste.py
    seamless_beings.py     what they have in common         seamless_duties.py    what happens once; seamless_rest.py
    seamless_walk.py       how they walk                    seamless_whims.py     what is shown by hand, who rides
    seamless_ground.py     how the ground moves             seamless_truth.py     P1, P3
    seamless_players.py    who plays them                   seamless_view.py      P4; seamless_gaps.py
    seamless_saves.py      P5                               seamless_excuses.py   P3: what a ghost may skip
    seamless_hooks.py      P3: hooks come in pairs          seamless_pace.py      P7: nobody is too fast
    seamless_sight.py      P4: whatever is near is seen in time
    seamless_timers.py     P1: timers of chosen numbers     seamless_errands.py   P1: where controllers arrive
    seamless_budget.py     P4: bytes for a client           seamless_rates.py     P7: call rates, exposure
    seamless_clients.py    P4: proxies that are kept, and get the next client

`skeleton` is its small form: a ground that stays, no teleports, no faults.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame
from terrazzo.sim.rest import Problem
from terrazzo.sim.scenario import scenario
from terrazzo.sim.scenarios import seamless_rest
from terrazzo.sim.scenarios.seamless_bounds import Kind
from terrazzo.sim.scenarios.seamless_game import game_of
from terrazzo.sim.scenarios.seamless_players import Player
from terrazzo.sim.scenarios.seamless_shape import Shape, hastened, large, small, thrifty
from terrazzo.sim.scenarios.seamless_sight import BITS_S_MIN, Sightings
from terrazzo.sim.scenarios.torn import Torn
from terrazzo.sim.world import FaultLevel, World


class Seamless(Torn):
    """One cluster and those who live in it."""

    name = "seamless"
    paths = "seamless paths"
    player_type: type[Player] = Player
    growing = ("visits", "gold")
    walkers: Collection[str] = ("Avatar",)
    """The types that nobody but their clients moves."""

    def __init__(self, world: World, shape: Shape, mutation: str | None) -> None:
        super().__init__(world, shape, mutation)
        self.judge.pace.walkers = self.walkers
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
            Kind.DUTIES: self.judge.duties.unrest(lambda entity, life: is_over("cell", entity, life)),
            Kind.CALLS: self.judge.rates.unrest(),
            Kind.CLIENTS: self.judge.clients.unrest(self.cluster.base_apps, self.truth.real_of),
            Kind.HOOKS: self.judge.hooked.unrest(self.cluster.cell_apps),
            Kind.AREAS: seamless_rest.unrest(self.judge, self.truth.reals()),
            Kind.BASES: seamless_rest.unrest_of_bases(self.judge, self.cluster.base_apps, self.truth),
        }
        yield from (Problem(kind, each[0], each[1:]) for kind, each in found.items() if each is not None)

    def _kind_of(self, player: Player) -> Kind:
        """Of what kind it is when a player is not at rest."""
        if not player.is_seeing:
            return Kind.PLAYERS
        real = self.truth.real_of(player.entity)
        owes = real is not None and real.witness is not None and real.witness.owes
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
        raise UsageError("the skeleton scenario knows no faults: run it with --faults none, or run seamless")
    return Seamless(world, hastened(world, small(world.rng("skeleton"))), mutation)
