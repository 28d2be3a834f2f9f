"""The fight scenario: the fight of examples/plaza on changing cells, where entities migrate in mid-blow.

Players strike through their clients, creatures by themselves and back; they walk along borders, jump between spaces,
leave and end, while cells are added and retired, borders move, and links lag, break and clog. `judge.py` has the
checks: a blow that landed is felt once, an answer is counted once, and at rest no record is left over. The promises of
the seamless scenario about reals and ghosts (P1, P3) are judged as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from terrazzo.game import LoadedGame
from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.liveness import Problem
from terrazzo.sim.scenario import scenario
from terrazzo.sim.scenarios.fight.game import game_of, rules
from terrazzo.sim.scenarios.fight.judge import FightJudge
from terrazzo.sim.scenarios.seamless.liveness_bounds import Kind
from terrazzo.sim.scenarios.seamless.shape import Shape, hastened, large
from terrazzo.sim.scenarios.seamless.walking import Gait
from terrazzo.sim.scenarios.torn import Torn
from terrazzo.sim.world import World

SPEED = 14.0
STEP_S = 0.05


class Fighter:
    """A player with an account, which logs in, strikes, and leaves, again and again."""

    def __init__(self, cluster: Cluster, judge: FightJudge, name: str) -> None:
        self._cluster = cluster
        self._clock = cluster.world.clock
        self._judge = judge
        self._name = name
        self._rng = cluster.world.rng(f"fighter {name}")
        self._gait = Gait(judge.ground, self._rng)
        self._leave_at = 0.0
        self._clock.after(self._rng.uniform(0.0, 2.0), self._come)

    def _come(self) -> None:
        if self._judge.is_working:
            seat = self._cluster.client(self._name, "secret")
            seat.on_step = lambda now: self._on_step(seat, now)
            self._leave_at = self._clock.now + self._rng.uniform(4.0, 20.0)

    def _on_step(self, seat: Seat, now: float) -> None:
        app = seat.app
        if app.is_over:
            seat.on_step = None
            self._clock.after(self._rng.choice([0.5, 2.0]), self._come)
        elif self._judge.is_working and app.has_body and app.view.player is not None and app.view.space is not None:
            if now >= self._leave_at:
                self._leave_at = float("inf")
                app.leave(now)
            else:
                self._play(seat)

    def _play(self, seat: Seat) -> None:
        app, rng = seat.app, self._rng
        player, space = app.player, app.view.space
        assert player is not None
        assert space is not None
        x, y, z = player.position
        x, z = self._gait.stride(list(self._judge.shape.reaches)[space - 1], x, z, SPEED * STEP_S)
        app.move((x, y, z))
        others = [each for each in app.parts.values() if each is not player]
        if not others or rng.random() > 0.4:
            return
        target = rng.choice(others).id
        if rng.random() < 0.5:
            player.cell.size_up(target)
        else:
            player.cell.strike(target)


class Fight(Torn):
    """One cluster and its fighters."""

    name = "fight"
    paths = "fight paths"
    rest_s = 8.0  # a blow and its answer; the dead stand up
    judge: FightJudge

    def __init__(self, world: World, shape: Shape, mutation: str | None) -> None:
        super().__init__(world, shape, mutation)
        self.truth.is_unique = self.truth.knows_ends = False
        self.fighters = [Fighter(self.cluster, self.judge, f"fighter-{n}") for n in range(1, shape.players + 1)]

    def _judge(self, world: World) -> FightJudge:
        judge = FightJudge(world, self.ground, self.shape)
        judge.start(rules())
        return judge

    def _game(self) -> LoadedGame:
        return game_of(self.judge, self.shape, self._populate)

    def problems(self) -> Iterator[Problem]:
        """See Torn."""
        yield from self.truth.unrest()
        found = self.judge.unrest(self.truth.reals())
        if found is not None:
            yield Problem(Kind.GAME, found[0], found[1:])

    def _populate(self, server: Any) -> None:
        for number in range(1, self.shape.population["Creature"] + 1):
            space, position = self.judge.entry(-number)
            server.create("Creature", space=space, position=position, side=number % 2)


@scenario("fight")
def fight(world: World, mutation: str | None) -> Fight:
    """See the module."""
    rng = world.rng("fight")
    shape = large(rng, world.level)
    reaches = {"plaza": rng.uniform(8.0, 20.0), "hall": rng.uniform(5.0, 12.0)}
    shape = replace(shape, reaches=reaches, population={"Creature": rng.randrange(4, 11)})
    return Fight(world, hastened(world, shape), mutation)
