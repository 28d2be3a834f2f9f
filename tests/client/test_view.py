"""A client's view: what each message does, and that nothing which does not fit the story changes it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo._speed.values import WHOLE, Change
from terrazzo.schema.changes import encode_external
from terrazzo.schema.hooks import python_codec
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.neighbours import REMEMBERED_MAX
from terrazzo.sync.protocol import decode_released, decode_want
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import (
    BasePlayer,
    CellLost,
    CellPlayer,
    Changed,
    Entered,
    Fault,
    Left,
    MethodCalled,
    Moved,
    SpaceChanged,
    SpaceDataChanged,
    ViewEnded,
    Violation,
)
from tests.client.town import AVATAR, CREATURE, cell_row, describe, places_message
from tests.client.view_scene import (
    AHEAD,
    BASE_PLAYER,
    BOB,
    BOB_ANNOUNCED,
    BOB_DESCRIBED,
    BOBS,
    CALL,
    CELL_PLAYER,
    HERE,
    ME,
    OWN,
    RAT,
    RAT_ANNOUNCED,
    RAT_DESCRIBED,
    RATS,
    SPACE,
    STORY,
    TABLE,
    THERE,
    VIOLATIONS,
    after_leave_said,
    announced,
    change_message,
    for_bob,
    for_own,
    loose,
    over,
    picture,
    playing,
    server_state,
    view_after,
)


def test_base_player_comes_first_with_the_base_properties():
    view = ClientView(TABLE)
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
    assert (player.position, player.direction, player.yaw) == (HERE, (0.5, 0.25, 0.125), 0.5)
    assert (player.state["health"], player.state["name"], player.state["gold"]) == (80, "Ann", 7)
    assert player.state["account"] == "ann@example.org"


def test_what_a_server_sent_is_not_held_to_limits_for_assigning():
    long_name = "longer than its column"
    view = view_after(BASE_PLAYER, protocol.encode_cell_player(AVATAR, 1, HERE, AHEAD, cell_row(name=long_name)))
    assert view.player.state["name"] == long_name


def test_what_is_announced_is_wanted_and_not_there_yet():
    view = view_after(BASE_PLAYER, CELL_PLAYER)
    assert view.answers() == []
    assert view.apply(BOB_ANNOUNCED) == view.apply(RAT_ANNOUNCED) == []
    assert view.others == {}
    [answer] = view.answers()
    assert decode_want(answer[1:]) == [(BOB, 0), (RAT, 0)]
    assert view.answers() == []


def test_a_description_gives_the_properties_that_came_and_defaults_for_the_others():
    view = announced()
    [event] = view.apply(BOB_DESCRIBED)
    assert isinstance(event, Entered)
    bob = event.entity
    assert view.others == {BOB: bob}
    assert (bob.position, bob.direction) == (THERE, (1.0, 0.0, 0.0))
    assert (bob.state["health"], bob.state["name"], bob.state["mood"], bob.state["gold"]) == (60, "Bob", 2, 7)


def test_leave_and_enter_again():
    view = playing()
    bob = view.others[BOB]
    [event] = view.apply(protocol.encode_leave(BOBS))
    assert isinstance(event, Left)
    assert event.entity is bob
    assert list(view.others) == [RAT]
    assert view.answers() == [protocol.encode_released([BOBS])]
    assert view.apply(BOB_ANNOUNCED) == []
    [event] = view.apply(BOB_DESCRIBED)
    assert isinstance(event, Entered)
    assert event.entity is not bob


def test_what_leaves_before_it_was_described_was_never_there_for_the_game():
    view = announced()
    assert view.apply(protocol.encode_leave(BOBS)) == []
    assert view.answers() == [protocol.encode_released([BOBS])]
    assert view.apply(protocol.encode_announce(BOB, 2, AVATAR)) == []
    assert view.answers() == [protocol.encode_want([(BOB, 0)])]


def test_what_is_remembered_need_not_come_again():
    view = playing()
    view.apply(change_message(BOBS, AVATAR, server_state(AVATAR), lambda state: state.__setitem__("mood", 7)))
    view.apply(protocol.encode_leave(BOBS))
    view.answers()
    # It comes and goes undescribed: it is remembered all the same.
    view.apply(protocol.encode_announce(BOB, 2, AVATAR))
    view.apply(protocol.encode_leave(2))
    view.apply(protocol.encode_announce(BOB, 3, AVATAR))
    assert view.answers() == [protocol.encode_released([2]), protocol.encode_want([(BOB, 5)])]
    view.apply(describe(AVATAR, 3, HERE, number=9, health=61))
    bob = view.others[BOB]
    assert (bob.state["health"], bob.state["name"], bob.state["mood"]) == (61, "Bob", 7)
    assert bob.number == 9


def test_another_type_has_nothing_to_remember():
    view = playing()
    view.apply(protocol.encode_leave(BOBS))
    view.answers()
    view.apply(protocol.encode_announce(BOB, BOBS, CREATURE))
    assert view.answers() == [protocol.encode_want([(BOB, 0)])]


def test_memory_is_bounded():
    view = playing()
    for entity in range(1000, 1000 + REMEMBERED_MAX + 1):
        view.apply(protocol.encode_announce(entity, 2, AVATAR))
        view.apply(describe(AVATAR, 2, HERE))
        view.apply(protocol.encode_leave(2))
        view.answers()
    assert len(view._neighbours._remembered) == REMEMBERED_MAX
    view.apply(protocol.encode_announce(1000, 2, AVATAR))
    view.apply(protocol.encode_announce(1001, 3, AVATAR))
    assert view.answers() == [protocol.encode_want([(1000, 0), (1001, 5)])]


def test_many_answers_make_several_messages():
    view = view_after(BASE_PLAYER, CELL_PLAYER)
    for alias in range(1, 1001):
        view.apply(protocol.encode_announce(5000 + alias, alias, AVATAR))
    wants = view.answers()
    assert [each for message in wants for each in decode_want(message[1:])] == [(5000 + a, 0) for a in range(1, 1001)]
    view.apply(SPACE)
    released = view.answers()
    assert [each for message in released for each in decode_released(message[1:])] == list(range(1, 1001))


def test_cell_lost_takes_the_others_too():
    view = playing()
    events = view.apply(protocol.encode_cell_lost())
    assert [type(each) for each in events] == [Left, Left, CellLost]
    assert [each.entity.id for each in events] == [BOB, RAT, ME]
    assert view.others == {}
    assert view.space is None
    assert view.answers() == [protocol.encode_released([BOBS, RATS])]
    [event] = view.apply(CELL_PLAYER)
    assert isinstance(event, CellPlayer)


def test_memory_ends_with_the_body():
    """What is remembered may be later than what the next body's eyes see first: nothing may be put on top of it."""
    view = playing()
    for message in (protocol.encode_cell_lost(), CELL_PLAYER, BOB_ANNOUNCED):
        view.apply(message)
    assert view.answers()[-1] == protocol.encode_want([(BOB, 0)])


