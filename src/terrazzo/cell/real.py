"""A real: the one body of an entity whose word counts, and what only it has.

Game code changes the entity; what it does collects in the step of the tick, and once a tick the step is closed:

    self.hp = 5           state's listener ─▶ note() ─▶ item for ghosts, event for other clients, event for the own
    self.others.wave()                        call_others() ─▶ item for ghosts, event for other clients
    self.client.look()                        call_own() ─▶ event for the own client
    self.position = …                         the place, which rides along

    close_step():  number + 1, items and place → UpdateGhost to each haunt, events → history → witnesses

Who has only moved needs no step of its own: the arrays close those of all such reals at once (`Haunts.close_steps`).

Private properties are in no step: ghosts do not have them, and the own client is told at once. Between two closings of
steps no ghost is made and no real leaves, so `state` and `number` always fit each other where they are packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo._speed.values import Change
from terrazzo.cell.controllers import Controllers
from terrazzo.cell.history import Event, record
from terrazzo.cell.moves import FRESH_MOVER
from terrazzo.cell.timers import Timers
from terrazzo.cell.views import ReadOnly
from terrazzo.cell.witness import Witness
from terrazzo.schema.changes import encode_internal
from terrazzo.wire.ids import MOVES_BITS, AppId
from terrazzo.wire.pairs.base_cell import CellData
from terrazzo.wire.pairs.cell_cell import CreateGhost, Item, UpdateGhost

if TYPE_CHECKING:
    from terrazzo.cell.api import Cell
    from terrazzo.cell.body import Body
    from terrazzo.cell.haunts import Haunt
    from terrazzo.cell.interests import Proximity

CHANGE = -1
"""`Item.method` of what is no call."""


class Real:
    """What a body has as long as it is the real one."""

    __slots__ = (
        "_events", "_items", "arrived_at", "body", "caller", "controllers", "dbid", "haunts", "is_doomed", "mover",
        "part", "proximities", "tended", "timers", "tree_version", "witness",
    )  # fmt: skip

    def __init__(self, body: Body, dbid: int, *, is_arriving: bool = False) -> None:
        self.body = body
        self.dbid = dbid
        self.haunts: dict[AppId, Haunt] = {}
        """Where it has ghosts."""
        self.timers = Timers(body.epoch & (1 << MOVES_BITS) - 1)
        self.controllers = Controllers()
        self.proximities: dict[int, Proximity] = {}
        self.mover = FRESH_MOVER
        self.witness: Witness | None = None
        self.is_doomed = False
        self.caller = 0
        """Whose client called, while a call of a client runs."""
        self.arrived_at: float | None = None
        self.tree_version = body.space.version
        """The tree with which it came."""
        self.tended = (-1, 0.0, 0.0, 0.0)
        """By which tree, at which place its haunts were last looked at, and when it is time to look again."""
        self._items: list[Item] = []
        self._events: list[Event] = []
        self.part: Cell = self._new_part(is_arriving)
        body.state.listener = self.note

    def _new_part(self, is_arriving: bool) -> Cell:
        """The game's object. `__init__` runs in each home of the entity, so it may read properties but not write; so
        does `on_entering_cell`: the entity is not yet real here."""
        body = self.body
        part = body.kind.part_class.__new__(body.kind.part_class)
        part._body = body
        advice = "__init__ and on_entering_cell run again in each cell that the entity comes to; write in on_created"
        part._state = ReadOnly(body, body.kind.schema.cell_layout, advice)
        part._is_starting = True
        body.app.run(body, "__init__", part.__init__)  # type: ignore[misc]
        if is_arriving and "on_entering_cell" in body.kind.hooks:
            body.app.run(body, "on_entering_cell", part.on_entering_cell)
        part._is_starting = False
        part._state = body.state
        return part

    def end(self) -> None:
        """The real is here no more: whoever still holds the game's object can read it, and that is all."""
        body = self.body
        body.app.moves.leave(self)
        body.app.interests.end(self)
        body.app.haunts.forget(self)
        body.state.listener = None
        advice = "the entity is no longer in this cell; look it up again with self.entity(id)"
        self.part._state = ReadOnly(body, body.kind.schema.ghost_layout, advice)

    # What game code does.

    def note(self, change: Change) -> None:
        """The listener of the state."""
        kind = self.body.kind
        reach = kind.reach[change.prop]
        if reach.to_ghosts:
            self._add_item(Item(CHANGE, encode_internal(change, change.prop)))
        if reach.to_others or (reach.to_own and self.witness is not None):
            event = kind.tell_change(change)
            if reach.to_others:
                self._events.append(event)
            if reach.to_own and self.witness is not None:
                self.witness.tell_own(event)

    def call_own(self, index: int, args: bytes) -> None:
        """Calls a method of the own client; without one there is nobody to hear it."""
        if self.witness is not None:
            self.witness.tell_own(self.body.kind.tell_call(index, args))

    def call_others(self, index: int, args: bytes) -> None:
        """Calls a method of this entity on every other client that sees it."""
        self._add_item(Item(index, args))
        self._events.append(self.body.kind.tell_call(index, args))

    def set_ride(self, ride: Ride) -> None:
        """It stands on something; on the vehicle 0: on nothing any more (`cell/riding.py`)."""
        data = encode_ride(ride)
        self.body.ride = ride if ride.vehicle else None
        event = self.body.kind.tell_ride(data)
        self._add_item(Item(RIDES, data))
        self._events.append(event)
        if self.witness is not None:
            self.witness.tell_own(event)

    # The step.

    def _add_item(self, item: Item) -> None:
        if not self._items:
            self.body.app.haunts.open[self.body.id] = self
        self._items.append(item)

    @property
    def is_told(self) -> bool:
        """Whether nothing has happened since the last step."""
        return not self._items and self.body.space.area.is_told(self.body.slot)

    def close_step(self) -> UpdateGhost | None:
        """What happened since the last step, under the next number; None when nothing did."""
        if self.is_told:
            return None
        body = self.body
        items, events = tuple(self._items), self._events
        self._items, self._events = [], []
        number = body.space.area.close(body.slot)
        record(body, number, events)
        return UpdateGhost(body.id, body.epoch, number, items, body.position, body.direction)

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
            base=body.app.base_of(body),
            past=body.history.pack(),
            is_snapshot=is_snapshot,
            ride=encode_rides(body),
        )

    # What the base wants.

    def set_witness(self, number: int, is_on: bool) -> None:
        """A client comes or goes. Its first word is what its own body is at this moment."""
        if self.witness is not None and (is_on or self.witness.number <= number):
            self.body.app.moves.leave(self)
            self.witness.end()
            self.witness = None
        if is_on:
            self.mover = FRESH_MOVER._replace(number=self.mover.number)  # a proxy counts on over its clients
            self.witness = Witness.begin(self.body, number)
            self.body.app.moves.enter(self)

    def data(self, *, is_last: bool) -> CellData:
        """The cell part as it is."""
        body = self.body
        return CellData(body.space.name, body.position, body.direction, body.state.encode(), is_last)
