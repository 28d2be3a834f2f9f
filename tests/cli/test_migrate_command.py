"""`terrazzo migrate` with a game whose definitions change, and the start of a world before and after it."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from terrazzo.db.layout import ListRecords
from terrazzo.db.migration import settle
from terrazzo.db.sqlite import SqliteDatabase
from terrazzo.db.store import CreateAccount, run
from terrazzo.game import load_game
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.schema.record import decode_record, encode_record

GAME = """
from terrazzo import ALL_CLIENTS, BASE, Cell, EntityType, Game, Int16, Int32, Int64, Proxy, Space, Text, prop

class Avatar(EntityType):
    {properties}

class AvatarBase(Proxy, of=Avatar):
    pass

class AvatarCell(Cell, of=Avatar):
    pass

GAME = Game(player=Avatar, spaces=[Space("field")])
"""


@pytest.fixture
def world(tmp_path):
    """A game with a stored player."""
    made = Place(tmp_path)
    made.write("gold: Int32 = prop(BASE, saved=True)")
    schema = load_game(made.game).schema
    made.data.mkdir()
    database = SqliteDatabase(made.data / "world.sqlite")
    settle(database, schema, "")
    run(database, CreateAccount("Ann", "hash", "Avatar", encode_record(schema["Avatar"], {"gold": 5}, {})))
    database.close()
    return made


class Place:
    """A game and its data."""

    def __init__(self, folder):
        self.game = folder / "tiny_game.py"
        self.data = folder / "data"
        self.versions = 0

    def write(self, *properties):
        """Each version has another time of change: Python reads a module of the same second and size from its cache."""
        self.game.write_text(GAME.format(properties="\n    ".join(properties)))
        self.versions += 1
        os.utime(self.game, (self.versions, self.versions))

    def migrate(self, *words):
        done = CliRunner().invoke(main, ["migrate", str(self.game), "--data", str(self.data), *words])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    def values(self):
        database = SqliteDatabase(self.data / "world.sqlite")
        [record] = run(database, ListRecords(0))
        database.close()
        return decode_record(load_game(self.game).schema["Avatar"], record.record)[0]


def test_game_that_has_not_changed_fits(world):
    code, words = world.migrate()
    assert (code, words.splitlines()[1:]) == (0, ["What is stored fits the game."])


def test_changes_are_shown_and_applied_on_request(world):
    world.write("gold: Int64 = prop(BASE, saved=True)", "rank: Int16 = prop(BASE, saved=True)")
    code, words = world.migrate()
    assert code == 0
    assert "converted     Avatar.gold: INT32 becomes INT64, 1 record\n" in words
    assert "new property  Avatar.rank: INT16\n" in words
    assert "--apply makes these changes" in words
    assert "The records fit the game now." in world.migrate("--apply")[1]
    assert world.values() == {"gold": 5, "rank": 0}
    assert "What is stored fits the game." in world.migrate()[1]


def test_loss_exits_with_1_until_it_is_named(world):
    world.write("rank: Int16 = prop(BASE, saved=True)")
    code, words = world.migrate("--apply")
    assert code == 1
    assert "NOT ALLOWED: --drop Avatar.gold" in words
    code, words = world.migrate("--apply", "--drop", "Avatar.gold")
    assert code == 0, words
    assert world.values() == {"rank": 0}


def test_renamed_property_keeps_its_value(world):
    world.write("coins: Int32 = prop(BASE, saved=True)")
    assert world.migrate("--apply", "--rename", "Avatar.gold=coins")[0] == 0
    assert world.values() == {"coins": 5}


def test_json_has_what_people_see(world):
    world.write("coins: Int32 = prop(BASE, saved=True)")
    code, words = world.migrate("--json")
    told = json.loads(words)
    assert (code, told["records"], told["is_blocked"], told["is_applied"]) == (1, 1, True, False)
    assert {(each["kind"], each["what"], each["lost"]) for each in told["changes"]} == {
        ("dropped", "Avatar.gold", 1),
        ("new property", "Avatar.coins", 0),
    }


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--rename", "Avatar.gold"], "write NAME=NEW"),
        (["--drop", "Avatar.gould"], "nothing of that name would be dropped"),
        (["--data", "nowhere"], "there is no world in"),
    ],
)
def test_wrong_option_is_one_sentence(world, words, answer):
    code, told = world.migrate(*words)
    assert code == 1
    assert answer in told
    assert "Traceback" not in told


def test_running_world_is_not_migrated(world):
    folder = DataFolder(world.data)
    folder.prepare()
    try:
        code, words = world.migrate("--apply")
    finally:
        folder.release()
    assert code == 1
    assert "another cluster is running with the data folder" in words
