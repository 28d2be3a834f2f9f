"""The browser client's view against ours: every story, every damage, the same events and the same state."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrazzo.schema.export import export_schema
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import MethodTable
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import (
    BasePlayer,
    CellLost,
    CellPlayer,
    Changed,
    Entered,
    Left,
    MethodCalled,
    Moved,
    SpaceChanged,
    SpaceDataChanged,
    ViewEnded,
    Violation,
)
from tests.client import test_callbacks as callbacks
from tests.client.town import AVATAR, SCHEMA, describe, places_message
from tests.client.view_scene import (
    BOB,
    BOBS,
    HERE,
    ME,
    OWN,
    RATS,
    SPACE,
    STORY,
    TABLE,
    THERE,
    VIOLATIONS,
    for_own,
    loose,
)
from tests.schema.golden import tree
from tests.web.node import Asked, codec_of, needs_node
from tests.web.test_web_codec import portable

pytestmark = needs_node

NAMES = {
    BasePlayer: "player",
    CellPlayer: "enter",
    Entered: "enter",
    Left: "leave",
    CellLost: "leave",
    SpaceChanged: "space",
    SpaceDataChanged: "space data",
    Moved: "moved",
    Changed: "change",
    MethodCalled: "call",
}

PLACES = places_message((BOBS, HERE, (0.5,)), (RATS, THERE, (1.0, 2.0, 3.0)), (99, HERE, ()))
REFERENCE = bytes([21, 0]) + (-5).to_bytes(3, "little", signed=True) + (70_000).to_bytes(3, "little") + b"\0\0\x80?"
PACKED = REFERENCE + bytes(
    [1, 1, BOBS, 0x34, 0xA2, 0xF1, 0x80, 7, 1, 255, 44, 1, 0xFF, 0x0F, 0x80, 0x21, 0xC3, 1, 127, 255]
)
RAT_PLACE = protocol.with_alias(RATS, protocol.encode_place(HERE, (0.5, 0.25, 0.125)))
RIDES = [
    protocol.with_alias(alias, protocol.EntityMessage(24, encode_ride(Ride(vehicle, HERE, (2.5, 0.1, 0.2)))))
    for alias, vehicle in ((RATS, BOB), (OWN, BOB), (BOBS, ME), (RATS, 0), (OWN, 0), (BOBS, 12345), (BOBS, BOB))
]
SAID = protocol.with_alias(BOBS, TABLE.encode_call(AVATAR, Side.CLIENT, "on_said", b"\x02hi\x05"))
DATA = [protocol.encode_space_data(items) for items in ({"gate": "open", "round": 1}, {"round": 2, "é": "ü"})]
ANSWERS = None
"""In place of a message: the client sends its answers."""
MESSAGES = [
    *STORY,
    PLACES,
    PACKED,
    RAT_PLACE,
    *RIDES,
    SAID,
    loose(SAID),
    loose(SAID, turn=1),
    protocol.with_alias(OWN, TABLE.encode_call(AVATAR, Side.CLIENT, "on_said", b"\x02hi\x05")),
    protocol.encode_announce(BOB, 2, AVATAR),
    describe(AVATAR, 2, HERE, number=8, name="Rob"),
    protocol.encode_leave(2),
    protocol.encode_renew(BOBS, 0),
    protocol.encode_renew(OWN, 1),
    *DATA,
    protocol.encode_logged_off(2, "bye"),
    *(message for _, message, _ in VIOLATIONS.values()),
]


@pytest.fixture(scope="module")
def node():
    with codec_of(SCHEMA) as asked:
        yield asked


def tell(event):
    if isinstance(event, Violation):
        return ["violation"]
    if isinstance(event, ViewEnded):
        return ["logged off", event.text]
    if isinstance(event, SpaceDataChanged):
        return [NAMES[type(event)], event.entity.id, list(event.changed)]
    rest = (
        [event.name] if isinstance(event, Changed) else [event.method.name] if isinstance(event, MethodCalled) else []
    )
    return [NAMES[type(event)], event.entity.id, *rest]


def live(table, messages):
    view = ClientView(table)
    told, answers = [], []
    for message in messages:
        told.append([] if message is ANSWERS else [tell(event) for event in view.apply(message)])
        if message is ANSWERS:
            answers.append([each.hex() for each in view.answers()])
    known = [each for each in (view.player, *view.others.values()) if each is not None]
    data = [[key, value] for key, value in view.space_data.items()]
    states = [[each.id, each.state.encode().hex(), [*each.position], [*each.direction]] for each in known]
    return {"told": told, "answers": answers, "known": states, "space": view.space, "data": data, "late": view.late}


def ask(node, messages):
    return node.ask(op="view", messages=["answers" if each is ANSWERS else each.hex() for each in messages])


def check(theirs, ours):
    """The same; but two libraries may round a sine in two ways."""
    for mine, other in zip(ours["known"], theirs["known"], strict=True):
        assert mine[:2] == other[:2]
        assert other[2] == pytest.approx(mine[2], rel=1e-6, abs=1e-6)
        assert other[3] == pytest.approx(mine[3], rel=1e-6, abs=1e-6)
    assert {**theirs, "known": 0} == {**ours, "known": 0}


def test_rides(node):
    """Before and after the vehicle enters, moves and leaves; by others and by the own entity."""
    me, rat = RIDES[1], RIDES[0]
    begun = [*STORY[:6], ANSWERS]
    moves = [PLACES, RAT_PLACE, PACKED, protocol.encode_moved(THERE, (1.0, 0.0, 0.0))]
    for story in (
        [*begun, rat, *moves, RIDES[3], *moves],
        [*begun, me, *moves, RIDES[4], *moves],
        [*begun, RIDES[2], *moves, protocol.encode_leave(BOBS), *moves],
        [*begun, rat, me, protocol.encode_leave(BOBS), *moves, protocol.encode_cell_lost(), ANSWERS],
        [*begun, *RIDES, *moves],
    ):
        ours = live(TABLE, story)
        check(ask(node, story), ours)
    assert ours["told"][-len(moves) - 1] == [["violation"]]


def test_data_of_a_space_goes_with_the_space(node):
    begun = [*STORY[:6], ANSWERS]
    for story in (
        [*DATA, *begun],
        [*begun, *DATA],
        [*begun, *DATA, DATA[0] + b"x", bytes([26, 2, 0xC1, ord("N")])],
        [*begun, *DATA, SPACE, DATA[1]],
        [*begun, *DATA, protocol.encode_cell_lost()],
    ):
        ours = live(TABLE, story)
        check(ask(node, story), ours)


def test_a_whole_story(node):
    before, after = STORY[:6], STORY[6:]
    bye = [protocol.encode_logged_off(2, "bye"), PLACES, loose(SAID), SAID]
    story = [*before, ANSWERS, PLACES, SAID, PACKED, RAT_PLACE, loose(SAID), *after, ANSWERS, *bye]
    ours = live(TABLE, story)
    check(ask(node, story), ours)
    assert ours["told"][-1] == [["violation"]]


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violations(node, name):
    _, message, _ = VIOLATIONS[name]
    for before in ([], STORY[:1], STORY[:3], STORY[:6]):
        check(ask(node, [*before, message]), live(TABLE, [*before, message]))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(MESSAGES) | st.just(ANSWERS) | st.binary(max_size=30), max_size=15),
    st.integers(0, 6),
    st.data(),
)
def test_any_messages_in_any_order(node, messages, begun, data):
    damaged = list(STORY[:begun])
    for message in messages:
        if message and data.draw(st.integers(0, 3)) == 0:
            at = data.draw(st.integers(0, len(message) - 1))
            message = message[:at] + bytes([data.draw(st.integers(0, 255))]) + message[at + 1 :]
        damaged.append(message)
    check(ask(node, damaged), live(TABLE, damaged))


def test_client_wants_a_returned_entity_with_the_number_it_remembers(node):
    """Bob leaves, comes back, is gone again before he is described, and comes back: his name is not sent again."""
    again = [protocol.encode_announce(BOB, 2, AVATAR), protocol.encode_leave(2)]
    back = [protocol.encode_announce(BOB, 3, AVATAR), ANSWERS, describe(AVATAR, 3, HERE, number=2**63 - 1, health=1)]
    story = [*STORY[:6], ANSWERS, protocol.encode_leave(BOBS), *again, *back, protocol.encode_leave(3), ANSWERS]
    story.append(protocol.encode_announce(BOB, 3, AVATAR))
    ours = live(TABLE, [*story, ANSWERS])
    assert ask(node, [*story, ANSWERS]) == ours
    assert [len(each) for each in ours["answers"]] == [1, 2, 1, 1]
    assert ours["answers"][-1] == [protocol.encode_want([(BOB, 2**63 - 1)]).hex()]


def test_memory_ends_with_the_body(node):
    """What is remembered may be later than what the next body's eyes see first: nothing is put on top of it."""
    story = [*STORY[:6], ANSWERS, protocol.encode_cell_lost(), STORY[1], protocol.encode_announce(BOB, 2, AVATAR)]
    ours = live(TABLE, [*story, ANSWERS])
    assert ask(node, [*story, ANSWERS]) == ours
    assert ours["answers"][-1][-1] == protocol.encode_want([(BOB, 0)]).hex()


