"""BaseApp ↔ DBApp: saving, leaving, and numbers for new entities (50–59)."""

from __future__ import annotations

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import Index, Int32


@message(50)
class Save(Message, frozen=True):
    """Request: keep these saved properties. Answered by Saved when they are safe. dbid 0: a new entity, or one that has
    not heard under which it was saved: what was saved for it before, by its id, is replaced."""

    type_id: Index
    dbid: int
    record: bytes
    entity: Int32


@message(51, max_size=256)
class Saved(Message, frozen=True):
    """What was to be saved is safe."""

    dbid: int


@message(52, max_size=256)
class LoggedOff(Message, frozen=True):
    """The proxy of this stored entity is gone, and everything of it was saved before: it may log on again."""

    type_id: Index
    dbid: int
    entity: Int32


@message(53, max_size=256)
class WantIds(Message, frozen=True):
    """Request: a run of entity ids that nobody else has or had. Answered by Ids."""

    count: int


@message(54, max_size=256)
class Ids(Message, frozen=True):
    """Ids `first` … `first + count - 1`."""

    first: int
    count: int
