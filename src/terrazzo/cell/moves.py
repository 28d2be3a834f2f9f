"""What a client says about where its avatar is: believed as far as it can be true.

A move is measured against an allowance in metres that grows with time at the game's top speed, up to one second of it,
so that packets which come late and together do no harm. What is further, out of bounds, or vetoed by the game is
refused: the client is told where it really is, and what it says is ignored until it is near that place again (moves
from before it heard are still on their way). How near is near grows with time: a client whose packets were lost has
walked on meanwhile, and must not be stuck.

    believed ──too far, out of bounds, vetoed──▶ corrected: MOVED was sent, moves from far away are ignored
       ▲                                              │
       └──────────── a move that is near ─────────────┘       (the game moving the avatar leads to corrected, too)
"""

from __future__ import annotations

from math import dist
from typing import TYPE_CHECKING

from terrazzo.schema.vectors import Vector3
from terrazzo.sync.protocol import encode_moved
from terrazzo.wire.pairs.base_cell import Position

if TYPE_CHECKING:
    from terrazzo.cell.real import Real

ALLOWANCE_S = 1.0
NEAR_M = 2.0


class Mover:
    """How far one client may have come."""

    __slots__ = ("_allowance_s", "_at", "corrected_at", "number")

    def __init__(self, now: float) -> None:
        self._at = now
        self._allowance_s = ALLOWANCE_S
        self.corrected_at: float | None = None
        self.number = 0  # of the last move looked at: what a former cell forwards late is older, and passed over

    def _grow(self, now: float) -> None:
        self._allowance_s = min(self._allowance_s + now - self._at, ALLOWANCE_S)
        self._at = now

    def take(self, distance: float, top_speed: float, now: float) -> bool:
        """Whether so many metres are possible by now; if so they are used up."""
        self._grow(now)
        if distance > self._allowance_s * top_speed:
            return False
        self._allowance_s -= distance / top_speed if top_speed > 0 else 0.0
        return True

    def is_near(self, distance: float, top_speed: float, now: float) -> bool:
        """Whether a client at this distance has understood where it was put."""
        assert self.corrected_at is not None
        return distance <= NEAR_M + top_speed * (now - self.corrected_at) / 2


def put(real: Real, position: Position, yaw: float, now: float) -> None:
    """The server moves a real: its client, if it has one, is told."""
    body = real.body
    body.space.place(body, position, yaw)
    correct(real, now)


def correct(real: Real, now: float) -> None:
    """Tells the own client where it is."""
    if real.witness is not None:
        real.witness.pending.append(encode_moved(real.body.position, real.body.yaw))
        real.mover.corrected_at = now


def move(real: Real, position: Position, yaw: float, now: float) -> None:
    """A client says that its avatar is here."""
    body, mover, app = real.body, real.mover, real.body.app
    if real.witness is None or real.is_doomed:
        return
    if not body.space.allows(position) or yaw - yaw != 0:
        if mover.corrected_at is None:
            app.count("move out of bounds", entity=body.id)
            correct(real, now)
        return
    distance, top_speed = dist(position, body.position), app.game.policy.top_speed
    if mover.corrected_at is not None:
        if not mover.is_near(distance, top_speed, now):
            return
        mover.corrected_at = None
    if not mover.take(distance, top_speed, now):
        app.count("move too fast", entity=body.id)
        correct(real, now)
    elif app.run(body, "on_move", real.part.on_move, Vector3(position)) is False:
        correct(real, now)
    elif real.body.real is real and mover.corrected_at is None:  # on_move itself may have put it elsewhere
        body.space.place(body, position, yaw)
