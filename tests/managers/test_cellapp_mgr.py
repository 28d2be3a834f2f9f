"""CellAppMgr: spaces are made when all have joined, entries are found, losses are reported."""

from __future__ import annotations

import json
from itertools import permutations
from math import inf, nan

import pytest

from terrazzo.errors import UsageError
from terrazzo.game import Space
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.wire.common import RequestRefused
from terrazzo.wire.ids import ANY_INCARNATION, AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cellmgr import CellAppLoads, Entry, FindEntry, SpacesReady
from terrazzo.wire.pairs.cellmgr_cell import (
    CellAppLoad,
    CellAppReady,
    CellEmpty,
    CellLoad,
    CellReady,
    CellRemoved,
    SpaceTree,
)
from terrazzo.world.bsp import BspTree
from terrazzo.world.rect import Rect
from tests.fake_host import FakeHost
from tests.managers.bench import BASE_APP_MGR, CELL_APP_MGR, Answered, Bench, baseapp, cellapp, opened

PLAZA = Space("plaza", bounds=(-200, -200, 200, 200))
HALL = Space("hall", bounds=(-50, -50, 50, 50))


class Cluster(Bench):
    """A CellAppMgr of two spaces, and the words of the apps around it."""

    def __init__(self, cells: int = 2) -> None:
        host = FakeHost()
        self.mgr = CellAppMgr(CELL_APP_MGR, host, [PLAZA, HALL], cells)
        super().__init__(self.mgr, host)

    def join(self, *apps: AppId) -> None:
        for app in apps:
            self.mgr.on_link_up(app)
            self.hear(app, CellAppReady())

    def ready(self, *apps: AppId, version: int = 1) -> None:
        for app in apps:
            self.hear(app, CellReady(1, version), CellReady(2, version))

    def start(self) -> Cluster:
        self.join(cellapp(0), cellapp(1))
        self.ready(cellapp(0), cellapp(1))
        self.tick()
        return self

    def state(self) -> str:
        return str(self.mgr.view()["state"])

    def find(self, space: str, x: float, z: float) -> Entry | str:
        """The answer to a BaseApp that asks for an entry."""
        number = self.ask(baseapp(0), FindEntry(space, x, z))
        [(peer, told)] = [(peer, told) for peer, told in self.opened() if isinstance(told, Answered | str)]
        assert peer == baseapp(0)
        if isinstance(told, str):
            return told
        assert told.number == number
        assert isinstance(told.message, Entry)
        return told.message

    def opened(self) -> list[tuple[AppId, Message | str]]:
        said = [(peer, opened(message)) for peer, message in self.tick()]
        return [(peer, each.reason if isinstance(each, RequestRefused) else each) for peer, each in said]


def trees_in(said: list[tuple[AppId, Message]]) -> list[tuple[AppId, SpaceTree]]:
    return [(peer, message) for peer, message in said if isinstance(message, SpaceTree)]


def told_ready(said: list[tuple[AppId, Message]]) -> list[AppId]:
    return [peer for peer, message in said if message == SpacesReady(2)]


# Start.


def test_nothing_is_split_before_all_have_joined():
    cluster = Cluster()
    cluster.join(cellapp(0))
    assert cluster.tick() == []
    assert cluster.state() == "gathering"


def test_each_cellapp_gets_every_tree_when_all_have_joined():
    cluster = Cluster()
    cluster.join(cellapp(1), cellapp(0))
    said = trees_in(cluster.tick())
    assert [(peer, each.space, each.name, each.version) for peer, each in said] == [
        (cellapp(0), 1, "plaza", 1),
        (cellapp(0), 2, "hall", 1),
        (cellapp(1), 1, "plaza", 1),
        (cellapp(1), 2, "hall", 1),
    ]
    plaza = BspTree.unpack(said[0][1].tree)
    assert plaza.bounds == Rect(*PLAZA.bounds)
    assert [plaza.leaf_at(x, 0).app for x in (-1, 0)] == [cellapp(0), cellapp(1)]


def test_spaces_are_ready_with_the_last_cell():
    for order in permutations([(cellapp(0), 1), (cellapp(0), 2), (cellapp(1), 1), (cellapp(1), 2)]):
        cluster = Cluster()
        cluster.mgr.on_link_up(BASE_APP_MGR)
        cluster.mgr.on_link_up(baseapp(0))
        cluster.join(cellapp(0), cellapp(1))
        for app, space in order[:-1]:
            cluster.hear(app, CellReady(space, 1), CellReady(space, 1))
        assert told_ready(cluster.tick()) == []
        cluster.hear(order[-1][0], CellReady(order[-1][1], 1))
        assert told_ready(cluster.tick()) == [BASE_APP_MGR, baseapp(0)]
        cluster.hear(order[-1][0], CellReady(order[-1][1], 1))
        assert told_ready(cluster.tick()) == []


