"""Searches: BaseAppMgr asks all BaseApps, and concludes nothing from a missing answer; the locator reports to the
switchboard.
"""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.locator import Locator
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.searches import ANSWER_S
from terrazzo.wire.common import RequestRefused
from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.basemgr_base import BaseAppReady, Home, Locate, Located, ProxyCreated
from terrazzo.wire.pairs.console_any import View, WantView
from tests.fake_host import FakeHost
from tests.managers.bench import BASE_APP_MGR, Answered, Asked, Bench, baseapp, cellapp, opened

BASES = [baseapp(index) for index in range(3)]
HERE = Located(Home(0, BASES[1]), Home(7, cellapp(4)))
NOT_HERE = Located()
UNSETTLED = Located(Home(0, BASES[1]), is_unsettled=True)


class Mgr(Bench):
    """A BaseAppMgr with three BaseApps."""

    def __init__(self) -> None:
        host = FakeHost()
        super().__init__(BaseAppMgr(BASE_APP_MGR, host), host)
        for base in BASES:
            self.join(base)
        self.tick()

    def join(self, base: AppId) -> None:
        self.hear(base, BaseAppReady("host", 1, 2))

    def search(self, *askers: AppId) -> dict[AppId, int]:
        """An app asks; returns the BaseApps that the manager asks, with the numbers."""
        for asker in askers:
            self.ask(asker, Locate(5))
        asked = [(peer, opened(message)) for peer, message in self.tick()]
        assert all(each.message == Locate(5) for _, each in asked if isinstance(each, Asked))
        return {peer: each.number for peer, each in asked if isinstance(each, Asked)}

    def told(self, seconds: float = 0.1) -> dict[AppId, Message | str]:
        said = [(peer, opened(message)) for peer, message in self.tick(seconds)]
        return {
            peer: each.reason if isinstance(each, RequestRefused) else each.message
            for peer, each in said
            if isinstance(each, RequestRefused | Answered)
        }


def test_search_ends_with_the_first_positive_answer():
    mgr = Mgr()
    asked = mgr.search(cellapp(1))
    assert list(asked) == BASES
    mgr.answer(BASES[0], asked[BASES[0]], NOT_HERE)
    assert mgr.told() == {}
    mgr.answer(BASES[1], asked[BASES[1]], HERE)
    assert mgr.told() == {cellapp(1): HERE}
    mgr.answer(BASES[2], asked[BASES[2]], NOT_HERE)
    assert mgr.told() == {}


def test_entity_is_gone_only_when_every_baseapp_has_denied():
    for order in permutations(BASES):
        mgr = Mgr()
        asked = mgr.search(cellapp(1))
        for base in order[:-1]:
            mgr.answer(base, asked[base], NOT_HERE)
        assert mgr.told() == {}
        mgr.answer(order[-1], asked[order[-1]], NOT_HERE)
        assert mgr.told() == {cellapp(1): NOT_HERE}


@pytest.mark.parametrize("old", [NOT_HERE, Located(Home(0, BASES[1]))], ids=["no entity", "no cell part"])
def test_an_answer_that_may_be_older_than_the_question_is_not_given_to_it(old):
    mgr = Mgr()
    asked = mgr.search(cellapp(1))
    assert mgr.search(cellapp(2), cellapp(3)) == {}  # it has been made since, perhaps
    for base in BASES:
        mgr.answer(base, asked[base], old)
    said = [(peer, opened(message)) for peer, message in mgr.tick()]
    assert [(peer, each.message) for peer, each in said if isinstance(each, Answered)] == [(cellapp(1), old)]
    again = {peer: each.number for peer, each in said if isinstance(each, Asked)}
    assert list(again) == BASES
    mgr.answer(BASES[1], again[BASES[1]], old)
    if old is NOT_HERE:
        mgr.answer(BASES[0], again[BASES[0]], old)
        mgr.answer(BASES[2], again[BASES[2]], old)
    assert mgr.told() == {cellapp(2): old, cellapp(3): old}


@pytest.mark.parametrize("answer", [HERE, UNSETTLED], ids=["here", "unsettled"])
def test_an_answer_that_names_a_cell_part_or_calls_it_unsettled_is_for_all(answer):
    mgr = Mgr()
    asked = mgr.search(cellapp(1))
    assert mgr.search(cellapp(2)) == {}
    mgr.answer(BASES[1], asked[BASES[1]], answer)
    assert mgr.told() == {cellapp(1): answer, cellapp(2): answer}


