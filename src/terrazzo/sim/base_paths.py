"""The transitions of the state machines around a base and a client, and how a run counts them (`coverage.py`).

    cell part    as its base handles it                      (`base/cell_part_states.py`)
    save         of one base                                 (`base/saving.py`)
    session      of one player's program                     (`base/presence_states.py`)
    entry        of an entity in a client's view, read from the messages to the client         (`base/shown.py`)
    log-on       of one player                               (`db/logon.py`)

Transitions that need a crashed app, a wrong password, or a client that never comes are left out: the worlds that are
counted have none of these.
"""

from __future__ import annotations

from typing import Any

from terrazzo.base import presence, proxy
from terrazzo.base.cell_part import CellPart
from terrazzo.base.cell_part_states import TRANSITIONS, CellPartEvent, CellPartState
from terrazzo.base.presence import ClientPresence
from terrazzo.base.saving import Saver
from terrazzo.base.shown import Shown
from terrazzo.db.doubts import Doubts
from terrazzo.db.logon import LogOns
from terrazzo.db.store import Claim
from terrazzo.sim.transitions import Table, Watch
from terrazzo.sync.protocol import ToClient, split_message, take_alias
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.base_db import LoggedOff
from terrazzo.wire.pairs.db_basemgr import ProxyPlaced
from terrazzo.wire.requests import Failure

_DEATHS = (CellPartEvent.CREATOR_DEAD, CellPartEvent.HOME_DEAD)


def _cell_part_paths() -> tuple[str, ...]:
    """Every change of state in the table of the cell part that needs no crashed CellApp."""
    paths = {
        f"{state.value} → {step.state.value}": None
        for state, row in TRANSITIONS.items()
        for event, step in row.items()
        if state is not step.state and state is not CellPartState.LOST and event not in _DEATHS
    }
    return tuple(paths)


TABLE: Table = {
    "cell part": _cell_part_paths(),
    "save": (
        "idle → waiting",
        "waiting → gathering",
        "waiting → asked",
        "idle → gathering",
        "idle → asked",
        "idle → retrying",
        "gathering → asked",
        "gathering → retrying",
        "asked → idle",
        "asked → retrying",
        "retrying → asked",
        "retrying → gathering",
    ),
    "session": (
        "absent → waiting",
        "waiting → attached",
        "waiting → absent",
        "attached → ready",
        "attached → kept",
        "attached → away",
        "attached → leaving",
        "ready → attached",
        "ready → kept",
        "ready → away",
        "ready → leaving",
        "away → attached",
        "away → absent",
        "kept → attached",
        "kept → absent",
        "leaving → kept",
        "leaving → absent",
    ),
    "entry": (
        "none → announced",
        "announced → described",
        "announced → left",
        "described → left",
        "another space: all end",
        "the body is lost: all end",
        "wanted",
        "wanted too late",
        "released",
        "released for a witness that is over",
    ),
    "log-on": (
        "the name is known",
        "a new name",
        "the password is right",
        "the account is made",
        "claimed",
        "logged on already",
        "loaded",
        "placed",
        "placed, and left already",
        "not placed, for sure",
        "perhaps placed",
        "recorded",
        "refused: one is under way",
        "refused: not ready",
        "logged off",
        "logged off while one is claimed",
        "the doubt is over",
    ),
}

UNREACHED = {
    "cell part: creating → none": "takes a cell part with properties that cannot be sent, or a server that stops",
    "cell part: cancelled → none": "takes a CellApp that refuses a cell part which was taken down meanwhile",
    "save: idle → waiting": "takes more saves at a time than one BaseApp of these worlds has bases",
    "save: waiting → gathering": "as above",
    "save: waiting → asked": "as above",
    "session: attached → kept": "no client of these worlds goes silent before it is ready",
    "session: attached → away": "as above",
    "session: ready → away": "clients that lose their connection belong to the scenario logins",
    "session: away → attached": "as above",
    "session: away → absent": "as above",
    "session: ready → attached": "players of the worlds that are counted are not taken over",
    "log-on: placed, and left already": "a proxy waits for its client for longer than its placement takes",
}
"""The transitions that no world takes so far, with the reason. The worlds are incomplete here, not the tables."""


