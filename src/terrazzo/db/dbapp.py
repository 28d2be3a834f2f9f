"""The DBApp: stores what must outlast the cluster, and confirms nothing before it is durable.

    from            receives                  sends, when it is durable
    LoginApp        LogOn            ──▶      LoggedOn, or LogOnRefused with a code and a sentence   (`logon.py`)
    BaseApp         Save             ──▶      Saved
                    LoggedOff        ──▶      LogOffRecorded
                    WantIds          ──▶      Ids
    BaseAppMgr      LoadStored, …    ──▶      StoredLoaded, …                                (`loads.py`)
                    (the DBApp asks it TakeOver, for a player that is logged on already)
    BaseAppMgr      WorldLoad        ──▶      DoorLoad, to the LoginApps: once a second, with the own load
                    (the DBApp asks it PlaceProxy, for players that log on, and Locate, for proxies in doubt)

The rules:

- *P5.* Saved is sent when the store has the record on disk, never before. Saves of one entity take effect in the order
  in which they arrive, since the store keeps the order of all of them. So does LoggedOff: it clears the log-on record
  after the last save, and the next log-on loads what that save wrote.
- *Restarts.* The first incarnation of the DBApp begins with a cluster in which no player is logged on: the log-on
  records of an earlier run are cleared. A later incarnation is a restart while players play: it keeps the records, and
  asks the BaseAppMgr for each whether its proxy exists (`doubts.py`). A new incarnation of a BaseApp has none of the
  players of the one before.
- *Once.* The first save of an entity creates its record, and with it a log-on record with the entity's id. The answer
  may be lost; a repeated save finds the record by that id, after a restart of the DBApp, too. An entity id is given out
  once.
- *Bounded.* While `backlog_max` operations wait, further saves, log-offs and requests for ids are refused, and the
  asker tries again.
- *A database out of reach.* What was submitted waits for it. After `away_s` everything new is refused: players that log
  on read so, and BaseApps keep what they have to save and try again. A restart of PostgreSQL takes less, and is no more
  than a delay.

The driver creates the store (a `StoreQueue` with its workers), and stops the DBApp last, when `is_busy` is false.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.loads import OwnLoad, is_load
from terrazzo.db.attempts import LogOnLimits
from terrazzo.db.loads import DBID_MAX, Loads
from terrazzo.db.logon import LogOns
from terrazzo.db.store import ClearLogOns, SaveEntity, Store, TakeIds
from terrazzo.schema.model import Schema
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import MESSAGE_MAX
from terrazzo.wire.pairs.base_db import Ids, LoggedOff, Save, Saved, WantIds
from terrazzo.wire.pairs.db_basemgr import WorldLoad, WorldLoads
from terrazzo.wire.pairs.login_db import DoorLoad, LogOn
from terrazzo.wire.pairs.stored import DeleteStored, LoadStored
from terrazzo.wire.requests import Question

MANAGER = AppId(AppKind.BASE_APP_MGR, 0, ANY_INCARNATION)

RECORD_MAX = MESSAGE_MAX - 1024
"""Bytes of a record: it must fit into PlaceProxy and CreateProxy."""


@dataclass(frozen=True)
class DBLimits:
    """How much the DBApp stores or queues."""

    backlog_max: int = 10_000
    ids_max: int = 65_536
    """Ids in one run."""
    away_s: float = 3.0
    """How long a database may be out of reach before requests are refused."""
    log_on: LogOnLimits = field(default_factory=LogOnLimits)


class DBApp(ClusterApp):
    """See the module."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        *,
        schema: Schema,
        player_type_id: int,
        allow_new_players: bool,
        store: Store,
        limits: DBLimits | None = None,
    ) -> None:
        super().__init__(me, host)
        self.saved = 0
        self.ids_given = 0
        self._schema = schema
        self._store = store
        self._limits = limits or DBLimits()
        self._is_joining = False
        self._away_since: float | None = None
        self._base_apps: dict[int, int] = {}
        self._login_apps: set[AppId] = set()
        self._own_load = OwnLoad(host)
        self._world: WorldLoads | None = None
        self.log_ons = LogOns(
            host,
            self.requests,
            store,
            schema,
            schema.by_id[player_type_id],
            allow_new_players=allow_new_players,
            limits=self._limits.log_on,
        )
        self.loads = Loads(host, self.requests, store, schema, self.log_ons)
        self.on(WorldLoad, self._on_world_load)
        self.answers(LogOn, self.log_ons.on_log_on)
        self.answers(Save, self._on_save)
        self.answers(WantIds, self._on_want_ids)
        self.answers(LoggedOff, self._on_logged_off)
        self.answers(LoadStored, lambda question: self.loads.on_load(question, self._why_not()))
        self.answers(DeleteStored, lambda question: self.loads.on_delete(question, self._why_not()))
        if me.incarnation == 1:
            self._clear_log_ons(None)
        else:
            self.log_ons.doubt_all()

    def queues(self) -> dict[str, int]:
        """See ClusterApp."""
        return {**super().queues(), "operations": len(self._store)}

    @property
    def is_busy(self) -> bool:
        """Whether something was asked of the store or of the manager and is not done."""
        return bool(len(self._store) or len(self.log_ons) or len(self.loads))

    def view(self) -> dict[str, object]:
        """What a console shows."""
        return {
            "saved": self.saved,
            "backlog": len(self._store),
            "database_away": self._store.away,
            "ids_given": self.ids_given,
            "logging_on": len(self.log_ons),
            "logged_on": len(self.log_ons.players),
            "in_doubt": len(self.log_ons.doubts),
            "loading": len(self.loads),
            "loaded": self.loads.loaded,
            "deleted": self.loads.deleted,
            "created": self.log_ons.created,
            "refused": {why.value: count for why, count in self.log_ons.refused.items()},
            "has_manager": self.log_ons.manager is not None,
        }

    # App.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        if peer.slot == MANAGER.slot:
            self.log_ons.manager = peer
            self.log_ons.doubts.on_link_up()
            self._is_joining = False
        elif peer.kind is AppKind.LOGIN_APP:
            self._login_apps.add(peer)
        elif peer.kind is AppKind.BASE_APP:
            known = self._base_apps.get(peer.index)
            self._base_apps[peer.index] = peer.incarnation
            self.log_ons.base_apps[peer.index] = peer
            if known is not None and known < peer.incarnation:
                self._on_new_base_app(peer)

    def on_link_lost(self, peer: AppId) -> None:
        """See App."""
        if peer == self.log_ons.manager:
            self.log_ons.manager = None
            self._world = None
        self._login_apps.discard(peer)
        if peer.kind is AppKind.BASE_APP and self.log_ons.base_apps.get(peer.index) == peer:
            del self.log_ons.base_apps[peer.index]
        if peer.slot == MANAGER.slot:
            self._is_joining = False
        super().on_link_lost(peer)
        self.log_ons.on_link_lost(peer)

    def on_tick(self) -> None:
        """See App."""
        super().on_tick()
        if self.log_ons.manager is None and not self._is_joining:
            self._is_joining = True
            self.host.join(MANAGER)
        self._look_after_database()
        if self._own_load.on_tick():
            for peer in sorted(self._login_apps):
                self.send(peer, DoorLoad(self._own_load.value, self._world))
        self.on_turn()
        self.log_ons.on_tick()

    def on_turn(self) -> None:
        """See TakesTurns: answers what the store has done."""
        self._store.poll()

    # Saving.

    def _on_save(self, question: Question) -> None:
        save = question.message
        assert isinstance(save, Save)
        entity = self._schema.by_id.get(save.type_id)
        if entity is None or not entity.persistent:
            self._refuse_question(question, f"there is no entity type {save.type_id} that is saved")
        elif not 0 <= save.dbid <= DBID_MAX:
            self._refuse_question(question, f"{save.dbid} is no dbid; a new entity is saved with 0")
        elif len(save.record) > RECORD_MAX:
            self._refuse_question(question, f"a record of {len(save.record)} bytes is over the limit of {RECORD_MAX}")
        elif why := self._why_not():
            self._refuse_question(question, f"{why}; save again in a moment")
        else:
            self._save(question, save, entity.name)

    def _save(self, question: Question, save: Save, type_name: str) -> None:
        self._store.submit(
            SaveEntity(type_name, save.dbid, save.record, save.entity, question.source.index),
            lambda dbid: self._on_saved(question, type_name, dbid),
            lambda reason: self._refuse_question(question, reason),
        )

    def _on_saved(self, question: Question, type_name: str, dbid: int | None) -> None:
        if dbid is None:
            self._refuse_question(question, f"no {type_name} is stored under the dbid given; a new one is saved with 0")
            return
        self.saved += 1
        self.requests.answer(question, Saved(dbid))

    def _on_logged_off(self, question: Question) -> None:
        message = question.message
        assert isinstance(message, LoggedOff)
        if not (0 < message.dbid <= DBID_MAX and message.entity > 0):
            self._refuse(question.source, message)
            self._refuse_question(question, "there is no such proxy")
        elif why := self._why_not():
            self._refuse_question(question, f"{why}; ask again in a moment")
        else:
            self.loads.on_logged_off(message)
            self.log_ons.on_logged_off(question, message)

    # Ids.

    def _on_want_ids(self, question: Question) -> None:
        wanted = question.message
        assert isinstance(wanted, WantIds)
        if not 0 < wanted.count <= self._limits.ids_max:
            self._refuse_question(question, f"ids come in runs of 1 to {self._limits.ids_max}, not {wanted.count}")
        elif why := self._why_not():
            self._refuse_question(question, f"{why}; ask again in a moment")
        else:
            self._store.submit(
                TakeIds(wanted.count),
                lambda first: self._on_ids(question, Ids(first, wanted.count)),
                lambda reason: self._refuse_question(question, reason),
            )

    def _on_ids(self, question: Question, ids: Ids) -> None:
        self.ids_given += ids.count
        self.requests.answer(question, ids)

    # Loads.

    def _on_world_load(self, source: AppId, message: WorldLoad) -> None:
        loads = message.loads
        if source != self.log_ons.manager or not all(map(is_load, (loads.base_app, loads.cell_mean, loads.cell_most))):
            self._refuse(source, message)
            return
        self._world = loads

    # Within.

    def _why_not(self) -> str:
        """Why the store takes nothing more at present; empty: it does."""
        if self.log_ons.is_database_away:
            return f"the database is out of reach ({self._store.away})"
        return "the database is behind" if len(self._store) >= self._limits.backlog_max else ""

    def _look_after_database(self) -> None:
        """Notes when the database is out of reach, and when it is back."""
        now, away = self.host.now, self._store.away
        if away and self._away_since is None:
            self._away_since = now
            self.host.log(LogEvent.DATABASE_AWAY, why=away)
        elif not away and self._away_since is not None:
            self.host.log(LogEvent.DATABASE_BACK, after_s=round(now - self._away_since, 1))
            self._away_since = None
        self.log_ons.is_database_away = self._away_since is not None and now - self._away_since >= self._limits.away_s

    def _on_new_base_app(self, peer: AppId) -> None:
        """The bases of its former incarnation have ended. The new one gets its first ids over this link, so none of its
        proxies can be recorded yet."""
        self.log_ons.forget_base_app(peer.index)
        self._clear_log_ons(peer.index)

    def _clear_log_ons(self, base_app: int | None) -> None:
        self._store.submit(
            ClearLogOns(base_app),
            lambda left: self.host.log(LogEvent.LOG_ONS_CLEARED, base_app=base_app, left=left),
            lambda reason: self.host.log(LogEvent.STORE_FAILED, reason=reason, act="clearing log-ons"),
        )

    def _refuse_question(self, question: Question, reason: str) -> None:
        self.host.log(
            LogEvent.REQUEST_REFUSED, source=str(question.source), kind=type(question.message).__name__, why=reason
        )
        self.requests.refuse(question, reason)
