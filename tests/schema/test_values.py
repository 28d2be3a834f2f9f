"""Values that report their changes: one change per assignment, none for an equal value, never two owners."""

import copy
import gc
import weakref

import pytest

from terrazzo._speed.values import NESTED, SLICE, WHOLE, UserValue
from terrazzo.errors import OwnershipError, UsageError, ValueRejected
from terrazzo.schema import types as t
from terrazzo.schema.flags import ALL_CLIENTS
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import Property
from terrazzo.schema.state import State


class Seal(UserValue, implemented_by="test.Seal"):
    def __init__(self, word=""):
        self.word = word

    def to_stream(self):
        return self.word.encode()

    @classmethod
    def from_stream(cls, data):
        return cls(data.decode())


ITEM = t.RecordType(
    (
        t.Field("kind", t.UINT32),
        t.Field("count", t.UINT16, default=1),
        t.Field("tags", t.SequenceType(t.UINT8)),
        t.Field("seal", t.UserType("test.Seal", Seal)),
    ),
    alias="ITEM",
)
PROPERTIES = tuple(
    Property(name, data_type, ALL_CLIENTS)
    for name, data_type in [
        ("hp", t.INT16),
        ("speed", t.FLOAT32),
        ("bag", t.SequenceType(ITEM)),
        ("grid", t.SequenceType(t.SequenceType(t.UINT8))),
        ("best", t.RecordType(ITEM.fields, allow_none=True, alias="ITEM")),
        ("heat", t.SequenceType(t.FLOAT32, 3)),
        ("pair", t.SequenceType(ITEM, 2, True)),
        ("seal", t.UserType("test.Seal", Seal)),
        ("notes", t.PYTHON),
    ]
)


def item(kind, count=1, tags=(), word=""):
    return {"kind": kind, "count": count, "tags": list(tags), "seal": Seal(word)}


@pytest.fixture
def heard():
    return []


@pytest.fixture
def state(heard):
    state = State(Layout("Avatar", PROPERTIES), heard.append)
    state["bag"] = [item(1), item(2, 5, [7, 8])]
    heard.clear()
    return state


def only(heard):
    [change] = heard
    heard.clear()
    return change


def where(change):
    return change.kind, PROPERTIES[change.prop].name, change.path, change.start, change.end


def test_assignment_is_one_whole_change(state, heard):
    state["hp"] = 50
    change = only(heard)
    assert where(change) == (WHOLE, "hp", (), 0, 0)
    assert change.payload == b"\x32\x00"


def test_an_equal_value_is_no_change(state, heard):
    state["hp"] = 0
    state["speed"] = 0.1
    heard.clear()
    state["speed"] = 0.1
    state["bag"] = [item(1), item(2, 5, [7, 8])]
    state["bag"] = state["bag"]
    state["bag"][0] = item(1)
    state["bag"][0].count = 1
    state["bag"][0:1] = [item(1)]
    state["bag"].extend([])
    state["bag"][1].tags.sort()
    state["seal"] = Seal("")
    state["seal"].word = ""
    state["best"] = None
    assert heard == []


