"""What clients report of the places of their entities, and what becomes of it.

The rows of all clients are given to `_speed/movers` at once, which accepts what can be true: its docstring has the
rules. The rest is decided here:

    too fast, out of bounds      refused: the client is sent where its entity is (MOVED), and its rows are ignored until
                                 one is near that place: earlier ones are still on their way
    the game has an `on_move`    asked; a false result refuses, too (None does not), and so does one that raises
    the entity is a ghost here   passed on to the real, but never back to the app that sent it
    the entity is unknown        dropped: the next row is due in a tick

When the server itself moves a real (an assignment of the game, a controller, a teleport), its client is sent that in
the same way. How far a client may have moved travels with the real (`PackedMover`), so a border is no place to cheat
at.
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from terrazzo._speed.movers import ASK, ROW, TOO_FAST, Movers, Row
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.history import PLACE
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.space import CellSpace
from terrazzo.errors import UsageError
from terrazzo.schema.vectors import Vector3
from terrazzo.sync.protocol import encode_moved
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import Direction, Moves, Position
from terrazzo.wire.pairs.cell_cell import PackedMover


class ClientMoves:
    """The moves of the clients of one app's reals."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._rows: list[tuple[AppId, bytes]] = []
        self._movers: dict[int, tuple[CellSpace, Movers]] = {}
        self._inside: dict[int, tuple[Movers, int]] = {}
        """Per entity: where its mover is."""

    # Which reals have a client.

    def enter(self, real: Real) -> None:
        """A real has a client from now on, or has come here with one; `real.mover` has how far it may
        move. A rider goes where the vehicle goes, whatever its client sends."""
        if real.body.ride is not None:
            return
        space, slot = real.body.space, real.body.slot
        if space.id not in self._movers:
            self._movers[space.id] = (space, Movers(space.area))
        _, movers = self._movers[space.id]
        self._inside[real.body.id] = (movers, slot)
        movers.enter(slot, *real.mover, self._core.host.now, "on_move" in real.body.kind.hooks)

    def leave(self, real: Real) -> None:
        """It has none any more, or goes; `real.mover` keeps what is known of it. Once too often does no harm."""
        real.mover = self.pack(real)
        inside = self._inside.pop(real.body.id, None)
        if inside is not None:
            movers, slot = inside
            movers.leave(slot)

    def pack(self, real: Real) -> PackedMover:
        """What it may, at rest."""
        inside = self._inside.get(real.body.id)
        if inside is None:
            return real.mover
        movers, slot = inside
        return PackedMover(*movers.pack(slot, self._core.host.now))

    def forget(self, space: int) -> None:
        """A space is no longer here, and no real of it."""
        self._movers.pop(space, None)

    # What the server does.

    def put(self, real: Real, position: Position, direction: Direction) -> None:
        """The server moves a real, and its client, if it has one, is sent the place."""
        body = real.body
        body.space.area.put(body.slot, position, direction)
        if real.witness is not None:
            self.correct(real)

    def correct(self, real: Real) -> None:
        """Sends the own client its place."""
        if real.witness is not None:
            real.witness.sent.add_own_message(PLACE, encode_moved(real.body.position, real.body.direction))
            self.hold(real)

    def hold(self, real: Real) -> None:
        """The client was sent its place, and its rows are ignored until one is near that."""
        inside = self._inside.get(real.body.id)
        if inside is not None:
            movers, slot = inside
            movers.correct(slot, self._core.host.now)

    # What the clients send.

    def on_moves(self, source: AppId, message: Moves) -> None:
        """They wait for the tick."""
        if len(message.rows) % ROW.size:
            self._core.count(LogEvent.MOVES_MALFORMED, source=str(source), size=len(message.rows))
        else:
            self._rows.append((source, message.rows))

    def run(self) -> None:
        """Takes what has come since the last tick."""
        rows, self._rows = self._rows, []
        now, top_speed = self._core.host.now, self._core.game.policy.top_speed
        for source, rest in rows:
            for space, movers in list(self._movers.values()):
                if not rest:
                    break
                seen, rest = movers.take(rest, now, top_speed, space.bounds)
                for kind, row in seen:
                    real = self._core.reals.get(row.entity)
                    if real is not None:
                        self._core.confine(real.body, "move of its client", self._see, real, kind, row)
            self._pass_on(source, rest)

    def _see(self, real: Real, kind: int, row: Row) -> None:
        """A move that was not simply accepted."""
        core = self._core
        if real.is_destroyed or real.witness is None:
            return
        if kind != ASK:
            core.count(LogEvent.MOVE_TOO_FAST if kind == TOO_FAST else LogEvent.MOVE_OUT_OF_BOUNDS, entity=row.entity)
            self.correct(real)
        elif not core.run(real.body, "on_move", _allows, real, row.position):  # a hook that raises has not allowed it
            self.correct(real)
        elif not self._is_held(real):  # on_move itself may have put it elsewhere
            real.body.space.place(real.body, row.position, row.direction)

    def _is_held(self, real: Real) -> bool:
        inside = self._inside.get(real.body.id)
        return inside is None or inside[0].is_corrected(inside[1])

    def _pass_on(self, source: AppId, rows: bytes) -> None:
        """Rows for ghosts are sent on to their reals."""
        passed: dict[AppId, list[bytes]] = {}
        for at in range(0, len(rows), ROW.size):
            body = self._core.bodies.get(ROW.unpack_from(rows, at)[0])
            if body is not None and body.real is None and body.real_app not in (self._core.me, source):
                passed.setdefault(body.real_app, []).append(rows[at : at + ROW.size])
        for app, several in passed.items():
            self._core.send(app, Moves(b"".join(several)))


def _allows(real: Real, position: Position) -> bool:
    """Whether the game allows a move."""
    answer: Any = real.part.on_move(Vector3(position))
    if isinstance(answer, CoroutineType):  # a wrapper may hide one from where the class is made
        answer.close()
        raise UsageError("on_move cannot be async: its answer is needed at once")
    return answer is None or bool(answer)