def test_a_new_body_and_stragglers(node):
    """The same aliases for other entities; messages about the former ones come late."""
    new = [protocol.encode_cell_lost(), STORY[1], protocol.encode_announce(99, BOBS, AVATAR), ANSWERS]
    late = [PLACES, loose(SAID), loose(for_own("health", 1))]
    in_time = [places_message((BOBS, THERE, ()), tick=1), loose(SAID, turn=1), loose(for_own("health", 2), turn=1)]
    story = [*STORY[:6], ANSWERS, *new, describe(AVATAR, BOBS, HERE), *late, *in_time]
    ours = live(TABLE, story)
    assert ask(node, story) == ours
    assert ours["told"][-6:] == [[], [], [], [["moved", 99]], [["call", 99, "on_said"]], [["change", ME, "health"]]]
    assert ours["late"] == 5


def test_turns(node):
    """Alighting begins a turn, and an entity that stays in the view gets its messages, however many turns begin
    meanwhile."""
    rat, alights = RIDES[0], RIDES[3]
    begun = [*STORY[:6], ANSWERS, rat]
    places = [PLACES, places_message((BOBS, THERE, ()), (RATS, THERE, ()), tick=1)]
    check(ask(node, [*begun, *places, alights, *places]), live(TABLE, [*begun, *places, alights, *places]))
    story = [
        *begun,
        *[alights] * 300,
        *(places_message((BOBS, THERE, ()), tick=turn) for turn in (0, 44, 45, 171, 172)),
    ]
    ours = live(TABLE, story)
    check(ask(node, story), ours)
    assert ours["late"] == 3


