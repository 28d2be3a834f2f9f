"""A walker: a client that walks about and does what a server needs of a client, but keeps no view of the world.

It logs in, joins and leaves as every client does (`link.py`). Of what the BaseApp sends it reads only this:

    base player, cell player, space, moved, cell lost     its own place
    announce                                              it wants the entity described
    leave, space, cell lost                               it releases the aliases that have ended
    places                                                counted, with the time since the last one

So it costs a fraction of a bot, and the server does for it all that it does for a player. It walks straight on at
`SPEED` and turns now and then, within the bounds of its space; without bounds it stands still, and sends its place.

`Sights` counts what all walkers of a process have seen. In `terrazzo bench base` the stand-in of the CellApp numbers
its updates in the reference height of PLACES (`is_numbered`): then missing ones are counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import cos, pi, sin
from struct import Struct
from typing import Any

from terrazzo.client.link import ClientLink, Phase
from terrazzo.cluster.app import Rng
from terrazzo.game import Bounds
from terrazzo.sync.protocol import RELEASED_MAX, WANTS_MAX, ToClient, ToServer, encode_released, encode_want

SPEED = 5.0
TURNS = 0.02
"""How likely a walker turns, in each tick."""
GAP_MS_MAX = 10_000
"""Longer times between two updates are counted as this long."""

_PLACE = Struct("<B6f")
_BODY_PLACE = Struct("<3f")
_HEIGHT = Struct("<f")
_HEIGHT_AT, _BODY_PLACE_AT, _MOVED_AT = 8, 5, 1


class Sights:
    """What the walkers of one process have seen and sent."""

    def __init__(self) -> None:
        self.updates = 0
        """PLACES messages."""
        self.updates_lost = 0
        """Of numbered updates, those that have not arrived."""
        self.words = 0
        """Reliable messages."""
        self.moves = 0
        self.gaps_ms = array("Q", bytes(8 * (GAP_MS_MAX + 1)))
        """How often two updates of one walker came so many milliseconds apart."""

    def take_gaps(self) -> list[tuple[int, int]]:
        """(milliseconds, how often) since the last call; what never happened is left out."""
        found = [(ms, count) for ms, count in enumerate(self.gaps_ms) if count]
        self.gaps_ms = array("Q", bytes(8 * (GAP_MS_MAX + 1)))
        return found


class Walker(ClientLink):
    """One walker."""

    def __init__(
        self,
        sights: Sights,
        rng: Rng,
        *,
        bounds: Callable[[int], Bounds | None],
        is_numbered: bool = False,
        **link: Any,
    ) -> None:
        """`bounds(space)` gives where it may walk in a space; `link` is for `ClientLink`."""
        super().__init__(**link)
        self._sights = sights
        self._rng = rng
        self._bounds = bounds
        self._is_numbered = is_numbered
        self._space: int | None = None
        self._x = self._y = self._z = 0.0
        self._yaw = rng.uniform(-pi, pi)
        self._held: set[int] = set()
        self._wants: list[tuple[int, int]] = []
        self._released: list[int] = []
        self._updated_at: float | None = None
        self._sequence = 0
        self._moves = 0

    @property
    def has_body(self) -> bool:
        """Whether the own entity is in a space."""
        return self.phase is Phase.PLAYING and self._space is not None

    @property
    def round_trip_s(self) -> float | None:
        """The smoothed round trip to the BaseApp; None before it was measured."""
        session = None if self._base is None else self._base.session
        if session is None or not session.channel.recovery.samples:
            return None
        return session.channel.recovery.smoothed_s

    @property
    def packets_lost(self) -> int:
        """Packets to the BaseApp that were sent and count as lost."""
        session = None if self._base is None else self._base.session
        return 0 if session is None else session.channel.recovery.lost

    # For a driver.

    def tick(self, now: float) -> None:
        """A step, and the move that tells it."""
        if not self.has_body or self._space is None:
            return
        bounds = self._bounds(self._space)
        if bounds is not None:
            self._walk(bounds)
        self._moves += 1
        self._sights.moves += 1
        height = float(self._moves) if self._is_numbered else self._y
        move = _PLACE.pack(ToServer.MOVE, self._x, height, self._z, self._yaw, 0.0, 0.0)
        self._send(move, reliable=False)

    def _walk(self, bounds: Bounds) -> None:
        low_x, low_z, high_x, high_z = bounds
        if self._rng.uniform(0.0, 1.0) < TURNS:
            self._yaw = self._rng.uniform(-pi, pi)
        step = SPEED * 0.1
        x, z = self._x + sin(self._yaw) * step, self._z + cos(self._yaw) * step
        if low_x < x < high_x and low_z < z < high_z:
            self._x, self._z = x, z
        else:
            self._yaw = self._rng.uniform(-pi, pi)

    # What the server tells.

    def _on_messages(self, messages: list[bytes], now: float) -> None:
        for message in messages:
            if message[:1] == _PLACES:
                self._on_places(message, now)
            else:
                self._sights.words += 1
                self._on_word(message, now)
        if (self._wants or self._released) and self.phase is Phase.PLAYING:
            self._answer()

    def _on_places(self, message: bytes, now: float) -> None:
        sights = self._sights
        sights.updates += 1
        if self._updated_at is not None:
            sights.gaps_ms[min(int((now - self._updated_at) * 1000), GAP_MS_MAX)] += 1
        self._updated_at = now
        if self._is_numbered and len(message) >= _HEIGHT_AT + 4:
            sequence = int(_HEIGHT.unpack_from(message, _HEIGHT_AT)[0])
            sights.updates_lost += max(sequence - self._sequence - 1, 0)
            self._sequence = sequence

    def _on_word(self, message: bytes, now: float) -> None:
        number = message[0] if message else -1
        if number == ToClient.ANNOUNCE and len(message) >= 6:
            self._wants.append((int.from_bytes(message[1:5], "little", signed=True), 0))
            self._held.add(_alias(message, 5))
        elif number == ToClient.LEAVE:
            self._release(_alias(message, 1))
        elif number == ToClient.BASE_PLAYER:
            self._on_player()
        elif number in (ToClient.CELL_PLAYER, ToClient.SPACE) and len(message) >= 29:
            self._release(*self._held)
            self._space = int.from_bytes(message[1:5], "little")
            self._x, self._y, self._z = _BODY_PLACE.unpack_from(message, _BODY_PLACE_AT)
            self._sequence, self._updated_at = 0, None
        elif number == ToClient.MOVED and len(message) >= 25:
            self._x, self._y, self._z = _BODY_PLACE.unpack_from(message, _MOVED_AT)
        elif number == ToClient.CELL_LOST:
            self._release(*self._held)
            self._space = self._updated_at = None
        elif number == ToClient.LOGGED_OFF:
            self._space = None
            self._on_logged_off(message[2:].decode(errors="replace"), now)

    def _release(self, *aliases: int) -> None:
        self._released += aliases
        self._held.difference_update(aliases)

    def _answer(self) -> None:
        released, self._released = self._released, []
        wants, self._wants = self._wants, []
        for at in range(0, len(released), RELEASED_MAX):
            self._send(encode_released(released[at : at + RELEASED_MAX]))
        for at in range(0, len(wants), WANTS_MAX):
            self._send(encode_want(wants[at : at + WANTS_MAX]))


_PLACES = bytes([ToClient.PLACES])


def _alias(message: bytes, at: int) -> int:
    short = message[at] if at < len(message) else 0
    return short if short < 255 else int.from_bytes(message[at + 1 : at + 3], "little")
