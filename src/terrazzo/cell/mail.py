"""The mail of a real: what its base and other parts send it over their entity channels, taken once a tick, in order.

    CallCell           from anyone: a declared method; if a client calls, only what is exposed to that client
    SetWitness         from the own base: a client came or went
    DestroyReal        from the own base: take the body down
    WantCellData       from the own base: answer with CellData

What does not decode, is not exposed or comes from somebody who has no say in it is counted, reported, and changes
nothing. A call runs when it is taken; what it raises is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from terrazzo.cell.real import Real
from terrazzo.errors import DecodeError
from terrazzo.schema.model import Exposed
from terrazzo.wire.ids import PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import CallCell, DestroyReal, SetWitness, WantCellData

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

OPEN_TO_OWN = (Exposed.DEFAULT, Exposed.OWN_CLIENT, Exposed.ALL_CLIENTS)
OPEN_TO_ALL = (Exposed.DEFAULT, Exposed.ALL_CLIENTS)


class Mail:
    """Reads the mail of reals."""

    def __init__(self, app: CellApp) -> None:
        self._app = app

    def take(self, real: Real) -> None:
        """Everything that has come for this real."""
        body, switchboard = real.body, self._app.switchboard
        if not switchboard.boxes[body.part].inbox:
            return
        for source, payload in switchboard.take(body.part):
            if real.is_doomed:
                self._app.count("mail for a destroyed entity", entity=body.id)
            else:
                self._read(real, source, payload)

    def _read(self, real: Real, source: PartId, payload: bytes) -> None:
        message = REGISTRY.decode_nested(payload)
        is_own_base = source == real.body.base_part
        if isinstance(message, CallCell):
            self._call(real, source, message)
        elif isinstance(message, SetWitness) and is_own_base:
            real.set_witness(message.witness, message.is_on)
        elif isinstance(message, DestroyReal) and is_own_base:
            self._app.doom(real)
        elif isinstance(message, WantCellData) and is_own_base:
            self._app.feed.tell_base(real, real.data(is_last=False))
        else:
            what = type(message).__name__ if not hasattr(message, "value") else str(message)
            self._app.count("mail refused", entity=real.body.id, source=str(source), what=what)

    def _call(self, real: Real, source: PartId, call: CallCell) -> None:
        body = real.body
        methods = body.kind.schema.cell_methods
        if not 0 <= call.method < len(methods):
            self._refuse(real, source, f"no cell method {call.method}")
            return
        method = methods[call.method]
        is_own = call.caller == body.id
        if call.caller and method.exposed not in (OPEN_TO_OWN if is_own else OPEN_TO_ALL):
            self._refuse(real, source, f"{method.name} is not exposed to client {call.caller}")
            return
        try:
            args = method.decode_args(call.args)
        except DecodeError as problem:
            self._refuse(real, source, f"{method.name}: {problem}")
            return
        target: Any = real.part if method.component is None else getattr(real.part, method.component)
        real.caller = call.caller
        self._app.run(body, method.name, getattr(target, method.name), *args)
        real.caller = 0

    def _refuse(self, real: Real, source: PartId, why: str) -> None:
        self._app.count("call refused", entity=real.body.id, source=str(source), why=why)
