"""What a client's view (`sync.view`) is made of: the entities it knows, what it tells of each message, and what can be
wrong with one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from terrazzo.schema.changes import Applied
from terrazzo.schema.model import EntitySchema, Method
from terrazzo.schema.state import State
from terrazzo.sync.protocol import Position


class Fault(Enum):
    """What can be wrong with a message."""

    MALFORMED = "malformed"  # a body that does not decode
    UNKNOWN_MESSAGE = "unknown message"  # no message has this number
    UNKNOWN_TYPE = "unknown type"  # no entity type of the schema, or one without a client part
    UNKNOWN_ENTITY = "unknown entity"  # neither the own one nor one in the area
    ENTERED_TWICE = "entered twice"
    PLAYER_TWICE = "player twice"  # a second base player, or a cell player for one that has a body
    NO_CELL = "no cell"  # something that takes a body, while there is none
    NOT_FOR_THIS_CLIENT = "not for this client"
    AFTER_THE_END = "after the end"


@dataclass(frozen=True)
class Violation:
    """A message that does not fit the story."""

    fault: Fault
    number: int
    """The message's; -1 for an empty one."""
    entity: int
    """0 where it names none."""
    text: str


@dataclass(eq=False)
class Seen:
    """An entity as the client knows it."""

    id: int
    schema: EntitySchema
    state: State
    position: Position = (0.0, 0.0, 0.0)
    yaw: float = 0.0

    def __repr__(self) -> str:
        return f"<{self.schema.name} {self.id}>"


@dataclass(frozen=True)
class BasePlayer:
    """The own entity is there."""

    entity: Seen


@dataclass(frozen=True)
class CellPlayer:
    """The own entity has a body in a space."""

    entity: Seen
    space: int


@dataclass(frozen=True)
class CellLost:
    """The own entity has no body any more; every other one has left just before."""

    entity: Seen


@dataclass(frozen=True)
class Entered:
    """An entity came into the area."""

    entity: Seen


@dataclass(frozen=True)
class Left:
    """An entity is not in the area any more."""

    entity: Seen


@dataclass(frozen=True)
class Moved:
    """An entity is somewhere else: the own one because the server put it there, another by itself."""

    entity: Seen


@dataclass(frozen=True)
class Changed:
    """A property, or something inside it, has a new value; `applied` says what and what was there before."""

    entity: Seen
    name: str
    applied: Applied


@dataclass(frozen=True)
class Called:
    """The server calls a method of the client part."""

    entity: Seen
    method: Method
    args: list[Any]


@dataclass(frozen=True)
class LoggedOff:
    """The server's last word."""

    reason: int
    text: str


Event = BasePlayer | CellPlayer | CellLost | Entered | Left | Moved | Changed | Called | LoggedOff | Violation
