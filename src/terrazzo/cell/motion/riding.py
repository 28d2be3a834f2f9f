"""Riding: an entity stands on another, a vehicle or a platform, and moves with it.

    board(other)   ──▶  rides: once a tick its real puts it where the vehicle's body is in this cell, real or ghost
                          │
    alight(), a teleport  │  the vehicle is destroyed, rides itself, is out of sight for LOST_S: on_vehicle_lost()
                          ▼
                        stands where it was

Two things are sent of a rider, each as everything else is:

    its place    is a place like any other: in the arrays, in rows to its ghosts, in areas, by itself on its way to
                 another cell. So a copy of the rider needs no copy of the vehicle; the two may be real or ghost, here
                 or there, and may migrate one after the other or at once
    the ride     the vehicle's id and the place on it (`sync.riding`) is an item of a numbered step, so each copy has it
                 at the right number; it travels in ghosts and offloads, and is a reliable event for clients, which work
                 out by themselves where the rider is as long as they have the vehicle

The real of the rider must have a body of the vehicle to follow it. It has: a seat is never farther from the vehicle
than the ghost distance, so the vehicle has a body wherever its riders live. When both cross a border, the body may be
missing for a while: hence LOST_S, and a rider that arrives before its vehicle asks for it (`cell/ghosts/seeking.py`).

Only an entity that does not ride itself is a vehicle. If two entities board each other at the same time in two cells,
each ride arrives at the other cell, and both alight.

While an entity has riders, its place and direction are sent at any distance, even if its type limits that to near
clients (`Space.seat`): its riders may be near when it is not.

For a rider of a type without a volatile position, clients get the ride; clients that do not have the vehicle
also get a place once in PLACE_S: otherwise each tick would be a reliable event, most of them for no client.

The client of a rider does not move it: its rows are ignored. The client works out its place from the vehicle, and is
sent that place (MOVED) as long as it does not have the vehicle, first when it has lost sight of it. When the rider
alights, the client is sent the place, too, and its rows count again from there.
"""

from __future__ import annotations

from terrazzo.cell.client.moves import ClientMoves
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.controllers import Category
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.history import PLACE
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts.seeking import Seeking
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.errors import UsageError
from terrazzo.sync.protocol import encode_moved
from terrazzo.sync.riding import Ride, decode_ride, encode_ride, place_on, ride_at
from terrazzo.wire.ids import life_of
from terrazzo.wire.pairs.base_cell import Direction, Position
from terrazzo.world.place import fitting
from terrazzo.world.rect import Rect

LOST_S = 2.0
"""So long a vehicle that has gone out of sight is waited for."""
PLACE_S = 1.0
"""The time between two places of a rider without a volatile position."""
EDGE_M = 0.01
"""So far from the edge of the space it stays: places are rounded."""


def inside(bounds: Rect, position: Position) -> Position:
    """The same point, or the nearest within the bounds: the vehicle is at the very edge, and the rider stays inside."""
    x, y, z = position
    y = fitting(y)
    if bounds.outside_by(x, z) == 0:
        return x, y, z
    x0, z0, x1, z1 = bounds.inflate(-EDGE_M)
    return min(max(x, x0), x1), y, min(max(z, z0), z1)


