"""PLACES in the browser client: any sections give the places that the Python decoder gives, in arrays that stay."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrazzo.errors import DecodeError
from terrazzo.sync import protocol
from terrazzo.sync.places import decode_places
from terrazzo.sync.protocol import ToClient
from tests.client.town import SCHEMA, places_message
from tests.client.view_scene import BOBS, HERE, RATS, STORY, TABLE, for_bob
from tests.tools import web_speed
from tests.web.node import codec_of, needs_node
from tests.web.test_web_view import RAT_PLACE, RIDES, ask, check, live

pytestmark = needs_node

BEGUN = STORY[:6]
PRESENT = [BOBS, RATS]


@pytest.fixture(scope="module")
def node():
    with codec_of(SCHEMA) as asked:
        yield asked


@st.composite
def entries(draw: Any, form: int) -> bytes:
    """One place of this form, of an entity that is there or of none."""
    alias = protocol.encode_alias(draw(st.sampled_from([*PRESENT, 0, 2, 254, 65535])))
    packed: bytes
    if form >> 2 == 2:
        numbers = [draw(st.floats(width=32, allow_nan=False, allow_infinity=False)) for _ in range(3 + (form & 3))]
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
    else:
        size = (3, 5)[form >> 2] + (form & 3)
        packed = draw(st.binary(min_size=size, max_size=size))
    return alias + packed


@st.composite
def messages(draw: Any) -> bytes:
    """Any sections behind any reference."""
    reference: bytes = draw(st.binary(min_size=6, max_size=6)) + struct.pack("<f", draw(st.floats(-1e6, 1e6, width=32)))
    packed = bytes([ToClient.PLACES, draw(st.sampled_from([0, 0, 0, 255]))]) + reference
    for form in draw(st.lists(st.integers(0, 11), max_size=4)):
        section: list[bytes] = draw(st.lists(entries(form), max_size=4))
        packed += bytes([form, len(section)]) + b"".join(section)
    return packed


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(messages(), min_size=1, max_size=4))
def test_any_sections_give_the_places_of_the_python_decoder(node, told):
    ours = live(TABLE, [*BEGUN, *told])
    assert not [each for each in ours["told"] if ["violation"] in each]
    check(ask(node, [*BEGUN, *told]), ours)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(messages(), st.data())
def test_damaged_places_change_nothing_or_what_they_change_in_python(node, message, data):
    cut = message[: data.draw(st.integers(1, len(message)))]
    at = data.draw(st.integers(1, len(message) - 1))
    changed = message[:at] + data.draw(st.binary(min_size=1, max_size=1)) + message[at + 1 :]
    story = [*BEGUN, cut, changed, places_message((BOBS, HERE, (float("nan"),)))]
    check(ask(node, story), live(TABLE, story))


def test_message_may_have_more_places_than_any_before_it(node):
    section = bytes([0, 255]) + b"".join(protocol.encode_alias(BOBS) + bytes([at, at, 1]) for at in range(255))
    message = bytes([ToClient.PLACES, 0]) + bytes(10) + section * 12
    assert len(decode_places(message[1:]).entries) == 12 * 255
    story = [*BEGUN, message, places_message((RATS, HERE, (1.0,)))]
    check(ask(node, story), live(TABLE, story))


def test_page_that_asks_for_no_events_has_the_same_places_in_the_arrays_of_the_beginning(node):
    """Through everything that can move an entity, in every form, on vehicles and off them."""
    moves = [
        places_message((BOBS, HERE, (0.5,)), (RATS, (7.0, 8.0, 9.0), ())),
        *web_speed.places(5, 1)[:3],
        RIDES[0],
        places_message((BOBS, (1.5, 2.5, 3.5), (0.25, 1.0, 2.0))),
        RAT_PLACE,
        RIDES[3],
        protocol.encode_moved((3.0, 2.0, 1.0), (1.0, 0.0, 0.0)),
        RIDES[1],
        for_bob("health", 7),
    ]
    theirs = node.ask(op="quiet", messages=[each.hex() for each in (*BEGUN, *moves)], begun=len(BEGUN))
    ours = live(TABLE, [*BEGUN, *moves])
    assert (theirs["isQuiet"], theirs["violations"], theirs["late"]) == (True, 0, ours["late"])
    for (entity, position, direction), (mine, _, where, towards) in zip(theirs["places"], ours["known"], strict=True):
        assert entity == mine
        assert position == pytest.approx(where, rel=1e-6, abs=1e-6)
        assert direction == pytest.approx(towards, rel=1e-6, abs=1e-6)
    assert ["health", 7] in theirs["properties"][1]["$record"]


def test_figures_of_the_decoder_are_measured_and_a_place_leaves_no_object():
    """No time is asserted. The bytes, about 260, are those of numbers in code that Node has not compiled; with an
    object and its arrays for each place, they were 2,400."""
    figures = web_speed.measure(web_speed.CLIENT, "--no-opt", rounds=2, warm=1, entries=3000)
    assert {name for name, _, _, _ in web_speed.cases()} == figures.keys()
    for name, each in figures.items():
        assert each["late"] == 0
        assert bool(each["events"]) == ("onMoved" in name or "onChange" in name)
        if name.startswith("places"):
            assert each["bytes_per_entry"] < 500, name


def test_places_that_the_benchmark_sends_are_valid():
    for form in (1, 5, 9):
        for message in web_speed.places(form, 3):
            assert len(decode_places(message[1:]).entries) == web_speed.PLACES
    with pytest.raises(DecodeError):
        decode_places(web_speed.places(1, 3)[0][1:-1])
