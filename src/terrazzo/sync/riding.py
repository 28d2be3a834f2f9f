"""Riding: an entity stands on another, and goes where that goes. The arithmetic and the bytes, for cells and clients.

A ride is the vehicle and a place relative to it, which looks along its own z when the vehicle looks along the world's:

                 z ▲     ╱ vehicle's z            world x = vehicle x + x · cos yaw + z · sin yaw
                   │yaw╱                          world z = vehicle z - x · sin yaw + z · cos yaw
                   │ ╱   · rider at (x, z)        world y = vehicle y + y
     vehicle ─▶    └──────────▶ x                 world yaw = vehicle yaw + yaw; pitch and roll are its own

Only the yaw of a vehicle turns those who stand on it: whoever stands on a ship that rolls stands upright.

    28 bytes, little-endian:    vehicle i32 | place: six float32        relative to the vehicle
                                0           | place: six float32        it rides no longer, and stands here in the world

The same bytes are in the steps of an entity, in its ghosts and offloads, and in the message to clients. A client that
knows the vehicle works out for itself where the rider is (`Rides`), from where it sees the vehicle: so the two never
come apart on a screen. To one that does not, the rider is where it is told to be, like anybody else, and
is told that anew when the vehicle has left its sight.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import cos, floor, isfinite, pi, sin
from typing import TYPE_CHECKING, NamedTuple

from terrazzo.errors import DecodeError

if TYPE_CHECKING:
    from terrazzo.sync.view_events import Seen

Point = tuple[float, float, float]

_RIDE = struct.Struct("<i6f")
_TURN = 2 * pi


class Ride(NamedTuple):
    """What an entity stands on, and where on it."""

    vehicle: int
    position: Point
    direction: Point


def encode_ride(ride: Ride) -> bytes:
    """With the vehicle 0: it rides no longer, and the place is one of the world."""
    return _RIDE.pack(ride.vehicle, *ride.position, *ride.direction)


def decode_ride(data: bytes) -> Ride:
    """The ride that these bytes are, all of them."""
    if len(data) != _RIDE.size:
        raise DecodeError(f"a ride is told in {_RIDE.size} bytes", len(data))
    vehicle, x, y, z, yaw, pitch, roll = _RIDE.unpack(data)
    if not all(map(isfinite, (x, y, z, yaw, pitch, roll))):
        raise DecodeError("a place that is not finite", 4)
    return Ride(vehicle, (x, y, z), (yaw, pitch, roll))


def place_on(position: Point, direction: Point, ride: Ride) -> tuple[Point, Point]:
    """Where a rider is in the world, when its vehicle is here and looks there."""
    (x, y, z), (yaw, pitch, roll) = ride.position, ride.direction
    east, north = sin(direction[0]), cos(direction[0])
    place = (position[0] + x * north + z * east, position[1] + y, position[2] - x * east + z * north)
    return place, (_turned(direction[0] + yaw), pitch, roll)


def ride_at(vehicle: int, position: Point, direction: Point, place: Point, looks: Point) -> Ride:
    """The ride of somebody who is at a place of the world, on a vehicle that is here and looks there."""
    x, y, z = (a - b for a, b in zip(place, position, strict=True))
    east, north = sin(direction[0]), cos(direction[0])
    relative = (x * north - z * east, y, x * east + z * north)
    return Ride(vehicle, relative, (_turned(looks[0] - direction[0]), looks[1], looks[2]))


def _turned(yaw: float) -> float:
    """The same angle, from -pi to pi."""
    return yaw - _TURN * floor(yaw / _TURN + 0.5)


class Rides:
    """Who rides on whom at one client. Each act gives those whose place it changed, in order."""

    __slots__ = ("_find", "_riders")

    def __init__(self, find: Callable[[int], Seen | None]) -> None:
        """`find`: the own entity or another that is there, by id."""
        self._find = find
        self._riders: dict[int, dict[int, Seen]] = {}
        """By the vehicle, which need not be there."""

    def put(self, seen: Seen, position: Point, direction: Point) -> list[Seen]:
        """The server says where an entity is. Of one whose vehicle is there this client knows better."""
        if seen.ride is not None and self._find(seen.ride.vehicle) is not None:
            return []
        seen.position, seen.direction = position, direction
        return [seen, *self.carry(seen)]

    def carry(self, vehicle: Seen) -> list[Seen]:
        """An entity is somewhere else, or has entered: those who ride on it are there, too."""
        riders = list(self._riders.get(vehicle.id, {}).values())
        for rider in riders:
            assert rider.ride is not None
            rider.position, rider.direction = place_on(vehicle.position, vehicle.direction, rider.ride)
        return riders

    def ride(self, seen: Seen, ride: Ride) -> list[Seen]:
        """An entity rides, elsewhere, or no longer."""
        self.leave(seen)
        if not ride.vehicle:
            return self.put(seen, ride.position, ride.direction)
        seen.ride = ride
        self._riders.setdefault(ride.vehicle, {})[seen.id] = seen
        vehicle = self._find(ride.vehicle)
        if vehicle is None:
            return []
        seen.position, seen.direction = place_on(vehicle.position, vehicle.direction, ride)
        return [seen, *self.carry(seen)]

    def leave(self, seen: Seen) -> None:
        """An entity rides on nothing."""
        if seen.ride is not None:
            riders = self._riders[seen.ride.vehicle]
            del riders[seen.id]
            if not riders:
                del self._riders[seen.ride.vehicle]
            seen.ride = None
