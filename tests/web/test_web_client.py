"""The browser client in Node against our own endpoints: the world that it shows, what it calls, where it moves.

Node runs on its own clock, so these tests pass the real time to the endpoints; nothing is asserted about it.
"""

from __future__ import annotations

import struct
from functools import partial

from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer
from tests.client.play import BOB, BOBS, HERE, ME, OWN, RAT, RATS, THERE
from tests.client.town import AVATAR, CREATURE, GAME, describe, places_message
from tests.client.view_scene import change_message, server_state
from tests.web.node import needs_node

pytestmark = needs_node


def test_the_world_appears_changes_and_goes(page):
    page.enter()
    own, bob, rat = (page.event("enter") for _ in range(3))
    assert (own["id"], own["position"], own["yaw"]) == (ME, list(HERE), 0.5)
    assert (own["properties"]["health"], own["properties"]["gold"]) == (80, f"{1 << 60}n")
    assert (bob["id"], bob["type"], bob["properties"]["name"], bob["properties"]["gold"]) == (BOB, "Avatar", "Bob", 7)
    assert (rat["id"], rat["type"], rat["properties"]["species"]) == (RAT, "Creature", 9)
    mine, bobs = server_state(AVATAR), server_state(AVATAR, health=60)
    said = AVATAR.client_methods[0].encode_args("héllo", 2)
    page.cluster.say(
        change_message(BOBS, AVATAR, bobs, lambda state: state.__setitem__("health", 59)),
        change_message(OWN, AVATAR, mine, lambda state: state["bag"].append({"kind": 4, "count": 1})),
        change_message(OWN, AVATAR, mine, lambda state: setattr(state["bag"][0], "count", 6)),
        protocol.with_alias(BOBS, GAME.methods.encode_call(AVATAR, Side.CLIENT, "on_said", said)),
        protocol.encode_moved(THERE, (2.0, 0.0, 0.0)),
        protocol.encode_leave(BOBS),
        protocol.encode_cell_lost(),
    )
    changes = [page.event("change") for _ in range(3)]
    assert [(each["id"], each["name"], each["value"]) for each in changes] == [
        (BOB, "health", 59),
        (ME, "bag", [{"kind": 4, "count": 1}]),
        (ME, "bag", [{"kind": 4, "count": 6}]),
    ]
    assert [each["change"]["kind"] for each in changes] == ["whole", "slice", "nested"]
    assert changes[2]["change"] == {"kind": "nested", "path": [0, "count"], "old": 1}
    assert page.event("call") == {"event": "call", "id": BOB, "name": "on_said", "args": ["héllo", 2]}
    assert page.event("moved")["position"] == list(THERE)
    assert [page.event("leave")["id"] for _ in range(3)] == [BOB, RAT, ME]
    page.event("player")
    assert page.events == []


def test_parts_of_the_page_get_callbacks_of_their_entities(page):
    page.enter()
    mine = server_state(AVATAR, health=80)
    said = AVATAR.client_methods[0].encode_args("hi", 2)
    page.cluster.say(
        change_message(BOBS, AVATAR, server_state(AVATAR), lambda state: state.__setitem__("health", 59)),
        change_message(OWN, AVATAR, mine, lambda state: state["bag"].append({"kind": 4, "count": 1})),
        change_message(OWN, AVATAR, mine, lambda state: setattr(state["bag"][0], "count", 6)),
        protocol.with_alias(BOBS, GAME.methods.encode_call(AVATAR, Side.CLIENT, "on_said", said)),
        protocol.encode_leave(BOBS),
    )
    page.event("leave")
    page.tell("heard", id=ME)
    assert page.event("heard")["heard"] == [
        ["onPlayer"],
        ["onEnter"],
        ["set_slice_bag", [[0, 1]], []],
        ["set_bag", [{"kind": 4, "count": 1}]],
    ]
    page.tell("heard", id=BOB)
    assert page.event("heard")["heard"] == [["onEnter"], ["set_health", 60], ["on_said", "hi", 2], ["onLeave"]]
    page.tell("heard", id=RAT)
    assert page.event("heard")["heard"] is None


def set_health(value, state):
    state["health"] = value


def test_a_part_that_throws_ends_nothing(page):
    page.enter()
    health = [change_message(BOBS, AVATAR, server_state(AVATAR), partial(set_health, value)) for value in (-5, 7)]
    page.cluster.say(
        *health,
        protocol.encode_announce(77, 9, AVATAR),
        describe(AVATAR, 9, HERE, name="throw"),
        protocol.encode_leave(9),
    )
    assert page.event("leave")["id"] == 77
    assert [page.event("change")["value"] for _ in range(2)] == [-5, 7]
    page.tell("heard", id=BOB)
    assert page.event("heard")["heard"] == [["onEnter"], ["set_health", 60], ["set_health", -5]]
    complaints = page.complaints()
    assert "Avatar 11: set_health: Error: the part's own mistake" in complaints
    assert "Avatar 77: constructor: Error: a part that cannot be made" in complaints


