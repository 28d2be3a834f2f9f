"""Broken forms of logging on and off, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. The logins scenario must detect each of them within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.entity import BaseEntity
from terrazzo.base.proxy import ProxyEntity
from terrazzo.cluster.app import App
from terrazzo.db.dbapp import DBApp
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.sim.cell_mutations import instead
from terrazzo.sim.client_mutations import proxied
from terrazzo.wire.ids import EntityId
from terrazzo.wire.pairs.base_db import LoggedOff, LogOffRecorded, Saved
from terrazzo.wire.pairs.basemgr_base import Locate, Located
from terrazzo.wire.requests import Question

Harm = Callable[[App], None]
DOUBT_S = 5.0
"""Shorter than the time for which a proxy waits for its client."""


def _settles_no_missing_proxy(app: App) -> None:
    """Part of other mutations: a second login does not put the record of the first proxy in doubt. Otherwise the
    DBApp would find out that the proxy is gone, and would heal what these mutations break."""
    if isinstance(app, DBApp):
        log_ons: Any = app.log_ons
        doubts, taken_over = log_ons.doubts, log_ons._taken_over

        def take_over(*args: Any) -> None:
            doubts.add = lambda dbid, entity, after_s=0.0: None
            taken_over(*args)
            del doubts.add

        log_ons._taken_over = take_over


def _sends_log_off_once(app: App) -> None:
    """A log-off that was not confirmed is not repeated."""
    _settles_no_missing_proxy(app)
    if isinstance(app, BaseApp):
        log_offs: Any = app.log_offs
        report = log_offs.report

        def report_once(message: LoggedOff) -> None:
            report(message)
            log_offs._unconfirmed.clear()
            log_offs._unconfirmed = _Forgetful()

        log_offs.report = report_once


class _Forgetful(dict[int, LoggedOff]):
    """A dict that stores nothing."""

    def __delitem__(self, key: int) -> None:
        self.pop(key, None)


def _confirms_unrecorded(app: App) -> None:
    """DBApp confirms a log-off without having cleared the record."""
    _settles_no_missing_proxy(app)
    if isinstance(app, DBApp):
        requests: Any = app.requests
        refuse = requests.refuse

        def refuse_or_confirm(question: Question, reason: str) -> None:
            if isinstance(question.message, LoggedOff):
                requests.answer(question, LogOffRecorded())
            else:
                refuse(question, reason)

        requests.refuse = refuse_or_confirm


def _never_settles(app: App) -> None:
    """A record in doubt stays for ever."""
    if isinstance(app, DBApp):
        doubts: Any = app.log_ons.doubts
        doubts.on_tick = lambda manager: None


def _settles_by_the_clock(app: App) -> None:
    """A record in doubt is cleared after a while, whether its proxy exists or not."""
    if isinstance(app, DBApp):
        doubts: Any = app.log_ons.doubts

        def on_tick(manager: object) -> None:
            for entity, doubt in list(doubts._doubts.items()):
                if app.host.now >= doubt.ask_at + DOUBT_S:
                    doubts.forget(entity)
                    doubts._on_none(doubt.dbid, entity)

        doubts.on_tick = on_tick
        doubts.on_link_up = lambda: None


def _concludes_from_silence(app: App) -> None:
    """BaseAppMgr answers that a proxy does not exist while a BaseApp is missing."""
    if isinstance(app, BaseAppMgr):
        requests: Any = app.requests
        refuse = requests.refuse

        def refuse_or_deny(question: Question, reason: str) -> None:
            if isinstance(question.message, Locate):
                requests.answer(question, Located())
            else:
                refuse(question, reason)

        requests.refuse = refuse_or_deny


def _clears_at_once(app: App) -> None:
    """A placement in doubt counts as a refused one."""
    if isinstance(app, DBApp):
        log_ons: Any = app.log_ons
        log_ons.doubts.add = lambda dbid, entity, after_s=0.0: log_ons.clear(dbid, entity)


def _goes_unsaved(app: App) -> None:
    """A base ends before its save is confirmed."""
    if isinstance(app, BaseApp):

        def register(id: Any, data: Any, make: Any = app.factory._register) -> BaseEntity:
            entity: BaseEntity = make(id, data)
            saver: Any = entity.saver
            retry = saver._retry

            def give_up(why: str) -> None:
                retry(why)
                if saver._present:
                    saver._cancel()
                    saver._on_answer(Saved(entity.data.dbid))

            saver._retry = give_up
            return entity

        factory: Any = app.factory
        factory._register = register


def _takes_over_at_once(app: App) -> None:
    """A second login gets its proxy at once, even if the first proxy still exists."""
    if isinstance(app, DBApp):
        log_ons: Any = app.log_ons
        claimed = log_ons._claimed

        def claim_anyway(attempt: Any, claim: Any) -> None:
            claimed(attempt, claim._replace(is_new=True))

        log_ons._claimed = claim_anyway


# Clients that resume.


def _takes_tokens_twice(proxy: ProxyEntity) -> None:
    """A token stays valid when its client is ready."""
    vars(proxy.client._tokens)["confirm"] = lambda: None


def _resumes_late(proxy: ProxyEntity) -> None:
    """A client may resume as long as its entity exists."""
    vars(proxy.client._tokens)["set_end"] = lambda until: None
    vars(proxy.client)["_on_too_late"] = lambda: None


def _forgets_tokens(proxy: ProxyEntity) -> None:
    """A client that lost its connection cannot resume."""
    vars(proxy.client._tokens)["set_end"] = lambda until: proxy.client._tokens.forget()


def _goes_on_with_witness(proxy: ProxyEntity) -> None:
    """A client that has resumed has the witness number of its former session."""
    has_resumed = False

    def resume(before: Any, *args: Any, **named: Any) -> None:
        nonlocal has_resumed
        has_resumed = True
        before(*args, **named)

    def begin_witness(before: Any) -> None:
        nonlocal has_resumed
        proxy.witness -= has_resumed and proxy.witness > 0 and proxy.has_cell
        has_resumed = False
        before()

    instead(proxy, "resume", resume)
    instead(proxy, "begin_witness", begin_witness)


def _mixes_up_proxies(app: App) -> None:
    """A token leads to the proxy that was made last."""
    if isinstance(app, BaseApp):
        last: list[EntityId] = []

        def make(before: Any, entity: EntityId) -> bytes:
            last[:] = [entity]
            return bytes(before(entity))

        def find(before: Any, token: bytes, now: float) -> EntityId | None:
            return None if before(token, now) is None or last[0] not in app.bases else last[0]

        instead(app.tokens, "make", make)
        instead(app.tokens, "find", find)


LOGIN_MUTATIONS: dict[str, Harm] = {
    "log-off-once": _sends_log_off_once,
    "confirm-unrecorded": _confirms_unrecorded,
    "never-settle": _never_settles,
    "settle-by-clock": _settles_by_the_clock,
    "conclude-from-silence": _concludes_from_silence,
    "clear-at-once": _clears_at_once,
    "go-unsaved": _goes_unsaved,
    "let-everybody-in": _takes_over_at_once,
    "take-tokens-twice": proxied(_takes_tokens_twice),
    "resume-late": proxied(_resumes_late),
    "forget-tokens": proxied(_forgets_tokens),
    "resume-same-witness": proxied(_goes_on_with_witness),
    "mix-up-proxies": _mixes_up_proxies,
}
