"""Rows of mail: what was written is read, both forms give the same bytes, and nothing that comes in raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo._speed.rows import ENTITY_MAX, LIFE_MAX, NUMBER_MAX
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import SetWitness, ToClient
from tests.speed.forms import FORMS, form_of

FIELDS = (
    "to", "to_part", "source", "source_part", "version", "heard", "ack_generation", "acked", "generation", "first",
    "born", "number", "payloads",
)  # fmt: skip
PLAIN = (7, 1, 7, 0, 3 << 32 | 2, 0, 1000, 5, 2000, 8, 0, 9, [b"one", b"two", b"three"], 1, 3)

NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, NUMBER_MAX - 1))
VERSIONS = st.one_of(st.integers(0, 300), st.integers(0, (LIFE_MAX << 32) - 1))
ENTITIES = st.one_of(st.integers(0, 300), st.integers(-ENTITY_MAX, ENTITY_MAX - 1))
PARTS = st.integers(0, 1)
PAYLOADS = st.lists(st.binary(max_size=200), max_size=5)


@st.composite
def rows(draw):
    """The arguments of one `add`, with what a reader must give."""
    to = draw(ENTITIES)
    source = to if draw(st.booleans()) else draw(ENTITIES)
    head = (to, draw(PARTS), source, draw(PARTS), draw(VERSIONS), draw(VERSIONS))
    ack = (draw(NUMBERS), draw(NUMBERS)) if draw(st.booleans()) else (-1, -1)
    if not draw(st.booleans()):
        return (*head, *ack, -1, 0, 0, 0, [], 0, 0), (*head, *ack, -1, 0, 0, 0, [])
    first, number = sorted((draw(NUMBERS), draw(NUMBERS)))
    payloads = draw(PAYLOADS)
    start = draw(st.integers(0, len(payloads)))
    end = draw(st.integers(start, len(payloads)))
    stream = (draw(NUMBERS), first, draw(NUMBERS), number)
    return (*head, *ack, *stream, payloads, start, end), (*head, *ack, *stream, payloads[start:end])


def written(form, several):
    writer = form_of(form, "rows").RowWriter()
    for each in several:
        assert writer.add(*each)
    size = len(writer)
    packed = writer.take()
    assert (len(packed), len(writer), writer.take()) == (size, 0, b"")
    return packed


def read(form, data):
    """The rows, as tuples, and whether the rest is malformed."""
    reader, found = form_of(form, "rows").RowReader(data), []
    while reader.next():
        found.append(tuple(getattr(reader, name) for name in FIELDS))
    assert not reader.next(), "a reader that has stopped goes on"
    return found, reader.is_malformed


@given(st.lists(rows(), max_size=5))
def test_rows_are_read_as_they_were_written_and_both_forms_agree(several):
    packed = {written(form, [args for args, _ in several]) for form in FORMS}
    assert len(packed) == 1
    for form in FORMS:
        assert read(form, *packed) == ([fields for _, fields in several], False)


@given(st.lists(rows(), min_size=1, max_size=3), st.data())
def test_mangled_rows_are_read_alike_and_never_raise(several, data):
    packed = bytearray(written(FORMS[0], [args for args, _ in several]))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(packed[: data.draw(st.integers(0, len(packed)))])
    results = [read(form, cut) for form in FORMS]
    assert all(each == results[0] for each in results)


@given(st.binary(max_size=100))
def test_garbage_is_read_alike_and_never_raises(garbage):
    results = [read(form, garbage) for form in FORMS]
    assert all(each == results[0] for each in results)


@pytest.mark.parametrize("form", FORMS)
def test_every_cut_in_a_row_is_malformed(form):
    packed = written(form, [PLAIN])
    assert len(read(form, packed)[0]) == 1
    for size in range(1, len(packed)):
        assert read(form, packed[:size]) == ([], True)
    assert read(form, packed + b"\xff") == (read(form, packed)[0], True), "what was before it counts"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        (0, ENTITY_MAX), (0, -ENTITY_MAX - 1), (2, ENTITY_MAX), (1, 2), (3, -1), (4, -1), (5, LIFE_MAX << 32),
        (6, -2), (7, -1), (7, NUMBER_MAX), (8, -2), (8, NUMBER_MAX), (9, -1), (10, -1), (11, 7), (13, -1), (13, 4),
        (14, 4),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_row_is_not_written(form, field, value):
    writer = form_of(form, "rows").RowWriter()
    assert writer.add(*PLAIN)
    before = len(writer)
    assert not writer.add(*PLAIN[:field], value, *PLAIN[field + 1 :])
    assert len(writer) == before


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


HEAD = bytes([8]) + (7).to_bytes(4, "little") + bytes(4)
"""A row with a stream, up to the stream."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "data",
    [
        bytes([64]) + HEAD[1:],
        bytes([32]) + HEAD[1:] + bytes(5),
        bytes([0]) + HEAD[1:5] + varint(LIFE_MAX) + bytes(3),
        bytes([0]) + HEAD[1:5] + varint(0) + varint(1 << 32) + bytes(2),
        HEAD + varint(NUMBER_MAX) + bytes(3),
        HEAD + b"\xff" * 9 + bytes(4),
        HEAD + b"\x80" * 9 + bytes(4),
        HEAD + varint(1) + varint(NUMBER_MAX - 1) + varint(1) + bytes(1),
        HEAD + bytes(3) + varint(NUMBER_MAX - 1),
        HEAD + bytes(3) + bytes([1]) + varint(NUMBER_MAX - 1),
    ],
    ids=[
        "flag", "born without stream", "life", "moves", "generation", "long", "endless", "number", "count", "length",
    ],
)  # fmt: skip
def test_absurd_rows_are_malformed(form, data):
    assert read(form, data) == ([], True)


