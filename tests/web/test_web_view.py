"""The browser client's view against ours: every story, every damage, the same events and the same state."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrazzo.schema.export import export_schema
from terrazzo.schema.model import Side
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
    Left,
    LoggedOff,
    Moved,
    Violation,
)
from tests.client.test_view import BOB, HERE, ME, RAT, STORY, TABLE, THERE, VIOLATIONS
from tests.client.town import SCHEMA
from tests.schema.golden import tree
from tests.web.node import Asked, needs_node

pytestmark = needs_node

NAMES = {
    BasePlayer: "player",
    CellPlayer: "enter",
    Entered: "enter",
    Left: "leave",
    CellLost: "leave",
    Moved: "moved",
    Changed: "change",
    Called: "call",
}

PLACES = protocol.encode_places([Place(BOB, HERE, 0.5), Place(RAT, THERE, 1.0), Place(99, HERE, 0.0)])[0]
SAID = TABLE.encode_call(BOB, SCHEMA["Avatar"], Side.CLIENT, "on_said", b"\x02hi\x05")
MESSAGES = [
    *STORY,
    PLACES,
    SAID,
    TABLE.encode_call(ME, SCHEMA["Avatar"], Side.CLIENT, "on_said", b"\x02hi\x05"),
    protocol.encode_logged_off(2, "bye"),
    *(message for _, message, _ in VIOLATIONS.values()),
]


@pytest.fixture(scope="module")
def node():
    asked = Asked("codec.mjs")
    asked.ask(op="schema", exported=export_schema(SCHEMA))
    yield asked
    asked.close()


def describe(event):
    if isinstance(event, Violation):
        return ["violation"]
    if isinstance(event, LoggedOff):
        return ["logged off", event.text]
    rest = [event.name] if isinstance(event, Changed) else [event.method.name] if isinstance(event, Called) else []
    return [NAMES[type(event)], event.entity.id, *rest]


def live(table, messages):
    view = View(table)
    told = [[describe(event) for event in view.apply(message)] for message in messages]
    known = [each for each in (view.player, *view.others.values()) if each is not None]
    states = [[each.id, each.state.encode().hex()] for each in known]
    return {"told": told, "known": states, "space": view.space, "latePlaces": view.late_places}


def ask(node, messages):
    return node.ask(op="view", messages=[each.hex() for each in messages])


def test_a_whole_story(node):
    story = [*STORY[:4], PLACES, SAID, *STORY[4:], protocol.encode_logged_off(2, "bye"), SAID]
    ours = live(TABLE, story)
    assert ask(node, story) == ours
    assert ours["told"][-1] == [["violation"]]


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violations(node, name):
    _, message, _ = VIOLATIONS[name]
    for before in ([], STORY[:1], STORY[:4]):
        assert ask(node, [*before, message]) == live(TABLE, [*before, message])


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(MESSAGES) | st.binary(max_size=30), max_size=15), st.integers(0, 4), st.data())
def test_any_messages_in_any_order(node, messages, begun, data):
    damaged = list(STORY[:begun])
    for message in messages:
        if message and data.draw(st.integers(0, 3)) == 0:
            at = data.draw(st.integers(0, len(message) - 1))
            message = message[:at] + bytes([data.draw(st.integers(0, 255))]) + message[at + 1 :]
        damaged.append(message)
    assert ask(node, damaged) == live(TABLE, damaged)


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
            messages.append(table.encode_call(ME, entity, Side.CLIENT, method.name, args))
        ours = live(table, messages)
        assert ours["told"][1:] == [[["call", ME, method.name]] for method in entity.client_methods]
        assert ask(asked, messages) == ours
        subs += len(entity.client_methods) > 98
    assert subs
    asked.close()
