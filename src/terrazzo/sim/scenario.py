"""What a scenario is, and the table of all of them.

A scenario builds its part of a world (sizes drawn from the seed) and runs its workload while faults happen. Then the
runner calls `quiesce`, and calls `unrest` again and again until nothing is under way any more. The oracle of the
scenario may raise `Broken` at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from terrazzo.errors import UsageError
from terrazzo.sim.faults import FaultPlan
from terrazzo.sim.world import World


class Unrest(NamedTuple):
    """What is still under way, and the things with a timeline that would explain it."""

    what: str
    about: tuple[object, ...] = ()


class Scenario(Protocol):
    """A workload with its oracle, in one world."""

    duration_s: float
    """How long faults and workload last, unless the command says otherwise."""

    @property
    def plan(self) -> FaultPlan:
        """The possible faults."""

    def quiesce(self) -> None:
        """Called when the faults are over: the workload begins nothing new."""

    def unrest(self) -> Unrest | None:
        """What is still under way; None at rest, when everything has been judged."""


Build = Callable[[World, str | None], Scenario]
B = TypeVar("B", bound=Build)

_SCENARIOS: dict[str, Build] = {}


def scenario(name: str) -> Callable[[B], B]:
    """Registers a scenario: a callable of the world and the name of a mutation (None: no mutation)."""

    def register(build: B) -> B:
        assert name not in _SCENARIOS, f"two scenarios are called {name}"
        _SCENARIOS[name] = build
        return build

    return register


def scenario_names() -> list[str]:
    """Every scenario there is."""
    return sorted(_SCENARIOS)


def build_scenario(name: str, world: World, mutation: str | None) -> Scenario:
    """The scenario of that name in this world."""
    if name not in _SCENARIOS:
        raise UsageError(f"there is no scenario {name!r}; there are: {', '.join(scenario_names())}")
    return _SCENARIOS[name](world, mutation)
