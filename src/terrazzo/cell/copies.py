"""Copies: how a ghost is made from what its real sends, and how it follows step by step.

A step goes into the state and into the history just as the real did it, so that both tell clients the very same. What
does not decode is counted and reported, and costs no more than itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.cell.body import Body
from terrazzo.cell.history import Event, adopt, record
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.state import State
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import CreateGhost, Item, UpdateGhost

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp


def create_ghost(app: CellApp, source: AppId, message: CreateGhost) -> None:
    """A ghost begins here, and the game hears of it."""
    kind = app.kinds.get(message.type_id)
    if kind is None:
        app.count("ghost of an unknown type", entity=message.entity, type_id=message.type_id)
        return
    layout = kind.schema.ghost_layout
    try:
        body = Body(
            app,
            app.space(message.space),
            kind,
            message.entity,
            base=message.base,
            real_app=source,
            epoch=message.epoch,
            number=message.number,
            position=message.position,
            direction=message.direction,
            state=State(layout, None, layout.row.decode(message.properties)),
        )
    except (DecodeError, UsageError) as problem:
        app.count("ghost that does not decode", entity=message.entity, problem=str(problem))
        return
    body.ride = ride
    adopt(body, message.past)
    app.add_body(body)
    if "on_ghost_created" in kind.hooks:
        app.run(body, "on_ghost_created", body.view.on_ghost_created)


def renew_ghost(body: Body, source: AppId, message: CreateGhost) -> None:
    """A ghost takes over a later state at once."""
    layout = body.kind.schema.ghost_layout
    try:
        values = layout.row.decode(message.properties)
        body.space.place(body, message.position, message.direction)
    except (DecodeError, UsageError) as problem:
        body.app.count("ghost that does not decode", entity=message.entity, problem=str(problem))
        return
    body.state.release()
    body.state = State(layout, None, values)
    adopt(body, message.past)
    body.number, body.born = message.number, max(body.born, message.epoch)
    body.follow(source, message.epoch)


def apply_step(body: Body, message: UpdateGhost) -> None:
    """One step."""
    events: list[Event] = []
    for item in message.items:
        try:
            _apply_item(body, item, events)
        except (DecodeError, IndexError) as problem:
            body.app.count("step that does not decode", entity=body.id, problem=str(problem))
    body.number = message.number
    record(body, message.number, events)
    try:
        body.space.place(body, message.position, message.direction)
    except UsageError as problem:
        body.app.count("step that does not decode", entity=body.id, problem=str(problem))


def _apply_item(body: Body, item: Item, events: list[Event]) -> None:
    if item.method >= 0:
        events.append(body.kind.tell_call(item.method, item.data))
        return
    if item.method == RIDES:
        body.ride = decode_rides(item.data)
        events.append(body.kind.tell_ride(item.data))
        return
    change = body.state.decode_internal(item.data)
    if body.kind.reach[change.prop].to_others:
        events.append(body.kind.tell_change(change))
    body.state.apply_internal(item.data)
