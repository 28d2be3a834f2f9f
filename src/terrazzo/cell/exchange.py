"""What a CellApp does for its switchboard: says where parts live, and passes on what became of messages.

A CellApp knows the base of each body here, and where the real of each ghost here is: the epoch of a ghost is the
version of its real's mailbox, so the switchboard can weigh it. For all other parts, and where that is no news, there is
the locator (`cluster/locator.py`), which asks those who know for sure, and says `gone` only when nobody has it.

The mailbox of a real that arrives is here at once, the real itself perhaps later (`cell/mending.py`). What becomes of
its messages in between is kept for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.errors import CallUndelivered
from terrazzo.sync.calls import Callees
from terrazzo.wire.ids import Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import CallBase, CallCell, WhereAreYou

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp
    from terrazzo.cell.real import Real


class CellExchange:
    """The Exchange of a CellApp's switchboard."""

    def __init__(self, app: CellApp) -> None:
        self._app = app
        self.callees = Callees()
        self._kept: dict[PartId, list[tuple[PartId, list[bytes], str]]] = {}
        """What a real that has not landed yet is to be told."""

    def locate(self, part: PartId) -> None:
        """See Exchange."""
        body, switchboard = self._app.bodies.get(part.entity), self._app.switchboard
        is_news = False
        if body is not None and part.part is Part.BASE:
            is_news = switchboard.learn(part, 0, body.base)
        elif body is not None and body.real_app != self._app.me:
            is_news = switchboard.learn(part, body.epoch, body.real_app)
        if not is_news:  # whoever asks has tried that already
            self._app.locator.find(part)

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange. What belongs to a real that has ended is nobody's loss any more."""
        self._app.count("undelivered", source=str(source), to=str(to), messages=len(payloads), reason=reason)
        real = self._app.reals.get(source.entity)
        if real is not None:
            self._tell(real, to, payloads, reason)
        elif not self._app.switchboard.boxes[source].is_ending:
            self._kept.setdefault(source, []).append((to, payloads, reason))

    def on_landed(self, real: Real) -> None:
        """A real has come: it hears what was undelivered meanwhile."""
        for to, payloads, reason in self._kept.pop(real.body.part, ()):
            self._tell(real, to, payloads, reason)

    def _tell(self, real: Real, to: PartId, payloads: list[bytes], reason: str) -> None:
        """The game is told of its calls (whoever awaits one, there), a teleport of its question; what the engine had to
        say to a base that is gone, and an answer to somebody who is gone, is nobody's loss."""
        for payload in payloads:
            message = REGISTRY.decode_nested(payload)
            if isinstance(message, CallCell | CallBase):
                name = self.callees.method_name(to, message.method)
                problem = CallUndelivered(f"{name} of {to}: {reason}")
                if message.question:
                    self._app.awaiting.fail(real.body.part, message.question, problem)
                    continue
                self._app.run(real.body, "on_call_failed", real.part.on_call_failed, to.entity, name, reason)
            elif isinstance(message, WhereAreYou):
                self._app.teleports.on_undelivered(real, message.question, reason)

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""
        self._app.births.on_ended(part)
