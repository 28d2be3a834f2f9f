"""A ship, its rider and a watcher, for the tests of riding."""

from __future__ import annotations

from math import dist, pi

from terrazzo.sync.riding import place_on
from tests.cell.land import Land

SHIP, RIDER, WATCHER = 1, 2, 3


def board(land: Land, rider: int = RIDER, ship: int = SHIP, *place) -> None:
    land.do(rider, lambda part: part.board(ship, *place))


def embark(land: Land, ship_x: float, rider_x: float, *, is_seen: bool = False):
    """Ship and rider stand there, the rider with a client if asked for, and it goes aboard."""
    land.create(SHIP, ship_x)
    screen = land.create(RIDER, rider_x, is_seen=is_seen)
    land.settle()
    board(land)
    return screen


def sail(land: Land, x: float, z: float = 0.0, yaw: float = 0.0, ship: int = SHIP) -> None:
    """The ship's own code puts it somewhere and turns it."""
    land.put(ship, x, z)
    land.do(ship, lambda part: setattr(part, "yaw", yaw))


def check_aboard(land: Land, *, far_m: float = 1e-3, rider: int = RIDER) -> None:
    """The rider's real is at the place of the ship, as far as its cell has it."""
    body, ride = land.real(rider).body, land.real(rider).body.ride
    assert ride is not None
    ship = land.real(ride.vehicle).body
    position, direction = place_on(ship.position, ship.direction, ride)
    assert dist(position, body.position) <= far_m
    assert abs((direction[0] - body.direction[0] + pi) % (2 * pi) - pi) <= far_m + 1e-3


def check_seen(screen, rider: int = RIDER) -> None:
    """On the screen the rider is exactly on the ship."""
    seen = screen.view.find(rider)
    assert seen.ride is not None
    ship = screen.view.find(seen.ride.vehicle)
    assert (seen.position, seen.direction) == place_on(ship.position, ship.direction, seen.ride)
