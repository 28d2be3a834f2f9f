"""Doubts: how many questions are under way at a time, and that each question that ends makes room for the next one."""

from __future__ import annotations

import pytest

from terrazzo.db.doubts import AGAIN_S, ANSWER_S, ASKED_MAX, Doubts
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.pairs.basemgr_base import Locate, Located
from terrazzo.wire.requests import Requests
from tests.fake_host import FakeHost

MANAGER = AppId(AppKind.BASE_APP_MGR, 0, 1)


class Desk:
    """Doubts, and the BaseAppMgr that is asked."""

    def __init__(self, count: int) -> None:
        self.host, self.outbox = FakeHost(), Outbox()
        self.requests = Requests(self.host, self.outbox)
        self.cleared: list[tuple[int, int]] = []
        self.doubts = Doubts(self.host, self.requests, lambda *record: self.cleared.append(record), self.on_found)
        for entity in range(1, count + 1):
            self.doubts.add(1000 + entity, entity)

    def on_found(self, dbid: int, entity: int, base_app: AppId) -> None:
        raise AssertionError("no BaseApp has any of these proxies")

    def tick(self, seconds: float = 0.1) -> dict[int, int]:
        """Gives the questions of this tick: entity → number."""
        self.host.now += seconds
        self.requests.on_tick()
        self.doubts.on_tick(MANAGER)
        asked = {}
        for _, bundles in self.outbox.drain():
            for request in (item for bundle in bundles for item in REGISTRY.decode_bundle(bundle)):
                assert isinstance(request, Request)
                locate = REGISTRY.decode_nested(request.item)
                assert isinstance(locate, Locate)
                asked[locate.entity] = request.number
        return asked


def end_questions(desk: Desk, asked: dict[int, int], ending: str) -> None:
    for number in asked.values():
        if ending == "refused":
            desk.requests.receive(MANAGER, RequestRefused(number, "it is being placed"))
        elif ending == "answered":
            desk.requests.receive(MANAGER, Reply(number, REGISTRY.encode(Located())))
    if ending == "link lost":
        desk.requests.on_link_lost(MANAGER)
    elif ending == "timeout":
        desk.host.now += ANSWER_S


@pytest.mark.parametrize("ending", ["answered", "refused", "link lost", "timeout"])
def test_ended_questions_make_room_for_the_other_doubts(ending):
    desk = Desk(2 * ASKED_MAX)
    first = desk.tick()
    assert len(first) == ASKED_MAX, "so many questions are under way at a time"
    assert desk.tick() == {}
    end_questions(desk, first, ending)
    second = desk.tick()
    assert len(second) == ASKED_MAX
    assert not set(first) & set(second)


def test_doubt_is_asked_again_until_it_is_answered():
    desk = Desk(1)
    for _ in range(2 * ASKED_MAX):
        asked = desk.tick(AGAIN_S)
        assert set(asked) == {1}
        end_questions(desk, asked, "refused")
    asked = desk.tick(AGAIN_S)
    end_questions(desk, asked, "answered")
    assert desk.cleared == [(1001, 1)]
    assert len(desk.doubts) == 0


def test_answer_about_a_settled_doubt_changes_nothing():
    desk = Desk(1)
    asked = desk.tick()
    desk.doubts.forget(1)
    desk.doubts.add(1001, 1, after_s=60.0)
    end_questions(desk, asked, "answered")
    assert desk.cleared == []
    assert len(desk.doubts) == 1
