"""What a walker keeps of the world, and how it walks: no entities, only its own place and what it has to answer.

Of what a BaseApp sends, a walker reads only this (`KINDS_READ`):

    cell player, space, moved, cell lost     its own place
    announce                                 it wants the entity described
    leave, space, cell lost                  it releases the aliases that have ended
    session                                  nothing follows: it is only kept apart from what is counted

It walks straight on at SPEED and turns now and then, within the bounds of its space; without bounds it stands still,
and sends its place. In `terrazzo bench base` the height of a move is its number (`is_numbered`), which the stand-in of
the CellApp counts.
"""

from __future__ import annotations

from math import cos, pi, sin
from struct import Struct

from terrazzo.cluster.app import Rng
from terrazzo.game import Bounds
from terrazzo.sync.protocol import RELEASED_MAX, WANTS_MAX, ToClient, ToServer, encode_released, encode_want

SPEED = 5.0
TURNS = 0.02
"""How likely a walker turns, in each tick."""

KINDS_READ = bytes(
    (
        ToClient.SESSION,
        ToClient.CELL_LOST,
        ToClient.BASE_PLAYER,
        ToClient.CELL_PLAYER,
        ToClient.SPACE,
        ToClient.ANNOUNCE,
        ToClient.LEAVE,
        ToClient.MOVED,
        ToClient.LOGGED_OFF,
    )
)
"""The messages that a walker needs, or that whatever drives it needs; the others may be muted."""

_MOVE = Struct("<B6f")
_PLACE = Struct("<3f")
_MOVED_AT, _BODY_AT = 1, 5


class RandomWalk:
    """The walk of one walker."""

    __slots__ = ("_held", "_is_numbered", "_released", "_rng", "_wants", "moves", "space", "x", "y", "yaw", "z")

    def __init__(self, rng: Rng, *, is_numbered: bool = False) -> None:
        self.space: int | None = None
        """The number of the space that the own entity has its body in."""
        self.x = self.y = self.z = 0.0
        self.yaw = rng.uniform(-pi, pi)
        self.moves = 0
        self._rng = rng
        self._is_numbered = is_numbered
        self._held: set[int] = set()
        self._wants: list[tuple[int, int]] = []
        self._released: list[int] = []

    def step(self, bounds: Bounds | None, seconds: float) -> bytes:
        """Goes on for so long; gives the message with the new place."""
        if bounds is not None:
            low_x, low_z, high_x, high_z = bounds
            if self._rng.uniform(0.0, 1.0) < TURNS:
                self.yaw = self._rng.uniform(-pi, pi)
            x, z = self.x + sin(self.yaw) * SPEED * seconds, self.z + cos(self.yaw) * SPEED * seconds
            if low_x < x < high_x and low_z < z < high_z:
                self.x, self.z = x, z
            else:
                self.yaw = self._rng.uniform(-pi, pi)
        self.moves += 1
        height = float(self.moves) if self._is_numbered else self.y
        return _MOVE.pack(ToServer.MOVE, self.x, height, self.z, self.yaw, 0.0, 0.0)

    def on_message(self, message: bytes) -> None:
        """Takes a message of the BaseApp; one that is cut off is ignored."""
        number = message[0] if message else -1
        if number == ToClient.ANNOUNCE and len(message) >= 6:
            self._wants.append((int.from_bytes(message[1:5], "little", signed=True), 0))
            self._held.add(_alias(message, 5))
        elif number == ToClient.LEAVE:
            self._release({_alias(message, 1)})
        elif number in (ToClient.CELL_PLAYER, ToClient.SPACE) and len(message) >= 29:
            self._release(set(self._held))
            self.space = int.from_bytes(message[1:5], "little")
            self.x, self.y, self.z = _PLACE.unpack_from(message, _BODY_AT)
        elif number == ToClient.MOVED and len(message) >= 25:
            self.x, self.y, self.z = _PLACE.unpack_from(message, _MOVED_AT)
        elif number == ToClient.CELL_LOST:
            self._release(set(self._held))
            self.space = None

    def begin_anew(self) -> None:
        """The client has resumed: its body and all aliases come again."""
        self.space = None
        self._held.clear()
        self._wants.clear()
        self._released.clear()

    def take_answers(self) -> list[bytes]:
        """The reliable messages that answer what has come since the last call."""
        if not self._wants and not self._released:
            return []
        wants, self._wants = self._wants, []
        released, self._released = self._released, []
        return [
            *(encode_released(released[at : at + RELEASED_MAX]) for at in range(0, len(released), RELEASED_MAX)),
            *(encode_want(wants[at : at + WANTS_MAX]) for at in range(0, len(wants), WANTS_MAX)),
        ]

    def _release(self, aliases: set[int]) -> None:
        self._released += aliases
        self._held -= aliases


def _alias(message: bytes, at: int) -> int:
    short = message[at] if at < len(message) else 0
    return short if short < 255 else int.from_bytes(message[at + 1 : at + 3], "little")
