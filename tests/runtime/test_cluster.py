"""The whole engine from outside: real processes, the real protocol, the command as people use it."""

import asyncio
import json
import os
import signal

import pytest
from aiohttp import ClientSession

from terrazzo.client import ClientGame
from terrazzo.errors import UsageError
from terrazzo.game import load_game
from terrazzo.runtime.datafolder import DataFolder
from tests.runtime.worlds import LIMIT_S, PLAZA, Visitor, Watch, World, call, homes, play

PLAYERS = 20
CELLS = 4

SETTINGS = "[login]\nattempts_burst = 1000\n"

OTHER_GAME = """
from terrazzo import ALL_CLIENTS, Cell, EntityType, Game, Int32, Proxy, Space, prop

class Avatar(EntityType):
    rank: Int32 = prop(ALL_CLIENTS)

class AvatarBase(Proxy, of=Avatar):
    pass

class AvatarCell(Cell, of=Avatar):
    pass

GAME = Game(player=Avatar, spaces=[Space("field")])
"""


@pytest.fixture(scope="module")
def plaza():
    return ClientGame.of(load_game(PLAZA))


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text(SETTINGS)
    return path


def goal_of(number):
    """Each to a place of its own, in the quarter opposite to that where another goes: all four cells are visited."""
    side_x, side_z = (1, -1)[number % 2], (1, -1)[number // 2 % 2]
    return side_x * (6.0 + number / 4), side_z * (7.0 + number / 4)


def opposite(number):
    x, z = goal_of(number)
    return -x, -z


async def everybody(plaza, cluster, http):
    visitors = [
        Visitor(plaza, cluster, f"guest-{number}", http=http if number // 2 % 2 else None) for number in range(PLAYERS)
    ]
    await asyncio.gather(*(each.enter() for each in visitors))
    return visitors


def is_settled(found):
    """Every player is in exactly one cell, and each cell has a player."""
    apps = set().union(*found.values())
    return len(found) == PLAYERS and len(apps) == CELLS and all(len(each) == 1 for each in found.values())


async def first_day(plaza, cluster):
    async with ClientSession() as http:
        visitors = await everybody(plaza, cluster, http)
        await asyncio.gather(*(each.walk(*opposite(number)) for number, each in enumerate(visitors)))
        before = await homes(cluster, http, is_settled)
        for number, each in enumerate(visitors):
            each.client.player.cell.paint(0x100000 + number)
        await asyncio.gather(*(each.walk(*goal_of(number)) for number, each in enumerate(visitors)))
        await asyncio.gather(*(each.until(lambda each=each: all_is_seen(each, visitors)) for each in visitors))
        await homes(cluster, http, lambda found: is_settled(found) and all(found[id] != before[id] for id in before))
        assert await asyncio.gather(*(each.leave() for each in visitors)) == [""] * PLAYERS
        assert [each.violations for each in visitors] == [[]] * PLAYERS


def all_is_seen(visitor, visitors):
    """Whether it has all others near with the right colour and place."""
    for number, other in enumerate(visitors):
        part = visitor.client.parts.get(other.client.view.player.id)
        if part is None or part.colour != 0x100000 + number:
            return False
        x, _, z = part._seen.position
        if abs(x - other.place[0]) > 0.01 or abs(z - other.place[1]) > 0.01:
            return False
    return True


async def second_day(plaza, cluster, world):
    """The world has the same state as before. Half of the clients are still connected when it ends; the last message of
    each."""
    async with ClientSession() as http:
        visitors = await everybody(plaza, cluster, http)
        for number, each in enumerate(visitors):
            assert each.client.player.colour == 0x100000 + number
            assert each.place == pytest.approx(goal_of(number), abs=0.01)
        assert await asyncio.gather(*(each.leave() for each in visitors[::2])) == [""] * (PLAYERS // 2)
        world.process.send_signal(signal.SIGTERM)
        for each in visitors[1::2]:
            await each.player.over()
            await each.close()
    return [each.client.error for each in visitors[1::2]]


def test_players_walk_over_borders_leave_and_find_everything_again(tmp_path, plaza, settings):
    data = tmp_path / "data"
    with World(data, "--cells", CELLS, "--bases", 2, "--config", settings) as world:
        cluster = world.wait_ready()
        watch = Watch([each.pid for each in cluster.apps])
        assert len(cluster.apps) == CELLS + 2 + 4 + 1
        assert (data / "cluster.key").stat().st_mode & 0o777 == 0o600
        play(first_day(plaza, cluster))
        refuse_strangers(tmp_path, data)
        assert (world.terminate(), world.errors) == (0, []), "what does not end within five seconds is reported"
        assert watch.wait_gone(0.1) == []
        assert not world.folder.cluster_file.exists()
        assert not os.path.exists(cluster.sockets)
    with World(data, "--cells", 2, "--single", "--config", settings) as world:
        last_words = play(second_day(plaza, world.wait_ready(), world))
        assert last_words == ["the server is stopping"] * (PLAYERS // 2)
        assert (world.join(), world.errors) == (0, [])


def refuse_strangers(tmp_path, data):
    """Each mistake is one sentence and an exit code; the world does not mind."""
    cluster = DataFolder(data).read_cluster()
    elsewhere = ("--address", f"127.0.0.1:{cluster.login.udp_port}", "--key", cluster.public_key)
    code, _, error = call("bots", PLAZA, *elsewhere, "--count", 1, "--name", "guest", "--password", "wrong")
    assert code == 1
    assert "password" in error
    assert error.count("\n") == 1
    other = tmp_path / "other.py"
    other.write_text(OTHER_GAME)
    code, _, error = call("bots", other, "--data", data, "--count", 1)
    assert code == 1
    assert "different entity definitions" in error
    code, _, error = call("run", PLAZA, "--data", data)
    assert code == 1
    assert "another cluster is running with the data folder" in error
    assert error.count("\n") == 1


def test_a_killed_app_is_named_and_the_rest_ends_in_order(tmp_path):
    with World(tmp_path / "data", "--cells", 2, "--no-console", "--json-log") as world:
        cluster = world.wait_ready()
        watch = Watch([each.pid for each in cluster.apps])
        [victim] = [each for each in cluster.apps if each.name == "cell_app-1"]
        os.kill(victim.pid, signal.SIGKILL)
        assert world.join() == 1
        assert watch.wait_gone(0.1) == []
        first, *words = world.errors
        assert first.startswith(f"cell_app-1 (pid {victim.pid}) was ended by SIGKILL")
        assert any(json.loads(line)["event"] == "link up" for line in words), "the end of its log"


def test_no_process_outlives_its_launcher(tmp_path):
    with World(tmp_path / "data", "--cells", 1, "--no-console", "--bots", 3) as world:
        world.wait_ready()
        world.wait_for("3 bots")
        cluster = world.folder.read_cluster()
        watch = Watch([each.pid for each in cluster.apps])
        world.process.kill()
        world.process.wait()
        with pytest.raises(UsageError, match=rf"dead: its launcher \(pid {cluster.pid}\) ended|no cluster is running"):
            world.folder.read_cluster()
        assert watch.wait_gone(LIMIT_S) == [], "they end by themselves"
        with pytest.raises(UsageError, match="no cluster is running"):
            world.folder.read_cluster()
        assert not os.path.exists(cluster.sockets)
