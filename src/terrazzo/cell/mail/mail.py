"""The mail of a real: what its base and other parts send it over their entity channels, taken once a tick, in order.

    CallCell           from any part: a declared method; if a client calls, only what is exposed to that client
    Answer             the result of a method of another part, which a method of this entity awaits (`sync/awaiting.py`)
    WhereAreYou        from any part: answered by IAmHere
    IAmHere            from the entity that a teleport asked
    SetWitness         from the own base: a client was attached or detached
    ClientWants        from the own base: what its client wants described, and which aliases it has released
    DestroyReal        from the own base: take the body down
    WantCellData       from the own base: answer with CellData

A message that does not decode, is not exposed, or comes from a part that may not send it is counted, reported, and
changes nothing; a caller that awaits such a call gets an error. A call runs when it is taken; what it raises is
reported, and sent to the caller if that awaits the result. Each message is acknowledged as it is taken: when one of
them destroys the entity, the rest is left in the box, and the switchboard reports to the callers that it was not
delivered.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from terrazzo._speed.wants import WantsReader
from terrazzo.cell.client.clients import Clients
from terrazzo.cell.client.scheduler import ClientScheduler
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cell.migration.teleport import Teleports
from terrazzo.errors import DecodeError
from terrazzo.schema.model import Exposed
from terrazzo.sync.awaiting import answering, refusal
from terrazzo.wire.entity.ahead import Ahead
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.ids import Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import (
    Answer,
    CallCell,
    ClientWants,
    DestroyReal,
    IAmHere,
    SetWitness,
    WantCellData,
    WhereAreYou,
)

OPEN_TO_OWN = (Exposed.DEFAULT, Exposed.OWN_CLIENT, Exposed.ALL_CLIENTS)
BASE = Part.BASE.value
OPEN_TO_ALL = (Exposed.DEFAULT, Exposed.ALL_CLIENTS)


class Mail:
    """Reads the mail of reals."""

    def __init__(self, core: Core, clients: Clients, scheduler: ClientScheduler, teleports: Teleports) -> None:
        self._core = core
        self._switchboard = core.switchboard
        self._clients = clients
        self._scheduler = scheduler
        self._teleports = teleports
        self._wants = WantsReader()
        self._ahead = Ahead()

    def run(self) -> None:
        """Everything that has come for the reals."""
        reals, now = self._core.reals, self._core.host.now
        boxes = self._switchboard.mailed()
        for at in range(len(boxes)):
            self._ahead.take(boxes, at)
            box = boxes[at]
            real = reals.get(box.entity)
            if real is None or real.is_destroyed:
                continue
            try:
                self._take(box, real, now)
            except AssertionError:
                raise
            except Exception as problem:
                self._core.report(real.body, "mail", problem)

    def _take(self, box: Mailbox, real: Real, now: float) -> None:
        letters = self._switchboard.letters(box, now)
        letter = letters.next_one()
        while letter is not None:
            source, payload = letter
            if source[0] == box.entity and source[1] == BASE and self._wants.read(payload):  # by far the most
                self._on_wants(real)
            else:
                self._read(real, source, REGISTRY.decode_nested(payload))
                if real.is_destroyed:
                    return
            letter = letters.next_one()

    def _on_wants(self, real: Real) -> None:
        """What the client of this real wants, as it was read last."""
        witness, wants = real.witness, self._wants
        if witness is None or witness.number != wants.witness:
            return
        sent = witness.sent
        for i in range(wants.released):
            sent.release(wants.aliases[i])
        for i in range(wants.wanted):
            sent.want(wants.entities[i], wants.numbers[i])

    def _read(self, real: Real, source: PartId, message: object) -> None:
        if type(message) is ClientWants and source == real.body.base_part:
            if real.witness is not None:
                real.witness.on_wants(message)
        elif isinstance(message, CallCell):
            self._call(real, source, message)
        elif isinstance(message, Answer):
            if not self._core.awaiting.on_answer(real.body.part, source, message):
                self._core.count(LogEvent.LATE_ANSWER, entity=real.body.id, source=str(source))
        elif isinstance(message, WhereAreYou):
            self._reply(real, source, IAmHere(message.question, real.body.space.name, real.body.position))
        elif isinstance(message, IAmHere):
            self._teleports.on_here(real, source, message)
        elif not (source == real.body.base_part and isinstance(message, Message) and self._obey(real, message)):
            what = type(message).__name__ if isinstance(message, Message) else str(message)
            self._core.count(LogEvent.MAIL_REFUSED, entity=real.body.id, source=str(source), what=what)

    def _reply(self, real: Real, source: PartId, answer: Message) -> None:
        try:
            self._core.switchboard.send(real.body.part, source, REGISTRY.encode(answer))
        except ChannelFull:  # a part that asks so often without taking the answers
            self._core.count(LogEvent.ANSWER_DROPPED, entity=real.body.id, to=str(source))

    def _obey(self, real: Real, message: Message) -> bool:
        """What only the own base may send; False when it is nothing of that kind."""
        if isinstance(message, SetWitness):
            self._set_witness(real, message)
        elif isinstance(message, DestroyReal):
            self._core.mark_destroyed(real)
        elif isinstance(message, WantCellData):
            self._scheduler.send_to_base(real, self._scheduler.data_of(real, is_last=False))
        else:
            return False
        return True

    def _set_witness(self, real: Real, message: SetWitness) -> None:
        before = real.witness
        self._clients.set_witness(real, message.witness, message.is_on)
        if real.witness is before:
            return
        if before is not None:
            self._core.run(real.body, "on_client_detached", real.part.on_client_detached)
        if real.witness is not None:
            self._core.run(real.body, "on_client_attached", real.part.on_client_attached)

    def _call(self, real: Real, source: PartId, call: CallCell) -> None:
        body = real.body
        methods = body.kind.schema.cell_methods
        if not 0 <= call.method < len(methods):
            self._refuse(real, source, call, f"no cell method {call.method}")
            return
        method = methods[call.method]
        is_own = call.caller == body.id
        if call.caller and method.exposed not in (OPEN_TO_OWN if is_own else OPEN_TO_ALL):
            self._refuse(real, source, call, f"{method.name} is not exposed to client {call.caller}")
            return
        try:
            args = method.decode_args(call.args)
        except DecodeError as problem:
            self._refuse(real, source, call, f"{method.name}: {problem}")
            return
        target: Any = real.part if method.component is None else getattr(real.part, method.component)
        function = getattr(target, method.name, None)
        if not callable(function):
            self._refuse(real, source, call, f"{body.label} has no code for {method.name}")
            return
        real.caller = call.caller
        if call.question and method.returns:
            done = answering(method, call.question, partial(self._reply, real, source))
            self._core.awaiting.call(body.part, method.name, function, args, done)
        else:
            self._core.run(body, method.name, function, *args)
        real.caller = 0

    def _refuse(self, real: Real, source: PartId, call: CallCell, why: str) -> None:
        self._core.count(LogEvent.CALL_REFUSED, entity=real.body.id, source=str(source), why=why)
        if call.question:
            self._reply(real, source, refusal(call.question, why))