def test_search_ends_for_all_with_the_answer_that_the_entity_has_ended():
    mgr = Mgr()
    asked = mgr.search(cellapp(1))
    assert mgr.search(cellapp(2)) == {}
    mgr.answer(BASES[0], asked[BASES[0]], Located(is_unsettled=True))
    ended = Located(has_ended=True)
    mgr.answer(BASES[1], asked[BASES[1]], ended)
    assert mgr.told() == {cellapp(1): ended, cellapp(2): ended}


def test_silence_a_refusal_a_loss_or_nonsense_conclude_nothing():
    mgr = Mgr()
    asked = mgr.search(cellapp(1))
    mgr.answer(BASES[0], asked[BASES[0]], NOT_HERE)
    mgr.answer(BASES[1], asked[BASES[1]], NOT_HERE)
    [reason] = mgr.told(ANSWER_S + 0.1).values()
    assert reason == "base_app-2.1 does not say: timeout"
    asked = mgr.search(cellapp(1))
    for base in BASES[:2]:
        mgr.answer(base, asked[base], NOT_HERE)
    mgr.refuse(BASES[2], asked[BASES[2]], "its cell part is being made")
    [reason] = mgr.told().values()
    assert reason == "base_app-2.1 does not say: its cell part is being made"
    asked = mgr.search(cellapp(1))
    for base in BASES[:2]:
        mgr.answer(base, asked[base], NOT_HERE)
    mgr.answer(BASES[2], asked[BASES[2]], ProxyCreated(1, b""))
    [reason] = mgr.told().values()
    assert reason == "base_app-2.1 does not say: its answer is ProxyCreated"
    asked = mgr.search(cellapp(1))
    for base in BASES[:2]:
        mgr.answer(base, asked[base], NOT_HERE)
    mgr.lose(BASES[2])
    [reason] = mgr.told().values()
    assert reason == "base_app-2.1 does not say: link lost"


def test_no_entity_is_gone_while_a_baseapp_is_missing():
    mgr = Mgr()
    mgr.lose(BASES[2])
    asked = mgr.search(cellapp(1))
    assert list(asked) == BASES[:2]
    for base in BASES[:2]:
        mgr.answer(base, asked[base], NOT_HERE)
    assert mgr.told() == {cellapp(1): "the link with base_app-2.1 is lost"}
    asked = mgr.search(cellapp(1))
    mgr.answer(BASES[1], asked[BASES[1]], HERE)
    assert mgr.told() == {cellapp(1): HERE}, "but who is there is found"


@pytest.mark.parametrize("returning", [baseapp(2), baseapp(2, incarnation=2)], ids=str)
def test_entities_are_gone_when_the_missing_baseapp_or_its_successor_is_back(returning):
    mgr = Mgr()
    mgr.lose(BASES[2])
    mgr.join(returning)
    asked = mgr.search(cellapp(1))
    for base in (*BASES[:2], returning):
        mgr.answer(base, asked[base], NOT_HERE)
    assert mgr.told() == {cellapp(1): NOT_HERE}


def test_one_search_answers_all_requests_for_an_entity():
    mgr = Mgr()
    asked = mgr.search(cellapp(1), cellapp(2), BASES[0])
    assert list(asked) == BASES
    mgr.answer(BASES[1], asked[BASES[1]], HERE)
    assert mgr.told() == dict.fromkeys((cellapp(1), cellapp(2), BASES[0]), HERE)


def test_without_a_baseapp_nothing_is_concluded():
    host = FakeHost()
    mgr = Bench(BaseAppMgr(BASE_APP_MGR, host), host)
    mgr.ask(cellapp(1), Locate(5))
    [(_, told)] = mgr.tick()
    assert isinstance(told, RequestRefused)
    assert told.reason == "no BaseApp is there"


# The locator.


