"""The game of `terrazzo attack`: a player with a cell part that answers its calls, and a walker that never stands."""

from __future__ import annotations

from random import Random
from typing import Any

from terrazzo import Base, Cell, Client, EntityType, Game, Proxy, Space, UInt32, Volatile, exposed, remote

BOUNDS = (-50.0, -50.0, 50.0, 50.0)


class Player(EntityType):
    """A player."""

    volatile = Volatile(position=True, yaw=True)


class Walker(EntityType):
    """Gives every client something to see in every tick."""

    volatile = Volatile(position=True, yaw=True)


class PlayerBase(Proxy, of=Player):
    """Brings its body in."""

    def on_client_ready(self) -> None:
        """Somewhere near the middle."""
        start = Random(self.id)
        self.create_cell("field", (start.uniform(-20, 20), 0.0, start.uniform(-20, 20)))


class PlayerCell(Cell, of=Player):
    """Answers."""

    @exposed
    def act(self, number: UInt32) -> None:
        """An action; the player waits for its result."""
        self.client.on_done(number)


class PlayerClient(Client, of=Player):
    """The answer."""

    @remote
    def on_done(self, number: UInt32) -> None:
        """The action is done."""


class WalkerBase(Base, of=Walker):
    """Nothing to do."""


class WalkerCell(Cell, of=Walker):
    """Walks to and fro."""

    def on_created(self) -> None:
        """The first walk."""
        self.move_to((20.0, 0.0, 0.0), speed=2.0)

    def on_reached(self, number: int) -> None:
        """Back again."""
        self.move_to((-20.0 if self.position[0] > 0 else 20.0, 0.0, 0.0), speed=2.0)


def populate(server: Any) -> None:
    """One walker."""
    server.create("Walker", space="field", position=(0.0, 0.0, 0.0))


GAME = Game(player=Player, spaces=[Space("field", bounds=BOUNDS)], on_ready=populate)
