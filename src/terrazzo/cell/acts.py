"""What an entity does: timers, movements, turns, teleports, rides, its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from terrazzo.cell.controllers import Turn, Walk, category_named
from terrazzo.cell.own import Own, amount, id_of, number_of, vector
from terrazzo.cell.teleport import place_problem
from terrazzo.errors import UsageError
from terrazzo.schema.refs import Ref
from terrazzo.world.place import PLACE_MAX, fits


class Acts(Own):
    """The part of the API that does something."""

    def destroy(self) -> None:
        """Takes the body down at the end of this tick; the base part hears of it and goes on."""
        self._body.app.doom(self._own("be destroyed"))

    def timer(self, seconds: float, repeat: float = 0.0, *, number: int | None = None) -> int:
        """Calls `on_timer(number)` in so many seconds, then every `repeat`. A number that is in use sets that timer
        again. Its number."""
        real = self._own("set a timer")
        seconds, repeat = amount(seconds, "the time of a timer, in seconds,"), amount(repeat, "repeat, in seconds,")
        return real.timers.set(self._body.app.host.now, seconds, repeat, number)

    def move_to(
        self, target: Any, speed: float, *, distance: float = 0.0, face: bool = True, number: int | None = None
    ) -> int:
        """Walks straight to a position, or to an entity (a view, Ref or id) wherever it goes, at so many metres a
        second, until `distance` is left: then `on_reached(number)`. If the entity gets out of sight,
        `on_move_failed(number, reason)`. `face`: it looks where it goes.

        There is one movement at a time: a new one takes the place of the former, of which nothing more is heard. Its
        number."""
        return self._walk(target, speed, distance, face, number, is_lasting=False)

    def follow(
        self, target: Any, speed: float, *, distance: float = 2.0, face: bool = True, number: int | None = None
    ) -> int:
        """As `move_to` an entity, but goes on when it has caught up, until it is cancelled or the entity is gone.
        `on_reached(number)` tells each time it has caught up."""
        return self._walk(target, speed, distance, face, number, is_lasting=True)

    def turn_to(self, yaw: float, speed: float, *, number: int | None = None) -> int:
        """Turns on the spot, the shorter way, at so many radians a second; then `on_turned(number)`. One turn at a
        time; meanwhile a movement does not look where it goes. Its number."""
        real = self._free("turn")
        yaw, speed = amount(yaw, "a yaw, in radians,"), amount(speed, "a speed, in radians a second,")
        if not fits(yaw) or not 0 < speed <= PLACE_MAX:
            raise UsageError(f"turn_to takes a yaw in radians and a speed above 0, not {yaw!r} and {speed!r}")
        number = number_of(real, number)
        real.controllers.start(Turn(number, float(yaw), float(speed)))
        return number

    def cancel(self, what: int | str) -> None:
        """Ends the timer, movement, turn or trigger of this number; or whatever is of a category: "movement",
        "turning". No hook is called. What is over already needs no cancelling."""
        real = self._own("cancel anything")
        if isinstance(what, str):
            real.controllers.cancel(category_named(what))
        else:
            real.timers.cancel(what)
            real.controllers.cancel(what)
            self._body.app.interests.cancel(real, what)

    def teleport(
        self, where: Any, position: Iterable[float] | None = None, direction: Iterable[float] | None = None
    ) -> None:
        """Goes to a position of a space, by the space's name (its own, too); or beside an entity (a view or Ref),
        wherever in the world that is by then: `position` is then how far from it, none at all if left out. Without a
        direction it looks as it does.

        Then `on_teleported()`; or `on_teleport_failed(reason)`, and it is where it was. One teleport at a time: a
        second call takes the place of the first. Until it leaves it goes on as ever; when it arrives, it stands."""
        real, teleports = self._own("be teleported"), self._body.app.teleports
        looks = None if direction is None else vector(direction, "a direction")
        if isinstance(where, str):
            if position is None:
                raise UsageError(f"a teleport to the space {where!r} takes a position there")
            place = vector(position, "a position")
            problem = place_problem(self._body.app.game, where, place)
            if problem is not None:
                raise UsageError(problem)
            teleports.to_space(real, where, place, looks)
            return
        entity = id_of(where)
        if entity == self._body.id:
            raise UsageError("an entity cannot be teleported beside itself: assign its position")
        offset = (0.0, 0.0, 0.0) if position is None else vector(position, "a position")
        teleports.to_entity(real, entity, offset, looks)

    def board(
        self, vehicle: Any, position: Iterable[float] | None = None, direction: Iterable[float] | None = None
    ) -> None:
        """Stands on another entity (a view, Ref or id) from now on, and goes where that goes: at a position relative to
        it, z being where it looks; if left out, as they stand now. Its client sees itself carried, and cannot move it.
        Boarding again puts it elsewhere on the same, or on another.

        It ends with `alight`, and when a teleport has brought it away; or with the vehicle, which is destroyed, out of
        sight, or boards something itself: then `on_vehicle_lost()`."""
        real, body = self._own("board anything"), self._body.app.bodies[self._known(vehicle)]
        place = None if position is None else vector(position, "a position")
        looks = None if direction is None else vector(direction, "a direction")
        self._body.app.riding.board(real, body, place, looks)

    def alight(self) -> None:
        """Stands where it is, on nothing; its client can move it again."""
        self._body.app.riding.alight(self._own("alight"))

    def _walk(
        self, target: Any, speed: float, distance: float, face: bool, number: int | None, *, is_lasting: bool
    ) -> int:
        real, entity = self._free("walk"), 0
        speed, distance = amount(speed, "a speed, in metres a second,"), amount(distance, "a distance, in metres,")
        if not 0 < speed <= PLACE_MAX or not 0 <= distance <= PLACE_MAX:
            raise UsageError(
                f"a movement takes a speed above 0 and a distance of 0 or more, not {speed!r}, {distance!r}"
            )
        if isinstance(target, Own | Ref | int):
            entity = self._known(target)
            point = self._body.app.bodies[entity].position
        elif is_lasting:
            raise UsageError(
                f"follow takes an entity (a view, Ref or id), not {target!r}; move_to takes a position, too"
            )
        else:
            point = vector(target, "a position")
            if not self._body.space.allows(point):
                raise UsageError(
                    f"{point} is not within {tuple(self._body.space.bounds)}, the bounds of {self._body.space.name}"
                )
        number = number_of(real, number)
        walk = Walk(
            number,
            point,
            float(speed),
            entity=entity,
            distance=float(distance),
            faces=face,
            is_lasting=is_lasting,
        )
        real.controllers.start(walk)
        return number