def test_a_new_body_begins_with_aliases_anew():
    """`cell lost`, `cell player` and announcements by the same aliases may come before the client has answered
    anything."""
    view = playing()
    view.apply(protocol.encode_leave(RATS))
    view.apply(protocol.encode_cell_lost())
    for message in (
        CELL_PLAYER,
        protocol.encode_announce(98, BOBS, AVATAR),
        protocol.encode_announce(99, RATS, AVATAR),
    ):
        assert not any(isinstance(each, Violation) for each in view.apply(message))
    view.apply(protocol.encode_leave(BOBS))
    assert view.answers() == [protocol.encode_released([RATS, BOBS, BOBS]), protocol.encode_want([(99, 0)])]
    assert not view.faults


def test_another_space_has_others_in_it():
    view = playing()
    view.apply(protocol.encode_announce(99, 2, AVATAR))
    view.answers()
    events = view.apply(SPACE)
    assert [type(each) for each in events] == [Left, Left, SpaceChanged]
    assert [each.entity.id for each in events] == [BOB, RAT, ME]
    assert (view.space, view.player.position, view.player.direction) == (2, THERE, (1.5, 0.0, 0.0))
    assert view.player.state["health"] == 80
    assert view.answers() == [protocol.encode_released([BOBS, RATS, 2])]
    assert view.apply(RAT_ANNOUNCED) == []


def test_data_of_a_space_is_kept_until_the_next_space():
    view = playing()
    [event] = view.apply(protocol.encode_space_data({"gate": "open", "round": 1}))
    assert isinstance(event, SpaceDataChanged)
    assert event.changed == {"gate": "open", "round": 1}
    view.apply(protocol.encode_space_data({"round": None}))
    assert view.space_data == {"gate": "open", "round": None}
    view.apply(SPACE)
    assert view.space_data == {}
    assert not view.faults


