"""Messages: registered once, refused when they are not what they should be; bundles."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError, UsageError
from terrazzo.wire.entity.messages import Astray, Frame, Outgoing, PackedPart
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import BUNDLE_MAX, HEARTBEAT, REGISTRY, Message, Refusal, Refusals, Registry, bundle_of
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.pairs import base_cell, cell_cell
from terrazzo.wire.pairs.base_cell import ClientWants, CreateReal
from terrazzo.wire.pairs.basemgr_base import Home, Located
from terrazzo.wire.pairs.cell_cell import SetReal

PART = PartId(EntityId(7), Part.BASE)
APP = AppId(AppKind.CELL_APP, 2, 3)
ORIGIN = (0.0, 0.0, 0.0)


class Note(Message, frozen=True):
    text: str
    number: int


def registry() -> Registry:
    made = Registry()
    made.register(1, Note, 100)
    return made


def test_round_trip_of_a_bundle_keeps_order():
    table = registry()
    notes = [Note("a", 1), Note("b", -2)]
    assert list(table.decode_bundle(bundle_of([table.encode(note) for note in notes]))) == notes
    assert list(table.decode_bundle(HEARTBEAT)) == []


def test_a_number_and_a_type_are_given_once():
    table = registry()
    with pytest.raises(UsageError, match="already Note's"):
        table.register(1, Astray)
    with pytest.raises(UsageError, match="registered already"):
        table.register(2, Note)


def test_encoding_a_message_that_no_peer_accepts_raises():
    table = registry()
    with pytest.raises(UsageError, match="over its limit"):
        table.encode(Note("x" * 200, 1))
    with pytest.raises(UsageError, match="not a registered message"):
        table.encode(Astray(PART, 0))


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ((9, ["a", 1]), Refusal.UNKNOWN),
        ((1, ["a" * 200, 1]), Refusal.OVERSIZED),
        ((1, ["a", "b"]), Refusal.MALFORMED),
        ((1, ["a"]), Refusal.MALFORMED),
        ((1, ["a", 1, 2]), Refusal.MALFORMED),
        ((1, {"text": "a"}), Refusal.MALFORMED),
    ],
)
def test_a_bad_item_is_refused_by_itself(item, reason):
    table = registry()
    good = table.encode(Note("good", 1))
    bundle = bundle_of([good, msgspec.msgpack.encode(item), good])
    assert list(table.decode_bundle(bundle)) == [Note("good", 1), reason, Note("good", 1)]


@pytest.mark.parametrize("limit", [256, 7])
def test_a_limit_holds_whether_or_not_it_can_be_exceeded(limit):
    table = registry()
    table.register(2, Astray, limit)
    small, large = Astray(PART, 0), Astray(PartId(EntityId(1 << 30), Part.BASE), 0)
    items = [msgspec.msgpack.encode((2, each)) for each in (small, large)]
    told = [small, large if limit == 256 else Refusal.OVERSIZED]
    assert list(table.decode_bundle(bundle_of(items))) == told
    bad = msgspec.msgpack.encode((2, [["x" * 300, 0]]))
    assert list(table.decode_bundle(bundle_of([*items, bad])))[2] in (Refusal.OVERSIZED, Refusal.MALFORMED)


def test_a_bundle_that_is_none_is_refused_as_a_whole():
    with pytest.raises(DecodeError, match="malformed"):
        registry().decode_bundle(b"\xc1")
    with pytest.raises(DecodeError, match="oversized"):
        registry().decode_bundle(bytes(BUNDLE_MAX + 1))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_bundle_or_a_decode_error(data):
    try:
        items = list(REGISTRY.decode_bundle(data))
    except DecodeError:
        return
    assert all(isinstance(item, Message | Refusal) for item in items)


@given(st.binary(max_size=60), st.integers(0, 40))
def test_any_body_is_a_message_or_a_refusal(body, number):
    assert isinstance(REGISTRY.decode_item(number, body), Message | Refusal)


def test_deep_nesting_is_refused():
    deep = b"\x91" * 100_000 + b"\x01"
    with pytest.raises(DecodeError):
        REGISTRY.decode_bundle(b"\x91\x92\x01" + deep)


numbers = st.integers(0, 1 << 48)
streams = st.builds(Outgoing, numbers, numbers, numbers, numbers, st.tuples(st.binary(max_size=20)), st.booleans())


@given(numbers, st.none() | streams, st.none() | st.tuples(numbers, numbers), st.booleans())
def test_frames_survive_the_wire(version, stream, ack, flag):
    frame = Frame(PART, PART, APP, version, -1, 3, stream, ack, None, None, flag, not flag)
    [decoded] = REGISTRY.decode_bundle(bundle_of([REGISTRY.encode(frame)]))
    assert decoded == frame


def test_digests_of_different_tables_differ():
    one, other = registry(), registry()
    assert one.digest() == other.digest()
    other.register(2, Astray)
    assert one.digest() != other.digest()


def test_the_outbox_makes_one_bundle_per_peer_and_tick():
    outbox = Outbox()
    other = APP._replace(index=5)
    for number in range(3):
        outbox.send(APP, Astray(PartId(EntityId(number), Part.CELL), 0))
    outbox.send(other, Astray(PART, 0))
    drained = outbox.drain()
    assert [(peer, len(bundles)) for peer, bundles in drained] == [(APP, 1), (other, 1)]
    assert len(list(REGISTRY.decode_bundle(drained[0][1][0]))) == 3
    assert outbox.drain() == []


def test_a_tick_with_too_much_for_one_bundle_sends_several():
    table, outbox_items = Registry(), list[Message | Refusal]()
    table.register(1, Note, BUNDLE_MAX)
    outbox = Outbox(table)
    for number in range(3):
        outbox.send(APP, Note("x" * (BUNDLE_MAX // 2 - 100), number))
    [(_, bundles)] = outbox.drain()
    assert len(bundles) == 2
    for bundle in bundles:
        assert len(bundle) <= BUNDLE_MAX
        outbox_items += list(table.decode_bundle(bundle))
    assert [item.number for item in outbox_items if isinstance(item, Note)] == [0, 1, 2]


def test_refusals_are_counted_by_peer_and_bounded():
    refusals = Refusals()
    assert refusals.count("a", Refusal.UNKNOWN) == 1
    assert refusals.count("a", Refusal.UNKNOWN) == 2
    for number in range(Refusals.PEERS_MAX):
        refusals.count(number, Refusal.MALFORMED)
    assert "a" not in refusals.by_peer
    assert refusals.total() == Refusals.PEERS_MAX


def test_a_bundle_that_claims_more_items_than_it_has_bytes_is_refused_before_anything_is_allocated():
    with pytest.raises(DecodeError, match="fewer bytes than items"):
        REGISTRY.decode_bundle(b"\xdd\xff\xff\xff\xff")


BEYOND = 1 << 63
FRAME = Frame(PART, PART, APP, 0, 0, 0)


@pytest.mark.parametrize(
    "message",
    [
        msgspec.structs.replace(FRAME, version=BEYOND),
        msgspec.structs.replace(FRAME, heard=-2),
        msgspec.structs.replace(FRAME, ack=(BEYOND, 1)),
        msgspec.structs.replace(FRAME, renew=(1, BEYOND)),
        msgspec.structs.replace(FRAME, stream=Outgoing(BEYOND, 0, 0, 0, (b"x",), False)),
        msgspec.structs.replace(FRAME, to=PartId(EntityId(1 << 31), Part.CELL)),
        CreateReal(7, 1, 1, ORIGIN, ORIGIN, b"", 0, life=1 << 31),
        CreateReal(1 << 31, 1, 1, ORIGIN, ORIGIN, b"", 0, life=0),
        Located(Home(BEYOND, APP)),
        ClientWants(1, ((7, BEYOND),), ()),
        ClientWants(1, (), (1 << 16,)),
        SetReal(7, BEYOND, 0),
    ],
    ids=str,
)
def test_an_integer_that_does_not_fit_where_it_is_counted_with_is_refused(message):
    item = REGISTRY.encode(message)
    assert list(REGISTRY.decode_bundle(bundle_of([item]))) == [Refusal.MALFORMED]
    assert REGISTRY.decode_nested(item) is Refusal.MALFORMED


PLAIN = {"AppId", "question", "dbid", "hops", "Timer", "PackedController", "PackedProximity.id"}
"""Types and fields with integers that only plain Python uses."""


def unbounded(info: object, path: str) -> list[str]:
    """Where integers of any size may stand in a type."""
    if isinstance(info, msgspec.inspect.IntType):
        return [path] if info.ge is None and not any(each in path for each in PLAIN) else []
    if isinstance(info, msgspec.inspect.StructType | msgspec.inspect.NamedTupleType):
        fields = [(f"{path}{info.cls.__name__}.{each.name}", each.type) for each in info.fields]
    elif isinstance(info, msgspec.inspect.UnionType):
        fields = [(path, each) for each in info.types]
    elif isinstance(info, msgspec.inspect.TupleType):
        fields = [(path, each) for each in info.item_types]
    elif isinstance(info, msgspec.inspect.VarTupleType):
        fields = [(path, info.item_type)]
    elif isinstance(info, msgspec.inspect.DictType):
        fields = [(path, info.key_type), (path, info.value_type)]
    else:
        fields = []
    return [found for where, each in fields for found in unbounded(each, where + " ")]


def test_integers_of_messages_for_compiled_code_have_bounds():
    kinds = [PackedPart, Frame, Astray, *(each for each in vars(base_cell).values() if is_message(each))]
    kinds += [each for each in vars(cell_cell).values() if is_message(each)]
    assert len(kinds) > 25
    assert [found for kind in kinds for found in unbounded(msgspec.inspect.type_info(kind), "")] == []


def is_message(each: object) -> bool:
    return isinstance(each, type) and issubclass(each, Message) and each is not Message


def test_digest_depends_on_nested_types():
    def digest(*fields: tuple[str, type]) -> int:
        table = Registry()
        nested = NamedTuple("Nested", fields)  # type: ignore[misc]
        outer: Any = msgspec.defstruct("Outer", [("nested", nested)], bases=(Message,), frozen=True)
        table.register(1, outer)
        return table.digest()

    assert digest(("version", int)) == digest(("version", int))
    assert digest(("version", int)) != digest(("version", str))
    assert digest(("version", int)) != digest(("version", int), ("app", int))
