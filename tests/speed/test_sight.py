"""What a client is told of the places around it: who, how often, within which budget, and in which bytes."""

from math import inf, pi

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo._speed import COMPILED
from terrazzo._speed.sight import DESCRIBED, MESSAGE_MAX, OUTERMOST, REFRESH, WITHHELD
from terrazzo.sync.places import decode_places, unpack12, unpack16, unpack_angle
from tests.speed.forms import FORMS, form_of

HERE = (10.4, 1.5, -20.6)
NORTH = (0.0, 0.0, 0.0)
RADIUS = 80.0
PLENTY = 100_000


class World:
    """An area with a witness at slot 0, and its sight."""

    def __init__(self, form):
        self.area = form_of(form, "area").Area()
        self.own = self.area.add(1, HERE, NORTH, 0.0, 0, 0)
        self.form = form_of(form, "sight")
        self.headlines = self.form.Headlines()
        self.sight = self.form.Sight(self.area, self.own, self.headlines)
        self.tick = 100

    def add(
        self,
        entity,
        position,
        direction=NORTH,
        flags=DESCRIBED,
        alias=None,
        sent=0,
        *,
        angles=1,
        reach=inf,
        levels=(),
        level=OUTERMOST,
        is_detailed=False,
    ):
        """`angles`: how many are told at any distance, or how far each is."""
        slot = self.area.add(entity, position, direction, 0.0, sent, 0)
        if isinstance(angles, int):
            angles = (*[inf] * angles, *[None] * (3 - angles))
        self.headlines.begin(slot, self.form.Ranges(reach, angles, levels, is_detailed=is_detailed))
        self.sight.add(entity, slot, entity if alias is None else alias, sent, flags, level)
        return slot

    def serve(self, budget=PLENTY):
        self.tick += 1
        news, self.told, messages, used = self.sight.serve(self.tick, budget, RADIUS)
        assert used == sum(map(len, messages)) + sum(map(len, self.told))
        assert all(len(message) <= MESSAGE_MAX and message[0] == 21 for message in messages)
        told = [entry for message in messages for entry in decode_places(message[1:]).entries]
        return news, told, messages


@pytest.fixture(params=FORMS)
def world(request):
    return World(request.param)


# The bytes.


def test_golden_ground_air_and_full(world):
    world.add(2, (11.0, 1.5, -22.5), (pi / 2, 1.0, -1.0))
    world.add(3, (9.0, 4.0, -21.0), (pi / 2, 1.0, -1.0), angles=3)
    world.add(4, (600.0, 1.5, -21.0), (0.25, 1.0, -1.0), angles=2, alias=300)
    messages = world.serve()[2]
    reference = bytes.fromhex("0a0000 ebffff 0000c03f")
    assert messages == [
        bytes([21, 101]) + reference
        # x 1: mantissa (3 / 2 - 1) * 256; z -1.5: sign, mantissa (3.5 / 2 - 1) * 256; yaw: 64 steps
        + bytes([1, 1]) + bytes([2]) + (0x080 | 0x8C0 << 12).to_bytes(3, "little") + bytes([64])
        # x -1: sign, mantissa as before; y 2.5: exponent 1, mantissa (4.5 / 4 - 1) * 2048
        + bytes([7, 1]) + bytes([3]) + (0x880 | 0x000 << 12).to_bytes(3, "little") + bytes.fromhex("0009 40 29 d7")
        + bytes([10, 1]) + bytes.fromhex("ff2c01 00001644 0000c03f 0000a8c1 0000803e 0000803f")
    ]  # fmt: skip


def test_the_reference_is_the_witness_in_whole_metres_and_its_height(world):
    world.add(2, HERE)
    ((entry,), messages) = world.serve()[1:]
    assert messages[0][2:12] == bytes.fromhex("0a0000 ebffff 0000c03f")
    assert entry.position[1] == 1.5


@pytest.mark.parametrize("form", FORMS)
@given(value=st.floats(-509, 509, width=32))
def test_12_bits_round_to_the_nearest(form, value):
    code = form_of(form, "sight").pack12(value)
    step = 2.0 ** (int(abs(value) + 2).bit_length() - 1) / 256
    assert abs(unpack12(code) - value) <= step / 2


