"""What the core and the code of a game use of the rooms above the core, as Protocols: the core imports none of them.

WitnessLike, TriggerLike       what a real holds of its client and of its triggers (`cell/client`)
Moving, Teleporting, …         what the API of the game asks for (`cell/api`); `CellServices` has one of each
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import EntityEvent
from terrazzo.cell.core.real import Real
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.state import State
from terrazzo.wire.pairs.base_cell import ClientWants, Direction, Position
from terrazzo.wire.pairs.cell_cell import PackedProximity, PackedWitness


class SentLike(Protocol):
    """What the client of a real was sent and is to be sent (`cell/client/sent.py`)."""

    def add_own_event(self, event: EntityEvent) -> None: ...
    def add_own_message(self, subject: int, message: bytes) -> None: ...
    def has_described(self, entity: int) -> bool: ...
    def release(self, alias: int) -> None: ...
    def want(self, entity: int, remembered: int) -> None: ...


class WitnessLike(Protocol):
    """The client of a real (`cell/client/witness.py`)."""

    number: int
    radius: float
    hysteresis: float

    @property
    def sent(self) -> SentLike: ...
    def pack(self) -> PackedWitness: ...
    def jump(self, space_before: int, near: Collection[int] = ...) -> None: ...
    def near(self, position: Position) -> tuple[int, ...]: ...
    def take_leave(self, position: Position | None) -> None: ...
    def absent(self) -> list[int]: ...
    def on_wants(self, message: ClientWants) -> None: ...
    def set_radius(self, radius: float, hysteresis: float) -> None: ...
    def entities(self) -> list[int]: ...
    def add_manual(self, entity: int) -> None: ...
    def remove_manual(self, entity: int) -> None: ...
    def withhold(self, entity: int, is_withheld: bool) -> None: ...
    def is_withheld(self, entity: int) -> bool: ...


class TriggerLike(Protocol):
    """A proximity trigger of a real (`cell/client/interests.py`)."""

    number: int
    radius: float
    interest: int

    def absent(self) -> list[int]: ...
    def take_leave(self, position: Position | None) -> None: ...
    def pack(self) -> PackedProximity: ...


class Moving(Protocol):
    """Moves reals on behalf of the server (`cell/client/moves.py`)."""

    def put(self, real: Real, position: Position, direction: Direction) -> None: ...


class Teleporting(Protocol):
    """Teleports reals (`cell/migration/teleport.py`)."""

    def to_space(self, real: Real, space: str, position: Position, direction: Direction | None) -> None: ...
    def to_entity(self, real: Real, target: int, offset: Position, direction: Direction | None) -> None: ...


class Spawning(Protocol):
    """Makes entities without a base part (`cell/mail/births.py`)."""

    def spawn(
        self, real: Real, schema: EntitySchema, state: State, position: Position, direction: Direction
    ) -> int: ...


class Boarding(Protocol):
    """Puts reals on vehicles (`cell/motion/riding.py`)."""

    def board(self, real: Real, vehicle: Body, position: Position | None, direction: Direction | None) -> None: ...
    def alight(self, real: Real) -> None: ...


class Triggers(Protocol):
    """Adds and ends proximity triggers (`cell/client/interests.py`)."""

    def add_proximity(self, real: Real, radius: float, number: int) -> None: ...
    def cancel(self, real: Real, number: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class CellServices:
    """What the code of a game can ask for, beside what the core does itself."""

    teleports: Teleporting
    riding: Boarding
    triggers: Triggers
    births: Spawning
