"""Bots leave nothing in the players' database, and begin anew each time."""

import pytest

from terrazzo.db.bots import BotsDatabase
from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.store import (
    AddLogOn,
    ClearLogOn,
    ClearLogOns,
    CreateAccount,
    FindAccount,
    ListLogOns,
    LoadEntity,
    PlaceLogOn,
    SaveEntity,
    StoreError,
    TakeIds,
    run,
)
from terrazzo.wire.pairs.login_db import BOT_DBID_FIRST, is_bot_name


@pytest.fixture
def players():
    return MemoryDatabase()


@pytest.fixture
def database(players):
    return BotsDatabase(players)


def log_on(database, name, base_app=0):
    account = run(database, CreateAccount(name, "", "Avatar", b"new"))
    assert account is not None
    claim = run(database, AddLogOn(account.dbid))
    assert claim.is_new
    assert run(database, PlaceLogOn(account.dbid, claim.record.entity, base_app))
    return account.dbid


def entity_of(database, dbid):
    return next(each.entity for each in run(database, ListLogOns()) if each.dbid == dbid)


def test_entities_of_bots_and_players_share_one_row_of_ids(database):
    dbids = [log_on(database, name) for name in ("bot-1", "ann", "bot-2", "ben")]
    ids = [entity_of(database, dbid) for dbid in dbids]
    assert len(set(ids)) == 4
    assert run(database, TakeIds(10)) not in ids


def test_bot_without_an_id_is_refused_as_a_player_is(database, players):
    account = run(database, CreateAccount("bot-1", "", "Avatar", b"new"))
    assert account is not None
    players.failing = "the disk is full"
    with pytest.raises(StoreError, match="disk is full"):
        run(database, AddLogOn(account.dbid))


def test_bot_is_not_among_the_players(database, players):
    dbid = log_on(database, "bot-1")
    assert dbid >= BOT_DBID_FIRST
    assert run(database, SaveEntity("Avatar", dbid, b"changed")) == dbid
    assert run(database, LoadEntity("Avatar", dbid)) == b"changed"
    assert (players.accounts, players.entities, players.log_ons) == ({}, {}, {})


def test_bot_is_removed_when_it_logs_off(database):
    dbid = log_on(database, "bot-1")
    entity = entity_of(database, dbid)
    assert not run(database, ClearLogOn(dbid, entity + 1)), "the record of another proxy stays"
    assert run(database, FindAccount("bot-1")) is not None
    assert run(database, ClearLogOn(dbid, entity))
    assert run(database, FindAccount("bot-1")) is None
    assert (database.bots.accounts, database.bots.entities, database.bots.log_ons) == ({}, {}, {})
    assert log_on(database, "bot-1") != dbid, "a dbid is not given twice"


def test_bots_of_a_lost_base_app_are_removed(database):
    log_on(database, "bot-1", base_app=0)
    kept = log_on(database, "bot-2", base_app=1)
    ann = log_on(database, "ann", base_app=1)
    assert run(database, ClearLogOns(0)) == 2
    assert set(database.bots.entities) == {kept}
    assert run(database, ClearLogOns(None)) == 0
    assert database.bots.entities == {}
    assert run(database, LoadEntity("Avatar", ann)) == b"new"


def test_batch_keeps_the_order_of_its_results(database, players):
    operations = [
        FindAccount("bot-1"),
        CreateAccount("ann", "h", "Avatar", b"a"),
        CreateAccount("bot-1", "", "Avatar", b"b"),
    ]
    nothing, ann, bot = database.transact(operations)
    assert nothing is None
    assert (ann.name, bot.name) == ("ann", "bot-1")
    assert set(players.accounts) == {"ann"}


@pytest.mark.parametrize("name", ["bot-1", "BOT-1", "Bot-walker-2", "\uff42\uff4f\uff54-1"])
def test_reserved_names_are_known_in_any_case_and_width(name):
    assert is_bot_name(name)


@pytest.mark.parametrize("name", ["bot", "botany", "robot-1", "ann"])
def test_other_names_are_the_players(name):
    assert not is_bot_name(name)
