"""Bots at DBApp: no password is worked on, nothing stays."""

from terrazzo.db.bots import BotsDatabase
from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.passwords import Hasher
from terrazzo.schema.record import decode_record
from terrazzo.wire.pairs.login_db import BOT_DBID_FIRST
from tests.db.harness import AVATAR, CHEAP, Office


class NoHasher(Hasher):
    """Fails the test that works on a password."""

    def hash(self, password):
        raise AssertionError("hashed")

    def check(self, password, password_hash):
        raise AssertionError("checked")


def test_bot_logs_on_without_a_password_and_leaves_nothing():
    players = MemoryDatabase()
    office = Office(database=BotsDatabase(players), allow_new_players=False)
    office.store._passwords = NoHasher(bytes, CHEAP)
    place = office.arrive("bot-1")
    assert place.dbid == BOT_DBID_FIRST
    assert decode_record(AVATAR, place.record) == ({"name": "bot-1", "gold": 0}, {})
    office.leave(place.dbid)
    assert office.app.view()["logged_on"] == 0
    again = office.arrive("bot-1", entity=78)
    assert again.dbid == BOT_DBID_FIRST + 1
    assert (players.accounts, players.entities, players.log_ons) == ({}, {}, {})


def test_player_of_the_name_that_bots_had_before_does_not_keep_them_out():
    """An older release let players register such names, and kept bots among them."""
    players = MemoryDatabase()
    office = Office(database=players)
    assert office.arrive("bot-1", password="a player's").dbid == 1
    office.leave(1)
    assert Office(database=BotsDatabase(players)).arrive("bot-1").dbid == BOT_DBID_FIRST
    assert set(players.accounts) == {"bot-1"}
