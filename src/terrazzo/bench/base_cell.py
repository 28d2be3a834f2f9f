"""The stand-in of a CellApp in `terrazzo bench base`: it sends what a CellApp sends for each client, and counts.

    python -m terrazzo.bench.base_cell NAME        started as a CellApp of a cluster, with the same order

No entity lives here. Each cell part is a mailbox of the entity channel, and each client with a witness is sent what
`terrazzo bench cell` counts for one in a world with 62 others around it:

    at the beginning    a cell player; AROUND announcements; what its client wants is described
    each tick           one PLACES message of PLACES_ENTRIES entries (about 205 bytes); its reference height is the
                        number of the update, so that the client can count what it has missed
    9 of 10 ticks       reliable messages: in every fourth tick a `leave` and an `announce` (their `want` and
                        `released` come back, a `describe` answers them), in the others a changed property

The clients' moves are counted. The height of a move is the number that its client gave it; the number of its row is
how many rows the BaseApp has made for this client. Their difference: the moves that were merged with later ones.

The totals are written into `stand-in.json` in the data folder twice a second (`Totals`), which the benchmark reads.
While there is a file `stand-in.rest` beside it, nothing is sent: then what was sent is compared with what arrived.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from struct import Struct

import msgspec

from terrazzo._speed.movers import ROW
from terrazzo._speed.sight import GROUND, PLACES
from terrazzo._speed.updates import encode_updates
from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.game import LoadedGame
from terrazzo.runtime import process
from terrazzo.runtime.members import AppMember
from terrazzo.schema.indexes import PROPERTY_IDS
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.state import State
from terrazzo.sync.protocol import (
    EntityMessage,
    encode_announce,
    encode_cell_player,
    encode_describe,
    encode_leave,
    with_alias,
)
from terrazzo.wire.entity.messages import Astray, Frame, Frames
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import (
    CellData,
    ClientUpdates,
    ClientWants,
    CreateReal,
    DestroyReal,
    Moves,
    RealCreated,
    SetWitness,
    ToClient,
)
from terrazzo.wire.pairs.cellmgr_cell import CellAppReady, CellReady, SpaceTree
from terrazzo.wire.requests import Question

TOTALS_FILE = "stand-in.json"
REST_FILE = "stand-in.rest"
TOTALS_S = 0.5
AROUND = 62
STEADY = 38
"""Aliases 1 … STEADY stay; the others come and go."""
PLACES_ENTRIES = 38
"""With five bytes each, a PLACES message has about 205 bytes."""
ALIAS_LAST = 220
"""The aliases of those that come and go are given in turn; one has long been released when its turn comes again."""
OTHERS_FIRST = 1 << 30
"""Ids of the entities around a client: no base has them."""
SPACE = 1
WITHOUT_WORD_EVERY = 10
COME_AND_GO_EVERY = 4
UPDATES_MAX = 256
Update = tuple[int, int, tuple[bytes, ...], tuple[int, int]]
TAILS = 16
_HEAD = Struct("<BB3s3sf")
_ZERO = (0.0, 0.0, 0.0)


class Totals(msgspec.Struct):
    """What the stand-in has sent and received since its start."""

    at: float = 0.0
    """The monotonic clock of this machine."""
    cpu_s: float = 0.0
    clients: int = 0
    updates: int = 0
    """PLACES messages sent: one for each client and tick."""
    muted: int = 0
    """Messages sent that a walker counts without reading them: updates, descriptions, changes."""
    is_resting: bool = False
    rows: int = 0
    """Rows of moves that have arrived: what the BaseApp passed on."""
    moves_arrived: int = 0
    """Moves that have arrived at the BaseApp."""
    moves_made: int = 0
    """Moves that the clients have sent, by the numbers in the rows that have come."""


class Served(msgspec.Struct):
    """One client as the stand-in serves it."""

    base: AppId
    part: PartId
    base_part: PartId
    witness: int = 0
    is_on: bool = False
    is_described: bool = False
    sequence: int = 0
    others: list[int] = []
    """The aliases of those that come and go, the oldest first."""
    next_alias: int = STEADY + 1
    next_other: int = OTHERS_FIRST
    aliases: dict[int, int] = {}
    """Announced and not described: entity, alias."""
    arrived: int = 0
    made: int = 0


class StandIn(ClusterApp):
    """One stand-in of a CellApp."""

    def __init__(self, me: AppId, host: Host, game: LoadedGame) -> None:
        super().__init__(me, host)
        self.totals = Totals()
        self.manager: AppId | None = None
        self.spaces = 0
        self._schema: EntitySchema = game.player
        self._switchboard = Switchboard(me, host, self.outbox, self)
        self._clients: dict[int, Served] = {}
        self._tick = 0
        self._some = _describing(self._schema)
        self._changes = _changes(self._schema)
        self._tails = [_tail(number) for number in range(TAILS)]
        self.on(Frame, self._switchboard.on_message)
        self.on(Frames, self._switchboard.on_message)
        self.on(Astray, self._switchboard.on_message)
        self.on(Moves, self._on_moves)
        self.on(SpaceTree, self._on_space_tree)
        self.answers(CreateReal, self._on_create)
        host.join(AppId(AppKind.CELL_APP_MGR, 0, ANY_INCARNATION))

    @property
    def clients_on(self) -> int:
        """How many clients are served."""
        return sum(client.is_on for client in self._clients.values())

    # Links and the manager.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        if peer.kind is AppKind.CELL_APP_MGR:
            self.manager = peer
            self.send(peer, CellAppReady())

    def on_link_lost(self, peer: AppId) -> None:
        """See App."""
        super().on_link_lost(peer)
        self._switchboard.on_link_lost(peer)
        if peer == self.manager:
            self.manager = None

    def _on_space_tree(self, source: AppId, message: SpaceTree) -> None:
        self.spaces += 1
        self.send(source, CellReady(message.space, message.version))

    # Exchange.

    def locate(self, part: PartId) -> None:
        """See Exchange: a base never moves here."""

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange: the base has ended, and its client with it."""

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""

    # Cell parts.

    def _on_create(self, question: Question) -> None:
        message = question.message
        assert isinstance(message, CreateReal)
        part, base = (PartId(EntityId(message.entity), each) for each in (Part.CELL, Part.BASE))
        if message.entity not in self._clients:
            self._switchboard.create(part, life=message.life)
            self._switchboard.learn(base, 0, question.source)
            self._switchboard.pin(part, base)
            self._clients[message.entity] = Served(question.source, part, base)
        self.requests.answer(question, RealCreated())

    def _on_moves(self, source: AppId, message: Moves) -> None:
        totals, clients = self.totals, self._clients
        for entity, arrived, _, made, *_ in ROW.iter_unpack(message.rows):
            totals.rows += 1
            client = clients.get(entity)
            if client is not None:
                totals.moves_arrived += arrived - client.arrived
                totals.moves_made += int(made) - client.made
                client.arrived, client.made = arrived, int(made)

    # The tick.

    def on_tick(self) -> None:
        """Takes the mail of the bases, then serves every client."""
        super().on_tick()
        self._tick += 1
        switchboard = self._switchboard
        for part in switchboard.with_mail():
            client = self._clients.get(part.entity)
            for _, payload in switchboard.take(part):
                if client is not None:
                    self._on_mail(client, REGISTRY.decode_nested(payload))
        updates: dict[AppId, list[Update]] = {}
        for entity, client in self._clients.items():
            if client.is_on and not self.totals.is_resting:
                updates.setdefault(client.base, []).append(self._serve(entity, client))
        switchboard.on_tick()
        for app, several in updates.items():
            for at in range(0, len(several), UPDATES_MAX):
                self.send(app, ClientUpdates(encode_updates(several[at : at + UPDATES_MAX])))

    def _on_mail(self, client: Served, message: object) -> None:
        if isinstance(message, SetWitness):
            client.witness, client.is_on, client.is_described = message.witness, message.is_on, False
            if message.is_on:
                self._begin(client)
        elif isinstance(message, ClientWants):
            self._describe(client, message)
        elif isinstance(message, DestroyReal):
            self._end(client)

    def _begin(self, client: Served) -> None:
        values = State(self._schema.client_layout)
        row = [values[name] for name in self._schema.cell_player_layout.names]
        first = client.next_other
        client.sequence, client.next_alias = 0, AROUND + 1
        client.aliases = {first + number: number + 1 for number in range(AROUND)}
        client.next_other += AROUND
        client.others = list(range(STEADY + 1, AROUND + 1))
        announced = [encode_announce(entity, alias, self._schema) for entity, alias in client.aliases.items()]
        self._tell(client, encode_cell_player(self._schema, SPACE, _ZERO, _ZERO, row), *announced)

    def _describe(self, client: Served, message: ClientWants) -> None:
        aliases = [client.aliases.pop(entity) for entity, _ in message.wants if entity in client.aliases]
        if aliases and message.witness == client.witness:
            self._tell(client, *(encode_describe(alias, 1, _ZERO, _ZERO, self._some) for alias in aliases))
            self.totals.muted += len(aliases)
            client.is_described = True

    def _end(self, client: Served) -> None:
        data = CellData("plain", _ZERO, _ZERO, b"", is_last=True)
        self._switchboard.send(client.part, client.base_part, REGISTRY.encode(data), is_urgent=True)
        self._switchboard.destroy(client.part)
        del self._clients[client.part.entity]

    def _serve(self, entity: int, client: Served) -> Update:
        turn = self._tick + entity
        if client.is_described and turn % WITHOUT_WORD_EVERY:
            if turn % COME_AND_GO_EVERY:
                self._tell(client, with_alias(1 + turn % STEADY, self._changes[turn % len(self._changes)]))
                self.totals.muted += 1
            else:
                self._tell(client, *self._come_and_go(client))
        client.sequence += 1
        self.totals.updates += 1
        self.totals.muted += 1
        places = _HEAD.pack(PLACES, 0, b"\0\0\0", b"\0\0\0", client.sequence) + self._tails[turn % TAILS]
        after = self._switchboard.sent_up_to(client.part, client.base_part)
        return entity, client.witness, (places,), after

    def _come_and_go(self, client: Served) -> tuple[bytes, bytes]:
        """The one that has been there longest leaves, another comes."""
        left, alias, other = client.others.pop(0), client.next_alias, client.next_other
        client.others.append(alias)
        client.aliases[other] = alias
        client.next_alias = alias + 1 if alias < ALIAS_LAST else STEADY + 1
        client.next_other += 1
        return encode_leave(left), encode_announce(other, alias, self._schema)

    def _tell(self, client: Served, *messages: bytes) -> None:
        payload = REGISTRY.encode(ToClient(client.witness, messages))
        self._switchboard.send(client.part, client.base_part, payload)