def test_app_that_links_late_gets_spaces_ready_at_once():
    cluster = Cluster().start()
    cluster.mgr.on_link_up(baseapp(3))
    cluster.mgr.on_link_up(BASE_APP_MGR)
    assert told_ready(cluster.tick()) == [baseapp(3), BASE_APP_MGR]
    assert told_ready(cluster.tick()) == []


def test_lost_baseapp_gets_spaces_ready_when_it_is_back():
    cluster = Cluster()
    cluster.mgr.on_link_up(baseapp(0))
    cluster.lose(baseapp(0))
    cluster.start()
    assert told_ready(cluster.tick()) == []
    cluster.mgr.on_link_up(baseapp(0))
    assert told_ready(cluster.tick()) == [baseapp(0)]


def test_manager_joins_the_other_manager_until_it_is_linked():
    cluster = Cluster()
    anyone = BASE_APP_MGR._replace(incarnation=ANY_INCARNATION)
    cluster.tick()
    cluster.tick()
    assert cluster.host.joined == [anyone]
    cluster.lose(anyone)  # it could not be joined in time
    cluster.tick()
    assert cluster.host.joined == [anyone] * 2
    cluster.mgr.on_link_up(BASE_APP_MGR)
    cluster.tick()
    assert cluster.host.joined == [anyone] * 2
    cluster.lose(BASE_APP_MGR)
    cluster.tick()
    assert cluster.host.joined == [anyone] * 3


def test_a_cellapp_too_many_is_kept_without_a_cell():
    cluster = Cluster().start()
    cluster.join(cellapp(7))
    assert trees_in(cluster.tick()) == []
    assert [each["app"] for each in cluster.mgr.view()["apps"]] == ["cell_app-0.1", "cell_app-1.1", "cell_app-7.1"]
    cluster.lose(cellapp(7))
    assert len(cluster.mgr.view()["apps"]) == 2
    assert isinstance(cluster.find("plaza", 0, 0), Entry)


def test_one_cellapp_can_run_everything():
    cluster = Cluster(cells=1)
    cluster.join(cellapp(4))
    cluster.ready(cellapp(4))
    assert cluster.find("hall", 5000, -5000) == Entry(2, cellapp(4))


@pytest.mark.parametrize(
    ("spaces", "cells", "words"),
    [
        ([PLAZA], 0, "at least one"),
        ([PLAZA, PLAZA], 1, "one name"),
        ([Space("flat", (0, 0, 0, 9))], 1, "hold no area"),
    ],
)
def test_impossible_settings_are_refused_at_the_start(spaces, cells, words):
    with pytest.raises(UsageError, match=words):
        CellAppMgr(CELL_APP_MGR, FakeHost(), spaces, cells)


# Losses before the spaces are ready: nothing lives there yet.


def test_cellapp_that_left_before_the_split_does_not_count():
    cluster = Cluster()
    cluster.join(cellapp(0))
    cluster.lose(cellapp(0))
    cluster.join(cellapp(1))
    assert trees_in(cluster.tick()) == []
    cluster.join(cellapp(0, 2))
    assert len(trees_in(cluster.tick())) == 4


def test_a_loss_during_the_split_gathers_anew():
    cluster = Cluster()
    cluster.join(cellapp(0), cellapp(1))
    cluster.ready(cellapp(0))
    cluster.tick()
    cluster.lose(cellapp(1))
    assert cluster.state() == "gathering"
    assert cluster.mgr.view()["spaces"][0]["cells"] == []
    cluster.join(cellapp(1, 2))
    said = trees_in(cluster.tick())
    assert [(peer, each.version) for peer, each in said] == [(cellapp(0), 2)] * 2 + [(cellapp(1, 2), 2)] * 2
    cluster.ready(cellapp(0), version=1)  # a late word about the tree before: it means nothing
    cluster.ready(cellapp(1, 2), version=2)
    assert cluster.state() == "splitting"
    cluster.ready(cellapp(0), version=2)
    assert cluster.find("plaza", 1, 1) == Entry(1, cellapp(1, 2))


def test_a_late_cellready_does_not_start_a_gathering_cluster():
    cluster = Cluster()
    cluster.join(cellapp(0), cellapp(1))
    cluster.lose(cellapp(1))
    cluster.ready(cellapp(0), version=1)
    assert cluster.state() == "gathering"


def test_a_spare_takes_the_place_of_one_lost_during_the_split():
    cluster = Cluster()
    cluster.join(cellapp(0), cellapp(1), cellapp(2))
    cluster.tick()
    cluster.lose(cellapp(0))
    assert [(peer, each.version) for peer, each in trees_in(cluster.tick())] == [
        (cellapp(1), 2),
        (cellapp(1), 2),
        (cellapp(2), 2),
        (cellapp(2), 2),
    ]


