"""What goes from a feed to clients, overheard."""

from collections.abc import Callable

from terrazzo.cell.client.scheduler import UPDATES_BYTES, UPDATES_MAX, ClientScheduler
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ClientUpdates, ToClient


def overhear(feed: ClientScheduler, hear: Callable[[int, int, int], None]) -> Callable[[], None]:
    """Each time that a client is served: `hear(entity, reliable bytes, bytes that may be lost)`. Gives its end."""
    serve, tell = feed.serve, feed.send_reliable
    reliable = 0

    def served(real):
        nonlocal reliable
        reliable, before, feed._updates = 0, feed._updates, {}
        serve(real)
        mine, feed._updates = feed._updates, before
        loose = 0
        for app, rows in mine.items():
            for part in rows.take(UPDATES_MAX, UPDATES_BYTES):
                feed.rows_for(app).extend(part)
                loose += sum(len(message) for update in ClientUpdates(part).read() for message in update.messages)
        hear(real.body.id, reliable, loose)

    def told(witness, payload):
        nonlocal reliable
        message = REGISTRY.decode_nested(payload)
        assert isinstance(message, ToClient)
        reliable += sum(map(len, message.messages))
        return tell(witness, payload)

    vars(feed).update(serve=served, send_reliable=told)

    def end():
        del vars(feed)["serve"], vars(feed)["send_reliable"]

    return end
