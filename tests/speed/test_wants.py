"""`_speed/wants` against its plain form and the table of messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ClientWants, SetWitness
from tests.speed.forms import FORMS, form_of

COUNTS = st.one_of(st.integers(0, 200), st.sampled_from([255, 256, 65_535, 65_536, (1 << 32) - 1, (1 << 62) - 1]))
ENTITIES = st.one_of(st.integers(0, 200), st.sampled_from([65_536, (1 << 31) - 1]))
ALIASES = st.one_of(st.integers(0, 300), st.just((1 << 16) - 1))
WANTS = st.lists(st.tuples(ENTITIES, COUNTS), max_size=20)


def read(form, payload):
    reader = form_of(form, "wants").WantsReader()
    return reader.said() if reader.read(payload) else None


@given(COUNTS, WANTS, st.lists(ALIASES, max_size=20))
def test_wants_are_read_without_an_object(witness, wants, released):
    payload = REGISTRY.encode(ClientWants(witness, tuple(wants), tuple(released)))
    for form in FORMS:
        assert read(form, payload) == (witness, wants, released)


@given(
    st.one_of(COUNTS, st.integers(-(1 << 40), -1)),
    st.lists(st.tuples(st.one_of(ENTITIES, st.integers(-(1 << 31), -1)), COUNTS), max_size=20),
    st.lists(ALIASES, max_size=20),
)
def test_wants_are_written_as_the_table_of_messages_writes_them(witness, wants, released):
    for form in FORMS:
        written = form_of(form, "wants").encode_wants(witness, wants, released)
        assert written == REGISTRY.encode(ClientWants(witness, tuple(wants), tuple(released)))


def test_very_many_wants_are_written():
    wants, released = [(each, each) for each in range(70_000)], [7] * 70_000
    for form in FORMS:
        written = form_of(form, "wants").encode_wants(1, wants, released)
        assert written == REGISTRY.encode(ClientWants(1, tuple(wants), tuple(released)))


def outcome(decode, *args):
    try:
        return decode(*args)
    except DecodeError as problem:
        return str(problem)


@given(st.binary(max_size=1000), st.integers(0, 2))
def test_answers_of_clients_are_read_alike(data, at):
    for name in ("decode_want", "decode_released"):
        results = [outcome(getattr(form_of(form, "wants"), name), data, at) for form in FORMS]
        assert all(each == results[0] for each in results)


def test_more_wants_than_ever_before_are_read():
    wants, released = [(each, each) for each in range(70_000)], [7] * 70_000
    payload = REGISTRY.encode(ClientWants(1, tuple(wants), tuple(released)))
    for form in FORMS:
        assert read(form, payload) == (1, wants, released)


def test_one_reader_reads_one_payload_after_another():
    for form in FORMS:
        reader = form_of(form, "wants").WantsReader()
        for count in (3, 100, 0, 2):
            wants = [(each, 5) for each in range(count)]
            assert reader.read(REGISTRY.encode(ClientWants(1, tuple(wants), (9,) * count)))
            assert reader.said() == (1, wants, [9] * count)


@given(COUNTS, WANTS, st.lists(ALIASES, max_size=20), st.data())
def test_what_is_read_of_mangled_wants_is_what_the_table_of_messages_reads(witness, wants, released, data):
    packed = bytearray(REGISTRY.encode(ClientWants(witness, tuple(wants), tuple(released))))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    payload = bytes(packed[: data.draw(st.integers(0, len(packed)))]) + data.draw(st.binary(max_size=1))
    results = [read(form, payload) for form in FORMS]
    assert all(each == results[0] for each in results)
    if results[0] is not None:
        number, entities, aliases = results[0]
        assert REGISTRY.decode_nested(payload) == ClientWants(number, tuple(entities), tuple(aliases))


@given(st.binary(max_size=60), st.sampled_from([b"", b"\x92\x58\x93", b"\x92\x58\x93\x01\x91\x92"]))
def test_wants_of_garbage_are_read_alike_and_never_raise(garbage, head):
    results = [read(form, head + garbage) for form in FORMS]
    assert all(each == results[0] for each in results)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "payload",
    [
        REGISTRY.encode(SetWitness(1, True)),
        REGISTRY.encode(ClientWants(-1, (), ())),
        REGISTRY.encode(ClientWants(1, ((-5, 0),), ())),
        b"\x92\x58\x93\xcf\x40" + bytes(7) + b"\x90\x90",
        b"\x92\x58\x93\x01\x91\x92\xce\x80\x00\x00\x00\x01\x90",
        b"\x92\x58\x93\x01\x90\x91\xce\x00\x01\x00\x00",
        b"\x92\x58\x93\x01\xdd\xff\xff\xff\xff\x90",
        b"\x92\x58\x93\x01\x90\xdd\xff\xff\xff\xff",
        b"\x92\x58\x93\x01\x91\x93\x01\x01\x90",
        b"\x92\x58\x93\x01\x90\x90\x00",
        b"\x92\x58\x93\x01\x90",
    ],
    ids=[
        "another message", "witness below zero", "entity below zero", "witness", "entity", "alias", "wants", "aliases",
        "no pair", "bytes after it", "cut off",
    ],
)  # fmt: skip
def test_payload_in_another_form_is_left_to_the_table_of_messages(form, payload):
    assert read(form, payload) is None
