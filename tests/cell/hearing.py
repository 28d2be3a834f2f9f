"""What goes from a feed to clients, overheard."""

from collections.abc import Callable

from terrazzo.cell.client.scheduler import ClientScheduler
from terrazzo.wire.pairs.base_cell import ToClient


def overhear(feed: ClientScheduler, hear: Callable[[int, int, int], None]) -> Callable[[], None]:
    """Each time that a client is served: `hear(entity, reliable bytes, bytes that may be lost)`. Gives its end."""
    serve, tell_base = feed.serve, feed.tell_base
    reliable = 0

    def served(real):
        nonlocal reliable
        reliable, before, feed._updates = 0, feed._updates, {}
        serve(real)
        mine, feed._updates = feed._updates, before
        for app, updates in mine.items():
            feed._updates.setdefault(app, []).extend(updates)
        loose = sum(len(message) for updates in mine.values() for update in updates for message in update.messages)
        hear(real.body.id, reliable, loose)

    def told_base(real, message):
        nonlocal reliable
        if isinstance(message, ToClient):
            reliable += sum(map(len, message.messages))
        tell_base(real, message)

    vars(feed).update(serve=served, tell_base=told_base)

    def end():
        del vars(feed)["serve"], vars(feed)["tell_base"]

    return end
