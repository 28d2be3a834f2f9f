"""Records which unreliable messages about which entity have not reached which client (P4).

    cell ──ClientUpdates──▶ BaseApp ──datagram──▶ client's view
              │ from a former home of the cell part, or           │ sent before a name began, or after it
              │ before the client has its body: dropped            │ (`sync.turns`): skipped
              ▼                                                   ▼
            lost                     overtaken, dropped: lost    lost

Even without faults some are lost in these ways. A lost message about an entity excuses an old value of an unreliable
property of that entity, for that client, until the entity is described to it anew. It excuses nothing of another
entity, and nothing for another client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.proxy import ProxyEntity
from terrazzo.sync.protocol import OWN, ToClient, take_alias
from terrazzo.sync.view import ClientView
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates


class LostMessages:
    """The lost unreliable messages of one world."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lost: dict[tuple[int, int], float] = {}
        """By client (its own entity) and entity: the time of the last loss."""
        self._sent: dict[int, dict[bytes, tuple[int, float]]] = {}
        """By client: the messages that were sent and have not arrived, with the entity and the time of sending."""

    def lost_at(self, own: int, entity: int) -> float:
        """The time of the last loss of a message about an entity to this client."""
        sent = self._sent.get(own, {}).values()
        return max([self._lost.get((own, entity), -inf), *(at for other, at in sent if other == entity)])

    def count(self) -> int:
        """The number of pairs of client and entity with a loss."""
        return len({*self._lost, *((own, entity) for own, sent in self._sent.items() for entity, _ in sent.values())})

    # BaseApps.

    def watch_base(self, app: BaseApp) -> None:
        """Notes the messages that a BaseApp drops, and those that it sends."""
        handler = app._handlers[ClientUpdates]
        watched: set[ProxyEntity] = set()

        def heard(source: AppId, message: ClientUpdates) -> None:
            for update in message.read():
                proxy = app.bases.get(update.entity)  # type: ignore[call-overload]
                if isinstance(proxy, ProxyEntity):
                    if proxy not in watched:
                        watched.add(proxy)
                        self._watch_proxy(app, proxy)
                    if source != proxy.cell.home:
                        self._lose(proxy, update.messages)
            handler(source, message)

        app.on(ClientUpdates, heard)

    def _watch_proxy(self, app: BaseApp, proxy: ProxyEntity) -> None:
        pass_updates, send_loose = proxy.pass_updates, proxy._send_loose

        def passed() -> bool:
            before: list[ClientUpdate] = list(proxy.updates)
            dropped = app.counts.old_mail
            is_done = pass_updates()
            if app.counts.old_mail != dropped:
                for update in before[: len(before) - len(proxy.updates)]:
                    self._lose(proxy, update.messages)
            return is_done

        def sent(message: bytes) -> None:
            for entity in () if proxy.shown.has_to_wait(message) else _entities(proxy, [message]):
                marked = proxy.shown.turns.mark(message)
                self._sent.setdefault(proxy.id, {})[marked] = (entity, self._now())
            send_loose(message)

        proxy.row.is_direct = False
        vars(proxy)["pass_updates"] = passed
        vars(proxy)["_send_loose"] = sent

    def _lose(self, proxy: ProxyEntity, messages: Iterable[bytes]) -> None:
        for entity in _entities(proxy, messages):
            self._lost[proxy.id, entity] = self._now()

    # Clients.

    def watch_view(self, view: ClientView) -> None:
        """Notes the messages that reach a client."""
        on_loose = view._actions[ToClient.LOOSE]

        def heard(number: int, body: bytes) -> Iterator[Any]:
            late = view.late
            yield from on_loose(number, body)
            if view.player is not None and view.late == late:
                self._sent.get(view.player.id, {}).pop(bytes([number]) + body, None)

        view._actions[ToClient.LOOSE] = heard


def _entities(proxy: ProxyEntity, messages: Iterable[bytes]) -> Iterator[int]:
    """The entities of changes and calls, as far as the client has them; places are left out, since they are
    repeated."""
    for message in messages:
        if message and message[0] != ToClient.PLACES:
            alias = take_alias(message[1:])[0]
            entity = proxy.id if alias == OWN else proxy.shown._held.get(alias)
            if entity is not None:
                yield entity
