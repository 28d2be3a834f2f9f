"""A client's view: what each message does, and that nothing which does not fit the story changes it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo._speed.values import Change
from terrazzo.schema.model import Side
from terrazzo.schema.state import State
from terrazzo.sync import protocol
from terrazzo.sync.protocol import MethodTable, Place
from terrazzo.sync.view import View
from terrazzo.sync.view_events import (
    BasePlayer,
    Called,
    CellLost,
    CellPlayer,
    Changed,
    Entered,
    Fault,
    Left,
    LoggedOff,
    Moved,
    Violation,
)
from tests.client.town import AVATAR, CREATURE, SCHEMA, base_row, cell_row, places

TABLE = MethodTable(SCHEMA)
HERE = (1.0, 2.0, 3.0)
THERE = (4.0, 5.0, 6.0)
ME, BOB, RAT = 10, 11, 12

BASE_PLAYER = protocol.encode_base_player(ME, AVATAR, base_row())
CELL_PLAYER = protocol.encode_cell_player(AVATAR, 1, HERE, 0.5, cell_row(health=80, name="Ann"))
BOB_ENTERS = protocol.encode_enter(BOB, AVATAR, THERE, 1.0, places(AVATAR, health=60, name="Bob", mood=2))
RAT_ENTERS = protocol.encode_enter(RAT, CREATURE, THERE, 1.0, places(CREATURE, species=9))


def view_after(*messages):
    view = View(TABLE)
    for message in messages:
        for event in view.apply(message):
            assert not isinstance(event, Violation), event
    return view


def playing():
    return view_after(BASE_PLAYER, CELL_PLAYER, BOB_ENTERS, RAT_ENTERS)


def picture(view):
    """Everything a view knows."""
    known = [view.player, *view.others.values()]
    entities = [(each.id, each.position, each.yaw, each.state.encode()) for each in known if each is not None]
    return entities, view.space, view.is_over


def change_message(entity, schema, state, edit):
    """The message of the change that `edit` makes to a state that equals the client's."""
    heard: list[Change] = []
    state.listener = heard.append
    edit(state)
    [change] = heard
    return protocol.encode_change(entity, change, change.prop, len(schema.client_layout))


def server_state(schema, **values):
    state = State(schema.client_layout)
    for name, value in values.items():
        state[name] = value
    return state


def test_base_player_comes_first_with_the_base_properties():
    view = View(TABLE)
    [event] = view.apply(BASE_PLAYER)
    assert isinstance(event, BasePlayer)
    assert view.player is event.entity
    assert (event.entity.id, event.entity.schema) == (ME, AVATAR)
    assert event.entity.state["account"] == "ann@example.org"
    assert event.entity.state["health"] == 100
    assert view.space is None


def test_cell_player_brings_the_body_and_keeps_the_base_properties():
    view = view_after(BASE_PLAYER)
    [event] = view.apply(CELL_PLAYER)
    assert isinstance(event, CellPlayer)
    assert (event.space, view.space) == (1, 1)
    player = event.entity
    assert (player.position, player.yaw) == (HERE, 0.5)
    assert (player.state["health"], player.state["name"], player.state["gold"]) == (80, "Ann", 7)
    assert player.state["account"] == "ann@example.org"


def test_what_a_server_sent_is_not_held_to_limits_for_assigning():
    long_name = "longer than its column"
    view = view_after(BASE_PLAYER, protocol.encode_cell_player(AVATAR, 1, HERE, 0.0, cell_row(name=long_name)))
    assert view.player.state["name"] == long_name


def test_enter_gives_the_properties_that_came_and_defaults_for_the_others():
    view = view_after(BASE_PLAYER, CELL_PLAYER)
    [event] = view.apply(BOB_ENTERS)
    assert isinstance(event, Entered)
    bob = event.entity
    assert view.others == {BOB: bob}
    assert (bob.position, bob.yaw) == (THERE, 1.0)
    assert (bob.state["health"], bob.state["name"], bob.state["mood"], bob.state["gold"]) == (60, "Bob", 2, 7)


def test_leave_and_enter_again():
    view = playing()
    bob = view.others[BOB]
    [event] = view.apply(protocol.encode_leave(BOB))
    assert isinstance(event, Left)
    assert event.entity is bob
    assert list(view.others) == [RAT]
    [event] = view.apply(BOB_ENTERS)
    assert isinstance(event, Entered)
    assert event.entity is not bob


