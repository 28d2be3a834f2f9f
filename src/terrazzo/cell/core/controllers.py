"""The controllers of one real: acts that go on for many ticks without code of the game, and travel with the real.

A controller has a category, and a real has at most one controller of each: a second one replaces the first, and no hook
is called for the one that was replaced. The controllers themselves are in `cell/motion/controllers.py`.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from terrazzo.wire.pairs.cell_cell import PackedController

if TYPE_CHECKING:
    from terrazzo.cell.core.agenda import Agenda


class Category(IntEnum):
    """What a controller lays hold of: only one can at a time."""

    MOVEMENT = 1
    TURNING = 2


class Outcome(Enum):
    """What a step came to."""

    GOES_ON = 0
    REACHED = 1
    """It is where it wanted to be; one that follows goes on."""
    DONE = 2
    LOST = 3


class Controller(Protocol):
    """One act of a real."""

    number: int
    kind: ClassVar[int]
    category: ClassVar[Category]

    def step(self, real: Any, seconds: float, /) -> Outcome:
        """So many seconds of it, for the real that it belongs to."""

    def pack(self) -> bytes:
        """At rest."""


class Controllers:
    """The controllers of one real, by category."""

    __slots__ = ("_agenda", "_entity", "running")

    def __init__(self, agenda: Agenda | None = None, entity: int = 0) -> None:
        """The agenda has whether the entity is to be looked at."""
        self._agenda = agenda
        self._entity = entity
        self.running: dict[Category, Controller] = {}

    def start(self, controller: Controller) -> None:
        """Begins; what had the category ends."""
        self.running[controller.category] = controller
        if self._agenda is not None:
            self._agenda.running.add(self._entity)

    def has(self, category: Category) -> bool:
        """Whether one of this category runs."""
        return category in self.running

    def is_running(self, controller: Controller) -> bool:
        """Whether this very one still runs."""
        return self.running.get(controller.category) is controller

    def cancel(self, what: int | Category) -> bool:
        """Ends the one of a number, or of a category; False when there is none."""
        for category, controller in self.running.items():
            if what is category or (not isinstance(what, Category) and controller.number == what):
                del self.running[category]
                return True
        return False

    def pack(self) -> tuple[PackedController, ...]:
        """All of them at rest."""
        return tuple(PackedController(each.number, each.kind, each.pack()) for each in self.running.values())
