"""How much a client is sent: bytes a tick, in the long run; less when the app is behind; and enough aliases."""

from __future__ import annotations

import pytest

from terrazzo._speed.sight import REFRESH
from terrazzo._speed.updates import UpdateRows, Words, decode_updates
from terrazzo.cell.client.aliases import Aliases
from terrazzo.cell.client.budget import CARRY_TICKS, STARVED_TICKS
from terrazzo.cell.client.scheduler import SCALE_S, THROTTLE_MIN
from terrazzo.sync.places import decode_places
from terrazzo.sync.protocol import ALIAS_MAX, split_message
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ToClient
from tests.cell.hearing import overhear
from tests.cell.land import TICK_S, Land, watched_land
from tests.cell.screen import Screen

PLENTY = 1 << 30


class Meter:
    """Bytes for one client, each time that it is served."""

    def __init__(self, land: Land, entity: int) -> None:
        self.reliable: list[int] = []
        self.places: list[int] = []
        self._feed = land[0].scheduler
        self._entity = entity

    def __enter__(self) -> Meter:
        def hear(entity, reliable, places):
            if entity == self._entity:
                self.reliable.append(reliable)
                self.places.append(places)

        self._end = overhear(self._feed, hear)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def total(self) -> int:
        return sum(self.reliable) + sum(self.places)


def crowd(count: int, **more) -> tuple[Land, Screen]:
    land = Land(1, **more)
    screen = land.create(1, 0.0, is_seen=True)
    for entity in range(2, 2 + count):
        land.base.create(land[0].me, entity, (float(entity % 60), 0.0, float(entity % 7)))
    land.step(3)
    land.settle(80)
    return land, screen


def shuffle(land: Land, count: int, tick: int) -> None:
    for entity in range(2, 2 + count):
        land.put(entity, float(entity % 60) + 0.01 * (tick + 1), float(entity % 7))


def test_places_are_sent_when_they_change_and_now_and_then():
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    land.settle()
    land.base.places.clear()
    land.step(REFRESH)
    assert not land.base.places, "the description was reliable, and had the place"
    land.put(2, 11.0)
    land.step(2)
    places = decode_places(split_message(land.base.places[1][-1])[1])
    assert [(each.alias, each.position) for each in places.entries] == [(1, (11.0, 0.0, 0.0))]
    land.base.places.clear()
    land.step(REFRESH)
    assert len(land.base.places[1]) == 1, "that may have been lost"


def test_in_the_long_run_a_client_gets_what_it_is_allowed():
    """Forty entities move all the time, each sent in full: far more than fits."""
    land, screen = crowd(40)
    allowed = 20_000 / 8 * TICK_S
    assert len(screen.seen) == 40
    with Meter(land, 1) as meter:
        for tick in range(60):
            shuffle(land, 40, tick)
            land.step()
    assert meter.total <= allowed * (60 + CARRY_TICKS) + 1024
    assert meter.total >= allowed * 55
    assert max(meter.places[CARRY_TICKS:]) <= 2 * allowed
    moved = {seen.id for seen in screen.view.others.values() if seen.position[0] % 1 > 0.1}
    assert len(moved) == 40, "nobody is forgotten"


def test_bytes_beyond_the_budget_are_owed():
    """A long word to the own client: places wait until it is paid for."""
    land, _ = crowd(10)
    land.do(1, lambda part: part.client.on_said("x" * 20_000))
    with Meter(land, 1) as meter:
        for tick in range(30):
            shuffle(land, 10, tick)
            land.step()
    assert meter.reliable[0] > 20_000
    assert sum(meter.places[: CARRY_TICKS - 1]) == 0
    assert sum(meter.places[CARRY_TICKS + STARVED_TICKS :]) > 5 * 80, "but not for ever"


def test_news_of_others_go_on_whatever_is_owed():
    """The own entity's mail takes more than the budget in every tick."""
    land, screen = crowd(3)
    for _ in range(4 * STARVED_TICKS):
        land.do(1, lambda part: part.client.on_said("x" * 1000))
        land.act(2, "step")
        land.step()
    assert screen.count("on_stepped", 2) >= STARVED_TICKS
    land.settle(60)
    assert screen.count("on_stepped", 2) == 4 * STARVED_TICKS


def test_messages_that_do_not_fit_are_sent_later_and_in_order():
    land, screen = crowd(40)
    for _ in range(10):
        for entity in range(2, 42):
            land.act(entity, "step")
        land.step()
    assert sum(screen.count("on_stepped", entity) for entity in range(2, 42)) < 400
    land.settle(80)
    assert sum(screen.count("on_stepped", entity) for entity in range(2, 42)) == 400


