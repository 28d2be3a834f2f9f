"""What an entity sees: the entities around it, triggers, and the area of interest of its client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from terrazzo.cell.own import Own, amount, id_of, number_of, vector
from terrazzo.errors import UsageError

TRIGGERS_MAX = 64
ROUNDING_M = 1e-6
"""Sums of metres may be off by that."""


class Sights(Own):
    """The part of the API that looks."""

    def entity(self, entity: int) -> Any:
        """A view of an entity that is known in this cell and in the same space, or None; of itself, this very part."""
        if entity == self._body.id:
            return self
        other = self._body.app.bodies.get(entity)
        return None if other is None or other.space is not self._body.space else other.view

    def entities_in_range(
        self, radius: float, *, of: type[Any] | None = None, position: Iterable[float] | None = None
    ) -> list[Any]:
        """Views of the other entities within so many metres, measured on the ground, nearest first.

        `of` takes only those of a part class (`of=ThingCell`); `position` looks around another point of the space.
        Beyond `ghost_distance_m` (see `Game`) from here, entities of other cells are not known."""
        body, radius = self._body, amount(radius, "a radius, in metres,")
        x, y, z = body.position if position is None else vector(position, "a position")
        return [
            other.view
            for other in body.space.within((x, y, z), radius)
            if other is not body
            and not (other.real is not None and other.real.is_doomed)
            and (of is None or isinstance(other.view, of))
        ]

    def add_proximity(self, radius: float, *, number: int | None = None) -> int:
        """Watches a circle around this entity: `on_proximity_entered` and `on_proximity_left` tell who comes and goes;
        first, who is there already. Types with an appeal radius come in from that much farther. The trigger moves with
        the entity; `cancel` ends it, and a number that is in use begins it anew. Its number."""
        real, most = self._own("watch its surroundings"), self._body.app.game.policy.ghost_distance_m
        if not 0 < amount(radius, "a radius, in metres,") <= most:
            raise UsageError(f"a trigger's radius is above 0 and at most ghost_distance_m ({most:g}), not {radius!r}")
        number = number_of(real, number)
        if number not in real.proximities and len(real.proximities) >= TRIGGERS_MAX:
            raise UsageError(f"an entity has at most {TRIGGERS_MAX} triggers; cancel some")
        self._body.app.interests.cancel(real, number)
        self._body.app.interests.add_proximity(real, radius, number)
        return number

    # What the own client sees.

    @property
    def aoi_radius(self) -> float:
        """How far the client sees, in metres."""
        return self._witness("see").radius

    def set_aoi_radius(self, radius: float, hysteresis: float | None = None) -> None:
        """How far the client sees, and so much further out than it came in an entity leaves again (None: as it is).

        At most `ghost_distance_m` of the game: what is further off may be in a cell that this one knows nothing of."""
        witness, policy = self._witness("see"), self._body.app.game.policy
        if hysteresis is None:
            hysteresis = witness.hysteresis
        radius, hysteresis = amount(radius, "a radius, in metres,"), amount(hysteresis, "a hysteresis, in metres,")
        if not 0 <= radius <= policy.ghost_distance_m:
            raise UsageError(f"a radius is 0 … {policy.ghost_distance_m:g} (ghost_distance_m), not {radius!r}")
        most = policy.ghost_distance_m + policy.area_hysteresis_m - radius
        if not 0 <= hysteresis <= most + ROUNDING_M:
            raise UsageError(f"with a radius of {radius:g} a hysteresis is 0 … {most:g}, not {hysteresis!r}")
        witness.set_radius(radius, hysteresis)

    def entities_in_aoi(self) -> list[Any]:
        """Views of the entities in the client's area of interest, those added by hand included."""
        bodies = self._body.app.bodies
        return [bodies[entity].view for entity in self._witness("see").entities() if entity in bodies]

    def add_to_aoi(self, target: Any) -> None:
        """The client sees this entity (a view, Ref or id) however far away it is, as long as this cell knows it."""
        witness, entity = self._witness("see"), self._known(target)
        witness.add_manual(entity)

    def remove_from_aoi(self, target: Any) -> None:
        """The client sees this entity again only when it is near."""
        self._witness("see").remove_manual(id_of(target))

    def withhold_from_client(self, target: Any, is_withheld: bool = True) -> None:
        """The client is not told of this entity (a view, Ref or id), though it is in its area and as long as it is:
        best done in `on_entered_aoi`, before the client has heard of it. False shows it."""
        self._witness("see").withhold(id_of(target), is_withheld)

    def is_withheld_from_client(self, target: Any) -> bool:
        """Whether the client is not told of this entity."""
        return self._witness("see").is_withheld(id_of(target))
