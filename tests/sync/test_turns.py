"""Turns: whatever is late, lost or overtaken, nothing unreliable is taken for another entity's."""

from __future__ import annotations

import struct
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo.base.shown import Shown
from terrazzo.sync import protocol
from terrazzo.sync.protocol import MethodTable, ToServer, decode_released, decode_want, split_message
from terrazzo.sync.turns import Turns
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import Changed, Moved, Violation
from tests.client.town import CREATURE, SCHEMA, base_row, cell_row, describe, places_message

TABLE = MethodTable(SCHEMA)
AVATAR = SCHEMA["Avatar"]
AHEAD = (0.0, 0.0, 0.0)
CELL_PLAYER = protocol.encode_cell_player(AVATAR, 1, AHEAD, AHEAD, cell_row())


def test_a_turn_begins_with_the_first_name_after_one_has_ended():
    turns = Turns()
    assert [turns.begin(), turns.begin()] == [0, 0]
    turns.end()
    assert turns.now == 0
    turns.end()
    assert [turns.begin(), turns.begin()] == [1, 1]
    for _ in range(255):
        turns.end()
        turns.begin()
    assert turns.now == 256
    assert turns.begin_again() == 257
    assert turns.begin() == 257


@pytest.mark.parametrize(
    ("turn", "begun", "now", "fits"),
    [
        (5, 5, 5, True),
        (6, 5, 9, True),
        (4, 5, 9, False),
        (2, 250, 258, True),
        (2, 0, 258, True),
        (130, 0, 258, False),
        (131, 0, 258, True),
        (6, 5, 5, False),
        (1, 250, 255, False),
    ],
)
def test_turn_covers_messages_about_the_present_alias(turn, begun, now, fits):
    turns = Turns()
    turns.now = now
    assert turns.covers(turn, begun) is fits


def test_how_messages_are_marked():
    turns = Turns()
    turns.end()
    turns.begin()
    assert turns.mark(places_message((1, AHEAD, ()), tick=99)) == places_message((1, AHEAD, ()), tick=1)
    assert turns.mark(b"\x9e\x01change") == b"\x17\x01\x9e\x01change"


def change(prop: str, alias: int, value: bytes) -> bytes:
    return protocol.with_alias(alias, protocol.EntityMessage(158 + CREATURE.client_layout.index[prop], value))


class Story:
    """A server and its client, with the two kinds of messages on ways of their own."""

    def __init__(self) -> None:
        self.shown = Shown()
        self.view = ClientView(TABLE)
        self.view.apply(protocol.encode_base_player(1, AVATAR, base_row()))
        self.reliable: deque[bytes] = deque()
        self.unreliable: deque[bytes] = deque()
        self.holders: dict[int, int] = {}
        self.described: set[int] = set()
        self.resting: set[int] = set()
        self.next = 100
        self.taken = 0
        self.homes = 0
        self.known: dict[int, float] = {}
        """The home of each entity, as the client has it."""
        self.say(CELL_PLAYER)

    def say(self, message: bytes) -> None:
        before = self.shown.note(message)
        self.reliable.extend([before, message] if before else [message])

    def say_loosely(self, message: bytes) -> None:
        if self.shown.has_to_wait(message):
            self.say(message)
        else:
            self.unreliable.append(self.shown.mark(message))

    def announce(self) -> None:
        alias = next(each for each in range(1, 99) if each not in self.holders and each not in self.resting)
        self.next += 1
        self.holders[alias] = self.next
        self.say(protocol.encode_announce(self.next, alias, CREATURE))

    def leave(self) -> None:
        if self.holders:
            alias = min(self.holders)
            self._end([alias])
            self.say(protocol.encode_leave(alias))

    def space(self) -> None:
        self._end(list(self.holders))
        self.say(protocol.encode_space(2, AHEAD, AHEAD))

    def _end(self, aliases: list[int]) -> None:
        for alias in aliases:
            self.described.discard(self.holders.pop(alias))
            self.resting.add(alias)

    def new_body(self) -> None:
        """As the BaseApp does it: the record of the former client is dropped."""
        self._end(list(self.holders))
        self.resting.clear()
        self.say(protocol.encode_cell_lost())
        self.say(CELL_PLAYER)

    def tell(self) -> None:
        """The place of each entity, and a change of each: both have the entity in them."""
        for alias, entity in self.holders.items():
            if entity in self.described:
                self.say_loosely(places_message((alias, (entity, 0.0, 0.0), ())))
                self.say_loosely(change("species", alias, entity.to_bytes(2, "little")))
                self.say_loosely(self._next_home(alias))

    def tell_surely(self) -> None:
        """A property of each entity that was sent unreliably before, or never."""
        for alias, entity in self.holders.items():
            if entity in self.described:
                self.say(self._next_home(alias))

    def _next_home(self, alias: int) -> bytes:
        self.homes += 1
        return change("home", alias, struct.pack("<3f", self.homes, 0.0, 0.0))

    def hear(self) -> None:
        if self.reliable:
            self._apply(self.reliable.popleft())

    def hear_loose(self) -> None:
        if self.unreliable:
            self._apply(self.unreliable.popleft())

    def lose(self) -> None:
        if self.unreliable:
            self.unreliable.popleft()

    def _apply(self, message: bytes) -> None:
        for event in self.view.apply(message):
            assert not isinstance(event, Violation), event
            if isinstance(event, Moved):
                assert event.entity.position[0] == event.entity.id, "it took a place that was another's"
                self.taken += 1
            if isinstance(event, Changed):
                if event.name == "species":
                    assert event.entity.state["species"] == event.entity.id, "it took a value that was another's"
                else:
                    entity, home = event.entity.id, event.entity.state["home"][0]
                    assert home > self.known.get(entity, 0.0), "it took an older value after a newer one"
                    self.known[entity] = home

    def answer(self) -> None:
        """The client's answers reach the cell through the base."""
        for message in self.view.answers():
            number, body = split_message(message)
            if number == ToServer.WANT:
                for entity, known in decode_want(body):
                    self.shown.want(entity, known)
            else:
                for alias in decode_released(body):
                    self.shown.release(alias)
        wants, released = self.shown.take()
        self.resting.difference_update(released)
        for entity, _ in wants:
            alias = next(alias for alias, holder in self.holders.items() if holder == entity)
            self.described.add(entity)
            self.say(describe(CREATURE, alias, (float(entity), 0.0, 0.0), number=0))

    def catch_up(self) -> None:
        """All reliable messages are received and answered."""
        while self.reliable:
            while self.reliable:
                self.hear()
            self.answer()