class Riding:
    """The riders among the reals of one app."""

    def __init__(self, core: Core, moves: ClientMoves, seeking: Seeking, tombstones: Tombstones) -> None:
        self._core = core
        self._moves = moves
        self._seeking = seeking
        self._tombstones = tombstones
        self._riders: dict[int, Real] = {}
        self._lost_at: dict[int, float] = {}
        """Since when the vehicle of a rider has been out of sight."""
        self._lives: dict[int, int] = {}
        """In which life it was seen here last: the end of a former one means nothing."""
        self._guided: set[int] = set()
        """Riders with clients that get their places, since they do not have the vehicle."""
        self._sent_places: dict[int, tuple[float, Position, Direction]] = {}
        """When the place of a rider without a volatile position was sent, and that place."""

    # What the game asks for.

    def board(self, real: Real, vehicle: Body, position: Position | None, direction: Direction | None) -> None:
        """A real stands on another body, at a place relative to it; without one, as it stands to it now."""
        body = real.body
        if vehicle.ride is not None:
            under = vehicle.ride.vehicle
            what = "this very entity: let it alight first" if under == body.id else f"entity {under}: board that one"
            raise UsageError(f"entity {vehicle.id} rides itself, on {what}")
        if any(rider.body.ride is not None and rider.body.ride.vehicle == body.id for rider in self._riders.values()):
            raise UsageError(f"entity {body.id} has riders itself: let them alight first")
        ride = ride_at(vehicle.id, vehicle.position, vehicle.direction, body.position, body.direction)
        ride = decode_ride(encode_ride(Ride(vehicle.id, position or ride.position, direction or ride.direction)))
        most, (x, _, z) = self._core.game.policy.ghost_distance_m, ride.position
        if x * x + z * z > most * most:
            place = tuple(round(each, 3) for each in ride.position)
            raise UsageError(f"a seat is at most {most:g} m (ghost_distance_m) away from a vehicle, not at {place}")
        for category in Category:
            real.controllers.cancel(category)
        self._moves.leave(real)
        real.set_ride(ride)
        self.enter(real)
        self._carry(real, vehicle)

    def alight(self, real: Real) -> None:
        """It stands where it is. An entity that does not ride may alight, too."""
        body = real.body
        if body.ride is None:
            return
        self._forget(body.id)
        real.set_ride(Ride(0, body.position, body.direction))
        if real.witness is not None:
            self._moves.enter(real)
            self._moves.correct(real)

    def enter(self, real: Real) -> None:
        """A real begins here, perhaps as a rider."""
        if real.body.ride is not None:
            self._forget(real.body.id)
            self._riders[real.body.id] = real

    # The tick.

    def run(self) -> None:
        """Puts each rider where its vehicle is."""
        lost: list[Real] = []
        for entity, real in list(self._riders.items()):
            if real.body.real is not real or real.is_destroyed:
                self._forget(entity)
            elif not self._core.confine(real.body, "riding", self._follow, real):
                self.alight(real)
                lost.append(real)
        for real in lost:
            if not real.is_destroyed:
                self._core.run(real.body, "on_vehicle_lost", real.part.on_vehicle_lost)

    def _follow(self, real: Real) -> bool:
        """One rider; False when it has no vehicle any more."""
        body, now = real.body, self._core.host.now
        assert body.ride is not None
        vehicle = self._core.bodies.get(body.ride.vehicle)
        if vehicle is None or vehicle.space is not body.space:
            tombstone, life = self._tombstones.get(body.ride.vehicle), self._lives.get(body.id)
            is_over = tombstone is not None and tombstone.is_destroyed and life_of(tombstone.end) == life
            is_awaited = now < self._lost_at.setdefault(body.id, now) + LOST_S
            return not is_over and (is_awaited or self._seeking.is_sought(body.id, body.ride.vehicle))
        self._lost_at.pop(body.id, None)
        self._lives[body.id] = life_of(vehicle.number)
        if vehicle.ride is not None:
            return False
        self._carry(real, vehicle)
        return True

    def _carry(self, real: Real, vehicle: Body) -> None:
        body, witness = real.body, real.witness
        assert body.ride is not None
        position, direction = place_on(vehicle.position, vehicle.direction, body.ride)
        before = body.position, body.direction
        body.space.place(body, inside(body.space.bounds, position), direction)
        if witness is None or witness.sent.has_described(vehicle.id):
            self._guided.discard(body.id)
        elif body.id not in self._guided or before != (body.position, body.direction):
            self._guided.add(body.id)
            witness.sent.add_own_message(PLACE, encode_moved(body.position, body.direction))
        if body.kind.is_eventful:
            self._mark_place(real)

    def _mark_place(self, real: Real) -> None:
        now, place = self._core.host.now, (real.body.position, real.body.direction)
        sent = self._sent_places.get(real.body.id)
        if sent is None or (sent[1:] != place and now >= sent[0] + PLACE_S):
            self._sent_places[real.body.id] = (now, *place)
            real.mark_place_due()

    def _forget(self, entity: int) -> None:
        self._riders.pop(entity, None)
        self._lost_at.pop(entity, None)
        self._lives.pop(entity, None)
        self._guided.discard(entity)
        self._sent_places.pop(entity, None)