@pytest.mark.parametrize("form", FORMS)
def test_12_bits_at_their_ends(form):
    sight = form_of(form, "sight")
    assert [sight.pack12(value) for value in (0.0, -0.0, 509.0, -509.0)] == [0, 0, 0x7FF, 0xFFF]
    assert [sight.pack12(value) for value in (509.5, -509.5, 1e9, 1e300, -1e300)] == [-1] * 5


@pytest.mark.parametrize("form", FORMS)
@given(value=st.floats(-131_000, 131_000, width=32))
def test_16_bits_round_to_the_nearest(form, value):
    code = form_of(form, "sight").pack16(value)
    step = 2.0 ** (int(abs(value) + 2).bit_length() - 1) / 2048
    # Near zero float32 of |v| + 2 has a step of its own, much finer.
    assert abs(unpack16(code) - value) <= step / 2 * 1.001


@pytest.mark.parametrize("form", FORMS)
@given(angle=st.floats(-1000, 1000))
def test_angles_come_back_to_half_a_step(form, angle):
    code = form_of(form, "sight").pack_angle(angle)
    off = (unpack_angle(code) - angle + pi) % (2 * pi) - pi
    assert abs(off) <= pi / 256 * 1.000001


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("angle", [float("inf"), float("nan"), 1e300, -1e300])
def test_any_angle_has_a_code(form, angle):
    assert 0 <= form_of(form, "sight").pack_angle(angle) <= 255


def test_far_below_or_above_is_told_in_full(world):
    world.add(2, (10.0, 200_000.0, -20.0))
    (entry,) = world.serve()[1]
    assert entry.is_exact
    assert entry.position == (10.0, 200_000.0, -20.0)


def test_detailed_is_told_in_full(world):
    slot = world.add(2, (12.3, 4.5, 6.7), (1.23, 0.4, 0.5), angles=3, is_detailed=True)
    (entry,) = world.serve()[1]
    assert entry.position == world.area.position(slot)
    assert entry.angles == world.area.direction(slot)


def test_beyond_the_range_of_the_reference_everything_is_told_in_full(world):
    world.area.put(world.own, (9e6, 0.0, 0.0), NORTH)
    world.add(2, (9e6, 0.0, 3.0))
    (entry,) = world.serve()[1]
    assert entry.is_exact
    assert entry.position == (9e6, 0.0, 3.0)


def test_many_places_take_several_messages(world):
    for entity in range(2, 700):
        world.add(entity, (entity / 10, 1.5, 0.0))
    _, told, messages = world.serve()
    assert len(messages) > 3
    assert sorted(entry.alias for entry in told) == list(range(2, 700))


# Who is told.


def test_told_once_and_again_after_a_change(world):
    slot = world.add(2, (12.0, 1.5, 0.0))
    assert [entry.alias for entry in world.serve()[1]] == [2]
    assert world.serve()[1] == []
    world.area.put(slot, (13.0, 1.5, 0.0), NORTH)
    assert [entry.position[0] for entry in world.serve()[1]] == [13.0]


def test_what_stands_still_is_refreshed(world):
    world.add(2, (12.0, 1.5, 0.0))
    world.serve()
    assert [len(world.serve()[1]) for _ in range(REFRESH)] == [0] * (REFRESH - 1) + [1]


def test_a_description_is_reliable_and_needs_no_refresh(world):
    slot = world.add(2, (12.0, 1.5, 0.0), flags=0)
    assert world.serve()[1] == []
    world.sight.set_flags(2, DESCRIBED)
    assert [world.serve()[1] for _ in range(3 * REFRESH)] == [[]] * (3 * REFRESH)
    world.area.put(slot, (13.0, 1.5, 0.0), NORTH)
    assert len(world.serve()[1]) == 1
    assert sum(len(world.serve()[1]) for _ in range(REFRESH)) == 1