def test_cellapp_lost_during_the_split_drops_its_tree_when_it_is_back():
    """Its link was gone, not the app: it still has cells of a tree that no other app uses."""
    cluster = Cluster()
    cluster.join(cellapp(0), cellapp(1), cellapp(2))
    cluster.tick()
    cluster.lose(cellapp(0))
    cluster.ready(cellapp(1), cellapp(2), version=2)
    cluster.tick()
    assert cluster.state() == "ready"
    cluster.join(cellapp(0))
    told = [message for peer, message in cluster.tick() if peer == cellapp(0)]
    assert [(each.space, each.version) for each in told if isinstance(each, SpaceTree)] == [(1, 2), (2, 2)]
    assert [each for each in told if isinstance(each, CellRemoved)] == [CellRemoved(1, 2), CellRemoved(2, 2)]
    cluster.hear(cellapp(0), CellEmpty(1, 2), CellEmpty(2, 2))
    assert cluster.mgr._strays == {}
    assert cluster.mgr.refusals.total() == 0
    assert cluster.mgr.add_cell("plaza") == cellapp(0)


def test_lost_cellapp_is_dropped_when_its_next_incarnation_joins():
    cluster = Cluster()
    cluster.join(cellapp(0), cellapp(1), cellapp(2))
    cluster.tick()
    cluster.lose(cellapp(0))
    assert list(cluster.mgr._strays) == [cellapp(0)]
    cluster.join(cellapp(0)._replace(incarnation=2))
    assert cluster.mgr._strays == {}


def test_cellapp_back_before_the_next_split_has_a_cell_again():
    cluster = Cluster()
    cluster.join(cellapp(0), cellapp(1))
    cluster.tick()
    cluster.lose(cellapp(0))
    cluster.join(cellapp(0))
    said = [message for peer, message in cluster.tick() if peer == cellapp(0)]
    assert [type(each) for each in said] == [SpaceTree, SpaceTree]
    assert cluster.mgr._strays == {}


def test_spare_lost_during_the_split_changes_nothing():
    cluster = Cluster()
    cluster.join(cellapp(0), cellapp(1), cellapp(2))
    cluster.tick()
    cluster.lose(cellapp(2))
    assert cluster.tick() == []
    assert cluster.state() == "splitting"


# Entries.


def test_entries_are_found_by_position():
    cluster = Cluster().start()
    assert cluster.find("plaza", -0.001, 10) == Entry(1, cellapp(0))
    assert cluster.find("plaza", 0, 10) == Entry(1, cellapp(1))
    assert cluster.find("hall", -1e9, 0) == Entry(2, cellapp(0))


def test_an_unknown_space_is_refused_with_the_names_of_the_known():
    assert Cluster().start().find("cellar", 0, 0) == (
        "there is no space 'cellar'; the game's spaces are: 'plaza', 'hall'"
    )


def test_the_longest_name_gets_an_answer_that_fits():
    told = Cluster().start().find("\U0001f3db" * 240, 0, 0)
    assert isinstance(told, str)
    assert told.startswith("there is no space")


def test_refusal_before_the_spaces_are_ready_has_their_progress():
    cluster = Cluster()
    cluster.join(cellapp(0))
    assert cluster.find("plaza", 0, 0) == (
        "spaces are not ready yet: 1 of 2 CellApps have joined; try again in a moment"
    )
    cluster.join(cellapp(1))
    cluster.ready(cellapp(0))
    assert cluster.find("plaza", 0, 0) == (
        "spaces are not ready yet: 2 cells are still being made; try again in a moment"
    )


@pytest.mark.parametrize("place", [(nan, 0), (0, inf), (-inf, 0)])
def test_place_that_is_not_finite_is_refused(place):
    told = Cluster().start().find("plaza", *place)
    assert isinstance(told, str)
    assert "finite" in told


# A CellApp with cells is lost.


def test_cells_of_a_lost_cellapp_cannot_be_entered():
    cluster = Cluster().start()
    cluster.lose(cellapp(1))
    assert cluster.find("plaza", 5, 5) == (
        "the link with cell_app-1.1, which runs this part of space 'plaza', is lost; try again later"
    )
    assert cluster.find("plaza", -5, 5) == Entry(1, cellapp(0))
    [facts] = [facts for event, facts in cluster.host.logged if event == "CellApp lost"]
    assert facts["app"] == "cell_app-1.1"
    assert facts["spaces"] == ["plaza", "hall"]
    assert [cell["is_lost"] for cell in cluster.mgr.view()["spaces"][0]["cells"]] == [False, True]


