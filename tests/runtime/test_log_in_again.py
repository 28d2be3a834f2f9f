"""A client that died without a word, and its player that logs in again; a client that lost its connection, and resumes:
real processes, real sockets.
"""

import time

from aiohttp import ClientSession

from terrazzo.client import ClientGame, Phase
from terrazzo.game import load_game
from terrazzo.runtime.players import WebSocketPlayer
from tests.runtime.worlds import PLAZA, Visitor, World, play


async def die_and_come_again(game, cluster):
    first = Visitor(game, cluster, "ann")
    await first.enter()
    player = first.client.player
    assert player is not None
    player.cell.paint(0x123456)
    await first.until(lambda: player.colour == 0x123456)
    await first.close()  # its socket is gone, without a message
    second = Visitor(game, cluster, "ann")
    await second.enter()
    assert second.client.player is not None
    assert second.client.player.colour == 0x123456, "it is as the first client left it"
    third = Visitor(game, cluster, "ann")
    await third.enter()
    await second.player.over()
    await second.close()
    assert second.client.error == "your player has logged in again, from another place"
    assert third.client.player is not None
    assert third.client.player.colour == 0x123456
    return await third.leave()


def test_next_login_of_a_player_gets_in_after_a_silent_client_and_after_one_that_plays(tmp_path):
    game = ClientGame.of(load_game(PLAZA))
    with World(tmp_path / "data", "--cells", 1, "--no-console") as world:
        assert play(die_and_come_again(game, world.wait_ready())) == ""
        assert (world.terminate(), world.errors) == (0, [])


def cut(visitor):
    """Its connection is lost: the WebSocket is closed; over UDP the program notices it, and the server does not."""
    address = visitor.client._base_at
    if isinstance(visitor.player, WebSocketPlayer):
        pipe = visitor.player._lines[address].pipe
        assert pipe is not None
        pipe.finish()
    else:
        visitor.client.on_path_lost(address, time.monotonic())


def player_of(visitor):
    assert visitor.client.player is not None
    return visitor.client.player


async def lose_connections_and_resume(game, cluster):
    errors = []
    async with ClientSession() as http:
        for name, transport in (("wanda", http), ("uwe", None)):
            visitor = Visitor(game, cluster, name, http=transport)
            await visitor.enter()
            first = player_of(visitor).id
            player_of(visitor).cell.paint(0x123456)
            await visitor.until(lambda visitor=visitor: player_of(visitor).colour == 0x123456)
            for _ in range(2):
                cut(visitor)
                await visitor.until(lambda visitor=visitor: visitor.client.phase is Phase.RECONNECTING)
                await visitor.enter()
                assert (player_of(visitor).id, player_of(visitor).colour) == (first, 0x123456)
            assert not visitor.violations
            errors.append(await visitor.leave())
    return errors


def test_client_with_a_lost_connection_is_back_at_its_entity_over_both_transports(tmp_path):
    game = ClientGame.of(load_game(PLAZA))
    with World(tmp_path / "data", "--cells", 1, "--no-console") as world:
        assert play(lose_connections_and_resume(game, world.wait_ready())) == ["", ""]
        assert (world.terminate(), world.errors) == (0, [])
