"""What a CellApp does for its switchboard: says where parts live, and passes on what became of messages.

A CellApp knows the base of each body here, and where the real of each ghost here is: the epoch of a ghost is the
version of its real's mailbox, so the switchboard can weigh it. Of other parts it knows nothing; what waits for a part
that nobody has told of for a while is given back to its sender.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.schema.model import Side
from terrazzo.wire.ids import NEVER_HEARD, Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import CallBase, CallCell

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

LOCATE_MAX = 3
"""How often a part that was never heard of is looked for before its mail is given back."""


class CellExchange:
    """The Exchange of a CellApp's switchboard."""

    def __init__(self, app: CellApp) -> None:
        self._app = app
        self._sought: dict[PartId, int] = {}

    def locate(self, part: PartId) -> None:
        """See Exchange."""
        sought = self._sought.pop(part, 0) + 1
        body = self._app.bodies.get(part.entity)
        place = self._app.switchboard.places.get(part)
        if body is not None and part.part is Part.BASE:
            self._app.switchboard.learn(part, 0, body.base)
        elif body is not None:
            self._app.switchboard.learn(part, body.epoch, body.real_app)
        elif place is not None and place.version == NEVER_HEARD:  # so nothing was delivered to it, surely
            if sought < LOCATE_MAX:
                self._sought[part] = sought
            else:
                self._app.switchboard.gone(part, "nobody here knows where it is")

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange. The game is told of its calls; what the engine had to say to a base that is gone needs no
        answer."""
        self._app.count("undelivered", source=str(source), to=str(to), messages=len(payloads), reason=reason)
        for payload in payloads:
            call = REGISTRY.decode_nested(payload)
            real = self._app.reals.get(source.entity)
            if real is not None and isinstance(call, CallCell | CallBase):
                name = self._method_name(to, call.method)
                self._app.run(real.body, "on_call_failed", real.part.on_call_failed, to.entity, name, reason)

    def _method_name(self, to: PartId, index: int) -> str:
        body = self._app.bodies.get(to.entity)
        side = Side.BASE if to.part is Part.BASE else Side.CELL
        methods = () if body is None else body.kind.schema.methods(side)
        return methods[index].name if 0 <= index < len(methods) else f"{side.value} method {index}"

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""
        self._app.births.on_ended(part)
