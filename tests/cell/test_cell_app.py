"""The CellApp among other apps: its manager, bases that ask for bodies, links that break, what the console sees."""

from __future__ import annotations

from itertools import pairwise

import pytest

from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cellmgr_cell import CellAppLoad, CellAppReady, CellReady, SpaceTree
from tests.cell.land import MANAGER, Land, stripes


def test_a_cell_app_joins_its_manager_and_reports():
    land = Land()
    managers = [AppId(kind, 0, ANY_INCARNATION) for kind in (AppKind.CELL_APP_MGR, AppKind.BASE_APP_MGR)]
    assert sorted(land.host.joined) == sorted(managers * 2)
    land.create(1, -20.0)
    land.create(2, -300.0)
    land.step(25)
    assert [each for each in land.to_manager if isinstance(each, CellAppReady)] == [CellAppReady()] * 2
    assert [each for each in land.to_manager if isinstance(each, CellReady)] == [CellReady(1, 1)] * 2
    loads = [each for each in land.to_manager if isinstance(each, CellAppLoad)]
    assert 4 <= len(loads) <= 6, "about one a second each"
    assert (loads[-2].load, loads[-2].cells) == (0.5, ((1, 0.5, 2, 0),))
    assert loads[-1].cells == ((1, 0.0, 0, 1),)


def test_old_and_broken_trees_are_ignored():
    land = Land()
    land[0].on_message(MANAGER, SpaceTree(1, "old", 0, stripes([land[1].me]).pack()))
    land[0].on_message(MANAGER, SpaceTree(1, "broken", 5, b"\x93no tree"))
    assert (land[0].spaces[1].name, land[0].spaces[1].version) == ("plain", 1)
    assert land[0].counts[LogEvent.TREE_MALFORMED] == 1


def test_a_border_that_jumps_over_a_crowd_moves_all_of_it():
    """Story 14: limits in each tick, and all entities arrive."""
    land = Land()
    for entity in range(1, 131):
        land.base.create(land[0].me, entity, (-100.0 + entity / 4, 0.0, 0.0))
    land.step(4)
    moved = land.tree.move_border((), -200.0)
    for app in land.cells:
        app.on_message(MANAGER, SpaceTree(1, "plain", 2, moved.pack()))
    land.step()
    assert 0 < len(land[0].reals) < 130
    land.settle()
    assert not land[0].reals
    assert len(land[1].reals) == 130


def test_different_maps_do_not_play_ball():
    """Story 8: 1 has a newer tree, in which the entity belongs to 0; 0 has not received it."""
    land = Land(margin_m=0.0)
    land.create(1, 10.0, on=0)
    land[1].on_message(MANAGER, SpaceTree(1, "plain", 2, land.tree.move_border((), 50.0).pack()))
    homes = []
    for _ in range(40):
        land.step()
        homes.append(land.home(1))
    assert sum(a != b for a, b in pairwise(homes) if a is not None and b is not None) <= 8
    land[0].on_message(MANAGER, SpaceTree(1, "plain", 2, land.tree.move_border((), 50.0).pack()))
    land.settle()
    assert land.home(1) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"space": 9}, "no cell of space 9"),
        ({"position": (9999.0, 0.0, 0.0)}, "bounds of plain"),
        ({"position": (float("nan"), 0.0, 0.0)}, "bounds of plain"),
        ({"life": 2}, "has a cell part here already"),
        ({"entity": 3, "life": 0}, "later life"),
    ],
)
def test_births_are_refused_with_a_sentence(changes, words):
    land = Land()
    land.create(1, -20.0)
    land.create(3, 20.0)  # has a ghost on 0
    land.settle()
    asked = {"entity": 1, "position": (-20.0, 0.0, 0.0), "life": 1, "space": 1, **changes}
    if "life" not in changes:
        asked["entity"] = 2
    land.base.create(land[0].me, asked["entity"], asked["position"], life=asked["life"], space=asked["space"])
    land.settle()
    assert words in land.base.refused[asked["entity"]]
    assert land[0].counts[LogEvent.CREATION_REFUSED] == 1


def test_a_birth_waits_for_the_last_words_of_the_former_body():
    land = Land()
    land.create(1, -20.0)
    land.settle()
    land.do(1, lambda part: part.destroy())
    land.tick(land[0])
    land.base.create(land[0].me, 1, (-30.0, 0.0, 0.0), life=2)
    land.tick(land.base)
    land.deliver(land.base.me, land[0].me)
    assert land.home(1) is None
    land.settle()
    assert land.home(1) == 0
    assert land.base.created == [1, 1]


def test_cell_data_on_request():
    land = Land()
    land.create(1, -20.0, gold=3)
    land.do(1, lambda part: part.purse.append(8))
    land.base.want_data(1)
    land.settle()
    (data,) = land.base.data_of(1)
    assert (data.space, data.position, data.is_last) == ("plain", (-20.0, 0.0, 0.0), False)
    assert data.properties == land[0].bodies[1].state.encode()


def test_a_broken_link_is_joined_again_and_ghosts_are_made_whole():
    land = Land()
    land.create(1, -20.0)
    screen = land.create(2, 20.0, is_seen=True)
    land.settle()
    a, b = land[0], land[1]
    land.act(1, "step")
    land.tick(a)
    land.queues[a.me, b.me].clear()  # the step is lost with the link
    a.on_link_lost(b.me)
    b.on_link_lost(a.me)
    assert land.host.joined[-2:] == [b.me, a.me]
    land.do(1, lambda part: setattr(part, "pose", 4))
    land.tick(a)
    land.queues[a.me, b.me].clear()
    a.on_link_up(b.me)
    b.on_link_up(a.me)
    land.settle()
    assert b.bodies[1].state["steps"] == 1
    assert (screen.seen[1]["steps"], screen.seen[1]["pose"]) == (1, 4)


def test_no_real_is_sent_over_a_broken_link_and_unconfirmed_ones_are_sent_again():
    land = Land()
    land.create(1, -1.0)
    land.create(2, -1.0)
    land.settle()
    a, b = land[0], land[1]
    land.do(1, lambda part: setattr(part, "position", (10.0, 0.0, 0.0)))
    land.tick(a)
    assert land.home(1) is None
    land.queues[a.me, b.me].clear()
    a.on_link_lost(b.me)
    b.on_link_lost(a.me)
    land.do(2, lambda part: setattr(part, "position", (10.0, 0.0, 0.0)))
    land.step(5)
    assert land.home(2) == 0
    a.on_link_up(b.me)
    b.on_link_up(a.me)
    land.settle()
    assert (land.home(1), land.home(2)) == (1, 1)


def test_a_second_copy_of_an_offload_is_confirmed_and_changes_nothing():
    land = Land()
    land.create(1, -1.0)
    land.settle()
    land.do(1, lambda part: setattr(part, "position", (10.0, 0.0, 0.0)))
    land.tick(land[0])
    message = land[0].offloads.kept[1].message
    land.step(3)
    land.act(1, "step")
    land[1].on_message(land[0].me, message)
    land.settle()
    assert land.part(1).steps == 1


def test_unexpected_messages_are_counted():
    land = Land()
    land[0].on_message(MANAGER, CellAppReady())
    assert land[0].refusals.total() == 1


def test_the_console_sees_everything():
    land = Land()
    land.create(1, -20.0)
    land.settle()
    seen = {app.me.index: app.view()["spaces"] for app in land.cells}
    assert seen == {0: {"plain": [(1, "Avatar", True, -20.0, 0.0)]}, 1: {"plain": [(1, "Avatar", False, -20.0, 0.0)]}}
