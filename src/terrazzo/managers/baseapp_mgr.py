"""The BaseAppMgr: chooses the BaseApp of a player's proxy or of an entity that a game creates, finds the home of any
entity (`searches.py`), and has the registry of names (`names.py`).

The path of one placement; the first two steps are in the same tick:

    DBApp ── PlaceProxy ──▶ waiting ── on_tick: least loaded BaseApp ── CreateProxy ──▶ asked
                               ▲                                                         │
                               └── refused by the BaseApp: ask another ──────────────────┤
    DBApp ◀── refused, with a sentence ──────────────── refused by every BaseApp ────────┤
    DBApp ◀── WorldFull ───────────────────── as many players as may be: none is asked ──┤
    DBApp ◀── ProxyPlaced ───────────────────────────────────────────── ProxyCreated ────┤
    DBApp ◀── ProxyInDoubt, with a sentence ──────── link lost, or no answer in time ────┘

The rules:

- *One proxy.* Another BaseApp is asked only when it is certain that the one before has created none: it refused, or the
  request had not left yet (requests leave in `on_tick`, together with the choice, so a placement that waits when a link
  is lost chooses among the remaining BaseApps). After a lost link or a timeout the proxy may exist: another BaseApp
  could create a second one of the same stored entity. So the answer is ProxyInDoubt, and the player tries again.
- *Bounded waits.* A placement has PLACE_S in all, repeated requests included. A later answer is not passed on; a proxy
  that was created after all ends when its key expires. Until then the DBApp keeps the player's log-on record, and asks
  with Locate whether the proxy exists.
- *A burst spreads.* Loads are reported once a second, but many players may log on within that second: each proxy that
  was requested or created since a BaseApp's last report counts on top of the reported load, with the estimated load of
  one player: the mean that was measured there, or at the other BaseApps, or PROXY_LOAD.
- *Bootstrap once.* When the spaces are ready (SpacesReady of the CellAppMgr) and a BaseApp has joined, the first one
  gets Bootstrap and runs the game's `on_ready`. No other BaseApp ever gets it, even if the first is lost at that
  moment: it may have begun, and a world that is populated twice is worse than one that an operator starts again.
- A lost CellAppMgr changes nothing here: the spaces still exist.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from terrazzo.cluster.app import LOAD_S, Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.loads import is_load, smoothed
from terrazzo.managers.idruns import IdRuns
from terrazzo.managers.names import NamesOfBases
from terrazzo.managers.relay import Relay
from terrazzo.managers.searches import Searches
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import MESSAGE_MAX, Message
from terrazzo.wire.pairs.base_cellmgr import CellAppLoads, SpacesReady
from terrazzo.wire.pairs.base_db import Ids, WantIds
from terrazzo.wire.pairs.basemgr_base import (
    BaseAppFound,
    BaseAppLoad,
    BaseAppReady,
    Bootstrap,
    CreateProxy,
    FindBaseApp,
    Locate,
    ProxyCreated,
)
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyInDoubt, ProxyPlaced, WorldFull, WorldLoad, WorldLoads
from terrazzo.wire.requests import Failure, Question
from terrazzo.wire.sentences import Sentence

PLACE_S = 8.0
"""How long a placement may take, repeated requests included."""

WAITING_MAX = 1000
"""Placements that may arrive within one tick; those beyond are refused at once."""

RECORD_MAX = MESSAGE_MAX - 1024
"""Bytes of a record that fit into CreateProxy."""

IDS_S = 4.0
"""How long the DBApp may take to give ids to a CellApp."""

PROXY_LOAD = 0.002
"""The assumed load of one player, while no BaseApp has MEASURED_CLIENTS players."""
MEASURED_CLIENTS = 20
"""With so many players, the load of one player is a BaseApp's load divided by their number."""


