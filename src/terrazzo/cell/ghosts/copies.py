"""How a ghost is made from the messages of its real, and how it follows step by step.

A step is applied to the state and to the history as the real has done it, so that both send clients the same. An item
that does not decode is counted and reported, and the rest of the step is applied.

The game gets `on_ghost_created` for each ghost that begins here and `on_ghost_destroyed` for each that ends, for
whatever reason, so that it can count them. A real that leaves begins as a ghost here, and a ghost that becomes the real
ends.

A game that has an `on_ghost_changed` gets it for each property that a step has changed, when the whole step is applied;
with a snapshot, for each property that differs.
"""

from __future__ import annotations

from typing import Any

from terrazzo._speed.values import WHOLE
from terrazzo.cell.core.body import Body, unpack_ride
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.history import EntityEvent
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.state import State
from terrazzo.sync.callbacks import value_before
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cell_cell import PLACE, RIDES, CreateGhost, Item, UpdateGhost

HOOK = "on_ghost_changed"
FormerValue = tuple[str, Any]
"""The name of a property, and what it was."""


def create_ghost(core: Core, source: AppId, message: CreateGhost) -> None:
    """A ghost begins here, and its hook runs."""
    kind = core.kinds.get(message.type_id)
    if kind is None:
        core.count(LogEvent.GHOST_OF_UNKNOWN_TYPE, entity=message.entity, type_id=message.type_id)
        return
    layout = kind.schema.ghost_layout
    try:
        ride = unpack_ride(message.ride)
        body = Body(
            core,
            core.space(message.space),
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
        core.count(LogEvent.GHOST_MALFORMED, entity=message.entity, problem=str(problem))
        return
    body.ride = ride
    body.adopt(message.past)
    core.add_body(body)
    run_created_hook(body)


def run_created_hook(body: Body) -> None:
    """This body is a ghost from now on."""
    if "on_ghost_created" in body.kind.hooks:
        body.core.run(body, "on_ghost_created", body.view.on_ghost_created)


def run_destroyed_hook(body: Body) -> None:
    """This body is a ghost no longer."""
    if "on_ghost_destroyed" in body.kind.hooks:
        body.core.run(body, "on_ghost_destroyed", body.view.on_ghost_destroyed)


def renew_ghost(body: Body, source: AppId, message: CreateGhost) -> None:
    """A ghost takes over a later state at once."""
    layout = body.kind.schema.ghost_layout
    try:
        values, ride = layout.row.decode(message.properties), unpack_ride(message.ride)
        body.space.place(body, message.position, message.direction)
    except (DecodeError, UsageError) as problem:
        body.core.count(LogEvent.GHOST_MALFORMED, entity=message.entity, problem=str(problem))
        return
    before = body.state.values()
    body.state.release()
    body.state = State(layout, None, values)
    body.space.seat(body, ride)
    body.adopt(message.past)
    body.number, body.born = message.number, max(body.born, message.epoch)
    body.follow(source, message.epoch)
    if HOOK in body.kind.hooks:
        pairs = zip(layout.names, before, body.state.values(), strict=True)
        _call_hooks(body, [(name, old) for name, old, new in pairs if old != new])


def apply_step(body: Body, message: UpdateGhost) -> None:
    """One step."""
    events: list[EntityEvent] = []
    changed: list[FormerValue] = []
    for item in message.items:
        try:
            if item.method == PLACE:
                events.append(body.kind.event_of_place(message.position, message.direction))
            else:
                _apply_item(body, item, events, changed)
        except (DecodeError, IndexError) as problem:
            body.core.count(LogEvent.STEP_MALFORMED, entity=body.id, problem=str(problem))
    body.number = message.number
    body.record(message.number, events)
    try:
        body.space.place(body, message.position, message.direction)
    except UsageError as problem:
        body.core.count(LogEvent.STEP_MALFORMED, entity=body.id, problem=str(problem))
    _call_hooks(body, changed)


def _apply_item(body: Body, item: Item, events: list[EntityEvent], changed: list[FormerValue]) -> None:
    if item.method >= 0:
        events.append(body.kind.event_of_call(item.method, item.data))
        return
    if item.method == RIDES:
        body.space.seat(body, unpack_ride(item.data))
        events.append(body.kind.event_of_ride(item.data))
        return
    change = body.state.decode_internal(item.data)
    event = body.kind.event_for_others(change) if body.kind.reach[change.prop].to_others else None
    if event is not None:
        events.append(event)
    applied = body.state.apply_internal(item.data)
    if HOOK in body.kind.hooks:
        old, value = applied.old, body.state.get(applied.prop)
        old = old if applied.kind == WHOLE else value_before(value, applied.path, old)
        changed.append((body.state.layout.names[applied.prop], old))


def _call_hooks(body: Body, changed: list[FormerValue]) -> None:
    for name, old in changed:
        body.core.run(body, HOOK, body.view.on_ghost_changed, name, old)
