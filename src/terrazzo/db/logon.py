"""One player at the door: from a name and a password to a proxy that waits for its client.

                                                                      YIELDING ◀─┐ ┌─ already logged on
    LogOn ─▶ FINDING ── the name is known ─────▶ CHECKING ── password right ──▶ CLAIMING ─▶ PLACING ─▶ RECORDING
                │                                   │                              ▲ │          │           │
                ├─ unknown, new players welcome ─▶ HASHING ─▶ CREATING ────────────┘ │          │        LoggedOn
                ├─ a bot ──────────────────────▶ CREATING or CLAIMING                │          │
                └─ unknown, not welcome ─────────▶ CHECKING, against nothing         ▼          ▼
                                                     └──────── refused, with one sentence ──────┘

The rules:

- *Nobody learns which names exist.* Where players are not created, an unknown name and a wrong password get the same
  words after the same work; that somebody is logged on is only said to who has the password.
- *One proxy of a stored entity.* CLAIMING writes the log-on record, with the entity id that the proxy will have, or
  finds the record of another proxy. LoggedOn is sent when the record names the proxy's BaseApp and is durable.
- *A failed placement clears the record.* Where BaseAppMgr refused, there is no proxy, and the record is cleared at
  once. Where it did not answer, or its link was lost, there may be one: the record stays until that is certain
  (`doubts.py`). Else a second proxy could be made beside it, and the first one's save come last.
- *LoggedOff names the proxy*, so it clears the record of that proxy and no other, whenever and however often it comes.
  It comes straight from the BaseApp, ProxyPlaced by way of the manager, so leaving may overtake arriving: a proxy that
  is gone already counts as a failed placement.
- *A client that does not answer makes room.* If the player is logged on already, the BaseApp is asked whether the
  client still answers (TakeOver). If not, the proxy goes, and the attempt claims again when its record is cleared
  (YIELDING, at most `yield_s`). A client that answers stays, and the attempt is refused.
- *Bots are no players.* A name that is reserved for bots needs no password here, since LoginApp has checked it, and its
  account is made whether or not new players are welcome; `bots.py` keeps it apart.
- *Bounded.* No more than `in_work_max` at a time, and one for each name. Attempts from an address at which the player
  has logged in before have a budget of their own (`known_max`, one more for each name) and go first to the password
  check, so that wrong passwords from elsewhere do not keep a player out. A LoginApp takes its players with it
  when its link is lost, as long as nothing was claimed for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from terrazzo.cluster.app import Host
from terrazzo.db.attempts import Attempt, LogOnLimits, Player, new_record
from terrazzo.db.doubts import AGAIN_S, Doubts
from terrazzo.db.names import normal_name, why_not
from terrazzo.db.refusals import Refused
from terrazzo.db.store import (
    Account,
    AddLogOn,
    CheckPassword,
    Claim,
    ClearLogOn,
    CreateAccount,
    FindAccount,
    HashPassword,
    ListLogOns,
    LoadEntity,
    LogOnRecord,
    Operation,
    PlaceLogOn,
    Store,
)
from terrazzo.errors import ValueRejected
from terrazzo.schema.model import EntitySchema, Schema
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import LoggedOff, LogOffRecorded, TakenOver, TakeOver
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyInDoubt, ProxyPlaced
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn, is_bot_name
from terrazzo.wire.requests import Failure, Question, Requests

T = TypeVar("T")

_NOT_PLACED = {
    Failure.TIMEOUT: Refused.NO_ANSWER,
    Failure.LINK_LOST: Refused.NOT_READY,
    Failure.REFUSED: Refused.NOT_PLACED,
}


class LogOns:
    """Everybody at the door."""

    def __init__(
        self,
        host: Host,
        requests: Requests,
        store: Store,
        schema: Schema,
        player: EntitySchema,
        *,
        allow_new_players: bool,
        limits: LogOnLimits,
    ) -> None:
        self.manager: AppId | None = None
        self.base_apps: dict[int, AppId] = {}
        """The BaseApps that are linked, by index."""
        self.players: dict[int, Player] = {}
        """Who is logged on, by dbid, since this life of the app began: for people to look at. The store decides."""
        self.created = 0
        self.refused: Counter[Refused] = Counter()
        self._host = host
        self._requests = requests
        self._store = store
        self._schema = schema
        self._player = player
        self._allow_new_players = allow_new_players
        self._limits = limits
        self._in_work: dict[tuple[str, bool], Attempt] = {}
        self._claiming: dict[int, Attempt] = {}
        """By dbid, from CLAIMING to the end of PLACING."""
        self._yielding: dict[int, Attempt] = {}
        """By dbid, those that wait until the former proxy is gone."""
        self._list_at: float | None = None
        self.doubts = Doubts(host, requests, self._clear, self._settle)

    def __len__(self) -> int:
        return len(self._in_work)

    # What happens around it.

    def on_log_on(self, question: Question) -> None:
        """Somebody knocks."""
        message = question.message
        assert isinstance(message, LogOn)
        attempt = Attempt(question, message.name, message.password, message.address, message.is_known)
        in_work = sum(each.is_known is attempt.is_known for each in self._in_work.values())
        if self.manager is None:
            self._refuse(attempt, Refused.NOT_READY)
        elif attempt.key in self._in_work:
            self._refuse(attempt, Refused.LOGGING_ON)
        elif in_work >= (self._limits.known_max if attempt.is_known else self._limits.in_work_max):
            self._refuse(attempt, Refused.TOO_MANY)
        else:
            self._in_work[attempt.key] = attempt
            self._store.submit(FindAccount(attempt.name), self._step(attempt, self._found), self._stuck(attempt))

    def on_logged_off(self, question: Question, message: LoggedOff) -> None:
        """A proxy is gone."""
        claiming = self._claiming.get(message.dbid)
        if claiming is not None and claiming.entity == message.entity:
            claiming.is_gone = True
        self._store.submit(
            ClearLogOn(message.dbid, message.entity),
            lambda _: self._on_log_off_recorded(question, message),
            lambda reason: self._requests.refuse(question, reason),
        )

    def _on_log_off_recorded(self, question: Question, message: LoggedOff) -> None:
        self._cleared(message.dbid, message.entity)
        self._requests.answer(question, LogOffRecorded())

    def doubt_all(self) -> None:
        """This DBApp was started in the middle of play: what is recorded is compared with what is there."""

        def again(reason: str) -> None:
            self._host.log("store failed", reason=reason, act="listing log-ons")
            self._list_at = self._host.now + AGAIN_S

        self._list_at = None
        self._store.submit(ListLogOns(), self._doubt, again)

    def _doubt(self, records: list[LogOnRecord]) -> None:
        for dbid, entity, _ in records:
            self.doubts.add(dbid, entity)

    def forget_base_app(self, index: int) -> None:
        """The players of this BaseApp are gone with it."""
        self.players = {dbid: player for dbid, player in self.players.items() if player.base_app != index}

    def on_link_lost(self, peer: AppId) -> None:
        """Nobody waits for the answers to what this LoginApp asked."""
        for attempt in self._in_work.values():
            if attempt.question.source == peer:
                attempt.is_abandoned = True

    def on_tick(self) -> None:
        """Settles doubts; ends those that have waited long enough for a former proxy."""
        self.doubts.on_tick(self.manager)
        if self._list_at is not None and self._host.now >= self._list_at:
            self.doubt_all()
        late = [each for each in self._yielding.items() if self._host.now >= (each[1].yields_until or 0.0)]
        for dbid, attempt in late:
            del self._yielding[dbid]
            self._end(attempt, Refused.ALREADY_LOGGED_ON)

    # The steps, in order.

    def _found(self, attempt: Attempt, account: Account | None) -> None:
        if attempt.is_abandoned:
            self._end(attempt, Refused.NO_ANSWER)
            return
        attempt.account = account
        if is_bot_name(attempt.name):
            self._let_bot_in(attempt)
        elif account is None and self._allow_new_players:
            attempt.new_name = normal_name(attempt.name)
            problem = why_not(attempt.new_name)
            if problem:
                self._end(attempt, Refused.NAME, problem)
                return
            hashed = self._step(attempt, self._hashed)
            self._store.submit(HashPassword(attempt.password), hashed, self._stuck(attempt))
        else:
            check = CheckPassword(attempt.password, account.password_hash if account else None, attempt.is_known)
            self._store.submit(check, self._step(attempt, self._checked), self._stuck(attempt))

    def _checked(self, attempt: Attempt, is_right: bool) -> None:
        if is_right:
            self._claim(attempt)
        else:
            self._end(attempt, Refused.WRONG)

    def _let_bot_in(self, attempt: Attempt) -> None:
        """LoginApp has checked the bots' password (`login_db`), so there is nothing to hash or to check here."""
        if attempt.account is None:
            attempt.new_name = attempt.name
            self._hashed(attempt, "")
        else:
            self._claim(attempt)

    def _hashed(self, attempt: Attempt, password_hash: str) -> None:
        try:
            record = new_record(self._player, attempt.new_name)
        except ValueRejected as problem:
            self._end(attempt, Refused.NAME, problem.problem)
            return
        create = CreateAccount(attempt.new_name, password_hash, self._player.name, record)
        self._store.submit(create, self._step(attempt, self._created), self._stuck(attempt))

    def _created(self, attempt: Attempt, account: Account | None) -> None:
        if account is None:
            self._end(attempt, Refused.LOGGING_ON)
            return
        self.created += 1
        self._host.log("player created", name=account.name, dbid=account.dbid, address=attempt.address)
        attempt.account = account
        self._claim(attempt)

    def _claim(self, attempt: Attempt) -> None:
        assert attempt.account is not None
        _, _, type_name, dbid = attempt.account
        if type_name not in self._schema.by_name:
            self._end(attempt, Refused.TYPE, type_name)
            return
        if dbid in self._claiming or dbid in self._yielding:
            self._end(attempt, Refused.LOGGING_ON)
            return
        self._claiming[dbid] = attempt
        self._store.submit(AddLogOn(dbid), self._step(attempt, self._claimed), self._stuck(attempt))
        self._store.submit(LoadEntity(type_name, dbid), self._step(attempt, self._loaded), self._stuck(attempt))

    def _claimed(self, attempt: Attempt, claim: Claim) -> None:
        if claim.is_new:
            attempt.entity = claim.record.entity
            return
        del self._claiming[claim.record.dbid]
        base_app = self.base_apps.get(claim.record.base_app)
        if attempt.yields_until is not None:
            self._yielding[claim.record.dbid] = attempt
        elif base_app is None:
            self._end(attempt, Refused.ALREADY_LOGGED_ON)
        else:
            self._take_over(attempt, base_app, claim.record.entity)

    def _take_over(self, attempt: Attempt, base_app: AppId, entity: int) -> None:
        """Asks whether the client of the present proxy still answers."""

        def then(answer: Message) -> None:
            if isinstance(answer, TakenOver) and answer.is_going:
                attempt.yields_until = self._host.now + self._limits.yield_s
                self._claim(attempt)
            else:
                self._end(attempt, Refused.ALREADY_LOGGED_ON)

        self._requests.ask(
            base_app,
            TakeOver(entity),
            timeout_s=self._limits.place_s,
            then=then,
            failed=lambda failure, why: self._end(attempt, Refused.ALREADY_LOGGED_ON),
        )

    def _loaded(self, attempt: Attempt, record: bytes | None) -> None:
        if not attempt.entity:
            return  # the record is another's
        assert attempt.account is not None
        _, _, type_name, dbid = attempt.account
        if self.manager is None or record is None or attempt.is_abandoned:
            self._end(attempt, Refused.NOT_READY if record is not None else Refused.NOT_STORED)
            return
        self._requests.ask(
            self.manager,
            PlaceProxy(self._schema[type_name].type_id, dbid, record, attempt.entity),
            timeout_s=self._limits.place_s,
            then=lambda answer: self._placed(attempt, dbid, answer),
            failed=lambda failure, why: self._not_placed(attempt, dbid, failure, why),
        )

    def _placed(self, attempt: Attempt, dbid: int, answer: Message) -> None:
        if isinstance(answer, ProxyInDoubt):
            self._not_placed(attempt, dbid, Failure.TIMEOUT, answer.reason)
            return
        if not isinstance(answer, ProxyPlaced) or answer.entity != attempt.entity:
            self._host.log("unexpected answer", kind=type(answer).__name__, to="PlaceProxy")
            self._not_placed(attempt, dbid, Failure.TIMEOUT, "")
            return
        del self._claiming[dbid]
        attempt.entity = 0  # from here on the record ends with the proxy
        if attempt.is_gone:
            self._end(attempt, Refused.LEFT)
            return
        reply = LoggedOn(answer.entity, answer.key, answer.host, answer.udp_port, answer.ws_port)

        def failed(reason: str) -> None:
            # A record without its BaseApp would outlive the end of that BaseApp.
            self.doubts.add(dbid, answer.entity, after_s=AGAIN_S)
            self._stuck(attempt)(reason)

        self._store.submit(
            PlaceLogOn(dbid, answer.entity, answer.index),
            lambda is_there: self._recorded(attempt, dbid, answer.index, reply, is_there),
            failed,
        )

    def _not_placed(self, attempt: Attempt, dbid: int, failure: Failure, why: str) -> None:
        if failure is not Failure.REFUSED:
            del self._claiming[dbid]
            self.doubts.add(dbid, attempt.entity)
            attempt.entity = 0
        self._end(attempt, _NOT_PLACED[failure], why or Refused.NO_ANSWER.sentence())

    def _recorded(self, attempt: Attempt, dbid: int, base_app: int, reply: LoggedOn, is_there: bool) -> None:
        if not is_there:
            self._end(attempt, Refused.LEFT)
            return
        del self._in_work[attempt.key]
        self.players[dbid] = Player(attempt.name, reply.entity, base_app)
        self._host.log("logged on", name=attempt.name, entity=reply.entity, address=attempt.address)
        if not attempt.is_abandoned:
            self._requests.answer(attempt.question, reply)

    # Within.

    def _step(self, attempt: Attempt, then: Callable[[Attempt, T], None]) -> Callable[[T], None]:
        """The next step, unless the attempt has ended meanwhile."""

        def go_on(result: T) -> None:
            if self._in_work.get(attempt.key) is attempt:
                then(attempt, result)

        return go_on

    def _stuck(self, attempt: Attempt) -> Callable[[str], None]:
        """What to do when the store does not do its part."""

        def stop(reason: str) -> None:
            self._host.log("store failed", reason=reason, name=attempt.name)
            if self._in_work.get(attempt.key) is attempt:
                self._end(attempt, Refused.NOT_STORED)

        return stop

    def _end(self, attempt: Attempt, why: Refused, detail: str = "") -> None:
        del self._in_work[attempt.key]
        if attempt.account is not None:
            if self._claiming.get(attempt.account.dbid) is attempt:
                del self._claiming[attempt.account.dbid]
            if attempt.entity:
                self._clear(attempt.account.dbid, attempt.entity)
        if not attempt.is_abandoned:
            self._refuse(attempt, why, detail)

    def _refuse(self, attempt: Attempt, why: Refused, detail: str = "") -> None:
        self.refused[why] += 1
        reason = why.sentence(detail)
        self._host.log("log on refused", name=attempt.name, address=attempt.address, reason=reason)
        self._requests.refuse(attempt.question, reason)

    def _clear(self, dbid: int, entity: int) -> None:
        """There is no such proxy: clears its record. If the store cannot, the record is in doubt again."""
        self._submit_for(dbid, entity, ClearLogOn(dbid, entity), lambda _: self._cleared(dbid, entity))

    def _settle(self, dbid: int, entity: int, base_app: AppId) -> None:
        """A BaseApp has the proxy: its LoggedOff will come. If that BaseApp has a successor by now, its records are
        cleared already, and none may be added to them: the record stays in doubt."""
        linked = self.base_apps.get(base_app.index)
        if linked is not None and linked.incarnation > base_app.incarnation:
            self.doubts.add(dbid, entity)
        else:
            self._submit_for(dbid, entity, PlaceLogOn(dbid, entity, base_app.index), lambda _: None)

    def _submit_for(self, dbid: int, entity: int, operation: Operation[T], then: Callable[[T], None]) -> None:
        def failed(reason: str) -> None:
            self._host.log("store failed", reason=reason, dbid=dbid)
            self.doubts.add(dbid, entity, after_s=AGAIN_S)

        self._store.submit(operation, then, failed)

    def _cleared(self, dbid: int, entity: int) -> None:
        """The record of this proxy is cleared."""
        self.doubts.forget(entity)
        player = self.players.get(dbid)
        if player is not None and player.entity == entity:
            del self.players[dbid]
        yielding = self._yielding.pop(dbid, None)
        if yielding is not None:
            self._claim(yielding)
