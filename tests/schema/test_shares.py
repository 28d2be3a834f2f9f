"""Shares: each receiver of a property has of its values what their fields let it have, and is sent no more."""

from dataclasses import replace
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    CELL_PUBLIC,
    CELL_PUBLIC_AND_OWN,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    EntityType,
    Int32,
    Record,
    Ref,
    Size,
    Text,
    UInt8,
    build,
    field,
    prop,
)  # fmt: skip
from terrazzo._speed.codec import HiddenCodec
from terrazzo._speed.values import NESTED, SLICE, WHOLE, Change
from terrazzo.errors import DecodeError
from terrazzo.schema import types as t
from terrazzo.schema.changes import encode_external, encode_internal
from terrazzo.schema.flags import FIELD_FLAGS, Flags, Receiver
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import Property
from terrazzo.schema.shares import hidden_fields, share, share_of, share_of_value
from terrazzo.schema.state import State
from tests.schema.strategies import data_types, shared_types, values
from tests.schema.test_changes import edit

GHOSTS, OWN, OTHERS = Receiver


class Rune(Record):
    power: Int32 = field(default=5, to=CELL_PRIVATE)


class Item(Record):
    kind: UInt8
    uses: UInt8 = field(default=3, to=OWN_CLIENT)
    curse: Text = field(default="none", to=CELL_PUBLIC, database_length=9)
    runes: Array[Rune] = field(default=[{"power": 1}])


class Hero(EntityType):
    bag: Array[Item] = prop(ALL_CLIENTS)
    best: Item | None = prop(ALL_CLIENTS)
    pair: tuple[Item, Item] = prop(ALL_CLIENTS)
    rune: Rune = prop(ALL_CLIENTS, default={"power": 7})
    chest: Array[Item] = prop(BASE_AND_CLIENT)
    name: Text = prop(ALL_CLIENTS, default="nobody")


HERO = build([Hero]).checked()["Hero"]
BAG, BEST, PAIR, RUNE = (next(p for p in HERO.properties if p.name == name) for name in ("bag", "best", "pair", "rune"))
ITEM = {"kind": 1, "uses": 2, "curse": "evil", "runes": [{"power": 9}, {"power": 8}]}


def test_each_receiver_gets_its_fields_of_a_record():
    whole = BEST.codec.check(ITEM)
    had = {each: share_of_value(whole, BEST.codec_for(each)) for each in Receiver}
    default = {"kind": 1, "uses": 3, "curse": "none", "runes": [{"power": 1}]}
    assert had[GHOSTS] == {**default, "curse": "evil"}
    assert had[OWN] == {**default, "uses": 2}
    assert had[OTHERS] == default
    assert BEST.codec_for(GHOSTS).encode(whole) == b"\x01\x01\x04evil"
    assert BEST.codec_for(OWN).encode(whole) == b"\x01\x01\x02"
    assert BEST.codec_for(OTHERS).encode(whole) == b"\x01\x01"
    assert BEST.codec_for(OTHERS).encode(None) == b"\x00"


@pytest.mark.parametrize("flags", FIELD_FLAGS)
@pytest.mark.parametrize("receiver", Receiver)
def test_flag_of_a_field_excludes_receivers(flags, receiver):
    record = t.RecordType((t.Field("seen", t.UINT8), t.Field("told", t.UINT8, to=flags)))
    hears = {
        BASE: (), CELL_PRIVATE: (), BASE_AND_CLIENT: (OWN,), OWN_CLIENT: (OWN,), CELL_PUBLIC: (GHOSTS,),
        CELL_PUBLIC_AND_OWN: (GHOSTS, OWN), OTHER_CLIENTS: (GHOSTS, OTHERS), ALL_CLIENTS: tuple(Receiver),
    }[flags]  # fmt: skip
    shared = share(record, receiver)
    assert (shared is record) is (receiver in hears)
    assert hidden_fields(shared) == ([] if receiver in hears else ["told"])


def test_an_outer_flag_takes_away_what_an_inner_one_gives():
    inner = t.RecordType((t.Field("a", t.UINT8, to=ALL_CLIENTS), t.Field("b", t.UINT8, to=OWN_CLIENT)))
    outer = t.RecordType((t.Field("inner", inner, to=OTHER_CLIENTS), t.Field("c", t.UINT8)))
    assert hidden_fields(share(outer, OWN)) == ["inner"]
    assert hidden_fields(share(outer, OTHERS)) == ["inner.b"]


