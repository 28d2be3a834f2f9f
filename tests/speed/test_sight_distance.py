"""The places that a client gets: how exact at which distance, how often, within which budget."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo._speed import COMPILED
from terrazzo._speed.entry_flags import EntryFlag
from terrazzo._speed.sight import OUTERMOST, REFRESH
from tests.speed.sight_world import HERE, NORTH, World, headline

# Distance.

LEVELS = ((20.0, 5.0), (50.0, 10.0))


def at(metres):
    """So far east of the witness, at its height."""
    return HERE[0] + metres, HERE[1], HERE[2]


def test_levels_with_hysteresis(world):
    slot = world.add(2, at(70), levels=LEVELS)
    found = []
    for metres in (70, 55, 49, 24, 19, 24, 26, 21, 55, 61, 55, 10, 90):
        world.area.put(slot, at(metres), NORTH)
        _, level, distance = world.sight.levels(2)
        assert distance == pytest.approx(metres, abs=1e-4)
        world.sight.set_level(2, level)
        found.append(level)
    assert found == [2, 2, 1, 1, 0, 0, 1, 1, 1, 2, 2, 0, 2]


def test_a_type_without_levels_has_one(world):
    world.add(2, at(70))
    assert world.sight.levels(2)[:2] == (OUTERMOST, 0)
    assert world.serve()[0] == []


def test_entry_in_another_level_is_news_until_the_level_is_set(world):
    slot = world.add(2, at(70), levels=LEVELS, level=2)
    assert world.serve()[0] == []
    world.area.put(slot, at(30), NORTH)
    assert world.serve(0)[0] == []
    assert world.serve()[0] == [2]
    assert world.serve()[0] == [2]
    world.sight.set_level(2, 1)
    assert world.serve()[0] == []


def test_a_copy_that_is_behind_changes_no_level(world):
    slot = world.add(2, at(30), levels=LEVELS, level=2, sent=7)
    world.area.set_number(slot, 6)
    assert world.serve()[0] == []


def test_entry_between_levels_gets_no_headline(world):
    slot = headline(world, 2, levels=LEVELS, level=2)
    assert world.serve()[0] == [2]
    assert world.told == []
    world.sight.set_level(2, world.sight.levels(2)[1])
    assert world.serve()[0] == []
    assert len(world.told) == 2
    assert world.sight.get(2)[2] == world.area.number(slot)


def test_levels_of_one_without_a_body(world):
    slot = world.add(2, at(10), levels=LEVELS, level=2)
    world.sight.bind(2, -1)
    assert world.sight.levels(2) == (2, 2, 0.0)
    world.sight.bind(2, slot)
    world.sight.add(3, slot, 3, 0, EntryFlag.DESCRIBED, 2)
    assert world.sight.levels(3) == (2, 2, 0.0), "that is somebody else's slot by now"


@pytest.mark.parametrize(
    ("manner", "kinds"),
    [
        ((OUTERMOST, inf, True, False), "told"),
        ((OUTERMOST, inf, False, True), "loose"),
        ((1, inf, True, False), "told"),
        ((0, inf, True, False), ""),
        ((OUTERMOST, 29.0, True, False), ""),
        ((OUTERMOST, 31.0, False, False), "loose"),
    ],
)
def test_headline_is_sent_in_its_manner(world, manner, kinds):
    slot = world.add(2, at(30), levels=LEVELS, level=1, flags=0)
    world.sight.set_flags(2, EntryFlag.DESCRIBED)
    world.area.set_number(slot, 8)
    world.area.set_news(slot, 8)
    world.headlines.set(slot, 2, 5 - 5, 8, [(160, b"abc")], [manner])
    world.tick += 1
    news, told, loose, used = world.speak()
    message = b"\xa0\x02abc"
    assert (news, told, loose) == ([], [message] * (kinds == "told"), [message] * (kinds == "loose"))
    assert used == len(message) * bool(kinds)
    assert world.sight.get(2)[2] == 8, "who does not hear it lacks nothing"


def test_place_beyond_its_reach_is_sent_once_more_and_once_again(world):
    slot = world.add(2, at(40), reach=50.0)
    assert len(world.serve()[1]) == 1
    told = []
    for tick in range(3 * REFRESH):
        world.area.put(slot, at(60 + tick / 10), NORTH)
        told += [(tick, entry.position[0]) for entry in world.serve()[1]]
    assert [tick for tick, _ in told] == [0, REFRESH]
    world.area.put(slot, at(45), NORTH)
    assert len(world.serve()[1]) == 1


def test_entity_described_beyond_its_reach_gets_no_places(world):
    slot = world.add(2, at(60), reach=50.0, flags=0)
    world.sight.set_flags(2, EntryFlag.DESCRIBED)
    for tick in range(2 * REFRESH):
        world.area.put(slot, at(60 + tick / 10), NORTH)
        assert world.serve()[1] == []
    world.sight.bind(2, slot)
    assert world.serve()[1] == [], "nor when its body came again"
    world.area.put(slot, at(49), NORTH)
    assert len(world.serve()[1]) == 1


def test_angles_as_far_as_each_reaches(world):
    slot = world.add(2, at(60), (1.0, 1.0, 1.0), angles=(50.0, 30.0, 10.0))
    counts = []
    for metres in (60, 45, 25, 5, 25, 60, 5):
        world.area.put(slot, at(metres), (1.0, 1.0, 1.0))
        counts += [len(entry.angles) for entry in world.serve()[1]]
    assert counts == [0, 1, 2, 3, 2, 0, 3]


def test_angle_is_sent_when_the_witness_comes_near_enough(world):
    world.add(2, at(60), (1.0, 0.0, 0.0), angles=(50.0, None, None))
    assert [len(entry.angles) for entry in world.serve()[1]] == [0]
    world.area.put(world.own, at(20), NORTH)
    assert [len(entry.angles) for entry in world.serve()[1]] == [1]
    assert world.serve()[1] == []


def test_position_that_is_not_volatile_is_never_sent(world):
    slot = world.add(2, at(10), reach=None, angles=3)
    for tick in range(2 * REFRESH):
        world.area.put(slot, at(10 + tick), NORTH)
        assert world.serve()[1] == []


def test_there_are_only_so_many_levels(world):
    with pytest.raises(ValueError, match="4 levels"):
        world.form.Ranges(inf, levels=[(1.0, 1.0)] * 4)


def test_the_table(world):
    slot = world.add(7, (12.0, 1.5, 0.0), alias=3, sent=4)
    assert world.sight.get(7) == (slot, 3, 4, EntryFlag.DESCRIBED)
    world.sight.set_flags(7, EntryFlag.DESCRIBED | 1 << 20)
    assert world.sight.get(7) == (slot, 3, 4, EntryFlag.DESCRIBED | 1 << 20)
    world.add(5, (12.0, 1.5, 0.0))
    assert world.sight.entities() == [5, 7]
    assert len(world.sight) == 2
    world.sight.remove(7)
    assert world.sight.get(7) is None
    assert world.sight.entities() == [5]
    with pytest.raises(KeyError):
        world.sight.remove(7)
    with pytest.raises(KeyError):
        world.sight.bind(7, slot)
    with pytest.raises(KeyError):
        world.sight.set_sent(7, 1)


# How often: the budget.


def crowd(world):
    """61 entities on a line, one each metre and a third, all of which move each tick."""
    slots = {entity: world.add(entity, (HERE[0] + (entity - 1) * 1.3, 1.5, HERE[2])) for entity in range(2, 63)}
    counts = dict.fromkeys(slots, 0)
    return slots, counts


def run(world, slots, counts, budget, ticks):
    used = 0
    for tick in range(ticks):
        for entity, slot in slots.items():
            world.area.put(slot, (HERE[0] + (entity - 1) * 1.3, 1.5, HERE[2] + tick % 2), NORTH)
        _, told, messages = world.serve(budget)
        used += sum(map(len, messages))
        for entry in told:
            counts[entry.alias] += 1
    return used


def test_near_entities_are_sent_more_often_and_none_is_left_out(world):
    slots, counts = crowd(world)
    used = run(world, slots, counts, 100, 200)
    assert used / 200 < 105
    assert counts[2] >= 195
    assert counts[2] > 3 * counts[62]
    assert min(counts.values()) >= 200 // 20
    assert all(counts[entity] >= counts[entity + 10] for entity in range(2, 53))


def test_all_entities_are_sent_each_tick_with_enough_budget(world):
    slots, counts = crowd(world)
    run(world, slots, counts, 400, 10)
    assert set(counts.values()) == {10}


def test_a_budget_is_overdrawn_by_less_than_an_entry(world):
    crowd(world)
    for budget in (0.5, 1, 13, 19, 20, 100):
        world.tick = 1
        assert budget <= world.speak(budget)[3] < budget + 12 + 2 + 27
    assert world.speak(0) == ([], [], [], 0)


def test_entity_that_stood_still_is_sent_when_it_moves(world):
    slots, counts = crowd(world)
    slots.pop(62)
    world.sight.set_flags(62, 0)
    world.sight.set_flags(62, EntryFlag.DESCRIBED)
    run(world, slots, counts, 60, 50)
    world.area.put(world.area.find(62), (80.0, 1.5, 0.0), NORTH)
    assert world.serve(40)[1][0].alias == 62


# Both forms.

ACTS = ["add", "remove", "bind", "put", "news", "sent", "flags", "level", "own", "serve", "serve", "serve"]

acts = st.lists(
    st.tuples(
        st.sampled_from(ACTS),
        st.integers(2, 12),
        st.integers(0, 63),
        st.sampled_from([0, 30, 60, 200, 5000]),
        st.tuples(*[st.floats(-600, 600, width=32)] * 3),
    ),
    max_size=60,
)


def play(form, script):
    world = World(form)
    told = []
    for what, entity, flags, budget, place in script:
        known = world.sight.get(entity)
        slot = world.area.find(entity)
        if what == "own":
            world.area.put(world.own, place, place)
        elif what == "serve":
            world.tick += entity
            told.append(world.speak(budget))
        elif known is None:
            if slot < 0:
                reach = (None, inf, 100.0, 400.0)[flags % 4]
                angles = (flags * 10.0, flags * 5.0, None) if entity % 2 else flags % 3
                levels = [(100.0, 20.0), (200.0, 50.0), (300.0, 90.0)][: entity % 4]
                level = world.form.OUTERMOST if flags % 5 else 0
                detail = {"reach": reach, "angles": angles, "levels": levels, "level": level}
                world.add(entity, place, place, flags, alias=entity * 40, **detail)
            else:
                world.sight.add(entity, slot, entity, 0, flags)
        elif what == "remove":
            world.sight.remove(entity)
        elif what == "bind":
            world.sight.bind(entity, slot if flags % 2 else -1)
        elif what == "put":
            world.area.put(slot, place, place[::-1])
        elif what == "news":
            world.area.set_news(slot, budget)
            world.area.set_number(slot, budget + flags % 2)
            if flags > 20:
                manners = [(flags % 4, 40.0 * flags, flags % 3 > 0, False), (255, inf, True, False)]
                said = [(entity, bytes(entity)), (9, b"")]
                world.headlines.set(slot, entity, flags, budget, said, manners if flags > 30 else None)
        elif what == "sent":
            world.sight.set_sent(entity, budget)
        elif what == "flags":
            world.sight.set_flags(entity, flags)
        elif what == "level":
            told.append(world.sight.levels(entity))
            world.sight.set_level(entity, told[-1][1])
        told.append(world.sight.entities())
    return told


@pytest.mark.skipif(not COMPILED, reason="no compiled form is in use")
@settings(max_examples=200, deadline=None)
@given(acts)
def test_both_forms_send_the_same(script):
    assert play("plain", script) == play("compiled", script)