@pytest.mark.parametrize("value", [None, 5, [1], {1: 2}, {"a": 1, b"b": 2}])
def test_data_of_a_space_that_is_no_dict_of_texts_is_a_violation(value):
    view = playing()
    view.apply(bytes([26]) + python_codec("data").encode(value))
    assert view.faults == {Fault.MALFORMED: 1}
    assert view.space_data == {}


def test_moved_puts_the_own_entity():
    view = playing()
    [event] = view.apply(protocol.encode_moved(THERE, (2.0, 0.5, 0.25)))
    assert isinstance(event, Moved)
    assert event.entity is view.player
    assert (view.player.position, view.player.direction) == (THERE, (2.0, 0.5, 0.25))


def test_places_move_present_entities_and_are_skipped_for_others():
    view = playing()
    view.apply(protocol.encode_announce(99, 2, AVATAR))
    places = [(BOBS, HERE, ()), (2, HERE, ()), (OWN, THERE, ()), (77, HERE, ()), (RATS, HERE, (0.25, 0.5))]
    events = view.apply(places_message(*places))
    assert [type(each) for each in events] == [Moved, Moved]
    assert view.others[BOB].position == view.others[RAT].position == HERE
    assert view.others[BOB].direction == (1.0, 0.0, 0.0)
    assert view.others[RAT].direction == (0.25, 0.5, 0.0)
    assert view.player.position == HERE
    assert view.late == 3
    assert not view.faults


def playing_without_moves(asks):
    view = ClientView(TABLE, asks_moves=asks)
    for message in (BASE_PLAYER, CELL_PLAYER, BOB_ANNOUNCED, RAT_ANNOUNCED, BOB_DESCRIBED, RAT_DESCRIBED):
        view.apply(message)
    return view, view.others[BOB], view.others[RAT]


def test_places_move_without_events_where_no_code_asks_for_moves():
    view, bob, rat = playing_without_moves(lambda schema: schema is CREATURE)
    assert view.apply(places_message((BOBS, HERE, (0.5,)), (RATS, HERE, ()))) == [Moved(rat)]
    assert (bob.position, bob.yaw) == (HERE, 0.5)
    assert rat.position == HERE
    view.apply(protocol.encode_leave(BOBS))
    assert (bob.position, bob.yaw) == (HERE, 0.5)  # it keeps its last place
    view.apply(places_message((BOBS, THERE, ())))
    assert (bob.position, view.late) == (HERE, 1)


def test_rider_and_vehicle_move_together_though_no_code_asks_for_moves():
    view, bob, rat = playing_without_moves(lambda schema: False)

    def ride(vehicle, place):
        return protocol.with_alias(
            BOBS, protocol.EntityMessage(protocol.ToClient.RIDES, encode_ride(Ride(vehicle, place, AHEAD)))
        )

    view.apply(ride(RAT, (0.0, 1.0, 0.0)))
    assert view.apply(places_message((BOBS, THERE, ()))) == []  # it is where its vehicle is
    assert bob.position == (THERE[0], THERE[1] + 1.0, THERE[2])
    assert view.apply(places_message((RATS, HERE, ()))) == [Moved(rat), Moved(bob)]
    assert bob.position == (HERE[0], HERE[1] + 1.0, HERE[2])
    view.apply(ride(0, THERE))
    assert view.apply(places_message((RATS, THERE, ()), (BOBS, HERE, ()), tick=1)) == []
    assert (bob.position, rat.position) == (HERE, THERE)


def test_places_of_an_earlier_turn_do_not_move_the_next_entity():
    view = playing()
    view.apply(protocol.encode_leave(BOBS))
    view.answers()
    view.apply(protocol.encode_announce(99, BOBS, AVATAR))
    view.apply(describe(AVATAR, BOBS, THERE))
    assert view.apply(places_message((BOBS, HERE, ()), (RATS, HERE, ()), tick=0)) == [Moved(view.others[RAT])]
    assert (view.others[99].position, view.late) == (THERE, 1)
    view.apply(places_message((BOBS, HERE, ()), tick=1))
    assert (view.others[99].position, view.late) == (HERE, 1)


def test_place_event_moves_an_entity_without_a_volatile_position():
    view = playing()
    [event] = view.apply(protocol.with_alias(RATS, protocol.encode_place(HERE, (0.5, 0.25, 0.125))))
    assert event == Moved(view.others[RAT])
    assert (event.entity.position, event.entity.direction) == (HERE, (0.5, 0.25, 0.125))


