"""The packet kernel: each form against the other, against the independent reader, against a plain model."""

from __future__ import annotations

import importlib.util
from collections import deque
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import terrazzo._speed
from terrazzo._speed import packet
from terrazzo.errors import DecodeError
from tests.wire.client import independent


def load_plain():
    path = Path(terrazzo._speed.__file__).with_name("packet.py")
    spec = importlib.util.spec_from_file_location("plain_packet", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLAIN = load_plain()
FORMS = [packet, PLAIN]
both = pytest.mark.parametrize("form", FORMS, ids=["used", "plain"])

NUMBERS = st.integers(0, 2**40)
MESSAGES = st.lists(st.one_of(st.binary(max_size=12), st.integers(250, 260).map(bytes)), max_size=20)
FRAMES = st.one_of(
    st.tuples(st.just(b"\x01"), st.binary(min_size=10, max_size=10), st.integers(0, 34)).map(
        lambda parts: parts[0] + parts[1] + bytes([parts[2]]) + bytes(parts[2])
    ),
    st.binary(min_size=1, max_size=9).map(lambda data: b"\x02\x07\0\0\0" + len(data).to_bytes(2, "little") + data),
    st.binary(max_size=9).map(lambda data: b"\x03" + bytes([len(data)]) + data),
    st.just(b"\x04"),
    st.binary(min_size=4, max_size=4).map(lambda data: b"\x05" + data),
    st.binary(min_size=1, max_size=1).map(lambda data: b"\x06" + data),
    st.binary(min_size=8, max_size=8).map(lambda data: b"\x07" + data),
    st.binary(min_size=8, max_size=8).map(lambda data: b"\x08" + data),
)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.lists(FRAMES, min_size=1, max_size=6).map(b"".join),
    st.tuples(st.lists(FRAMES, max_size=4).map(b"".join), st.integers(0, 40)).map(lambda parts: parts[0][: -parts[1]]),
)


def outcome(call, *arguments):
    """What a call gives, or the words it fails with."""
    try:
        return call(*arguments)
    except (DecodeError, ValueError) as error:
        return type(error), str(error)


def test_the_forms_have_the_same_names_and_constants():
    names = [name for name in vars(PLAIN) if not name.startswith("_") and name[0].isupper()]
    for name in set(names) - {"Ack", "Body", "Window", "DecodeError", "NamedTuple", "Sequence", "Struct"}:
        if name not in ("T", "TypeVar"):
            assert getattr(packet, name) == getattr(PLAIN, name), name


@given(low=st.integers(0, 2**32 - 1), near=NUMBERS)
@example(low=2**32 - 1, near=0)
@example(low=0, near=2**32 - 1)
@example(low=2**31, near=0)
def test_expand_gives_the_nearest(low, near):
    value = packet.expand(low, near)
    assert value == PLAIN.expand(low, near) == independent.expand(low, near)
    assert value % 2**32 == low
    assert value >= 0
    assert abs(value - near) <= 2**31 or near < 2**31


@given(messages=MESSAGES, cut=st.integers(0, 50))
def test_messages_come_out_of_the_stream_as_they_went_in(messages, cut):
    streams = []
    for form in FORMS:
        stream = bytearray(b"")
        form.append_messages(stream, messages, 300)
        streams.append(bytes(stream))
        split = max(0, len(stream) - cut)
        first, rest = stream[:split], stream[split:]
        taken = form.take_messages(first, 300)
        first += rest
        assert taken + form.take_messages(first, 300) == messages
        assert not first
    assert streams[0] == streams[1]


@both
def test_messages_over_the_limit_are_refused(form):
    stream = bytearray(b"x")
    with pytest.raises(ValueError, match="11 bytes is over the limit of 10"):
        form.append_messages(stream, [b"", bytes(11)], 10)
    assert stream == b"x"
    with pytest.raises(DecodeError):
        form.take_messages(bytearray(b"\x0b"), 10)
    with pytest.raises(DecodeError):
        form.take_messages(bytearray(b"\xff\x0a\0\0"), 10)


@given(stream=st.binary(max_size=40))
def test_any_stream_gives_the_same_in_both_forms(stream):
    left, right = bytearray(stream), bytearray(stream)
    assert outcome(packet.take_messages, left, 20) == outcome(PLAIN.take_messages, right, 20)
    assert left == right


