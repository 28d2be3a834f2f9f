"""What the objects of a BaseApp share. Each gets one of these in its constructor, and never the app itself.

Services           to ask another app, and to try again later      ids, log-offs, take-overs, saves
EntityServices     also the entity channel and calls of methods    bases and their cell parts
ClientServices     what a proxy needs besides for its client       proxies
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from terrazzo.base.alarms import Alarms
from terrazzo.base.client_batch import ClientBatch
from terrazzo.base.client_row import ClientRow
from terrazzo.base.counts import Counts
from terrazzo.base.keys import KeyRing
from terrazzo.base.making import Making
from terrazzo.base.names import BaseNames
from terrazzo.base.saveslots import SaveSlots
from terrazzo.base.standstill import Standstill
from terrazzo.base.tokens import SessionTokens
from terrazzo.cluster.app import Host
from terrazzo.game import LoadedGame
from terrazzo.sync.awaiting import Awaiting
from terrazzo.sync.calls import Callees
from terrazzo.sync.lookup import Lookup
from terrazzo.sync.protocol import MethodTable
from terrazzo.sync.spaces import SpaceAsker
from terrazzo.sync.stored import StoredEntities
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, AppKind, EntityId
from terrazzo.wire.messages import Refusals
from terrazzo.wire.requests import Requests

SessionKey = tuple[int, int]
"""The number of an endpoint, and the number of a session at this endpoint."""


class ClientPorts(NamedTuple):
    """The address of a BaseApp for clients."""

    host: str
    udp_port: int
    ws_port: int


@dataclass(frozen=True)
class BaseServices:
    """What an object needs that asks other apps."""

    host: Host
    requests: Requests
    alarms: Alarms
    peers: Mapping[AppKind, AppId]
    """The two managers and the DBApp, as far as they are linked."""


@dataclass(frozen=True)
class EntityServices(BaseServices):
    """What a base needs."""

    switchboard: Switchboard
    game: LoadedGame
    awaiting: Awaiting
    making: Making
    names: BaseNames
    lookup: Lookup
    spaces: SpaceAsker
    stored: StoredEntities
    callees: Callees
    counts: Counts
    saves: SaveSlots
    refusals: Refusals
    """Mail that was refused, by sender."""


@dataclass(frozen=True)
class ClientServices:
    """What a proxy needs for its client."""

    keys: KeyRing
    tokens: SessionTokens
    counts: Counts
    methods: MethodTable
    batch: ClientBatch
    rows: dict[EntityId, ClientRow]
    """The client table."""
    standstill: Standstill
    forget_session: Callable[[SessionKey], None]
