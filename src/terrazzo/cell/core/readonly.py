"""The state of a body for code that may only read it: views of other entities, and parts of entities that have left.

`ReadOnly` reads from the present state of the body. Lists and records come out as copies that refuse to be changed, so
that no code seems to have changed another entity.
"""

from __future__ import annotations

from typing import Any, Protocol

from terrazzo._speed.values import Change, Slots
from terrazzo.cell.core.kind import EntityKind
from terrazzo.errors import CopyRefused, UsageError
from terrazzo.schema.layout import Layout
from terrazzo.schema.shares import share_of_value
from terrazzo.schema.state import State


class HasState(Protocol):
    """A body, as far as its state is concerned."""

    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> EntityKind: ...
    @property
    def state(self) -> State: ...


class ReadOnly(State):
    """The state of a body for code that may not change it, and may read as much of it as is in `shown`."""

    __slots__ = ("_advice", "_body", "_shown")

    def __init__(self, body: HasState, shown: Layout, advice: str) -> None:
        self.layout = body.kind.schema.cell_layout
        self._body = body
        self._shown = shown
        self._advice = advice

    def get(self, place: int) -> Any:
        """The value at a place; what could be changed inside is a copy."""
        if place >= len(self._shown):
            raise UsageError(
                f"{self._name(place)} is private: only the entity's own code has it; make it public, or call a method"
            )
        value = self._body.state.get(place)
        codec = self._shown.codecs[place]
        if codec is not self.layout.codecs[place]:
            copy = share_of_value(value, codec)
        elif codec.holds:
            copy = codec.copy(value)
        else:
            return value
        Slots(self.layout.label, (self.layout.names[place],), (codec,), [copy], self._refuse_inside)
        return copy

    def set(self, place: int, value: Any) -> None:
        """Refused."""
        raise CopyRefused(f"{self._name(place)} cannot be changed here: {self._advice}")

    def __getitem__(self, name: str) -> Any:
        return self.get(self._place(name))

    def __setitem__(self, name: str, value: Any) -> None:
        self.set(self._place(name), value)

    def values(self) -> list[Any]:
        """The values that can be read."""
        return [self.get(place) for place in range(len(self._shown))]

    def _name(self, place: int) -> str:
        return f"{self.layout.label}.{self.layout.names[place]}"

    def _refuse_inside(self, change: Change) -> None:
        raise CopyRefused(f"this is a copy of a value of {self.layout.label} {self._body.id}: {self._advice}")