TELLING = ("tell", "tell", "tell_surely", "tell_surely")
STEPS = ("announce", "leave", "space", "new_body", *TELLING, "hear", "hear_loose", "lose", "answer", *["catch_up"] * 4)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(STEPS), max_size=80))
def test_no_unreliable_message_is_applied_to_another_entity(steps):
    story = Story()
    for step in ("announce", "announce", "catch_up", "tell", *steps, "catch_up"):
        getattr(story, step)()
    assert story.view._turns.now == story.shown.turns.now
    story.unreliable.clear()
    before = story.taken
    story.tell()
    while story.unreliable:
        story.hear_loose()
    assert story.taken == before + len(story.view.others), "what is meant for somebody who is there is taken"


@pytest.mark.parametrize("ending", [["leave", "hear", "answer"], ["new_body", "hear", "hear"]])
def test_a_straggler(ending):
    """Sent about one entity, and received when another has its alias."""
    story = Story()
    for step in ("announce", "hear", "hear", "answer", "hear", "tell", *ending, "announce", "hear", "answer", "hear"):
        getattr(story, step)()
    [other] = story.view.others.values()
    assert other.alias == 1
    for _ in range(3):
        story.hear_loose()
    assert (story.taken, story.view.late) == (0, 3)
    story.tell()
    story.hear_loose()
    assert story.taken == 1


def test_an_older_value_that_arrives_after_a_newer_one():
    """The loose one was sent first, and arrives last; one that is sent later is taken."""
    story = Story()
    for step in ("announce", "catch_up", "tell", "tell_surely", "catch_up", "hear_loose", "hear_loose", "hear_loose"):
        getattr(story, step)()
    [other] = story.view.others.values()
    assert (other.state["home"][0], story.view.late) == (2, 3)
    for step in ("tell", "catch_up", *["hear_loose"] * 2):
        getattr(story, step)()
    assert (other.state["home"][0], story.view.late) == (3, 3)


def test_newer_value_stays_behind_an_older_one_that_is_sent_reliably():
    """Loose in name, it is sent reliably as well, until a turn begins."""
    story = Story()
    for step in ("announce", "catch_up", "tell_surely", "tell", *["hear_loose"] * 3):
        getattr(story, step)()
    [other] = story.view.others.values()
    assert (other.state["home"][0], len(story.reliable)) == (0, 2)
    for step in ("catch_up", "announce", "leave", "announce", "catch_up", "tell"):
        getattr(story, step)()
    assert (other.state["home"][0], story.reliable) == (2, deque())


def test_reliable_value_between_two_loose_ones_is_not_undone_by_either():
    story = Story()
    for step in ("announce", "catch_up", "tell", "tell_surely", "hear", "tell", *["hear_loose"] * 6, "hear"):
        getattr(story, step)()
    [other] = story.view.others.values()
    assert other.state["home"][0] == 2


def test_one_turn_is_enough_for_all_that_are_renewed_at_once():
    story = Story()
    for step in (*["announce"] * 50, "catch_up", "tell", "tell_surely", "tell_surely", "catch_up"):
        getattr(story, step)()
    assert story.shown.turns.now == story.view._turns.now == 1


@pytest.mark.parametrize("turn", [2, 128, 255])
def test_renewal_has_the_present_turn_or_the_next(turn):
    view = ClientView(TABLE)
    for message in (protocol.encode_base_player(1, AVATAR, base_row()), CELL_PLAYER):
        view.apply(message)
    assert view.apply(protocol.encode_renew(0, 0)) == []
    [event] = view.apply(protocol.encode_renew(0, turn))
    assert isinstance(event, Violation)
    assert view._turns.now == 0


def test_entity_in_the_view_for_long_gets_its_messages():
    """However many others come and go meanwhile."""
    view = ClientView(TABLE)
    for message in (protocol.encode_base_player(1, AVATAR, base_row()), CELL_PLAYER):
        view.apply(message)
    view.apply(protocol.encode_announce(70, 1, AVATAR))
    view.apply(describe(AVATAR, 1, AHEAD))
    for turn in range(1, 600):
        for message in (protocol.encode_announce(71, 2, CREATURE), protocol.encode_leave(2)):
            assert view.apply(message) == []
        view.answers()
        [event] = view.apply(places_message((1, (float(turn % 7), 0.0, 0.0), ()), tick=turn - 1 & 255))
        assert isinstance(event, Moved)
    assert view.late == 0