def test_loose_changes_and_calls():
    view = playing()
    [event] = view.apply(loose(for_bob("health", 50)))
    assert isinstance(event, Changed)
    assert (event.entity.state["health"], event.applied.old) == (50, 60)
    index, count = AVATAR.client_layout.index["mood"], len(AVATAR.client_layout)
    whole = encode_external(Change(WHOLE, index, (), (), 0, 0, b"\x09"), index, count)
    [event] = view.apply(loose(protocol.with_alias(BOBS, protocol.EntityMessage(56, whole))))
    assert event.entity.state["mood"] == 9
    [event] = view.apply(loose(protocol.with_alias(OWN, CALL)))
    assert isinstance(event, MethodCalled)
    [event] = view.apply(loose(for_own("health", 50)))
    assert event.entity is view.player


def with_a_new_body():
    return view_after(BASE_PLAYER, CELL_PLAYER, protocol.encode_cell_lost(), CELL_PLAYER)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClientView(TABLE), lambda: loose(protocol.with_alias(OWN, CALL))),
        (lambda: view_after(BASE_PLAYER), lambda: loose(for_own("health", 1))),
        (with_a_new_body, lambda: loose(for_own("health", 1))),
        (announced, lambda: loose(for_bob("health", 1))),
        (after_leave_said, lambda: loose(for_bob("health", 1))),
        (playing, lambda: loose(for_bob("health", 1), turn=255)),
        (playing, lambda: loose(protocol.with_alias(99, CALL))),
        (over, lambda: loose(protocol.with_alias(OWN, CALL))),
        (over, lambda: places_message((BOBS, HERE, ()))),
    ],
)
def test_what_is_loose_may_come_at_any_time(make, message):
    view = make()
    before = picture(view)
    assert view.apply(message()) == []
    assert view.late == 1
    assert picture(view) == before


def test_a_whole_property():
    view = playing()
    state = server_state(AVATAR, health=60)
    [event] = view.apply(change_message(BOBS, AVATAR, state, lambda state: state.__setitem__("health", 55)))
    assert isinstance(event, Changed)
    assert (event.entity.id, event.name, event.applied.old) == (BOB, "health", 60)
    assert view.others[BOB].state["health"] == 55


def test_nested_and_slice_changes():
    view = view_after(
        BASE_PLAYER, protocol.encode_cell_player(AVATAR, 1, HERE, AHEAD, cell_row(bag=[{"kind": 1, "count": 2}]))
    )
    state = server_state(AVATAR, bag=[{"kind": 1, "count": 2}])
    [event] = view.apply(change_message(OWN, AVATAR, state, lambda state: setattr(state["bag"][0], "count", 9)))
    assert event.applied.callback("bag") == ("set_nested_bag", ([0, "count"], 2))
    [event] = view.apply(change_message(OWN, AVATAR, state, lambda s: s["bag"].append({"kind": 5, "count": 1})))
    assert event.applied.callback("bag") == ("set_slice_bag", ([(1, 2)], []))
    assert view.player.state["bag"] == [{"kind": 1, "count": 9}, {"kind": 5, "count": 1}]


def test_base_properties_change_without_a_body():
    view = view_after(BASE_PLAYER)
    state = server_state(AVATAR, account="ann@example.org")
    message = change_message(OWN, AVATAR, state, lambda state: state.__setitem__("account", "new"))
    [event] = view.apply(message)
    assert isinstance(event, Changed)
    assert view.player.state["account"] == "new"


def test_calls():
    view = playing()
    [method] = AVATAR.client_methods
    args = method.encode_args("hello", 3)
    for alias, entity in ((OWN, ME), (BOBS, BOB)):
        [event] = view.apply(protocol.with_alias(alias, TABLE.encode_call(AVATAR, Side.CLIENT, "on_said", args)))
        assert isinstance(event, MethodCalled)
        assert (event.entity.id, event.method, event.args) == (entity, method, ["hello", 3])


def test_logged_off_is_the_last_word():
    view = playing()
    [event] = view.apply(protocol.encode_logged_off(3, "The server stops for the night."))
    assert event == ViewEnded(3, "The server stops for the night.")
    [event] = view.apply(BOB_ANNOUNCED)
    assert event.fault is Fault.AFTER_THE_END


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation_is_counted_and_changes_nothing(name):
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


@settings(max_examples=300)
@given(st.lists(st.sampled_from(STORY) | st.binary(max_size=30), max_size=12), st.data())
def test_no_bytes_make_it_raise(messages, data):
    """Any order, any bytes, any damage: events or one violation; and a violation changes nothing."""
    view = ClientView(TABLE)
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
