"""The outbox of an app: encoded messages by peer, until the driver drains them at the end of the tick."""

from __future__ import annotations

from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY, Message, Registry, bundles_of


class Outbox:
    """The messages that an app sends during one tick, by peer."""

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry
        self._items: dict[AppId, list[bytes]] = {}

    def send(self, peer: AppId, message: Message) -> int:
        """Encodes a message for `peer` and queues it; later changes of the objects in it have no effect. Returns its
        size in bytes."""
        item = self._registry.encode(message)
        queue = self._items.get(peer)
        if queue is None:
            self._items[peer] = [item]
        else:
            queue.append(item)
        return len(item)

    def drain(self) -> list[tuple[AppId, list[bytes]]]:
        """Empties the outbox: bundles by peer, in the order of the first message to each peer."""
        items, self._items = self._items, {}
        return [(peer, bundles_of(queue)) for peer, queue in items.items()]

    def discard(self, peer: AppId) -> None:
        """Drops the messages for a peer after the loss of its link."""
        self._items.pop(peer, None)
