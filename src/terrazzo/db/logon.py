"""One player at the door: from a name and a password to a proxy that waits for its client.

    LogOn ─▶ FINDING ── the name is known ─────▶ CHECKING ── password right ──▶ CLAIMING ─▶ PLACING ─▶ RECORDING
                │                                   │                              ▲ │          │           │
                ├─ unknown, new players welcome ─▶ HASHING ─▶ CREATING ────────────┘ │          │        LoggedOn
                ├─ a bot ──────────────────────▶ CREATING or CLAIMING                │          │
                └─ unknown, not welcome ─────────▶ CHECKING, against nothing         ▼          ▼
                                                     └──────── refused, with one sentence ──────┘

The rules:

- *Nobody learns which names exist.* Where players are not created, an unknown name and a wrong password get the same
  words after the same work; that somebody is logged on is only said to who has the password.
- *One proxy of a stored entity.* CLAIMING writes the log-on record, or finds one: then the answer is no. LoggedOn is
  said when the record names the proxy and is durable.
- *A failed placement clears the record.* Where BaseAppMgr refused, there is no proxy, and it is cleared at once. Where
  it did not answer, or its link was lost, there may be one, for which no client will ever come: the record stays until
  the BaseApp says that the proxy is gone, or for `doubt_s`, which is longer than a proxy waits for its client. Else a
  second proxy could be made beside it, and the first one's save come last.
- *Leaving may overtake arriving.* LoggedOff comes straight from the BaseApp, ProxyPlaced by way of the manager. While
  an entity is claimed and placed, what is said to be gone is noted and not yet acted on: a proxy that turns out to be
  gone already counts as a failed placement, and if the claim finds the record of another, it was meant for that one.
- *Bots are no players.* A name that is reserved for bots needs no password here, since LoginApp has checked it, and its
  account is made whether or not new players are welcome; `bots.py` keeps it apart.
- *Bounded.* No more than `in_work_max` at a time, and one for each name. A LoginApp whose link is lost takes its
  players with it, as long as nothing was claimed for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from terrazzo.db.refusals import Refused
from terrazzo.db.store import (
    Account,
    AddLogOn,
    CheckPassword,
    ClearLogOn,
    CreateAccount,
    FindAccount,
    HashPassword,
    LoadEntity,
    PlaceLogOn,
    Store,
    fold_name,
)
from terrazzo.errors import ValueRejected
from terrazzo.schema.model import EntitySchema, Property, Schema
from terrazzo.schema.record import encode_record
from terrazzo.schema.types import BytesType
from terrazzo.wire.app import Host
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import LoggedOff
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyInDoubt, ProxyPlaced
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn, is_bot_name
from terrazzo.wire.requests import Failure, Question, Requests

T = TypeVar("T")


_NOT_PLACED = {
    Failure.TIMEOUT: Refused.NO_ANSWER,
    Failure.LINK_LOST: Refused.NOT_READY,
    Failure.REFUSED: Refused.NOT_PLACED,
}


@dataclass(frozen=True)
class LogOnLimits:
    """How much and how long."""

    in_work_max: int = 100
    place_s: float = 5.0
    doubt_s: float = 30.0
    """Longer than a proxy that nobody knows of can last: it waits for an id, then for its client, and is saved."""


@dataclass
class _Attempt:
    """A player at the door."""

    question: Question
    name: str
    password: str = field(repr=False)
    address: str
    account: Account | None = None
    is_claimed: bool = False
    is_abandoned: bool = False
    gone: list[int] = field(default_factory=list)
    """Proxies of this player that were said to be gone while one was being claimed and placed."""


class Player(NamedTuple):
    """Somebody who is logged on."""

    name: str
    entity: int
    base_app: int


class _Doubt(NamedTuple):
    """A log-on record that is to be cleared, then, unless something is heard of it before."""

    until: float
    entity: int


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
        self._in_work: dict[str, _Attempt] = {}
        self._claiming: dict[int, _Attempt] = {}
        """By dbid, from CLAIMING to the end of PLACING."""
        self._doubts: dict[int, _Doubt] = {}

    def __len__(self) -> int:
        return len(self._in_work)

    # What happens around it.

    def on_log_on(self, question: Question) -> None:
        """Somebody knocks."""
        message = question.message
        assert isinstance(message, LogOn)
        attempt = _Attempt(question, message.name, message.password, message.address)
        folded = fold_name(message.name)
        if self.manager is None:
            self._refuse(attempt, Refused.NOT_READY)
        elif folded in self._in_work:
            self._refuse(attempt, Refused.LOGGING_ON)
        elif len(self._in_work) >= self._limits.in_work_max:
            self._refuse(attempt, Refused.TOO_MANY)
        else:
            self._in_work[folded] = attempt
            self._store.submit(FindAccount(attempt.name), self._step(attempt, self._found), self._stuck(attempt))

    def on_logged_off(self, message: LoggedOff) -> None:
        """A proxy is gone."""
        self._doubts.pop(message.dbid, None)
        self._note_gone(message.dbid, message.entity)

    def _note_gone(self, dbid: int, entity: int) -> None:
        claiming = self._claiming.get(dbid)
        if claiming is not None:
            claiming.gone.append(entity)
        else:
            self._clear(dbid, entity)

    def forget_base_app(self, index: int) -> None:
        """The players of this BaseApp are gone with it."""
        self.players = {dbid: player for dbid, player in self.players.items() if player.base_app != index}

    def on_link_lost(self, peer: AppId) -> None:
        """Nobody waits for the answers to what this LoginApp asked."""
        for attempt in self._in_work.values():
            if attempt.question.source == peer:
                attempt.is_abandoned = True

    def on_tick(self) -> None:
        """A proxy of which nothing was heard for so long is not there."""
        while self._doubts:
            dbid, doubt = next(iter(self._doubts.items()))
            if doubt.until > self._host.now:
                return
            del self._doubts[dbid]
            self._note_gone(dbid, doubt.entity)

    # The steps, in order.

    def _found(self, attempt: _Attempt, account: Account | None) -> None:
        if attempt.is_abandoned:
            self._end(attempt, Refused.NO_ANSWER)
            return
        attempt.account = account
        if is_bot_name(attempt.name):
            self._let_bot_in(attempt)
        elif account is None and self._allow_new_players:
            hashed = self._step(attempt, self._hashed)
            self._store.submit(HashPassword(attempt.password), hashed, self._stuck(attempt))
        else:
            check = CheckPassword(attempt.password, account.password_hash if account else None)
            self._store.submit(check, self._step(attempt, self._checked), self._stuck(attempt))

    def _checked(self, attempt: _Attempt, is_right: bool) -> None:
        if is_right:
            self._claim(attempt)
        else:
            self._end(attempt, Refused.WRONG)

    def _let_bot_in(self, attempt: _Attempt) -> None:
        """LoginApp has checked the bots' password (`login_db`), so there is nothing to hash or to check here."""
        if attempt.account is None:
            self._hashed(attempt, "")
        else:
            self._claim(attempt)

    def _hashed(self, attempt: _Attempt, password_hash: str) -> None:
        try:
            record = new_record(self._player, attempt.name)
        except ValueRejected as problem:
            self._end(attempt, Refused.NAME, problem.problem)
            return
        create = CreateAccount(attempt.name, password_hash, self._player.name, record)
        self._store.submit(create, self._step(attempt, self._created), self._stuck(attempt))

    def _created(self, attempt: _Attempt, account: Account | None) -> None:
        if account is None:
            self._end(attempt, Refused.LOGGING_ON)
            return
        self.created += 1
        self._host.log("player created", name=account.name, dbid=account.dbid, address=attempt.address)
        attempt.account = account
        self._claim(attempt)

    def _claim(self, attempt: _Attempt) -> None:
        assert attempt.account is not None
        _, _, type_name, dbid = attempt.account
        if type_name not in self._schema.by_name:
            self._end(attempt, Refused.TYPE, type_name)
            return
        self._claiming[dbid] = attempt
        self._store.submit(AddLogOn(dbid), self._step(attempt, self._claimed), self._stuck(attempt))
        self._store.submit(LoadEntity(type_name, dbid), self._step(attempt, self._loaded), self._stuck(attempt))

    def _claimed(self, attempt: _Attempt, is_new: bool) -> None:
        attempt.is_claimed = is_new
        if not is_new:
            self._end(attempt, Refused.ALREADY_LOGGED_ON)

    def _loaded(self, attempt: _Attempt, record: bytes | None) -> None:
        assert attempt.account is not None
        _, _, type_name, dbid = attempt.account
        if self.manager is None or record is None or attempt.is_abandoned:
            self._end(attempt, Refused.NOT_READY if record is not None else Refused.NOT_STORED)
            return
        self._requests.ask(
            self.manager,
            PlaceProxy(self._schema[type_name].type_id, dbid, record),
            timeout_s=self._limits.place_s,
            then=lambda answer: self._placed(attempt, dbid, answer),
            failed=lambda failure, why: self._not_placed(attempt, dbid, failure, why),
        )

    def _placed(self, attempt: _Attempt, dbid: int, answer: Message) -> None:
        if isinstance(answer, ProxyInDoubt):
            self._not_placed(attempt, dbid, Failure.TIMEOUT, answer.reason)
            return
        if not isinstance(answer, ProxyPlaced):
            self._host.log("unexpected answer", kind=type(answer).__name__, to="PlaceProxy")
            self._not_placed(attempt, dbid, Failure.TIMEOUT, "")
            return
        if answer.entity in attempt.gone:
            self._end(attempt, Refused.LEFT)
            return
        del self._claiming[dbid]
        attempt.is_claimed = False  # from here on the record ends with the proxy
        reply = LoggedOn(answer.entity, answer.key, answer.host, answer.udp_port, answer.ws_port)
        self._store.submit(
            PlaceLogOn(dbid, answer.entity, answer.index),
            lambda is_there: self._recorded(attempt, dbid, answer.index, reply, is_there),
            self._stuck(attempt),
        )

    def _not_placed(self, attempt: _Attempt, dbid: int, failure: Failure, why: str) -> None:
        if failure is not Failure.REFUSED:
            del self._claiming[dbid]
            attempt.is_claimed = False
            self._clear_later(dbid, 0)
        self._end(attempt, _NOT_PLACED[failure], why or Refused.NO_ANSWER.sentence())

    def _recorded(self, attempt: _Attempt, dbid: int, base_app: int, reply: LoggedOn, is_there: bool) -> None:
        assert is_there, "a log-on record was cleared while its proxy was being placed"
        del self._in_work[fold_name(attempt.name)]
        self.players[dbid] = Player(attempt.name, reply.entity, base_app)
        self._host.log("logged on", name=attempt.name, entity=reply.entity, address=attempt.address)
        if not attempt.is_abandoned:
            self._requests.answer(attempt.question, reply)

    # Within.

    def _step(self, attempt: _Attempt, then: Callable[[_Attempt, T], None]) -> Callable[[T], None]:
        """The next step, unless the attempt has ended meanwhile."""

        def go_on(result: T) -> None:
            if self._in_work.get(fold_name(attempt.name)) is attempt:
                then(attempt, result)

        return go_on

    def _stuck(self, attempt: _Attempt) -> Callable[[str], None]:
        """What to do when the store does not do its part."""

        def stop(reason: str) -> None:
            self._host.log("store failed", reason=reason, name=attempt.name)
            if self._in_work.get(fold_name(attempt.name)) is attempt:
                self._end(attempt, Refused.NOT_STORED)

        return stop

    def _end(self, attempt: _Attempt, why: Refused, detail: str = "") -> None:
        del self._in_work[fold_name(attempt.name)]
        if attempt.account is not None and self._claiming.pop(attempt.account.dbid, None) is not None:
            # If the record is another's, what was said meanwhile may have been about that one.
            for entity in [0] if attempt.is_claimed else attempt.gone:
                self._clear(attempt.account.dbid, entity)
        if not attempt.is_abandoned:
            self._refuse(attempt, why, detail)

    def _refuse(self, attempt: _Attempt, why: Refused, detail: str = "") -> None:
        self.refused[why] += 1
        reason = why.sentence(detail)
        self._host.log("log on refused", name=attempt.name, address=attempt.address, reason=reason)
        self._requests.refuse(attempt.question, reason)

    def _clear(self, dbid: int, entity: int) -> None:
        """Clears a log-on record; if the store cannot, tries again later."""

        def cleared(is_cleared: bool) -> None:
            if is_cleared:
                self.players.pop(dbid, None)

        def failed(reason: str) -> None:
            self._host.log("store failed", reason=reason, dbid=dbid)
            self._clear_later(dbid, entity)

        self._store.submit(ClearLogOn(dbid, entity), cleared, failed)

    def _clear_later(self, dbid: int, entity: int) -> None:
        self._doubts.pop(dbid, None)  # the order is that of time
        self._doubts[dbid] = _Doubt(self._host.now + self._limits.doubt_s, entity)


def new_record(player: EntitySchema, name: str) -> bytes:
    """What is stored of a new player: defaults, but for the property by which the database knows it, the name."""
    named = (each for each in player.properties if each.identifier)
    return encode_record(player, {each.name: _name_value(each, name) for each in named}, {})


def _name_value(prop: Property, name: str) -> Any:
    return prop.codec.check(name.encode() if isinstance(prop.type, BytesType) else name)
