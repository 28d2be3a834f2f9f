"""The invariants of a CellApp, as they hold between two events.

each body           is in its space, under its slot; a tombstone of it is not newer than it
each real           is this app's, has its mailbox here under its own epoch, and no kept copy beside it
each ghost          follows another app, and has no mailbox here (one whose real has arrived and waits has)
each kept offload   has an epoch above everything else that is here of its entity
each open step      is that of a real here
what is held        cannot be taken yet, and is about no real
each witness        is that of its real; its entries are in `witness_problems`
"""

from __future__ import annotations

from collections.abc import Iterator

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.client.entry_states import EntryState, state_of
from terrazzo.cell.client.witness import Witness
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.real import Real
from terrazzo.errors import UsageError
from terrazzo.wire.entity.validate import violations as switchboard_violations
from terrazzo.wire.ids import NEVER_HEARD, EntityId, Part, PartId
from terrazzo.wire.invariants import BrokenInvariant, Share, Violations

_GONE, _WITHHELD = EntryFlag.GONE.value, EntryFlag.WITHHELD.value


def violations(app: CellApp, share: Share) -> Violations:
    """The invariants of this CellApp that do not hold."""
    arrived = {message.entity for message in app.receiver.holding.arrivals()}
    for id, body in app.bodies.items():
        if share.has(id):
            real = body.real
            whats = [*_body(app, id, body), *(_ghost(app, body, arrived) if real is None else _real(app, body, real))]
            for what in whats:
                yield BrokenInvariant(id, f"{body.label} {what}")
    for id, real in app.reals.items():
        if share.has(id) and (app.bodies.get(id) is not real.body or real.body.real is not real):
            yield BrokenInvariant(id, f"entity {id} is a real, and its body is not here, or has another real")
    for id in (*app.offloads.kept, *app.receiver.held, *app.core.open_steps, *app.core.destroyed):
        if share.has(id):
            for what in (*_kept(app, id), *_held(app, id), *_lists(app, id)):
                yield BrokenInvariant(id, f"entity {id} {what}")
    yield from switchboard_violations(app.switchboard, share)


# Bodies.


def _body(app: CellApp, id: int, body: Body) -> Iterator[str]:
    space, tombstone = body.space, app.tombstones.get(id)
    if body.id != id:
        yield f"is registered as entity {id}"
    if app.spaces.get(space.id) is not space or space.bodies.get(id) is not body:
        yield f"is in space {space.id}, which does not have it"
    elif space.by_slot.get(body.slot) is not body or space.area.entity(body.slot) != id:
        yield f"has slot {body.slot}, which is another's"
    if tombstone is not None and tombstone.epoch > body.epoch:
        yield f"is of epoch {body.epoch}, and ended in epoch {tombstone.epoch}"
    if body.ride is not None and id not in space.riders_of(body.ride.vehicle):
        yield f"rides entity {body.ride.vehicle}, which does not list it as a rider"


def _ghost(app: CellApp, body: Body, arrived: set[int]) -> Iterator[str]:
    if body.id in app.reals:
        yield "is a ghost, and is registered as a real"
    if body.real_app == app.me:
        yield "is a ghost of this very app"
    if app.switchboard.is_here(body.part) and not app.switchboard.is_ending(body.part) and body.id not in arrived:
        yield "is a ghost, and its mailbox is here"


def _real(app: CellApp, body: Body, real: Real) -> Iterator[str]:
    if app.reals.get(body.id) is not real:
        yield "is a real that is not registered"
    if body.real_app != app.me:
        yield f"is a real here, and follows {body.real_app}"
    version = app.switchboard.version_of(body.part)
    if version != body.epoch or app.switchboard.is_ending(body.part):
        yield f"is a real of epoch {body.epoch}, and its mailbox is of version {version}"
    bits = {ghost.bit for ghost in real.ghosts.values()}
    if len(bits) != len(real.ghosts) or app.me in real.ghosts:
        yield "has two ghosts under one bit, or one on this app"
    witness = witness_of(real)
    if witness is not None:
        if witness.body is not body:
            yield f"has the witness of entity {witness.body.id}"
        for what in witness_problems(witness):
            yield f"has a client that {what}"


