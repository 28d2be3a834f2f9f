"""Mutations that are too rare in drawn worlds, caught in worlds that are shaped by hand."""

from __future__ import annotations

from typing import Any

import pytest

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.sim.oracle import Broken
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import WantSnapshot
from tests.sim.test_shaped import Stage

pytestmark = pytest.mark.judges


# Shaped by hand: what is too rare in drawn worlds.


def confirm_late(mutation: str | None) -> None:
    """An Onloaded comes late: the creature has come back meanwhile, and has been sent on.

    1 ──creature──▶ 2 ──▶ 3 ──▶ 1 ──▶ ‖ 2         from 2 to 1 nothing passes until then
    1 ◀── ‖ Onloaded of the first time
    """
    stage = Stage(mutation)
    x, z = stage.corner()
    stage.put(stage.creature, 1, x - 3.0, z - 3.0)
    stage.wait_s(1.0)
    network = stage.world.network
    path = network.path("cell_app-1", "cell_app-2")
    path.clogs_to["cell_app-1"] = 1
    stage.put(stage.creature, 2, x + 3.0, z - 3.0)
    stage.put(stage.creature, 3, x + 3.0, z + 3.0)
    stage.put(stage.creature, 1, x - 3.0, z + 3.0)
    path.clogs_to["cell_app-2"] = 1
    stage.do(stage.creature, lambda part: setattr(part, "position", (x + 3.0, 0.0, z - 3.0)))
    stage.wait(lambda: stage.home(stage.creature) == 0)
    for end in ("cell_app-1", "cell_app-2"):
        path.clogs_to[end] = 0
        network.reconsider()
        stage.wait_s(0.3)
    stage.seamless.quiesce()
    stage.wait(lambda: stage.seamless.unrest() is None)


def mend_open_step(mutation: str | None) -> None:
    """A ghost has lost steps with its link, and asks for a snapshot; in that moment the creature changes again."""
    stage = Stage(mutation)
    x, z = stage.corner()
    stage.put(stage.creature, 3, x + 3.0, z + 3.0)
    stage.wait_s(2.0)
    [app] = [each for each in stage.seamless.cluster.cell_apps if each.me.index == 3]
    handler, asked = app._handlers[WantSnapshot], []

    def change(part: Any) -> None:
        part.trail.append(stage.seamless.judge.unique())  # an item that is sent twice is there twice

    def on_want(source: AppId, message: WantSnapshot) -> None:
        if message.entity == stage.creature:
            asked.append(message)
            stage.do(stage.creature, change)
        handler(source, message)

    app.on(WantSnapshot, on_want)
    stage.world.network.path("cell_app-3", "cell_app-2").clogs_to["cell_app-2"] = 1
    stage.do(stage.creature, change)
    stage.wait_s(0.3)
    stage.world.network.break_between("cell_app-3", "cell_app-2")
    stage.world.network.path("cell_app-3", "cell_app-2").clogs_to["cell_app-2"] = 0
    stage.wait(lambda: bool(asked))
    stage.wait_s(1.0)


SHAPED = {
    "confirm-any": (confirm_late, "P1", "and no CellApp holds it"),
    "snapshot-open-steps": (mend_open_step, "P3", "differs from what its real was"),
}


@pytest.mark.parametrize("name", SHAPED)
def test_a_rare_mutation_is_caught_in_a_world_that_is_shaped_by_hand(name):
    play, promise, words = SHAPED[name]
    play(None)
    with pytest.raises(Broken, match=words) as caught:
        play(name)
    assert caught.value.promise == promise
