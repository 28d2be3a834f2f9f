"""PostgreSQL crashes under a cluster while players play, leave and come: real processes, the real protocol."""

import asyncio

import pytest

from terrazzo.client import ClientGame
from terrazzo.game import load_game
from tests.runtime.worlds import PLAZA, Visitor, World, play

PLAYERS = 8
COMING = 2


@pytest.fixture
def url(postgres):
    return postgres.new_database()


def colour_of(number, day):
    return day * 0x10000 + number


def visitors(game, cluster, numbers):
    return [Visitor(game, cluster, f"guest-{number}") for number in numbers]


async def paint(players, day):
    """Each gets a colour, and sees it."""
    for number, each in players.items():
        each.client.player.cell.paint(colour_of(number, day))
    for number, each in players.items():
        await each.until(lambda each=each, number=number: each.client.player.colour == colour_of(number, day))


async def crash_while_they_play(game, world, cluster, postgres):
    """PostgreSQL is away: half of the players leave with a new colour, others come, the rest plays on."""
    players = dict(enumerate(visitors(game, cluster, range(PLAYERS))))
    await asyncio.gather(*(each.enter() for each in players.values()))
    await paint(players, 1)
    await asyncio.to_thread(postgres.stop)
    try:
        await paint(players, 2)
        leaving = [asyncio.create_task(each.leave()) for number, each in players.items() if number % 2]
        coming = visitors(game, cluster, range(PLAYERS, PLAYERS + COMING))
        arrivals = [asyncio.create_task(each.enter()) for each in coming]
        await asyncio.to_thread(world.wait_logged, "db_app-0", "database out of reach")
    finally:
        await asyncio.to_thread(postgres.start)
    assert await asyncio.gather(*leaving) == [""] * len(leaving), "everything is saved, and they were told"
    await asyncio.to_thread(postgres.stop)  # what was confirmed is there after this, too
    await asyncio.to_thread(postgres.start)
    await asyncio.gather(*arrivals)
    again = visitors(game, cluster, range(1, PLAYERS, 2))
    for number, each in zip(range(1, PLAYERS, 2), again, strict=True):
        await enter_again(game, cluster, number, each)
    staying = [each for number, each in players.items() if not number % 2]
    assert await asyncio.gather(*(each.leave() for each in (*staying, *coming))) == [""] * (len(staying) + COMING)


async def enter_again(game, cluster, number, visitor):
    await visitor.enter()
    assert visitor.client.player.colour == colour_of(number, 2), "the log-off waited for the save"
    assert await visitor.leave() == ""


async def find_everything(game, cluster):
    found = visitors(game, cluster, range(PLAYERS))
    await asyncio.gather(*(each.enter() for each in found))
    assert [each.client.player.colour for each in found] == [colour_of(number, 2) for number in range(PLAYERS)]
    assert await asyncio.gather(*(each.leave() for each in found)) == [""] * PLAYERS


def test_players_notice_a_delay_when_postgres_crashes_and_nothing_is_lost(tmp_path, postgres, url):
    game = ClientGame.of(load_game(PLAZA))
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[store]\nurl = "{url}"\n[login]\nattempts_burst = 1000\n')
    arguments = ("--cells", 1, "--bases", 2, "--no-console", "--config", settings)
    with World(tmp_path / "data", *arguments) as world:
        cluster = world.wait_ready()
        play(crash_while_they_play(game, world, cluster, postgres))
        assert (world.terminate(), world.errors) == (0, [])
    assert not (tmp_path / "data" / "world.sqlite").exists()
    assert (
        postgres.sql("SELECT count(*), count(DISTINCT dbid) FROM accounts", url)
        == f"{PLAYERS + COMING}|{PLAYERS + COMING}"
    )
    assert postgres.sql("SELECT count(*) FROM log_ons", url) == "0"
    with World(tmp_path / "data", *arguments, "--single") as world:
        play(find_everything(game, world.wait_ready()))
        assert (world.terminate(), world.errors) == (0, [])


def test_cluster_without_its_database_fails_with_the_reason(tmp_path, postgres):
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[store]\nurl = "{postgres.url("nowhere")}"\n')
    with World(tmp_path / "data", "--single", "--no-console", "--config", settings) as world:
        assert world.join() == 1
    assert any("db_app-0: cannot open the database" in line and "createdb" in line for line in world.errors)
