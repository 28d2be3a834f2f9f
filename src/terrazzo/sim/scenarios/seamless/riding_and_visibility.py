"""The decisions of the game in the seamless scenario: which entities it shows to a client, and which entity rides on
which.

    withheld     from when the game hides an entity until it shows it, or until the entity leaves the area (P4)
    added        by hand: in the area wherever the entity is, until it is removed, or has no body in this cell (P4)
    rides        from boarding until the rider alights, was teleported, or loses its vehicle (P1, P3, P4); at rest a
                 rider is where its vehicle is, at its seat

How often that happens is drawn for each world from a stream of its own; in some worlds never. Each is recorded by
entity and life: it ends with the body.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random
from typing import NamedTuple

from terrazzo.cell.core.body import Body, pack_ride
from terrazzo.cell.core.real import Real
from terrazzo.cell.motion.riding import inside
from terrazzo.sim.oracle import Broken
from terrazzo.sim.world import World
from terrazzo.sync.riding import place_on

Own = tuple[int, int]
"""An entity and its life."""

SEAT_M = 1e-3
"""Places are 32-bit floats."""


class Added(NamedTuple):
    """An entity that is in an area because the game added it."""

    life: int
    space: str


class RidingAndVisibility:
    """All such decisions of one world."""

    def __init__(self, world: World, life: Callable[[int], int]) -> None:
        rng = world.rng("whims")  # another name would change all worlds
        self.hide = rng.choice([0.0, 0.0, 0.1, 0.5])
        """The share of entities that are withheld as soon as they come into an area."""
        self.show = rng.choice([0.0, 0.05, 0.2])
        """How often an entity with a client hides, shows, adds or removes another entity, for each of its pulses."""
        self.ride = rng.choice([0.0, 0.0, 0.02, 0.1])
        """How often an entity boards or alights."""
        self.counts: dict[str, int] = {}
        self._world = world
        self._life = life
        self._rngs: dict[int, Random] = {}
        self._withheld: dict[Own, dict[int, float]] = {}
        """The withheld entities, and since when."""
        self._added: dict[Own, dict[int, Added]] = {}
        self._touched: dict[tuple[int, int], float] = {}
        """The time of the last such decision, by the entity that made it and the other entity."""
        self._riding: dict[Own, bytes] = {}
        self._rides: dict[int, set[bytes]] = {}
        """All rides that an entity ever had."""
        self._upset: dict[int, float] = {}
        """The last time that an entity boarded or jumped: then its riders lose it."""

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
        """The entities that are withheld from an entity's client, and since when."""
        return self._withheld.setdefault(self._own(entity), {})

    def added(self, entity: int) -> dict[int, Added]:
        """The entities that the game added to the area of an entity."""
        return self._added.setdefault(self._own(entity), {})

    def withhold(self, entity: int, other: int, *, is_withheld: bool) -> None:
        """Another entity is hidden from the client of an entity, or shown to it."""
        self._touch(entity, other, "withheld" if is_withheld else "shown")
        if is_withheld:
            self.withheld(entity).setdefault(other, self._world.clock.now)
        else:
            self.withheld(entity).pop(other, None)

    def add(self, entity: int, other: int, added: Added) -> None:
        """Another entity is added to the area by hand."""
        self._touch(entity, other, "added")
        self.added(entity)[other] = added

    def remove(self, entity: int, other: int) -> None:
        """Another entity is not in the area by hand any more."""
        self._touch(entity, other, "removed")
        self.added(entity).pop(other, None)

    def leave(self, entity: int, other: int) -> Added | None:
        """Another entity left the area, which ends all decisions about it."""
        added = self.added(entity).pop(other, None)
        if self.withheld(entity).pop(other, None) is not None or added is not None:
            self._touch(entity, other, "left")
        return added

    def forget_client(self, entity: int) -> None:
        """The client of an entity is gone, which ends all decisions about its area."""
        self.withheld(entity).clear()
        self.added(entity).clear()

    def _touch(self, entity: int, other: int, what: str) -> None:
        self._count(what)
        self._touched[entity, other] = self._world.clock.now

    def was_touched(self, entity: int, other: int, since: float) -> bool:
        """Whether an entity decided about another since then."""
        return self._touched.get((entity, other), -inf) >= since

    def shown(self, entity: int, inside: set[int], there: set[int]) -> set[int]:
        """The entities that its client has at rest: `inside` is in the area by distance, `there` is in the same
        space."""
        return (inside | (self.added(entity).keys() & there)) - self.withheld(entity).keys()

    # Rides.

    def board(self, entity: int, ride: bytes) -> None:
        """The entity rides, or changes its seat."""
        self._count("boarded")
        self._riding[self._own(entity)] = ride
        self._rides.setdefault(entity, set()).add(ride)
        self._upset[entity] = self._world.clock.now

    def alight(self, entity: int) -> None:
        """The entity alights by itself."""
        self._count("alighted")
        self._riding.pop(self._own(entity), None)

    def land(self, entity: int) -> None:
        """A teleport has moved the entity."""
        self._upset[entity] = self._world.clock.now
        if self._riding.pop(self._own(entity), None) is not None:
            self._count("carried off")

    def lose(self, entity: int, *, has_reason: Callable[[int], bool]) -> Broken | None:
        """The entity gets the report that its vehicle is lost."""
        self._count("vehicles lost")
        ride = self._riding.pop(self._own(entity), None)
        if ride is None:
            return Broken("P1", f"entity {entity} has lost its vehicle, but had none", entity)
        vehicle = int.from_bytes(ride[:4], "little", signed=True)
        if not has_reason(vehicle):
            return Broken("P1", f"entity {entity} has lost entity {vehicle}, which is there", entity, vehicle)
        return None

    def was_upset(self, entity: int, since: float) -> bool:
        """Whether the entity boarded or jumped since then."""
        return self._upset.get(entity, -inf) >= since

    def has_ridden(self, entity: int, ride: bytes) -> bool:
        """Whether an entity ever had this ride."""
        return ride in self._rides.get(entity, ())

    def unrest(self, reals: list[Real]) -> tuple[str, int] | None:
        """A rider that is not at its seat."""
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
