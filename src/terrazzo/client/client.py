"""The client program: a client (`link.py`) that keeps a view of the world and runs the game's client parts.

    tick(now)    the latest move goes out, once per tick; for the rest see `link.py`

Moves are unreliable, so the latest one is repeated every second for as long as nothing newer is there. What is sent is
where the own entity is at that moment: a place that the server gave replaces one that has not been sent. What the view
has to answer (`view.answers`) goes out with what follows a packet: at once.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.client.game import ClientGame
from terrazzo.client.link import Address, ClientLink, Phase, silent
from terrazzo.client.parts import Client
from terrazzo.client.stage import Stage
from terrazzo.schema.arguments import vector
from terrazzo.schema.model import Method, Side
from terrazzo.sync.protocol import Position, encode_move, with_entity
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import (
    BasePlayer,
    Seen,
    ViewEnded,
    ViewEvent,
    Violation,
)
from terrazzo.wire.client import CLIENT, UDP, Settings, Suite, Transport
from terrazzo.wire.client.session import Entropy
from terrazzo.wire.environment import Log
from terrazzo.wire.log_events import LogEvent

MOVE_REPEAT_S = 1.0
COORDINATE_MAX = 3.0e38


class ClientApp(ClientLink):
    """One client of a cluster."""

    def __init__(
        self,
        game: ClientGame,
        *,
        login: Address,
        server_key: bytes,
        name: str,
        password: str,
        entropy: Entropy,
        now: float,
        transport: Transport = UDP,
        suite: Suite = Suite.CHACHA20_POLY1305,
        settings: Settings = CLIENT,
        log: Log = silent,
        listener: Callable[[ViewEvent], None] | None = None,
        may_wait: bool = False,
    ) -> None:
        """`listener` gets every event of the view, after the game's code. Without one there are no
        events of moves of those types that the game has no `on_moved` for."""
        super().__init__(
            digest=game.digest, login=login, server_key=server_key, name=name, password=password, entropy=entropy,
            now=now, transport=transport, suite=suite, settings=settings, log=log, may_wait=may_wait,
        )  # fmt: skip
        self.view = (
            ClientView(game.methods) if listener is not None else ClientView(game.methods, asks_moves=game.asks_moves)
        )
        self._game = game
        self._stage = Stage(game, self, log)
        self._listener = listener
        self._move_waits = False
        self._move_sent_at = now

    # What a program or a game does with it.

    @property
    def parts(self) -> dict[int, Client]:
        """The client parts of the entities that are there, by id."""
        return self._stage.parts

    @property
    def player(self) -> Client | None:
        """The client part of the own entity."""
        return None if self.view.player is None else self.parts.get(self.view.player.id)

    @property
    def has_body(self) -> bool:
        """Whether the own entity is in a space."""
        return self.phase is Phase.PLAYING and self.view.space is not None

    def move(self, position: Position, yaw: float = 0.0, *, pitch: float = 0.0, roll: float = 0.0) -> bool:
        """The own entity goes here; the latest place is sent to the server once per tick. False without a body, and
        while it rides on another: then it goes where that goes."""
        x, y, z = vector(position, "move: position", most=COORDINATE_MAX)
        direction = vector((yaw, pitch, roll), "move: yaw, pitch and roll", most=COORDINATE_MAX)
        if not self.has_body or self.view.player is None or self.view.player.ride is not None:
            return False
        for event in self.view.move_own((x, y, z), direction):
            self._stage.play(event)
        self._move_waits = True
        return True

    def is_player(self, entity: Seen) -> bool:
        """Whether it is the own entity."""
        return entity is self.view.player

    def call(self, entity: Seen, side: Side, method: Method, args: bytes) -> bool:
        """Send a call; `part.cell.method(…)` and `part.base.method(…)` come here."""
        if self.phase is not Phase.PLAYING or (side is Side.CELL and self.view.space is None):
            return False
        if self.view.find(entity.id) is not entity:
            return False
        message = self._game.methods.encode_call(entity.schema, side, method.name, args, component=method.component)
        return self._send(with_entity(entity.id, message), reliable=method.is_reliable)

    # What a driver does with it.

    def tick(self, now: float) -> None:
        """The time of the game moves on: send where the own entity is."""
        player = self.view.player
        if not self.has_body or player is None:
            return
        if self._move_waits or now >= self._move_sent_at + MOVE_REPEAT_S:
            self._move_waits = False
            self._move_sent_at = now
            self._send(encode_move(player.position, player.direction), reliable=False)

    # What the server sends.

    def _on_messages(self, messages: list[bytes], now: float) -> None:
        for message in messages:
            for each in self.view.apply(message):
                self._on_view_event(each, now)
        if self.phase is Phase.PLAYING:
            for answer in self.view.answers():
                self._send(answer)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        for event in self.view.begin_anew():
            self._stage.play(event)
            if self._listener is not None:
                self._listener(event)
        self._move_waits = False

    def _on_view_event(self, event: ViewEvent, now: float) -> None:
        if isinstance(event, Violation):
            facts = {"fault": event.fault.value, "message": event.number, "entity": event.entity, "text": event.text}
            self.log(LogEvent.CLIENT_VIOLATION, name=self.name, **facts)
        elif isinstance(event, ViewEnded):
            self._on_logged_off(event.text, now)
        else:
            if isinstance(event, BasePlayer):
                self._on_player()
            self._stage.play(event)
        if self._listener is not None:
            self._listener(event)
