"""A base: the holder of one entity's base part, of its values, its mail, and its way out.

    ALIVE ──destroy──▶ LEAVING: cell part down, then saved (if it is a stored one), then ──▶ GONE

The holder owns the game's part object and everything that part can do (`api.py`) leads here. `cellside.py` knows the
cell part, `saving.py` the database, `proxy.py` adds a client. The game's code runs through `run` and `call` only, so
that whatever it raises is reported and confined to this entity.

Mail comes over the entity channel: from the own cell part anything, from other parts only calls, and answers to those
that a method here awaits (`sync/awaiting.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from terrazzo._speed.values import Change
from terrazzo.base.api import Base
from terrazzo.base.cellside import Body, CellSide
from terrazzo.base.drafts import Draft, Place, set_property
from terrazzo.base.saving import Saver
from terrazzo.errors import CallUndelivered, DecodeError, EntityGone, UsageError
from terrazzo.schema.model import EntitySchema, Method, Side
from terrazzo.sync.awaiting import Done, Reply, answering, refusal
from terrazzo.sync.gamecode import run_game_code
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message, Refusal
from terrazzo.wire.pairs.base_cell import Answer, CallBase, CallCell, CellData, DestroyReal

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp


class Life(Enum):
    """Whether a base is here to stay."""

    ALIVE = "alive"
    LEAVING = "leaving"
    GONE = "gone"


class BaseEntity:
    """One base."""

    def __init__(self, app: BaseApp, id: EntityId, draft: Draft, part_class: type[Base]) -> None:
        self.app = app
        self.id = id
        self.draft = draft
        self.schema = draft.schema
        self.part_id = PartId(id, Part.BASE)
        self.life = Life.ALIVE
        self.is_worth_saving = draft.dbid != 0
        self._is_going = False
        self.cell = CellSide(self)
        self.saver = Saver(self)
        app.switchboard.create(self.part_id)
        self.part = part_class.__new__(part_class)
        self.part._engine = self
        self.part._state = draft.base
        draft.base.listener = self.on_change

    def begin(self) -> None:
        """The game's own set-up of the part, when everybody here knows of it."""
        run_game_code(self.app.host, f"{self}.__init__", self.part.__init__)  # type: ignore[misc]

    def __str__(self) -> str:
        return f"{self.schema.name} {self.id}"

    # The game's code.

    def run(self, callback: str, *args: Any) -> bool:
        """Calls a callback of the part; False when it raised."""
        return self.guarded(callback, getattr(self.part, callback), args)

    def call(self, method: Method, args: list[Any], done: Done | None = None) -> None:
        """Calls a declared method of the part, or of one of its components; `done` hears what it has come to."""
        target = self.part if method.component is None else getattr(self.part, method.component)
        function = getattr(target, method.name, None)
        if not callable(function):
            self.app.host.log("method without code", entity=str(self), method=method.name)
            if done is not None:
                done(None, UsageError(f"{self} has no code for it"))
        elif done is None:
            self.guarded(method.name, function, args)
        else:
            self.app.awaiting.call(self.part_id, method.name, function, args, done)

    def guarded(self, name: str, function: Callable[..., Any], args: Any) -> bool:
        """Runs code of the game; False when it raised. What waits goes on later."""

        def whole() -> bool:
            result = function(*args)
            if type(result) is CoroutineType:
                self.app.awaiting.begin(self.part_id, name, result)
            return True

        return run_game_code(self.app.host, f"{self}.{name}", whole) is True

    # What the part can do.

    def create_cell(self, place: Place | None, properties: dict[str, Any]) -> None:
        """Ask for a cell part, at the last place if none is given."""
        if self.life is not Life.ALIVE:
            raise UsageError(f"{self} is being destroyed: it gets no cell part any more")
        place = place or self.draft.place
        if place is None:
            raise UsageError(f"{self} has never been anywhere: give create_cell a space and a position")
        if self.cell.state in (Body.NONE, Body.LOST):
            for name, value in properties.items():
                set_property(self.draft, name, value)
        self.cell.create(place)

    @property
    def has_cell(self) -> bool:
        """Whether there is a cell part to talk to."""
        return self.cell.state is Body.THERE

    def call_own_cell(self, index: int, method: Method, args: bytes, timeout_s: float) -> Reply | None:
        """Call a method of the own cell part; gives what can be awaited."""
        if not self.has_cell:
            state = self.cell.state.value
            raise UsageError(
                f"{self} cannot call {method.name}: its cell part is not there ({state}); wait for on_cell_created"
            )
        return self.call_part(self.cell.part, self.schema, index, method, args, timeout_s)

    def call_part(
        self, to: PartId, schema: EntitySchema, index: int, method: Method, args: bytes, timeout_s: float
    ) -> Reply | None:
        """Call a method of a part of any entity; gives what can be awaited."""
        self.app.callees.note(to.entity, schema)
        version = self.app.switchboard.boxes[self.part_id].version
        reply = self.app.awaiting.ask(self.part_id, version, to, method, timeout_s)
        question = 0 if reply is None else reply.number
        call = CallCell(index, args, 0, question) if to.part is Part.CELL else CallBase(index, args, question)
        try:
            self.app.switchboard.send(self.part_id, to, REGISTRY.encode(call))
        except UsageError:
            self.app.awaiting.withdraw(reply)
            raise
        return reply

    def call_cell(self, to: PartId, method: int, args: bytes, *, caller: int = 0) -> None:
        """A client calls a cell method, by its internal index."""
        self.app.switchboard.send(self.part_id, to, REGISTRY.encode(CallCell(method, args, caller)))

    def save(self) -> None:
        """Keep the entity in the database from now on."""
        if not self.schema.persistent:
            raise UsageError(f"{self.schema.name} is declared as not persistent: it cannot be saved")
        if self.life is Life.ALIVE:
            self.is_worth_saving = True
            self.saver.save()

    # The way out.

    def destroy(self) -> None:
        """Take the cell part down, save what is worth it, and go."""
        if self.life is Life.ALIVE:
            self.life = Life.LEAVING
            self.cell.take_down()
            self._leave()

    def _leave(self) -> None:
        """The next step out, if there is one to be made now."""
        if self.life is not Life.LEAVING or self._is_going or self.cell.state not in (Body.NONE, Body.LOST):
            return
        self._is_going = True
        if self.is_worth_saving or not self.saver.is_idle:
            self.saver.save(self._go)
        else:
            self.app.alarms.after(0.0, self._go)  # not from inside of the method that has ended it: that may go on

    def _go(self) -> None:
        self.app.awaiting.end(self.part_id, EntityGone, "the entity is being destroyed")
        self.life = Life.GONE
        self.on_going()
        self.app.nursery.strike_off(self)
        self.draft.base.release()
        self.draft.cell.release()

    def on_going(self) -> None:
        """The base goes now: everything of it is safe. A proxy says goodbye here."""

    # What happens to the cell part.

    def on_cell_created(self) -> None:
        """The cell part is there."""
        self.run("on_cell_created")

    def on_cell_gone(self, *, had_body: bool, failure: str) -> None:
        """The cell part is no more, or will not come: then `failure` says why."""
        if self.cell.state is Body.LOST:
            self.app.host.log("cell part lost", entity=str(self), note="its CellApp is out of reach")
        self.saver.on_cell_data()
        if self.life is Life.ALIVE:
            if had_body:
                self.run("on_cell_lost")
            else:
                self.run("on_cell_failed", failure)
        self._leave()

    # Values and mail.

    def on_change(self, change: Change) -> None:
        """A base property has changed."""

    def on_mail(self, source: PartId, payload: bytes) -> None:
        """Something that came over the entity channel."""
        message = REGISTRY.decode_nested(payload)
        is_own = source == self.cell.part
        if is_own:
            self.cell.on_heard()
        if isinstance(message, CallBase):
            self._on_call(source, message)
        elif isinstance(message, Answer):
            if not self.app.awaiting.on_answer(self.part_id, source, message):
                self.app.late_answers += 1
        elif isinstance(message, CellData) and is_own:
            self.cell.on_data(message)
            self.saver.on_cell_data()
        elif isinstance(message, Refusal) or not self.on_cell_mail(message, is_own=is_own):
            kind = message.value if isinstance(message, Refusal) else type(message).__name__
            self.app.refusals.count(source, Refusal.UNEXPECTED)
            self.app.host.log("unexpected mail", entity=str(self), source=str(source), kind=kind)

    def on_cell_mail(self, message: object, *, is_own: bool) -> bool:
        """Other mail; False when it is not for a base like this."""
        return False

    def _on_call(self, source: PartId, message: CallBase) -> None:
        methods = self.schema.methods(Side.BASE)
        try:
            if not 0 <= message.method < len(methods):
                raise DecodeError(f"there is no base method of index {message.method}", 0)
            method = methods[message.method]
            args = method.decode_args(message.args)
        except DecodeError as problem:
            self.app.refusals.count(source, Refusal.MALFORMED)
            self.app.host.log("bad call", entity=str(self), source=str(source), problem=str(problem))
            if message.question:
                self._answer(source, refusal(message.question, str(problem)))
            return
        done = None
        if message.question and method.returns:
            done = answering(method, message.question, partial(self._answer, source))
        self.call(method, args, done)

    def _answer(self, to: PartId, answer: Message) -> None:
        try:
            self.app.switchboard.send(self.part_id, to, REGISTRY.encode(answer))
        except ChannelFull as problem:  # whoever asks so often without taking the answers can wait for them
            self.app.host.log("answer dropped", entity=str(self), to=str(to), problem=str(problem))

    def on_undelivered(self, to: PartId, payloads: list[bytes], reason: str) -> None:
        """These messages of ours will never arrive."""
        for payload in payloads:
            message = REGISTRY.decode_nested(payload)
            name = type(message).__name__
            if isinstance(message, CallCell | CallBase):
                name = self.app.callees.method_name(to, message.method, self.schema_of(to.entity))
            self.app.host.log("not delivered", entity=str(self), to=str(to), what=name, reason=reason)
            if isinstance(message, DestroyReal):
                self.cell.on_not_taken_down()
            if isinstance(message, CallCell | CallBase) and message.question:
                problem = CallUndelivered(f"{name} of {to}: {reason}")
                self.app.awaiting.fail(self.part_id, message.question, problem)
            elif isinstance(message, CallCell | CallBase) and self.life is Life.ALIVE:
                self.run("on_call_failed", to.entity, name, reason)

    def schema_of(self, entity: int) -> EntitySchema | None:
        """The type of an entity that this one may know."""
        return self.schema if entity == self.id else None
