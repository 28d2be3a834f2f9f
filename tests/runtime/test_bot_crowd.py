"""A crowd of bots in a real world: reserved names, and one that is refused."""

import asyncio
import socket
import sqlite3

import pytest

from terrazzo.client import ClientGame
from terrazzo.errors import UsageError
from terrazzo.game import load_game
from terrazzo.runtime.bots import LOGGING_IN_MAX, BotCrowd
from terrazzo.runtime.orders import Bots
from terrazzo.wire.client import public_key
from tests.runtime.worlds import PLAZA, Visitor, World, call, play


def silent(event, /, **facts):
    """No log."""


async def crowd_of(game, cluster, password, count, name="bot-test"):
    login = cluster.login
    orders = Bots(
        count=count, host=login.host, udp_port=login.udp_port, public_key=cluster.public_key, name=name,
        password=password,
    )  # fmt: skip
    return BotCrowd(orders, game, silent, tick_s=0.05)


async def wait_in_vain(game):
    """Without any answer: a limited number logs in at a time, and the end is not delayed by them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        orders = Bots(
            count=3 * LOGGING_IN_MAX, host="127.0.0.1", udp_port=deaf.getsockname()[1],
            public_key=public_key(bytes(range(32))).hex(), password="x",
        )  # fmt: skip
        crowd = BotCrowd(orders, game, silent, tick_s=0.05)
        life = asyncio.create_task(crowd.run())
        await until(lambda: crowd.logging_in == LOGGING_IN_MAX)
        for _ in range(20):
            await asyncio.sleep(0)
            assert crowd.logging_in == LOGGING_IN_MAX
        crowd.stop()
        await life
        assert crowd.logging_in == 0


def test_crowd_logs_in_at_a_bounded_rate_and_ends_without_an_answer():
    play(wait_in_vain(load_game(PLAZA)))


async def until(what):
    while not what():
        await asyncio.sleep(0.02)


async def play_with_bots(game, cluster, folder):
    with pytest.raises(UsageError, match="bot-test-1 does not get in: Names that begin with bot- are for bots"):
        await (await crowd_of(game, cluster, "guessed", 2)).run()
    refused = Visitor(ClientGame.of(game), cluster, "Bot-1", "my own password")
    await refused.player.over()
    assert "choose another name" in refused.client.error
    await refused.close()
    count = LOGGING_IN_MAX + 2
    first = await crowd_of(game, cluster, folder.bots_password(), 1)
    life = asyncio.create_task(first.run())
    await until(lambda: first.playing == 1)
    second = await crowd_of(game, cluster, folder.bots_password(), count)  # its first name is taken
    other = asyncio.create_task(second.run())
    await until(lambda: second.playing == count - 1)
    first.stop()
    await life
    second.stop()
    await other


def test_bots_have_names_of_their_own_and_one_that_is_refused_ends_nothing(tmp_path):
    with World(tmp_path / "data", "--cells", 1, "--no-console", "--bots", 2) as world:
        cluster = world.wait_ready()
        world.wait_for("2 bots")
        play(play_with_bots(load_game(PLAZA), cluster, world.folder))
        code, _, error = call("bots", tmp_path / "nowhere", "--data", world.folder.root)
        assert (code, "there is no such file or folder" in error) == (1, True)
        assert (world.terminate(), world.errors) == (0, [])
    with sqlite3.connect(tmp_path / "data" / "world.sqlite") as database:
        assert database.execute("SELECT COUNT(*) FROM accounts").fetchall() == [(0,)]