def test_records_without_a_visible_field_are_not_even_counted():
    assert BAG.codec_for(OTHERS).encode([{**ITEM, "runes": []}]) == BAG.codec_for(OTHERS).encode([ITEM])
    assert isinstance(RUNE.codec_for(OWN), HiddenCodec)
    assert RUNE.codec_for(OWN).encode({"power": 3}) == b""
    assert RUNE.codec_for(OWN).decode(b"") == {"power": 7}
    sized = t.SequenceType(t.RecordType((t.Field("a", t.UINT8, to=BASE),)), 3)
    assert isinstance(share(sized, GHOSTS), t.HiddenType)


def test_share_of_an_optional_record_has_whether_it_is_none():
    optional = t.RecordType((t.Field("a", t.UINT8, to=BASE, default=4),), allow_none=True)
    codec = share(optional, OTHERS).codec
    assert [codec.encode(each) for each in (None, {"a": 9})] == [b"\x00", b"\x01"]
    assert codec.decode(b"\x01") == {"a": 4}


def test_receivers_with_the_same_share_have_the_same_codec():
    record = t.RecordType((t.Field("a", t.UINT8), t.Field("b", t.UINT8, to=OWN_CLIENT)))
    assert share(record, GHOSTS) is share(record, OTHERS)
    assert share(record, OWN) is record
    assert BAG.codec_for(OTHERS) is BAG.codec_for(OTHERS)


@given(data_types)
def test_a_type_without_such_fields_is_its_own_share(data_type):
    assert all(share(data_type, each) is data_type for each in Receiver)
    plain = Property("p", data_type, ALL_CLIENTS, persistent=True, database_length=5)
    assert all(plain.codec_for(each) is plain.codec for each in Receiver)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_every_replica_has_its_share_after_any_edit(data):
    properties = tuple(
        Property(f"p{n}", each, ALL_CLIENTS)
        for n, each in enumerate(data.draw(st.lists(shared_types, min_size=1, max_size=3)))
    )
    heard: list[Change] = []
    real = State(Layout("Thing", properties), heard.append)
    replicas = {each: State(Layout("Thing", properties, each)) for each in Receiver}
    for _ in range(data.draw(st.integers(1, 5))):
        edit(data.draw, real)
        change = heard.pop() if heard else None
        assert not heard
        for receiver, replica in replicas.items():
            if change is not None:
                prop = properties[change.prop]
                shared = share_of(change, prop.codec, prop.codec_for(receiver))
                _apply(replica, shared)
            assert replica.values() == replica.layout.shares_of(real.values())
            assert replica.encode() == replica.layout.row.encode(real.values())
        if change is not None:
            _check_way_over_ghosts(properties[change.prop], change)


def _apply(replica: State, shared: Change | None) -> None:
    if shared is None:
        return
    before = replica.encode()
    internal = encode_internal(shared, shared.prop)
    external = encode_external(shared, shared.prop, len(replica.layout))
    assert encode_internal(replica.decode_internal(internal), shared.prop) == internal
    assert replica.decode_external(external, is_slice=shared.kind == SLICE).payload == shared.payload
    assert replica.encode() == before
    replica.apply_external(external, is_slice=shared.kind == SLICE)


def _check_way_over_ghosts(prop: Property, change: Change) -> None:
    """A ghost makes of its share what the real makes of the whole."""
    public = share_of(change, prop.codec, prop.codec_for(GHOSTS))
    told = share_of(change, prop.codec, prop.codec_for(OTHERS))
    again = None if public is None else share_of(public, prop.codec_for(GHOSTS), prop.codec_for(OTHERS))
    assert repr(told) == repr(again)


