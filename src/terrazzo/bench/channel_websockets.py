"""A rival of `terrazzo bench channel`: websockets, asyncio implementation, compression off, not encrypted.

One message is one WebSocket message: `await send(message)` and `async for message in connection`, on uvloop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from terrazzo.bench.channel_load import THE_PING, Tally, batches, timed_trips


class Websockets:
    """See above."""

    batch = 16

    async def serve(self, on_ready: Callable[[str], None]) -> None:
        """Every connection has a tally of its own."""

        async def handle(connection: ServerConnection) -> None:
            tally = Tally()
            async for message in connection:
                assert isinstance(message, bytes)
                for answer in tally.take((message,)):
                    await connection.send(answer)

        async with serve(handle, "127.0.0.1", 0, compression=None) as server:
            on_ready(str(next(iter(server.sockets)).getsockname()[1]))
            await asyncio.Event().wait()

    async def connect(self, place: str) -> None:
        """See Contender."""
        self._connection = await connect(f"ws://127.0.0.1:{place}", compression=None)

    async def close(self) -> None:
        """See Contender."""
        await self._connection.close()

    async def flood(self, count: int) -> bytes:
        """See Contender."""
        send = self._connection.send
        for batch in batches(count, self.batch):
            for message in batch:
                await send(message)
        return await self._receive()

    async def round_trips(self, count: int) -> list[float]:
        """See Contender."""
        return await timed_trips(count, self._trip)

    async def _trip(self) -> None:
        await self._connection.send(THE_PING)
        await self._receive()

    async def _receive(self) -> bytes:
        answer = await self._connection.recv()
        assert isinstance(answer, bytes)
        return answer
