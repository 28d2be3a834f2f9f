"""Timers of chosen numbers: the workload of entities, and the checks (P1).

An entity has a few timer numbers of its own. It sets a timer of one of them, once or repeating, sets it again before it
is due, and cancels it. How often is drawn for each world from a stream of its own; in some worlds never. The rules:

    due         a timer fires in the first round of timers (`cell/motion/clockwork.py`) after it is due, on the CellApp
                that has the real: not earlier, and in no later round
    repeating   due again one period after it was due, so that delays do not add up; where a whole period was missed,
                one period after it fired: missed periods are not made up for
    set again   the former timer of that number is gone
    cancelled   the timer does not fire any more

A timer is sent as the seconds that are left, so the time between packing and arrival is added to it. An engine that
made up for that time would be right as well: `low` is without those times, `high` is with them, and the timer must fire
between the two. Late ticks, under faults, need no allowance: the judge counts rounds, not seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.sim.oracle import Broken
from terrazzo.sim.world import World
from terrazzo.wire.ids import life_of

EDGE_S = 1e-6
"""Times are measured by several clocks; they do not add up exactly."""
NUMBERS = 4
"""The timer numbers of an entity: few, so that they are used again all the time."""


@dataclass
class Timer:
    """The earliest and the latest time at which a timer is due."""

    low: float
    high: float
    repeat: float

    def fire(self, now: float) -> None:
        """The timer has fired and repeats: it is due again after its period."""
        self.high = self.high + self.repeat if self.high + self.repeat > now else now + self.repeat
        self.low = min(self.low + self.repeat if self.low + self.repeat > now else now + self.repeat, self.high)


class TimerJudge:
    """All timers of chosen numbers in one world, by entity and life."""

    stream = "timers"

    def __init__(self, world: World, life: Callable[[int], int]) -> None:
        self.often = world.rng(self.stream).choice([0.0, 0.1, 0.4])
        """How often an entity does something with a timer, each time it acts."""
        self.counts: dict[str, int] = {}
        self._world = world
        self._life = life
        self._rngs: dict[int, Random] = {}
        self._timers: dict[tuple[int, int], dict[int, Timer]] = {}
        self._packed_at: dict[int, float] = {}

    def watch(self, app: App) -> None:
        """Watches when reals are packed, when they arrive, and each round of timers."""
        if not isinstance(app, CellApp):
            return
        pack, settle, run = app.offloads._pack, app.core.register_real, app.clockwork.run

        def packed(real: Real, *args: Any) -> Any:
            self._packed_at[real.body.id] = self._world.clock.now
            return pack(real, *args)

        def settled(real: Real) -> None:
            settle(real)
            self._arrive(real)

        def ran() -> None:
            run()
            for real in app.reals.values():
                self._look(real)

        vars(app.offloads)["_pack"], vars(app.core)["register_real"], vars(app.clockwork)["run"] = packed, settled, ran

    def _arrive(self, real: Real) -> None:
        body, now = real.body, self._world.clock.now
        for timer in self._timers.get((body.id, life_of(body.epoch)), {}).values():
            timer.high += now - self._packed_at.get(body.id, now)

    def _look(self, real: Real) -> None:
        """Checks that after a round no timer of a real is due."""
        body, now = real.body, self._world.clock.now
        for number, timer in self._timers.get((body.id, life_of(body.epoch)), {}).items():
            if timer.high < now - EDGE_S and not real.is_destroyed:
                what = f"timer {number} of entity {body.id} was due {now - timer.high:.3f} s ago and has not fired"
                raise Broken("P1", what, body.id)

    # The workload.

    def rng(self, entity: int) -> Random:
        """The entity's own stream for this."""
        if entity not in self._rngs:
            self._rngs[entity] = self._world.rng(f"{self.stream} of {entity}")
        return self._rngs[entity]

    def act(self, being: Any) -> None:
        """An entity acts: it may set a timer, set one again, or cancel one."""
        rng = self.rng(being.id)
        if not self.often or rng.random() >= self.often:
            return
        number = rng.randrange(NUMBERS)
        mine = self._timers.setdefault((being.id, self._life(being.id)), {})
        if rng.random() < 0.25:
            being.cancel(number)
            self._count("cancelled" if mine.pop(number, None) is not None else "cancelled in vain")
            return
        seconds, repeat = rng.choice([0.0, rng.uniform(0.05, 1.5)]), rng.choice([0.0, rng.uniform(0.05, 1.2)])
        being.timer(seconds, repeat, number=number)
        due = self._world.clock.now + seconds
        self._count("set again" if number in mine else "set")
        mine[number] = Timer(due, due, repeat)

    def fire(self, entity: int, number: int) -> Broken | None:
        """A timer fires; returns what is wrong with that."""
        mine, now = self._timers.get((entity, self._life(entity)), {}), self._world.clock.now
        timer = mine.get(number)
        if timer is None:
            what = f"timer {number} of entity {entity} fires, which was cancelled, has fired, or was never set"
            return Broken("P1", what, entity)
        if now < timer.low - EDGE_S:
            return Broken("P1", f"timer {number} of entity {entity} fires {timer.low - now:.3f} s early", entity)
        self._count("repeated" if timer.repeat else "fired")
        if timer.repeat:
            timer.fire(now)
        else:
            del mine[number]
        return None

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
