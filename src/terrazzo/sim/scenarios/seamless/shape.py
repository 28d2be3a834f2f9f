"""The shape of a world of the seamless scenario: everything that is drawn from the seed before it begins.

Spaces are small, so that every entity is near a border, and near most others. The small form (`skeleton`) has cells
that do not change and no teleports, for a network without faults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from terrazzo.game import Space
from terrazzo.sim.world import FaultLevel, World

CELLS_MIN = 3
"""With fewer cells no entity is near two borders."""


@dataclass(frozen=True)
class Shape:
    """The shape of one world."""

    duration_s: float
    is_peaceful: bool
    """A world without faults: effects that only faults may cause are failures."""
    cells: int
    """CellApps that share the spaces at first."""
    spares: int
    """CellApps that have no cell at first."""
    bases: int
    players: int
    population: dict[str, int]
    """The number of entities of each type without a client."""
    reaches: dict[str, float]
    """The distance from the middle of each space to its edges."""
    area_radius_m: float
    ghost_m: float
    margin_m: float
    has_jumps: bool
    ground_s: float
    """The time between two changes of the ground; 0: it does not change."""
    pulse_s: float
    """The longest time between two acts of an entity."""
    client_bits_s: float
    fault_rate: float = 1.0
    fault_stretch: float = 1.0
    is_swift: bool = False
    """Whether all paths are short (`latency.py`)."""

    @property
    def spaces(self) -> list[Space]:
        """The spaces of the game."""
        return [Space(name, (-reach, -reach, reach, reach)) for name, reach in self.reaches.items()]

    def radius(self, value: int) -> float:
        """One of several radii."""
        return (self.area_radius_m, self.area_radius_m * 0.6, self.ghost_m, 5.0)[value % 4]


def small(rng: Random) -> Shape:
    """A world with four cells that do not change, some players and creatures."""
    radius = rng.uniform(8.0, 40.0)
    return Shape(
        duration_s=rng.uniform(10.0, 20.0),
        is_peaceful=True,
        cells=4,
        spares=0,
        bases=rng.randrange(1, 3),
        players=rng.randrange(2, 6),
        population={"Creature": rng.randrange(2, 5), "Trap": 1},
        reaches={f"space-{n}": rng.uniform(20.0, 80.0) for n in range(1, rng.randrange(2, 4))},
        area_radius_m=radius,
        ghost_m=radius + rng.uniform(0.0, 20.0),
        margin_m=rng.choice([0.0, 0.5, 1.0, 3.0]),
        has_jumps=False,
        ground_s=0.0,
        pulse_s=0.6,
        client_bits_s=60_000.0,
    )


def large(rng: Random, level: FaultLevel) -> Shape:
    """A world with all features."""
    radius = rng.uniform(8.0, 30.0)
    return Shape(
        duration_s=rng.uniform(11.0, 22.0),
        is_peaceful=level is FaultLevel.NONE,
        cells=rng.randrange(CELLS_MIN, 7),
        spares=rng.randrange(0, 3),
        bases=rng.randrange(1, 3),
        players=rng.randrange(2, 6),
        population={
            "Creature": rng.randrange(6, 14),
            "Runner": rng.randrange(2, 5),
            "Giant": rng.randrange(0, 2),
            "Trap": rng.randrange(1, 3),
        },
        reaches={f"space-{n}": rng.uniform(15.0, 50.0) for n in range(1, rng.randrange(2, 4))},
        area_radius_m=radius,
        ghost_m=radius + rng.uniform(0.0, 15.0),
        margin_m=rng.choice([0.0, 0.5, 1.0, 3.0]),
        has_jumps=True,
        ground_s=rng.uniform(0.4, 2.0),
        pulse_s=rng.choice([0.1, 0.2, 0.4]),
        client_bits_s=rng.choice([20_000.0, 60_000.0, 200_000.0]),
        fault_rate=rng.choice([0.5, 1.0, 2.0]),
        fault_stretch=rng.choice([0.5, 1.0, 3.0]),
    )


def hastened(world: World, shape: Shape) -> Shape:
    """Half of the worlds without faults get short paths."""
    return replace(shape, is_swift=shape.is_peaceful and world.rng("haste").random() < 0.5)


def thrifty(world: World, shape: Shape) -> Shape:
    """In a quarter of the worlds clients get so few bytes that their budgets are used up (`byte_budget.py`)."""
    bits_s = world.rng("thrift").choice([0.0] * 6 + [1_500.0, 3_000.0])
    return replace(shape, client_bits_s=bits_s or shape.client_bits_s)
