"""The table of places around a client: both forms put the same places into the same rows, and refuse the same bytes."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError
from tests.speed.forms import FORMS, form_of

HEAD = bytes.fromhex("07 640000 ceffff 00002041")  # turn 7, x 100, z -50, y 10
THERE, AHEAD = (1.0, 2.0, 3.0), (0.25, 0.5, 0.75)
GROUND_5 = bytes.fromhex("01 01 05 000080 40")


@pytest.fixture(params=FORMS)
def form(request):
    return form_of(request.param, "view")


def table_of(form, *rows, turn=0):
    table = form.PlaceTable()
    for alias, flags in rows:
        table.add(alias, THERE, AHEAD, turn, flags)
    return table


def state(table, aliases):
    return [(table.position(alias), table.direction(alias), table.turn(alias)) for alias in aliases]


def test_place_is_put_into_its_row_without_a_word(form):
    table = table_of(form, (5, 0))
    assert table.take(HEAD + GROUND_5, 7) == []
    position, direction, _ = state(table, [5])[0]
    assert position == (100.0, 10.0, -50.0)
    assert direction == (form.unpack_angle(0x40), 0.5, 0.75)
    assert table.late == 0


def test_flags_decide_which_entries_reach_the_owner(form):
    table = table_of(form, (5, form.ASKED), (6, form.SPECIAL), (300, 0))
    body = HEAD + bytes.fromhex("00 03 06 000000 05 000000 ff2c01 000000")
    here = (100.0, 10.0, -50.0)
    assert table.take(body, 7) == [(6, (here, AHEAD)), (5, None)]
    assert [table.position(alias) for alias in (5, 6, 300)] == [here, THERE, here]
    table.set_flag(5, form.ASKED, False)
    table.set_flag(6, form.SPECIAL, False)
    assert table.take(body, 7) == []
    assert table.position(6) == here


def test_entries_without_a_row_or_of_another_turn_are_late(form):
    table = table_of(form, (5, 0), turn=8)
    assert table.take(HEAD + GROUND_5, 8) == []
    assert (table.late, table.position(5)) == (1, THERE)
    assert table.take(HEAD + GROUND_5, 6) == []  # it has overtaken the beginning of its turn
    table.set_turn(5, 7)
    assert table.take(HEAD + GROUND_5, 7 + 256) == []
    assert (table.late, table.position(5)) == (2, (100.0, 10.0, -50.0))
    table.remove(5)
    assert table.take(HEAD + GROUND_5, 7) == []
    assert table.late == 3
    with pytest.raises(KeyError):
        table.position(5)


def test_malformed_message_changes_nothing(form):
    table = table_of(form, (5, 0))
    with pytest.raises(DecodeError):
        table.take(HEAD + GROUND_5 + b"\x00", 7)
    assert (table.position(5), table.late) == (THERE, 0)


@pytest.mark.parametrize("alias", [-1, 65536])
def test_there_are_no_rows_beyond_the_aliases(form, alias):
    with pytest.raises((ValueError, OverflowError)):
        form.PlaceTable().add(alias, THERE, AHEAD, 0, 0)
    table = form.PlaceTable()
    table.remove(alias)
    with pytest.raises(KeyError):
        table.put(alias, THERE, AHEAD)


ALIASES = (1, 2, 3, 40, 255, 65535)
alias_bytes = st.sampled_from(ALIASES).map(lambda each: bytes([each]) if each < 255 else b"\xff" + pack("<H", each))


@st.composite
def sections(draw):
    kind, angles = draw(st.integers(0, 2)), draw(st.integers(0, 3))
    size = 12 + 4 * angles if kind == 2 else (3, 5)[kind] + angles
    entries = draw(st.lists(st.tuples(alias_bytes, st.binary(min_size=size, max_size=size)), max_size=4))
    return bytes([kind * 4 + angles, len(entries)]) + b"".join(alias + place for alias, place in entries)


bodies = st.one_of(
    st.builds(
        lambda turn, parts: bytes([turn]) + HEAD[1:] + b"".join(parts),
        st.integers(0, 255),
        st.lists(sections(), max_size=4),
    ),
    st.binary(max_size=60),
)


def outcome(act):
    try:
        return repr(act())
    except DecodeError as problem:
        return f"refused: {problem}"


@given(
    messages=st.lists(st.tuples(bodies, st.integers(0, 600)), max_size=6),
    flags=st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_forms_agree(messages, flags):
    forms = [form_of(name, "view") for name in FORMS]
    tables = [table_of(form, *zip(ALIASES, flags, strict=False), turn=3) for form in forms]
    for body, now in messages:
        assert len({outcome(lambda form=form, body=body: form.decode_places(body)) for form in forms}) == 1
        assert len({outcome(lambda table=table, body=body, now=now: table.take(body, now)) for table in tables}) == 1
        assert len({repr(state(table, ALIASES[:5])) for table in tables}) == 1
        assert len({table.late for table in tables}) == 1


def test_forms_agree_on_every_code():
    def decoded(form):
        flat, up = range(4096), range(0, 65536, 7)
        return [*map(form.unpack12, flat), *map(form.unpack16, up), *map(form.unpack_angle, range(256))]

    plain, *others = [decoded(form_of(name, "view")) for name in FORMS]
    assert all(other == plain for other in others)
