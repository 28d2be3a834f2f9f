"""What is true about the cell parts of the sync scenario: as in `seamless_truth.py`, but for what history may forget.

Of what only the latest counts of, an event gives way to the next: so a ghost that goes on by several steps at once may
have fewer of them than its real told. And of whom clients had to be told by stamps, because history had too little, is
written down.
"""

from __future__ import annotations

from typing import Any

from terrazzo.cell.body import Body
from terrazzo.cell.cellapp import CellApp
from terrazzo.sim.scenarios.seamless_truth import Truth
from terrazzo.sim.scenarios.sync_game import SyncJudge
from terrazzo.sim.world import Process
from terrazzo.wire.app import App


class SyncTruth(Truth):
    """The judge of all CellApps of one world."""

    def watch(self, process: Process, app: App) -> None:
        """See Truth."""
        super().watch(process, app)
        judge = self._judge
        assert isinstance(judge, SyncJudge)
        if isinstance(app, CellApp):
            for type_id in judge.schema.by_id:
                kind = app.kinds.get(type_id)
                assert kind is not None
                vars(kind)["tell_again"] = _noting(judge, kind.tell_again)


def _noting(judge: SyncJudge, tell_again: Any) -> Any:
    def noted(body: Body, *args: Any) -> Any:
        judge.gaps.add(body.id)
        return tell_again(body, *args)

    return noted
