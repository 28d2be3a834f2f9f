"""The BaseApp: home of bases and of the players' connections.

    hears                                            says
    BaseAppMgr  CreateProxy, Bootstrap, Locate       BaseAppReady, BaseAppLoad, ProxyCreated, Locate
    CellAppMgr  Entry, SpacesReady                   FindEntry
    DBApp       Saved, LogOffRecorded, Ids, TakeOver Save, LoggedOff, WantIds, TakenOver
    CellApps    RealCreated, ClientUpdates, frames   CreateReal, Moves, frames (entity channel)
    clients     sessions of the endpoints            `sync.protocol`

One tick, in order: what clients said, what cell parts sent, what is due; then the moves of the tick to each CellApp
and the frames of the entity channels. The driver moves the datagrams of the endpoints, before and after. What may be
lost of what cell parts sent is passed on in order with their mail, as both came: neither overtakes the other here. What
fails for one entity is confined to it (`confine`).

Where another entity's parts are, its own base knows: it is asked through BaseAppMgr (`whereabouts.py`) for the first
call, then the two ends follow each other. Bases that move, and backups, come with theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from terrazzo.base.alarms import Alarms
from terrazzo.base.api import Server
from terrazzo.base.entity import BaseEntity, Life
from terrazzo.base.idstock import IdStock
from terrazzo.base.keys import Entropy, KeyRing
from terrazzo.base.limits import KEY_S, KEYS_MAX, Refused
from terrazzo.base.logoffs import LogOffs
from terrazzo.base.nursery import Nursery
from terrazzo.base.proxy import ClientSession, Farewell, ProxyEntity
from terrazzo.base.saving import Unsaved
from terrazzo.base.takeover import TakeOvers
from terrazzo.base.whereabouts import Whereabouts
from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.game import LoadedGame
from terrazzo.sync.awaiting import Awaiting
from terrazzo.sync.calls import Callees
from terrazzo.sync.gamecode import run_game_code, trace_of, try_game_code, words_of
from terrazzo.sync.protocol import MethodTable, encode_logged_off
from terrazzo.wire.client.events import Closed, Connected, Event, Received
from terrazzo.wire.entity.messages import Astray, Frame
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind, EntityId, PartId
from terrazzo.wire.pairs.base_cell import ClientUpdates, Moves
from terrazzo.wire.pairs.base_cellmgr import SpacesReady
from terrazzo.wire.pairs.base_db import TakeOver
from terrazzo.wire.pairs.basemgr_base import BaseAppLoad, BaseAppReady, Bootstrap, CreateProxy
from terrazzo.wire.pairs.login_db import is_bot_dbid
from terrazzo.wire.sentences import is_told, tell_refusals

NEEDED = (AppKind.BASE_APP_MGR, AppKind.DB_APP, AppKind.CELL_APP_MGR)
"""Who must be there for everything to work; joined again whenever the link is lost."""

T = TypeVar("T")

JOIN_S = 1.0
LOAD_S = 1.0
STOP_S = 3.0
"""How long a stop waits for cell parts."""


class ClientEndpoint(Protocol):
    """What the app needs of `wire.client.ServerEndpoint`."""

    def events(self) -> list[Event]:
        """What has happened since the last call, in order."""


class Address(NamedTuple):
    """Where clients reach this app."""

    host: str
    udp_port: int
    ws_port: int


class BaseApp(ClusterApp):
    """One BaseApp."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        game: LoadedGame,
        endpoints: Sequence[ClientEndpoint],
        *,
        entropy: Entropy,
        address: Address,
    ) -> None:
        super().__init__(me, host)
        self.game = game
        self.methods = MethodTable(game.schema)
        self.switchboard = Switchboard(me, host, self.outbox, self)
        self.whereabouts = Whereabouts(self)
        self.alarms = Alarms(host, self._ring)
        self.awaiting = Awaiting(host, self._run_part)
        self.callees = Callees()
        self.late_answers = 0
        self.keys = KeyRing(entropy, life_s=KEY_S, most=KEYS_MAX)
        self.ids = IdStock(self)
        self.nursery = Nursery(self)
        self.log_offs = LogOffs(self)
        self.peers: dict[AppKind, AppId] = {}
        self.bases: dict[EntityId, BaseEntity] = {}
        self.sessions: dict[tuple[int, int], ProxyEntity] = {}
        self.moves: dict[EntityId, bytes] = {}
        """The latest row of each client that moved in this tick."""
        self.wanting: dict[EntityId, ProxyEntity] = {}
        """Whose client said something in this tick about what it sees."""
        self._updated: dict[EntityId, ProxyEntity] = {}
        """Those for whose clients something has come that may be lost."""
        self.spaces_ready = 0
        self.on_ready_error: str | None = None
        """What the game's `on_ready` raised here, in words; nothing: it went well; None: it was not run here."""
        self.bad_messages = 0
        self.refused: Counter[Refused] = Counter()
        self.old_mail = 0
        self.failures = 0
        """How often the work for an entity raised something."""
        self.is_stopping = False
        self._endpoints = endpoints
        self._address = address
        self._join_at = self._load_at = host.now
        self.answers(CreateProxy, self.nursery.on_create_proxy)
        self.answers(TakeOver, TakeOvers(self).on_take_over)
        self.on(Bootstrap, self._on_bootstrap)
        self.on(SpacesReady, self._on_spaces_ready)
        self.on(ClientUpdates, self._on_client_updates)
        self.on(Frame, self.switchboard.on_message)
        self.on(Astray, self.switchboard.on_message)

    # Links.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        self.whereabouts.on_link_up(peer)
        if peer.kind is AppKind.CELL_APP:
            homes = {each.cell.home for each in self.bases.values()}
            for app in [each for each in homes if each is not None and each.slot == peer.slot and each < peer]:
                self.on_app_dead(app)  # there is a later life of it
        if peer.kind not in NEEDED:
            return
        self.peers[peer.kind] = peer
        if peer.kind is AppKind.BASE_APP_MGR:
            self.send(peer, BaseAppReady(*self._address))
        elif peer.kind is AppKind.DB_APP:
            self.log_offs.on_link_up(peer)
            self.ids.serve()
            for each in list(self.bases.values()):
                each.saver.hurry()

    def on_link_lost(self, peer: AppId) -> None:
        """See App."""
        super().on_link_lost(peer)
        self.whereabouts.on_link_lost(peer)
        if self.peers.get(peer.kind) == peer:
            del self.peers[peer.kind]
            self.host.log("link lost", peer=str(peer), note="what needs it waits until it is there again")
        self.switchboard.on_link_lost(peer)
        here = sum(each.cell.home == peer for each in self.bases.values())
        if here:
            self.host.log("link with a CellApp lost", app=str(peer), cell_parts=here, note="it is joined again")
            self.host.join(peer)

    def on_app_dead(self, app: AppId) -> None:
        """A CellApp is declared dead: nothing of it will be heard again."""
        here = sum(each.cell.where == app for each in self.bases.values())
        self.host.log("CellApp dead", app=str(app), cell_parts=here, note="their bases go on without them")
        for each in list(self.bases.values()):
            each.cell.on_app_dead(app)
        self.switchboard.on_app_dead(app)

    def _join_missing(self) -> None:
        if self.host.now >= self._join_at:
            self._join_at = self.host.now + JOIN_S
            for kind in NEEDED:
                if kind not in self.peers:
                    self.host.join(AppId(kind, 0, ANY_INCARNATION))

    # Managers.

    def _on_spaces_ready(self, source: AppId, message: SpacesReady) -> None:
        self.spaces_ready = message.count

    def _on_bootstrap(self, source: AppId, message: Bootstrap) -> None:
        on_ready: Callable[[Any], None] | None = self.game.policy.on_ready
        self.on_ready_error = ""
        if on_ready is not None:
            self.on_ready_error = try_game_code(self.host, "the game's on_ready", on_ready, Server(self))

    # Clients.

    def _hear_clients(self) -> None:
        for number, endpoint in enumerate(self._endpoints):
            for event in endpoint.events():
                if isinstance(event, Connected):
                    self._on_connected(number, event.session, event.app_data)
                elif event.session is not None:
                    proxy = self.sessions.get((number, event.session.id))
                    if proxy is not None and isinstance(event, Received):
                        self.confine(proxy, "messages of its client", proxy.on_messages, event.messages)
                    elif proxy is not None and isinstance(event, Closed):
                        del self.sessions[number, event.session.id]
                        self.confine(proxy, "end of its session", proxy.on_session_closed, event.reason.name)

    def _on_connected(self, number: int, session: ClientSession, key: bytes) -> None:
        id = self.keys.take(key, self.host.now)
        proxy = None if id is None else self.bases.get(id)
        if not isinstance(proxy, ProxyEntity) or proxy.life is not Life.ALIVE:
            count = self.count_bad(Refused.WRONG_KEY)
            if is_told(count):
                self.host.log("wrong login key", note="used, expired or invented", count=count)
            session.send(encode_logged_off(Farewell.WRONG_KEY, "this login key is not valid (any more): log in again"))
            session.close(self.host.now)
            return
        self.sessions[number, session.id] = proxy
        session.admit()
        self.confine(proxy, "begin of its session", proxy.attach, session, (number, session.id))

    def count_bad(self, why: Refused) -> int:
        """A client sent what is not acceptable; gives how often that has happened."""
        self.bad_messages += 1
        self.refused[why] += 1
        return self.refused[why]

    def refused_clients(self) -> list[dict[str, Any]]:
        """See ClusterApp."""
        return super().refused_clients() + tell_refusals("players", self.refused)

    def _on_client_updates(self, source: AppId, message: ClientUpdates) -> None:
        for update in message.updates:
            proxy = self.bases.get(EntityId(update.entity))
            if isinstance(proxy, ProxyEntity) and proxy.keep_update(source, update):
                self._updated[proxy.id] = proxy

    # The tick.

    def on_tick(self) -> None:
        """See App."""
        self._join_missing()
        self._hear_clients()
        self._deliver_mail()
        self.awaiting.run()
        super().on_tick()
        self.alarms.on_tick()
        self.ids.serve()
        self._send_wants()
        self._send_moves()
        self._tell_load()
        self.switchboard.on_tick()

    def _deliver_mail(self) -> None:
        for part in self.switchboard.with_mail():
            entity = self.bases.get(part.entity)
            if entity is None:
                continue  # it is ending: its mailbox answers for it
            updated = self._updated.get(part.entity)
            if updated is not None:
                self._pass_updates(updated)
            for source, payload in self.switchboard.taking(part):
                self.confine(entity, "mail", entity.on_mail, source, payload)
                if entity.life is Life.GONE:
                    break  # its mailbox tells those who wrote the rest
                if updated is not None:
                    self._pass_updates(updated)
        updated_ones = {id: proxy for id, proxy in self._updated.items() if id in self.bases}
        self._updated = {id: proxy for id, proxy in updated_ones.items() if not self._pass_updates(proxy)}

    def _pass_updates(self, proxy: ProxyEntity) -> bool:
        """False when some of it waits for mail."""
        return self.confine(proxy, "updates for its client", proxy.pass_updates) is not False

    def _run_part(self, part: PartId, what: str, function: Callable[..., Any], *args: Any) -> None:
        """Runs code of a base that is here (see `Awaiting`)."""
        entity = self.bases.get(part.entity)
        if entity is not None:
            entity.guarded(what, function, args)
        else:
            self.host.log("method of an entity that is not here", part=str(part), method=what)
            run_game_code(self.host, f"{part}, {what}", function, *args)

    def confine(self, entity: object, what: str, function: Callable[..., T], *args: Any) -> T | None:
        """Does work of the tick for one entity; None when it raised: that is counted and reported, and all others go
        on. An AssertionError is a broken invariant of ours and stops the app."""
        try:
            return function(*args)
        except AssertionError:
            raise
        except Exception as problem:
            self.failures += 1
            facts = {"what": f"{entity}, {what}", "error": words_of(problem), "trace": trace_of(problem)}
            self.host.log("entity work failed", count=self.failures, **facts)
            return None

    def _ring(self, act: Callable[[], None]) -> None:
        """What is due later is done for an entity, mostly."""
        function = act.func if isinstance(act, partial) else act
        owner = getattr(function, "__self__", self)
        self.confine(getattr(owner, "_entity", owner), getattr(function, "__name__", "alarm"), act)

    def _send_wants(self) -> None:
        wanting, self.wanting = self.wanting, {}
        for proxy in wanting.values():
            proxy.send_wants()

    def _send_moves(self) -> None:
        moves, self.moves = self.moves, {}
        by_app: dict[AppId, list[bytes]] = {}
        for id, row in moves.items():
            entity = self.bases.get(id)
            app = None if entity is None else entity.cell.where
            if app is not None:
                by_app.setdefault(app, []).append(row)
        for app, rows in by_app.items():
            self.send(app, Moves(b"".join(rows)))

    def _tell_load(self) -> None:
        manager = self.peers.get(AppKind.BASE_APP_MGR)
        if manager is not None and self.host.now >= self._load_at:
            self._load_at = self.host.now + LOAD_S
            self.send(manager, BaseAppLoad(len(self.bases), len(self.sessions), self.host.cpu_load()))

    # Exchange: what the switchboard asks and tells.

    def locate(self, part: PartId) -> None:
        """See Exchange."""
        self.whereabouts.locate(part)

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange."""
        entity = self.bases.get(source.entity)
        if entity is not None:
            entity.on_undelivered(to, payloads, reason)
        else:
            self.host.log("not delivered", entity=source.entity, to=str(to), count=len(payloads), reason=reason)

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""

    # The end, and the console.

    def stop(self) -> None:
        """Begin to end: clients are told, cell parts come down, what is stored is saved. `is_stopped` tells when."""
        self.is_stopping = True
        for each in list(self.bases.values()):
            if isinstance(each, ProxyEntity):
                each.destroy(Farewell.STOPPING, "the server is stopping")
            else:
                each.destroy()
            each.saver.hurry()
        self.alarms.after(STOP_S, self._hurry)

    def _hurry(self) -> None:
        for each in list(self.bases.values()):
            each.cell.give_up("the server is stopping")

    def unsaved(self) -> list[Unsaved]:
        """What would be lost if this app ended now; nothing of bots is kept. An entity with a value that cannot be
        encoded is reported."""
        left = (self.confine(each, "what is not saved", each.saver.unsaved) for each in self.bases.values())
        return [each for each in left if each is not None and not is_bot_dbid(each.dbid)]

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is left to be saved."""
        return self.is_stopping and not self.bases

    def tallies(self) -> dict[str, int]:
        """See ClusterApp."""
        return {**super().tallies(), **self.switchboard.counts, "entity work failed": self.failures}

    def view(self) -> dict[str, Any]:
        """What there is, for the console: plain values."""
        types: dict[str, int] = {}
        for each in self.bases.values():
            types[each.schema.name] = types.get(each.schema.name, 0) + 1
        return {
            "app": str(self.me),
            "bases": types,
            "clients": len(self.sessions),
            "waiting_for_client": len(self.keys),
            "waiting_for_id": self.ids.waiting,
            "ids": len(self.ids),
            "saving": sum(not each.saver.is_idle for each in self.bases.values()),
            "logging_off": len(self.log_offs),
            "save_failures": sum(each.saver.failures for each in self.bases.values()),
            "bad_messages": self.bad_messages,
            "old_mail": self.old_mail,
            "waiting_methods": len(self.awaiting),
            "late_answers": self.late_answers,
            "links": {kind.name.lower(): str(self.peers[kind]) for kind in NEEDED if kind in self.peers},
        }
