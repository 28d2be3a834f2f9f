"""A body: what a CellApp holds of an entity that is in one of its spaces, real or ghost.

There is one body for an entity and app, as long as the entity has a real or a ghost there. That the real comes or goes
changes only `real` and which properties `state` has; place, running number, history and the view that others hold go
on. So whoever watches the entity from this cell notices nothing.

    epoch     the version of the real's mailbox: life << 32 | offloads. Higher is later, over all lives of the entity.
    number    the last step that is in `state`, `position` and `yaw`; begins with life << 32 and grows by one a step
    born      the epoch of the real that wanted this ghost: an older one cannot delete it
    real_app  where the real is, as of `epoch`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.cell.history import History
from terrazzo.cell.kind import EntityKind
from terrazzo.cell.views import view_of
from terrazzo.schema.state import State
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.pairs.base_cell import Position

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp
    from terrazzo.cell.real import Real
    from terrazzo.cell.space import Space


class Body:
    """An entity in a space, on this app."""

    __slots__ = (
        "app", "base", "born", "epoch", "history", "id", "kind", "number", "position", "real", "real_app", "space",
        "state", "view", "yaw",
    )  # fmt: skip

    def __init__(
        self,
        app: CellApp,
        space: Space,
        kind: EntityKind,
        entity: int,
        *,
        base: AppId,
        real_app: AppId,
        epoch: int,
        number: int,
        position: Position,
        yaw: float,
        state: State,
    ) -> None:
        self.app = app
        self.space = space
        self.kind = kind
        self.id = EntityId(entity)
        self.base = base
        self.real_app = real_app
        self.epoch = self.born = epoch
        self.number = number
        self.position = position
        self.yaw = yaw
        self.state = state
        self.history = History(number)
        self.real: Real | None = None
        self.view = view_of(self)

    @property
    def part(self) -> PartId:
        """The cell part."""
        return PartId(self.id, Part.CELL)

    @property
    def base_part(self) -> PartId:
        """The base part."""
        return PartId(self.id, Part.BASE)

    @property
    def label(self) -> str:
        """For reports: which entity, where."""
        return f"{self.kind.name} {self.id} in {self.space.name or self.space.id}"

    def follow(self, app: AppId, epoch: int) -> None:
        """The real is at `app` since `epoch`; the highest epoch is believed."""
        if epoch > self.epoch:
            self.epoch, self.real_app = epoch, app

    def keep_ghosted(self) -> None:
        """From the state of a real to that of a ghost: private properties are dropped."""
        layout = self.kind.schema.ghost_layout
        self.state.release()
        self.state = State(layout, None, self.state.values()[: len(layout)])
