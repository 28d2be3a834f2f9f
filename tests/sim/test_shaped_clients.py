"""A world that is shaped by hand: what was meant for a client arrives after the next client of the same proxy has come.

body ──── hp 7, for client 1 ─────▶  nothing passes for a while  ────▶ proxy ──▶ client 2
client 1 leaves, the proxy keeps its body, client 2 comes and is ready
"""

from __future__ import annotations

import pytest

from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.players import Mode
from tests.sim.test_shaped import Stage


def play(mutation: str | None) -> None:
    """See the module; what breaks is raised."""
    stage = Stage(mutation)
    player, clients = stage.player, stage.seamless.judge.clients
    clients.keeps, clients.silent = 1.0, 0.0
    vars(clients)["_give_up"] = lambda *_: None  # it is kept until the next client comes
    path = stage.world.network.path(f"cell_app-{stage.home(player.entity)}", "base_app-1")
    path.clogs += 1
    for _ in range(3):
        stage.do(player.entity, lambda part: setattr(part, "hp", stage.seamless.judge.unique()))
        stage.wait_s(0.2)
    player._leave(stage.world.clock.now)
    stage.wait(lambda: player.entity not in clients._ready)
    stage.wait(lambda: player.entity in clients._ready)
    stage.wait_s(0.5)
    path.clogs -= 1
    stage.world.network.reconsider()
    stage.wait(lambda: player.mode is Mode.IN)
    stage.seamless.quiesce()
    stage.wait(lambda: stage.seamless.unrest() is None)
    assert clients.counts["taken"] == 1


def test_next_client_gets_no_message_for_the_one_before_it():
    play(None)


def test_witness_number_that_is_used_again_is_caught():
    with pytest.raises(Broken, match="no cell") as caught:
        play("reuse-witness-number")
    assert caught.value.promise == "P4"
