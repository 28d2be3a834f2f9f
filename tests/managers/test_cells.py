"""CellAppMgr: cells are added and retired and borders moved while the world is in play; no entity is sent to an app
that does not expect it, and no cell is lost.
"""

from __future__ import annotations

import json
from math import inf

import pytest

from terrazzo.errors import UsageError
from terrazzo.game import Space
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.pairs.cellmgr_cell import CellAppLoad, CellAppReady, CellEmpty, CellReady, CellRemoved, SpaceTree
from terrazzo.world.bsp import BspTree
from terrazzo.world.rect import Axis
from tests.fake_host import FakeHost
from tests.managers.bench import CELL_APP_MGR, Answered, Bench, baseapp, cellapp, opened

PLAZA = Space("plaza", bounds=(-200, -100, 200, 100))
A, B, C, D = map(cellapp, range(4))


class World(Bench):
    """A CellAppMgr with one space in play on A and B; C and D are spares."""

    def __init__(self) -> None:
        host = FakeHost()
        self.mgr = CellAppMgr(CELL_APP_MGR, host, [PLAZA], 2)
        super().__init__(self.mgr, host)
        for app in (A, B, C, D):
            self.back(app)
        self.version = 1
        self.ready(A, B)
        self.tick()

    def back(self, app: AppId) -> None:
        self.mgr.on_link_up(app)
        self.hear(app, CellAppReady())

    def ready(self, *apps: AppId) -> None:
        for app in apps:
            self.hear(app, CellReady(1, self.version))

    def empty(self, app: AppId) -> None:
        self.hear(app, CellEmpty(1, self.version))

    def told(self) -> dict[AppId, SpaceTree | CellRemoved]:
        """The last word of this tick to each CellApp."""
        words: dict[AppId, SpaceTree | CellRemoved] = {}
        for peer, message in self.tick():
            assert isinstance(message, SpaceTree | CellRemoved)
            words[peer] = message
            if isinstance(message, SpaceTree):
                self.version = message.version
        return words

    def trees(self) -> dict[AppId, BspTree]:
        words = self.told()
        return {app: BspTree.unpack(word.tree) for app, word in words.items() if isinstance(word, SpaceTree)}

    def owner(self, x: float, z: float = 0.0) -> AppId:
        self.ask(baseapp(0), FindEntry("plaza", x, z))
        [answer] = [opened(message) for peer, message in self.tick() if peer == baseapp(0)]
        assert isinstance(answer, Answered)
        assert isinstance(answer.message, Entry)
        return answer.message.app


# A new cell.


def test_a_cell_is_born_without_area_and_grows_when_its_app_has_the_tree():
    world = World()
    assert world.mgr.add_cell("plaza", beside=B) == C
    trees = world.trees()
    assert set(trees) == {A, B, C}
    [born] = set(trees.values())
    leaf = born.leaf_of(C)
    assert leaf is not None
    assert born.rect_of(leaf).is_empty
    assert world.owner(199) == B
    world.ready(A, B)
    assert world.told() == {}, "only the word of the new one counts"
    world.ready(C)
    [grown] = set(world.trees().values())
    assert world.version == 3
    assert [world.owner(x) for x in (-1, 0, 99, 100, 199)] == [A, B, B, C, C]
    assert grown == world.mgr.tree_of("plaza")


def test_the_side_and_the_border_can_be_chosen():
    world = World()
    assert world.mgr.add_cell("plaza", D, beside=A, axis=Axis.Z, position=-25.0, is_near=True) == D
    world.told()
    world.ready(D)
    world.told()
    assert [world.owner(-1, z) for z in (-26, -25)] == [D, A]
    assert world.owner(1, -26) == B


def test_add_cell_without_arguments_takes_the_idlest_spare_and_the_widest_cell():
    world = World()
    world.hear(C, CellAppLoad(0.5, ()))
    world.hear(D, CellAppLoad(0.1, ()))
    world.mgr.move_border("plaza", (), -150)
    assert world.mgr.add_cell("plaza") == D, "the idlest spare, for a part of the widest cell"
    world.told()
    world.ready(D)
    world.told()
    assert [world.owner(x) for x in (-151, -150, 24, 25)] == [A, B, B, D]