def test_places_are_unreliable_messages(page):
    page.enter()
    page.cluster.say(places_message((99, HERE, ()), (BOBS, HERE, (0.25,))), reliable=False)
    moved = page.event("moved")
    assert (moved["id"], moved["position"], moved["yaw"]) == (BOB, list(HERE), 0.25)


def test_calls_reach_the_server(page):
    page.enter()
    page.tell("call", id=ME, side="cell", method="say", args=["hi"])
    page.tell("call", id=ME, side="base", method="rename", args=["Anna"])
    page.tell("call", id=ME, side="cell", method="wave", args=[])
    page.tell("call", id=BOB, side="cell", method="poke", args=[7])
    page.tell("call", id=RAT, side="cell", method="feed", args=[["cheese", 1]])
    assert all(page.event("sent")["sent"] for _ in range(5))

    def heard():
        found = {}
        for message in page.cluster.heard:
            entity = int.from_bytes(message[1:5], "little")
            if message[0] < 12:
                continue
            side = Side.BASE if message[0] >= 134 else Side.CELL
            call = GAME.methods.find(CREATURE if entity == RAT else AVATAR, side, message[0], message[5:])
            found[entity, call.method.name] = call.method.decode_args(call.data)
        return found if len(found) == 5 else None

    assert page.until(heard) == {
        (ME, "say"): ["hi"],
        (ME, "rename"): ["Anna"],
        (ME, "wave"): [],
        (BOB, "poke"): [7],
        (RAT, "feed"): [["cheese", 1]],
    }


def test_page_has_only_the_exposed_methods(page):
    page.enter()
    page.tell("methods", id=ME)
    assert page.event("methods")["base"] == ["rename"]
    page.tell("methods", id=BOB)
    assert page.event("methods") == {"event": "methods", "cell": ["poke"], "base": []}


def test_moves_reach_the_server(page):
    page.enter()
    page.tell("move", x=7, z=9, yaw=0.5)
    assert page.event("sent")["sent"]
    move = struct.pack("<B6f", ToServer.MOVE, 7.0, 2.0, 9.0, 0.5, 0.0, 0.0)
    page.until(lambda: page.cluster.heard.count(move) >= 1)


def test_of_moves_within_a_tick_the_server_gets_the_latest_and_none_in_between(page):
    page.enter()
    page.tell("moves", places=[[7, 9], [8, 9], [9, 9]])
    between, latest = (struct.pack("<B6f", ToServer.MOVE, x, 2.0, 9.0, 0.0, 0.0, 0.0) for x in (8.0, 9.0))
    page.until(lambda: latest in page.cluster.heard)
    assert between not in page.cluster.heard


def test_page_releases_all_others_when_its_body_changes_space(page):
    page.enter()
    for _ in range(3):
        page.event("enter")
    page.cluster.say(protocol.encode_space(2, (7.0, 2.0, 9.0), (0.5, 0.25, 0.0)))
    space = page.event("space")
    assert (space["id"], space["space"], space["position"]) == (ME, 2, [7.0, 2.0, 9.0])
    assert [page.event("leave")["id"] for _ in range(2)] == [BOB, RAT]
    page.until(lambda: protocol.encode_released([BOBS, RATS]) in page.cluster.heard)
    move = struct.pack("<B6f", ToServer.MOVE, 7.0, 2.0, 9.0, 0.5, 0.25, 0.0)
    page.until(lambda: move in page.cluster.heard)


def test_without_a_body_nothing_moves_or_calls_the_cell(page):
    page.join()
    page.tell("move", x=7, z=9, yaw=0.5)
    assert page.event("sent")["sent"] is False
    page.tell("call", id=ME, side="cell", method="say", args=["hi"])
    assert page.event("sent")["sent"] is False


def test_a_violation_and_a_mistake_of_the_page_end_nothing(page):
    page.enter()
    said = AVATAR.client_methods[0].encode_args("throw", 2)
    page.cluster.say(
        protocol.encode_leave(99),
        b"\xff",
        b"",
        protocol.with_alias(OWN, GAME.methods.encode_call(AVATAR, Side.CLIENT, "on_said", said)),
        protocol.encode_leave(RATS),
    )
    assert page.event("leave")["id"] == RAT
    assert "99" in page.event("violation")["text"]
    assert len([each for each in page.events if each["event"] == "violation"]) == 2
    assert "the page's own mistake" in page.complaints()
