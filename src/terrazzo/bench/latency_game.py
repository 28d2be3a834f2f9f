"""The game of `terrazzo bench latency`: players that stand where the benchmark wants them, and answer calls."""

from __future__ import annotations

from terrazzo import Cell, Client, EntityType, Game, Proxy, Space, UInt32, Volatile, build, exposed, remote
from terrazzo.game import LoadedGame, parts_of
from terrazzo.schema.model import Side

Position = tuple[float, float, float]
SPACE = "field"
BOUNDS = (-200.0, -200.0, 200.0, 200.0)


class Runner(EntityType):
    """A player."""

    volatile = Volatile(position=True, yaw=True)


class RunnerBase(Proxy, of=Runner):
    """Brings its body to the next place."""

    places: list[Position]

    def on_client_ready(self) -> None:
        """The first client that is ready gets the first place."""
        self.create_cell(SPACE, self.places.pop(0))


class RunnerCell(Cell, of=Runner):
    """Answers."""

    @exposed
    def ask(self, number: UInt32) -> None:
        """The client measures how long the answer takes."""
        self.client.on_answer(number)


class RunnerClient(Client, of=Runner):
    """The answer."""

    answered: int = 0
    """The last number that was answered."""

    @remote
    def on_answer(self, number: UInt32) -> None:
        """The answer is here."""
        self.answered = number


def game_of(places: list[Position]) -> LoadedGame:
    """The game; each player that comes takes the first of the places that are left."""
    schema = build([Runner]).checked()
    parts = parts_of([Runner])
    base = parts["Runner"][Side.BASE]
    parts["Runner"][Side.BASE] = type(base.__name__, (base,), {"places": places})
    return LoadedGame(schema, Game(player=Runner, spaces=[Space(SPACE, bounds=BOUNDS)], top_speed=1000.0), parts)
