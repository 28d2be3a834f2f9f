"""The client program from login to leaving, against real endpoints with scripted answers, over both transports."""

import math

import pytest

from terrazzo.client import Client, ClientApp, ClientGame, Phase
from terrazzo.client.link import LEAVE_S
from terrazzo.errors import UsageError, ValueRejected
from terrazzo.game import Game, LoadedGame
from terrazzo.schema.classes.parts import Client as SchemaClient
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.sync.view_events import Violation
from terrazzo.wire.client import Reason
from tests.client.fake_cluster import BASE, KEY, LOGIN, FakeCluster, entropy_of
from tests.client.play import BOB, BOBS, HERE, ME, OWN, RAT, RATS, THERE, Play, moves
from tests.client.town import (
    AVATAR,
    CREATURE,
    GAME,
    SCHEMA,
    Avatar,
    AvatarClient,
    base_row,
    places_message,
)
from tests.client.view_scene import change_message, server_state


def test_logs_in_and_joins(play):
    play.until(lambda: play.app.phase is Phase.JOINING)
    [request] = play.cluster.requests
    assert (request.name, request.password, request.digest) == ("ann", "secret", GAME.digest)
    play.join()
    assert play.cluster.keys == [KEY + request.attempt.encode()], "the key is bound to the attempt"
    assert play.app.phase is Phase.PLAYING
    assert play.app.player.id == ME
    assert play.app.player.account == "ann@example.org"
    assert play.app.player.is_player
    assert play.heard_by(ME) == ["on_player"]
    assert set(play.sent_to) == {LOGIN, BASE}


def test_the_login_session_ends_gracefully_and_its_address_is_given_up(play):
    play.join()
    play.until(lambda: LOGIN in play.cluster.closed)
    assert play.cluster.closed[LOGIN].reason is Reason.ENDED
    play.until(lambda: play.app.addresses == [BASE])
    play.app.on_path_lost(LOGIN, play.now)
    assert play.app.phase is Phase.PLAYING


def test_entities_appear_and_have_parts_of_the_games_classes(play):
    play.enter()
    player, bob, rat = (play.app.parts[each] for each in (ME, BOB, RAT))
    assert play.app.has_body
    assert player.heard == ["on_player", ("on_enter", 80)]
    assert bob.heard == [("on_enter", 60)]
    assert (bob.name, bob.position, bob.yaw, bob.is_player) == ("Bob", THERE, 1.0, False)
    assert isinstance(bob, SchemaClient)
    assert rat.species == 9


def test_changes_inside_a_property_reach_the_part(play):
    play.enter()
    mine = server_state(AVATAR, health=80)
    play.say(
        change_message(OWN, AVATAR, mine, lambda state: state["bag"].append({"kind": 4, "count": 1})),
        change_message(OWN, AVATAR, mine, lambda state: setattr(state["bag"][0], "count", 6)),
    )
    assert play.heard_by(ME)[2:] == [
        ("set_slice_bag", [(0, 1)], []),
        ("set_nested_bag", [0, "count"], 1),
    ]
    assert play.app.player.bag == [{"kind": 4, "count": 6}]


def test_part_gets_its_callbacks_in_order(play):
    play.enter()
    bob = play.app.parts[BOB]
    said = AVATAR.client_methods[0].encode_args("hello", 2)
    play.say(
        change_message(BOBS, AVATAR, server_state(AVATAR, health=60), lambda state: state.__setitem__("health", 59)),
        protocol.with_alias(BOBS, GAME.methods.encode_call(AVATAR, Side.CLIENT, "on_said", said)),
        places_message((BOBS, HERE, (0.0,))),
        protocol.encode_cell_lost(),
    )
    assert bob.heard[1:] == [("set_health", 60, 59), ("on_said", "hello", 2), "on_moved", "on_leave"]
    assert list(play.app.parts) == [ME]
    assert play.heard_by(ME)[-1] == "on_leave"
    assert not play.app.has_body


def test_what_the_games_code_raises_is_reported_and_confined(play):
    play.enter()
    edit = change_message(OWN, AVATAR, server_state(AVATAR), lambda state: state.__setitem__("health", -1))
    play.say(edit, protocol.encode_leave(RATS))
    assert RAT not in play.app.parts
    [(event, facts)] = play.logged
    assert event == "game error"
    assert facts["what"] == "Avatar 10: client set_health"
    assert "the game's own mistake" in facts["error"]


def test_violation_is_reported_and_play_goes_on(play):
    play.enter()
    play.say(protocol.encode_leave(99), protocol.encode_leave(RATS))
    assert len([each for each in play.events if isinstance(each, Violation)]) == 1
    assert [event for event, _ in play.logged] == ["client violation"]
    assert play.app.phase is Phase.PLAYING
    assert RAT not in play.app.parts


