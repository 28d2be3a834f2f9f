"""BaseApp ↔ DBApp: saves, log-offs, second logins, and ids for new entities (50–59)."""

from __future__ import annotations

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import IndexNumber, Int32


@message(50)
class Save(Message, frozen=True):
    """Request: store these saved properties. Answered by Saved when they are on disk. dbid 0: a new entity, or one
    without the answer to its first save: what was saved for it before, by its entity id, is replaced."""

    type_id: IndexNumber
    dbid: int
    record: bytes
    entity: Int32


@message(51, max_size=256)
class Saved(Message, frozen=True):
    """The record is on disk."""

    dbid: int


@message(52, max_size=256)
class LoggedOff(Message, frozen=True):
    """Request: the base of this stored entity is gone, and everything of it was saved before: it may log on again, or
    be loaded. Answered by LogOffRecorded when the log-on record is cleared for good; the BaseApp repeats it until then.
    """

    type_id: IndexNumber
    dbid: int
    entity: Int32
    is_deleted: bool = False
    """The entity is to be deleted from the database."""


@message(53, max_size=256)
class WantIds(Message, frozen=True):
    """Request: a run of entity ids that were never given before. Answered by Ids."""

    count: int


@message(54, max_size=256)
class Ids(Message, frozen=True):
    """Ids `first` … `first + count - 1`."""

    first: int
    count: int


@message(55, max_size=256)
class LogOffRecorded(Message, frozen=True):
    """The log-on record of that proxy is cleared, or was before."""


@message(56, max_size=1024)
class TakeOver(Message, frozen=True):
    """Request, DBApp → BaseApp: the player of this proxy has logged in again, with the right password. Answered by
    ProxyTaken or TakenOver, when the game has decided."""

    entity: Int32
    address: str
    """The address of the new client."""
    holder: bytes = b""
    """See `LogOn`."""


@message(57, max_size=256)
class TakenOver(Message, frozen=True):
    """The new client does not get the proxy: the present client stays, or the proxy is going, or gone; then its
    LoggedOff follows."""

    is_going: bool


@message(58, max_size=1024)
class ProxyTaken(Message, frozen=True):
    """The new client gets the proxy: it presents this key, once, at this address."""

    key: bytes
    host: str
    udp_port: int
    ws_port: int
