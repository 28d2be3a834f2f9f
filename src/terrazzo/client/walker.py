"""A walker as a program of its own, over any transport: it logs in, walks and leaves. `herd.py` has many over UDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.client.link import ClientLink, Phase
from terrazzo.client.sights import SightCounts
from terrazzo.client.walk import RandomWalk
from terrazzo.cluster.app import Rng
from terrazzo.game import Bounds
from terrazzo.sync.protocol import ToClient


class Walker(ClientLink):
    """One walker."""

    def __init__(
        self,
        sights: SightCounts,
        rng: Rng,
        *,
        bounds: Callable[[int], Bounds | None],
        tick_s: float = 0.1,
        is_numbered: bool = False,
        **link: Any,
    ) -> None:
        """`bounds(space)` gives where it may walk in a space; `link` is for `ClientLink`."""
        super().__init__(**link)
        self._sights = sights
        self._bounds = bounds
        self._tick_s = tick_s
        self._walk = RandomWalk(rng, is_numbered=is_numbered)
        self._updated_at: float | None = None

    @property
    def has_body(self) -> bool:
        """Whether the own entity is in a space."""
        return self.phase is Phase.PLAYING and self._walk.space is not None

    @property
    def round_trip_s(self) -> float | None:
        """The smoothed round trip to the BaseApp; None before it was measured."""
        session = None if self._base is None else self._base.session
        return None if session is None else session.round_trip_s

    def tick(self, now: float) -> None:
        """A step, and the move message for it."""
        space = self._walk.space
        if space is not None and self.has_body:
            self._sights.moves += 1
            self._send(self._walk.step(self._bounds(space), self._tick_s), reliable=False)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._walk.begin_anew()

    def _on_messages(self, messages: list[bytes], now: float) -> None:
        for message in messages:
            number = message[0] if message else -1
            if number == ToClient.PLACES:
                self._sights.note_update(self._updated_at, now)
                self._updated_at = now
            elif number == ToClient.BASE_PLAYER:
                self._on_player()
            elif number == ToClient.LOGGED_OFF:
                self._on_logged_off(message[2:].decode(errors="replace"), now)
            else:
                self._walk.on_message(message)
        if self.phase is Phase.PLAYING:
            for answer in self._walk.take_answers():
                self._send(answer)
