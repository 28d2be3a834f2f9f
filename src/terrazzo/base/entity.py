"""A base: holds one entity's base part and its values, receives its mail, and ends it.

    ALIVE ──destroy──▶ LEAVING ──▶ GONE

    LEAVING, in this order: timers end at once; the cell part is taken down; methods that wait for something end, with
    EntityGone; a stored entity is saved, with what these methods have changed; the client's session ends

The base owns the object of the game's class; everything that this object can do (`api.py`) leads here. `cell_part.py`
handles the cell part, `saving.py` the database, and `proxy.py` adds a client. The game's code runs through `run` and
`call` only, so that an exception is logged and confined to this entity.

Mail arrives over the entity channel. The own cell part may send every kind of message; other parts may send calls, and
answers to calls that a method here awaits (`sync/awaiting.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from types import CoroutineType
from typing import Any

from terrazzo._speed.values import Change
from terrazzo.base.cell_part import CellPart
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.clock import BaseTimers
from terrazzo.base.entity_data import EntityData, Location, set_property
from terrazzo.base.saving import SAVE_S, Saver
from terrazzo.base.services import EntityServices
from terrazzo.errors import CallUndelivered, DecodeError, EntityGone, UsageError
from terrazzo.game import Bounds
from terrazzo.schema.classes.parts import EntityPart as GamePart
from terrazzo.schema.model import EntitySchema, Method, Side
from terrazzo.sync.awaiting import CallReply, MethodDone, Sleep, Wait, answering, refusal
from terrazzo.sync.gamecode import run_game_code
from terrazzo.sync.spaces import Items
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY, Message, Refusal
from terrazzo.wire.pairs.base_cell import Answer, CallBase, CallCell, CellData, DestroyReal, IAmHere, WhereAreYou
from terrazzo.wire.pairs.creation import CreateEntity
from terrazzo.wire.pairs.login_db import is_bot_dbid
from terrazzo.wire.pairs.names import Named


class BaseLife(Enum):
    """Whether a base exists, is ending, or has ended."""

    ALIVE = "alive"
    LEAVING = "leaving"
    GONE = "gone"


class BaseEntity:
    """One base."""

    def __init__(
        self,
        services: EntityServices,
        id: EntityId,
        data: EntityData,
        part_class: type[GamePart],
        unregister: Callable[[BaseEntity], None],
    ) -> None:
        """`unregister` is called at the very end, when the entity is saved."""
        self._services = services
        self._unregister = unregister
        self.game = services.game
        self.id = id
        self.data = data
        self.schema = data.schema
        self.part_id = PartId(id, Part.BASE)
        self.life = BaseLife.ALIVE
        self.is_worth_saving = data.dbid != 0
        self.is_deleted = False
        """Whether its end deletes it from the database."""
        self._is_going = False
        self.on_settled: Callable[[str], None] | None = None
        """Called once, when the cell part with which the entity was to be created exists, or with the reason why it
        will not."""
        self.cell = CellPart(self, services)
        self.timers = BaseTimers(self, services.alarms, lambda: services.host.now, partial(self.run, "on_timer"))
        self.saver = Saver(self, services)
        services.switchboard.create(self.part_id)
        self.part = part_class.__new__(part_class)
        self.part._engine = self
        self.part._state = data.base
        data.base.listener = self.on_change

    def begin(self) -> None:
        """Runs the `__init__` of the game's class and its `on_created`, when the base is registered."""
        run_game_code(self._services.host, f"{self}.__init__", self.part.__init__)  # type: ignore[misc]
        if self.life is BaseLife.ALIVE:
            self.run("on_created")

    def __str__(self) -> str:
        return f"{self.schema.name} {self.id}"

    # The game's code.

    def run(self, callback: str, *args: Any) -> bool:
        """Calls a callback of the part; False when it raised."""
        return self.guarded(callback, getattr(self.part, callback), args)

    def call(self, method: Method, args: list[Any], done: MethodDone | None = None) -> None:
        """Calls a declared method of the part, or of one of its components; `done` receives the result or the error."""
        target = self.part if method.component is None else getattr(self.part, method.component)
        function = getattr(target, method.name, None)
        if not callable(function):
            self._services.host.log(LogEvent.NO_CODE, entity=str(self), method=method.name)
            if done is not None:
                done(None, UsageError(f"{self} has no code for it"))
        elif done is None:
            self.guarded(method.name, function, args)
        else:
            self._services.awaiting.call(self.part_id, method.name, function, args, done)

    def guarded(self, name: str, function: Callable[..., Any], args: Any) -> bool:
        """Runs code of the game; False when it raised. An `async def` that awaits something continues later."""

        def whole() -> bool:
            result = function(*args)
            if type(result) is CoroutineType:
                self._services.awaiting.begin(self.part_id, name, result)
            return True

        return run_game_code(self._services.host, f"{self}.{name}", whole) is True

    # What the part can do.

    def set_timer(self, seconds: float, repeat: float, number: int | None) -> int:
        """Sets a timer, or sets one again; gives its number."""
        if self.life is not BaseLife.ALIVE:
            raise UsageError(f"{self} is being destroyed: it gets no timer any more")
        return self.timers.set(self._services.host.now, seconds, repeat, number)

    def create_entity(
        self, schema: EntitySchema, wanted: CreateEntity, *, near: EntityId | None, is_here: bool, timeout_s: float
    ) -> Wait:
        """Creates another entity; an `async def` of the part can await its Ref."""
        if self.life is not BaseLife.ALIVE:
            raise UsageError(f"{self} is being destroyed: it creates nothing any more")
        return self._services.making.create(
            self.part_id, str(self), schema, wanted, near=near, is_here=is_here, timeout_s=timeout_s
        )

    def register_name(self, name: str, timeout_s: float) -> Wait:
        """Takes a name in the cluster."""
        if self.life is not BaseLife.ALIVE:
            raise UsageError(f"{self} is being destroyed: it gets no name any more")
        named = Named(name, self.id, self.schema.type_id)
        return self._services.names.register(self.part_id, named, timeout_s)

    def drop_name(self, name: str) -> None:
        """Gives a name back."""
        self._services.names.drop(self.id, name)

    def lookup(self, name: str, timeout_s: float) -> Wait:
        """Looks for the base with this name."""
        return self._services.lookup.find(self.part_id, name, timeout_s)

    def create_space(self, kind: str, bounds: Bounds, data: Items, timeout_s: float) -> Wait:
        """Makes an instance."""
        return self._services.spaces.create(self.part_id, kind, bounds, data, timeout_s)

    def set_space_data(self, space: str, data: Items, timeout_s: float) -> Wait:
        """Sets items of the data of a space."""
        return self._services.spaces.set_data(self.part_id, space, data, timeout_s)

    def end_space(self, space: str, timeout_s: float) -> Wait:
        """Ends an instance."""
        return self._services.spaces.end(self.part_id, space, timeout_s)

    def load(self, schema: EntitySchema, dbid: int, timeout_s: float) -> Wait:
        """Loads a stored entity; an `async def` of the part can await its Ref."""
        return self._services.stored.load(self.part_id, schema, dbid, timeout_s)

    def delete(self, schema: EntitySchema, dbid: int, timeout_s: float) -> Wait:
        """Deletes a stored entity."""
        return self._services.stored.delete(self.part_id, schema, dbid, timeout_s)

    def sleep(self, seconds: float) -> Sleep:
        """Something that an `async def` of the part can await."""
        return self._services.awaiting.sleep(self.part_id, seconds)

    def create_cell(self, place: Location | None, properties: dict[str, Any]) -> None:
        """Asks for a cell part, at the last location if none is given."""
        if self.life is not BaseLife.ALIVE:
            raise UsageError(f"{self} is being destroyed: it gets no cell part any more")
        place = place or self.data.place
        if place is None:
            raise UsageError(f"{self} has never been anywhere: give create_cell a space and a position")
        if self.cell.state in (CellPartState.NONE, CellPartState.LOST):
            for name, value in properties.items():
                set_property(self.data, name, value)
        self.cell.create(place)

    @property
    def has_cell(self) -> bool:
        """Whether there is a cell part that can be called."""
        return self.cell.state is CellPartState.THERE

    def call_own_cell(self, index: int, method: Method, args: bytes, timeout_s: float) -> CallReply | None:
        """Calls a method of the own cell part; the result can be awaited."""
        if not self.has_cell:
            state = self.cell.state.value
            raise UsageError(
                f"{self} cannot call {method.name}: its cell part is not there ({state}); wait for on_cell_created"
            )
        return self.call_part(self.cell.part, self.schema, index, method, args, timeout_s)

    def call_part(
        self, to: PartId, schema: EntitySchema, index: int, method: Method, args: bytes, timeout_s: float
    ) -> CallReply | None:
        """Calls a method of a part of any entity; the result can be awaited."""
        self._services.callees.note(to.entity, schema)
        version = self._services.switchboard.version_of(self.part_id)
        assert version is not None, f"{self} calls, and has no mailbox"
        if to == self.cell.part:
            self.saver.on_call_of_cell()
        reply = self._services.awaiting.ask(self.part_id, version, to, method, timeout_s)
        question = 0 if reply is None else reply.number
        call = CallCell(index, args, 0, question) if to.part is Part.CELL else CallBase(index, args, question)
        try:
            self._services.switchboard.send(self.part_id, to, REGISTRY.encode(call))
        except UsageError:
            self._services.awaiting.withdraw(reply)
            raise
        return reply

    def call_cell(self, to: PartId, method: int, args: bytes, *, caller: int = 0) -> None:
        """A client calls a cell method, by its internal index."""
        self._services.switchboard.send(self.part_id, to, REGISTRY.encode(CallCell(method, args, caller)))

    def save(self, timeout_s: float = SAVE_S) -> Wait:
        """Saves the entity now and when it is destroyed; an `async def` of the part can await that it is durable."""
        if not self.schema.persistent:
            raise UsageError(f"{self.schema.name} is declared as not persistent: it cannot be saved")
        if self.life is BaseLife.ALIVE:
            self.is_worth_saving = True
        elif not self.is_worth_saving:
            raise UsageError(f"{self} is being destroyed, and was never saved: it cannot be saved any more")
        return self.saver.promise(timeout_s)

    def archive(self) -> None:
        """See Archived."""
        if self.is_worth_saving and self.life is BaseLife.ALIVE and not is_bot_dbid(self.data.dbid):
            self.saver.archive()

    # The end.

    def destroy_stored(self) -> None:
        """Ends; a stored entity is deleted from the database instead of saved."""
        if self.life is BaseLife.ALIVE:
            self.is_deleted = True
            self.destroy()

    def destroy(self) -> None:
        """Takes the cell part down, saves a stored entity, and ends."""
        if self.life is BaseLife.ALIVE:
            self.life = BaseLife.LEAVING
            self.timers.clear()
            self._settle("its own code destroyed it")
            self.cell.take_down()
            self._leave()

    @property
    def has_no_cell(self) -> bool:
        """Whether its end waits for no cell part."""
        return self.cell.state in (CellPartState.NONE, CellPartState.LOST)

    def _leave(self) -> None:
        """Begins the end when the cell part is gone; in the next tick, since the game's method that called destroy may
        still run."""
        if self.life is BaseLife.LEAVING and not self._is_going and self.has_no_cell:
            self._is_going = True
            self._services.alarms.after(0.0, self._finish)

    def _finish(self) -> None:
        """Ends the methods that wait, so that what they change is saved, and saves a stored entity."""
        self._services.awaiting.end(self.part_id, EntityGone, "the entity is being destroyed")
        if not self.saver.is_idle or (self.is_worth_saving and not self.is_deleted):
            self.saver.save(self._go)  # also of one to be deleted: what is under way may create its record
        else:
            self._go()

    def _go(self) -> None:
        self._services.awaiting.end(self.part_id, EntityGone, "the entity is being destroyed")
        self.life = BaseLife.GONE
        self.on_going()
        self._unregister(self)
        self.data.base.release()
        self.data.cell.release()

    def on_going(self) -> None:
        """The base ends now and is saved. A proxy ends its session here."""

    # What happens to the cell part.

    def on_cell_state(self, *, exists: bool) -> None:
        """See CellPartOwner."""

    def on_cell_created(self) -> None:
        """The cell part exists."""
        self._settle("")
        self.run("on_cell_created")

    def on_cell_gone(self, *, had_body: bool, failure: str) -> None:
        """The cell part is gone, or will not come; then `failure` is the reason."""
        if self.cell.state is CellPartState.LOST:
            self._services.host.log(LogEvent.CELL_PART_LOST, entity=str(self), note="its CellApp is out of reach")
        self.saver.on_cell_data()
        if self.life is BaseLife.ALIVE:
            if had_body:
                self.run("on_cell_lost")
            else:
                self.run("on_cell_failed", failure)
        if self.on_settled is not None and self.cell.state is CellPartState.NONE:
            self._settle(failure)
            self.destroy()
        self._leave()

    def _settle(self, why: str) -> None:
        settled, self.on_settled = self.on_settled, None
        if settled is not None:
            settled(why)

    # Values and mail.

    def on_change(self, change: Change) -> None:
        """A base property has changed."""

    def on_mail(self, source: PartId, payload: bytes) -> None:
        """Reads one message that arrived over the entity channel."""
        message = REGISTRY.decode_nested(payload)
        is_own = source == self.cell.part
        if is_own:
            self.cell.on_mail()
        if isinstance(message, CallBase):
            self._on_call(source, message)
        elif isinstance(message, Answer):
            if not self._services.awaiting.on_answer(self.part_id, source, message):
                self._services.counts.late_answers += 1
        elif isinstance(message, IAmHere) and self._services.making.on_here(message):
            pass
        elif isinstance(message, CellData) and is_own:
            self.cell.on_data(message)
            self.saver.on_cell_data()
        elif isinstance(message, Refusal) or not self.on_cell_mail(message, is_own=is_own):
            kind = message.value if isinstance(message, Refusal) else type(message).__name__
            self._services.refusals.count(source, Refusal.UNEXPECTED)
            self._services.host.log(LogEvent.MAIL_REFUSED, entity=str(self), source=str(source), kind=kind)

    def on_cell_mail(self, message: object, *, is_own: bool) -> bool:
        """Other mail; False when this kind of base takes no such message."""
        return False

    def _on_call(self, source: PartId, message: CallBase) -> None:
        methods = self.schema.methods(Side.BASE)
        try:
            if not 0 <= message.method < len(methods):
                raise DecodeError(f"there is no base method of index {message.method}", 0)
            method = methods[message.method]
            args = method.decode_args(message.args)
        except DecodeError as problem:
            self._services.refusals.count(source, Refusal.MALFORMED)
            self._services.host.log(LogEvent.CALL_REFUSED, entity=str(self), source=str(source), problem=str(problem))
            if message.question:
                self._answer(source, refusal(message.question, str(problem)))
            return
        done = None
        if message.question and method.returns:
            done = answering(method, message.question, partial(self._answer, source))
        self.call(method, args, done)

    def _answer(self, to: PartId, answer: Message) -> None:
        try:
            self._services.switchboard.send(self.part_id, to, REGISTRY.encode(answer))
        except ChannelFull as problem:  # a caller that does not take its answers gets no more of them
            self._services.host.log(LogEvent.ANSWER_DROPPED, entity=str(self), to=str(to), problem=str(problem))

    def on_undelivered(self, to: PartId, payloads: list[bytes], reason: str) -> None:
        """These messages of this base will never be delivered."""
        for payload in payloads:
            message = REGISTRY.decode_nested(payload)
            name = type(message).__name__
            if isinstance(message, CallCell | CallBase):
                name = self._services.callees.method_name(to, message.method, self.schema_of(to.entity))
            self._services.host.log(LogEvent.UNDELIVERED, entity=str(self), to=str(to), what=name, reason=reason)
            if isinstance(message, WhereAreYou):
                self._services.making.on_nowhere(message.question, reason)
            if isinstance(message, DestroyReal):
                self.cell.on_destroy_undelivered()
            if isinstance(message, CallCell | CallBase) and message.question:
                problem = CallUndelivered(f"{name} of {to}: {reason}")
                self._services.awaiting.fail(self.part_id, message.question, problem)
            elif isinstance(message, CallCell | CallBase) and self.life is BaseLife.ALIVE:
                self.run("on_call_failed", to.entity, name, reason)

    def schema_of(self, entity: int) -> EntitySchema | None:
        """The type of an entity, if this base has it."""
        return self.schema if entity == self.id else None
