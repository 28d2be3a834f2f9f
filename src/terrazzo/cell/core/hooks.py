"""The hooks of a cell part: methods that the engine calls when something has happened. A game overrides those it needs.

    in its life           on_created · on_client_attached · on_client_detached · on_call_failed
    by itself             on_timer · on_reached · on_turned · on_move_failed
    around it             on_entered_aoi · on_left_aoi · on_proximity_entered · on_proximity_left
    its space             on_space_data
    where it is           on_move · on_teleported · on_teleport_failed · on_vehicle_lost
    from cell to cell     on_leaving_cell · on_left_cell · on_entering_cell · on_entered_cell
    its ghosts            on_ghost_created · on_ghost_changed · on_ghost_destroyed

A hook that raises is reported with entity, hook, cell and tick, and has no other effect; only a move that `on_move` was
to allow is refused. A hook may be an `async def`, unless the engine needs its result at once. A hook that a game
does not override costs nothing: the engine does not call it (`has_hook`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from terrazzo.schema.vectors import Vector3


class Hooks:
    """All of them, doing nothing. The core has the object of a game as one of these."""

    _body: Any
    _state: Any
    _is_starting: bool

    if TYPE_CHECKING:
        # The class of the game has more: properties and methods of its own (`schema/classes/parts.py`).
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    # In its life.

    def on_created(self) -> None:
        """The entity has got this body. Runs once, and not again in other cells: the place to set properties, timers
        and triggers."""

    def on_client_attached(self) -> None:
        """A client sees through this entity from now on: `self.client` can be called and the area of interest set."""

    def on_client_detached(self) -> None:
        """The client has gone. The body stays until the base, or this, takes it down."""

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        """A call that this part made was not and will not be delivered; all others were or will be. One that is awaited
        raises CallUndelivered there instead."""

    # By itself.

    def on_timer(self, number: int) -> None:
        """A timer is due (`timer`)."""

    def on_reached(self, number: int) -> None:
        """`move_to` is at its goal and over; or `follow` has caught up, and goes on."""

    def on_turned(self, number: int) -> None:
        """`turn_to` is done."""

    def on_move_failed(self, number: int, reason: str) -> None:
        """`move_to` or `follow` is over: the entity it went for is gone, or out of sight."""

    # Around it.

    def on_entered_aoi(self, other: Any) -> None:
        """An entity, of which this is a view, has come into the area of interest of this entity's client. Not repeated
        when either of them moves to another cell."""

    def on_left_aoi(self, entity: int) -> None:
        """The entity of this id has left the area of interest; it may be gone altogether."""

    def on_proximity_entered(self, number: int, other: Any) -> None:
        """An entity, of which this is a view, has come within the radius of a trigger (`add_proximity`)."""

    def on_proximity_left(self, number: int, entity: int) -> None:
        """The entity of this id is no longer within the radius of a trigger; it may be gone altogether."""

    # Where it is.

    def on_move(self, position: Vector3) -> bool | None:
        """The client wants to be there, and could be: False (or what counts as that, but not None) refuses, and so does
        an exception; then the client is put back. Cannot be `async`: the answer is needed at once."""
        return True

    def on_teleported(self) -> None:
        """`teleport` has brought it here. Runs after on_entered_cell, where it came into another cell."""

    def on_teleport_failed(self, reason: str) -> None:
        """`teleport` came to nothing: the entity is where it was, whole."""

    def on_vehicle_lost(self) -> None:
        """What it stood on (`board`) is gone, out of sight, or rides itself: it stands where it was."""

    def on_space_data(self, key: str, value: Any) -> None:
        """An item of the data of its space (`space_data`) has a new value. Not called for what is there when the entity
        comes into the space."""

    # From cell to cell.

    def on_leaving_cell(self) -> None:
        """The last chance in this cell: the entity is about to leave. All is allowed; what is changed goes along, and
        destroying it or teleporting it elsewhere is respected."""

    def on_left_cell(self) -> None:
        """The entity has left; this object stays behind, and can be read. Let go of what only this cell
        needed."""

    def on_entering_cell(self) -> None:
        """The entity is about to be here: its properties can be read. Make ready what only this cell needs."""

    def on_entered_cell(self) -> None:
        """The entity is here and the same as before: properties, place, timers, controllers, triggers, client. Plain
        attributes are not: `__init__` has set them anew."""

    # Its ghosts. `self` is a view here: it can be read and called, not changed.

    def on_ghost_created(self) -> None:
        """There is a copy of the entity in this cell from now on, and its body is in another: it came near, or has just
        left this cell (after `on_left_cell`)."""

    def on_ghost_changed(self, name: str, old: Any) -> None:
        """A property of the copy has a new value, or something inside it has; `old` is the whole as it was."""

    def on_ghost_destroyed(self) -> None:
        """There is no copy in this cell any more: it went, the entity was destroyed, or it comes here itself (before
        `on_entering_cell`). In each cell there is one of these for each `on_ghost_created`."""


HOOKS = frozenset(name for name in vars(Hooks) if name.startswith("on_"))


def has_hook(part_class: type, name: str) -> bool:
    """Whether a game's class has this hook of its own."""
    return getattr(part_class, name) is not getattr(Hooks, name)
