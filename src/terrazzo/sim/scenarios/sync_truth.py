"""What is true about the cell parts of the sync scenario: as in `seamless_truth.py`; and which clients may have missed
something, since history did not reach back to what they had.
"""

from __future__ import annotations

from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.cell import history
from terrazzo.cell.body import Body
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.history import PLAIN, Event
from terrazzo.cell.kind import EntityKind
from terrazzo.cell.real import Real
from terrazzo.sim.scenarios.seamless_truth import Truth
from terrazzo.sim.scenarios.sync_game import SyncJudge
from terrazzo.sim.world import Process
from terrazzo.wire.app import App

USUAL_STEPS = history.STEPS_MAX


class SyncTruth(Truth):
    """The judge of all CellApps of one world."""

    def watch(self, process: Process, app: App) -> None:
        """See Truth."""
        super().watch(process, app)
        judge = self._judge
        assert isinstance(judge, SyncJudge)
        if isinstance(app, BaseApp):
            judge.base_apps.append(app)
        if isinstance(app, CellApp):
            for type_id in judge.schema.by_id:
                kind = app.kinds.get(type_id)
                assert kind is not None
                vars(kind)["tell_again"] = _noting(judge, kind)
            serve = app.feed.serve

            def served(real: Real) -> None:
                judge.serving = real.body.id
                if history.STEPS_MAX < USUAL_STEPS:
                    _note_gaps(judge, real)
                serve(real)

            vars(app.feed)["serve"] = served


def _note_gaps(judge: SyncJudge, real: Real) -> None:
    """Where history is short, calls are lost with it, of which no property tells."""
    assert real.witness is not None
    sight = real.witness._story.sight
    for entity in sight.entities():
        body = real.body.space.bodies.get(entity)
        if body is not None and sight.sent(entity) < body.history.floor:
            judge.gaps[real.body.id, entity] = body.number


def _noting(judge: SyncJudge, kind: EntityKind) -> Any:
    """What is told to all in every case is told again only to who has missed what history no longer has."""
    tell_again = kind.tell_again

    def noted(body: Body, subject: int) -> Event:
        if subject >= 0 and kind.manner_of(subject) == PLAIN:
            judge.gaps[judge.serving, body.id] = body.number
        return tell_again(body, subject)

    return noted
