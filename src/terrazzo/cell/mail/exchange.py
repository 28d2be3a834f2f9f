"""What a CellApp does for its switchboard: finds where parts live, and reports messages that could not be delivered.

A CellApp has the base app of each body here, and the app of the real of each ghost here: the epoch of a ghost is the
version of its real's mailbox, so the switchboard can compare it. For all other parts, and where that is no news, the
locator (`cluster/locator.py`) asks the BaseAppMgr, and reports `gone` only when no app has the part.

The mailbox of a real that arrives is here at once, the real itself perhaps later (`cell/ghosts/mending.py`). Reports
about its messages are stored for it in between.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.errors import CallUndelivered
from terrazzo.wire.ids import NO_BASE, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import CallBase, CallCell, WhereAreYou


class CellExchange:
    """The Exchange of a CellApp's switchboard."""

    _core: Core
    _find: Callable[[PartId], None]
    _on_ended: Callable[[PartId], None]
    _on_question_undelivered: Callable[[Real, int, str], None]

    def __init__(self) -> None:
        self._kept: dict[PartId, list[tuple[PartId, list[bytes], str]]] = {}
        """Reports for reals that have not begun here yet."""

    def connect(
        self,
        core: Core,
        *,
        find: Callable[[PartId], None],
        on_ended: Callable[[PartId], None],
        on_question_undelivered: Callable[[Real, int, str], None],
    ) -> None:
        """The switchboard is built before the core, and this before the switchboard: so it gets the rest afterwards.
        `find` looks for a part in the cluster; `on_ended`: the mailbox of a part has nothing left to send;
        `on_question_undelivered`: a teleport has asked an entity that cannot be found."""
        self._core = core
        self._find = find
        self._on_ended = on_ended
        self._on_question_undelivered = on_question_undelivered

    def locate(self, part: PartId) -> None:
        """See Exchange."""
        body, switchboard = self._core.bodies.get(part.entity), self._core.switchboard
        is_news = False
        if body is not None and part.part is Part.BASE:
            if body.base == NO_BASE:
                switchboard.gone(part, "it has no base part")
                return
            is_news = switchboard.learn(part, 0, body.base)
        elif body is not None and body.real_app != self._core.me:
            is_news = switchboard.learn(part, body.epoch, body.real_app)
        if not is_news:  # the switchboard has tried that already
            self._find(part)

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange. A report for a real that has ended is dropped."""
        self._core.count(LogEvent.UNDELIVERED, source=str(source), to=str(to), messages=len(payloads), reason=reason)
        real = self._core.reals.get(source.entity)
        if real is not None:
            self._report(real, to, payloads, reason)
        elif not self._core.switchboard.is_ending(source):
            self._kept.setdefault(source, []).append((to, payloads, reason))

    def on_arrived(self, real: Real) -> None:
        """A real has begun here: it gets the reports of the time between."""
        for to, payloads, reason in self._kept.pop(real.body.part, ()):
            self._report(real, to, payloads, reason)

    def _report(self, real: Real, to: PartId, payloads: list[bytes], reason: str) -> None:
        """The game gets its calls back (a method that awaits one, as an error), a teleport its question. Messages of
        the engine to a base that is gone, and answers to a part that is gone, are dropped."""
        for payload in payloads:
            message = REGISTRY.decode_nested(payload)
            if isinstance(message, CallCell | CallBase):
                name = self._core.callees.method_name(to, message.method)
                problem = CallUndelivered(f"{name} of {to}: {reason}")
                if message.question:
                    self._core.awaiting.fail(real.body.part, message.question, problem)
                    continue
                self._core.run(real.body, "on_call_failed", real.part.on_call_failed, to.entity, name, reason)
            elif isinstance(message, WhereAreYou):
                self._on_question_undelivered(real, message.question, reason)

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""
        self._on_ended(part)
