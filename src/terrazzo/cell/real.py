"""A real: the one body of an entity whose word counts, and what only it has.

Game code changes the entity; what it does collects in the step of the tick, and once a tick the step is closed:

    self.hp = 5           state's listener ─▶ note() ─▶ item for ghosts, message for other clients, message for the own
    self.others.wave()                        call_others() ─▶ item for ghosts, message for other clients
    self.client.look()                        call_own() ─▶ message for the own client
    self.position = …                         the place, which rides along

    close_step():  number + 1, items and place → UpdateGhost to each haunt, messages → history → witnesses

Private properties are in no step: ghosts do not have them, and the own client is told at once. Between two closings of
steps no ghost is made and no real leaves, so `state` and `number` always fit each other where they are packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo._speed.values import Change
from terrazzo.cell.history import Told, encode_call_item
from terrazzo.cell.moves import Mover
from terrazzo.cell.timers import Timers
from terrazzo.cell.views import ReadOnly
from terrazzo.cell.witness import Witness
from terrazzo.schema.changes import encode_internal
from terrazzo.sync.protocol import encode_cell_player
from terrazzo.wire.ids import MOVES_BITS, AppId
from terrazzo.wire.pairs.base_cell import CellData
from terrazzo.wire.pairs.cell_cell import CreateGhost, UpdateGhost

if TYPE_CHECKING:
    from terrazzo.cell.api import Cell
    from terrazzo.cell.body import Body


class Real:
    """What a body has as long as it is the real one."""

    __slots__ = (
        "_items", "_place", "_told", "arrived_at", "body", "caller", "dbid", "haunts", "haunts_version", "is_doomed",
        "mover", "part", "timers", "tree_version", "witness",
    )  # fmt: skip

    def __init__(self, body: Body, dbid: int, now: float) -> None:
        self.body = body
        self.dbid = dbid
        self.haunts: dict[AppId, float] = {}
        """Where it has ghosts, and since when."""
        self.timers = Timers(body.epoch & (1 << MOVES_BITS) - 1)
        self.mover = Mover(now)
        self.witness: Witness | None = None
        self.is_doomed = False
        self.caller = 0
        """Whose client called, while a call of a client runs."""
        self.arrived_at: float | None = None
        self.tree_version = body.space.version
        """The tree with which it came."""
        self.haunts_version = -1
        """The tree by which its haunts were last looked at."""
        self.part: Cell = self._new_part()
        self._items: list[bytes] = []
        self._told: list[Told] = []
        self._place = (body.position, body.yaw)
        body.state.listener = self.note

    def _new_part(self) -> Cell:
        """The game's object. `__init__` runs in each home of the entity, so it may read properties but not write."""
        body = self.body
        part = body.kind.part_class.__new__(body.kind.part_class)
        part._body = body
        advice = "__init__ runs again in each cell that the entity comes to; write properties in on_created"
        part._state = ReadOnly(body, len(body.kind.reach), advice)
        part._is_starting = True
        body.app.run(body, "__init__", part.__init__)  # type: ignore[misc]
        part._is_starting = False
        part._state = body.state
        return part

    def end(self) -> None:
        """The real is here no more: whoever still holds the game's object can read it, and that is all."""
        body = self.body
        body.state.listener = None
        advice = "the entity is no longer in this cell; look it up again with self.entity(id)"
        self.part._state = ReadOnly(body, body.kind.schema.ghosted_count, advice)

    # What game code does.

    def note(self, change: Change) -> None:
        """The listener of the state."""
        body = self.body
        reach = body.kind.reach[change.prop]
        if reach.to_ghosts:
            self._items.append(encode_internal(change, change.prop))
        if reach.to_others or (reach.to_own and self.witness is not None):
            message = body.kind.change_message(body.id, change)
            if reach.to_others:
                self._told.append(Told(change.prop, message))
            if reach.to_own and self.witness is not None:
                self.witness.pending.append(message)

    def call_own(self, index: int, args: bytes) -> None:
        """Calls a method of the own client; without one there is nobody to hear it."""
        if self.witness is not None:
            self.witness.pending.append(self.body.kind.call_message(self.body.id, index, args))

    def call_others(self, index: int, args: bytes) -> None:
        """Calls a method of this entity on every other client that sees it."""
        self._items.append(encode_call_item(index, args))
        self._told.append(Told(-1, self.body.kind.call_message(self.body.id, index, args)))

    # The step.

    @property
    def is_told(self) -> bool:
        """Whether nothing has happened since the last step."""
        return not self._items and (self.body.position, self.body.yaw) == self._place

    def close_step(self) -> UpdateGhost | None:
        """What happened since the last step, under the next number; None when nothing did."""
        body = self.body
        if self.is_told:
            return None
        items, told = tuple(self._items), self._told
        self._items, self._told, self._place = [], [], (body.position, body.yaw)
        body.number += 1
        body.history.add(body.number, told)
        return UpdateGhost(body.id, body.epoch, body.number, items, body.position, body.yaw)

    def ghost(self) -> CreateGhost:
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
            yaw=body.yaw,
            properties=layout.row.encode(body.state.values()[: len(layout)]),
            base=body.base,
        )

    def past(self) -> UpdateGhost:
        """What a new ghost should know besides, after `ghost`."""
        body = self.body
        return UpdateGhost(body.id, body.epoch, body.number, (body.history.encode_item(),), body.position, body.yaw)

    # What the base wants.

    def set_witness(self, number: int, is_on: bool) -> None:
        """A client comes or goes. Its first word is what its own body is at this moment."""
        if not is_on:
            if self.witness is not None and self.witness.number <= number:
                self.witness = None
            return
        body = self.body
        self.witness = Witness(body, number)
        row = body.kind.player_row(body.state)
        schema = body.kind.schema
        self.witness.pending.append(encode_cell_player(schema, body.space.id, body.position, body.yaw, row))

    def data(self, *, is_last: bool) -> CellData:
        """The cell part as it is."""
        body = self.body
        return CellData(body.space.name, body.position, body.yaw, body.state.encode(), is_last)
