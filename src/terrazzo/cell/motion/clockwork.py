"""Clockwork: what is due in a tick: the timers of the game, and the steps of its controllers.

It runs once a tick, in the order of the reals. First each controller takes a step; then the hooks of those that have
reached something run, and those of timers that are due. So no code of the game runs while places change, and whatever
the code does (destroy, teleport, cancel, start anew) counts for the hooks that are still to run: an end that was
overtaken is not reported, and a timer that was cancelled does not fire.
"""

from __future__ import annotations

from terrazzo.cell.core.controllers import Category, Controller, Outcome
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cell.motion.controllers import Walk

STEP_MAX_S = 1.0
"""A step after a long pause is no longer than that: no entity leaps."""

EndedController = tuple[Real, Controller, Outcome]


class Clockwork:
    """The timers and controllers of one app's reals."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._ran_at = core.host.now

    def run(self) -> None:
        """One tick."""
        now = self._core.host.now
        seconds, self._ran_at = min(now - self._ran_at, STEP_MAX_S), now
        walking = [real for real in self._running() if not real.is_destroyed]
        ended: list[EndedController] = []
        for real in walking:
            for controller in list(real.controllers.running.values()):
                outcome = self._step(real, controller, seconds)
                if outcome is not Outcome.GOES_ON:
                    ended.append((real, controller, outcome))
        for each in ended:
            self._run_hook(*each)
        for real in self._due(now):
            self._core.confine(real.body, "timers", self._fire, real, now)

    def _running(self) -> list[Real]:
        """The reals with controllers."""
        agenda = self._core.agenda
        reals = [real for real in self._in_order(agenda.running) if real.controllers.running]
        if len(reals) < len(agenda.running):
            agenda.running = {real.body.id for real in reals}
        return reals

    def _due(self, now: float) -> list[Real]:
        """The reals with a timer that is due."""
        agenda, due = self._core.agenda, []
        for real in self._in_order(agenda.take(now)):
            if real.timers.next_due <= now:
                due.append(real)
            else:
                agenda.enter(real.timers.next_due, real.body.id)
        return due

    def _in_order(self, entities: set[int]) -> list[Real]:
        """Those of the entities that are real here, in the order in which they began here."""
        reals = self._core.reals
        return sorted((reals[entity] for entity in entities if entity in reals), key=lambda real: real.began)

    def _step(self, real: Real, controller: Controller, seconds: float) -> Outcome:
        """A step; a controller that fails ends, and no hook is called."""
        try:
            return controller.step(real, seconds)
        except AssertionError:
            raise
        except Exception as problem:
            self._core.report(real.body, f"controller {controller.number}", problem)
            real.controllers.cancel(controller.category)
            return Outcome.GOES_ON

    def _run_hook(self, real: Real, controller: Controller, outcome: Outcome) -> None:
        if real.is_destroyed or not real.controllers.is_running(controller):
            return
        part, number, run = real.part, controller.number, self._core.run
        if outcome is not Outcome.REACHED:
            real.controllers.cancel(controller.category)
        if outcome is Outcome.LOST:
            assert isinstance(controller, Walk)
            run(real.body, "on_move_failed", part.on_move_failed, number, f"entity {controller.entity} is out of sight")
        elif controller.category is Category.TURNING:
            run(real.body, "on_turned", part.on_turned, number)
        else:
            run(real.body, "on_reached", part.on_reached, number)

    def _fire(self, real: Real, now: float) -> None:
        timers = real.timers
        try:
            for number in timers.take(now):
                if not real.is_destroyed and timers.fire(number, now):
                    self._core.run(real.body, "on_timer", real.part.on_timer, number)
        finally:
            timers.find_next_due()
