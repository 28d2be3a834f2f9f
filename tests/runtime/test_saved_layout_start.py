"""The start of a real cluster with a game that has changed: additions are taken, anything else needs the command."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from terrazzo.db.layout import ReadLayout
from terrazzo.db.store import SaveEntity, run
from terrazzo.game import load_game
from terrazzo.runtime.databases import open_database
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.schema.record import encode_record
from tests.runtime.worlds import World, call

GAME = """
from terrazzo import ALL_CLIENTS, BASE, Cell, EntityType, Game, Int32, Int64, Proxy, Space, prop

class Avatar(EntityType):
    {properties}

class AvatarBase(Proxy, of=Avatar):
    pass

class AvatarCell(Cell, of=Avatar):
    pass

GAME = Game(player=Avatar, spaces=[Space("field")])
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_changed_game_starts_after_the_command_that_its_refusal_names(tmp_path, request, kind):
    url = request.getfixturevalue("postgres").new_database() if kind == "postgres" else ""
    game, data, settings = tmp_path / "tiny_game.py", tmp_path / "data", tmp_path / "settings.toml"
    settings.write_text(f'[store]\nurl = "{url}"\n')
    args = ("--cells", 1, "--no-console", "--config", settings)

    def write(*properties):
        game.write_text(GAME.format(properties="\n    ".join(properties)))

    def stored():
        database = open_database(url, DataFolder(data))
        layout = run(database, ReadLayout())
        database.close()
        return layout

    write("gold: Int32 = prop(BASE, saved=True)")
    with World(data, *args, game=game) as world:
        world.wait_ready()
        assert world.terminate() == 0
    assert stored() == {"Avatar": {"gold": "INT32"}}
    database = open_database(url, DataFolder(data))
    run(database, SaveEntity("Avatar", 0, encode_record(load_game(game).schema["Avatar"], {"gold": 7}, {})))
    database.close()

    write("gold: Int32 = prop(BASE, saved=True)", "rank: Int32 = prop(BASE, saved=True)")
    with World(data, *args, game=game) as world:
        world.wait_ready()
        assert world.terminate() == 0
    assert stored() == {"Avatar": {"gold": "INT32", "rank": "INT32"}}

    write("gold: Int64 = prop(BASE, saved=True)", "rank: Int32 = prop(BASE, saved=True)")
    code, _, error = call("run", game, "--data", data, *args)
    assert code == 1
    assert "Avatar.gold is stored as INT32 (1 entity), and is INT64 in the game" in error
    command = error.partition("`")[2].partition("`")[0]
    assert command == f"terrazzo migrate {game} --data {data}{' --config FILE' if url else ''}"
    done = CliRunner().invoke(main, [*shlex.split(command.replace("FILE", str(settings)))[1:], "--apply"])
    assert done.exit_code == 0, done.output
    with World(data, *args, game=game) as world:
        world.wait_ready()
        assert world.terminate() == 0