def test_withheld_undescribed_and_bodiless_are_not_told(world):
    world.add(2, (12.0, 1.5, 0.0), flags=DESCRIBED | WITHHELD)
    world.add(3, (12.0, 1.5, 0.0), flags=0)
    slot = world.add(4, (12.0, 1.5, 0.0))
    world.sight.bind(4, -1)
    for entity in (2, 3, 4):
        world.area.set_news(world.area.find(entity), 9)
    assert world.serve()[:2] == ([], [])
    world.sight.bind(4, slot)
    assert [entry.alias for entry in world.serve()[1]] == [4]


def test_a_copy_that_is_behind_what_the_client_has_is_not_told(world):
    slot = world.add(2, (12.0, 1.5, 0.0), sent=7)
    world.area.set_number(slot, 6)
    assert world.serve()[1] == []
    world.area.set_number(slot, 7)
    assert len(world.serve()[1]) == 1


def test_a_body_that_came_again_is_told_again(world):
    slot = world.add(2, (12.0, 1.5, 0.0))
    world.serve()
    world.sight.bind(2, slot)
    assert len(world.serve()[1]) == 1


def test_news_until_they_are_sent(world):
    for entity in (2, 3, 4):
        world.area.set_news(world.add(entity, (entity * 10.0, 1.5, -20.0), sent=5), 5 if entity == 3 else 8)
    assert world.serve()[0] == [2, 4]
    assert world.serve()[0] == [2, 4]
    world.sight.set_sent(2, 8)
    assert world.serve()[0] == [4]
    assert world.serve(0)[0] == []
    assert world.sight.get(2)[2] == 8


def test_news_that_wait_overtake_nearer_ones(world):
    near, far = world.add(2, (10.0, 1.5, -20.0)), world.add(3, (80.0, 1.5, -20.0))
    world.area.set_news(far, 1)
    for _ in range(30):
        assert world.serve()[0] == [3]
    world.area.set_news(near, 1)
    assert world.serve()[0] == [3, 2]


# Headlines.


def headline(world, entity, *, before=5, number=8, alias=None, **more):
    slot = world.add(entity, (entity * 10.0, 1.5, -20.0), sent=5, alias=alias, **more)
    world.area.set_number(slot, number + 1)
    world.area.set_news(slot, number)
    world.headlines.set(slot, entity, before, number, [(160, b"abc"), (60, b"")])
    return slot


def test_a_headline_is_told_at_once_and_once(world):
    headline(world, 2)
    headline(world, 3, alias=300)
    assert world.serve()[0] == []
    assert world.told == [b"\xa0\x02abc", b"\x3c\x02", b"\xa0\xff\x2c\x01abc", b"\x3c\xff\x2c\x01"]
    assert world.sight.get(2)[2] == 9
    world.serve()
    assert world.told == []


def test_who_lacks_more_than_the_headline_is_news(world):
    headline(world, 2, before=6)
    assert world.serve()[0] == [2]
    assert world.told == []


def test_a_headline_that_is_not_the_newest_is_none(world):
    slot = headline(world, 2)
    world.area.set_news(slot, 9)
    assert world.serve()[0] == [2]
    assert world.told == []


def test_a_headline_of_who_was_here_before_is_none(world):
    slot = headline(world, 2)
    world.headlines.set(slot, 77, 5, 8, [(160, b"xyz")])
    assert world.serve()[0] == [2]
    assert world.told == []


def test_headlines_keep_to_the_budget_and_come_before_places(world):
    for entity in range(2, 12):
        headline(world, entity)
    _, told, _ = world.serve(20)
    assert (len(world.told), told) == (6, [])
    assert [message[1] for message in world.told] == [2, 2, 3, 3, 4, 4]
    _, told, _ = world.serve(70)
    assert (len(world.told), len(told)) == (14, 2)


def test_withheld_headlines_wait(world):
    headline(world, 2, flags=DESCRIBED | WITHHELD)
    world.serve()
    assert world.told == []
    world.sight.set_flags(2, DESCRIBED)
    world.serve()
    assert len(world.told) == 2


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


def test_who_comes_into_another_level_is_news_until_the_caller_has_seen_to_it(world):
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