def test_the_newborn_waits_for_the_newest_tree():
    world = World()
    world.mgr.retire_cell("plaza", B)
    world.told()
    world.mgr.add_cell("plaza", C)
    world.told()
    born = world.version
    world.empty(B)  # which makes another version
    world.told()
    world.hear(C, CellReady(1, born))
    assert world.told() == {}
    world.ready(C)
    assert C in world.told()
    assert world.owner(150) == C


def test_while_a_cell_is_newborn_the_space_is_not_changed():
    world = World()
    world.mgr.add_cell("plaza")
    for change in (
        lambda: world.mgr.add_cell("plaza"),
        lambda: world.mgr.retire_cell("plaza", A),
        lambda: world.mgr.move_border("plaza", (), 5),
    ):
        with pytest.raises(UsageError, match=r"cell_app-2\.1 makes its cell; try again"):
            change()
    world.told()
    world.ready(C)
    world.mgr.move_border("plaza", (), 5)


def test_newborn_cell_with_a_lost_link_retires_and_may_be_added_again():
    world = World()
    world.mgr.add_cell("plaza")
    world.told()
    world.lose(C)
    assert set(world.told()) == {A, B}
    assert world.mgr.tree_of("plaza").leaf_of(C) is None
    world.mgr.move_border("plaza", (), 5)
    world.told()
    world.back(C)
    told = world.told()
    assert told[C].retiring == (C,)  # type: ignore[union-attr]
    world.ready(A, B, C)
    with pytest.raises(UsageError, match="still leaving"):
        world.mgr.add_cell("plaza", C)
    world.empty(C)
    world.told()
    world.ready(A, B, C)
    assert isinstance(world.told()[C], CellRemoved)
    world.empty(C)
    assert world.mgr.add_cell("plaza", C) == C


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda mgr: mgr.add_cell("plaza", A), "has a cell of it"),
        (lambda mgr: mgr.add_cell("plaza", cellapp(9)), "is not there"),
        (lambda mgr: mgr.add_cell("plaza", beside=C), "cell_app-2.1 has no cell in this space"),
        (lambda mgr: mgr.add_cell("plaza", beside=A, axis=Axis.X, position=1.0), "not within -inf … 0.0"),
        (lambda mgr: mgr.retire_cell("plaza", C), "has no cell"),
        (lambda mgr: mgr.move_border("plaza", (0,), 1.0), "only a border"),
        (lambda mgr: mgr.retire_cell("hall", A), "there is no space 'hall'"),
    ],
)
def test_impossible_change_is_refused_and_changes_nothing(change, words):
    world = World()
    before = world.mgr.view()
    with pytest.raises(UsageError, match=words):
        change(world.mgr)
    assert world.mgr.view() == before
    assert world.told() == {}


def test_nothing_is_changed_before_the_spaces_are_ready():
    mgr = CellAppMgr(CELL_APP_MGR, FakeHost(), [PLAZA], 2)
    with pytest.raises(UsageError, match="0 of 2 CellApps have joined"):
        mgr.tree_of("plaza")


def test_without_a_spare_no_cell_is_added():
    world = World()
    world.lose(C)
    world.lose(D)
    with pytest.raises(UsageError, match="start another one"):
        world.mgr.add_cell("plaza")


# A cell retires.


def test_race_09_cell_is_dropped_only_when_all_members_have_confirmed():
    world = World()
    world.mgr.retire_cell("plaza", B)
    told = world.told()
    assert set(told) == {A, B}
    assert told[A].retiring == told[B].retiring == (B,)  # type: ignore[union-attr]
    assert world.owner(199) == A, "the neighbour has the ground at once"
    world.ready(A, B)
    assert world.told() == {}, "B is not empty yet"
    world.empty(B)
    told = world.told()
    assert told[A].retiring == told[B].retiring == ()  # type: ignore[union-attr]
    world.ready(B)
    assert world.told() == {}, "A may have something on its way to B"
    world.ready(A)
    assert world.told() == {B: CellRemoved(1, world.version)}
    with pytest.raises(UsageError, match="still leaving"):
        world.mgr.add_cell("plaza", B)
    world.mgr.add_cell("plaza", C)
    assert B in world.told(), "until it has forgotten the space it hears of every tree"
    world.hear(B, CellEmpty(1, world.version - 1))
    world.ready(A, C)
    assert B not in world.told()
    world.ready(A, C)
    world.tick()
    assert world.mgr.add_cell("plaza", B) == B