def test_cell_is_entered_again_when_the_link_is_back():
    cluster = Cluster().start()
    cluster.lose(cellapp(1))
    cluster.join(cellapp(1))
    assert [(peer, each.version) for peer, each in trees_in(cluster.tick())] == [(cellapp(1), 1)] * 2
    assert cluster.find("plaza", 5, 5) == Entry(1, cellapp(1))
    assert told_ready(cluster.tick()) == []


def test_next_incarnation_of_a_cellapp_has_no_cell():
    cluster = Cluster().start()
    cluster.lose(cellapp(1))
    cluster.join(cellapp(1, 2))
    assert trees_in(cluster.tick()) == []
    assert isinstance(cluster.find("plaza", 5, 5), str)


# Loads and the console.


def test_loads_are_smoothed_and_shown():
    cluster = Cluster().start()
    cluster.hear(cellapp(0), CellAppLoad(0.5, (CellLoad(1, 0.4, 10, 3), CellLoad(2, 0.1, 1, 0))))
    cluster.hear(cellapp(0), CellAppLoad(1.0, (CellLoad(1, 0.4, 12, 4), CellLoad(2, 0.6, 2, 1))))
    view = cluster.mgr.view()
    assert view["apps"][0] == {
        "app": "cell_app-0.1",
        "index": 0,
        "load": pytest.approx(0.65),
        "reals": 14,
        "ghosts": 5,
        "is_lost": False,
    }
    plaza, hall = view["spaces"]
    assert plaza["cells"][0] == {
        "cell": 1,
        "app": "cell_app-0.1",
        "rect": [-200, -200, 0, 200],
        "load": pytest.approx(0.4),
        "is_load_estimated": True,
        "reals": 12,
        "ghosts": 4,
        "is_lost": False,
    }
    assert plaza["cells"][1]["load"] is None
    assert hall["cells"][0]["load"] == pytest.approx(0.25)
    assert plaza["tree"] == {
        "axis": "x",
        "position": 0.0,
        "left": {"cell": 1, "app": "cell_app-0.1"},
        "right": {"cell": 2, "app": "cell_app-1.1"},
    }


def test_the_view_is_plain_data_in_every_state():
    cluster = Cluster()
    seen = [cluster.mgr.view()]
    cluster.join(cellapp(0), cellapp(1))
    seen.append(cluster.mgr.view())
    cluster.ready(cellapp(0), cellapp(1))
    seen.append(cluster.mgr.view())
    assert [view["state"] for view in seen] == ["gathering", "splitting", "ready"]
    assert [json.loads(json.dumps(view, allow_nan=False)) for view in seen] == seen


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (baseapp(0), CellAppReady()),
        (cellapp(9), CellReady(1, 1)),
        (cellapp(0), CellReady(3, 1)),
        (cellapp(0), CellReady(1, 2)),
        (cellapp(9), CellAppLoad(0.1, ())),
        (cellapp(0), CellAppLoad(nan, ())),
        (cellapp(0), CellAppLoad(-1.0, ())),
        (cellapp(0), CellAppLoad(0.1, (CellLoad(3, 0.1, 0, 0),))),
        (cellapp(0), CellAppLoad(0.1, (CellLoad(1, inf, 0, 0),))),
        (cellapp(0), SpacesReady(2)),
    ],
    ids=str,
)
def test_message_that_cannot_be_true_is_counted_and_changes_nothing(source, message):
    cluster = Cluster().start()
    before = cluster.mgr.view()
    cluster.hear(source, message)
    assert cluster.mgr.refusals.total() == 1
    assert cluster.mgr.view() == before


def test_two_cells_in_a_row_go_to_two_spares():
    """The load of the first one is reported later."""
    cluster = Cluster().start()
    cluster.join(cellapp(2), cellapp(3))
    for index, load in enumerate([0.3, 0.3, 0.010, 0.012]):
        cells = tuple(CellLoad(space, load / 2, 5, 5) for space in (1, 2)) if index < 2 else ()
        cluster.hear(cellapp(index), CellAppLoad(load, cells))
    assert cluster.mgr.add_cell("plaza") == cellapp(2)
    assert cluster.mgr.add_cell("hall") == cellapp(3)


def test_baseappmgr_gets_the_loads_of_cellapps_with_a_cell_once_a_second():
    cluster = Cluster().start()
    cluster.join(cellapp(2))
    cluster.mgr.on_link_up(BASE_APP_MGR)
    cluster.tick(1.0)
    for index, load in ((0, 0.25), (1, 0.75), (2, 9.0)):
        cells = (CellLoad(1, load, 3, 2),) if index < 2 else ()
        cluster.hear(cellapp(index), CellAppLoad(load, cells))
    assert (BASE_APP_MGR, CellAppLoads(0.5, 0.75)) in cluster.tick(1.0)
    cluster.mgr.on_link_lost(cellapp(1))
    assert (BASE_APP_MGR, CellAppLoads(0.25, 0.25)) in cluster.tick(1.0)
