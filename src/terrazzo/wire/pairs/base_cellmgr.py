"""BaseApp ↔ CellAppMgr: the CellApp at which an entity enters a space; BaseAppMgr gets the loads (60–69)."""

from __future__ import annotations

from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import IndexNumber


@message(60, max_size=1024)
class FindEntry(Message, frozen=True):
    """Request: which CellApp covers this point of this space. Answered by Entry."""

    space: str
    x: float
    z: float


@message(61, max_size=1024)
class Entry(Message, frozen=True):
    """The CellApp that covers the point."""

    space: IndexNumber
    app: AppId


@message(62, max_size=256)
class SpacesReady(Message, frozen=True):
    """CellAppMgr → BaseAppMgr and BaseApps: every space of the game has its cells."""

    count: int


@message(63, max_size=256)
class CellAppLoads(Message, frozen=True):
    """CellAppMgr → BaseAppMgr, every second or so: the smoothed loads of the CellApps with a cell."""

    mean: float | None
    """None: no CellApp has measured its load yet."""
    most: float | None