def test_change_inside_a_hidden_field_has_no_receiver():
    heard: list[Change] = []
    state = State(Layout("Hero", (BAG, BEST)), heard.append)
    state.set(0, [ITEM])
    state.set(1, ITEM)
    bag, best = state.get(0), state.get(1)
    heard.clear()
    bag[0].uses = 9
    bag[0].curse = "worse"
    bag[0].runes[1].power = 3
    bag[0].runes.append(Rune(power=4))
    best.runes[0] = Rune(power=1)
    bag[0].kind = 2
    bag[0] = Item(kind=4)
    bag.append(Item(kind=5, uses=6))
    told = [
        [share_of(each, (BAG, BEST)[each.prop].codec, (BAG, BEST)[each.prop].codec_for(r)) for r in Receiver]
        for each in heard
    ]
    assert [[each is not None for each in row] for row in told] == [
        [False, True, False],
        [True, False, False],
        [False] * 3,
        [False] * 3,
        [False] * 3,
        [True] * 3,
        [True] * 3,
        [True] * 3,
    ]
    assert [[each and each.payload for each in row] for row in told[-2:]] == [
        [b"\x04\x04none", b"\x04\x03", b"\x04"],
        [b"\x05\x04none", b"\x05\x06", b"\x05"],
    ]
    assert told[5][0] is heard[5]  # nothing hidden below: as it was


def test_a_tuple_is_cut_inside_too():
    whole = PAIR.codec.check((ITEM, ITEM))
    assert share_of_value(whole, PAIR.codec_for(OTHERS))[0].curse == "none"
    change = Change(WHOLE, 0, (), (), 0, 0, PAIR.codec.encode(whole))
    shared = share_of(change, PAIR.codec, PAIR.codec_for(OTHERS))
    assert shared is not None
    assert shared.payload == b"\x01\x01"


def test_a_change_of_what_is_hidden_is_refused_by_a_replica():
    layout = HERO.other_client_layout
    state = State(layout)
    place = layout.index["best"]
    state.set(place, {**ITEM, "runes": [{"power": 1}]})
    before = state.values()
    for path, index, payload in (((), 1, b"\x07"), ((3,), 0, b""), ((3, 0), 0, b"\0\0\0\0")):
        counts = (4, 1, 1)[: len(path) + 1]
        change = Change(NESTED, place, path, counts, index, 0, payload)
        for data in (encode_internal(change, place), encode_external(change, place, len(layout))):
            with pytest.raises(DecodeError, match="hidden"):
                state.apply_internal(data) if data[0] == 2 else state.apply_external(data, is_slice=False)
    assert state.values() == before


@settings(deadline=None)
@given(shared_types, st.sampled_from(Receiver), st.binary(max_size=20))
def test_any_bytes_are_a_share_or_refused(data_type, receiver, noise):
    codec = share(data_type, receiver).codec
    try:
        value = codec.decode(noise)
    except DecodeError:
        return
    assert codec.decode(codec.encode(value)) == value


@given(st.data())
def test_a_replica_from_defaults_has_no_more_than_its_share(data):
    data_type = data.draw(shared_types)
    prop = Property("p", data_type, ALL_CLIENTS, default=data.draw(values(data_type)))
    for receiver in Receiver:
        layout = Layout("Thing", (prop,), receiver)
        assert layout.new_values() == [share_of_value(prop.new_default(), prop.codec_for(receiver))]


def test_layouts_of_an_entity_type():
    assert HERO.cell_layout.codecs[0] is BAG.codec
    assert HERO.ghost_layout.codecs[0] is BAG.codec_for(GHOSTS)
    for layout, receiver in (
        (HERO.own_client_layout, OWN), (HERO.other_client_layout, OTHERS), (HERO.cell_player_layout, OWN),
        (HERO.base_player_layout, OWN),
    ):  # fmt: skip
        assert layout.codecs == tuple(each.codec_for(receiver) for each in layout.properties)
    assert State(HERO.own_client_layout)["rune"] == {"power": 7}


def test_a_ref_may_be_in_a_field_that_no_client_gets():
    class Deal(Record):
        price: Int32
        partner: Ref = field(to=CELL_PUBLIC)

    class Trader(EntityType):
        deals: Array[Deal] = prop(ALL_CLIENTS)
        spots: Annotated[Array[Deal], Size(2)] = prop(OWN_CLIENT)

    layout = build([Trader]).checked()["Trader"].other_client_layout
    assert layout.codecs[layout.index["deals"]].encode([{"price": 1, "partner": None}]) == b"\x01\x01\0\0\0"


def test_fields_with_different_receivers_are_not_equal():
    one = t.RecordType((t.Field("a", t.UINT8),))
    assert one != replace(one, fields=(replace(one.fields[0], to=OWN_CLIENT),))
    assert "<Flags>OWN_CLIENT</Flags>" in t.RecordType((t.Field("a", t.UINT8, to=Flags.OWN_CLIENT),)).spell()