@given(messages=MESSAGES, room=st.integers(-5, 600), share=st.integers(-5, 600))
def test_fitting_messages_takes_no_more_than_the_room(messages, room, share):
    queues = [deque(messages), deque(messages)]
    fitting = [form.fit_messages(queue, room, share) for form, queue in zip(FORMS, queues, strict=True)]
    assert fitting[0] == fitting[1] == messages[: len(fitting[0])]
    assert list(queues[0]) == list(queues[1]) == messages[len(fitting[0]) :]
    size = len(packet.encode_body(None, b"", bytearray(), 0, [], fitting[0]))
    assert size <= max(room, 0)
    assert len(fitting[0]) <= 1 or size <= share


@given(
    ack=st.none() | st.tuples(NUMBERS, st.integers(0, 0xFFFF), NUMBERS, st.binary(max_size=32)),
    control=st.sampled_from([b"", b"\x04", b"\x05\1\2\3\4\x04"]),
    base=NUMBERS,
    stream=st.binary(min_size=30, max_size=30),
    spans=st.lists(st.tuples(st.integers(0, 14), st.integers(15, 30)), max_size=3),
    messages=MESSAGES,
)
def test_bodies_are_the_same_in_both_forms_and_parse(ack, control, base, stream, spans, messages):
    full = [(base + start, base + stop) for start, stop in spans]
    arguments = (ack, control, bytearray(stream), base, full, messages)
    body = packet.encode_body(*arguments)
    assert body == PLAIN.encode_body(*arguments)
    if not body:
        return
    parsed = packet.decode_body(body)
    assert parsed.messages == messages
    assert parsed.chunks == [((base + start) % 2**32, stream[start:stop]) for start, stop in spans]
    if ack is not None:
        assert parsed.ack == (ack[0] % 2**32, ack[1], ack[2] % 2**32, ack[3])


@given(body=BODIES)
def test_any_body_gives_the_same_in_both_forms_and_to_the_independent_reader(body):
    used, plain = outcome(packet.decode_body, body), outcome(PLAIN.decode_body, body)
    assert tuple(used) == tuple(plain)
    try:
        frames = independent.parse_body(body)
    except independent.Malformed:
        assert used[0] is DecodeError
        return
    messages = [frame["data"] for frame in frames if frame["frame"] == "MESSAGE"]
    chunks = [(frame["offset"], frame["data"]) for frame in frames if frame["frame"] == "STREAM"]
    eliciting = any(frame["frame"] not in ("ACK", "CLOSE", "ANSWER") for frame in frames)
    assert (used.messages, used.chunks, used.eliciting) == (messages, chunks, eliciting)
    once = {frame["frame"]: frame for frame in frames}
    assert used.end == once.get("END", {"final": -1})["final"]
    assert used.close == once.get("CLOSE", {"reason": -1})["reason"]
    assert used.challenge == once.get("CHALLENGE", {"token": None})["token"]
    assert used.answer == once.get("ANSWER", {"token": None})["token"]
    assert (used.ack is None) == ("ACK" not in once)


@given(
    flying=st.sets(st.integers(0, 80)),
    newest=st.integers(0, 80),
    bits=st.binary(max_size=9),
)
def test_acknowledged_packets_are_taken(flying, newest, bits):
    named = {newest} | {newest - 1 - i for i in range(8 * len(bits)) if bits[i // 8] >> i % 8 & 1}
    for form in FORMS:
        in_flight = {number: f"packet {number}" for number in sorted(flying)}
        taken = form.take_acked(in_flight, newest, bits)
        assert taken == [f"packet {number}" for number in sorted(flying & named, reverse=True)]
        assert list(in_flight) == sorted(flying - named)


@given(start=st.sampled_from([0, 2**32 - 40]), steps=st.lists(st.integers(-1100, 1100), max_size=40))
def test_the_window_remembers_what_has_come(start, steps):
    """Against a set of all numbers that were marked."""
    windows = [form.Window() for form in FORMS]
    seen, newest, number = set(), -1, start
    for step in steps:
        number = max(0, number + step)
        expected = number > newest or (newest - number < packet.NUMBER_WINDOW and number not in seen)
        for window in windows:
            assert window.fresh(number) == expected
            window.mark(number)
            assert not window.fresh(number)
        newest = max(newest, number)
        if newest - number < packet.NUMBER_WINDOW:
            seen.add(number)
        bits = windows[0].bits(32)
        assert bits == windows[1].bits(32)
        assert windows[0].newest == windows[1].newest == newest
        for i in range(256):
            assert bits[i // 8] >> i % 8 & 1 == (newest - 1 - i in seen)


@both
def test_a_new_window_takes_anything_and_acknowledges_nothing(form):
    window = form.Window()
    assert window.fresh(0)
    assert window.newest == -1
    assert window.bits(4) == bytes(4)