NESTED_EDITS = [
    (lambda s: setattr(s["bag"][1], "count", 3), (NESTED, "bag", (1,), 1, 0), b"\x03\x00"),
    (lambda s: s["bag"][1].__setitem__("count", 3), (NESTED, "bag", (1,), 1, 0), b"\x03\x00"),
    (lambda s: s["bag"][1].tags.__setitem__(-1, 9), (NESTED, "bag", (1, 2), 1, 0), b"\x09"),
    (lambda s: setattr(s["bag"][0], "tags", [4]), (NESTED, "bag", (0,), 2, 0), b"\x01\x04"),
    (lambda s: setattr(s["bag"][0], "seal", Seal("x")), (NESTED, "bag", (0,), 3, 0), b"\x01x"),
    (lambda s: setattr(s["bag"][0].seal, "word", "x"), (NESTED, "bag", (0,), 3, 0), b"\x01x"),
    (lambda s: setattr(s["seal"], "word", "x"), (WHOLE, "seal", (), 0, 0), b"\x01x"),
    (lambda s: s["heat"].__setitem__(2, 1.0), (NESTED, "heat", (), 2, 0), b"\x00\x00\x80\x3f"),
    (lambda s: s["bag"].append(item(3)), (SLICE, "bag", (), 2, 2), b"\x03\0\0\0\x01\0\0\0"),
    (lambda s: s["bag"].insert(0, item(3)), (SLICE, "bag", (), 0, 0), b"\x03\0\0\0\x01\0\0\0"),
    (lambda s: s["bag"].insert(-1, item(3)), (SLICE, "bag", (), 1, 1), b"\x03\0\0\0\x01\0\0\0"),
    (lambda s: s["bag"].insert(99, item(3)), (SLICE, "bag", (), 2, 2), b"\x03\0\0\0\x01\0\0\0"),
    (lambda s: s["bag"].pop(), (SLICE, "bag", (), 1, 2), b""),
    (lambda s: s["bag"].pop(0), (SLICE, "bag", (), 0, 1), b""),
    (lambda s: s["bag"].remove(item(1)), (SLICE, "bag", (), 0, 1), b""),
    (lambda s: s["bag"].__delitem__(0), (SLICE, "bag", (), 0, 1), b""),
    (lambda s: s["bag"].__delitem__(slice(0, 2)), (SLICE, "bag", (), 0, 2), b""),
    (lambda s: s["bag"].__delitem__(slice(0, 2, 2)), (SLICE, "bag", (), 0, 2), None),
    (lambda s: s["bag"].clear(), (SLICE, "bag", (), 0, 2), b""),
    (lambda s: s["bag"].reverse(), (SLICE, "bag", (), 0, 2), None),
    (lambda s: s["bag"].sort(key=lambda each: -each.kind), (SLICE, "bag", (), 0, 2), None),
    (lambda s: s["bag"].__setitem__(slice(1, 2), []), (SLICE, "bag", (), 1, 2), b""),
    (
        lambda s: s["bag"].__setitem__(slice(0, 2, 1), [item(9)]),
        (SLICE, "bag", (), 0, 2),
        b"\x09\0\0\0\x01\0\0\0",
    ),
    (lambda s: s["bag"].__iadd__([item(9)]), (SLICE, "bag", (), 2, 2), b"\x09\0\0\0\x01\0\0\0"),
    (lambda s: s["bag"].__imul__(2), (SLICE, "bag", (), 2, 2), None),
    (lambda s: s["bag"].__imul__(0), (SLICE, "bag", (), 0, 2), b""),
    (lambda s: s["bag"][1].tags.append(9), (SLICE, "bag", (1, 2), 2, 2), b"\x09"),
]


@pytest.mark.parametrize(("edit", "expected", "payload"), NESTED_EDITS)
def test_one_edit_is_one_change_with_its_path(state, heard, edit, expected, payload):
    edit(state)
    change = only(heard)
    assert where(change) == expected
    if payload is not None:
        assert change.payload == payload


def test_a_nested_path_counts_the_children_on_its_way(state, heard):
    state["bag"][1].tags.append(9)
    assert only(heard).counts == (2, 4, 2)


def test_a_list_behaves_as_a_list(state):
    grid = state["grid"]
    grid.extend([[1], [2], [3], [4]])
    grid[::2] = [[9], [8]]
    assert grid == [[9], [2], [8], [4]]
    del grid[1:3]
    assert grid == [[9], [4]]
    assert grid.pop(0) == [9]
    assert isinstance(grid, list)
    assert grid[0:1] == [[4]]
    with pytest.raises(IndexError, match="has 1 elements, none at 5"):
        grid[5] = [1]
    with pytest.raises(IndexError):
        grid.pop(5)
    with pytest.raises(ValueError):
        grid.remove([77])
    assert copy.deepcopy(grid) == grid == grid.copy()


def test_the_error_names_entity_property_place_expected_and_given(state, heard):
    cases = [
        (
            lambda: state.__setitem__("hp", 40000),
            "Avatar.hp: expected INT16 (-32768 … 32767), got 40000 (int)",
        ),
        (
            lambda: setattr(state["bag"][1], "count", -1),
            "Avatar.bag[1].count: expected UINT16 (0 … 65535), got -1",
        ),
        (lambda: state["bag"].append({"kind": 1}), "Avatar.bag[2]: expected ITEM with the fields"),
        (lambda: state["bag"][1].tags.append(256), "Avatar.bag[1].tags[2]: expected UINT8"),
        (lambda: state["bag"][1].tags.__setitem__(0, "x"), "Avatar.bag[1].tags[0]: expected UINT8"),
        (lambda: state.__setitem__("bag", [item(1), 5]), "Avatar.bag[1]: expected ITEM"),
        (
            lambda: state["heat"].append(1.0),
            "Avatar.heat: expected ARRAY<of>FLOAT32</of><size>3</size> to keep its 3",
        ),
    ]
    before = state.encode()
    for attempt, words in cases:
        with pytest.raises(ValueRejected) as caught:
            attempt()
        assert str(caught.value).startswith(words)
    assert heard == []
    assert state.encode() == before
    with pytest.raises(UsageError, match="has no property 'hq' here; it has hp, speed"):
        state["hq"] = 1
    with pytest.raises(AttributeError, match="ITEM has no field 'cuont'; it has kind, count, tags, seal"):
        state["bag"][0].cuont = 1


