"""CellAppMgr: instances are made once, on the idlest CellApp; entering waits; ending is complete, and repeatable."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo.errors import UsageError
from terrazzo.game import Space
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.managers.instances import INSTANCES_MAX, MAKE_S
from terrazzo.schema.plaindata import encode_plain
from terrazzo.wire.common import RequestRefused
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.pairs.cellmgr_cell import (
    CellAppLoad,
    CellAppReady,
    CellEmpty,
    CellReady,
    CellRemoved,
    SpaceData,
    SpaceEnded,
    SpaceItem,
    SpaceTree,
)
from terrazzo.wire.pairs.spaces import SpaceAct, SpaceChange, SpaceChanges, SpaceChangesMade, SpaceOutcome
from terrazzo.world.bsp import BspTree
from tests.fake_host import FakeHost
from tests.managers.bench import CELL_APP_MGR, Answered, Bench, baseapp, cellapp, opened

PLAZA = Space("plaza", bounds=(-200, -100, 200, 100))
BOUNDS = (-10.0, -20.0, 10.0, 20.0)
A, B, C = map(cellapp, range(3))
BASE = baseapp(0)


class World(Bench):
    """A CellAppMgr with the plaza in play on A and B; C is a spare."""

    def __init__(self) -> None:
        host = FakeHost()
        self.mgr = CellAppMgr(CELL_APP_MGR, host, [PLAZA], 2, token="t")
        super().__init__(self.mgr, host)
        self.number = 1
        for app in (A, B, C):
            self.back(app)
        for app in (A, B):
            self.hear(app, CellReady(1, 1))
        self.mgr.on_link_up(BASE)
        self.tick()

    def back(self, app: AppId) -> None:
        self.mgr.on_link_up(app)
        self.hear(app, CellAppReady())

    def change(self, *changes: SpaceChange, source: AppId = BASE, first: int | None = None) -> list[SpaceOutcome]:
        """The outcomes; what is sent to CellApps stays in `sent`."""
        number = self.number if first is None else first
        self.ask(source, SpaceChanges(number, changes))
        self.number = number + len(changes)
        [answer] = self.turn(source)
        assert isinstance(answer, Answered)
        assert isinstance(answer.message, SpaceChangesMade)
        return list(answer.message.outcomes)

    def turn(self, peer: AppId) -> list[Message]:
        """What one peer gets in a tick; what the others get is in `sent`."""
        said = self.tick()
        self.sent = [(to, message) for to, message in said if to != peer]
        return [opened(message) for to, message in said if to == peer]

    def create(self, kind: str = "hall") -> str:
        [outcome] = self.change(SpaceChange(SpaceAct.CREATE, kind, BOUNDS))
        assert outcome.problem == ""
        return outcome.space

    def end(self, name: str) -> SpaceOutcome:
        [outcome] = self.change(SpaceChange(SpaceAct.END, name))
        return outcome

    def entry(self, name: str, x: float = 0.0) -> Any:
        """The entry, or the reason why there is none; None: it waits."""
        self.ask(BASE, FindEntry(name, x, 0.0))
        answers = self.turn(BASE)
        return self.meaning(answers[0]) if answers else None

    def meaning(self, answer: Message) -> Any:
        if isinstance(answer, RequestRefused):
            return answer.reason
        assert isinstance(answer, Answered)
        assert isinstance(answer.message, Entry)
        return answer.message.app

    def empty(self, app: AppId, version: int, space: int = 2) -> list[Any]:
        self.hear(app, CellEmpty(space, version))
        return self.tick()


def test_instance_is_one_cell_on_the_idlest_cellapp():
    world = World()
    world.hear(A, CellAppLoad(0.5, ()))
    world.hear(B, CellAppLoad(0.4, ()))
    world.hear(C, CellAppLoad(0.1, ()))
    assert world.create() == "hall#t-2"
    [(app, tree)] = world.sent
    assert app == C
    assert isinstance(tree, SpaceTree)
    assert (tree.space, tree.name, tuple(BspTree.unpack(tree.tree).bounds)) == (2, "hall#t-2", BOUNDS)


def test_request_that_is_repeated_makes_one_instance_and_gets_the_same_answer():
    world = World()
    create = SpaceChange(SpaceAct.CREATE, "hall", BOUNDS)
    first = world.change(create, create, first=1)
    again = world.change(create, create, first=1)
    assert first == again
    assert [each.space for each in first] == ["hall#t-2", "hall#t-3"]
    assert world.sent == []
    assert len(world.mgr.spaces) == 3


def test_request_out_of_turn_is_refused_and_another_app_has_its_own_numbers():
    world = World()
    create = SpaceChange(SpaceAct.CREATE, "hall", BOUNDS)
    world.change(create, first=1)
    world.ask(BASE, SpaceChanges(3, (create,)))
    [answer] = world.turn(BASE)
    assert isinstance(answer, RequestRefused)
    assert "number 2, not 3" in answer.reason
    assert world.change(create, source=baseapp(1), first=1)[0].space == "hall#t-3"


def test_entry_waits_until_the_cell_is_there():
    world = World()
    name = world.create()
    [(app, _)] = world.sent
    assert world.entry(name) is None
    world.hear(app, CellReady(2, 1))
    [answer] = world.turn(BASE)
    assert world.meaning(answer) == app
    assert world.entry(name) == app
    assert "not within" in world.entry(name, 11.0)


def test_entry_that_has_waited_too_long_is_refused():
    world = World()
    name = world.create()
    assert world.entry(name) is None
    world.host.now += MAKE_S
    [answer] = world.turn(BASE)
    assert "still being made" in world.meaning(answer)
    assert "still being made" in world.entry(name)


def test_entry_that_waits_for_an_instance_that_is_ended_is_refused():
    world = World()
    name = world.create()
    assert world.entry(name) is None
    world.ask(BASE, SpaceChanges(world.number, (SpaceChange(SpaceAct.END, name),)))
    answers = [answer for answer in world.turn(BASE) if isinstance(answer, RequestRefused)]
    assert "has been ended" in world.meaning(answers[0])


def test_question_of_a_lost_peer_is_void():
    world = World()
    name = world.create()
    [(app, _)] = world.sent
    assert world.entry(name) is None
    world.lose(BASE)
    world.mgr.on_link_up(BASE)
    world.tick()
    world.hear(app, CellReady(2, 1))
    assert world.turn(BASE) == []


def two_cells(world: World) -> str:
    """An instance with cells at A (the first) and another CellApp, both confirmed."""
    world.hear(B, CellAppLoad(0.5, ()))
    world.hear(C, CellAppLoad(0.4, ()))
    name = world.create()
    world.hear(A, CellReady(2, 1))
    assert world.mgr.add_cell(name, C) == C
    for version in (2, 3):
        world.hear(A, CellReady(2, version))
        world.hear(C, CellReady(2, version))
        world.tick()
    return name


def test_end_waits_for_all_members_before_any_of_them_drops_the_space():
    world = World()
    name = two_cells(world)
    assert world.end(name) == SpaceOutcome(name)
    assert world.sent == [(A, SpaceEnded(2, 4)), (C, SpaceEnded(2, 4))]
    assert world.empty(A, 4) == []
    assert world.empty(C, 4) == [(A, CellRemoved(2, 5)), (C, CellRemoved(2, 5))]
    world.empty(A, 5)
    assert len(world.mgr.spaces) == 2
    world.empty(C, 5)
    assert len(world.mgr.spaces) == 1
    assert "has been ended" in world.entry(name)


def test_end_again_changes_nothing_whether_it_is_under_way_or_over():
    world = World()
    name = two_cells(world)
    world.end(name)
    assert world.end(name) == SpaceOutcome(name)
    assert world.sent == []
    for version in (4, 5):
        world.empty(A, version)
        world.empty(C, version)
    assert world.end(name) == SpaceOutcome(name)


def test_member_that_was_lost_is_sent_the_end_when_it_is_back():
    world = World()
    name = two_cells(world)
    world.lose(C)
    world.end(name)
    assert world.sent == [(A, SpaceEnded(2, 4))]
    assert world.empty(A, 4) == []
    world.back(C)
    assert (C, SpaceEnded(2, 4)) in world.tick()
    world.empty(C, 4)
    world.lose(C)  # CellRemoved, or the answer, is lost
    world.empty(A, 5)
    world.back(C)
    assert (C, CellRemoved(2, 5)) in world.tick()
    world.empty(C, 5)
    assert len(world.mgr.spaces) == 1


def test_late_messages_about_a_removed_instance_are_ignored():
    world = World()
    name = two_cells(world)
    world.end(name)
    for version in (4, 5):
        world.empty(A, version)
        world.empty(C, version)
    world.hear(A, CellEmpty(2, 5), CellReady(2, 3))
    world.hear(A, CellAppLoad(0.1, ()))
    assert LogEvent.MESSAGE_REFUSED not in [event for event, _ in world.host.logged]
    assert name not in [space.policy.name for space in world.mgr.spaces]


def test_number_of_an_instance_is_never_used_again():
    world = World()
    name = world.create()
    [(app, _)] = world.sent
    world.end(name)
    for version in (2, 3):
        world.empty(app, version)
    assert len(world.mgr.spaces) == 1
    assert world.create() == "hall#t-3"


def test_space_of_the_game_and_impossible_bounds_are_refused():
    world = World()
    assert "is no instance" in world.end("plaza").problem
    [outcome] = world.change(SpaceChange(SpaceAct.CREATE, "hall", (1.0, 1.0, 1.0, 1.0)))
    assert "hold no area" in outcome.problem
    assert outcome.space == ""


def test_instances_are_limited():
    world = World()
    create = SpaceChange(SpaceAct.CREATE, "hall", BOUNDS)
    assert world.change(*[create] * INSTANCES_MAX)[-1].problem == ""
    assert "end some of them first" in world.change(create)[0].problem


def test_no_instance_is_made_while_all_cellapps_are_lost():
    world = World()
    for app in (A, B):
        world.lose(app)
    world.lose(C)
    [outcome] = world.change(SpaceChange(SpaceAct.CREATE, "hall", BOUNDS))
    assert "try again later" in outcome.problem


def data(*items: tuple[str, int, int]) -> tuple[SpaceItem, ...]:
    return tuple(SpaceItem(key, version, encode_plain(value)) for key, version, value in items)


def set_data(world: World, name: str, **values: Any) -> SpaceOutcome:
    items = tuple((key, encode_plain(value)) for key, value in values.items())
    [outcome] = world.change(SpaceChange(SpaceAct.SET_DATA, name, data=items))
    return outcome


def test_data_has_versions_and_goes_to_all_members():
    world = World()
    assert set_data(world, "plaza", gate=1, round=1) == SpaceOutcome("plaza")
    assert world.sent == [(app, SpaceData(1, 1, data(("gate", 1, 1), ("round", 1, 1)))) for app in (A, B)]
    set_data(world, "plaza", round=2)
    assert world.sent == [(app, SpaceData(1, 2, data(("gate", 1, 1), ("round", 2, 2)))) for app in (A, B)]
    set_data(world, "plaza", round=2)
    assert world.sent == [], "an equal value is no change"


def test_data_comes_with_the_first_tree_and_again_after_a_lost_link():
    world = World()
    set_data(world, "plaza", gate=1)
    world.mgr.add_cell("plaza", C)
    news = SpaceData(1, 1, data(("gate", 1, 1)))
    assert [(app, message) for app, message in world.tick() if isinstance(message, SpaceData)] == [(C, news)]
    world.lose(A)
    set_data(world, "plaza", gate=2)
    assert A not in [app for app, _ in world.sent]
    world.back(A)
    assert (A, SpaceData(1, 2, data(("gate", 2, 2)))) in world.tick()


def test_instance_has_data_from_the_beginning():
    world = World()
    create = SpaceChange(SpaceAct.CREATE, "hall", BOUNDS, (("gate", encode_plain(1)),))
    world.change(create)
    assert [type(message) for _, message in world.sent] == [SpaceTree, SpaceData]


def test_too_much_data_changes_nothing():
    world = World()
    assert "64 keys" in set_data(world, "plaza", **{f"key-{number}": 0 for number in range(65)}).problem
    assert "8192 bytes" in set_data(world, "plaza", gate="x" * 9000).problem
    assert set_data(world, "plaza", gate="x" * 8000).problem == ""
    assert "8192 bytes" in set_data(world, "plaza", wall="x" * 300).problem


def test_data_of_a_space_that_is_not_there_is_refused():
    world = World()
    name = two_cells(world)
    world.end(name)
    assert "has been ended" in set_data(world, name, gate=1).problem
    assert "does not exist" in set_data(world, "nowhere", gate=1).problem


def test_space_that_has_been_ended_cannot_be_changed():
    world = World()
    name = two_cells(world)
    world.end(name)
    with pytest.raises(UsageError, match="has been ended"):
        world.mgr.add_cell(name)
