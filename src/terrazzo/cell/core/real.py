"""A real: the one authoritative body of an entity, and what only it has.

Code of the game changes the entity. What it does collects in the step of the tick, and once a tick the step is closed:

    self.hp = 5           listener of the state ─▶ note() ─▶ item for ghosts, event for other clients and for the own
    self.others.wave()                             call_others() ─▶ item for ghosts, event for other clients
    self.client.look()                             call_own() ─▶ event for the own client
    self.position = …                              the place, which is part of each step; an event, if not volatile

    close_step():  number + 1, items and place → UpdateGhost to each ghost, events → history → witnesses

A real that has only moved needs no step of its own: the arrays close the steps of all such reals at once
(`cell/core/steps.py`), unless a place is an event for the type.

Of properties and calls of which only the **latest** matters, the last one of a tick becomes an item and an event when
the step is closed; until then it is deferred. Such a property is then sent whole, as it is by that time, to ghosts and
to all clients alike.

A step is closed early when its items have STEP_BYTES: a tick may have several. One change or call has ITEM_BYTES_MAX
at most: a larger one is refused where the game makes it, before anything has changed. A value that grows beyond that
in small steps and is sent whole, or that changes inside a value of the game's own type, is found too late to be
refused: it is counted, and not sent.

Private properties are in no step: ghosts do not have them, and the own client is sent them at once. Between two
closings of steps no ghost is made and no real leaves, so `state` and `number` fit each other wherever they are packed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from terrazzo._speed.movers import ALLOWANCE_S
from terrazzo._speed.values import WHOLE, Change
from terrazzo.cell.core import history
from terrazzo.cell.core.body import pack_ride
from terrazzo.cell.core.controllers import Controllers
from terrazzo.cell.core.history import EntityEvent
from terrazzo.cell.core.hooks import Hooks
from terrazzo.cell.core.readonly import ReadOnly
from terrazzo.cell.core.timers import Timers
from terrazzo.errors import UsageError
from terrazzo.schema.changes import encode_internal
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import CellData
from terrazzo.wire.pairs.cell_cell import CHANGE, PLACE, RIDES, CreateGhost, Item, PackedMover, UpdateGhost

if TYPE_CHECKING:
    from terrazzo.cell.core.body import Body
    from terrazzo.cell.core.services import TriggerLike, WitnessLike

ITEM_BYTES_MAX = 256 * 1024
"""Bytes of one change of a property, or of the arguments of one call of a client method."""
STEP_BYTES = 512 * 1024
_ITEM_BYTES = 16
"""What an item takes beside its data."""


FRESH_MOVER = PackedMover(0, ALLOWANCE_S, -1.0)
"""The mover of a real without a move of its client so far."""


@dataclass(slots=True)
class PlacedGhost:
    """One ghost of a real (`cell/ghosts/placement.py`)."""

    bit: int
    needed_at: float
    asked_at: float
    is_confirmed: bool = False


class Real:
    """What a body has as long as it is the real one."""

    __slots__ = (
        "_events", "_is_place_due", "_items", "_latest", "_size", "_subjects", "arrived_at", "began", "body",
        "caller", "controllers", "dbid", "first", "ghosts", "is_destroyed", "mover", "part", "proximities",
        "space_data", "tended", "timers", "too_large_until", "tree_version", "witness",
    )  # fmt: skip

    def __init__(self, body: Body, dbid: int, *, is_arriving: bool = False) -> None:
        self.body = body
        self.dbid = dbid
        self.ghosts: dict[AppId, PlacedGhost] = {}
        """Where it has ghosts."""
        self.began = 0
        """It has begun here before those with a higher number."""
        self.timers = Timers(body.core.agenda, body.id)
        self.controllers = Controllers(body.core.agenda, body.id)
        self.proximities: dict[int, TriggerLike] = {}
        self.mover = FRESH_MOVER
        self.witness: WitnessLike | None = None
        self.is_destroyed = False
        self.caller = 0
        """The entity of the client that called, while a call of a client runs."""
        self.arrived_at: float | None = None
        self.first = body.number
        """The number with which it began here."""
        self.tree_version = body.space.version
        """The tree with which it came."""
        self.tended = (-1, 0.0, 0.0, 0.0)
        """The tree and the place of the last check of its ghosts, and when the next one is due."""
        self.space_data = body.space.data_version
        """The version of the data of its space that its code and its client have."""
        self.too_large_until = 0.0
        """It was too large to be sent whole; until then that is not tried again."""
        self._items: list[Item] = []
        self._size = 0
        """Bytes of the items."""
        self._subjects: list[int] = []
        """What each of the items is about, for the account."""
        self._events: list[EntityEvent] = []
        self._latest: dict[int, tuple[bytes, WitnessLike | None, bool]] = {}
        """Deferred: by subject (`cell/core/history.py`), the arguments of a call, the client that gets it as well, and
        whether it is public."""
        self._is_place_due = False
        self.part: Hooks = self._new_part(is_arriving)
        body.state.listener = self.note
        body.state.limit(ITEM_BYTES_MAX)

    def _new_part(self, is_arriving: bool) -> Hooks:
        """The game's object. `__init__` runs in each home of the entity, so it may read properties but not write; so
        does `on_entering_cell`: the entity is not yet real here."""
        body = self.body
        part = body.kind.part_class.__new__(body.kind.part_class)
        part._body = body
        advice = "__init__ and on_entering_cell run again in each cell that the entity comes to; write in on_created"
        part._state = ReadOnly(body, body.kind.schema.cell_layout, advice)
        part._is_starting = True
        body.core.run(body, "__init__", part.__init__)  # type: ignore[misc]
        if is_arriving and "on_entering_cell" in body.kind.hooks:
            body.core.run(body, "on_entering_cell", part.on_entering_cell)
        part._is_starting = False
        part._state = body.state
        return part

    def end(self) -> None:
        """The real has ended here: code that still holds the game's object can only read it."""
        body = self.body
        body.state.listener = None
        advice = "the entity is no longer in this cell; look it up again with self.entity(id)"
        self.part._state = ReadOnly(body, body.kind.schema.ghost_layout, advice)

    # What game code does.

    def note(self, change: Change) -> None:
        """The listener of the state."""
        kind = self.body.kind
        manner = kind.reach[change.prop].manner
        if not manner.is_latest and (manner.is_reliable or change.kind == WHOLE):
            self._add_change(change, self.witness)
            return
        is_public, is_own = kind.concerns(change)
        witness = self.witness if is_own else None
        if manner.is_latest:
            self._put_off(change.prop, b"", witness, is_public=is_public)
        else:
            self._add_change(kind.whole(self.body.state, change.prop), witness, is_public=is_public)

    def _add_change(self, change: Change, witness: WitnessLike | None, *, is_public: bool = True) -> None:
        """A change becomes what each receiver gets of it."""
        kind = self.body.kind
        reach = kind.reach[change.prop]
        if len(change.payload) > ITEM_BYTES_MAX:
            name, size = kind.schema.cell_layout.names[change.prop], len(change.payload)
            self.body.core.count(LogEvent.PROPERTY_TOO_LARGE, entity=self.body.id, property=name, size=size)
            return
        if reach.forms is not None:
            self._add_shares(change, witness, is_public=is_public)
            return
        if reach.to_ghosts:
            self._add_item(Item(CHANGE, encode_internal(change, change.prop)), change.prop)
        if reach.to_others or (reach.to_own and witness is not None):
            event = kind.event_of_change(change)
            if reach.to_others:
                self._events.append(event)
            if reach.to_own and witness is not None:
                witness.sent.add_own_event(event)

    def _add_shares(self, change: Change, witness: WitnessLike | None, *, is_public: bool) -> None:
        """The same for a property with fields that are not for all receivers: each gets its share, or nothing."""
        kind = self.body.kind
        reach = kind.reach[change.prop]
        public = kind.for_ghosts(change) if reach.to_ghosts and is_public else None
        if public is not None:
            self._add_item(Item(CHANGE, encode_internal(public, change.prop)), change.prop)
            event = kind.event_for_others(public) if reach.to_others else None
            if event is not None:
                self._events.append(event)
        if reach.to_own and witness is not None:
            event = kind.event_for_own(change)
            if event is not None:
                witness.sent.add_own_event(event)

    def call_own(self, index: int, args: bytes) -> None:
        """Calls a method of the own client; without a client the call is dropped."""
        self._check_size(index, args)
        if self.witness is not None:
            self.witness.sent.add_own_event(self.body.kind.event_of_call(index, args))

    def call_others(self, index: int, args: bytes) -> None:
        """Calls a method of this entity on every other client that sees it."""
        self._check_size(index, args)
        if self.body.kind.manner_of(~index).is_latest:
            self._put_off(~index, args, self.witness)
        else:
            self._add_call(index, args)

    def _check_size(self, index: int, args: bytes) -> None:
        if len(args) > ITEM_BYTES_MAX:
            name, size = self.body.kind.schema.client_methods[index].name, len(args)
            raise UsageError(
                f"a call of {name} with {size} bytes; the most is {ITEM_BYTES_MAX}: call it with parts of that"
            )

    def _add_call(self, index: int, args: bytes) -> None:
        self._add_item(Item(index, args), ~index)
        self._events.append(self.body.kind.event_of_call(index, args))

    def set_ride(self, ride: Ride) -> None:
        """It stands on something; on the vehicle 0: on nothing any more (`cell/motion/riding.py`)."""
        data = encode_ride(ride)
        self.body.space.seat(self.body, ride if ride.vehicle else None)
        event = self.body.kind.event_of_ride(data)
        self._add_item(Item(RIDES, data), history.RIDE)
        self._events.append(event)
        if self.witness is not None:
            self.witness.sent.add_own_event(event)

    def mark_place_due(self) -> None:
        """Its place is an event of this step, though it rides, or has not moved."""
        self._is_place_due = True
        self.body.core.open_steps[self.body.id] = self

    # The step.

    def _add_item(self, item: Item, subject: int) -> None:
        if self._items and self._size + len(item.data) > STEP_BYTES:
            self.body.core.close_step(self)
        if not self._items:
            self.body.core.open_steps[self.body.id] = self
        self._items.append(item)
        self._size += len(item.data) + _ITEM_BYTES
        self._subjects.append(subject)

    def _put_off(self, subject: int, args: bytes, witness: WitnessLike | None, *, is_public: bool = True) -> None:
        """Until the step is closed; the order is that of the last."""
        self.body.core.open_steps[self.body.id] = self
        if subject in self._latest:
            _, former, was_public = self._latest.pop(subject)
            witness, is_public = former if witness is None else witness, is_public or was_public
        self._latest[subject] = (args, witness, is_public)

    def _add_latest(self) -> None:
        latest, self._latest = self._latest, {}
        for subject, (args, witness, is_public) in latest.items():
            if subject < 0:
                self._add_call(~subject, args)
            else:  # a client that was attached since has it from its first message
                change = self.body.kind.whole(self.body.state, subject)
                self._add_change(change, witness if witness is self.witness else None, is_public=is_public)

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing has happened since the last step."""
        return not self._items and not self._latest and self.body.space.area.is_closed(self.body.slot)

    def close_step(self) -> UpdateGhost | None:
        """What happened since the last step, under the next number; None when nothing did."""
        body = self.body
        self._add_latest()
        has_moved = body.ride is None and not body.space.area.is_closed(body.slot)
        if body.kind.is_eventful and (has_moved or self._is_place_due):
            self._is_place_due = False
            self._items.append(Item(PLACE, b""))
            self._subjects.append(history.PLACE)
            self._events.append(body.kind.event_of_place(body.position, body.direction))
        if self.is_unchanged:
            return None
        items, events = tuple(self._items), self._events
        if self.ghosts:
            self._count_items()
        self._items, self._events, self._subjects, self._size = [], [], [], 0
        number = body.space.area.close(body.slot)
        body.record(number, events)
        return UpdateGhost(body.id, body.epoch, number, items, body.position, body.direction)

    def _count_items(self) -> None:
        ghosts, rows = len(self.ghosts), self.body.kind.page.ghosts
        for item, subject in zip(self._items, self._subjects, strict=True):
            self.body.core.account.add(rows[subject], ghosts, ghosts * len(item.data))

    def ghost(self, *, is_snapshot: bool = False) -> CreateGhost:
        """The entity as a new ghost gets it; only between steps."""
        body = self.body
        layout = body.kind.schema.ghost_layout
        return CreateGhost(
            entity=body.id,
            type_id=body.kind.schema.type_id,
            space=body.space.id,
            epoch=body.epoch,
            number=body.number,
            position=body.position,
            direction=body.direction,
            properties=layout.row.encode(body.state.values()[: len(layout)]),
            base=body.core.base_of(body),
            past=body.history.pack(is_whole=is_snapshot),
            is_snapshot=is_snapshot,
            ride=pack_ride(body),
        )

    # For the base.

    def data(self, *, is_last: bool) -> CellData:
        """The cell part as it is."""
        body = self.body
        return CellData(body.space.name, body.position, body.direction, body.state.encode(), is_last)
