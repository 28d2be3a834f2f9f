"""The riders of a client's view: a client works out the place of each rider from the place of its vehicle."""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.sync.riding import Point, Ride, place_on
from terrazzo.sync.view_events import Seen


class Rides:
    """The riders of one client's view. Each method returns the entities with a changed place, in order."""

    __slots__ = ("_find", "_riders")

    def __init__(self, find: Callable[[int], Seen | None]) -> None:
        """`find`: the own entity or another one of the view, by id."""
        self._find = find
        self._riders: dict[int, dict[int, Seen]] = {}
        """By the id of the vehicle, which need not be in the view."""

    def put(self, seen: Seen, position: Point, direction: Point) -> list[Seen]:
        """The server has sent the place of an entity. It is ignored for a rider with its vehicle in the view."""
        if seen.ride is not None and self._find(seen.ride.vehicle) is not None:
            return []
        seen.put(position, direction)
        return [seen, *self.carry(seen)]

    def enter(self, seen: Seen) -> list[Seen]:
        """An entity has been described: those that ride on it already move to it."""
        self._mark(seen)
        return self.carry(seen)

    def carry(self, vehicle: Seen) -> list[Seen]:
        """An entity has moved or entered: its riders move with it."""
        riders = list(self._riders.get(vehicle.id, {}).values())
        for rider in riders:
            assert rider.ride is not None
            rider.put(*place_on(vehicle.position, vehicle.direction, rider.ride))
        return riders

    def ride(self, seen: Seen, ride: Ride) -> list[Seen]:
        """An entity rides on a vehicle, at another place of it, or no longer."""
        self.leave(seen)
        if not ride.vehicle:
            return self.put(seen, ride.position, ride.direction)
        seen.ride = ride
        self._riders.setdefault(ride.vehicle, {})[seen.id] = seen
        seen.set_special(True)
        vehicle = self._find(ride.vehicle)
        if vehicle is None:
            return []
        vehicle.set_special(True)
        seen.put(*place_on(vehicle.position, vehicle.direction, ride))
        return [seen, *self.carry(seen)]

    def leave(self, seen: Seen) -> None:
        """An entity no longer rides."""
        if seen.ride is not None:
            vehicle, riders = self._find(seen.ride.vehicle), self._riders[seen.ride.vehicle]
            del riders[seen.id]
            if not riders:
                del self._riders[seen.ride.vehicle]
            seen.ride = None
            self._mark(seen)
            if vehicle is not None:
                self._mark(vehicle)

    def _mark(self, seen: Seen) -> None:
        """The table of places leaves to this class those that ride and those that carry riders."""
        seen.set_special(seen.ride is not None or seen.id in self._riders)
