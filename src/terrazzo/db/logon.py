"""Log-ons: from a name and a password to a proxy that waits for its client (`logon_states.py` has every transition).

The rules:

- *A refusal does not reveal which names exist.* Where players are not created, an unknown name and a wrong password get
  the same words after the same work. Only an attempt with the right password learns that the player is logged on.
- *One proxy of a stored entity.* CLAIMING writes the log-on record, with the entity id that the proxy will have, or
  finds the record of another proxy. LoggedOn is sent when the record names the proxy's BaseApp and is durable.
- *A failed placement clears the record.* If the BaseAppMgr refused, there is no proxy, and the record is cleared at
  once. If it did not answer, or its link was lost, there may be one: the record stays until that is certain
  (`doubts.py`). Otherwise a second proxy could be created beside it, and the first one's save could come last.
- *LoggedOff names the proxy*, so it clears the record of that proxy and no other, whenever and however often it
  arrives. LoggedOff comes straight from the BaseApp, ProxyPlaced by way of the manager, so the end of a proxy may
  arrive before its placement: a proxy that has ended already counts as a failed placement.
- *A second login takes over.* If the player is logged on already, the BaseApp asks the game (TakeOver). If it accepts,
  the player gets the proxy that exists, with the same record. If that proxy is ending, the attempt claims again when
  its record is cleared (YIELDING, at most `yield_s`). If the present client stays, the attempt is refused.
- *Bots are no players.* A name that is reserved for bots needs no password here, since the LoginApp has checked it, and
  its account is created whether or not new players are allowed; `bots.py` keeps bots apart.
- *Bounded.* No more than `in_work_max` attempts at a time, and one for each name. Attempts from an address at which the
  player has logged in before have a budget of their own (`known_max`, one more for each name) and are first in the
  queue of the password check, so that wrong passwords from elsewhere do not keep a player out. When the link with a
  LoginApp is lost, its attempts are dropped, as long as nothing was claimed for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from terrazzo.cluster.app import Host
from terrazzo.db.attempts import Attempt, LogOnLimits, LogOnPlayer, new_record
from terrazzo.db.doubts import AGAIN_S, Doubts
from terrazzo.db.logon_states import LogOnAction, LogOnEvent, next_step
from terrazzo.db.names import normal_name, why_not
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
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import LoggedOff, LogOffRecorded, ProxyTaken, TakenOver, TakeOver
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyInDoubt, ProxyPlaced, WorldFull
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn, LogOnRefused, is_bot_name
from terrazzo.wire.requests import Failure, Question, Requests

T = TypeVar("T")

_NOT_PLACED = {
    Failure.TIMEOUT: LogOnEvent.NO_PLACE_ANSWER,
    Failure.LINK_LOST: LogOnEvent.PLACE_LINK_LOST,
    Failure.REFUSED: LogOnEvent.PLACE_REFUSED,
}


class LogOns:
    """All attempts of one DBApp, and the players that are logged on."""

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
        self.is_database_away = False
        self.base_apps: dict[int, AppId] = {}
        """The BaseApps that are linked, by index."""
        self.players: dict[int, LogOnPlayer] = {}
        """The players that logged on since this incarnation began, by dbid: for the console. The store decides."""
        self.created = 0
        self.refused: Counter[LoginRefusal] = Counter()
        self._host = host
        self._requests = requests
        self._store = store
        self._schema = schema
        self._player = player
        self._allow_new_players = allow_new_players
        self._limits = limits
        self.in_work: dict[tuple[str, bool], Attempt] = {}
        self.claiming: dict[int, Attempt] = {}
        """By dbid, from CLAIMING to the end of PLACING."""
        self.yielding: dict[int, Attempt] = {}
        """By dbid, the attempts in YIELDING."""
        self.loading: set[int] = set()
        """The dbids of entities that a game loads (`loads.py`)."""
        self._list_at: float | None = None
        self.doubts = Doubts(host, requests, self.clear, self._keep_placed)

    def __len__(self) -> int:
        return len(self.in_work)

    def is_claiming(self, dbid: int) -> bool:
        """Whether an attempt claims this player, or waits for its former proxy."""
        return dbid in self.claiming or dbid in self.yielding

    # Called by the app.

    def on_log_on(self, question: Question) -> None:
        """A LoginApp asks: begins an attempt, or refuses it at once."""
        message = question.message
        assert isinstance(message, LogOn)
        attempt = Attempt(
            question,
            message.name,
            message.password,
            message.address,
            message.is_known,
            message.holder,
            message.may_place,
        )
        in_work = sum(each.is_known is attempt.is_known for each in self.in_work.values())
        if self.manager is None:
            self._refuse(attempt, LoginRefusal.NOT_READY)
        elif self.is_database_away:
            self._refuse(attempt, LoginRefusal.AWAY)
        elif attempt.key in self.in_work:
            self._refuse(attempt, LoginRefusal.LOGGING_ON)
        elif in_work >= (self._limits.known_max if attempt.is_known else self._limits.in_work_max):
            self._refuse(attempt, LoginRefusal.TOO_MANY)
        else:
            self.in_work[attempt.key] = attempt
            self._submit(attempt, FindAccount(attempt.name), self._found)

    def on_logged_off(self, question: Question, message: LoggedOff) -> None:
        """A BaseApp reports that a proxy has ended."""
        claiming = self.claiming.get(message.dbid)
        if claiming is not None and claiming.entity == message.entity:
            claiming.is_gone = True
        self._store.submit(
            ClearLogOn(message.dbid, message.entity, message.is_deleted),
            lambda _: self._on_log_off_recorded(question, message),
            lambda reason: self._requests.refuse(question, reason),
        )

    def _on_log_off_recorded(self, question: Question, message: LoggedOff) -> None:
        self._cleared(message.dbid, message.entity)
        self._requests.answer(question, LogOffRecorded())

    def doubt_all(self) -> None:
        """This DBApp was restarted while players play: each record is compared with the proxies that exist."""

        def again(reason: str) -> None:
            self._host.log(LogEvent.STORE_FAILED, reason=reason, act="listing log-ons")
            self._list_at = self._host.now + AGAIN_S

        self._list_at = None
        self._store.submit(ListLogOns(), self._add_doubts, again)

    def _add_doubts(self, records: list[LogOnRecord]) -> None:
        for dbid, entity, _ in records:
            self.doubts.add(dbid, entity)

    def forget_base_app(self, index: int) -> None:
        """This BaseApp has ended, and its players with it."""
        self.players = {dbid: player for dbid, player in self.players.items() if player.base_app != index}

    def on_link_lost(self, peer: AppId) -> None:
        """The attempts of this LoginApp are abandoned: their answers cannot be sent."""
        for attempt in self.in_work.values():
            if attempt.question.source == peer:
                attempt.is_abandoned = True

    def on_tick(self) -> None:
        """Asks for records in doubt; refuses attempts that have waited long enough for a former proxy."""
        self.doubts.on_tick(self.manager)
        if self._list_at is not None and self._host.now >= self._list_at:
            self.doubt_all()
        late = [each for each in self.yielding.items() if self._host.now >= (each[1].yields_until or 0.0)]
        for _, attempt in late:
            self._step(attempt, LogOnEvent.YIELD_TIMEOUT)

    # The steps: for each, first its action, then what its outcome is.

    def _step(self, attempt: Attempt, event: LogOnEvent, *details: Any) -> None:
        """Makes the transition of this event. `details` are for its action, or the detail of the refusal."""
        attempt.state, action, refusal = next_step(attempt.state, event)
        ACTIONS[action](self, attempt, *details)
        if refusal is not None:
            self._end(attempt, refusal, *details)

    def _found(self, attempt: Attempt, account: Account | None) -> None:
        attempt.account = None if attempt.is_abandoned else account
        if attempt.is_abandoned:
            self._step(attempt, LogOnEvent.ABANDONED)
        elif is_bot_name(attempt.name):
            self._found_bot(attempt)
        elif account is None and self._allow_new_players:
            attempt.new_name = normal_name(attempt.name)
            problem = why_not(attempt.new_name)
            if problem:
                self._step(attempt, LogOnEvent.BAD_NAME, problem)
            else:
                self._step(attempt, LogOnEvent.NEW_NAME)
        else:
            self._step(attempt, LogOnEvent.KNOWN)

    def _found_bot(self, attempt: Attempt) -> None:
        """The LoginApp has checked the bots' password (`login_db`), so there is nothing to hash or to compare here."""
        if attempt.account is None:
            attempt.new_name = attempt.name
            self._create_with(attempt, "", LogOnEvent.NEW_BOT)
        else:
            self._step(attempt, LogOnEvent.KNOWN_BOT)

    def _check(self, attempt: Attempt) -> None:
        account = attempt.account
        check = CheckPassword(attempt.password, account.password_hash if account else None, attempt.is_known)
        self._submit(attempt, check, self._checked)

    def _checked(self, attempt: Attempt, is_right: bool) -> None:
        self._step(attempt, LogOnEvent.RIGHT if is_right else LogOnEvent.WRONG)

    def _hash(self, attempt: Attempt) -> None:
        self._submit(attempt, HashPassword(attempt.password), self._hashed)

    def _hashed(self, attempt: Attempt, password_hash: str) -> None:
        self._create_with(attempt, password_hash, LogOnEvent.HASHED)

    def _create_with(self, attempt: Attempt, password_hash: str, event: LogOnEvent) -> None:
        try:
            record = new_record(self._player, attempt.new_name)
        except ValueRejected as problem:
            self._step(attempt, LogOnEvent.BAD_NAME, problem.problem)
        else:
            self._step(attempt, event, password_hash, record)

    def _create(self, attempt: Attempt, password_hash: str, record: bytes) -> None:
        create = CreateAccount(attempt.new_name, password_hash, self._player.name, record)
        self._submit(attempt, create, self._created)

    def _created(self, attempt: Attempt, account: Account | None) -> None:
        if account is None:
            self._step(attempt, LogOnEvent.NAME_TAKEN)
            return
        self.created += 1
        self._host.log(LogEvent.PLAYER_CREATED, name=account.name, dbid=account.dbid, address=attempt.address)
        attempt.account = account
        self._step(attempt, LogOnEvent.CREATED)

    def _claim(self, attempt: Attempt) -> None:
        assert attempt.account is not None
        _, _, type_name, dbid = attempt.account
        if type_name not in self._schema.by_name:
            self._step(attempt, LogOnEvent.NO_TYPE, type_name)
        elif self.is_claiming(dbid) or dbid in self.loading:
            self._step(attempt, LogOnEvent.CONTESTED)
        else:
            self.claiming[dbid] = attempt
            self._submit(attempt, AddLogOn(dbid), self._claimed)
            self._submit(attempt, LoadEntity(type_name, dbid), self._loaded)

    def _claimed(self, attempt: Attempt, claim: Claim) -> None:
        dbid, entity, index = claim.record
        if claim.is_new:
            attempt.entity = entity
            self._step(attempt, LogOnEvent.CLAIMED)
            return
        del self.claiming[dbid]
        base_app = self.base_apps.get(index)
        if attempt.yields_until is not None:
            self._step(attempt, LogOnEvent.STILL_HELD, dbid)
        elif base_app is None:
            self._step(attempt, LogOnEvent.HELD_OUT_OF_REACH)
        else:
            self._step(attempt, LogOnEvent.HELD, base_app, entity)

    def _wait(self, attempt: Attempt, dbid: int) -> None:
        self.yielding[dbid] = attempt

    def _ask_client(self, attempt: Attempt, base_app: AppId, entity: int) -> None:
        self._requests.ask(
            base_app,
            TakeOver(entity, attempt.address, attempt.holder),
            timeout_s=self._limits.take_over_s,
            then=lambda answer: self._taken_over(attempt, base_app, entity, answer),
            failed=lambda failure, why: self._taken_over(attempt, base_app, entity, None),
        )

    def _taken_over(self, attempt: Attempt, base_app: AppId, entity: int, answer: Message | None) -> None:
        if not self._is_in_work(attempt):
            return  # the store failed to read the entity meanwhile
        if isinstance(answer, TakenOver) and answer.is_going:
            assert attempt.account is not None
            self.doubts.add(attempt.account.dbid, entity, after_s=AGAIN_S)  # its LoggedOff may have come, or never come
            attempt.yields_until = self._host.now + self._limits.yield_s
            self._step(attempt, LogOnEvent.PROXY_GOING)
        elif isinstance(answer, ProxyTaken):
            assert attempt.account is not None
            reply = LoggedOn(entity, answer.key, answer.host, answer.udp_port, answer.ws_port)
            self._step(attempt, LogOnEvent.TAKEN, attempt.account.dbid, base_app.index, reply)
        else:
            self._step(attempt, LogOnEvent.CLIENT_STAYS)

    def _loaded(self, attempt: Attempt, record: bytes | None) -> None:
        if attempt.entity and record is None:
            self._step(attempt, LogOnEvent.NO_RECORD)
        elif attempt.entity and (self.manager is None or attempt.is_abandoned):
            self._step(attempt, LogOnEvent.NOT_READY)
        elif attempt.entity and not attempt.may_place:
            self._step(attempt, LogOnEvent.WORLD_FULL)
        else:
            self._step(attempt, LogOnEvent.LOADED, record)

    def _place(self, attempt: Attempt, record: bytes) -> None:
        assert attempt.account is not None
        assert self.manager is not None
        _, _, type_name, dbid = attempt.account
        self._requests.ask(
            self.manager,
            PlaceProxy(self._schema[type_name].type_id, dbid, record, attempt.entity, attempt.holder),
            timeout_s=self._limits.place_s,
            then=lambda answer: self._placed(attempt, dbid, answer),
            failed=lambda failure, why: self._not_placed(attempt, dbid, failure, why),
        )

    def _placed(self, attempt: Attempt, dbid: int, answer: Message) -> None:
        if isinstance(answer, ProxyInDoubt):
            self._not_placed(attempt, dbid, Failure.TIMEOUT, answer.reason)
            return
        if isinstance(answer, WorldFull):
            self._step(attempt, LogOnEvent.WORLD_FULL)
            return
        if not isinstance(answer, ProxyPlaced) or answer.entity != attempt.entity:
            self._host.log(LogEvent.UNEXPECTED_ANSWER, kind=type(answer).__name__, to="PlaceProxy")
            self._not_placed(attempt, dbid, Failure.TIMEOUT, "")
            return
        del self.claiming[dbid]
        attempt.entity = 0  # from now on the record ends with the proxy
        if attempt.is_gone:
            self._step(attempt, LogOnEvent.LEFT)
        else:
            self._step(attempt, LogOnEvent.PLACED, dbid, answer)

    def _record(self, attempt: Attempt, dbid: int, answer: ProxyPlaced) -> None:
        reply = LoggedOn(answer.entity, answer.key, answer.host, answer.udp_port, answer.ws_port)

        def failed(reason: str) -> None:
            # A record without its BaseApp would outlive the end of that BaseApp.
            self.doubts.add(dbid, answer.entity, after_s=AGAIN_S)
            self._store_failed(attempt, reason)

        self._store.submit(
            PlaceLogOn(dbid, answer.entity, answer.index),
            lambda is_there: self._recorded(attempt, dbid, answer.index, reply, is_there),
            failed,
        )

    def _not_placed(self, attempt: Attempt, dbid: int, failure: Failure, why: str) -> None:
        self._step(attempt, _NOT_PLACED[failure], why or "no server gave a reason")

    def _doubt_placement(self, attempt: Attempt, why: str) -> None:
        assert attempt.account is not None
        dbid = attempt.account.dbid
        del self.claiming[dbid]
        self.doubts.add(dbid, attempt.entity)
        attempt.entity = 0

    def _recorded(self, attempt: Attempt, dbid: int, base_app: int, reply: LoggedOn, is_there: bool) -> None:
        if is_there:
            self._step(attempt, LogOnEvent.RECORDED, dbid, base_app, reply)
        else:
            self._step(attempt, LogOnEvent.LEFT)

    def _answer(self, attempt: Attempt, dbid: int, base_app: int, reply: LoggedOn) -> None:
        del self.in_work[attempt.key]
        self.players[dbid] = LogOnPlayer(attempt.name, reply.entity, base_app)
        self._host.log(LogEvent.LOGGED_ON, name=attempt.name, entity=reply.entity, address=attempt.address)
        if not attempt.is_abandoned:
            self._requests.answer(attempt.question, reply)

    # Within.

    def _submit(self, attempt: Attempt, operation: Operation[T], then: Callable[[Attempt, T], None]) -> None:
        """Gives the store an operation of an attempt; its outcome is dropped if the attempt has ended meanwhile."""

        def done(result: T) -> None:
            if self._is_in_work(attempt):
                then(attempt, result)

        self._store.submit(operation, done, lambda reason: self._store_failed(attempt, reason))

    def _is_in_work(self, attempt: Attempt) -> bool:
        return self.in_work.get(attempt.key) is attempt

    def _store_failed(self, attempt: Attempt, reason: str) -> None:
        self._host.log(LogEvent.STORE_FAILED, reason=reason, name=attempt.name)
        if self._is_in_work(attempt):
            self._step(attempt, LogOnEvent.STORE_FAILED)

    def _end(self, attempt: Attempt, why: LoginRefusal, detail: str = "") -> None:
        del self.in_work[attempt.key]
        if attempt.account is not None:
            for waiting in (self.claiming, self.yielding):
                if waiting.get(attempt.account.dbid) is attempt:
                    del waiting[attempt.account.dbid]
            if attempt.entity:
                self.clear(attempt.account.dbid, attempt.entity)
        if not attempt.is_abandoned:
            self._refuse(attempt, why, detail)

    def _refuse(self, attempt: Attempt, why: LoginRefusal, detail: str = "") -> None:
        self.refused[why] += 1
        name, address, reason = attempt.name, attempt.address, why.text(detail)
        self._host.log(LogEvent.LOG_ON_REFUSED, name=name, address=address, code=why.value, reason=reason)
        self._requests.answer(attempt.question, LogOnRefused(why.value, reason))

    def clear(self, dbid: int, entity: int) -> None:
        """There is no such proxy: clears its record. If the store fails, the record is in doubt again."""
        self._submit_for(dbid, entity, ClearLogOn(dbid, entity), lambda _: self._cleared(dbid, entity))

    def _keep_placed(self, dbid: int, entity: int, base_app: AppId) -> None:
        """A BaseApp has the proxy, and will send its LoggedOff. If a later incarnation of that BaseApp is linked by
        now, the records of the earlier one are cleared already, and none may be added to them: the record stays in
        doubt."""
        linked = self.base_apps.get(base_app.index)
        if linked is not None and linked.incarnation > base_app.incarnation:
            self.doubts.add(dbid, entity)
        else:
            self._submit_for(dbid, entity, PlaceLogOn(dbid, entity, base_app.index), lambda _: None)

    def _submit_for(self, dbid: int, entity: int, operation: Operation[T], then: Callable[[T], None]) -> None:
        def failed(reason: str) -> None:
            self._host.log(LogEvent.STORE_FAILED, reason=reason, dbid=dbid)
            self.doubts.add(dbid, entity, after_s=AGAIN_S)

        self._store.submit(operation, then, failed)

    def _cleared(self, dbid: int, entity: int) -> None:
        """The record of this proxy is cleared."""
        self.doubts.forget(entity)
        player = self.players.get(dbid)
        if player is not None and player.entity == entity:
            del self.players[dbid]
        yielding = self.yielding.pop(dbid, None)
        if yielding is not None:
            self._step(yielding, LogOnEvent.CLEARED)


ACTIONS: dict[LogOnAction, Callable[..., None]] = {
    LogOnAction.NOTHING: lambda *_: None,
    LogOnAction.CHECK: LogOns._check,
    LogOnAction.HASH: LogOns._hash,
    LogOnAction.CREATE: LogOns._create,
    LogOnAction.CLAIM: LogOns._claim,
    LogOnAction.ASK_CLIENT: LogOns._ask_client,
    LogOnAction.WAIT: LogOns._wait,
    LogOnAction.PLACE: LogOns._place,
    LogOnAction.RECORD: LogOns._record,
    LogOnAction.DOUBT: LogOns._doubt_placement,
    LogOnAction.ANSWER: LogOns._answer,
}
"""The code of each action of the table."""