class Why(Sentence):
    """Why a placement was refused or left in doubt, as it is counted."""

    NOT_READY = "spaces not ready", "The spaces of the game do not have their cells yet."
    NO_BASE_APP = "no BaseApp", "No BaseApp is running."
    CROWD = "too many at once", "More players ask for a place than may wait for one."
    FULL = "as many players as may be", "The cluster has as many players as it may have."
    RECORD = "record too big", "The stored player is too large for one message."
    REFUSED = "refused by every BaseApp", "Every BaseApp refused to make the proxy."
    NONSENSE = "answered wrongly", "A BaseApp answered with a message of the wrong kind."
    TIMEOUT = "timeout", "A BaseApp did not answer in time."
    LINK_LOST = "link lost", "The link with a BaseApp was lost while it made the proxy."
    ABANDONED = "nobody waits for it any more", "The DBApp no longer waits for the proxy."


@dataclass
class _BaseApp:
    """One BaseApp, as it has reported itself."""

    address: BaseAppReady
    load: float | None = None
    """The smoothed load."""
    bases: int = 0
    clients: int = 0
    smoothed_count: float | None = None
    """`counted`, smoothed as the load is: the number of players that the smoothed load already contains."""
    asked: int = 0
    """Proxies that were requested and not answered yet."""
    made: int = 0
    """Proxies that it has created since its last report."""
    given: int = 0
    """Entities that others were sent here to create, since its last report."""

    def take_in(self, report: BaseAppLoad) -> None:
        """Applies a report."""
        if self.load is None and report.load is not None:
            self.smoothed_count = None  # until now it was a number of entities
        self.load = smoothed(self.load, report.load)
        self.bases, self.clients = report.bases, report.clients
        self.smoothed_count = smoothed(self.smoothed_count, float(self.counted))
        self.made = 0  # the answers came before the report on the same link, so it contains them
        self.given = 0

    @property
    def counted(self) -> int:
        """The number of its players; of its entities, as long as it has not measured its load."""
        return self.bases if self.load is None else self.clients

    @property
    def players(self) -> int:
        """The number of its players, including those that it has not reported yet."""
        return self.clients + self.asked + self.made

    @property
    def is_measured(self) -> bool:
        """Whether its load tells what one player costs."""
        return self.load is not None and self.clients >= MEASURED_CLIENTS

    def expected_load(self, proxy_load: float) -> float:
        """An estimate: its load with everything that the smoothed load does not contain yet. `proxy_load` is the load
        of one player, if it cannot be measured here."""
        player_load = (self.load or 0.0) / self.clients if self.is_measured else proxy_load
        missing = self.counted - (self.smoothed_count or 0.0) + self.asked + self.made + self.given
        return (self.load or 0.0) + missing * player_load


@dataclass
class _Placement:
    """One PlaceProxy in work."""

    number: int
    question: Question
    wanted: PlaceProxy
    deadline: float
    refused_by: dict[AppId, str] = field(default_factory=dict)
    is_abandoned: bool = False
    """The link with the DBApp that asked was lost: an answer would be dropped there."""


