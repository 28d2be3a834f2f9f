"""The examples of docs/messages.md are what this code sends and reads."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from terrazzo.sync import protocol
from terrazzo.sync.places import decode_places
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.sync.turns import Turns
from tests.client.town import AVATAR

PAGE = (Path(__file__).parent.parent.parent / "docs" / "messages.md").read_text()
ROW = re.compile(r"^\| (.+?) \| ((?:`[0-9a-f]+` ?)+) \|$", re.MULTILINE)
EXAMPLES = {name: bytes.fromhex("".join(re.findall(r"`([0-9a-f]+)`", data))) for name, data in ROW.findall(PAGE)}
AHEAD = (0.0, 0.0, 0.0)


def announce(entity: int, alias: int) -> bytes:
    message = bytearray(protocol.encode_announce(entity, alias, AVATAR))
    message[-2:] = (3).to_bytes(2, "little")
    return bytes(message)


def loose(turn: int, message: bytes) -> bytes:
    turns = Turns()
    for _ in range(turn):
        turns.end()
        turns.begin()
    return turns.mark(message)


ENCODED = {
    "space 2 at": protocol.encode_space(2, (1.0, 2.0, 3.0), (math.pi / 2, 0.0, 0.0)),
    "announce entity 1000": announce(1000, 7),
    "announce entity 1001": announce(1001, 300),
    "leave of alias 300": protocol.encode_leave(300),
    "moved to": protocol.encode_moved((1.0, 2.0, 3.0), AHEAD),
    "place of alias 7": protocol.with_alias(7, protocol.encode_place((1.0, 2.0, 3.0), AHEAD)),
    "rides: alias 7": protocol.with_alias(7, protocol.EntityMessage(24, encode_ride(Ride(9, (1.0, 2.0, 3.0), AHEAD)))),
    "loose, turn 3": loose(3, protocol.with_alias(7, protocol.EntityMessage(158, b"\1\2"))),
    "renew: alias 7": protocol.encode_renew(7, 4),
    "want entity 1000": protocol.encode_want([(1000, 0), (1001, 5)]),
    "released aliases": protocol.encode_released([7, 300]),
    "space data: gate": protocol.encode_space_data({"gate": 5}),
    "logged off": protocol.encode_logged_off(1, "goodbye"),
}


def example(start: str) -> bytes:
    [data] = [data for name, data in EXAMPLES.items() if name.startswith(start)]
    return data


@pytest.mark.parametrize("name", ENCODED)
def test_examples_of_the_page_are_our_bytes(name):
    assert example(name) == ENCODED[name]


def test_places_of_the_page():
    number, body = protocol.split_message(example("places, turn 7"))
    assert number == protocol.ToClient.PLACES
    turn, [entry] = decode_places(body)
    assert (turn, entry.alias, entry.position, entry.angles) == (7, 1, (2.625, 1.0, 69720.0), (-math.pi,))


def test_every_example_is_checked():
    assert len(EXAMPLES) == len(ENCODED) + 1


@pytest.mark.parametrize("kind", [*protocol.ToClient, *protocol.ToServer])
def test_every_message_is_in_a_table(kind):
    words = kind.name.replace("_", " ").lower()
    table = re.split("^## ", PAGE, flags=re.MULTILINE)[1 + isinstance(kind, protocol.ToServer)]
    rows = [line for line in table.splitlines() if re.match(rf"\| {kind.value}\b|\| 56, {kind.value} ", line)]
    assert len(rows) == 1
    assert words.split()[0] in rows[0]
