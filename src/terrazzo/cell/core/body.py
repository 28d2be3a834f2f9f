"""A body: the cell part of an entity on this CellApp, real or ghost.

Its place and its numbers are in the arrays of its space (`_speed/area`), where compiled code works on thousands of
bodies at once; the body has its slot there. Everything else is Python.

    number     the number of the last step of the entity that is in this copy
    epoch      the home of the real that this copy follows; `real_app` is that home
    born       the epoch of the creation that this copy begins with: an older message cannot undo it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from terrazzo.cell.core.history import EntityEvent, History
from terrazzo.cell.core.hooks import Hooks
from terrazzo.cell.core.kind import EntityKind
from terrazzo.cell.core.readonly import ReadOnly
from terrazzo.schema.state import State
from terrazzo.sync.riding import Ride, decode_ride, encode_ride
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.pairs.base_cell import Direction, Position
from terrazzo.wire.pairs.cell_cell import Past

if TYPE_CHECKING:
    from terrazzo.cell.core.core import Core
    from terrazzo.cell.core.real import Real
    from terrazzo.cell.core.space import CellSpace


class Body:
    """An entity in a space, on this app."""

    __slots__ = (
        "_last", "_real_app", "base", "base_part", "born", "core", "history", "id", "kind", "part", "real", "ride",
        "slot", "space", "state", "view",
    )  # fmt: skip

    def __init__(
        self,
        core: Core,
        space: CellSpace,
        kind: EntityKind,
        entity: int,
        *,
        base: AppId,
        real_app: AppId,
        epoch: int,
        number: int,
        position: Position,
        direction: Direction,
        state: State,
    ) -> None:
        self.core = core
        self.space = space
        self.kind = kind
        self.id = EntityId(entity)
        self.part = PartId(self.id, Part.CELL)
        self.base_part = PartId(self.id, Part.BASE)
        self.base = base
        self.born = epoch
        self.state = state
        self.history = History(number)
        self.real: Real | None = None
        self.ride: Ride | None = None
        """What it stands on (`cell/motion/riding.py`); once it is in its space, `CellSpace.seat` sets it."""
        self._last: tuple[Position, Direction, int, int] | None = None
        self.slot = space.area.add(entity, position, direction, kind.schema.appeal_radius, number, epoch)
        self.real_app = real_app
        self.view: Hooks = self._new_view()

    def _new_view(self) -> Hooks:
        """What the code of other entities gets of this one (`cell/api/views.py`)."""
        view = self.kind.view_class.__new__(self.kind.view_class)
        view._body = self
        advice = "it is another entity's; call one of its methods, which runs where the entity is"
        view._state = ReadOnly(self, self.kind.schema.ghost_layout, advice)
        return view

    def freeze(self) -> None:
        """Its slot is given back; code that still holds the body sees the last values."""
        self._last = (self.position, self.direction, self.number, self.epoch)

    @property
    def position(self) -> Position:
        """Where it is."""
        return self.space.area.position(self.slot) if self._last is None else self._last[0]

    @property
    def direction(self) -> Direction:
        """Yaw, pitch and roll."""
        return self.space.area.direction(self.slot) if self._last is None else self._last[1]

    @property
    def number(self) -> int:
        """See the module."""
        return self.space.area.number(self.slot) if self._last is None else self._last[2]

    @number.setter
    def number(self, number: int) -> None:
        self.space.area.set_number(self.slot, number)

    @property
    def epoch(self) -> int:
        """See the module."""
        return self.space.area.epoch(self.slot) if self._last is None else self._last[3]

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.space.area.set_epoch(self.slot, epoch)

    @property
    def real_app(self) -> AppId:
        """The CellApp that has the real, as far as it is known here."""
        return self._real_app

    @real_app.setter
    def real_app(self, app: AppId) -> None:
        self._real_app = app
        self.space.area.set_owner(self.slot, self.core.number_of(app))

    @property
    def label(self) -> str:
        """For reports: which entity, where."""
        return f"{self.kind.name} {self.id} in {self.space.name or self.space.id}"

    def follow(self, app: AppId, epoch: int) -> None:
        """The real is at `app` since `epoch`; the highest epoch counts."""
        if epoch > self.epoch:
            self.epoch, self.real_app = epoch, app

    def keep_ghosted(self) -> None:
        """From the state of a real to that of a ghost: what is private is dropped."""
        layout = self.kind.schema.ghost_layout
        self.state.release()
        self.state = State(layout, None, layout.shares_of(self.state.values()[: len(layout)]))

    # Its history.

    def record(self, number: int, events: Sequence[EntityEvent]) -> None:
        """Stores the events of the step of this number, for other clients. Real and ghost alike."""
        if events:
            before = max(self.history.newest, self.space.area.news(self.slot))
            self.history.add(number, events)
            self.space.area.set_news(self.slot, number)
            manners = None if all(each.manner.is_plain for each in events) else [each.manner for each in events]
            messages, rows = [each.message for each in events], [each.row for each in events]
            self.space.headlines.set(self.slot, self.id, before, number, messages, manners, rows)

    def adopt(self, past: Past) -> None:
        """This body is made, or made anew, from what another app sent: what was before. `number` is still the old one:
        what is stored here of the time before is kept where it reaches further back."""
        history = self.history
        if history.floor < past.floor <= self.number:
            history.go_on(self.number, past, self.kind.event)
        else:
            self.history = history = History.unpack(past, self.kind.event)
        self.space.area.set_news(self.slot, history.news)


def pack_ride(body: Body) -> bytes:
    """The ride of a body, if it has one, for another copy of the entity."""
    return b"" if body.ride is None else encode_ride(body.ride)


def unpack_ride(data: bytes) -> Ride | None:
    """The same, back."""
    ride = decode_ride(data) if data else None
    return ride if ride is not None and ride.vehicle else None
