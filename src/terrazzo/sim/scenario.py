"""What a scenario is, and the table of all of them.

A scenario builds its part of a world (sizes drawn from the seed), lets its workload run while faults happen, then is
told to `quiesce`, and is asked until it is at rest whether everything has come to its end. Its oracle raises `Broken`
at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from terrazzo.errors import UsageError
from terrazzo.sim.faults import FaultPlan
from terrazzo.sim.world import World


class Unrest(NamedTuple):
    """What is still under way, and the things whose timeline would explain it."""

    what: str
    about: tuple[object, ...] = ()


class Scenario(Protocol):
    """A workload with its oracle, in one world."""

    duration_s: float
    """How long faults and workload last, unless the command says otherwise."""

    @property
    def plan(self) -> FaultPlan:
        """What may go wrong."""

    def quiesce(self) -> None:
        """Faults are over: nothing new is begun."""

    def unrest(self) -> Unrest | None:
        """What is still under way; None at rest, when everything was judged."""


Build = Callable[[World, str | None], Scenario]
B = TypeVar("B", bound=Build)

_SCENARIOS: dict[str, Build] = {}


def scenario(name: str) -> Callable[[B], B]:
    """Registers a scenario: a callable of the world and the name of a mutation (None for the real thing)."""

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