def test_cell_lost_takes_the_others_too():
    view = playing()
    events = view.apply(protocol.encode_cell_lost())
    assert [type(each) for each in events] == [Left, Left, CellLost]
    assert [each.entity.id for each in events] == [BOB, RAT, ME]
    assert view.others == {}
    assert view.space is None
    [event] = view.apply(CELL_PLAYER)
    assert isinstance(event, CellPlayer)


def test_moved_puts_the_own_entity():
    view = playing()
    [event] = view.apply(protocol.encode_moved(THERE, 2.0))
    assert isinstance(event, Moved)
    assert event.entity is view.player
    assert (view.player.position, view.player.yaw) == (THERE, 2.0)


def test_places_move_who_is_there_and_pass_over_who_is_not():
    view = playing()
    [message] = protocol.encode_places([Place(BOB, HERE, 0.0), Place(99, HERE, 0.0), Place(RAT, HERE, 0.25)])
    events = view.apply(message)
    assert [type(each) for each in events] == [Moved, Moved]
    assert view.others[BOB].position == view.others[RAT].position == HERE
    assert view.others[RAT].yaw == 0.25
    assert view.late_places == 1
    assert not view.faults


def test_a_whole_property():
    view = playing()
    state = server_state(AVATAR, health=60)
    [event] = view.apply(change_message(BOB, AVATAR, state, lambda state: state.__setitem__("health", 55)))
    assert isinstance(event, Changed)
    assert (event.entity.id, event.name, event.applied.old) == (BOB, "health", 60)
    assert view.others[BOB].state["health"] == 55


def test_nested_and_slice_changes():
    view = view_after(
        BASE_PLAYER, protocol.encode_cell_player(AVATAR, 1, HERE, 0.0, cell_row(bag=[{"kind": 1, "count": 2}]))
    )
    state = server_state(AVATAR, bag=[{"kind": 1, "count": 2}])
    [event] = view.apply(change_message(ME, AVATAR, state, lambda state: setattr(state["bag"][0], "count", 9)))
    assert event.applied.callback("bag") == ("set_nested_bag", ([0, "count"], 2))
    [event] = view.apply(change_message(ME, AVATAR, state, lambda s: s["bag"].append({"kind": 5, "count": 1})))
    assert event.applied.callback("bag") == ("set_slice_bag", ([(1, 2)], []))
    assert view.player.state["bag"] == [{"kind": 1, "count": 9}, {"kind": 5, "count": 1}]


def test_base_properties_change_without_a_body():
    view = view_after(BASE_PLAYER)
    state = server_state(AVATAR, account="ann@example.org")
    message = change_message(ME, AVATAR, state, lambda state: state.__setitem__("account", "new"))
    [event] = view.apply(message)
    assert isinstance(event, Changed)
    assert view.player.state["account"] == "new"


def test_calls():
    view = playing()
    [method] = AVATAR.client_methods
    args = method.encode_args("hello", 3)
    for entity in (ME, BOB):
        [event] = view.apply(TABLE.encode_call(entity, AVATAR, Side.CLIENT, "on_said", args))
        assert isinstance(event, Called)
        assert (event.entity.id, event.method, event.args) == (entity, method, ["hello", 3])


def test_logged_off_is_the_last_word():
    view = playing()
    [event] = view.apply(protocol.encode_logged_off(3, "The server stops for the night."))
    assert event == LoggedOff(3, "The server stops for the night.")
    [event] = view.apply(BOB_ENTERS)
    assert event.fault is Fault.AFTER_THE_END


def for_own(name, value):
    return change_message(ME, AVATAR, server_state(AVATAR), lambda state: state.__setitem__(name, value))


def for_bob(name, value):
    return change_message(BOB, AVATAR, server_state(AVATAR), lambda state: state.__setitem__(name, value))


