"""BaseAppMgr ↔ BaseApp: the BaseApps and their loads, proxies to create, and the places of entities (40–49).

CellApps, too, ask BaseAppMgr where an entity is (Locate).
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import CountNumber, IndexNumber, Int32


@message(40, max_size=1024)
class BaseAppReady(Message, frozen=True):
    """BaseApp → BaseAppMgr, when the link is up: the address for clients."""

    host: str
    udp_port: int
    ws_port: int


@message(41, max_size=256)
class BaseAppLoad(Message, frozen=True):
    """BaseApp → BaseAppMgr, every second or so."""

    bases: int
    clients: int
    load: float | None
    """The measured share of a core; None: not measured yet."""


@message(42)
class CreateProxy(Message, frozen=True):
    """Request, BaseAppMgr → BaseApp: make a proxy of a stored entity and expect its client, or just make its base.
    Answered by ProxyCreated."""

    type_id: IndexNumber
    dbid: int
    record: bytes
    entity: Int32
    """The id of the proxy."""
    holder: bytes = b""
    """See `LogOn`."""
    is_player: bool = True
    """Whether a client comes; otherwise the game loads the entity."""


@message(43, max_size=1024)
class ProxyCreated(Message, frozen=True):
    """The proxy exists; its client shows this key, once."""

    entity: Int32
    key: bytes


@message(47, max_size=256)
class FindBaseApp(Message, frozen=True):
    """Request, BaseApp or CellApp → BaseAppMgr: a BaseApp for a new entity. Answered by BaseAppFound."""


@message(48, max_size=256)
class BaseAppFound(Message, frozen=True):
    """The least loaded BaseApp."""

    app: AppId


@message(44, max_size=256)
class Bootstrap(Message, frozen=True):
    """BaseAppMgr → one BaseApp, once in the life of the cluster, when spaces are ready: run the game's `on_ready`."""


class Home(NamedTuple):
    """Where a part of an entity lives, and since which version."""

    version: CountNumber
    app: AppId


@message(45, max_size=256)
class Locate(Message, frozen=True):
    """Request, BaseApp, CellApp or DBApp → BaseAppMgr, and BaseAppMgr → each BaseApp: the homes of the parts of this
    entity.

    Answered by Located; refused when the answer is not certain now.
    """

    entity: Int32


@message(46, max_size=1024)
class Located(Message, frozen=True):
    """The homes. `base` is None: from a BaseApp, its base is not here; from BaseAppMgr, no BaseApp has it."""

    base: Home | None = None
    """None: there is no such entity (here)."""
    cell: Home | None = None
    """None: it has no cell part, or that is unsettled."""
    is_unsettled: bool = False
    """Its cell part is being made, or its place is not known: the question must be asked again."""
    has_ended: bool = False
    """From a CellApp: an entity without a base part has ended there, so it is nowhere else."""
