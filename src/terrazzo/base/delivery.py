"""Passes on what CellApps send for clients: the mail of cell parts, and unreliable updates.

Both come for thousands of clients in every tick, so the usual case is decided here, by the client table
(`client_row.py`), and the proxy is not asked:

    mail      of the own cell part, a ToClient for the present witness                  → the session
    update    from the home of the cell part, for the present witness, with no mail
              before it that the client has not got, and no update that waits           → the session

Every other letter is the proxy's (`on_mail`), and every other update is given back to the app, which decides about it
in the same order (`proxy.keep_update`, `proxy.pass_updates`). What fails for one client is confined to it.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo._speed.rows import read_to_client
from terrazzo._speed.updates import UpdateReader
from terrazzo.base.client_row import ClientRow
from terrazzo.cluster.app import Host
from terrazzo.sync.gamecode import Confinement
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.entity.letters import Letters
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.pairs.base_cell import ClientUpdate

_CELL = int(Part.CELL)
_PLACES = int(ToClient.PLACES)


class Delivery:
    """The delivery of one BaseApp."""

    __slots__ = ("_confinement", "_host", "_keep", "_registry", "_take_other", "rows")

    def __init__(
        self,
        host: Host,
        registry: PartRegistry,
        confinement: Confinement,
        take_other: Callable[[PartId], object],
        keep: Callable[[ClientRow, AppId, ClientUpdate], object],
    ) -> None:
        """`take_other` takes the mail of a part that is not in the table, or has updates that wait; `keep` gets each
        update that is not passed on here."""
        self.rows: dict[EntityId, ClientRow] = {}
        """The client table: by entity, in the order of registration."""
        self._host = host
        self._registry = registry
        self._confinement = confinement
        self._take_other = take_other
        self._keep = keep

    def take_mail(self) -> None:
        """Takes all mail that has arrived, part by part."""
        for box in list(self._registry.mailed):
            client: ClientRow | None = box.owner
            if client is None or client.box is not box or client.updates:
                self._take_other(box.part)
            else:
                self._take_letters(client, box)

    def _take_letters(self, client: ClientRow, box: Mailbox) -> None:
        letters = Letters(self._registry, box, self._host.now)
        while True:
            letter = letters.next_one()
            if letter is None:
                return
            try:
                self._take_letter(client, letter[0], letter[1])
            except AssertionError:
                raise
            except Exception as problem:
                self._confinement.report(client.proxy, "mail", problem)
            if client.box is None:
                return  # the base has ended: its mailbox reports the rest as not delivered

    def _take_letter(self, client: ClientRow, source: PartId, payload: bytes) -> None:
        to_client = None
        if client.is_ready and source[0] == client.entity and source[1] == _CELL:
            to_client = read_to_client(payload)
        if to_client is not None and client.is_present(to_client[0]):
            client.pass_on(to_client[1])
        else:
            client.proxy.on_mail(source, payload)

    def pass_updates(self, source: AppId, updates: UpdateReader) -> None:
        """Passes on the updates of a CellApp."""
        table = self.rows
        while updates.next():
            client = table.get(updates.entity)  # type: ignore[call-overload]
            if client is None:
                continue
            if not self._is_next(client, source, updates):
                self._keep(client, source, ClientUpdate(*updates.row()))
                continue
            try:
                while True:
                    message = updates.next_message(_PLACES, client.shown.turns.now & 255)
                    if message is None:
                        break
                    if message and message[0] == _PLACES:
                        client.send(message, False)  # it has its turn
                    else:
                        client.send_loose(message)
            except AssertionError:
                raise
            except Exception as problem:
                self._confinement.report(client.proxy, "updates for its client", problem)

    def _is_next(self, client: ClientRow, source: AppId, update: UpdateReader) -> bool:
        """Whether the update is the next message for a client that is present."""
        if not client.is_direct or client.updates or not client.is_present(update.witness) or not client.shown.has_body:
            return False
        assert client.box is not None
        channel = self._registry.find_by_number(client.box, client.entity, _CELL)
        if channel is None or channel.incoming is None:
            return False
        app = channel.place.app
        if app is not source and app != source:
            return False
        stream = channel.incoming
        return update.generation < stream.generation or (
            update.generation == stream.generation and update.number <= stream.expected - stream.untaken
        )
