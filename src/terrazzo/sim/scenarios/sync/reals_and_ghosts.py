"""The checks of the cell parts of the sync scenario, as in `sim/scenarios/seamless/reals_and_ghosts.py`; and which
clients may have missed facts because the history did not reach back to the number that they had
(`sim/scenarios/seamless/history_gaps.py`).
"""

from __future__ import annotations

from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import PLAIN, EntityEvent
from terrazzo.cell.core.kind import EntityKind
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.sim.scenarios.seamless.reals_and_ghosts import Truth
from terrazzo.sim.scenarios.sync.game import SyncJudge
from terrazzo.sim.world import Process


class SyncTruth(Truth):
    """The judge of all CellApps of one world."""

    def watch(self, process: Process, app: App) -> None:
        """See Truth."""
        super().watch(process, app)
        judge = self._judge
        assert isinstance(judge, SyncJudge)
        if isinstance(app, BaseApp):
            judge.lost_messages.watch_base(app)
        if isinstance(app, CellApp):
            for type_id in judge.schema.by_id:
                kind = app.core.kinds.get(type_id)
                assert kind is not None
                vars(kind)["event_of_now"] = _noting(judge, kind)
            serve = app.scheduler.serve

            def served(real: Real) -> None:
                judge.serving = real
                serve(real)

            vars(app.scheduler)["serve"] = served


def _noting(judge: SyncJudge, kind: EntityKind) -> Any:
    """Notes a gap when a plain property is sent again: that is only done for a client that has missed steps which the
    history no longer has."""
    event_of_now = kind.event_of_now

    def noted(body: Body, subject: int) -> EntityEvent:
        serving = judge.serving
        witness = None if serving is None else witness_of(serving)
        if subject >= 0 and kind.manner_of(subject) == PLAIN and serving is not None and witness is not None:
            sent = witness.sent.sight.sent(body.id)
            judge.gaps.note(serving.body.id, body.id, sent, body.number)
        return event_of_now(body, subject)

    return noted
