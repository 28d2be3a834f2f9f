"""A world of a fixed shape, for a case that is too rare in drawn ones: an entity that left comes back, but older.

    A      │  C   · the creature: seen by the player, then far away, with news
player ·   │─────────────────────────────   between C and B nothing passes for a while
     └─────┼▶ B   where the creature's ghost is still near, without the news
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.behaviour import added_of
from terrazzo.sim.scenarios.seamless.players import Mode
from terrazzo.sim.scenarios.seamless.scenario import Seamless
from terrazzo.sim.scenarios.seamless.shape import Shape
from terrazzo.sim.world import FaultLevel, World

RADIUS_M = 6.0
SHAPE = Shape(
    duration_s=10.0,
    is_peaceful=False,
    cells=3,
    spares=0,
    bases=1,
    players=1,
    population={"Creature": 1},
    reaches={"space-1": 30.0},
    area_radius_m=RADIUS_M,
    ghost_m=40.0,
    margin_m=0.0,
    has_jumps=False,
    ground_s=0.0,
    pulse_s=0.1,
    client_bits_s=200_000.0,
    is_swift=True,
)


class Stage:
    """The world, and what is done in it."""

    def __init__(self, mutation: str | None) -> None:
        self.world = World(1, FaultLevel.HARSH)
        self.world.datagrams = lambda: (0.001, 0.0, 0.0, 0.0)  # type: ignore[method-assign]
        self.seamless = Seamless(self.world, SHAPE, mutation)
        choices = self.seamless.judge.riding_and_visibility
        choices.hide = choices.show = choices.ride = 0.0
        self.seamless.judge.speed_limit.walkers = ()  # the player is put where it is needed
        [self.player] = self.seamless.players
        self.wait(lambda: self.player.mode is Mode.IN)
        self.seamless.judge.is_working = False
        self.wait_s(1.0)
        [self.creature] = [entity for entity in self.seamless.judge.stories if entity != self.player.entity]

    def wait_s(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    def wait(self, is_so: Callable[[], bool]) -> None:
        until = self.world.clock.now + 20.0
        while not is_so():
            assert self.world.clock.now < until, "it does not come to that"
            self.wait_s(0.1)

    def do(self, entity: int, act: Callable[[Any], None]) -> None:
        """The entity's own code runs."""
        real = self.seamless.truth.real_of(entity)
        assert real is not None
        real.body.core.run(real.body, "script", lambda: act(real.part))

    def put(self, entity: int, app: int, x: float, z: float) -> None:
        """The entity goes there, which is in the cell of that CellApp."""
        self.do(entity, lambda part: setattr(part, "position", (x, 0.0, z)))
        self.wait(lambda: self.home(entity) == app)

    def add(self) -> None:
        """The player adds the creature to its area."""
        player, creature = self.player.entity, self.creature

        def act(part: Any) -> None:
            part.add_to_aoi(creature)
            self.seamless.judge.riding_and_visibility.add(player, creature, added_of(part.entity(creature)))

        self.do(player, act)

    def home(self, entity: int) -> int:
        real = self.seamless.truth.real_of(entity)
        return 0 if real is None else real.body.core.me.index

    def corner(self) -> tuple[float, float]:
        """Where the three cells meet."""
        upright, level = sorted(self.seamless.ground.borders("space-1"), key=lambda each: not each.is_x)
        return upright.at, level.at

    def sees(self) -> bool:
        assert self.player.seat is not None
        return self.creature in self.player.seat.app.view.others


def play(mutation: str | None, *, is_added: bool = False) -> None:
    """See the module; what breaks is raised. `is_added`: there the player adds the creature to its area by hand."""
    stage = Stage(mutation)
    x, z = stage.corner()
    stage.put(stage.player.entity, 1, x - 1.0, z - 1.0)
    stage.put(stage.creature, 3, x + 2.0, z + 3.0)
    stage.wait(stage.sees)
    stage.wait_s(2.0)
    path = stage.world.network.path("cell_app-3", "cell_app-2")
    path.clogs += 1
    for _ in range(3):
        stage.do(stage.creature, lambda part: setattr(part, "strides", part.strides + 1))
        stage.wait_s(0.2)
    stage.put(stage.creature, 3, x + 14.0, z + 6.0)
    stage.wait(lambda: not stage.sees())
    stage.put(stage.player.entity, 2, x + 1.0, z - 1.0)
    if is_added:
        stage.add()
    stage.wait_s(2.0)
    path.clogs -= 1
    stage.world.network.reconsider()
    stage.seamless.quiesce()
    stage.wait(lambda: stage.seamless.unrest() is None)


def test_entity_that_left_is_not_shown_again_in_an_older_state():
    play(None)


def test_nor_when_it_is_added_by_hand():
    play(None, is_added=True)


@pytest.mark.judges
def test_witness_that_drops_the_numbers_of_entities_that_left_is_caught():
    with pytest.raises(Broken, match="as it was not") as caught:
        play("forget-left")
    assert caught.value.promise == "P4"
