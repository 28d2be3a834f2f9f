"""An entity that only its client moves goes no faster than the game allows, whatever positions the client sends (P7).

Some players cheat now and then: they send positions far away, or outside the world. The engine allows a limited time of
walking at top speed (`_speed/movers`), and the unused part of it is sent along when the real migrates. The judge
computes the same from outside, over all places of an entity in order: if each cell began anew, a client could cheat at
borders. The server moves an entity that rides, jumps or alights: then the judge begins anew. At rest a client has its
entity where the real is: a client that repeats a false position is corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import dist
from typing import NamedTuple

from terrazzo._speed.movers import ALLOWANCE_S
from terrazzo.cell.core.body import Body
from terrazzo.sim.oracle import Broken
from terrazzo.wire.ids import life_of

SLACK_S = 0.3
"""A step is seen when it is closed, which is up to a tick or two after it was allowed."""


class Walk(NamedTuple):
    """The walk of one entity: its last place, and the allowance that is left."""

    life: int
    space: int
    at: float
    position: tuple[float, float, float]
    allowance_s: float


class SpeedLimit:
    """The walks of all entities."""

    def __init__(self, now: Callable[[], float], is_carried: Callable[[int, float], bool]) -> None:
        """`is_carried`: whether the server has moved an entity since a time, or does so now."""
        self.walkers: Collection[str] = ()
        """The types that only their clients move: others are not judged."""
        self._now = now
        self._is_carried = is_carried
        self._walks: dict[int, Walk] = {}

    def step(self, body: Body) -> Broken | None:
        """A real has closed a step; returns what is wrong with its place."""
        if body.kind.schema.name not in self.walkers:
            return None
        now, life, top_speed = self._now(), life_of(body.epoch), body.core.game.policy.top_speed
        walk, allowed_s = self._walks.pop(body.id, None), ALLOWANCE_S + SLACK_S
        if body.ride is not None:
            return None
        is_same = walk is not None and (walk.life, walk.space) == (life, body.space.id)
        if walk is not None and is_same and not self._is_carried(body.id, walk.at):
            way = dist(walk.position, body.position)
            allowed_s = min(walk.allowance_s + now - walk.at, allowed_s) - way / top_speed
            if allowed_s < 0:
                what = f"entity {body.id} went {way:.1f} m in {now - walk.at:.2f} s: {-allowed_s:.2f} s too fast"
                return Broken("P7", what, body.id)
        self._walks[body.id] = Walk(life, body.space.id, now, body.position, allowed_s)
        return None
