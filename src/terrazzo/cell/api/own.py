"""`Own`: how the object that a game's code has of an entity reaches the engine's side of it, and what it may do.

    the part of a real, in its own code     everything
    a component of that part                likewise, for the entity
    the part while __init__ runs            it may be read
    a view of another entity                it may be read and called
    the part of an entity that has left     it may be read

What is not allowed raises an error with what to do instead.
"""

from __future__ import annotations

from typing import Any

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.services import WitnessLike
from terrazzo.cell.core.timers import chosen
from terrazzo.errors import CopyRefused, UsageError, shown
from terrazzo.schema.arguments import entity_id, vector
from terrazzo.schema.refs import Ref
from terrazzo.world.place import PLACE_MAX


class Own:
    """What the classes of the API rest on."""

    _body: Body
    _is_starting: bool
    _owner: Own
    """Of a component: the part that it belongs to."""

    @property
    def id(self) -> int:
        """The entity's number."""
        return self._body.id

    def _own(self, act: str) -> Real:
        """The real of this object, which only the entity's own code has."""
        part = self.__dict__.get("_owner", self)
        body: Body | None = part.__dict__.get("_body")
        if body is None:
            raise UsageError(f"this {type(self).__name__} is of no entity: parts are made by the engine")
        if part.__dict__.get("_is_starting"):
            raise UsageError(f"in __init__ nothing can {act} yet: do it in on_created, or in on_entered_cell")
        real = body.real
        if real is None or real.part is not part:
            raise CopyRefused(f"{body.label} can {act} only in its own code: call one of its methods, which runs there")
        return real

    def _free(self, act: str) -> Real:
        """The same, of one that goes where it wants."""
        real = self._own(act)
        if real.body.ride is not None:
            problem = f"on a vehicle ({real.body.ride.vehicle}) it cannot {act}"
            raise UsageError(f"{problem}: alight first, or board again at another place of it")
        return real

    def _witness(self, act: str) -> WitnessLike:
        """The witness of the real."""
        witness = self._own(act).witness
        if witness is None:
            raise UsageError(f"{self._body.label} has no client that could {act}: do it in on_client_attached")
        return witness

    def _known(self, target: Any, name: str) -> int:
        """The id of another entity that is known here."""
        entity = id_of(target, name)
        if entity == self._body.id:
            raise UsageError(f"{name} is another entity, not this one itself")
        other = self._body.core.bodies.get(entity)
        if other is None or other.space is not self._body.space:
            problem = f"entity {entity} is not known in this cell: it is too far away, elsewhere, or gone"
            raise UsageError(f"{name}: {problem}")
        return entity

    def _lend(self, component: Any) -> None:
        """A component has what its part has."""
        component._owner = self
        if "_body" in self.__dict__:  # a part that no engine made has none
            component._body = self._body


def number_of(real: Real, number: int | None, name: str) -> int:
    """The number that the game chose for a timer, a controller or a trigger, or a drawn one."""
    return real.timers.draw() if number is None else chosen(number, name)


def place(value: Any, name: str) -> tuple[float, float, float]:
    """Three numbers of a place."""
    return vector(value, name, most=PLACE_MAX)


def id_of(target: Any, name: str) -> int:
    """The id of an entity that is given as a view, a Ref or an id."""
    if isinstance(target, Own):
        return target.id
    if isinstance(target, Ref):
        return entity_id(target.id, f"{name}, the id of a Ref,")
    if isinstance(target, int) and not isinstance(target, bool):
        return entity_id(target, name)
    raise UsageError(f"{name} is an entity: a view, a Ref or an id, not {shown(target)}")