def _describing(schema: EntitySchema) -> bytes:
    """The properties in a `describe`: all that other clients may see."""
    layout = schema.other_client_layout
    values = dict(enumerate(layout.new_values()))
    visible = {i: values[i] for i, each in enumerate(layout.properties) if each.flags.value.other_clients}
    return layout.encode_some(visible)


def _changes(schema: EntitySchema) -> list[EntityMessage]:
    """Changes of `health`, with several values."""
    layout = schema.client_layout
    index = layout.index["health"]
    codec = layout.properties[index].codec
    return [EntityMessage(PROPERTY_IDS.first + index, codec.encode(100 + number)) for number in range(TAILS)]


def _tail(number: int) -> bytes:
    """The section of a PLACES message: each entry with an alias of one byte, a place on the ground, and a yaw."""
    entries = b"".join(
        bytes((1 + entry, (number * 5 + entry) & 255, (number + entry * 3) & 255, (entry * 7) & 255, number))
        for entry in range(PLACES_ENTRIES)
    )
    return bytes((GROUND * 4 + 1, PLACES_ENTRIES)) + entries


class StandInMember(AppMember):
    """The stand-in as a member of a cluster; see `members.Member`."""

    _written_at = 0.0

    def _make(self, host: Host) -> ClusterApp:
        self.app = StandIn(self.order.id, host, self.game)
        return self.app

    def _missing(self) -> str:
        if self.app.manager is None:
            return "a link with CellAppMgr"
        return "" if self.app.spaces else "its cells"

    def _on_ticked(self) -> None:
        super()._on_ticked()
        now = time.monotonic()
        if now >= self._written_at + TOTALS_S:
            self._written_at = now
            totals = self.app.totals
            totals.at, totals.cpu_s, totals.clients = now, time.process_time(), self.app.clients_on
            path = Path(self.order.data) / TOTALS_FILE
            totals.is_resting = path.with_name(REST_FILE).exists()
            fresh = path.with_suffix(".new")
            fresh.write_bytes(msgspec.json.encode(totals))
            os.replace(fresh, path)


if __name__ == "__main__":
    process.MEMBERS["cell_app"] = "terrazzo.bench.base_cell:StandInMember"
    sys.exit(process.main())
