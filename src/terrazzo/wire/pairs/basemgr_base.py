"""BaseAppMgr ↔ BaseApp: who is there, how full, and what to create (40–49)."""

from __future__ import annotations

from terrazzo.wire.messages import Message, message


@message(40, max_size=1024)
class BaseAppReady(Message, frozen=True):
    """BaseApp → BaseAppMgr, when the link is up: clients reach me here."""

    host: str
    udp_port: int
    ws_port: int


@message(41, max_size=256)
class BaseAppLoad(Message, frozen=True):
    """BaseApp → BaseAppMgr, every second or so."""

    bases: int
    clients: int
    load: float


@message(42)
class CreateProxy(Message, frozen=True):
    """Request, BaseAppMgr → BaseApp: make a proxy of a stored entity and expect its client. Answered by
    ProxyCreated."""

    type_id: int
    dbid: int
    record: bytes


@message(43, max_size=1024)
class ProxyCreated(Message, frozen=True):
    """The proxy is there; the client shows this key, once."""

    entity: int
    key: bytes


@message(44, max_size=256)
class Bootstrap(Message, frozen=True):
    """BaseAppMgr → one BaseApp, once in the life of the cluster, when spaces are ready: run the game's `on_ready`."""
