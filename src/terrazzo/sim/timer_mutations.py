"""Broken forms of timers and controllers, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. The judges are `sim/scenarios/seamless/timers.py` and
`sim/scenarios/seamless/controller_arrivals.py`; for bases, `sim/scenarios/seamless/base_timers.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.clock import BaseTimers
from terrazzo.base.entity import BaseEntity
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.timers import Timers
from terrazzo.cell.motion.controllers import Walk
from terrazzo.cluster.app import App
from terrazzo.sim.cell_mutations import Harm, _changes_packed, harmed, instead
from terrazzo.wire.pairs.cell_cell import Offload, PackedController, Timer

IS_NEAR_AT = 26
"""The offset, in a packed walk, of the flag that a follower has reported its arrival."""


def _uses_timers(app: CellApp, timers: type[Timers]) -> None:
    """The timers of all reals of an app are of this class."""

    def settle(before: Any, real: Real) -> None:
        before(real)
        real.timers.__class__ = timers

    instead(app.core, "register_real", settle)


def _repacks(app: CellApp, change: Callable[[Timer], Timer]) -> None:
    """Changes the timers of an entity that migrates."""
    _changes_packed(app, lambda message: {"timers": tuple(map(change, message.timers))})


class _RepeatsOnce(Timers):
    """A timer that repeats fires once."""

    __slots__ = ()

    def fire(self, number: int, now: float) -> bool:
        self._repeat[number] = 0.0
        return super().fire(number, now)


class _Drifts(Timers):
    """The next period begins when the timer fires, not when it was due."""

    __slots__ = ()

    def fire(self, number: int, now: float) -> bool:
        repeat, has_fired = self._repeat.get(number, 0.0), super().fire(number, now)
        if has_fired and repeat:
            self._due[number] = now + repeat
        return has_fired


class _MakesUp(Timers):
    """A timer that repeats makes up for missed periods."""

    __slots__ = ()

    def fire(self, number: int, now: float) -> bool:
        due, repeat, has_fired = self._due.get(number, 0.0), self._repeat.get(number, 0.0), super().fire(number, now)
        if has_fired and repeat:
            self._due[number] = due + repeat
        return has_fired


class _KeepsFormer(Timers):
    """A timer that is set again under its number fires when the former one was due."""

    __slots__ = ()

    def set(self, now: float, seconds: float, repeat: float, number: int | None) -> int:
        due = self._due.get(-1 if number is None else number)
        number = super().set(now, seconds, repeat, number)
        if due is not None:
            self._due[number] = min(due, self._due[number])
        return number


def _brings_back_cancelled(app: CellApp) -> None:
    """A timer that was cancelled fires after the next migration."""
    cancelled: dict[int, dict[int, Timer]] = {}

    class Forgetful(Timers):
        """Keeps cancelled timers."""

        __slots__ = ()

        def cancel(self, number: int) -> bool:
            due, repeat = self._due.get(number), self._repeat.get(number, 0.0)
            if due is not None and due > app.host.now:
                cancelled.setdefault(id(self), {})[number] = Timer(number, due - app.host.now, repeat)
            return super().cancel(number)

    def pack(message: Offload) -> dict[str, Any]:
        mine = cancelled.pop(id(app.reals[message.entity].timers), {})
        kept = {timer.number for timer in message.timers}
        return {"timers": (*message.timers, *(timer for number, timer in mine.items() if number not in kept))}

    _uses_timers(app, Forgetful)
    _changes_packed(app, pack)


def _arrives_again(app: CellApp) -> None:
    """A follower that has reported its arrival reports it again in the next cell."""

    def change(packed: PackedController) -> PackedController:
        data = bytearray(packed.data)
        if packed.kind == Walk.kind:
            data[IS_NEAR_AT] = False
        return packed._replace(data=bytes(data))

    _changes_packed(app, lambda message: {"controllers": tuple(map(change, message.controllers))})


def _arrives_for_former(app: CellApp) -> None:
    """A movement that replaces another one ends at the goal of the former."""

    def settle(before: Any, real: Real) -> None:
        before(real)
        start = real.controllers.start

        class Stubborn(type(real.controllers)):  # type: ignore[misc]
            """Keeps the first goal."""

            __slots__ = ()

            def start(self, controller: Any) -> None:
                former = self.running.get(controller.category)
                if isinstance(former, Walk) and isinstance(controller, Walk) and not former.entity:
                    controller.point = former.point
                start(controller)

        real.controllers.__class__ = Stubborn

    instead(app.core, "register_real", settle)


TIMER_HARMS: dict[str, Harm] = {
    "repeat-once": lambda app: _uses_timers(app, _RepeatsOnce),
    "repeat-once-moved": lambda app: _repacks(app, lambda timer: timer._replace(repeat=0.0)),
    "restart-period": lambda app: _repacks(app, lambda t: t._replace(seconds=t.repeat) if t.repeat else t),
    "drift-periods": lambda app: _uses_timers(app, _Drifts),
    "make-up-periods": lambda app: _uses_timers(app, _MakesUp),
    "keep-former-timer": lambda app: _uses_timers(app, _KeepsFormer),
    "bring-back-cancelled": _brings_back_cancelled,
    "lose-chosen-timers": lambda app: _changes_packed(
        app, lambda message: {"timers": tuple(each for each in message.timers if each.number >= 1 << 16)}
    ),
    "arrive-again": _arrives_again,
    "arrive-for-former": _arrives_for_former,
}


class _OutlivesItsBase(BaseTimers):
    """The timers of a base that is being destroyed go on."""

    __slots__ = ()

    def clear(self) -> None:
        pass


class _RingsOnce(BaseTimers):
    """After the first timer of a base that is due, no other one is looked for."""

    __slots__ = ()

    def find_next_due(self) -> None:
        self.next_due = 0.0


def _uses_base_timers(timers: type[BaseTimers]) -> Callable[[App], None]:
    """The timers of all bases of an app are of this class."""

    def patch(app: App) -> None:
        if isinstance(app, BaseApp):
            instead(app.factory, "_register", register)

    def register(before: Callable[..., BaseEntity], *args: Any) -> BaseEntity:
        entity = before(*args)
        entity.timers.__class__ = timers
        return entity

    return patch


TIMER_MUTATIONS: dict[str, Callable[[App], None]] = {
    **{name: harmed(harm) for name, harm in TIMER_HARMS.items()},
    "keep-base-timers": _uses_base_timers(_OutlivesItsBase),
    "ring-base-once": _uses_base_timers(_RingsOnce),
}