def test_a_renewal(node):
    """What was sent loosely before it is skipped; what bears its turn is taken. A turn far ahead is a violation."""
    mine = [loose(for_own("health", 1)), for_own("health", 2), loose(for_own("health", 3), turn=1)]
    renewals = [protocol.encode_renew(OWN, turn) for turn in (1, 1, 3)]
    story = [*STORY[:6], ANSWERS, renewals[0], *mine, *renewals[1:], protocol.encode_renew(BOBS, 1), loose(SAID)]
    ours = live(TABLE, story)
    check(ask(node, story), ours)
    assert ours["late"] == 2


def test_packed_places(node):
    """A place on the ground, and one in the air with an alias of three bytes."""
    story = [*STORY[:6], PACKED]
    ours = live(TABLE, story)
    assert ask(node, story) == ours
    _, [_, _, bob, bobs], [_, _, rat, rats] = ours["known"]
    assert bob == [-5 + (8 * (1 + 0x34 / 256) - 2), 1.0, 70_000 - (256 * (1 + 0x1A / 256) - 2)]
    assert bobs[0] == -math.pi
    assert rat == [-5 - (256 * (1 + 0xFF / 256) - 2), 1.0 - (512 * (1 + 0x321 / 2048) - 2), 70_000]
    assert rats == [math.pi / 128, 127 * math.pi / 128, -math.pi / 128]


@pytest.fixture(scope="module")
def chest():
    with codec_of(callbacks.SCHEMA) as asked:
        yield asked


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(callbacks.EDITS, max_size=12),
    st.sets(st.sampled_from(callbacks.SETTERS)),
    st.sets(st.sampled_from(callbacks.SETTERS)),
)
def test_parts_of_both_clients_get_the_same_callbacks(chest, edits, names, failing):
    """Whatever changes and whichever callbacks a part has and fail: both clients call the same with the same."""
    play = callbacks.Play(names)
    play.part.failing = failing
    for each in edits:
        callbacks.edit(play, *each)
    play.hear(*play.messages)
    asked = {"names": [*sorted(names), "on_knock"], "failing": sorted(failing)}
    theirs = chest.ask(op="hear", messages=[each.hex() for each in (*play.begin, *play.messages)], **asked)
    assert theirs["heard"] == [[name, [plain(each) for each in args]] for name, args, _ in play.part.heard]
    assert theirs["violations"] == 0
    assert theirs["complaints"] == [f"Chest 1: {name}: {name}" for name, _, _ in play.part.heard if name in failing]


@pytest.mark.parametrize("name", ["set_health_wounds", "set_slice_health_wounds"])
def test_lists_of_any_length_can_come_and_go_at_once(chest, name):
    play = callbacks.Play({name})
    play.server["health.wounds"] = [7, 8, 9]
    play.server["health.wounds"][1:2] = [1] * 300_000
    play.server["health.wounds"][1:300_001] = [2]
    play.hear(*play.messages)
    messages = [each.hex() for each in (*play.begin, *play.messages)]
    theirs = chest.ask(op="hear", messages=messages, names=[name], failing=[])
    assert theirs["heard"] == [[name, [plain(each) for each in args]] for name, args, _ in play.part.heard]
    assert (theirs["violations"], theirs["complaints"]) == (0, [])


def plain(value):
    """As `portable`, but for a path: a slice's bounds are an array there."""
    return portable(
        [list(each) if isinstance(each, tuple) else each for each in value] if type(value) is list else value
    )


def test_methods_with_sub_ids(node):
    """Every client method of the golden tree, called with default arguments."""
    table = MethodTable(tree())
    asked = Asked("codec.mjs")
    asked.ask(op="schema", exported=export_schema(tree()))
    subs = 0
    for entity in tree().entities:
        if not entity.on_client:
            continue
        row = [each.new_default() for each in entity.base_player_properties]
        messages = [protocol.encode_base_player(ME, entity, row)]
        for method in entity.client_methods:
            args = method.encode_args(*[each.type.default() for each in method.args])
            messages.append(protocol.with_alias(OWN, table.encode_call(entity, Side.CLIENT, method.name, args)))
        ours = live(table, messages)
        assert ours["told"][1:] == [[["call", ME, method.name]] for method in entity.client_methods]
        assert ask(asked, messages) == ours
        subs += len(entity.client_methods) > 98
    assert subs
    asked.close()
