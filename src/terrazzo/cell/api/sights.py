"""What an entity sees: the entities around it, triggers, and the area of interest of its client."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from terrazzo.cell.api.own import Own, id_of, number_of, place
from terrazzo.errors import UsageError, shown
from terrazzo.schema.arguments import number as plain
from terrazzo.world.place import PLACE_MAX

TRIGGERS_MAX = 64
ROUNDING_M = 1e-6
"""Sums of metres may be off by that."""


class Sights(Own):
    """The part of the API that looks."""

    def entity(self, entity: int) -> Any:
        """A view of an entity that is known in this cell and in the same space, or None; of itself, this very part."""
        if not isinstance(entity, int) or isinstance(entity, bool):
            raise UsageError(f"entity: entity is the id of an entity, a whole number, not {shown(entity)}")
        if entity == self._body.id:
            return self
        other = self._body.core.bodies.get(entity)
        return None if other is None or other.space is not self._body.space else other.view

    def entities_in_range(
        self, radius: float, *, of: type[Any] | None = None, position: Iterable[float] | None = None
    ) -> list[Any]:
        """Views of the other entities within so many metres, measured on the ground, nearest first.

        `of` takes only those of a part class (`of=ThingCell`); `position` looks around another point of the space.
        Beyond `ghost_distance_m` (see `Game`) from here, entities of other cells are not known."""
        body = self._body
        if radius != inf:  # everything that is known here
            radius = plain(radius, "entities_in_range: radius, in metres,", least=0)
        if of is not None and not isinstance(of, type):
            raise UsageError(f"entities_in_range: of is a class of cell parts (of=ThingCell), not {shown(of)}")
        point = body.position if position is None else place(position, "entities_in_range: position")
        return [
            other.view
            for other in body.space.within(point, min(radius, PLACE_MAX))
            if other is not body
            and not (other.real is not None and other.real.is_destroyed)
            and (of is None or isinstance(other.view, of))
        ]

    def add_proximity(self, radius: float, *, number: int | None = None) -> int:
        """Watches a circle around this entity: `on_proximity_entered` and `on_proximity_left` run as entities come and
        go; first for those that are there already. Types with an appeal radius come in from that much farther. The
        trigger moves with the entity; `cancel` ends it, and a number that is in use begins it anew. Its number."""
        real, most = self._own("watch its surroundings"), self._body.core.game.policy.ghost_distance_m
        radius = plain(radius, "add_proximity: radius, up to ghost_distance_m,", above=0, most=most)
        number = number_of(real, number, "add_proximity: number")
        if number not in real.proximities and len(real.proximities) >= TRIGGERS_MAX:
            raise UsageError(f"an entity has at most {TRIGGERS_MAX} triggers; cancel some")
        self._body.core.services.triggers.cancel(real, number)
        self._body.core.services.triggers.add_proximity(real, radius, number)
        return number

    # What the own client sees.

    @property
    def aoi_radius(self) -> float:
        """How far the client sees, in metres."""
        return self._witness("see").radius

    def set_aoi_radius(self, radius: float, hysteresis: float | None = None) -> None:
        """How far the client sees, and so much further out than it came in an entity leaves again (None: as it is).

        At most `ghost_distance_m` of the game: an entity that is further off may have no body in this cell."""
        witness, policy = self._witness("see"), self._body.core.game.policy
        if hysteresis is None:
            hysteresis = witness.hysteresis
        radius = plain(radius, "set_aoi_radius: radius, up to ghost_distance_m,", least=0, most=policy.ghost_distance_m)
        most = policy.ghost_distance_m + policy.area_hysteresis_m - radius
        what = f"set_aoi_radius: hysteresis, with a radius of {radius:g},"
        hysteresis = plain(hysteresis, what, least=0, most=most + ROUNDING_M)
        witness.set_radius(radius, hysteresis)

    def entities_in_aoi(self) -> list[Any]:
        """Views of the entities in the client's area of interest, those added by hand included."""
        bodies = self._body.core.bodies
        return [bodies[entity].view for entity in self._witness("see").entities() if entity in bodies]

    def add_to_aoi(self, target: Any) -> None:
        """The client sees this entity (a view, Ref or id) however far away it is, as long as it has a body in this
        cell."""
        witness, entity = self._witness("see"), self._known(target, "add_to_aoi: target")
        witness.add_manual(entity)

    def remove_from_aoi(self, target: Any) -> None:
        """The client sees this entity again only when it is near."""
        self._witness("see").remove_manual(id_of(target, "remove_from_aoi: target"))

    def withhold_from_client(self, target: Any, is_withheld: bool = True) -> None:
        """The client is not sent this entity (a view, Ref or id), though it is in its area and as long as it is:
        best done in `on_entered_aoi`, before the client was sent it. False shows it."""
        self._witness("see").withhold(id_of(target, "withhold_from_client: target"), bool(is_withheld))

    def is_withheld_from_client(self, target: Any) -> bool:
        """Whether the client is not sent this entity."""
        return self._witness("see").is_withheld(id_of(target, "is_withheld_from_client: target"))
