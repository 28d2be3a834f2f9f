"""What the tests of a client's view share: the messages of a story, moments in it, and what does not fit them."""

from __future__ import annotations

from terrazzo._speed.values import Change
from terrazzo.schema.model import Side
from terrazzo.schema.state import State
from terrazzo.sync import protocol
from terrazzo.sync.protocol import MethodTable
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import Fault, Violation
from tests.client.town import AVATAR, CREATURE, SCHEMA, base_row, cell_row, describe, places_message

TABLE = MethodTable(SCHEMA)
HERE = (1.0, 2.0, 3.0)
THERE = (4.0, 5.0, 6.0)
ME, BOB, RAT = 10, 11, 12
OWN, BOBS, RATS = 0, 1, 300
"""The aliases."""
CALL = TABLE.encode_call(AVATAR, Side.CLIENT, "on_said", b"\0\0")
AHEAD = (0.0, 0.0, 0.0)

BASE_PLAYER = protocol.encode_base_player(ME, AVATAR, base_row())
CELL_PLAYER = protocol.encode_cell_player(AVATAR, 1, HERE, (0.5, 0.25, 0.125), cell_row(health=80, name="Ann"))
SPACE = protocol.encode_space(2, THERE, (1.5, 0.0, 0.0))
BOB_ANNOUNCED = protocol.encode_announce(BOB, BOBS, AVATAR)
BOB_DESCRIBED = describe(AVATAR, BOBS, THERE, health=60, name="Bob", mood=2)
RAT_ANNOUNCED = protocol.encode_announce(RAT, RATS, CREATURE)
RAT_DESCRIBED = describe(CREATURE, RATS, THERE, species=9)


def view_after(*messages):
    view = ClientView(TABLE)
    for message in messages:
        for event in view.apply(message):
            assert not isinstance(event, Violation), event
    return view


def playing():
    view = view_after(BASE_PLAYER, CELL_PLAYER, BOB_ANNOUNCED, RAT_ANNOUNCED, BOB_DESCRIBED, RAT_DESCRIBED)
    assert view.answers() == [protocol.encode_want([(BOB, 0), (RAT, 0)])]
    return view


def after_leave():
    view = playing()
    view.apply(protocol.encode_leave(BOBS))
    return view


def after_leave_said():
    view = after_leave()
    view.answers()
    return view


def after_space():
    view = playing()
    view.apply(SPACE)
    return view


def over():
    view = playing()
    view.apply(protocol.encode_logged_off(1, ""))
    return view


def announced():
    return view_after(BASE_PLAYER, CELL_PLAYER, BOB_ANNOUNCED)


def picture(view):
    """The whole content of a view."""
    known = [view.player, *view.others.values()]
    entities = [
        (each.id, each.position, each.direction, each.alias, each.state.encode()) for each in known if each is not None
    ]
    neighbours = view._neighbours
    names = (list(neighbours.by_alias), list(neighbours._announced), neighbours._wants.copy(), neighbours._released[:])
    turns = (view._turns.now, view._turns.has_ended)
    return entities, names, neighbours._resting.copy(), turns, view.space, view.is_over


def change_message(alias, schema, state, edit):
    """The message of the change that `edit` makes to a state that equals the client's."""
    heard: list[Change] = []
    state.listener = heard.append
    edit(state)
    [change] = heard
    return protocol.with_alias(alias, protocol.encode_change(change, change.prop, len(schema.client_layout)))


def server_state(schema, **values):
    state = State(schema.client_layout)
    for name, value in values.items():
        state[name] = value
    return state


def for_own(name, value):
    return change_message(OWN, AVATAR, server_state(AVATAR), lambda state: state.__setitem__(name, value))


def for_bob(name, value):
    return change_message(BOBS, AVATAR, server_state(AVATAR), lambda state: state.__setitem__(name, value))


def loose(message, turn=0):
    return bytes([23, turn]) + message


STORY = [
    BASE_PLAYER,
    CELL_PLAYER,
    BOB_ANNOUNCED,
    BOB_DESCRIBED,
    RAT_ANNOUNCED,
    RAT_DESCRIBED,
    for_bob("health", 50),
    for_bob("name", "Bobby"),
    change_message(BOBS, AVATAR, server_state(AVATAR, badges=[1]), lambda state: state["badges"].append(2)),
    protocol.encode_leave(BOBS),
    protocol.encode_moved(HERE, AHEAD),
    places_message((BOBS, HERE, (1.0,))),
    protocol.with_alias(RATS, protocol.encode_place(HERE, AHEAD)),
    loose(for_bob("health", 50)),
    SPACE,
    protocol.encode_cell_lost(),
]

