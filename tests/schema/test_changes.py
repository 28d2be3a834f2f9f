"""Changes on their way: whatever a game edits, both encodings, applied elsewhere, give the very same state."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo._speed.values import NESTED, SLICE, WHOLE, Change, RecordValue, TrackedList
from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.schema import types as t
from terrazzo.schema.changes import BitReader, encode_external, encode_internal, index_bits
from terrazzo.schema.flags import ALL_CLIENTS
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import Property
from terrazzo.schema.state import State
from tests.schema.strategies import data_types, values


def layout_of(*some_types):
    return Layout("Thing", tuple(Property(f"p{n}", each, ALL_CLIENTS) for n, each in enumerate(some_types)))


def containers(value, data_type, found):
    """All lists and records inside a value that can be changed in place, with their types."""
    if isinstance(value, TrackedList):
        found.append((value, data_type))
        for each in value:
            containers(each, data_type.of, found)
    elif isinstance(value, RecordValue):
        found.append((value, data_type))
        for name, field in zip(value, data_type.fields, strict=True):
            containers(value[name], field.type, found)
    return found


def edit(draw, state):
    """One random assignment somewhere in the state."""
    place = draw(st.integers(0, len(state.layout) - 1))
    data_type = state.layout.properties[place].type
    inside = containers(state.get(place), data_type, [])
    if not inside or draw(st.integers(0, 4)) == 0:
        state.set(place, draw(values(data_type)))
        return
    container, data_type = draw(st.sampled_from(inside))
    if isinstance(container, RecordValue):
        if data_type.fields:
            field = draw(st.sampled_from(data_type.fields))
            container[field.name] = draw(values(field.type))
        return
    bounds = st.integers(0, len(container))
    start, end = sorted((draw(bounds), draw(bounds)))
    act = draw(st.sampled_from(["set", "slice", "append", "insert", "pop", "delete", "reverse", "extend"]))
    new = values(data_type.of)
    if act == "set" and container:
        container[draw(st.integers(0, len(container) - 1))] = draw(new)
    elif act == "reverse":
        container.reverse()
    elif data_type.size is not None:
        container[start:end] = [draw(new) for _ in range(end - start)]
    elif act == "slice":
        container[start:end] = draw(st.lists(new, max_size=3))
    elif act == "append":
        container.append(draw(new))
    elif act == "insert":
        container.insert(start, draw(new))
    elif act == "pop" and container:
        container.pop(draw(st.integers(0, len(container) - 1)))
    elif act == "delete":
        del container[start:end]
    else:
        container.extend(draw(st.lists(new, max_size=2)))


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_a_change_applied_elsewhere_gives_the_state_of_its_sender(data):
    some_types = data.draw(st.lists(data_types, min_size=1, max_size=4))
    layout = layout_of(*some_types)
    heard: list[Change] = []
    sender = State(layout, heard.append)
    ghost, client = State(layout), State(layout)
    for _ in range(data.draw(st.integers(1, 6))):
        before = sender.values()
        encoded_before = sender.encode()
        edit(data.draw, sender)
        assert len(heard) <= 1
        assert (sender.encode() != encoded_before) <= len(heard)
        while heard:
            change = heard.pop()
            internal = encode_internal(change, change.prop)
            external = encode_external(change, change.prop, len(layout))
            is_slice = change.kind == SLICE
            assert encode_internal(ghost.decode_internal(internal), change.prop) == internal
            read = client.decode_external(external, is_slice=is_slice)
            assert encode_external(read, read.prop, len(layout)) == external
            assert ghost.encode() == client.encode() == encoded_before
            one = ghost.apply_internal(internal)
            two = client.apply_external(external, is_slice=is_slice)
            assert one == two
            assert one.kind == change.kind
            if change.kind == WHOLE and not isinstance(before[change.prop], (list, RecordValue)):
                assert one.old == before[change.prop]
        assert ghost.encode() == client.encode() == sender.encode()
        assert ghost.values() == client.values() == sender.values()


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_bytes_as_a_change_are_applied_or_refused_whole(data):
    layout = layout_of(*data.draw(st.lists(data_types, min_size=1, max_size=4)))
    state = State(layout, values=[each.type.codec.check(data.draw(values(each.type))) for each in layout.properties])
    before = state.encode()
    form = data.draw(st.sampled_from(["internal", "nested", "slice"]))
    noise = data.draw(st.binary(max_size=24))
    if form == "internal":
        flags = data.draw(st.sampled_from([0, 2, 3]))
        steps = data.draw(st.lists(st.integers(-1, 5), max_size=4))
        path = b"".join(each.to_bytes(4, "little", signed=True) for each in steps)
        noise = data.draw(
            st.sampled_from([noise, bytes([flags, len(steps)]) + path + noise, bytes([flags]) + path + noise])
        )
    try:
        read = state.decode_internal(noise) if form == "internal" else None
        read = read or state.decode_external(noise, is_slice=form == "slice")
    except DecodeError:
        read = None
    assert state.encode() == before
    try:
        if form == "internal":
            state.apply_internal(noise)
        else:
            state.apply_external(noise, is_slice=form == "slice")
        assert read is not None
    except DecodeError:
        assert read is None
        assert state.encode() == before
    for place, prop in enumerate(layout.properties):
        prop.codec.check(prop.codec.decode(prop.codec.encode(state.get(place))))


GRID = t.SequenceType(t.SequenceType(t.UINT8))
FIXED = t.SequenceType(t.UINT8, 3)
MAYBE = t.RecordType((t.Field("a", t.UINT8), t.Field("b", t.UINT16)), allow_none=True)
PAIR = t.SequenceType(t.RecordType((t.Field("a", t.UINT8),)), 2, True)


@pytest.fixture
def state():
    return State(layout_of(t.UINT8, GRID, FIXED, MAYBE, PAIR), values=None)


REFUSED = [
    ("", "begins with 0"),
    ("01", "begins with 0"),
    ("07", "begins with 0"),
    ("02", "without steps"),
    ("0200", "without steps"),
    ("020101", "ends inside its path"),
    ("00", "ends inside its path"),
    ("0005000000 00", "child 5 of the properties"),
    ("00ffffffff 00", "child -1"),
    ("0000000000", "needs 1 more bytes"),
    ("0000000000 0101", "1 bytes too many"),
    ("0201 00000000 00000000 07", "UINT8, which has nothing inside"),
    ("0201 01000000 00000000 07", "child 0"),
    ("0201 03000000 00000000 07", "nothing inside"),
    ("0301 00000000 00000000 00000000", "no list"),
    ("0301 01000000 00000000 01000000", "slice from 0 to 1 of 0"),
    ("0301 01000000 01000000 00000000", "slice from 1 to 0"),
    ("0301 02000000 00000000 00000000 07", "more than 0 new elements"),
    ("0301 02000000 00000000 02000000 07", "of 3 elements, got 2"),
    ("0301 04000000 00000000 00000000", "no list"),
]


@pytest.mark.parametrize(("data", "words"), REFUSED)
def test_malformed_change_raises_and_changes_nothing(state, data, words):
    before = state.encode()
    with pytest.raises(DecodeError) as caught:
        state.apply_internal(bytes.fromhex(data))
    assert words in str(caught.value)
    assert state.encode() == before


def test_a_change_inside_a_tuple_replaces_the_tuple(state):
    old = state["p4"]
    applied = state.apply_internal(bytes.fromhex("0202 04000000 01000000 00000000 09"))
    assert applied.path == (1, "a")
    assert state["p4"] == ({"a": 0}, {"a": 9})
    assert old[0] is state["p4"][0]


def test_index_bits():
    assert [index_bits(n) for n in (0, 1, 2, 3, 4, 5, 8, 9, 256, 257)] == [0, 0, 1, 2, 2, 3, 3, 4, 8, 9]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2**20 - 1)), max_size=12))
def test_bits_come_back_as_they_were_packed(pieces):
    text = "".join(f"{value % (1 << width):0{width}b}" for width, value in pieces if width)
    data = int(text.ljust(-(-len(text) // 8) * 8, "0") or "0", 2).to_bytes(-(-len(text) // 8), "big")
    reader = BitReader(data)
    for width, value in pieces:
        assert reader.read(width) == value % (1 << width)
    assert reader.byte == len(data)
    with pytest.raises(DecodeError):
        reader.read(9)


def test_kinds_have_their_callbacks(state):
    whole = state.apply_internal(bytes.fromhex("0000000000 05"))
    assert (whole.kind, whole.callback("hp")) == (WHOLE, ("set_hp", (0,)))
    state["p1"] = [[1], [2]]
    nested = state.apply_internal(bytes.fromhex("0202 01000000 01000000 00000000 07"))
    assert (nested.kind, nested.callback("hp")) == (NESTED, ("set_nested_hp", ([1, 0], 2)))
    cut = state.apply_internal(bytes.fromhex("0302 01000000 01000000 00000000 01000000 0809"))
    assert (cut.kind, cut.callback("hp")) == (SLICE, ("set_slice_hp", ([1, (0, 2)], [7])))
    with pytest.raises(ValueRejected):
        state["p0"] = 256
