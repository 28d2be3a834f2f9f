"""The game of `terrazzo outage`: a player writes a number, and gets it confirmed when it is durable."""

from __future__ import annotations

from terrazzo import BASE_AND_CLIENT, Client, EntityType, Game, Proxy, Space, Text, UInt32, exposed, prop, remote


class Writer(EntityType):
    """A player."""

    name: Text = prop(BASE_AND_CLIENT, saved=True, unique=True, database_length=40)
    written: UInt32 = prop(BASE_AND_CLIENT, saved=True)


class WriterBase(Proxy, of=Writer):
    """Writes what its client says."""

    @exposed
    async def write(self, number: UInt32) -> None:
        """Confirmed when it is durable, and not before."""
        self.written = number
        await self.save()
        self.client.on_written(number)


class WriterClient(Client, of=Writer):
    """The confirmation."""

    @remote
    def on_written(self, number: UInt32) -> None:
        """This number is durable."""


GAME = Game(player=Writer, spaces=[Space("hall", bounds=(-50.0, -50.0, 50.0, 50.0))])
