"""The BaseApp: home of bases and of the players' connections.

    receives                                         sends
    BaseAppMgr  CreateProxy, Bootstrap, Locate       BaseAppReady, BaseAppLoad, ProxyCreated, Locate, FindBaseApp
    BaseApps    CreateEntity, frames                 CreateEntity, frames (entity channel)
    CellAppMgr  Entry, SpacesReady                   FindEntry, SpaceChanges
    DBApp       Saved, LogOffRecorded, Ids, TakeOver Save, LoggedOff, WantIds, TakenOver
    CellApps    RealCreated, ClientUpdates, frames   CreateReal, Moves, frames (entity channel)
    clients     sessions of the endpoints            `sync.protocol`

This module holds the links, the order of a tick, and which object is connected to which; the work is in the modules
that it imports. None of them has a reference to the app: each gets in its constructor what it needs (`services.py`).

One turn, in order: messages of clients, mail of cell parts; then the wants and moves of clients to each CellApp and the
frames of the entity channels. A tick is a turn with alarms that are due and reports in the middle. The driver moves the
datagrams of the endpoints, before and after. Unreliable updates of a cell part are passed on in order with its mail:
neither overtakes the other here. A failure of the work for one entity is confined to it (`sync/gamecode.py`).

The base of an entity has the certain answer to where its parts live: for the first call it is asked through the
BaseAppMgr (`whereabouts.py`), then the two ends follow each other. Bases that move, and backups, are not built yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from terrazzo._speed.lanes import pack_rows
from terrazzo._speed.updates import UpdateReader
from terrazzo.base.alarms import Alarms
from terrazzo.base.api import Server
from terrazzo.base.client_batch import ClientBatch
from terrazzo.base.client_row import ClientRow
from terrazzo.base.counts import Counts
from terrazzo.base.delivery import Delivery
from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.factory import BaseFactory
from terrazzo.base.farewells import Farewell
from terrazzo.base.intake import Intake
from terrazzo.base.keys import KeyRing
from terrazzo.base.limits import KEY_S, KEYS_MAX
from terrazzo.base.logoffs import LogOffs
from terrazzo.base.making import Making
from terrazzo.base.names import BaseNames
from terrazzo.base.presence_states import Presence
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.requested import Requested
from terrazzo.base.saveslots import Archive, SaveSlots
from terrazzo.base.saving import Unsaved
from terrazzo.base.services import ClientPorts, ClientServices, EntityServices
from terrazzo.base.sessions import EndpointLike, Sessions
from terrazzo.base.standstill import Standstill
from terrazzo.base.takeover import TakeOvers
from terrazzo.base.tokens import SessionTokens
from terrazzo.base.whereabouts import Whereabouts
from terrazzo.cluster.app import LOAD_S, Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.idstock import IdStock
from terrazzo.cluster.locator import Locator
from terrazzo.errors import DecodeError
from terrazzo.game import LoadedGame
from terrazzo.sync.asking import Asker
from terrazzo.sync.awaiting import Awaiting
from terrazzo.sync.calls import Callees
from terrazzo.sync.creating import Creator
from terrazzo.sync.gamecode import Confinement, run_game_code, try_game_code
from terrazzo.sync.lookup import Lookup
from terrazzo.sync.protocol import MethodTable
from terrazzo.sync.spaces import SpaceAsker
from terrazzo.sync.stored import StoredEntities
from terrazzo.wire.client.session import Entropy
from terrazzo.wire.entity.messages import Astray, Frame, Frames
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind, EntityId, PartId
from terrazzo.wire.log_events import Count, LogEvent
from terrazzo.wire.messages import Message, Refusal
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates, Moves
from terrazzo.wire.pairs.base_cellmgr import SpacesReady
from terrazzo.wire.pairs.base_db import TakeOver
from terrazzo.wire.pairs.basemgr_base import BaseAppLoad, BaseAppReady, Bootstrap, CreateProxy, Locate
from terrazzo.wire.pairs.creation import CreateEntity
from terrazzo.wire.pairs.login_db import is_bot_dbid
from terrazzo.wire.pairs.stored import AskAlive
from terrazzo.wire.reports import Reports
from terrazzo.wire.sentences import describe_refusals

NEEDED = (AppKind.BASE_APP_MGR, AppKind.DB_APP, AppKind.CELL_APP_MGR)
"""The apps without which something does not work; each is joined again whenever its link is lost."""

JOIN_S = 1.0
STOP_S = 3.0
"""How long a stop waits for cell parts."""


class BaseApp(ClusterApp):
    """One BaseApp."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        game: LoadedGame,
        endpoints: Sequence[EndpointLike],
        *,
        entropy: Entropy,
        address: ClientPorts,
        archive_s: float = 0.0,
    ) -> None:
        """`archive_s`: each stored entity is saved once in so many seconds; 0: only when the game saves it."""
        super().__init__(me, host)
        self.game = game
        self.peers: dict[AppKind, AppId] = {}
        self.bases: dict[EntityId, BaseEntity] = {}
        self.counts = Counts()
        reports = Reports(host)
        self.reported = reports.counts
        self.confinement = Confinement(reports)
        self.switchboard = Switchboard(me, host, self.outbox, self)
        self.alarms = Alarms(host, self.confinement)
        self.saves = SaveSlots()
        self.archive = Archive(host, self.saves, self.bases, archive_s)
        self.awaiting = Awaiting(host, self._run_part)
        self.keys = KeyRing(entropy, life_s=KEY_S, most=KEYS_MAX)
        self.tokens = SessionTokens(entropy)
        self.delivery = Delivery(
            host, self.switchboard._registry, self.confinement, self._take_mail_of, self._keep_update
        )
        self._batch = ClientBatch(self.switchboard._registry)
        self.standstill = Standstill(host.now)
        intake = Intake(self.confinement, self._batch, self.standstill)
        self.sessions = Sessions(
            host, endpoints, self.keys, self.tokens, self.bases, self.counts, self.confinement, self._batch, intake
        )  # fmt: skip
        manager = partial(self.peers.get, AppKind.BASE_APP_MGR)
        self.creator = Creator(me, host, self.requests, manager, lambda wanted, done: self.requested.make(wanted, done))
        self._asker = Asker(host, self.requests, manager, "BaseAppMgr")
        self.space_asker = SpaceAsker(
            host, self.requests, self.awaiting, partial(self.peers.get, AppKind.CELL_APP_MGR)
        )  # fmt: skip
        self.names = BaseNames(host, self.awaiting, self._asker, self._send_base_mgr, self._has_base)
        services, clients = self._services(), self._client_services()
        self.ids = IdStock(host, self.requests, partial(self.peers.get, AppKind.DB_APP))
        self.log_offs = LogOffs(services)
        self.factory = BaseFactory(services, clients, self.ids, self.log_offs, self.bases)
        self.requested = Requested(self.requests, game.schema, self.factory)
        self._locator = Locator(self, self.switchboard)
        self._whereabouts = Whereabouts(me, self.requests, self.switchboard, self._locator, self.bases)
        self._updated: dict[EntityId, ProxyEntity] = {}
        """Proxies with unreliable updates for their clients."""
        self.spaces_ready = 0
        self.on_ready_error: str | None = None
        """The error of the game's `on_ready` on this app, in words; empty: it succeeded; None: it was not run here."""
        self.is_stopping = False
        self._address = address
        self._join_at = self._load_at = host.now
        self._add_handlers(TakeOvers(services, self.bases, self.keys, address))

    def _services(self) -> EntityServices:
        return EntityServices(
            host=self.host,
            requests=self.requests,
            alarms=self.alarms,
            peers=self.peers,
            switchboard=self.switchboard,
            game=self.game,
            awaiting=self.awaiting,
            making=Making(self.host, self.alarms, self.awaiting, self.switchboard, self.creator),
            names=self.names,
            lookup=Lookup(self.awaiting, self._asker),
            spaces=self.space_asker,
            stored=StoredEntities(self.host, self.awaiting, self._asker),
            callees=Callees(),
            counts=self.counts,
            saves=self.saves,
            refusals=self.refusals,
        )

    def _send_base_mgr(self, message: Message) -> None:
        manager = self.peers.get(AppKind.BASE_APP_MGR)
        if manager is not None:
            self.send(manager, message)

    def _has_base(self, entity: int) -> bool:
        return entity in self.bases

    def _client_services(self) -> ClientServices:
        return ClientServices(
            keys=self.keys,
            tokens=self.tokens,
            counts=self.counts,
            methods=MethodTable(self.game.schema),
            batch=self._batch,
            rows=self.delivery.rows,
            standstill=self.standstill,
            forget_session=self.sessions.forget,
        )

    def _add_handlers(self, take_overs: TakeOvers) -> None:
        self.answers(CreateProxy, self.factory.on_create_proxy)
        self.answers(CreateEntity, self.requested.on_create_entity)
        self.answers(TakeOver, take_overs.on_take_over)
        self.answers(Locate, self._whereabouts.on_locate)
        self.answers(AskAlive, self.factory.on_ask_alive)
        self.on(Bootstrap, self._on_bootstrap)
        self.on(SpacesReady, self._on_spaces_ready)
        self.on(ClientUpdates, self._on_client_updates)
        self.on(Frame, self.switchboard.on_message)
        self.on(Frames, self._on_frames)
        self.on(Astray, self.switchboard.on_message)

    # Links.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        self._locator.on_link_up(peer)
        if peer.kind is AppKind.CELL_APP:
            homes = {each.cell.home for each in self.bases.values()}
            for app in [each for each in homes if each is not None and each.slot == peer.slot and each < peer]:
                self.on_app_dead(app)  # a later incarnation of it is linked
        if peer.kind not in NEEDED:
            return
        self.peers[peer.kind] = peer
        if peer.kind is AppKind.BASE_APP_MGR:
            self.send(peer, self.names.held())
            self.send(peer, BaseAppReady(*self._address))
        elif peer.kind is AppKind.DB_APP:
            self.log_offs.on_link_up(peer)
            self.ids.serve()
            for each in list(self.bases.values()):
                each.saver.retry_now()

    def on_link_lost(self, peer: AppId) -> None:
        """See App."""
        super().on_link_lost(peer)
        self._locator.on_link_lost(peer)
        if self.peers.get(peer.kind) == peer:
            del self.peers[peer.kind]
            self.host.log(LogEvent.LINK_LOST, peer=str(peer), note="requests to it wait until the link is back")
        self.switchboard.on_link_lost(peer)
        here = sum(each.cell.home == peer for each in self.bases.values())
        if here:
            self.host.log(LogEvent.LINK_LOST, app=str(peer), cell_parts=here, note="it is joined again")
            self.host.join(peer)

    def on_app_dead(self, app: AppId) -> None:
        """A CellApp is declared dead: no message of it will arrive again."""
        here = sum(each.cell.where == app for each in self.bases.values())
        self.host.log(LogEvent.CELL_APP_DEAD, app=str(app), cell_parts=here, note="their bases go on without them")
        for each in list(self.bases.values()):
            each.cell.on_app_dead(app)
        self.switchboard.on_app_dead(app)

    def _join_missing(self) -> None:
        if self.host.now >= self._join_at:
            self._join_at = self.host.now + JOIN_S
            for kind in NEEDED:
                if kind not in self.peers:
                    self.host.join(AppId(kind, 0, ANY_INCARNATION))

    def _on_frames(self, source: AppId, message: Frames) -> None:
        if not self.switchboard.on_frames(source, message):
            self._refuse(source, message, Refusal.MALFORMED)

    # Managers.

    def _on_spaces_ready(self, source: AppId, message: SpacesReady) -> None:
        self.spaces_ready = message.count

    def _on_bootstrap(self, source: AppId, message: Bootstrap) -> None:
        on_ready: Callable[[Any], None] | None = self.game.policy.on_ready
        self.on_ready_error = ""
        if on_ready is not None:
            server = Server(self.game, self.factory.create)
            self.on_ready_error = try_game_code(self.host, "the game's on_ready", on_ready, server)

    # Clients.

    def refused_clients(self) -> list[dict[str, Any]]:
        """See ClusterApp."""
        return super().refused_clients() + describe_refusals("players", self.counts.refused)

    def _on_client_updates(self, source: AppId, message: ClientUpdates) -> None:
        try:
            updates = UpdateReader(message.rows)
        except DecodeError as problem:
            count = self.refusals.count(source, Refusal.MALFORMED)
            self.host.log(LogEvent.UPDATES_MALFORMED, source=str(source), problem=str(problem), count=count)
            return
        self._deliver_mail()  # by far the most updates follow mail that came just before them
        self.delivery.pass_updates(source, updates)

    def _keep_update(self, client: ClientRow, source: AppId, update: ClientUpdate) -> None:
        """An update that is not passed on at once waits, or is dropped."""
        proxy = client.proxy
        assert isinstance(proxy, ProxyEntity)
        if proxy.keep_update(source, update) and not self._pass_updates(proxy):
            self._updated[proxy.id] = proxy

    # Turns and ticks.

    def on_turn(self) -> None:
        """See TakesTurns."""
        self._receive()
        self._send_all()

    def on_tick(self) -> None:
        """See App."""
        self._join_missing()
        self._receive()
        super().on_tick()
        self.alarms.on_tick()
        self.archive.on_tick()
        self.creator.on_tick()
        self._asker.on_tick()
        self.space_asker.on_tick()
        self.ids.serve()
        self._batch.on_tick()
        self._send_load()
        self._send_all()

    def _receive(self) -> None:
        self.standstill.note_turn(self.host.now)
        self.sessions.receive()
        self._deliver_mail()
        self.awaiting.run()

    def _send_all(self) -> None:
        self._batch.send_wants(self.host.now)
        self._send_moves()
        self.switchboard.on_tick()

    def _deliver_mail(self) -> None:
        self.delivery.take_mail()
        if self._updated:
            updated = {id: proxy for id, proxy in self._updated.items() if id in self.bases}
            self._updated = {id: proxy for id, proxy in updated.items() if not self._pass_updates(proxy)}

    def _take_mail_of(self, part: PartId) -> None:
        """The mail of a part that is no proxy's, or of a proxy with updates that wait."""
        entity = self.bases.get(part.entity)
        if entity is None:
            return  # its base has ended; its mailbox answers
        updated = self._updated.get(part.entity)
        if updated is not None:
            self._pass_updates(updated)
        for source, payload in self.switchboard.taking(part):
            self.confinement.run(entity, "mail", entity.on_mail, source, payload)
            if entity.life is BaseLife.GONE:
                return  # its mailbox reports the rest as not delivered
            if updated is not None:
                self._pass_updates(updated)

    def _pass_updates(self, proxy: ProxyEntity) -> bool:
        """False when an update waits for mail."""
        return self.confinement.run(proxy, "updates for its client", proxy.pass_updates) is not False

    def _run_part(self, part: PartId, what: str, function: Callable[..., Any], *args: Any) -> None:
        """Runs code of a base (see `Awaiting`)."""
        entity = self.bases.get(part.entity)
        if entity is not None:
            entity.guarded(what, function, args)
        else:
            self.host.log(LogEvent.ENTITY_GONE, part=str(part), method=what)
            run_game_code(self.host, f"{part}, {what}", function, *args)

    def _send_moves(self) -> None:
        for app, lanes in self._batch.take_moves(self.host.now).items():
            self.send(app, Moves(pack_rows(lanes)))

    def _send_load(self) -> None:
        manager = self.peers.get(AppKind.BASE_APP_MGR)
        if manager is not None and self.host.now >= self._load_at:
            self._load_at = self.host.now + LOAD_S
            self.send(manager, BaseAppLoad(len(self.bases), len(self.sessions), self.host.process_load().busy))

    # Exchange: the calls of the switchboard.

    def locate(self, part: PartId) -> None:
        """See Exchange."""
        self._whereabouts.locate(part)

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange."""
        entity = self.bases.get(source.entity)
        if entity is not None:
            entity.on_undelivered(to, payloads, reason)
        else:
            self.host.log(LogEvent.UNDELIVERED, entity=source.entity, to=str(to), count=len(payloads), reason=reason)

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""

    # The end, and the console.

    def stop(self) -> None:
        """Begins to stop: clients get LOGGED_OFF, cell parts are taken down, stored entities are saved. `is_stopped` is
        True when all is done."""
        self.is_stopping = True
        self.factory.close()
        for each in list(self.bases.values()):
            if isinstance(each, ProxyEntity):
                each.destroy(Farewell.STOPPING, "the server is stopping")
            else:
                each.destroy()
            each.saver.retry_now()
        self.alarms.after(STOP_S, self._give_up_cell_parts)

    def _give_up_cell_parts(self) -> None:
        for each in list(self.bases.values()):
            each.cell.give_up("the server is stopping")

    def unsaved(self) -> list[Unsaved]:
        """The entities that would be lost if this app ended now, without those of bots. An entity with a value that
        cannot be encoded is logged."""
        left = (self.confinement.run(each, "what is not saved", each.saver.unsaved) for each in self.bases.values())
        return [each for each in left if each is not None and not is_bot_dbid(each.dbid)]

    @property
    def is_stopped(self) -> bool:
        """Whether everything is saved, and deleted."""
        return self.is_stopping and not self.bases and not self.log_offs.has_deletions

    def words_of_end(self) -> str:
        """What a stop waits for."""
        homes = [each.cell.home for each in self.bases.values() if not each.has_no_cell]
        apps = sorted({str(home) for home in homes if home is not None})
        at = f" at {', '.join(apps)}" if apps else ""
        return f"{len(homes)} cell parts to end{at}, and {len(self.bases) - len(homes)} entities to be saved"

    def queues(self) -> dict[str, int]:
        """See ClusterApp."""
        waiting = {
            "mail": self.switchboard.mail_count(),
            "updates": sum(len(each.updates) for each in self._updated.values()),
            "saves": len(self.saves),
        }
        return {**super().queues(), **waiting}

    def tallies(self) -> Mapping[LogEvent | Count, int]:
        """See ClusterApp."""
        return {
            **super().tallies(),
            **self.switchboard.counts,
            **self.reported,
            LogEvent.LATE_ANSWER: self.counts.late_answers,
            LogEvent.CLIENT_MESSAGE_BAD: self.counts.bad_messages,
            LogEvent.CLIENT_RESUMED: self.counts.resumed,
            Count.OLD_MAIL: self.counts.old_mail,
        }

    def view(self) -> dict[str, Any]:
        """The state of this app for the console: plain values."""
        types: dict[str, int] = {}
        bases = self.bases.values()
        for each in bases:
            types[each.schema.name] = types.get(each.schema.name, 0) + 1
        return {
            "app": str(self.me),
            "bases": types,
            "clients": len(self.sessions),
            "waiting_for_client": len(self.keys),
            "away": sum(isinstance(each, ProxyEntity) and each.presence is Presence.AWAY for each in bases),
            "resumed": self.counts.resumed,
            "waiting_for_id": self.ids.waiting,
            "ids": len(self.ids),
            "saving": sum(not each.saver.is_idle for each in self.bases.values()),
            "logging_off": len(self.log_offs),
            "save_failures": sum(each.saver.failures for each in self.bases.values()),
            "bad_messages": self.counts.bad_messages,
            "old_mail": self.counts.old_mail,
            "waiting_methods": len(self.awaiting),
            "late_answers": self.counts.late_answers,
            "links": {kind.name.lower(): str(self.peers[kind]) for kind in NEEDED if kind in self.peers},
        }
