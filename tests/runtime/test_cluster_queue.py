"""A real world for one player: others wait in its queue, and get in one after the other."""

from aiohttp import ClientSession

from terrazzo.client import ClientGame, Phase
from terrazzo.game import load_game
from tests.runtime.worlds import PLAZA, Visitor, World, play

SETTINGS = "[login]\nplayers_max = 1\n"


async def days(game, cluster):
    async with ClientSession() as http:
        first = Visitor(game, cluster, "first")
        await first.enter()
        second = Visitor(game, cluster, "second", http=http, may_wait=True)
        await second.until(lambda: second.client.phase is Phase.WAITING)
        third = Visitor(game, cluster, "third", may_wait=True)
        await third.until(lambda: third.client.place == 2)
        hasty = Visitor(game, cluster, "hasty")
        await hasty.player.over()
        assert hasty.client.error_code == "full"
        await hasty.close()
        assert await first.leave() == ""
        await second.enter()
        await third.until(lambda: third.client.place == 1)
        assert await second.leave() == ""
        await third.enter()
        assert await third.leave() == ""


def test_clients_wait_for_their_turn_over_udp_and_websocket(tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text(SETTINGS)
    game = ClientGame.of(load_game(PLAZA))
    with World(tmp_path / "data", "--cells", 1, "--no-console", "--config", settings) as world:
        play(days(game, world.wait_ready()))
        assert world.terminate() == 0