# What is kept and held, by entity.


def _kept(app: CellApp, id: int) -> Iterator[str]:
    kept, body = app.offloads.kept.get(id), app.bodies.get(id)
    if kept is None:
        return
    epoch = kept.message.epoch
    if id in app.reals:
        yield f"is a real here, and a copy that left in epoch {epoch} is kept"
    if kept.message.entity != id:
        yield f"has the kept copy of entity {kept.message.entity}"
    version = app.switchboard.version_of_place(PartId(EntityId(id), Part.CELL))
    is_known = version != NEVER_HEARD  # a place is forgotten after a while, a kept copy never
    if (is_known and version < epoch) or (body is not None and body.epoch < epoch):
        yield f"left in epoch {epoch}, and its place is of version {version}"


def _held(app: CellApp, id: int) -> Iterator[str]:
    held, body = app.receiver.held.get(id), app.bodies.get(id)
    if held is None:
        return
    if id in app.reals:
        yield "is a real, and something is held for it"
    if held.transitions != sorted(held.transitions):
        yield "has held transitions out of order"
    if body is None:
        return  # its space was removed here: mending ends what is held
    if body.number + 1 in held.steps:
        yield f"is at number {body.number}, and the step after that is held"
    if held.transitions and held.transitions[0].number <= body.number:
        yield f"is at number {body.number}, and a transition of number {held.transitions[0].number} is held"


def _lists(app: CellApp, id: int) -> Iterator[str]:
    real = app.reals.get(id)
    step, destroyed = app.core.open_steps.get(id), app.core.destroyed.get(id)
    if step is not None and step is not real:
        yield "has an open step, and its real is not here"
    if destroyed is not None and (destroyed is not real or not destroyed.is_destroyed):
        yield "is to be taken down, and its real is not here or not destroyed"


# Clients.


def witness_problems(witness: Witness) -> Iterator[str]:
    """Each entry has a state of the table, a body here or is awaited, and is scheduled while something is due; aliases
    are unique, and none both names an entity and rests."""
    record, space = witness.sent, witness.body.space
    aliases = dict[int, int]()
    for entity in record.sight.entities():
        slot, alias, _, flags = record.entry(entity)
        try:
            state = state_of(alias, flags)
        except AssertionError as problem:
            yield f"has an impossible entry of entity {entity}: {problem}"
            continue
        if entity == witness.body.id or entity in record.left:
            yield f"has an entry of entity {entity}, which is its own or has left"
        if alias:
            if alias in aliases:
                yield f"has alias {alias} for entities {aliases[alias]} and {entity}"
            if alias in record.aliases.resting:
                yield f"has alias {alias} for entity {entity}, and it rests"
            aliases[alias] = entity
        if not _is_backed(witness, entity, slot, flags):
            yield f"has an entry of entity {entity}, which is not here and not awaited"
        if _is_to_be_served(state, flags) and not record.is_due(entity):
            yield f"has an entry of entity {entity}, {state.value}, and no update looks at it"
    if not witness.is_watching:
        yield f"watches nothing in space {space.id}"


def _is_to_be_served(state: EntryState, flags: int) -> bool:
    """Whether the next update with room changes the state (`cell/client/entry_states.py`)."""
    if flags & _GONE:
        return True
    if flags & _WITHHELD:
        return state is not EntryState.UNANNOUNCED
    return state in (EntryState.UNANNOUNCED, EntryState.WANTED)


def _is_backed(witness: Witness, entity: int, slot: int, flags: int) -> bool:
    """Whether the entity of an entry has a body here, had one until its removal is noticed, or is awaited. An entry
    that is GONE ends with the next update, before anything looks at the slot."""
    if flags & _GONE:
        return True
    if slot < 0:
        return witness.awaits(entity)
    other = witness.body.space.bodies.get(entity)
    if other is not None and other.slot == slot:
        return True
    try:
        return witness.body.space.area.entity(slot) == entity
    except UsageError:
        return False