def test_a_value_cannot_silently_have_two_owners(state, heard):
    bag = state["bag"]
    attempts = [
        lambda: bag.append(bag[0]),
        lambda: state.__setitem__("best", bag[0]),
        lambda: state["grid"].append(bag[1].tags),
        lambda: setattr(bag[0], "tags", bag[1].tags),
        lambda: bag.__setitem__(0, bag[1]),
        lambda: bag.extend(bag),
        lambda: bag.insert(0, bag[1]),
        lambda: state.__setitem__("seal", bag[1].seal),
    ]
    bag[1].seal.word = "wax"
    heard.clear()
    before = state.encode()
    for attempt in attempts:
        with pytest.raises(OwnershipError, match=r"already belongs to Avatar\.bag.*value\.copy\(\)"):
            attempt()
    twice = t.SequenceType(ITEM).codec.check([item(5)])[0]
    with pytest.raises(OwnershipError):
        bag.extend([twice, twice])
    assert heard == []
    assert state.encode() == before
    bag.append(twice)
    assert only(heard).kind == SLICE
    bag[0].count = 77
    assert only(heard).path == (0,)


def test_value_that_is_taken_out_is_free_again(state, heard):
    bag = state["bag"]
    taken = bag.pop(1)
    heard.clear()
    taken.count = 9
    taken.tags.append(1)
    assert heard == []
    bag.insert(0, taken)
    only(heard)
    taken.tags.append(2)
    assert where(only(heard)) == (SLICE, "bag", (0, 2), 3, 3)
    old = bag[1]
    bag[1] = item(9)
    heard.clear()
    old.count = 3
    assert heard == []
    whole = bag
    state["bag"] = []
    heard.clear()
    whole[0].count = 44
    whole.append(item(3))
    assert heard == []
    state["bag"] = whole
    only(heard)
    whole[0].count = 45
    assert only(heard).payload == b"\x2d\x00"


def test_a_sorted_list_keeps_its_elements_owned(state, heard):
    first, second = state["bag"]
    state["bag"].reverse()
    only(heard)
    first.count = 30
    assert only(heard).path == (1,)
    second.count = 31
    assert only(heard).path == (0,)


def test_a_copy_is_free_all_the_way_down(state, heard):
    twin = state["bag"][1].copy()
    assert twin == state["bag"][1]
    twin.tags.append(3)
    twin.seal.word = "other"
    assert heard == []
    assert state["bag"][1].tags == [7, 8]
    assert state["bag"][1].seal.word == ""


def test_value_inside_a_tuple_is_frozen(state, heard):
    mine = ITEM.codec.check(item(3))
    state["pair"] = (mine, item(4))
    only(heard)
    mine.count = 8
    assert state["pair"][0].count == 1
    for attempt in (
        lambda: setattr(state["pair"][0], "count", 2),
        lambda: state["pair"][0].tags.append(1),
        lambda: setattr(state["pair"][0].seal, "word", "x"),
    ):
        with pytest.raises(UsageError, match="inside a TUPLE"):
            attempt()
    with pytest.raises(OwnershipError):
        state["bag"].append(state["pair"][0])
    assert heard == []
    state["bag"].append(state["pair"][0].copy())
    only(heard)


def test_user_value_reports_changes_without_an_assignment(state, heard):
    state["seal"].changed()
    assert where(only(heard)) == (WHOLE, "seal", (), 0, 0)
    state["bag"][0].seal.changed()
    assert where(only(heard)) == (NESTED, "bag", (0,), 3, 0)


def test_python_values_are_copies(state, heard):
    plain = {"a": [1, (2, 3)]}
    state["notes"] = plain
    only(heard)
    plain["a"].append(4)
    assert state["notes"] == {"a": [1, (2, 3)]}


def test_a_change_carries_the_value_of_its_moment(state, heard):
    state["bag"].append(item(3))
    state["bag"][2].count = 50
    appended, counted = heard
    assert appended.payload == b"\x03\0\0\0\x01\0\0\0"
    assert counted.payload == b"\x32\0"


def test_released_values_need_no_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        state = State(Layout("Avatar", PROPERTIES))
        state["seal"] = Seal("x")
        state["bag"] = [item(1)]
        gone = [weakref.ref(state["seal"]), weakref.ref(state["bag"][0].seal)]
        state["bag"] = []
        assert gone[1]() is None
        state.release()
        del state
        assert gone[0]() is None
    finally:
        gc.enable()


def test_saved_text_has_to_fit_its_column():
    name = Property("name", t.UNICODE_STRING, ALL_CLIENTS, persistent=True, database_length=4)
    words = Property("words", t.SequenceType(t.STRING), ALL_CLIENTS, persistent=True, database_length=4)
    state = State(Layout("Avatar", (name, words)))
    state["name"] = "žluť"
    with pytest.raises(ValueRejected, match=r"Avatar\.name: expected UNICODE_STRING of at most 4 characters, got 5"):
        state["name"] = "abcde"
    state["words"] = [b"four"]
    with pytest.raises(ValueRejected, match=r"Avatar\.words\[1\]: expected STRING of at most 4 bytes, got 5"):
        state["words"].append(b"fives")