def test_retired_cell_waits_also_for_a_member_that_joins_meanwhile():
    world = World()
    world.mgr.retire_cell("plaza", B)
    world.told()
    world.empty(B)
    world.told()
    world.mgr.add_cell("plaza", C)
    world.told()
    world.ready(A, B)
    assert world.told() == {}
    world.ready(C)
    assert isinstance(world.told()[B], CellRemoved | SpaceTree)
    assert world.mgr.view()["spaces"][0]["retiring"] == ["cell_app-1.1"]


def test_lost_member_is_waited_for_and_gets_what_it_missed():
    world = World()
    world.mgr.retire_cell("plaza", B)
    world.told()
    world.lose(A)
    world.empty(B)
    assert set(world.told()) == {B}
    world.ready(B)
    assert world.told() == {}
    world.back(A)
    assert world.told()[A].retiring == ()  # type: ignore[union-attr]
    world.ready(A)
    removed = CellRemoved(1, world.version)
    assert world.told() == {B: removed}
    world.lose(B)
    world.back(B)
    said = [message for peer, message in world.tick() if peer == B]
    assert [type(message) for message in said] == [SpaceTree, CellRemoved]
    assert said[1] == removed
    world.empty(B)
    assert world.mgr.view()["spaces"][0]["retiring"] == []


def test_early_or_repeated_cell_empty_removes_no_cell():
    world = World()
    world.hear(A, CellEmpty(1, 1))  # it has a cell
    assert world.told() == {}
    world.mgr.retire_cell("plaza", B)
    world.told()
    world.empty(B)
    world.empty(B)
    world.told()
    assert world.version == 3
    world.empty(B)  # all members have confirmed, but it did not get that yet
    assert world.mgr.view()["spaces"][0]["retiring"] == ["cell_app-1.1"]
    world.ready(A, B)
    world.hear(B, CellEmpty(1, 2))  # its message from before
    assert world.mgr.view()["spaces"][0]["retiring"] == ["cell_app-1.1"]
    world.empty(B)
    assert world.mgr.view()["spaces"][0]["retiring"] == []


def test_the_last_cell_stays():
    world = World()
    world.mgr.retire_cell("plaza", B)
    with pytest.raises(UsageError, match="the last one"):
        world.mgr.retire_cell("plaza", A)
    assert world.told()[A].retiring == (B,)  # type: ignore[union-attr]


def test_a_cellapp_may_ask_for_an_entry_too():
    world = World()
    number = world.ask(C, FindEntry("plaza", 5, 5))
    [(peer, answer)] = [(peer, opened(message)) for peer, message in world.tick()]
    assert (peer, answer) == (C, Answered(number, Entry(1, B)))


def test_a_border_moves():
    world = World()
    world.mgr.move_border("plaza", (), -50)
    assert set(world.trees()) == {A, B}
    assert [world.owner(x) for x in (-51, -50)] == [A, B]


def test_the_view_is_plain_data_also_while_a_cell_is_at_the_end_of_the_world():
    world = World()
    world.mgr.add_cell("plaza", beside=B)
    view = world.mgr.view()["spaces"][0]
    assert view["tree"]["right"]["position"] == 200
    assert [cell["rect"] for cell in view["cells"]][-1] == [200, -100, 200, 100]
    assert str(inf) not in json.dumps(view)


@pytest.mark.parametrize(
    ("source", "message"),
    [(C, CellEmpty(1, 1)), (A, CellEmpty(2, 1)), (cellapp(9), CellEmpty(1, 1))],
    ids=str,
)
def test_message_that_cannot_be_true_is_counted(source: AppId, message: Message):
    world = World()
    world.hear(source, message)
    assert world.mgr.refusals.total() == 1
