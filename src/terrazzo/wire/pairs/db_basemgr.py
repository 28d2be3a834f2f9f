"""DBApp → BaseAppMgr: where shall this entity live (30–39). Whether a proxy is there is asked with `Locate`."""

from __future__ import annotations

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import Index, Int32


@message(30)
class PlaceProxy(Message, frozen=True):
    """Request: make a proxy of this stored entity on some BaseApp. Answered by ProxyPlaced."""

    type_id: Index
    dbid: int
    record: bytes
    """The saved properties (`db.record`)."""
    entity: Int32
    """The id of the proxy, given by DBApp: the log-on record has it before the proxy exists."""


@message(31, max_size=4096)
class ProxyPlaced(Message, frozen=True):
    """The proxy is there."""

    entity: Int32
    key: bytes
    host: str
    udp_port: int
    ws_port: int
    index: int
    """Index of the BaseApp, for the log-on record."""


@message(32, max_size=4096)
class ProxyInDoubt(Message, frozen=True):
    """Nobody knows whether a proxy was made: the BaseApp did not answer. The player must not be let in elsewhere
    yet."""

    reason: str
