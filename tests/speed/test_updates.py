"""What a CellApp writes for clients: the bytes of rows and words, and what is refused of them, in both forms."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError, UsageError
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates, ToClient
from tests.speed.forms import FORMS, form_of


def messages_in(payloads):
    found = []
    for payload in payloads:
        message = REGISTRY.decode_nested(payload)
        assert isinstance(message, ToClient)
        found.append(message.messages)
    return found


ANN = (7, 1, (b"\x15abc", b""), (9, 4))
BEN = (-8, (1 << 62) - 1, (b"x" * 300,), (-1, 0))
LOTS = 1 << 30

rows_of = st.lists(
    st.tuples(
        st.integers(-(1 << 31), (1 << 31) - 1),
        st.integers(-1, (1 << 62) - 1),
        st.lists(st.binary(max_size=40), min_size=1, max_size=5).map(tuple),
        st.tuples(st.integers(-1, (1 << 62) - 1), st.integers(-1, (1 << 62) - 1)),
    ),
    max_size=5,
)


@pytest.fixture(params=FORMS)
def form(request):
    return form_of(request.param, "updates")


def test_golden_row(form):
    counters = bytes.fromhex("0100000000000000 0900000000000000 0400000000000000")
    expected = bytes.fromhex("07000000 08000000") + counters + b"\4\0\x15abc\0\0"
    assert form.encode_updates([ANN]) == expected
    assert form.decode_updates(expected) == [ANN]


@pytest.mark.parametrize("name", FORMS)
@given(updates=rows_of)
def test_rows_come_back(name, updates):
    form = form_of(name, "updates")
    rows = form.encode_updates(updates)
    assert form.decode_updates(rows) == updates
    assert rows == form_of("plain", "updates").encode_updates(updates)


@pytest.mark.parametrize("name", FORMS)
@given(updates=rows_of, kind=st.integers(0, 255), turn=st.integers(0, 255))
def test_reader_gives_the_rows_one_by_one(name, updates, kind, turn):
    form = form_of(name, "updates")
    reader = form.UpdateReader(form.encode_updates(updates))
    for entity, witness, messages, after in updates:
        assert reader.next()
        assert (reader.entity, reader.witness, reader.generation, reader.number) == (entity, witness, *after)
        for each in messages:
            assert reader.row() == (entity, witness, messages, after)
            is_marked = len(each) > 1 and each[0] == kind
            expected = each[:1] + bytes((turn,)) + each[2:] if is_marked else each
            assert reader.next_message(kind, turn) == expected
        assert reader.next_message(kind, turn) is None
    assert not reader.next()


@given(updates=rows_of, data=st.data())
def test_reader_refuses_what_is_no_rows_as_a_whole(updates, data):
    mangled = bytearray(form_of("plain", "updates").encode_updates(updates))
    for _ in range(data.draw(st.integers(0, 3)) if mangled else 0):
        mangled[data.draw(st.integers(0, len(mangled) - 1))] = data.draw(st.integers(0, 255))
    rows = bytes(mangled[: data.draw(st.integers(0, len(mangled)))])
    for name in FORMS:
        form = form_of(name, "updates")
        try:
            expected = form.decode_updates(rows)
        except DecodeError as problem:
            with pytest.raises(DecodeError, match=re.escape(str(problem))):
                form.UpdateReader(rows)
        else:
            reader, found = form.UpdateReader(rows), []
            while reader.next():
                found.append(reader.row())
            assert found == expected


@pytest.mark.parametrize("name", FORMS)
@given(data=st.binary(max_size=120))
def test_noise_is_refused_or_read_alike(name, data):
    def outcome(which):
        try:
            return form_of(which, "updates").decode_updates(data)
        except DecodeError as problem:
            return str(problem)

    assert outcome(name) == outcome("plain")


def test_rows_that_are_cut_off_are_refused(form):
    rows = form.encode_updates([ANN, BEN])
    ends = {0, len(form.encode_updates([ANN])), len(rows)}
    for end in range(len(rows)):
        if end not in ends:
            with pytest.raises(DecodeError):
                form.decode_updates(rows[:end])


@pytest.mark.parametrize("at", [8, 16, 24])
@pytest.mark.parametrize("count", [1 << 62, -2])
def test_a_counter_out_of_range_is_refused(form, at, count):
    rows = bytearray(form.encode_updates([ANN]))
    rows[at : at + 8] = count.to_bytes(8, "little", signed=True)
    with pytest.raises(DecodeError, match="out of range"):
        form.decode_updates(bytes(rows))


def test_messages_that_do_not_fill_their_row_are_refused(form):
    rows = bytearray(form.encode_updates([ANN]))
    rows[32] += 1
    with pytest.raises(DecodeError, match="do not fill"):
        form.decode_updates(bytes(rows))


def test_of_more_messages_than_may_be_the_last_are_kept(form):
    rows = form.UpdateRows()
    for number in range(5):
        rows.put(bytes([number]) * number)
    assert rows.end(7, 1, 0, 0, 2) == 3
    rows.put(b"b")
    assert rows.end(8, 1, 0, 0, 2) == 0
    assert rows.end(9, 1, 0, 0, 2) == 0, "without a message there is no row"
    assert len(rows) == 2
    (part,) = rows.take(LOTS, LOTS)
    assert [(each[0], each[2]) for each in form.decode_updates(part)] == [(7, (b"\3" * 3, b"\4" * 4)), (8, (b"b",))]
    assert rows.take(LOTS, LOTS) == []


def test_a_row_that_is_dropped_leaves_no_trace(form):
    rows = form.UpdateRows()
    rows.put(b"a")
    rows.end(7, 1, 0, 0, 9)
    rows.put(b"b")
    rows.drop()
    rows.drop()
    rows.put(b"c")
    rows.end(8, 1, 0, 0, 9)
    (part,) = rows.take(LOTS, LOTS)
    assert part == form.encode_updates([(7, 1, (b"a",), (0, 0)), (8, 1, (b"c",), (0, 0))])


def test_rows_are_taken_in_parts(form):
    rows, several = form.UpdateRows(), [(number, 1, (bytes(100),), (0, 0)) for number in range(10)]
    rows.extend(form.encode_updates(several))
    by_count = rows.take(4, LOTS)
    assert [len(form.decode_updates(part)) for part in by_count] == [4, 4, 2]
    rows.extend(b"".join(by_count))
    by_size = rows.take(LOTS, 200)
    assert [len(form.decode_updates(part)) for part in by_size] == [2] * 5
    assert form.decode_updates(b"".join(by_size)) == several


def test_a_message_that_is_too_long_for_a_row_is_refused_before_it_is_written(form):
    rows = form.UpdateRows()
    with pytest.raises(UsageError, match="65536 bytes"):
        rows.put(bytes(65536))
    rows.put(bytes(65535))
    rows.end(7, 1, 0, 0, 9)
    assert len(form.decode_updates(rows.take(LOTS, LOTS)[0])[0][2][0]) == 65535


def test_the_message_has_its_rows():
    update = ClientUpdate(7, 1, (b"abc",), (3, 4))
    (message,) = REGISTRY.decode_bundle(b"\xdd\0\0\0\1" + REGISTRY.encode(ClientUpdates.of(update)))
    assert isinstance(message, ClientUpdates)
    assert message.read() == [update]
    with pytest.raises(DecodeError):
        ClientUpdates(message.rows[:-1]).read()


# Words.


@pytest.mark.parametrize("witness", [-1, 0, 1, 127, 128, 255, 256, 65536, (1 << 32) - 1, 1 << 32, (1 << 62) - 1])
@pytest.mark.parametrize("count", [1, 15, 16, 300])
def test_words_are_the_payload_of_a_message_to_a_client(form, witness, count):
    words = form.Words(LOTS)
    messages = tuple(bytes([number & 255]) * (number % 5) for number in range(count))
    assert not words
    for each in messages:
        words.put(each)
    assert words
    (payload,) = words.take(witness)
    assert payload == REGISTRY.encode(ToClient(witness, messages))
    assert REGISTRY.decode_nested(payload) == ToClient(witness, messages)
    assert not words
    assert words.take(witness) == []


@pytest.mark.parametrize("size", [0, 255, 256, 65535, 65536, 70000])
def test_a_word_of_any_size(form, size):
    words = form.Words(LOTS)
    words.put(bytes(size))
    assert words.take(5) == [msgspec.msgpack.encode((91, (5, [bytes(size)])))]


def test_words_that_are_too_many_bytes_are_several_payloads(form):
    words = form.Words(100)
    messages = [b"a" * 60, b"b" * 40, b"c", b"d" * 500, b"e", b"f" * 99]
    for each in messages:
        words.put(each)
    assert messages_in(words.take(1)) == [
        tuple(messages[:2]),
        tuple(messages[2:3]),
        tuple(messages[3:4]),
        tuple(messages[4:]),
    ]


def test_words_that_are_dropped_are_not_sent(form):
    words = form.Words(10)
    words.put(b"aaaaaaaaa")
    words.put(b"bbbb")
    words.drop()
    words.put(b"c")
    assert messages_in(words.take(1)) == [(b"c",)]