VIOLATIONS = {
    "empty": (playing, b"", Fault.MALFORMED),
    "no such message": (playing, b"\xff", Fault.UNKNOWN_MESSAGE),
    "nothing before the base player": (lambda: ClientView(TABLE), CELL_PLAYER, Fault.UNKNOWN_ENTITY),
    "announce before the base player": (lambda: ClientView(TABLE), BOB_ANNOUNCED, Fault.UNKNOWN_ENTITY),
    "a change before the base player": (lambda: ClientView(TABLE), for_own("account", "x"), Fault.UNKNOWN_ENTITY),
    "second base player": (playing, BASE_PLAYER, Fault.PLAYER_TWICE),
    "second cell player": (playing, CELL_PLAYER, Fault.PLAYER_TWICE),
    "cell lost without a cell": (lambda: view_after(BASE_PLAYER), protocol.encode_cell_lost(), Fault.NO_CELL),
    "moved without a cell": (lambda: view_after(BASE_PLAYER), protocol.encode_moved(HERE, AHEAD), Fault.NO_CELL),
    "space without a cell": (lambda: view_after(BASE_PLAYER), SPACE, Fault.NO_CELL),
    "announce without a cell": (lambda: view_after(BASE_PLAYER), BOB_ANNOUNCED, Fault.NO_CELL),
    "cell property without a cell": (lambda: view_after(BASE_PLAYER), for_own("health", 1), Fault.NO_CELL),
    "announced again": (announced, BOB_ANNOUNCED, Fault.ENTERED_TWICE),
    "announced again by another alias": (announced, protocol.encode_announce(BOB, 2, AVATAR), Fault.ENTERED_TWICE),
    "announced when it is there": (playing, protocol.encode_announce(BOB, 2, AVATAR), Fault.ENTERED_TWICE),
    "the player is announced": (playing, protocol.encode_announce(ME, 2, AVATAR), Fault.ENTERED_TWICE),
    "alias of somebody there": (playing, protocol.encode_announce(99, RATS, AVATAR), Fault.ALIAS_TAKEN),
    "alias of somebody announced": (announced, protocol.encode_announce(99, BOBS, AVATAR), Fault.ALIAS_TAKEN),
    "alias of the player": (playing, protocol.encode_announce(99, OWN, AVATAR), Fault.ALIAS_TAKEN),
    "alias that was not released yet": (after_leave, protocol.encode_announce(99, BOBS, AVATAR), Fault.ALIAS_TAKEN),
    "alias that ended with a space": (after_space, protocol.encode_announce(99, BOBS, AVATAR), Fault.ALIAS_TAKEN),
    "described without being announced": (playing, describe(AVATAR, 2, HERE), Fault.UNKNOWN_ENTITY),
    "described again": (playing, BOB_DESCRIBED, Fault.ENTERED_TWICE),
    "the player is described": (playing, describe(AVATAR, OWN, HERE), Fault.ENTERED_TWICE),
    "unknown leaves": (playing, protocol.encode_leave(99), Fault.UNKNOWN_ENTITY),
    "the player leaves": (playing, protocol.encode_leave(OWN), Fault.UNKNOWN_ENTITY),
    "leaves twice": (after_leave, protocol.encode_leave(BOBS), Fault.UNKNOWN_ENTITY),
    "unknown changes": (playing, for_bob("health", 1)[:1] + b"\x63\1\0", Fault.UNKNOWN_ENTITY),
    "unknown is called": (playing, protocol.with_alias(99, CALL), Fault.UNKNOWN_ENTITY),
    "announced changes": (announced, for_bob("health", 1), Fault.NOT_DESCRIBED),
    "announced is called": (announced, protocol.with_alias(BOBS, CALL), Fault.NOT_DESCRIBED),
    "gone is called": (after_leave, protocol.with_alias(BOBS, CALL), Fault.UNKNOWN_ENTITY),
    "unknown type is announced": (playing, bytes([8, 99, 0, 0, 0, 2, 77, 0]), Fault.UNKNOWN_TYPE),
    "hidden type is announced": (playing, protocol.encode_announce(99, 2, SCHEMA["Hidden"]), Fault.UNKNOWN_TYPE),
    "another's own property": (playing, for_bob("gold", 1), Fault.NOT_FOR_THIS_CLIENT),
    "another's base property": (playing, for_bob("account", "x"), Fault.NOT_FOR_THIS_CLIENT),
    "the own property for others": (playing, for_own("mood", 1), Fault.NOT_FOR_THIS_CLIENT),
    "described with an own property": (announced, describe(AVATAR, BOBS, HERE, gold=1), Fault.NOT_FOR_THIS_CLIENT),
    "method of another type": (playing, bytes([59, 255]) + RATS.to_bytes(2, "little"), Fault.MALFORMED),
    "property beyond the last": (playing, bytes([158 + 40, BOBS]), Fault.MALFORMED),
    "no alias": (playing, bytes([158]), Fault.MALFORMED),
    "alias cut short": (playing, bytes([158, 255, 1]), Fault.MALFORMED),
    "alias longer than it must be": (playing, bytes([158, 255, BOBS, 0, 1, 0]), Fault.MALFORMED),
    "places cut short": (playing, bytes([21, BOBS, 0, 0, 0]), Fault.MALFORMED),
    "leave with more": (playing, protocol.encode_leave(BOBS) + b"\0", Fault.MALFORMED),
    "announce with more": (playing, protocol.encode_announce(99, 2, AVATAR) + b"\0", Fault.MALFORMED),
    "announce cut short": (playing, protocol.encode_announce(99, 2, AVATAR)[:-1], Fault.MALFORMED),
    "space with more": (playing, SPACE + b"\0", Fault.MALFORMED),
    "space cut short": (playing, SPACE[:4], Fault.MALFORMED),
    "described by a number that is none": (announced, bytes([9, BOBS]) + b"\xff" * 8 + bytes(25), Fault.MALFORMED),
    "description cut short": (announced, BOB_DESCRIBED[:-1], Fault.MALFORMED),
    "description with nothing": (announced, bytes([9, BOBS]), Fault.MALFORMED),
    "place of nobody": (playing, protocol.with_alias(99, protocol.encode_place(HERE, AHEAD)), Fault.UNKNOWN_ENTITY),
    "place of the player": (
        playing,
        protocol.with_alias(OWN, protocol.encode_place(HERE, AHEAD)),
        Fault.UNKNOWN_ENTITY,
    ),
    "announced has a place": (announced, bytes([22, BOBS]) + bytes(24), Fault.NOT_DESCRIBED),
    "place cut short": (playing, bytes([22, BOBS]) + bytes(23), Fault.MALFORMED),
    "place with more": (playing, bytes([22, BOBS]) + bytes(25), Fault.MALFORMED),
    "place that is none": (playing, bytes([22, BOBS]) + b"\xff" * 24, Fault.MALFORMED),
    "loose nothing": (playing, bytes([23]), Fault.MALFORMED),
    "loose turn": (playing, bytes([23, 0]), Fault.MALFORMED),
    "loose leave": (playing, loose(protocol.encode_leave(BOBS)), Fault.MALFORMED),
    "loose in loose": (playing, loose(loose(protocol.with_alias(BOBS, CALL))), Fault.MALFORMED),
    "loose slice": (playing, loose(bytes([57, BOBS, 0])), Fault.MALFORMED),
    "loose nested": (playing, loose(bytes([56, BOBS, 0x80, 0])), Fault.MALFORMED),
    "loose without alias": (playing, bytes([23, 0, 158]), Fault.MALFORMED),
    "loose cut short": (playing, loose(for_bob("health", 1)[:-1]), Fault.MALFORMED),
    "loose own property of another": (playing, loose(for_bob("gold", 1)), Fault.NOT_FOR_THIS_CLIENT),
    "moved to nowhere": (playing, bytes([20]) + b"\xff" * 24, Fault.MALFORMED),
    "logged off without a reason": (playing, bytes([54]), Fault.MALFORMED),
    "slice of the properties": (playing, bytes([57, BOBS, 0, 2, 0]), Fault.MALFORMED),
    "change of a property beyond the last": (playing, bytes([56, BOBS, 0b01110000]), Fault.MALFORMED),
    "change without a path": (playing, bytes([56, BOBS]), Fault.MALFORMED),
    "nested into a number": (playing, bytes([56, BOBS, 0b10010000, 0]), Fault.MALFORMED),
}
