"""Story 22: enter and leave in one tick, before the client has answered; aliases rest until they are released."""

from __future__ import annotations

import pytest

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo.cell.client.sent import WANT_S
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import ClientWants
from terrazzo.wire.pairs.cell_cell import PackedSeen
from tests.cell.arrivals import arrive
from tests.cell.land import TICK_S, Land, watched_land


def test_race_22_enter_and_leave_in_one_tick():
    land, screen = watched_land(200.0)
    land.put(2, 10.0)
    land.put(2, 200.0)
    land.settle()
    assert screen.events == [("player",)]
    assert land.witness(1).pack().resting == (), "it was not even announced"


@pytest.mark.parametrize("ticks", range(5))
def test_race_22_leave_and_enter_again_before_the_client_has_answered(ticks):
    land, screen = watched_land(200.0)
    land.put(2, 10.0)
    land.step(ticks)
    land.act(2, "step")
    land.put(2, 200.0)
    land.step()
    land.put(2, 10.0)
    land.step()
    land.act(2, "step")
    land.settle()
    assert 2 in screen.seen
    assert screen.count("enter", 2) == screen.count("leave", 2) + 1


def test_race_22_an_alias_rests_until_the_client_has_released_it():
    land, screen = watched_land(10.0)
    land.create(3, 210.0)
    land.blocked.add((land.base.me, land[0].me))  # what the client answers does not arrive
    land.put(2, 200.0)
    land.step(2)
    land.put(3, 10.0)
    land.step(3)
    packed = land.witness(1).pack()
    assert packed.resting == (1,)
    assert [(seen.entity, seen.alias) for seen in packed.seen] == [(3, 2)]
    land.settle()
    assert set(screen.seen) == {3}
    land.put(2, 11.0)
    land.settle()
    packed = land.witness(1).pack()
    assert packed.resting == ()
    assert sorted((seen.entity, seen.alias) for seen in packed.seen) == [(2, 1), (3, 2)]


def test_race_22_aliases_rest_also_in_the_next_cell():
    land = Land()
    land.create(1, -5.0, is_seen=True)
    land.create(2, -20.0)
    land.create(3, 30.0)
    land.settle()
    before = {seen.entity: seen.alias for seen in land.witness(1).pack().seen}
    land.blocked.add((land.base.me, land[0].me))
    land.blocked.add((land.base.me, land[1].me))
    land.put(2, -300.0)
    land.step(2)
    land.put(1, 5.0)
    land.step(12)
    assert land.home(1) == 1
    packed = land.witness(1).pack()
    assert packed.resting == (before[2],)
    assert [(seen.entity, seen.alias) for seen in packed.seen] == [(3, before[3])]
    land.settle()


def test_race_22_wants_for_a_former_client_or_of_what_is_gone_mean_nothing():
    land, screen = watched_land(10.0)
    witness = land.witness(1)
    witness.on_wants(ClientWants(0, ((2, 0),), (1,)))
    assert land[0].counts.get(LogEvent.ALIAS_RELEASED_WRONGLY) is None
    witness.on_wants(ClientWants(1, ((2, 0), (77, 0), (1, 0)), (1, 9)))
    assert land[0].counts[LogEvent.ALIAS_RELEASED_WRONGLY] == 2
    land.settle()
    assert screen.events == [("player",), ("enter", 2)]


def test_race_22_after_a_jump_to_another_space_all_aliases_rest():
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    land.create(3, 20.0)
    land.settle()
    before = {seen.entity: seen.alias for seen in land.witness(1).pack().seen}
    land.blocked.add((land.base.me, land[0].me))
    arrive(land, jump_from=99)
    land.step(4)
    packed = land.witness(1).pack()
    assert set(packed.resting) == set(before.values())
    assert {seen.alias for seen in packed.seen} == {3, 4}
    land.settle()
    assert sorted(screen.events[-2:]) == [("enter", 2), ("enter", 3)]
    assert land.witness(1).pack().resting == ()


def test_race_22_entity_missing_after_a_jump_is_not_waited_for():
    land, screen = watched_land(10.0)
    absent = PackedSeen(77, 0, 5, EntryFlag.IN_AREA)
    arrive(land, change=lambda packed: packed._replace(seen=(absent, *packed.seen)), jump_from=1)
    land.step(2)
    assert land.witness(1).entities() == [2]
    land.settle()
    assert screen.events == [("player",), ("enter", 2), ("moved", (0.0, 0.0, 0.0))]


def test_entity_that_the_client_never_wanted_is_described_after_a_while():
    """Its answer may be lost with a body or a link; no entity stays announced for ever."""
    land = Land(1)
    tell = land.base.tell
    vars(land.base)["tell"] = lambda entity, message: isinstance(message, ClientWants) or tell(entity, message)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    land.step(int(WANT_S / TICK_S) - 2)
    assert ("enter", 2) not in screen.events
    land.settle()
    assert screen.events.count(("enter", 2)) == 1
    assert land[0].counts[LogEvent.DESCRIBED_UNASKED] == 1
