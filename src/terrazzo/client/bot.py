"""A bot: a client that walks to random points, rests there a little, and chats now and then.

It is driven like the client it has: `tick(now)` once per tick, everything else goes to the client. All its choices come
from the injected randomness, so a seed repeats its life.

    resting ──its time is over──► walking to a point within the bounds ──there──► resting
                                     ▲ the server puts it elsewhere: it goes on from there
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from terrazzo.client.client import ClientApp
from terrazzo.client.parts import Client
from terrazzo.cluster.app import Rng
from terrazzo.game import Bounds
from terrazzo.schema.model import Side
from terrazzo.schema.types import TextType
from terrazzo.sync.protocol import Position

WORDS = ("Hello!", "Nice day.", "Where does this road lead?", "Mind the border.", "I was here first.", "Follow me!")
REST_S_MAX = 3.0
STEP_S_MAX = 0.5
"""A longer pause between two ticks is walked as if it had been this long: no leap after a standstill."""


def say(player: Client, words: str) -> None:
    """Calls `say` with it, if the game has an exposed cell method of this name that takes one text."""
    for method in player._seen.schema.exposed(Side.CELL):
        if method.name == "say" and [type(each.type) for each in method.args] == [TextType]:
            player.cell.say(words)


class Bot:
    """One wanderer. `bounds(space)` gives where it may walk in a space, or None: there it stands still."""

    def __init__(
        self,
        client: ClientApp,
        rng: Rng,
        *,
        bounds: Callable[[int], Bounds | None],
        speed: float = 4.0,
        talk_every_s: float = 30.0,
        words: Sequence[str] = WORDS,
        speak: Callable[[Client, str], None] = say,
    ) -> None:
        self.client = client
        self._rng = rng
        self._bounds = bounds
        self._speed = speed
        self._talk_every_s = talk_every_s
        self._words = words
        self._speak = speak
        self._goal: Position | None = None
        self._space: int | None = None
        self._rest_until = 0.0
        self._talk_at: float | None = None
        self._last_at: float | None = None

    def tick(self, now: float) -> None:
        """One step, and perhaps a word; then the client's own tick."""
        player, space = self.client.player, self.client.view.space
        seconds = 0.0 if self._last_at is None else min(max(now - self._last_at, 0.0), STEP_S_MAX)
        self._last_at = now
        if player is not None and space is not None and self.client.has_body:
            if space != self._space:
                self._goal, self._space = None, space
            self._walk(player, space, seconds, now)
            self._talk(player, now)
        self.client.tick(now)

    def _walk(self, player: Client, space: int, seconds: float, now: float) -> None:
        if self._goal is None:
            bounds = self._bounds(space)
            if now < self._rest_until or bounds is None:
                return
            self._goal = self._choose(bounds, player._seen.position[1])
        x, y, z = player._seen.position
        goal_x, _, goal_z = self._goal
        distance = math.hypot(goal_x - x, goal_z - z)
        step = self._speed * seconds
        if distance <= step:
            self._goal = None
            self._rest_until = now + self._rng.uniform(0.0, REST_S_MAX)
            self.client.move((goal_x, y, goal_z), player._seen.yaw)
        elif step > 0.0:
            yaw = math.atan2(goal_x - x, goal_z - z)
            share = step / distance
            self.client.move((x + (goal_x - x) * share, y, z + (goal_z - z) * share), yaw)

    def _choose(self, bounds: Bounds, height: float) -> Position:
        low_x, low_z, high_x, high_z = bounds
        return (self._rng.uniform(low_x, high_x), height, self._rng.uniform(low_z, high_z))

    def _talk(self, player: Client, now: float) -> None:
        if self._talk_at is not None and now >= self._talk_at:
            self._speak(player, self._rng.choice(self._words))
        if self._talk_at is None or now >= self._talk_at:
            self._talk_at = now + self._rng.uniform(0.5, 1.5) * self._talk_every_s
