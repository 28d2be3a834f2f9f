"""Timers of base parts: the workload of bases, and the checks (P1).

The rules are those of `timers.py`, with one place and one life for each entity. A timer fires in the first tick of its
BaseApp after it is due. A base that is being destroyed has no timers.
"""

from __future__ import annotations

from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.entity import BaseLife
from terrazzo.cluster.app import App
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.timers import EDGE_S, TimerJudge
from terrazzo.sim.world import World

CHAIN = 100
"""The number of the timer at which a base acts; it is set again each time."""


class BaseTimerJudge(TimerJudge):
    """All timers of the bases of one world."""

    stream = "base timers"

    def __init__(self, world: World) -> None:
        super().__init__(world, lambda entity: 0)

    def watch(self, app: App) -> None:
        """Watches each round of alarms."""
        if not isinstance(app, BaseApp):
            return
        ring = app.alarms.on_tick

        def rang() -> None:
            ring()
            for base in app.bases.values():
                if base.life is BaseLife.ALIVE:
                    self._check_none_is_due(base.id, 0)

        vars(app.alarms)["on_tick"] = rang

    def _check_none_is_due(self, entity: int, life: int) -> None:
        now = self._world.clock.now
        for number, timer in self._timers.get((entity, life), {}).items():
            if timer.high < now - EDGE_S:
                what = f"timer {number} of base {entity} was due {now - timer.high:.3f} s ago and has not fired"
                raise Broken("P1", what, entity)

    def wind(self, home: Any) -> None:
        """Sets the timer of the chain."""
        if self.often:
            home.timer(self.rng(home.id).uniform(0.2, 2.0), number=CHAIN)

    def ring(self, home: Any, number: int) -> Broken | None:
        """A timer of a base fires; returns what is wrong with that."""
        if home._engine.life is not BaseLife.ALIVE:
            return Broken("P1", f"timer {number} of base {home.id} fires, which is being destroyed", home.id)
        if number != CHAIN:
            return self.fire(home.id, number)
        self.act(home)
        self.wind(home)
        return None