def watch(watch: Watch) -> None:
    """Installs the counters."""
    watch.state(CellPart, "state", "cell part")
    watch.state(Saver, "state", "save")
    watch.state(ClientPresence, "state", "session")
    _watch_entries(watch)
    _watch_log_ons(watch)


def _watch_entries(watch: Watch) -> None:
    take = watch.take

    class CountedShown(Shown):
        """The compiled form's methods cannot be replaced; those of a subclass are called in their place."""

        def __init__(self) -> None:
            super().__init__()
            self._described: set[int] = set()

        def note(self, message: bytes) -> bytes:
            kind, body = split_message(message)
            held, known = dict(self._held), self._described
            renewal = super().note(message)
            if kind == ToClient.ANNOUNCE:
                take("entry", "none → announced")
            elif kind == ToClient.DESCRIBE:
                known.add(take_alias(body)[0])
                take("entry", "announced → described")
            elif kind == ToClient.LEAVE:
                alias = take_alias(body)[0]
                take("entry", "described → left" if alias in known else "announced → left")
            elif kind == ToClient.SPACE and held:
                take("entry", "another space: all end")
            elif kind == ToClient.CELL_LOST and held:
                take("entry", "the body is lost: all end")
            known &= self._held.keys()
            return renewal

        def want(self, entity: int, number: int) -> bool:
            is_passed = super().want(entity, number)
            take("entry", "wanted" if is_passed else "wanted too late")
            return is_passed

        def release(self, alias: int) -> bool:
            is_passed = super().release(alias)
            take("entry", "released" if is_passed else "released for a witness that is over")
            return is_passed

    watch.replace(proxy, "Shown", CountedShown)
    watch.replace(presence, "Shown", CountedShown)


def _watch_log_ons(watch: Watch) -> None:
    take = watch.take
    refusals = {LoginRefusal.LOGGING_ON: "refused: one is under way", LoginRefusal.NOT_READY: "refused: not ready"}

    def found(before: Any, own: LogOns, attempt: Any, account: Any) -> None:
        take("log-on", "a new name" if account is None else "the name is known")
        before(own, attempt, account)

    def checked(before: Any, own: LogOns, attempt: Any, is_right: bool) -> None:
        assert is_right, "a wrong password, which no player of these worlds has"
        take("log-on", "the password is right")
        before(own, attempt, is_right)

    def noting(path: str) -> Any:
        def run(before: Any, *args: Any) -> Any:
            take("log-on", path)
            return before(*args)

        return run

    def claimed(before: Any, own: LogOns, attempt: Any, claim: Claim) -> None:
        take("log-on", "claimed" if claim.is_new else "logged on already")
        before(own, attempt, claim)

    def placed(before: Any, own: LogOns, attempt: Any, dbid: int, answer: Any) -> None:
        if isinstance(answer, ProxyPlaced):
            take("log-on", "placed, and left already" if attempt.is_gone else "placed")
        before(own, attempt, dbid, answer)

    def not_placed(before: Any, own: LogOns, attempt: Any, dbid: int, failure: Failure, why: str) -> None:
        take("log-on", "not placed, for sure" if failure is Failure.REFUSED else "perhaps placed")
        before(own, attempt, dbid, failure, why)

    def refuse(before: Any, own: LogOns, attempt: Any, why: LoginRefusal, detail: str = "") -> None:
        if why in refusals:
            take("log-on", refusals[why])
        before(own, attempt, why, detail)

    def on_logged_off(before: Any, own: LogOns, question: Any, message: LoggedOff) -> None:
        take("log-on", "logged off while one is claimed" if message.dbid in own.claiming else "logged off")
        before(own, question, message)

    def forget(before: Any, own: Doubts, entity: int) -> None:
        if entity in own._doubts:
            take("log-on", "the doubt is over")
        before(own, entity)

    watch.method(LogOns, "_found", found)
    watch.method(LogOns, "_checked", checked)
    watch.method(LogOns, "_created", noting("the account is made"))
    watch.method(LogOns, "_claimed", claimed)
    watch.method(LogOns, "_loaded", noting("loaded"))
    watch.method(LogOns, "_placed", placed)
    watch.method(LogOns, "_not_placed", not_placed)
    watch.method(LogOns, "_recorded", noting("recorded"))
    watch.method(LogOns, "_refuse", refuse)
    watch.method(LogOns, "on_logged_off", on_logged_off)
    watch.method(Doubts, "forget", forget)