def to_client(form, payload):
    return form_of(form, "rows").read_to_client(payload)


SIZES = st.one_of(st.integers(0, 40), st.sampled_from([255, 256, 65_535, 65_536]))
MESSAGES = st.one_of(
    st.lists(SIZES.map(bytes), max_size=4), st.sampled_from([15, 16, 70_000]).map(lambda n: [b"m"] * n)
)


@given(NUMBERS, MESSAGES)
def test_messages_for_a_client_are_read_without_an_object(witness, messages):
    payload = REGISTRY.encode(ToClient(witness, tuple(messages)))
    for form in FORMS:
        assert to_client(form, payload) == (witness, messages)


@given(st.integers(-2, 300), st.lists(st.binary(max_size=40), max_size=4), st.data())
def test_what_is_read_of_mangled_messages_is_what_the_table_of_messages_reads(witness, messages, data):
    packed = bytearray(REGISTRY.encode(ToClient(witness, tuple(messages))))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    payload = bytes(packed[: data.draw(st.integers(0, len(packed)))]) + data.draw(st.binary(max_size=1))
    results = [to_client(form, payload) for form in FORMS]
    assert all(each == results[0] for each in results)
    if results[0] is not None:
        assert REGISTRY.decode_nested(payload) == ToClient(results[0][0], tuple(results[0][1]))


@given(st.binary(max_size=60), st.sampled_from([b"", b"\x92\x5b\x92", b"\x92\x5b\x92\x01\x92"]))
def test_messages_of_garbage_are_read_alike_and_never_raise(garbage, head):
    results = [to_client(form, head + garbage) for form in FORMS]
    assert all(each == results[0] for each in results)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "payload",
    [
        REGISTRY.encode(SetWitness(1, True)),
        b"\x92\x5b\x92\xcf" + b"\x40" + bytes(7) + b"\x90",
        b"\x92\x5b\x92\xff\x90",
        b"\x92\x5b\x92\x01\xdd\xff\xff\xff\xff",
        b"\x92\x5b\x92\x01\x91\xc6\xff\xff\xff\xff",
        b"\x92\x5b\x92\x01\x91\xa1m",
        b"\x92\x5b\x92\x01\x90\x00",
    ],
    ids=["another message", "witness", "below zero", "count", "size", "text", "bytes after it"],
)
def test_payload_in_another_form_is_left_to_the_table_of_messages(form, payload):
    assert to_client(form, payload) is None
