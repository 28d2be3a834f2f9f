"""A real from the message that carried it: everything that `offload.py` packed, unpacked.

Where a ghost of it is, the ghost becomes the real: whoever watches it goes on watching the same body. Where none is, or
only one in another space, a new body begins. Who comes from another space has left this one for good: a ghost of the
time before that is still here, since its deletion waits for a step, makes room for a new body as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from terrazzo.cell.body import Body
from terrazzo.cell.copies import tell_ended
from terrazzo.cell.history import RIDE, adopt, record
from terrazzo.cell.real import Real
from terrazzo.cell.riding import unpack_ride
from terrazzo.cell.witness import Witness
from terrazzo.errors import DecodeError
from terrazzo.schema.state import State
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.wire.entity.messages import PackedPart
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import DeleteGhost, Jump, Offload

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp


MAILBOX_DECODER = msgspec.msgpack.Decoder(PackedPart)


def problem_of(app: CellApp, message: Offload) -> str | None:
    """Why a real cannot be taken in; None: it can."""
    kind, jump = app.kinds.get(message.type_id), message.jump
    if kind is None:
        return f"type {message.type_id} is not of this game: all apps must run the same"
    if jump is not None:
        space = app.spaces.get(jump.space)
        if space is None or space.leaf is None:
            return f"{app.me} has no cell of space {jump.space}"
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


def check_readable(app: CellApp, message: Offload) -> None:
    """Raises for an Offload that could not be read where it goes, nor here if it comes back."""
    kind = app.kinds.get(message.type_id)
    assert kind is not None
    kind.schema.cell_layout.row.decode(message.properties)
    if not isinstance(REGISTRY.decode_nested(REGISTRY.encode(message)), Offload):
        raise DecodeError("an Offload that does not decode: a value in it is not of the type that it should be")


def is_known(app: CellApp, message: Offload) -> bool:
    """Whether this epoch, or a later one, has been seen here. Only this app can have taken the real in, so this is a
    copy, wherever the real is believed to live now and whatever has become of the ground."""
    part = PartId(EntityId(message.entity), Part.CELL)
    version, place = app.switchboard.version_of(part), app.switchboard.places.get(part)
    return max(-1 if version is None else version, -1 if place is None else place.version) >= message.epoch


def landed_real(app: CellApp, message: Offload) -> Real:
    """The entity goes on here; only its own code has not heard of it yet."""
    now, jump = app.host.now, message.jump or Jump(message.space, message.position, message.direction)
    app.ghosts.on_landed(message.entity)
    body = _landed_body(app, message, jump)
    real = Real(body, message.dbid, is_arriving=True)
    real.timers.unpack(message.timers, message.next_number, now)
    try:
        real.controllers.unpack(message.controllers)
    except DecodeError as problem:
        app.count("controllers that do not decode", entity=body.id, problem=str(problem))
    real.arrived_at = now
    real.mover = message.mover
    app.settle(real)
    app.riding.enter(real)
    _tell_ghosts(app, real, message)
    app.interests.unpack(real, message.proximities)
    if message.witness is not None:
        real.witness = Witness.unpack(body, message.witness, now)
        app.moves.enter(real)
    if message.jump is not None:
        body.space.place(body, jump.position, jump.direction)
        if real.witness is not None:
            real.witness.jump(message.space, jump.near)
        app.riding.alight(real)
    app.teleports.unpack(real, message.teleport)
    app.seeking.begin(real)
    return real


def _tell_ghosts(app: CellApp, real: Real, message: Offload) -> None:
    """The ghosts follow it here; those of a space that it has left are deleted."""
    if real.body.space.id == message.space:
        app.haunts.adopt(real, message.haunts, message.version)
        return
    for haunt in message.haunts:
        if haunt != app.me:
            app.send(haunt, DeleteGhost(message.entity, message.epoch, message.number, is_destroyed=False))


def _landed_body(app: CellApp, message: Offload, jump: Jump) -> Body:
    """The ghost that was here, with the state of the real; or a new body where none was."""
    kind = app.kinds.get(message.type_id)
    assert kind is not None
    layout = kind.schema.cell_layout
    state = State(layout, None, layout.row.decode(message.properties))
    body, is_elsewhere = app.bodies.get(message.entity), jump.space != message.space
    if body is not None and body.space.id == jump.space and not is_elsewhere:
        tell_ended(body)
        body.state.release()
        body.state = state
        if body.number != message.number:
            adopt(body, message.past)
            body.number = message.number
        body.base, body.real_app = message.base, app.me
        body.epoch = body.born = message.epoch
        body.space.place(body, message.position, message.direction)
        body.space.seat(body, unpack_ride(message.ride))
        return body
    if body is not None:
        app.ghosts.end(body, body.epoch, is_destroyed=False)
    body = Body(
        app,
        app.space(jump.space),
        kind,
        message.entity,
        base=message.base,
        real_app=app.me,
        epoch=message.epoch,
        # In another space it is one step further. In the same its ghosts are told of the jump by the next step.
        number=message.number + is_elsewhere,
        position=jump.position if is_elsewhere else message.position,
        direction=jump.direction if is_elsewhere else message.direction,
        state=state,
    )
    body.ride = unpack_ride(message.ride)
    adopt(body, message.past)
    app.add_body(body)
    if is_elsewhere:
        _tell_place(body)
    return body


def _tell_place(body: Body) -> None:
    """What was told of its places is about another space: whoever knew it in this one, before that, is told anew."""
    kind, events = body.kind, []
    if body.history.has_changed(RIDE, -1):
        events.append(kind.tell_ride(encode_ride(Ride(0, body.position, body.direction))))
    if kind.is_eventful:
        events.append(kind.tell_place(body.position, body.direction))
    record(body, body.number, events)
