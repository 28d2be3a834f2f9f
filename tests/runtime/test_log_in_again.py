"""A client that died without a word, and its player that logs in again: real processes, real sockets."""

from terrazzo.client import ClientGame
from terrazzo.game import load_game
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
