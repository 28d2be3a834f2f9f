"""Messages: registered once, refused when they are not what they should be; bundles."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError, UsageError
from terrazzo.wire.app import Outbox
from terrazzo.wire.entity_messages import Astray, Frame, Outgoing
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import BUNDLE_MAX, HEARTBEAT, REGISTRY, Message, Refusal, Refusals, Registry, bundle_of

PART = PartId(EntityId(7), Part.BASE)
APP = AppId(AppKind.CELL_APP, 2, 3)


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


def test_the_sender_is_told_of_what_nobody_would_accept():
    table = registry()
    with pytest.raises(UsageError, match="over its limit"):
        table.encode(Note("x" * 200, 1))
    with pytest.raises(UsageError, match="not a registered message"):
        table.encode(Astray(PART))


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


@pytest.mark.parametrize("limit", [256, 10])
def test_a_limit_holds_whether_or_not_it_can_be_exceeded(limit):
    table = registry()
    table.register(2, Astray, limit)
    small, large = Astray(PART), Astray(PartId(EntityId(1 << 60), Part.BASE))
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


def test_the_digest_tells_builds_apart():
    one, other = registry(), registry()
    assert one.digest() == other.digest()
    other.register(2, Astray)
    assert one.digest() != other.digest()


def test_the_outbox_makes_one_bundle_per_peer_and_tick():
    outbox = Outbox()
    other = APP._replace(index=5)
    for number in range(3):
        outbox.send(APP, Astray(PartId(EntityId(number), Part.CELL)))
    outbox.send(other, Astray(PART))
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
