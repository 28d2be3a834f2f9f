"""The places that a client gets: of which entities, and in which bytes."""

from math import inf, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo._speed.sight import PATIENCE, REFRESH
from terrazzo.sync.places import unpack12, unpack16, unpack_angle
from tests.speed.forms import FORMS, form_of
from tests.speed.sight_world import HERE, NORTH, headline

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


def test_place_far_below_or_above_is_sent_in_full(world):
    slot = world.add(2, (90.123, 200_000.0, -20.0))
    (entry,) = world.serve()[1]
    assert entry.position == world.area.position(slot)


def test_detailed_place_is_sent_in_full(world):
    slot = world.add(2, (12.3, 4.5, 6.7), (1.23, 0.4, 0.5), angles=3, is_detailed=True)
    (entry,) = world.serve()[1]
    assert entry.position == world.area.position(slot)
    assert entry.angles == world.area.direction(slot)


def test_places_beyond_the_range_of_the_reference_are_sent_in_full(world):
    world.area.put(world.own, (9e6, 0.0, 0.0), NORTH)
    world.add(2, (9e6, 0.0, 3.0))
    (entry,) = world.serve()[1]
    assert entry.position == (9e6, 0.0, 3.0)


def test_many_places_take_several_messages(world):
    for entity in range(2, 700):
        world.add(entity, (entity / 10, 1.5, 0.0))
    _, told, messages = world.serve()
    assert len(messages) > 3
    assert sorted(entry.alias for entry in told) == list(range(2, 700))


# Which entities are sent.


def test_place_is_sent_once_and_again_after_a_change(world):
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
    world.sight.set_flags(2, EntryFlag.DESCRIBED)
    assert [world.serve()[1] for _ in range(3 * REFRESH)] == [[]] * (3 * REFRESH)
    world.area.put(slot, (13.0, 1.5, 0.0), NORTH)
    assert len(world.serve()[1]) == 1
    assert sum(len(world.serve()[1]) for _ in range(REFRESH)) == 1


def test_withheld_undescribed_and_bodiless_entries_are_not_sent(world):
    world.add(2, (12.0, 1.5, 0.0), flags=EntryFlag.DESCRIBED | EntryFlag.WITHHELD)
    world.add(3, (12.0, 1.5, 0.0), flags=0)
    slot = world.add(4, (12.0, 1.5, 0.0))
    world.sight.bind(4, -1)
    for entity in (2, 3, 4):
        world.area.set_news(world.area.find(entity), 9)
    assert world.serve()[:2] == ([], [])
    world.sight.bind(4, slot)
    world.area.set_number(slot, 9)
    world.sight.set_sent(4, 9)
    assert [entry.alias for entry in world.serve()[1]] == [4]


def test_a_place_does_not_overtake_news_but_some_have_news_all_the_time(world):
    slot = world.add(2, (12.0, 1.5, 0.0))
    for number in range(1, PATIENCE + 1):
        world.area.set_number(slot, number)
        world.area.set_news(slot, number)
        assert world.serve()[:2] == ([2], [])
        world.sight.set_sent(2, number)
    world.area.set_number(slot, PATIENCE + 1)
    world.area.set_news(slot, PATIENCE + 1)
    assert len(world.serve()[1]) == 1
    world.area.put(slot, (13.0, 1.5, 0.0), (0.0, 0.0, 0.0))
    assert world.serve()[1] == []
    world.sight.set_sent(2, PATIENCE + 1)
    assert len(world.serve()[1]) == 1


def test_copy_that_is_behind_the_client_is_not_sent(world):
    slot = world.add(2, (12.0, 1.5, 0.0), sent=7)
    world.area.set_number(slot, 6)
    assert world.serve()[1] == []
    world.area.set_number(slot, 7)
    assert len(world.serve()[1]) == 1


def test_place_of_a_body_that_came_again_is_sent_again(world):
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


def test_headline_is_sent_at_once_and_once(world):
    headline(world, 2)
    headline(world, 3, alias=300)
    assert world.serve()[0] == []
    assert world.told == [b"\xa0\x02abc", b"\x3c\x02", b"\xa0\xff\x2c\x01abc", b"\x3c\xff\x2c\x01"]
    assert world.sight.get(2)[2] == 9
    world.serve()
    assert world.told == []


def test_entry_that_lacks_more_than_the_headline_is_news(world):
    headline(world, 2, before=6)
    assert world.serve()[0] == [2]
    assert world.told == []


def test_a_headline_that_is_not_the_newest_is_none(world):
    slot = headline(world, 2)
    world.area.set_news(slot, 9)
    assert world.serve()[0] == [2]
    assert world.told == []


def test_headline_of_the_former_entity_of_a_slot_is_not_sent(world):
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


def test_where_there_are_news_half_of_the_budget_is_left_for_them(world):
    slot = headline(world, 2)
    for entity in range(3, 13):
        headline(world, entity)
    world.area.set_news(slot, 9)  # a step that is not in the headlines
    news, told, _ = world.serve(40)
    assert (news, len(world.told), told) == ([2], 6, [])
    news, told, messages = world.serve(200)
    assert (news, len(world.told)) == ([2], 14)
    assert sum(map(len, messages)) + sum(map(len, world.told)) < 120, "an entry may go beyond"


def test_message_with_a_row_of_another_tally_is_sent_and_not_counted(world):
    slot = headline(world, 2)
    world.headlines.set(slot, 2, 5, 8, [(160, b"xyz")], None, [1000])
    world.headlines.begin(slot, world.form.Ranges(inf, row=1000))
    _, places, _ = world.serve()
    assert (len(world.told), len(places)) == (1, 1)
    assert world.headlines.tally.get(0) == (0, 0)


def test_withheld_headlines_wait(world):
    headline(world, 2, flags=EntryFlag.DESCRIBED | EntryFlag.WITHHELD)
    world.serve()
    assert world.told == []
    world.sight.set_flags(2, EntryFlag.DESCRIBED)
    world.serve()
    assert len(world.told) == 2