class BaseAppMgr(ClusterApp):
    """See the module."""

    def __init__(self, me: AppId, host: Host, *, players_max: int = 1_000_000) -> None:
        super().__init__(me, host)
        self.players_max = players_max
        self.placed = 0
        self.refused: dict[Why, int] = dict.fromkeys(Why, 0)
        self._apps: dict[AppId, _BaseApp] = {}
        self._waiting: deque[_Placement] = deque()
        self._asked: dict[int, _Placement] = {}
        """Placements that a BaseApp was asked for, by their numbers."""
        self._number = 0
        self._spaces_ready = False
        self._bootstrapped: AppId | None = None
        self._searches = Searches(self, self._apps)
        self.names = NamesOfBases(self)
        self._db: AppId | None = None
        self._cell_apps: dict[AppId, None] = {}
        self._cell_searches = Searches(self, self._cell_apps)
        self._cell_ids = IdRuns()
        """The ids of entities without a base part: runs that CellApps were given."""
        self._cell_loads = CellAppLoads(None, None)
        self._report_at = host.now + LOAD_S
        Relay(self, lambda: self._db)
        self.on(CellAppLoads, self._on_cell_loads)
        self.on(BaseAppReady, self._on_baseapp_ready)
        self.on(BaseAppLoad, self._on_load)
        self.on(SpacesReady, self._on_spaces_ready)
        self.answers(PlaceProxy, self._on_place_proxy)
        self.answers(Locate, self._on_locate)
        self.answers(WantIds, self._on_want_ids)
        self.answers(FindBaseApp, self._on_find_base_app)

    # App.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        if peer.kind is AppKind.DB_APP:
            self._db = peer
        elif peer.kind is AppKind.CELL_APP:
            self._cell_apps[peer] = None
            self._cell_searches.on_joined(peer)

    def on_link_lost(self, peer: AppId) -> None:
        """See App. A lost BaseApp is removed before its requests fail, so that no placement chooses it again."""
        if peer == self._db:
            self._db = None
        if peer.kind is AppKind.CELL_APP_MGR:
            self._cell_loads = CellAppLoads(None, None)
        if peer in self._cell_apps:
            del self._cell_apps[peer]
            self._cell_searches.on_lost(peer)
        if self._apps.pop(peer, None) is not None:
            self._searches.on_lost(peer)
            self.host.log(LogEvent.BASE_APP_LOST, app=str(peer), left=len(self._apps))
        for placement in [*self._waiting, *self._asked.values()]:
            if placement.question.source == peer:
                placement.is_abandoned = True
        super().on_link_lost(peer)

    def on_tick(self) -> None:
        """See App."""
        super().on_tick()
        if self._spaces_ready and self._apps and self._bootstrapped is None:
            self._bootstrapped = next(iter(self._apps))
            self.host.log(LogEvent.BOOTSTRAP, app=str(self._bootstrapped))
            self.send(self._bootstrapped, Bootstrap())
        if self.host.now >= self._report_at:
            self._report_at = self.host.now + LOAD_S
            if self._db is not None:
                self.send(self._db, WorldLoad(self._world_loads()))
        self.on_turn()

    def on_turn(self) -> None:
        """See TakesTurns."""
        while self._waiting:
            self._place(self._waiting.popleft())

    def asked_by_app(self) -> dict[AppId, int]:
        """How many proxies each BaseApp was asked for and has not answered."""
        return {app: known.asked for app, known in self._apps.items()}

    @property
    def unanswered(self) -> int:
        """The number of placements that a BaseApp was asked for."""
        return len(self._asked)

    # BaseApps that join and report.

    def _on_baseapp_ready(self, source: AppId, message: BaseAppReady) -> None:
        known = self._apps.get(source)
        if source.kind is not AppKind.BASE_APP:
            self._refuse(source, message)
        elif known is not None:
            known.address = message
        else:
            self._apps[source] = _BaseApp(message)
            self._searches.on_joined(source)
            self.names.on_joined(source)
            self.host.log(LogEvent.BASE_APP_JOINED, app=str(source), joined=len(self._apps))

    def _on_load(self, source: AppId, message: BaseAppLoad) -> None:
        known = self._apps.get(source)
        if known is None or not is_load(message.load):
            self._refuse(source, message)
            return
        known.take_in(message)

    def _on_cell_loads(self, source: AppId, message: CellAppLoads) -> None:
        if source.kind is not AppKind.CELL_APP_MGR or not (is_load(message.mean) and is_load(message.most)):
            self._refuse(source, message)
            return
        self._cell_loads = message

    def _world_loads(self) -> WorldLoads:
        known = [each.load for each in self._apps.values()]
        loads = [each for each in known if each is not None]
        least = min(loads) if loads and len(loads) == len(known) else None
        return WorldLoads(self._players(), self.players_max, least, self._cell_loads.mean, self._cell_loads.most)

    def _players(self) -> int:
        return sum(each.players for each in self._apps.values())

    def _on_spaces_ready(self, source: AppId, message: SpacesReady) -> None:
        if source.kind is not AppKind.CELL_APP_MGR:
            self._refuse(source, message)
            return
        self._spaces_ready = True

    def _on_locate(self, question: Question) -> None:
        """Refused while the proxy is being placed: whether it exists is not certain."""
        asked = question.message
        assert isinstance(asked, Locate)
        if any(each.wanted.entity == asked.entity for each in (*self._waiting, *self._asked.values())):
            self.requests.refuse(question, "its proxy is being placed")
        elif asked.entity in self._cell_ids:
            self._cell_searches.begin(question)
        else:
            self._searches.begin(question)

    def _on_find_base_app(self, question: Question) -> None:
        """A game creates an entity: the least loaded BaseApp makes it."""
        app = self._least_loaded(self._apps)
        if app is None:
            self.requests.refuse(question, "no BaseApp is running")
        else:
            self._apps[app].given += 1
            self.requests.answer(question, BaseAppFound(app))

    def _least_loaded(self, apps: Iterable[AppId]) -> AppId | None:
        """Equal loads are decided by the number of players, then by the order of joining: min keeps the first."""
        proxy_load, known = self._mean_proxy_load(), self._apps
        return min(apps, key=lambda app: (known[app].expected_load(proxy_load), known[app].players), default=None)

    def _on_want_ids(self, question: Question) -> None:
        """A CellApp needs ids for entities without a base part: they come from the DBApp, and are remembered."""
        asked = question.message
        assert isinstance(asked, WantIds)
        if self._db is None:
            self.requests.refuse(question, "the DBApp is out of reach")
            return

        def give(answer: Message) -> None:
            if isinstance(answer, Ids):
                self._cell_ids.add(answer.first, answer.count)
            self.requests.answer(question, answer)

        self.requests.ask(
            self._db,
            asked,
            timeout_s=IDS_S,
            then=give,
            failed=lambda failure, why: self.requests.refuse(question, why or failure.value),
        )

    # Placing.

    def _on_place_proxy(self, question: Question) -> None:
        wanted = question.message
        assert isinstance(wanted, PlaceProxy)
        self._number += 1
        placement = _Placement(self._number, question, wanted, self.host.now + PLACE_S)
        if len(wanted.record) > RECORD_MAX:
            sentence = f"what is saved of this player is {len(wanted.record)} bytes, more than {RECORD_MAX}"
            self._give_up(placement, Why.RECORD, sentence)
        elif len(self._waiting) >= WAITING_MAX:
            self._give_up(placement, Why.CROWD, "too many players are logging in at once; try again in a moment")
        else:
            self._waiting.append(placement)

    def _place(self, placement: _Placement) -> None:
        """Asks the least loaded BaseApp that has not refused yet, or refuses with a sentence."""
        if placement.is_abandoned:
            self._give_up(placement, Why.ABANDONED, "")
        elif not self._spaces_ready:
            self._give_up(placement, Why.NOT_READY, "the world is still starting; try again in a few seconds")
        elif not self._apps:
            self._give_up(placement, Why.NO_BASE_APP, "no BaseApp is running, so nobody can log in; start one")
        elif placement.wanted.is_player and self._players() >= self.players_max:
            sentence = f"the game is full: {self.players_max} players are in; try again later"
            self._give_up(placement, Why.FULL, sentence, WorldFull(self.players_max))
        elif self.host.now >= placement.deadline:
            self._give_up(placement, Why.TIMEOUT, "the BaseApps took too long to refuse; try again later")
        else:
            best = self._least_loaded(app for app in self._apps if app not in placement.refused_by)
            if best is not None:
                self._ask(placement, best, self._apps[best])
            else:
                *_, newest = placement.refused_by.values()
                self._give_up(placement, Why.REFUSED, newest)

    def _mean_proxy_load(self) -> float:
        """The mean load of one player where it was measured; PROXY_LOAD if it was measured nowhere."""
        measured = [each for each in self._apps.values() if each.is_measured]
        players = sum(each.clients for each in measured)
        return sum(each.load or 0.0 for each in measured) / players if players else PROXY_LOAD

    def _ask(self, placement: _Placement, app: AppId, known: _BaseApp) -> None:
        wanted = placement.wanted
        known.asked += 1
        self._asked[placement.number] = placement
        self.requests.ask(
            app,
            CreateProxy(
                wanted.type_id, wanted.dbid, wanted.record, wanted.entity, wanted.holder, is_player=wanted.is_player
            ),
            timeout_s=placement.deadline - self.host.now,
            then=lambda answer: self._on_answer(placement, app, known, answer),
            failed=lambda failure, why: self._on_failure(placement, app, known, failure, why),
        )

    def _on_answer(self, placement: _Placement, app: AppId, known: _BaseApp, answer: Message) -> None:
        del self._asked[placement.number]
        known.asked -= 1
        if not isinstance(answer, ProxyCreated):
            self._refuse(app, answer)  # it may have created one: as after a lost link, no other is asked
            self._leave_in_doubt(
                placement, Why.NONSENSE, f"{app} answered {type(answer).__name__}; report this mistake"
            )
            return
        known.made += placement.wanted.is_player
        known.given += not placement.wanted.is_player
        if placement.is_abandoned:
            self._give_up(placement, Why.ABANDONED, "")
            return
        self.placed += 1
        address = known.address
        placed = ProxyPlaced(
            answer.entity, answer.key, address.host, address.udp_port, address.ws_port, index=app.index
        )
        self.requests.answer(placement.question, placed)

    def _on_failure(self, placement: _Placement, app: AppId, known: _BaseApp, failure: Failure, why: str) -> None:
        del self._asked[placement.number]
        known.asked -= 1
        if failure is Failure.REFUSED:
            # It has certainly created none, so another one may be asked.
            placement.refused_by[app] = why[:1000]
            self._waiting.append(placement)
        elif failure is Failure.LINK_LOST:
            # It may have created one, and its process may still run: no other is asked.
            self._leave_in_doubt(placement, Why.LINK_LOST, f"{app} was lost while it let the player in; try again")
        else:
            # It may have created one, or may still do so: no other is asked.
            self._leave_in_doubt(placement, Why.TIMEOUT, f"{app} did not answer within {PLACE_S:g} s; try again later")

    def _give_up(self, placement: _Placement, why: Why, sentence: str, answer: Message | None = None) -> None:
        """`answer`: instead of a refusal with the sentence."""
        self.refused[why] += 1
        wanted = placement.wanted
        self.host.log(
            LogEvent.PROXY_NOT_PLACED, type_id=wanted.type_id, dbid=wanted.dbid, why=why.value, reason=sentence
        )
        if placement.is_abandoned:
            return
        if answer is not None:
            self.requests.answer(placement.question, answer)
        else:
            self.requests.refuse(placement.question, sentence)

    def _leave_in_doubt(self, placement: _Placement, why: Why, sentence: str) -> None:
        """A proxy may exist. That is no refusal: the DBApp must not have another one created yet."""
        self.refused[why] += 1
        wanted = placement.wanted
        self.host.log(LogEvent.PROXY_IN_DOUBT, type_id=wanted.type_id, dbid=wanted.dbid, why=why.value, reason=sentence)
        if not placement.is_abandoned:
            self.requests.answer(placement.question, ProxyInDoubt(sentence))

    def view(self) -> dict[str, Any]:
        """The state of this app for the console, as plain data (what JSON can hold)."""
        return {
            "are_spaces_ready": self._spaces_ready,
            "bootstrapped": str(self._bootstrapped) if self._bootstrapped else None,
            "placed": self.placed,
            "placing": len(self._waiting) + len(self._asked),
            "missing": [str(app) for app in self._searches.missing],
            "refused": {why.value: count for why, count in self.refused.items() if count},
            "apps": [
                {
                    "app": str(app),
                    "index": app.index,
                    "host": known.address.host,
                    "udp_port": known.address.udp_port,
                    "ws_port": known.address.ws_port,
                    "load": known.load,
                    "bases": known.bases,
                    "clients": known.clients,
                    "unreported": known.asked + known.made,
                }
                for app, known in self._apps.items()
            ],
        }
