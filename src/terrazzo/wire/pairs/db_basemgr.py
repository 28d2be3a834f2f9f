"""DBApp ↔ BaseAppMgr: the placement of a proxy, and the loads of the world (30–39). Whether a proxy exists is asked
with `Locate`."""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import CountNumber, IndexNumber, Int32


@message(30)
class PlaceProxy(Message, frozen=True):
    """Request: create a proxy, or any base, of this stored entity on some BaseApp. Answered by ProxyPlaced or
    ProxyInDoubt; refused, or answered by WorldFull, when there is certainly none."""

    type_id: IndexNumber
    dbid: int
    record: bytes
    """The saved properties (`schema/record.py`)."""
    entity: Int32
    """The id of the proxy, given by DBApp: the log-on record has it before the proxy exists."""
    holder: bytes = b""
    """See `LogOn`."""
    is_player: bool = True
    """Whether a client comes; otherwise the game loads the entity."""


@message(31, max_size=4096)
class ProxyPlaced(Message, frozen=True):
    """The proxy exists, and waits for its client."""

    entity: Int32
    key: bytes
    host: str
    udp_port: int
    ws_port: int
    index: int
    """Index of the BaseApp, for the log-on record."""


@message(32, max_size=4096)
class ProxyInDoubt(Message, frozen=True):
    """A proxy may exist: the BaseApp did not answer, or its link was lost. No other may be created for this player
    until that is certain (`db/doubts.py`)."""

    reason: str


@message(34, max_size=256)
class WorldFull(Message, frozen=True):
    """No proxy was made: the cluster has as many players as it may have."""

    players_max: CountNumber


class WorldLoads(NamedTuple):
    """How full the world is, and how busy; a load is smoothed, and None if it is not measured."""

    players: CountNumber
    """The players that are in, or have been given a place."""
    players_max: CountNumber
    base_app: float | None
    """Of the least loaded BaseApp."""
    cell_mean: float | None
    cell_most: float | None


@message(33, max_size=256)
class WorldLoad(Message, frozen=True):
    """BaseAppMgr → DBApp, every second or so."""

    loads: WorldLoads
