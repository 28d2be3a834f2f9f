"""The property values of one part of an entity, by name and by place, with a listener for their changes.

A cell part, a ghost, a base part and a client's copy each store their properties in a State. Its Layout has the
properties and their order; a Change names a property by its place in the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from terrazzo._speed.values import Change, Slots
from terrazzo.errors import UsageError
from terrazzo.schema import changes
from terrazzo.schema.layout import Layout

Listener = Callable[[Change], None]


class State:
    """Property values that are checked when assigned; each change is reported to the listener."""

    __slots__ = ("_slots", "layout")

    def __init__(
        self,
        layout: Layout,
        listener: Listener | None = None,
        values: list[Any] | None = None,
    ) -> None:
        """With the given free values (as decoded), or with defaults."""
        self.layout = layout
        if values is None:
            values = layout.new_values()
        self._slots = Slots(layout.label, layout.names, layout.codecs, values, listener)

    @property
    def index(self) -> dict[str, int]:
        """The place of each property by its name."""
        return self.layout.index

    @property
    def listener(self) -> Listener | None:
        """Called with each change, when it has happened."""
        return self._slots.listener  # type: ignore[no-any-return]

    @listener.setter
    def listener(self, listener: Listener | None) -> None:
        self._slots.listener = listener

    def limit(self, change_bytes_max: int) -> None:
        """Refuse changes that take more bytes than this, as long as there is a listener."""
        self._slots.change_bytes_max = change_bytes_max

    def get(self, place: int) -> Any:
        """The value of the property at a place."""
        return self._slots.values[place]

    def set(self, place: int, value: Any) -> None:
        """Assign the property at a place."""
        self._slots.assign(place, value)

    def __getitem__(self, name: str) -> Any:
        return self._slots.values[self._place(name)]

    def __setitem__(self, name: str, value: Any) -> None:
        self._slots.assign(self._place(name), value)

    def _place(self, name: str) -> int:
        try:
            return self.layout.index[name]
        except KeyError:
            have = ", ".join(self.layout.names) or "none"
            raise UsageError(f"{self.layout.label} has no property {name!r} here; it has {have}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout.names)

    def values(self) -> list[Any]:
        """The values in the order of the layout."""
        return list(self._slots.values)

    def encode(self) -> bytes:
        """All values, one after the other."""
        return self.layout.row.encode(self._slots.values)

    def apply_internal(self, data: bytes) -> changes.Applied:
        """Apply a change that a real sent to its ghosts."""
        return changes.apply_internal(self._slots, data)

    def apply_external(self, data: bytes, *, is_slice: bool) -> changes.Applied:
        """Apply a nested or slice change that a server sent to its client."""
        return changes.apply_external(self._slots, data, is_slice=is_slice)

    def decode_internal(self, data: bytes) -> Change:
        """Read a change that a real sent to its ghosts, without applying it."""
        return changes.decode_internal(self._slots, data)

    def decode_external(self, data: bytes, *, is_slice: bool) -> Change:
        """Read a nested or slice change that a server sent to its client, without applying it."""
        return changes.decode_external(self._slots, data, is_slice=is_slice)

    def release(self) -> None:
        """Drop the listener and free all values, when the entity is gone."""
        self._slots.release_all()