def test_the_latest_move_of_a_tick_is_sent(play):
    play.enter()
    assert play.app.move(THERE, 1.0)
    assert play.app.move((7.0, 8.0, 9.0), 2.0, pitch=0.5, roll=0.25)
    assert play.app.player.position == (7.0, 8.0, 9.0)
    play.step()
    play.step()
    assert moves(play.cluster.heard) == [(7.0, 8.0, 9.0, 2.0, 0.5, 0.25)]


def test_the_last_move_is_repeated_in_case_it_was_lost(play):
    play.enter()
    play.app.move(THERE, 1.0)
    for _ in range(60):
        play.step(0.05)
    assert moves(play.cluster.heard) == [(*THERE, 1.0, 0.0, 0.0)] * 3


def test_the_servers_place_replaces_one_not_sent_yet(play):
    play.enter()
    play.app.move(THERE)
    play.cluster.say(protocol.encode_moved(HERE, (0.25, 0.5, 0.0)))
    play.deliver()
    assert play.heard_by(ME)[-1] == "on_moved"
    assert (play.app.player.position, play.app.player.direction) == (HERE, (0.25, 0.5, 0.0))
    for _ in range(60):
        play.step()
    assert set(moves(play.cluster.heard)) == {(*HERE, 0.25, 0.5, 0.0)}


@pytest.mark.parametrize("position", [(math.nan, 0.0, 0.0), (0.0, math.inf, 0.0), (1e39, 0.0, 0.0)])
def test_a_place_that_is_none_is_refused(position):
    play = Play().enter()
    with pytest.raises(ValueRejected, match="finite"):
        play.app.move(position)


def test_calls_of_exposed_methods(play):
    play.enter()
    assert play.app.player.cell.say("hi")
    assert play.app.player.cell.poke(power=3)
    assert play.app.player.cell.wave()
    assert play.app.player.base.rename("Anna")
    assert play.app.parts[BOB].cell.poke(7)
    assert play.app.parts[RAT].cell.feed({"cheese": 1})
    play.step()
    table, found = GAME.methods, []
    for message in play.cluster.heard:
        side = Side.BASE if message[0] >= 134 else Side.CELL
        if message[0] == ToServer.MOVE:
            continue
        entity = int.from_bytes(message[1:5], "little")
        call = table.find(CREATURE if entity == RAT else AVATAR, side, message[0], message[5:])
        found.append((entity, call.method.name, call.method.decode_args(call.data)))
    assert sorted(found, key=str) == sorted(
        [
            (ME, "say", ["hi"]),
            (ME, "poke", [3]),
            (ME, "wave", []),
            (ME, "rename", ["Anna"]),
            (BOB, "poke", [7]),
            (RAT, "feed", [{"cheese": 1}]),
        ],
        key=str,
    )


def test_an_unreliable_method_is_called_unreliably():
    play = Play().enter()
    outbox = play.app._base.session.channel.outbox
    play.app.player.cell.say("hi")
    assert not outbox.unreliable
    play.app.player.cell.wave()
    assert len(outbox.unreliable) == 1


def test_wrong_calls_raise_with_what_is_wrong():
    play = Play().enter()
    with pytest.raises(UsageError, match="no exposed cell method 'heal'; it has"):
        play.app.player.cell.heal()
    with pytest.raises(UsageError, match=r"Avatar\.say may be called by the entity's own client only"):
        play.app.parts[BOB].cell.say("hi")
    with pytest.raises(UsageError, match="own client only"):
        play.app.parts[BOB].base.rename("x")
    with pytest.raises(ValueRejected, match="say"):
        play.app.player.cell.say(5)


def test_calls_and_moves_without_a_body_are_not_sent(play):
    play.join()
    assert not play.app.player.cell.say("hi")
    assert not play.app.move(HERE)
    assert play.app.player.base.rename("Anna")


def test_what_left_is_released(play):
    play.enter()
    play.say(protocol.encode_leave(BOBS))
    assert protocol.encode_released([BOBS]) in play.cluster.heard


def test_rider_does_not_move_itself_and_a_vehicle_moves_its_riders(play):
    play.enter()
    play.say(rides(BOBS, ME))
    bob, count = play.app.parts[BOB], play.app.parts[BOB].heard.count("on_moved")
    assert bob.vehicle == ME
    assert play.app.move((7.0, 8.0, 9.0), 0.0)
    assert bob.position == (8.0, 10.0, 12.0)
    assert bob.heard.count("on_moved") == count + 1
    play.say(rides(BOBS, 0))
    play.say(rides(0, BOB))
    assert play.app.player.vehicle == BOB
    assert not play.app.move(THERE)
    assert play.app.player.position != THERE


def rides(alias: int, vehicle: int) -> bytes:
    ride = Ride(vehicle, HERE, (0.0, 0.0, 0.0))
    return protocol.with_alias(alias, protocol.EntityMessage(protocol.ToClient.RIDES, encode_ride(ride)))


