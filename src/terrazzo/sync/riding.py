"""Riding: an entity stands on another, and moves with it. The arithmetic and the bytes, for cells and clients.

A ride is the vehicle and a place relative to it, which looks along its own z when the vehicle looks along the world's:

                 z ▲     ╱ vehicle's z            world x = vehicle x + x · cos yaw + z · sin yaw
                   │yaw╱                          world z = vehicle z - x · sin yaw + z · cos yaw
                   │ ╱   · rider at (x, z)        world y = vehicle y + y
     vehicle ─▶    └──────────▶ x                 world yaw = vehicle yaw + yaw; pitch and roll are its own

Only the yaw of a vehicle turns its riders: a rider on a ship that rolls stands upright.

    28 bytes, little-endian:    vehicle i32 | place: six float32        relative to the vehicle
                                0           | place: six float32        it rides no longer, and is at this place

The same bytes are in the steps of an entity, in its ghosts and offloads, and in the message to clients. A client that
has the vehicle computes the place of the rider (`sync/riders.py`) from the place at which it shows the vehicle: so the
two are never apart on a screen. A client that does not have the vehicle gets the rider's place like that of any other
entity; it gets it again when the vehicle has left its view.
"""

from __future__ import annotations

import struct
from math import cos, floor, isfinite, pi, sin
from typing import NamedTuple

from terrazzo.errors import DecodeError

Point = tuple[float, float, float]

_RIDE = struct.Struct("<i6f")
_TURN = 2 * pi


class Ride(NamedTuple):
    """The vehicle of an entity, and its place on it."""

    vehicle: int
    position: Point
    direction: Point


def encode_ride(ride: Ride) -> bytes:
    """The bytes of a ride; vehicle 0: it rides no longer, and the place is one of the world."""
    return _RIDE.pack(ride.vehicle, *ride.position, *ride.direction)


def decode_ride(data: bytes) -> Ride:
    """The ride of exactly these bytes."""
    if len(data) != _RIDE.size:
        raise DecodeError(f"a ride has {_RIDE.size} bytes", len(data))
    vehicle, x, y, z, yaw, pitch, roll = _RIDE.unpack(data)
    if not all(map(isfinite, (x, y, z, yaw, pitch, roll))):
        raise DecodeError("a place that is not finite", 4)
    return Ride(vehicle, (x, y, z), (yaw, pitch, roll))


def place_on(position: Point, direction: Point, ride: Ride) -> tuple[Point, Point]:
    """The place and direction of a rider in the world, from those of its vehicle."""
    (x, y, z), (yaw, pitch, roll) = ride.position, ride.direction
    east, north = sin(direction[0]), cos(direction[0])
    place = (position[0] + x * north + z * east, position[1] + y, position[2] - x * east + z * north)
    return place, (_turned(direction[0] + yaw), pitch, roll)


def ride_at(vehicle: int, position: Point, direction: Point, place: Point, looks: Point) -> Ride:
    """The ride of an entity at a place of the world, on a vehicle at this position and direction."""
    x, y, z = (a - b for a, b in zip(place, position, strict=True))
    east, north = sin(direction[0]), cos(direction[0])
    relative = (x * north - z * east, y, x * east + z * north)
    return Ride(vehicle, relative, (_turned(looks[0] - direction[0]), looks[1], looks[2]))


def _turned(yaw: float) -> float:
    """The same angle, from -pi to pi."""
    return yaw - _TURN * floor(yaw / _TURN + 0.5)
