"""A real from the message that carried it.

Where a ghost of the entity is, the ghost becomes the real: a witness that has it in its area goes on with the same
body. Where there is none, or only one in another space, a new body begins. An entity that comes from another space has
left this one for good: a ghost of the time before that is still here, since its deletion waits for a step, makes room
for a new body as well.
"""

from __future__ import annotations

import msgspec

from terrazzo.cell.core.body import Body, unpack_ride
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.history import RIDE
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts.copies import run_destroyed_hook
from terrazzo.cell.ghosts.receiver import GhostReceiver
from terrazzo.cell.ghosts.seeking import Seeking
from terrazzo.cell.migration.travelling import Travelling
from terrazzo.errors import DecodeError
from terrazzo.schema.state import State
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.wire.entity.messages import PackedPart
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import Jump, Offload

MAILBOX_DECODER = msgspec.msgpack.Decoder(PackedPart)


def problem_of(core: Core, message: Offload) -> str | None:
    """Why a real cannot be taken in; None: it can."""
    kind, jump = core.kinds.get(message.type_id), message.jump
    if kind is None:
        return f"type {message.type_id} is not of this game: all apps must run the same"
    if jump is not None:
        space = core.spaces.get(jump.space)
        if space is None or space.leaf is None:
            return f"{core.me} has no cell of space {jump.space}"
        problem = space.problem_with(jump.position, jump.direction)
        if problem is not None:
            return problem
    try:
        kind.schema.cell_layout.row.decode(message.properties)
        unpack_ride(message.ride)
        MAILBOX_DECODER.decode(message.mailbox)
    except (DecodeError, msgspec.MsgspecError) as error:
        return f"it does not decode: {error}"
    return None


def check_readable(core: Core, message: Offload) -> None:
    """Raises for an Offload that could not be read where it goes, nor here if it comes back."""
    kind = core.kinds.get(message.type_id)
    assert kind is not None
    kind.schema.cell_layout.row.decode(message.properties)
    if not isinstance(REGISTRY.decode_nested(REGISTRY.encode(message)), Offload):
        raise DecodeError("an Offload that does not decode: a value in it is not of the type that it should be")


def is_known(core: Core, message: Offload) -> bool:
    """Whether this epoch, or a later one, has been seen here. Only this app can have taken the real in, so this is a
    copy, wherever the real is now and whatever has become of the cell."""
    part = PartId(EntityId(message.entity), Part.CELL)
    version = core.switchboard.version_of(part)
    return max(-1 if version is None else version, core.switchboard.version_of_place(part)) >= message.epoch


class Arrivals:
    """Lets reals begin that have come to one CellApp."""

    def __init__(self, core: Core, receiver: GhostReceiver, travelling: Travelling, seeking: Seeking) -> None:
        self._core = core
        self._receiver = receiver
        self._travelling = travelling
        self._seeking = seeking

    def begin(self, message: Offload) -> Real:
        """The entity goes on here; only its hook has not run yet."""
        self._receiver.on_arrived(message.entity)
        body = self._body(message)
        real = Real(body, message.dbid, is_arriving=True)
        self._travelling.unpack_own(real, message)
        real.arrived_at = self._core.host.now
        self._core.register_real(real)
        self._travelling.unpack_around(real, message)
        self._seeking.begin(real)
        return real

    def _body(self, message: Offload) -> Body:
        """The ghost that was here, with the state of the real; or a new body where none was."""
        core, jump = self._core, message.jump or Jump(message.space, message.position, message.direction)
        kind = core.kinds.get(message.type_id)
        assert kind is not None
        layout = kind.schema.cell_layout
        state = State(layout, None, layout.row.decode(message.properties))
        body, is_elsewhere = core.bodies.get(message.entity), jump.space != message.space
        if body is not None and body.space.id == jump.space and not is_elsewhere:
            self._become_real(body, message, state)
            return body
        if body is not None:
            self._receiver.end(body, body.epoch, is_destroyed=False)
        body = Body(
            core,
            core.space(jump.space),
            kind,
            message.entity,
            base=message.base,
            real_app=core.me,
            epoch=message.epoch,
            # In another space it is one step further. In the same its ghosts get the jump with the next step.
            number=message.number + is_elsewhere,
            position=jump.position if is_elsewhere else message.position,
            direction=jump.direction if is_elsewhere else message.direction,
            state=state,
        )
        body.ride = unpack_ride(message.ride)
        body.adopt(message.past)
        core.add_body(body)
        if is_elsewhere:
            _record_place(body)
        return body

    def _become_real(self, body: Body, message: Offload, state: State) -> None:
        run_destroyed_hook(body)
        body.state.release()
        body.state = state
        if body.number != message.number:
            body.adopt(message.past)
            body.number = message.number
        body.base, body.real_app = message.base, self._core.me
        body.epoch = body.born = message.epoch
        body.space.place(body, message.position, message.direction)
        body.space.seat(body, unpack_ride(message.ride))


def _record_place(body: Body) -> None:
    """The events of places so far are about another space: a client that had the entity in this one gets new ones."""
    kind, events = body.kind, []
    if body.history.has_changed(RIDE, -1):
        events.append(kind.event_of_ride(encode_ride(Ride(0, body.position, body.direction))))
    if kind.is_eventful:
        events.append(kind.event_of_place(body.position, body.direction))
    body.record(body.number, events)
