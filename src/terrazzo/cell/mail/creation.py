"""Creation: a base asks for a cell part.

What cannot be done is refused with a sentence, and then nothing has happened: unknown type or space, a place out of
bounds, properties that do not decode, an entity that has a body already. A place in another app's cell is fine: the
entity is created here and offloaded by the next check. The entity's former body may still be ending here (its mailbox
has messages left to send): then the creation waits for that.

A base that got no answer asks again, for the same life. One life is made once: if an entity is here, has left, or has
ended in that life, the base gets the answer that it was created. An entity that left is remembered as long as its mail
is forwarded (`stub_s`, two minutes), and sends to its base from where it is.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts.receiver import GhostReceiver
from terrazzo.errors import DecodeError
from terrazzo.schema.state import State
from terrazzo.wire.ids import AppId, EntityId, Part, PartId, first_of_life, life_of
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import CreateReal, RealCreated
from terrazzo.wire.requests import Question, Requests


class Creation:
    """Makes reals for bases."""

    def __init__(
        self, core: Core, requests: Requests, receiver: GhostReceiver, *, forget_kept: Callable[[int], None]
    ) -> None:
        """`forget_kept` is called with each entity of which a new life begins here: a copy of an earlier life that left
        from here, and was never confirmed, is dropped."""
        self._core = core
        self._forget_kept = forget_kept
        self._switchboard = core.switchboard
        self._requests = requests
        self._receiver = receiver
        self._waiting: dict[PartId, Question] = {}

    def on_create_real(self, question: Question) -> None:
        """Answers CreateReal."""
        message = question.message
        assert isinstance(message, CreateReal)
        part = PartId(EntityId(message.entity), Part.CELL)
        if self._was_made(part, message.life):
            self._requests.answer(question, RealCreated())
            return
        if self._switchboard.is_ending(part):
            self._waiting[part] = question  # instead of a former one: a base that asks again has given that up
            return
        problem = self._create(question.source, message)
        if problem is None:
            self._requests.answer(question, RealCreated())
        else:
            self._core.count(LogEvent.CREATION_REFUSED, entity=message.entity, problem=problem)
            self._requests.refuse(question, problem)

    def on_ended(self, part: PartId) -> None:
        """The mailbox of the former body has nothing left to send."""
        question = self._waiting.pop(part, None)
        if question is not None:
            self.on_create_real(question)

    def _was_made(self, part: PartId, life: int) -> bool:
        """Whether there is a trace of this life: its mailbox, or where that went; a ghost, or its tombstone."""
        if life_of(self._switchboard.version_of_place(part)) == life:
            return True
        traces = (self._core.bodies.get(part.entity), self._receiver.tombstones.get(part.entity))
        return any(trace is not None and life_of(trace.epoch) == life for trace in traces)

    def _create(self, base: AppId, message: CreateReal) -> str | None:
        """Makes the real; what is wrong, if something is."""
        core = self._core
        kind, space = core.kinds.get(message.type_id), core.spaces.get(message.space)
        if kind is None:
            return f"there is no entity type {message.type_id} here: all apps must run the same game"
        if space is None or space.leaf is None:
            return f"{core.me} has no cell of space {message.space}: ask the CellAppMgr for the entry again"
        problem = space.problem_with(message.position, message.direction) or self._clear_the_way(message)
        if problem is not None:
            return problem
        layout = kind.schema.cell_layout
        try:
            values = layout.row.decode(message.properties)
        except DecodeError as error:
            return f"the properties of {kind.name} {message.entity} do not decode: {error}"
        part = PartId(EntityId(message.entity), Part.CELL)
        self._forget_kept(message.entity)
        self._switchboard.create(part, life=message.life)
        self._switchboard.learn(PartId(part.entity, Part.BASE), 0, base)
        self._switchboard.pin(part, PartId(part.entity, Part.BASE))
        first = first_of_life(message.life)
        body = Body(
            core,
            space,
            kind,
            message.entity,
            base=base,
            real_app=core.me,
            epoch=first,
            number=first,
            position=message.position,
            direction=message.direction,
            state=State(layout, None, values),
        )
        core.add_body(body)
        real = Real(body, message.dbid)
        core.register_real(real)
        core.run(body, "on_created", real.part.on_created)
        return None

    def _clear_the_way(self, message: CreateReal) -> str | None:
        """An entity has one body: a ghost of a former life, with its deletion on the way, is replaced by the new
        one."""
        core, first = self._core, first_of_life(message.life)
        body, tombstone = core.bodies.get(message.entity), self._receiver.tombstones.get(message.entity)
        if self._switchboard.is_here(PartId(EntityId(message.entity), Part.CELL)):
            return f"entity {message.entity} has a cell part here already: destroy it first"
        if (body is not None and body.epoch >= first) or (tombstone is not None and tombstone.epoch >= first):
            return f"entity {message.entity} had a later life than {message.life}: count lives up"
        self._receiver.on_arrived(message.entity)  # what is held is about a former life, even where its ghost is gone
        if body is not None:
            self._receiver.end(body, body.epoch, is_destroyed=True)
        return None
