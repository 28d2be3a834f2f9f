"""Stored entities that a game loads, deletes and finds: BaseApps and CellApps ask the BaseAppMgr, which passes it on to
the DBApp (170–179). `db/loads.py` has the rules.

A refusal is temporary: the same question may be answered a moment later, and may be asked again.
"""

from __future__ import annotations

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import IndexNumber, Int32


@message(170, max_size=256)
class LoadStored(Message, frozen=True):
    """Request: the base of this stored entity, which is made if there is none. Answered by StoredLoaded or
    StoredRefused."""

    type_id: IndexNumber
    dbid: int


@message(171, max_size=256)
class StoredLoaded(Message, frozen=True):
    """The base exists."""

    entity: Int32


@message(172, max_size=256)
class DeleteStored(Message, frozen=True):
    """Request: delete this entity from the database. Answered by StoredDeleted or StoredRefused."""

    type_id: IndexNumber
    dbid: int


@message(173, max_size=256)
class StoredDeleted(Message, frozen=True):
    """No such entity is stored (any more), and that is durable."""


@message(174, max_size=1024)
class StoredRefused(Message, frozen=True):
    """It is not done, and asking again would not change that."""

    why: str


@message(175, max_size=256)
class AskAlive(Message, frozen=True):
    """Request, DBApp → BaseApp: whether the base of a stored entity is there. Answered by Alive."""

    entity: Int32


@message(176, max_size=256)
class Alive(Message, frozen=True):
    """Whether the base is there, and does not end."""

    is_alive: bool