def test_another_space(play):
    play.enter()
    bob = play.app.parts[BOB]
    play.app.move(THERE)
    play.cluster.say(protocol.encode_space(2, (7.0, 0.0, 7.0), (0.0, 0.0, 0.0)))
    play.deliver()
    assert bob.heard[-1] == "on_leave"
    assert play.heard_by(ME)[-1] == "on_space"
    assert list(play.app.parts) == [ME]
    assert play.app.has_body
    play.step()
    play.step()
    assert protocol.encode_released([BOBS, RATS]) in play.cluster.heard
    assert moves(play.cluster.heard) == [(7.0, 0.0, 7.0, 0.0, 0.0, 0.0)]


def test_calls_of_an_entity_that_left_are_not_sent(play):
    play.enter()
    bob = play.app.parts[BOB]
    play.say(protocol.encode_leave(BOBS))
    assert not bob.cell.poke(1)


def test_leaving_is_graceful(play):
    play.enter()
    play.app.player.cell.say("the last word")
    play.app.leave(play.now)
    assert play.app.phase is Phase.LEAVING
    play.until(lambda: play.app.is_over)
    play.step()
    assert play.app.error == ""
    assert play.cluster.heard[-1] == bytes([ToServer.BYE])
    assert b"the last word" in play.cluster.heard[-2]
    assert play.cluster.closed[BASE].reason is Reason.ENDED
    play.until(lambda: play.app.addresses == [], seconds=10.0)
    assert play.app.next_timeout() is None


def test_a_client_that_leaves_waits_until_the_server_has_saved(play):
    play.enter()
    play.cluster.saves = False
    play.app.leave(play.now)
    for _ in range(100):
        play.step()
    assert play.app.phase is Phase.LEAVING
    assert play.cluster.session.reason is None, "the session must live until the last word"
    play.cluster.confirm(play.cluster.session, play.now)
    play.until(lambda: play.app.is_over)
    assert play.app.error == ""


def test_client_that_leaves_without_a_confirmation_has_an_error(play):
    play.enter()
    play.cluster.saves = False
    play.app.leave(play.now)
    play.until(lambda: play.app.is_over, seconds=LEAVE_S + 1.0)
    assert "did not confirm that everything is saved" in play.app.error
    assert play.app.next_timeout() is not None


def test_client_with_a_connection_lost_before_the_confirmation_has_an_error(play):
    play.enter()
    play.cluster.saves = False
    play.app.leave(play.now)
    play.step()
    play.cluster.session.abort()
    play.until(lambda: play.app.is_over)
    assert "did not confirm that everything is saved" in play.app.error


def test_a_name_that_no_message_can_carry():
    with pytest.raises(ValueRejected, match="ClientApp: name is text of at most"):
        ClientApp(
            GAME,
            login=LOGIN,
            server_key=FakeCluster().public_key,
            name="a" * 70_000,
            password="",
            entropy=entropy_of(1),
            now=0.0,
        )


def test_leaving_before_the_world_is_there():
    play = Play()
    play.step()
    play.app.leave(play.now)
    assert (play.app.phase, play.app.error) == (Phase.OVER, "")
    play = Play()
    play.until(lambda: play.cluster.session is not None)
    play.app.leave(play.now)
    play.cluster.say(protocol.encode_base_player(ME, AVATAR, base_row()))
    play.until(lambda: play.app.is_over)
    assert play.app.error == ""
    assert bytes([ToServer.READY]) not in play.cluster.heard


def test_a_driver_that_only_polls_when_asked_to_gets_in_and_out():
    """Nothing hangs for want of a poll that `next_timeout` did not ask for."""
    play = Play()
    heard: list[bytes] = []
    play.cluster.on_message = heard.append
    joined = False
    for _ in range(1000):
        due = play.app.next_timeout()
        if due is None:
            break
        play.step(max(due - play.now, 0.001))
        if play.cluster.session is not None and not joined:
            joined = True
            play.cluster.say(protocol.encode_base_player(ME, AVATAR, base_row()))
        if bytes([ToServer.READY]) in heard:
            play.app.leave(play.now)
    assert play.app.is_over
    assert play.app.error == ""
    assert play.app.next_timeout() is None


def test_a_game_as_the_servers_have_it():
    loaded = LoadedGame(SCHEMA, Game(player=Avatar, spaces=[]), {"Avatar": {Side.CLIENT: AvatarClient}, "Creature": {}})
    game = ClientGame.of(loaded)
    assert issubclass(game.classes["Avatar"], AvatarClient)
    assert issubclass(game.classes["Creature"], Client)


def test_a_game_without_client_classes():
    bare = ClientGame(SCHEMA)
    assert set(bare.classes) == {"Avatar", "Creature", "Hidden"}
    assert bare.digest == GAME.digest
