"""The apps' own invariants, checked all along a run (`wire/invariants.py`; each app has a `validate.py`).

After each tick of a process a share of its entities is looked at, so that each entity is looked at once in SHARES
ticks; and when the world has come to rest, every entity of every process. A broken invariant ends the world, with a
sentence that names the entity and the app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from terrazzo.base import validate as base
from terrazzo.base.baseapp import BaseApp
from terrazzo.cell import validate as cell
from terrazzo.cell.cellapp import CellApp
from terrazzo.cluster.app import App
from terrazzo.db import validate as db
from terrazzo.db.dbapp import DBApp
from terrazzo.login import validate as login
from terrazzo.login.loginapp import LoginApp
from terrazzo.managers import validate as managers
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.sim.oracle import Broken
from terrazzo.wire.entity import validate as entity_channel
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId
from terrazzo.wire.invariants import ALL, Share, Violations

SHARES = 4
PROMISE = "invariant"

Check = Callable[[Any, Share], Violations]

CHECKS: dict[type, Check] = {
    CellApp: cell.violations,
    BaseApp: base.violations,
    DBApp: db.violations,
    CellAppMgr: managers.cellapp_mgr_violations,
    BaseAppMgr: managers.baseapp_mgr_violations,
    LoginApp: login.violations,
}


def violations_of(app: App, share: Share = ALL) -> Violations:
    """The invariants of an app that do not hold; of an app of a scenario those of its switchboard."""
    check = CHECKS.get(type(app))
    if check is not None:
        yield from check(app, share)
        return
    switchboard = getattr(app, "switchboard", None)
    if isinstance(switchboard, Switchboard):
        yield from entity_channel.violations(switchboard, share)


class Validation:
    """Checks the apps of one world."""

    def __init__(self) -> None:
        self._ticks: dict[AppId, int] = {}

    def after_tick(self, id: AppId, app: App) -> None:
        """An app has ticked: the next share of it is looked at."""
        turn = self._ticks[id] = self._ticks.get(id, -1) + 1
        check(id, app, Share(turn % SHARES, SHARES))

    def at_rest(self, apps: Iterable[tuple[AppId, App]]) -> None:
        """Nothing is under way any more: everything is looked at."""
        for id, app in apps:
            check(id, app, ALL)


def check(id: AppId, app: App, share: Share) -> None:
    """Raises Broken for the first invariant that does not hold."""
    for violation in violations_of(app, share):
        raise Broken(PROMISE, f"{id}: {violation.what}", violation.entity, id)