def test_who_crosses_is_not_told_by_headlines(world):
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
    world.sight.add(3, slot, 3, 0, DESCRIBED, 2)
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
def test_a_headline_is_told_in_its_manner(world, manner, kinds):
    slot = world.add(2, at(30), levels=LEVELS, level=1, flags=0)
    world.sight.set_flags(2, DESCRIBED)
    world.area.set_number(slot, 8)
    world.area.set_news(slot, 8)
    world.headlines.set(slot, 2, 5 - 5, 8, [(160, b"abc")], [manner])
    world.tick += 1
    news, told, loose, used = world.sight.serve(world.tick, PLENTY, RADIUS)
    message = b"\xa0\x02abc"
    assert (news, told, loose) == ([], [message] * (kinds == "told"), [message] * (kinds == "loose"))
    assert used == len(message) * bool(kinds)
    assert world.sight.get(2)[2] == 8, "who does not hear it lacks nothing"


def test_beyond_its_reach_a_place_is_told_once_more_and_once_again(world):
    slot = world.add(2, at(40), reach=50.0)
    assert len(world.serve()[1]) == 1
    told = []
    for tick in range(3 * REFRESH):
        world.area.put(slot, at(60 + tick / 10), NORTH)
        told += [(tick, entry.position[0]) for entry in world.serve()[1]]
    assert [tick for tick, _ in told] == [0, REFRESH]
    world.area.put(slot, at(45), NORTH)
    assert len(world.serve()[1]) == 1


def test_described_beyond_its_reach_it_is_not_told(world):
    slot = world.add(2, at(60), reach=50.0, flags=0)
    world.sight.set_flags(2, DESCRIBED)
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


def test_who_comes_near_enough_for_an_angle_is_told_it_though_nothing_moved_there(world):
    world.add(2, at(60), (1.0, 0.0, 0.0), angles=(50.0, None, None))
    assert [len(entry.angles) for entry in world.serve()[1]] == [0]
    world.area.put(world.own, at(20), NORTH)
    assert [len(entry.angles) for entry in world.serve()[1]] == [1]
    assert world.serve()[1] == []


def test_a_position_that_is_not_volatile_is_never_told(world):
    slot = world.add(2, at(10), reach=None, angles=3)
    for tick in range(2 * REFRESH):
        world.area.put(slot, at(10 + tick), NORTH)
        assert world.serve()[1] == []


def test_there_are_only_so_many_levels(world):
    with pytest.raises(ValueError, match="4 levels"):
        world.form.Ranges(inf, levels=[(1.0, 1.0)] * 4)


def test_the_table(world):
    slot = world.add(7, (12.0, 1.5, 0.0), alias=3, sent=4)
    assert world.sight.get(7) == (slot, 3, 4, DESCRIBED)
    world.sight.set_flags(7, DESCRIBED | 1 << 20)
    assert world.sight.get(7) == (slot, 3, 4, DESCRIBED | 1 << 20)
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


def test_the_near_are_told_more_often_and_nobody_is_forgotten(world):
    slots, counts = crowd(world)
    used = run(world, slots, counts, 100, 200)
    assert used / 200 < 105
    assert counts[2] >= 195
    assert counts[2] > 3 * counts[62]
    assert min(counts.values()) >= 200 // 20
    assert all(counts[entity] >= counts[entity + 10] for entity in range(2, 53))


def test_with_enough_budget_everybody_is_told_each_tick(world):
    slots, counts = crowd(world)
    run(world, slots, counts, 400, 10)
    assert set(counts.values()) == {10}


def test_a_budget_is_overdrawn_by_less_than_an_entry(world):
    crowd(world)
    for budget in (0.5, 1, 13, 19, 20, 100):
        assert budget <= world.sight.serve(1, budget, RADIUS)[3] < budget + 12 + 2 + 27
    assert world.sight.serve(1, 0, RADIUS) == ([], [], [], 0)


def test_one_who_stood_still_is_told_the_moment_it_moves(world):
    slots, counts = crowd(world)
    slots.pop(62)
    world.sight.set_flags(62, 0)
    world.sight.set_flags(62, DESCRIBED)
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
            told.append(world.sight.serve(world.tick, budget, RADIUS))
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
                told = [(entity, bytes(entity)), (9, b"")]
                world.headlines.set(slot, entity, flags, budget, told, manners if flags > 30 else None)
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
def test_both_forms_say_the_same(script):
    assert play("plain", script) == play("compiled", script)