VIOLATIONS = {
    "empty": (playing, b"", Fault.MALFORMED),
    "no such message": (playing, b"\xff", Fault.UNKNOWN_MESSAGE),
    "nothing before the base player": (lambda: View(TABLE), CELL_PLAYER, Fault.UNKNOWN_ENTITY),
    "enter before the base player": (lambda: View(TABLE), BOB_ENTERS, Fault.UNKNOWN_ENTITY),
    "second base player": (playing, BASE_PLAYER, Fault.PLAYER_TWICE),
    "second cell player": (playing, CELL_PLAYER, Fault.PLAYER_TWICE),
    "cell lost without a cell": (lambda: view_after(BASE_PLAYER), protocol.encode_cell_lost(), Fault.NO_CELL),
    "moved without a cell": (lambda: view_after(BASE_PLAYER), protocol.encode_moved(HERE, 0.0), Fault.NO_CELL),
    "enter without a cell": (lambda: view_after(BASE_PLAYER), BOB_ENTERS, Fault.NO_CELL),
    "cell property without a cell": (lambda: view_after(BASE_PLAYER), for_own("health", 1), Fault.NO_CELL),
    "second enter": (playing, BOB_ENTERS, Fault.ENTERED_TWICE),
    "the player enters": (playing, protocol.encode_enter(ME, AVATAR, HERE, 0.0, {}), Fault.ENTERED_TWICE),
    "unknown leaves": (playing, protocol.encode_leave(99), Fault.UNKNOWN_ENTITY),
    "the player leaves": (playing, protocol.encode_leave(ME), Fault.UNKNOWN_ENTITY),
    "unknown changes": (playing, for_bob("health", 1)[:1] + b"\x63\0\0\0\1\0", Fault.UNKNOWN_ENTITY),
    "unknown is called": (
        playing,
        TABLE.encode_call(99, AVATAR, Side.CLIENT, "on_said", b"\0\0"),
        Fault.UNKNOWN_ENTITY,
    ),
    "unknown type enters": (playing, bytes([8, 99, 0, 0, 0, 77, 0]) + bytes(17), Fault.UNKNOWN_TYPE),
    "hidden type enters": (
        playing,
        protocol.encode_enter(99, SCHEMA["Hidden"], HERE, 0.0, {}),
        Fault.UNKNOWN_TYPE,
    ),
    "another's own property": (playing, for_bob("gold", 1), Fault.NOT_FOR_THIS_CLIENT),
    "another's base property": (playing, for_bob("account", "x"), Fault.NOT_FOR_THIS_CLIENT),
    "the own property for others": (playing, for_own("mood", 1), Fault.NOT_FOR_THIS_CLIENT),
    "enter with an own property": (
        playing,
        protocol.encode_enter(99, AVATAR, HERE, 0.0, places(AVATAR, gold=1)),
        Fault.NOT_FOR_THIS_CLIENT,
    ),
    "method of another type": (playing, bytes([59, RAT, 0, 0, 0]), Fault.MALFORMED),
    "property beyond the last": (playing, bytes([158 + 40, BOB, 0, 0, 0]), Fault.MALFORMED),
    "places cut short": (playing, bytes([21, BOB, 0, 0, 0]), Fault.MALFORMED),
    "leave with more": (playing, protocol.encode_leave(BOB) + b"\0", Fault.MALFORMED),
    "moved to nowhere": (playing, bytes([20]) + b"\xff" * 16, Fault.MALFORMED),
    "logged off without a reason": (playing, bytes([54]), Fault.MALFORMED),
    "slice of the properties": (playing, bytes([57, BOB, 0, 0, 0, 0, 2, 0]), Fault.MALFORMED),
    "change of a property beyond the last": (playing, bytes([56, BOB, 0, 0, 0, 0b01110000]), Fault.MALFORMED),
    "change without a path": (playing, bytes([56, BOB, 0, 0, 0]), Fault.MALFORMED),
    "nested into a number": (playing, bytes([56, BOB, 0, 0, 0, 0b10010000, 0]), Fault.MALFORMED),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_what_does_not_fit_is_told_and_changes_nothing(name):
    make, message, fault = VIOLATIONS[name]
    view = make()
    before = picture(view)
    [event] = view.apply(message)
    assert isinstance(event, Violation)
    assert event.fault is fault
    assert event.text
    assert view.faults == {fault: 1}
    assert list(view.violations) == [event]
    assert picture(view) == before


STORY = [
    BASE_PLAYER,
    CELL_PLAYER,
    BOB_ENTERS,
    RAT_ENTERS,
    for_bob("health", 50),
    for_bob("name", "Bobby"),
    change_message(BOB, AVATAR, server_state(AVATAR, badges=[1]), lambda state: state["badges"].append(2)),
    protocol.encode_leave(BOB),
    protocol.encode_moved(HERE, 0.0),
    protocol.encode_cell_lost(),
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(STORY) | st.binary(max_size=30), max_size=12), st.data())
def test_no_bytes_make_it_raise(messages, data):
    """Any order, any bytes, any damage: events or one violation; and a violation changes nothing."""
    view = View(TABLE)
    for message in messages:
        if message and data.draw(st.integers(0, 3)) == 0:
            at = data.draw(st.integers(0, len(message) - 1))
            message = message[:at] + bytes([data.draw(st.integers(0, 255))]) + message[at + 1 :]
        before = picture(view)
        events = view.apply(message)
        if any(isinstance(each, Violation) for each in events):
            assert len(events) == 1
            assert picture(view) == before
    assert sum(view.faults.values()) >= len(view.violations)
