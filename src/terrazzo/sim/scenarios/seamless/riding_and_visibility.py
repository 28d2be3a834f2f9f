"""What is shown to clients by hand, and who rides on whom: what the entities of the seamless scenario did about it.

    withheld     from when the game says so until it says otherwise, or until that entity leaves the area (P4)
    added        by hand: in the area wherever it is, until it is taken out, or has no body in this cell any more (P4)
    rides        from boarding until it alights, has been teleported, or is told that its vehicle is lost (P1, P3, P4);
                 at rest a rider is where its vehicle is, at its seat

How often they do so is drawn for each world from a stream of its own; in some worlds never. Each is kept by entity and
life: what ended with a body is over.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random
from typing import NamedTuple

from terrazzo.cell.body import Body
from terrazzo.cell.real import Real
from terrazzo.cell.riding import inside, pack_ride
from terrazzo.sim.oracle import Broken
from terrazzo.sim.world import World
from terrazzo.sync.riding import place_on

Own = tuple[int, int]
"""An entity and its life."""

SEAT_M = 1e-3
"""Places are 32-bit floats."""


class Added(NamedTuple):
    """Somebody who is in an area because the game said so."""

    life: int
    space: str


class RidingAndVisibility:
    """Everything that was done of it in one world."""

    def __init__(self, world: World, life: Callable[[int], int]) -> None:
        rng = world.rng("whims")
        self.hide = rng.choice([0.0, 0.0, 0.1, 0.5])
        """How many of those who come into an area are withheld at once."""
        self.show = rng.choice([0.0, 0.05, 0.2])
        """How often who has a client hides or shows somebody, adds or removes him; each time it lives."""
        self.ride = rng.choice([0.0, 0.0, 0.02, 0.1])
        """How often somebody boards or alights."""
        self.counts: dict[str, int] = {}
        self._world = world
        self._life = life
        self._rngs: dict[int, Random] = {}
        self._withheld: dict[Own, dict[int, float]] = {}
        """Who is withheld, and since when."""
        self._added: dict[Own, dict[int, Added]] = {}
        self._touched: dict[tuple[int, int], float] = {}
        """When something of this was done last, by whom, to whom."""
        self._riding: dict[Own, bytes] = {}
        self._rides: dict[int, set[bytes]] = {}
        """All rides that an entity ever had."""
        self._upset: dict[int, float] = {}
        """When an entity last boarded or jumped: then those who ride on it lose it."""

    def rng(self, entity: int) -> Random:
        """The entity's own stream for this."""
        if entity not in self._rngs:
            self._rngs[entity] = self._world.rng(f"whims of {entity}")
        return self._rngs[entity]

    def _own(self, entity: int) -> Own:
        return entity, self._life(entity)

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    # Areas.

    def withheld(self, entity: int) -> dict[int, float]:
        """Who is withheld from an entity's client, and since when."""
        return self._withheld.setdefault(self._own(entity), {})

    def added(self, entity: int) -> dict[int, Added]:
        """Who is in its area by hand."""
        return self._added.setdefault(self._own(entity), {})

    def withhold(self, entity: int, other: int, *, is_withheld: bool) -> None:
        """The client of an entity is not to know of another, or may."""
        self._touch(entity, other, "withheld" if is_withheld else "shown")
        if is_withheld:
            self.withheld(entity).setdefault(other, self._world.clock.now)
        else:
            self.withheld(entity).pop(other, None)

    def add(self, entity: int, other: int, added: Added) -> None:
        """By hand."""
        self._touch(entity, other, "added")
        self.added(entity)[other] = added

    def remove(self, entity: int, other: int) -> None:
        """No longer by hand."""
        self._touch(entity, other, "removed")
        self.added(entity).pop(other, None)

    def leave(self, entity: int, other: int) -> Added | None:
        """It left the area, and with that everything that was said about it is over."""
        added = self.added(entity).pop(other, None)
        if self.withheld(entity).pop(other, None) is not None or added is not None:
            self._touch(entity, other, "left")
        return added

    def forget_client(self, entity: int) -> None:
        """Its client is gone: what was said about the area of interest is over."""
        self.withheld(entity).clear()
        self.added(entity).clear()

    def _touch(self, entity: int, other: int, what: str) -> None:
        self._count(what)
        self._touched[entity, other] = self._world.clock.now

    def was_touched(self, entity: int, other: int, since: float) -> bool:
        """Whether something of this was done since then."""
        return self._touched.get((entity, other), -inf) >= since

    def shown(self, entity: int, inside: set[int], there: set[int]) -> set[int]:
        """Those of whom its client knows at rest, when these are in its area by themselves, and those in its space."""
        return (inside | (self.added(entity).keys() & there)) - self.withheld(entity).keys()

    # Rides.

    def board(self, entity: int, ride: bytes) -> None:
        """It rides, or at another seat."""
        self._count("boarded")
        self._riding[self._own(entity)] = ride
        self._rides.setdefault(entity, set()).add(ride)
        self._upset[entity] = self._world.clock.now

    def alight(self, entity: int) -> None:
        """By itself."""
        self._count("alighted")
        self._riding.pop(self._own(entity), None)

    def land(self, entity: int) -> None:
        """A teleport has brought it elsewhere."""
        self._upset[entity] = self._world.clock.now
        if self._riding.pop(self._own(entity), None) is not None:
            self._count("carried off")

    def lose(self, entity: int, *, has_reason: Callable[[int], bool]) -> Broken | None:
        """It is told that its vehicle is lost."""
        self._count("vehicles lost")
        ride = self._riding.pop(self._own(entity), None)
        if ride is None:
            return Broken("P1", f"entity {entity} has lost its vehicle, but had none", entity)
        vehicle = int.from_bytes(ride[:4], "little", signed=True)
        if not has_reason(vehicle):
            return Broken("P1", f"entity {entity} has lost entity {vehicle}, which is there", entity, vehicle)
        return None

    def was_upset(self, entity: int, since: float) -> bool:
        """Whether it boarded or jumped since then."""
        return self._upset.get(entity, -inf) >= since

    def has_ridden(self, entity: int, ride: bytes) -> bool:
        """Whether an entity ever rode so."""
        return ride in self._rides.get(entity, ())

    def unrest(self, reals: list[Real]) -> tuple[str, int] | None:
        """A rider that is not where it should be."""
        by_id: dict[int, Body] = {real.body.id: real.body for real in reals}
        for body in by_id.values():
            if pack_ride(body) != self._riding.get(self._own(body.id), b""):
                return f"entity {body.id} has a ride {body.ride} that is not what it did", body.id
            if body.ride is None:
                continue
            vehicle = by_id.get(body.ride.vehicle)
            if vehicle is None or vehicle.space.id != body.space.id:
                return f"entity {body.id} rides on {body.ride.vehicle}, which is not there", body.id
            if vehicle.ride is not None:
                return f"entity {body.id} rides on {vehicle.id}, which rides itself", body.id
            place = inside(body.space.bounds, place_on(vehicle.position, vehicle.direction, body.ride)[0])
            if any(abs(a - b) > SEAT_M for a, b in zip(place, body.position, strict=True)):
                return f"entity {body.id} is at {body.position}, its seat on {vehicle.id} is at {place}", body.id
        return None
