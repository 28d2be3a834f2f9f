"""What is scheduled and over before its time does not pile up: requests, alarms, timeouts of awaited calls."""

from __future__ import annotations

from terrazzo.base.alarms import Alarms
from terrazzo.sync.gamecode import Confinement
from terrazzo.wire.common import Reply
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.pairs.base_db import Ids, WantIds
from terrazzo.wire.reports import Reports
from terrazzo.wire.requests import Requests
from terrazzo.wire.schedule import OLD_MAX, Schedule
from tests.wire.entity.entity_harness import FakeHost, Town, X, Y

PEER = AppId(AppKind.DB_APP, 0, 1)


def test_items_come_once_in_the_order_of_their_times_and_of_one_time_in_the_order_in_which_they_were_added():
    over: set[str] = set()
    schedule: Schedule[str] = Schedule(over.__contains__)
    for at, item in ((2.0, "b"), (1.0, "a"), (2.0, "c"), (2.0, "d")):
        schedule.add(at, item)
    over.add("c")
    assert schedule.take(0.5) == []
    assert schedule.take(2.0) == ["a", "b", "d"]
    assert schedule.take(9.0) == []


def test_items_that_matter_are_looked_at_a_few_times_however_many_there_are():
    looks: list[int] = []

    def is_over(item: int) -> bool:
        looks.append(item)
        return False

    schedule = Schedule(is_over)
    for item in range(3000):
        schedule.add(60.0, item)
    assert len(looks) <= 2 * 3000


def test_answered_requests_leave_the_schedule():
    host = FakeHost()
    requests = Requests(host, Outbox())
    answers: list[Message] = []
    for number in range(1, 3001):
        requests.ask(PEER, WantIds(1), timeout_s=60.0, then=answers.append, failed=lambda *_: None)
        requests.receive(PEER, Reply(number, REGISTRY.encode(Ids(1, 1))))
    assert len(answers) == 3000
    assert len(requests) == 0
    assert len(requests._deadlines) <= OLD_MAX


def test_cancelled_alarms_leave_the_schedule():
    host = FakeHost()
    alarms, rung = Alarms(host, Confinement(Reports(host))), []
    alarms.after(60.0, lambda: rung.append(1))
    for _ in range(3000):
        alarms.after(60.0, lambda: rung.append(2)).cancel()
    assert len(alarms._schedule) <= OLD_MAX + 2
    host.now += 60.0
    alarms.on_tick()
    assert rung == [1]


def test_schedule_of_a_pair_that_calls_in_every_tick_for_minutes_does_not_grow():
    town = Town("AB")
    town["A"].create(X)
    town["B"].create(Y)
    town.introduce(X, "A")
    town.introduce(Y, "B")
    most = 0
    for _ in range(2000):
        town["A"].send(X, Y, b"call")
        town.settle(0.1, 0.1)
        town.take(Y)
        most = max(most, *(len(town[letter].schedule.timers) for letter in "AB"))
    assert most <= 2
    town.settle(700.0, 1.0)
    assert not town["A"].boxes[X].channels
    assert not town["B"].boxes[Y].channels
    assert not any(town[letter].schedule.timers for letter in "AB")