class Board:
    """What the locator needs of a switchboard."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def learn(self, part: PartId, version: int, app: AppId) -> None:
        self.heard.append(("lives", part, version, app))

    def gone(self, part: PartId, reason: str, asked_at: float) -> None:
        self.heard.append(("gone", part, reason, asked_at))

    def unsettled(self, part: PartId) -> None:
        self.heard.append(("unsettled", part))


class Seeker(Bench):
    def __init__(self) -> None:
        self.board = Board()
        app = ClusterApp(cellapp(1), FakeHost())
        super().__init__(app, app.host)  # type: ignore[arg-type]
        self.locator = Locator(app, self.board)  # type: ignore[arg-type]
        self.locator.on_link_up(baseapp(1))
        assert self.locator.manager is None
        self.locator.on_link_up(BASE_APP_MGR)

    def asked(self) -> list[int]:
        said = [opened(message) for peer, message in self.tick()]
        assert all(isinstance(each, Asked) and each.message == Locate(5) for each in said)
        return [each.number for each in said if isinstance(each, Asked)]


BASE, CELL = (PartId(EntityId(5), part) for part in Part)


def test_both_parts_are_found_with_one_question():
    seeker = Seeker()
    for part in (CELL, BASE, CELL):
        seeker.locator.find(part)
    [number] = seeker.asked()
    seeker.answer(BASE_APP_MGR, number, HERE)
    assert seeker.board.heard == [("lives", BASE, 0, BASES[1]), ("lives", CELL, 7, cellapp(4))]
    seeker.locator.find(CELL)
    assert len(seeker.asked()) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(NOT_HERE, "there is no such entity (any more)"), (Located(Home(0, BASES[1])), "it has no cell part")],
)
def test_gone_is_passed_on_with_its_reason(answer, reason):
    seeker = Seeker()
    asked_at = seeker.host.now
    seeker.locator.find(CELL)
    [number] = seeker.asked()
    seeker.host.now += 1.0
    seeker.answer(BASE_APP_MGR, number, answer)
    assert seeker.board.heard == [("gone", CELL, reason, asked_at)]


def test_unsettled_cell_part_does_not_hide_its_base():
    seeker = Seeker()
    for part in (CELL, BASE):
        seeker.locator.find(part)
    [number] = seeker.asked()
    seeker.answer(BASE_APP_MGR, number, UNSETTLED)
    assert seeker.board.heard == [("lives", BASE, 0, BASES[1]), ("unsettled", CELL)]


def test_failed_search_concludes_nothing_and_can_be_repeated():
    seeker = Seeker()
    seeker.locator.find(CELL)
    [number] = seeker.asked()
    seeker.refuse(BASE_APP_MGR, number, "the link with base_app-2.1 is lost")
    seeker.locator.find(CELL)
    [number] = seeker.asked()
    seeker.answer(BASE_APP_MGR, number, ProxyCreated(1, b""))
    assert seeker.board.heard == [("unsettled", CELL)]
    seeker.locator.find(CELL)
    assert len(seeker.asked()) == 1


def test_an_answer_is_waited_for_through_two_searches_and_not_for_ever():
    seeker = Seeker()
    seeker.locator.find(CELL)
    [number] = seeker.asked()
    seeker.tick(2 * ANSWER_S)
    assert seeker.board.heard == []
    seeker.answer(BASE_APP_MGR, number, HERE)
    assert seeker.board.heard == [("lives", CELL, 7, cellapp(4))]
    seeker.locator.find(CELL)
    seeker.tick(3 * ANSWER_S)
    seeker.tick(0.1)
    assert seeker.board.heard[1:] == [("unsettled", CELL)], "so whoever waits asks again soon"
    seeker.locator.find(CELL)
    assert len(seeker.asked()) == 1


def test_without_the_manager_nothing_is_asked_until_it_is_there():
    seeker = Seeker()
    seeker.lose(BASE_APP_MGR)
    seeker.locator.on_link_lost(BASE_APP_MGR)
    seeker.locator.find(CELL)
    assert seeker.asked() == []
    seeker.locator.join()
    assert seeker.host.joined == [BASE_APP_MGR._replace(incarnation=0)]
    seeker.locator.on_link_up(BASE_APP_MGR)
    seeker.locator.join()
    assert len(seeker.host.joined) == 1
    seeker.locator.find(CELL)
    assert len(seeker.asked()) == 1


def test_view_has_the_counts():
    mgr = Mgr()
    mgr.hear(BASES[0], Astray(PartId(EntityId(1), Part.BASE), 0))
    mgr.answer(BASES[0], 99, NOT_HERE)
    mgr.ask(cellapp(1), WantView())
    [answer] = mgr.told().values()
    assert isinstance(answer, View)
    assert json.loads(answer.json)["counted"] == {"refused": 1, "late replies": 1}
