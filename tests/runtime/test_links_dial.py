"""A dial that is called off in the moment in which it succeeds: the narrowest window of a connection's life."""

from random import Random
from typing import Any

from terrazzo.runtime.links import LinkTransport, TcpPlace, UnixPlace
from terrazzo.wire.ids import AppId, AppKind
from tests.runtime.support import on_both_loops, play

PEER = AppId(AppKind.CELL_APP, 1, 1)


class ConnectionListener:
    """Records what it receives."""

    def __init__(self):
        self.heard: list[str] = []

    def on_accepted(self, number):
        self.heard.append("accepted")

    def on_opened(self, number):
        self.heard.append("opened")

    def on_closed(self, number):
        self.heard.append("closed")

    def on_data(self, number, data):
        self.heard.append("data")


class Hasty(LinkTransport):
    """Cancels each of its dials as soon as it is open, before the dialling task goes on."""

    def on_made(self, connection):
        super().on_made(connection)
        if connection.dialled:
            self.close(connection.number)


@on_both_loops
def test_a_dial_called_off_as_it_succeeds_leaves_nothing(loop, tmp_path):
    async def main():
        quiet: Any = {"log": lambda *_, **__: None, "rng": Random(1)}
        other = LinkTransport(ConnectionListener(), lambda _: None, **quiet)
        places = [await other.listen(UnixPlace(str(tmp_path / "other"))), await other.listen(TcpPlace("127.0.0.1", 0))]
        for place in places:
            listener = ConnectionListener()
            hasty = Hasty(listener, {PEER: place}.get, **quiet)
            hasty.dial(PEER)
            await hasty._gone.wait()
            await hasty.stop()
            assert listener.heard == [], "it was called off"
        await other.stop()

    play(loop, main())
