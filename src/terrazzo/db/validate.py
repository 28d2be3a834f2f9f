"""The invariants of a DBApp, as they hold between two events.

each attempt in work        has not ended, and is under its own key
each claim of a player      belongs to an attempt in work that claims, loads or places; and each such attempt that
                            has a proxy claimed has its claim
each attempt that yields    is listed so, with the time until which it waits; and no other
"""

from __future__ import annotations

from collections.abc import Iterator

from terrazzo.db.attempts import Attempt
from terrazzo.db.dbapp import DBApp
from terrazzo.db.logon import LogOns
from terrazzo.db.logon_states import LogOnState
from terrazzo.wire.invariants import BrokenInvariant, Share, Violations

FINAL = (LogOnState.LOGGED_ON, LogOnState.REFUSED)
CLAIMED = (LogOnState.CLAIMING, LogOnState.LOADING, LogOnState.PLACING)
SURELY_CLAIMED = (LogOnState.LOADING, LogOnState.PLACING)


def violations(app: DBApp, share: Share) -> Violations:
    """The invariants of this DBApp that do not hold."""
    if share.is_first:
        for attempt, what in _attempts(app.log_ons):
            yield BrokenInvariant(attempt.entity, f"the log-on of {attempt.name!r} {what}")


def _attempts(log_ons: LogOns) -> Iterator[tuple[Attempt, str]]:
    in_work = log_ons.in_work
    for key, attempt in in_work.items():
        dbid = None if attempt.account is None else attempt.account.dbid
        if attempt.key != key:
            yield attempt, f"is listed as {key}"
        if attempt.state in FINAL:
            yield attempt, f"is {attempt.state.value}, and in work"
        if attempt.state in SURELY_CLAIMED and log_ons.claiming.get(dbid or 0) is not attempt:
            yield attempt, f"is {attempt.state.value}, and its player {dbid} is not claimed for it"
        if attempt.state is LogOnState.YIELDING and log_ons.yielding.get(dbid or 0) is not attempt:
            yield attempt, f"is {attempt.state.value}, and not listed so"
    for dbid, attempt in log_ons.claiming.items():
        if in_work.get(attempt.key) is not attempt or attempt.state not in CLAIMED:
            yield attempt, f"claims player {dbid}, and is {attempt.state.value}"
    for dbid, attempt in log_ons.yielding.items():
        if in_work.get(attempt.key) is not attempt or attempt.state is not LogOnState.YIELDING:
            yield attempt, f"waits for player {dbid}, and is {attempt.state.value}"
        if attempt.yields_until is None:
            yield attempt, f"waits for player {dbid} without end"