def test_messages_from_the_history_keep_to_the_budget():
    """Two steps of each since the last look, and long ones: one entity may go beyond, not all."""
    land, screen = crowd(20)
    for entity in range(2, 22):
        real = land[0].reals[entity]
        for letter in "ab":
            land.do(entity, lambda part, letter=letter: setattr(part, "name", letter * 200))
            land[0].core.close_step(real)
    land.witness(1).sent.budget.deficit = 0.0
    with Meter(land, 1) as meter:
        land.step()
        assert 0 < max(meter.reliable) < 1000
        land.step(100)
    assert all(state["name"] == "b" * 200 for state in screen.seen.values())
    assert sum(screen.count("name", entity) for entity in range(2, 22)) == 40


def test_places_and_what_is_looked_up_keep_to_the_budget_together():
    land, _ = crowd(150)
    for entity in range(2, 77):
        for letter in "ab":
            land.do(entity, lambda part, letter=letter: setattr(part, "name", letter * 50))
            land[0].core.close_step(land[0].reals[entity])
    shuffle(land, 150, 0)
    sent = land.witness(1).sent
    sent.budget.deficit, sent.budget.served_at = 0.0, land.host.now - TICK_S
    sent.budget.grant(land.host.now, TICK_S, 1000.0)
    words, rows = Words(PLENTY), UpdateRows()
    sent.update(land.host.now, land[0].core.tick, 500.0, words, rows)
    rows.end(1, 1, 0, 0, PLENTY)
    (told,) = map(REGISTRY.decode_nested, words.take(1))
    assert isinstance(told, ToClient)
    reliable = sum(map(len, told.messages))
    loose = sum(sum(map(len, update[2])) for part in rows.take(PLENTY, PLENTY) for update in decode_updates(part))
    assert reliable > 400
    assert loose > 400
    assert reliable + loose < 1000 + 150, "one entity may go beyond"


def test_new_client_gets_much_at_once_and_the_rest_soon():
    land = Land(1)
    land.create(1, 0.0)
    for entity in range(2, 62):
        land.base.create(land[0].me, entity, (float(entity), 0.0, 0.0))
    land.step(3)
    screen = land.base.attach(1)
    land.step(6)
    assert len(screen.seen) >= 20
    land.settle(30)
    assert len(screen.seen) == 60


def test_aliases_beyond_one_byte():
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.step(2)
    land.witness(1).sent.aliases = Aliases(range(1, 250))  # as if so many others were there
    for entity in range(2, 12):
        land.base.create(land[0].me, entity, (float(entity), 0.0, 0.0))
    land.settle()
    assert len(screen.seen) == 10
    aliases = {seen.alias: seen.entity for seen in land.witness(1).pack().seen}
    assert sorted(aliases) == list(range(250, 260))
    for alias in (254, 255, 259):
        far = aliases[alias]
        land.act(far, "step")
        land.put(far, 40.0, 1.0)
        land.settle()
        assert screen.count("on_stepped", far) == 1
        assert screen.view.others[far].position == (40.0, 0.0, 1.0)
        land.put(far, 300.0)
        land.settle()
        assert far not in screen.seen


def test_announcement_waits_for_a_free_alias():
    land, screen = watched_land(10.0)
    story = land.witness(1).sent
    story.aliases = Aliases([ALIAS_MAX, 1])
    story.aliases._free.clear()
    land.create(3, 11.0)
    land.step(5)
    assert set(screen.seen) == {2}
    assert land[0].counts[LogEvent.NO_ALIAS] > 0
    land.put(2, 300.0)
    land.settle()
    assert set(screen.seen) == {3}


def test_cell_app_that_is_late_lowers_its_throttle_and_recovers():
    land = Land(1)
    land.step(20)
    feed = land[0].scheduler
    assert feed.throttle == 1.0
    seen = []
    for _ in range(10):
        land.host.now += 0.15
        land[0].on_tick()
        seen.append(feed.throttle)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == pytest.approx(THROTTLE_MIN)
    for _ in range(int(SCALE_S / TICK_S) + 1):
        land.step()
    assert feed.throttle == 1.0


def test_one_long_pause_starves_no_client():
    land = Land(1)
    land.step(5)
    land.host.now += 60.0
    land[0].on_tick()
    assert 0.9 < land[0].scheduler.throttle < 1.0
    land.step()
    assert land[0].scheduler.throttle == 1.0


def test_throttled_cell_app_sends_its_clients_less():
    land, _ = crowd(40)
    totals = []
    for throttle in (1.0, THROTTLE_MIN):
        land[0].scheduler.throttle = throttle
        vars(land[0].scheduler)["_set_throttle"] = lambda aim: None
        land.step(CARRY_TICKS)
        with Meter(land, 1) as meter:
            for tick in range(40):
                shuffle(land, 40, tick)
                land.step()
        totals.append(meter.total)
    assert totals[1] < totals[0] / 5
