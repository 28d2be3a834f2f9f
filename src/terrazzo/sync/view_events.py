"""What a client's view (`sync.view`) is made of: the entities in it, the events that a message causes, and what can be
wrong with a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from terrazzo._speed.view import ASKED, SPECIAL, PlaceTable
from terrazzo.schema.changes import Applied
from terrazzo.schema.model import EntitySchema, Method
from terrazzo.schema.state import State
from terrazzo.sync.protocol import OWN, Direction, Position
from terrazzo.sync.riding import Ride
from terrazzo.wire.sentences import Sentence


class Fault(Sentence):
    """What can be wrong with a message."""

    MALFORMED = "malformed", "A message does not decode."
    UNKNOWN_MESSAGE = "unknown message", "No message has this number."
    UNKNOWN_TYPE = "unknown type", "The entity type is not in the schema, or has no client part."
    UNKNOWN_ENTITY = "unknown entity", "The entity is neither the own one nor in the area."
    ALIAS_TAKEN = "alias taken", "An entity was announced by the alias of another, or by one that was not released yet."
    ENTERED_TWICE = "entered twice", "An entity was announced or described a second time."
    NOT_DESCRIBED = "not described", "An entity was changed or called before it was described."
    PLAYER_TWICE = "player twice", "There is a second base player, or a cell player for one that has a body."
    NO_CELL = "no cell", "The message needs a body of the player, and there is none."
    NOT_FOR_THIS_CLIENT = "not for this client", "The property or method is not for this client."
    AFTER_THE_END = "after the end", "A message came after the last one."


@dataclass(frozen=True)
class Violation:
    """A message that does not fit those before it."""

    fault: Fault
    number: int
    """The message's; -1 for an empty one."""
    entity: int
    """0 where it names none."""
    text: str


class MessageRefused(Exception):
    """A message that is a violation; never leaves the view."""

    def __init__(self, fault: Fault, text: str, entity: int = 0) -> None:
        self.fault, self.text, self.entity = fault, text, entity


class Seen:
    """An entity as the client has it.

    While an entity is in the area its place and turn are in the `PlaceTable` of the view, in the row of its alias:
    PLACES messages change them there without this object. The own entity, and one that has left, has them itself.
    """

    __slots__ = ("_direction", "_position", "_table", "_turn", "alias", "id", "number", "ride", "schema", "state")

    def __init__(
        self,
        id: int,
        schema: EntitySchema,
        state: State,
        position: Position = (0.0, 0.0, 0.0),
        direction: Direction = (0.0, 0.0, 0.0),
        alias: int = OWN,
        number: int = 0,
        turn: int = 0,
    ) -> None:
        self.id = id
        self.schema = schema
        self.state = state
        self.alias = alias
        self.number = number
        """Of its description: what this client sends when it wants an entity that it remembers."""
        self.ride: Ride | None = None
        """What it stands on (`sync.riding`)."""
        self._position = position
        self._direction = direction
        self._turn = turn
        self._table: PlaceTable | None = None

    def enter(self, table: PlaceTable, *, are_moves_asked: bool) -> None:
        """Its place is in the table from now on."""
        table.add(self.alias, self._position, self._direction, self._turn, ASKED if are_moves_asked else 0)
        self._table = table

    def leave(self) -> None:
        """It keeps its last place itself."""
        if self._table is not None:
            self._position, self._direction, self._turn = self.position, self.direction, self.turn
            self._table.remove(self.alias)
            self._table = None

    def set_special(self, is_special: bool) -> None:
        """Whether a place that comes for it may change others, or count for nothing: it rides, or carries riders."""
        if self._table is not None:
            self._table.set_flag(self.alias, SPECIAL, is_special)

    @property
    def position(self) -> Position:
        """Where it is."""
        return self._position if self._table is None else self._table.position(self.alias)

    @property
    def direction(self) -> Direction:
        """Yaw, pitch and roll."""
        return self._direction if self._table is None else self._table.direction(self.alias)

    def put(self, position: Position, direction: Direction) -> None:
        """It is here."""
        if self._table is None:
            self._position, self._direction = position, direction
        else:
            self._table.put(self.alias, position, direction)

    @property
    def turn(self) -> int:
        """In which its alias became its own, it rode no longer, or it was renewed (`sync.turns`)."""
        return self._turn if self._table is None else self._table.turn(self.alias)

    @turn.setter
    def turn(self, turn: int) -> None:
        if self._table is None:
            self._turn = turn
        else:
            self._table.set_turn(self.alias, turn)

    @property
    def yaw(self) -> float:
        """Which way it looks."""
        return self.direction[0]

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
class PlayerLeft:
    """The own entity is gone, since the client has another session. All other entities have left just before."""

    entity: Seen


@dataclass(frozen=True)
class SpaceChanged:
    """The body of the own entity is in another space; every other one has left just before."""

    entity: Seen
    space: int


@dataclass(frozen=True)
class SpaceDataChanged:
    """Items of the data of the space have these values; all of them, when the own entity has come there."""

    entity: Seen
    changed: dict[str, Any]


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
    """A property, or something inside it, has a new value; `applied` has its place and the value before."""

    entity: Seen
    name: str
    applied: Applied


@dataclass(frozen=True)
class MethodCalled:
    """The server calls a method of the client part."""

    entity: Seen
    method: Method
    args: list[Any]


@dataclass(frozen=True)
class ViewEnded:
    """The server has ended the session, with a reason."""

    reason: int
    text: str


ViewEvent = (
    BasePlayer
    | CellPlayer
    | CellLost
    | PlayerLeft
    | SpaceChanged
    | SpaceDataChanged
    | Entered
    | Left
    | Moved
    | Changed
    | MethodCalled
    | ViewEnded
    | Violation
)


def check_audience(schema: EntitySchema, index: int, *, is_own: bool, entity: int) -> None:
    """Raises if the client got a property that is not for it."""
    prop = schema.client_layout.properties[index]
    audience = prop.flags.value
    if not (audience.own_client if is_own else audience.other_clients):
        client = "its own client" if is_own else "another client"
        text = f"{schema.name}.{prop.name} of entity {entity} came to {client}, which may not see it"
        raise MessageRefused(Fault.NOT_FOR_THIS_CLIENT, text, entity)
