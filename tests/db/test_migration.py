"""Records and a game that has changed: nothing is lost without being named, and a migration is whole or not at all."""

from __future__ import annotations

import pytest

from terrazzo.db.layout import ListRecords, ReadLayout, Rewritten, WriteLayout
from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.migration import ChangeKind, Orders, apply, examine, settle
from terrazzo.db.sqlite import SqliteDatabase
from terrazzo.db.store import AddLogOn, CreateAccount, Database, FindAccount, SaveEntity, StoreError, run
from terrazzo.errors import UsageError
from terrazzo.runtime.postgres import PostgresDatabase
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import EntitySchema, Property, Schema
from terrazzo.schema.record import decode_record, encode_record
from terrazzo.schema.saved_layout import read_form, saved_layout

COMMAND = "terrazzo migrate game"


def schema(**types):
    """Entity types by name, each with its saved properties: {"gold": "INT32"}."""
    return Schema(
        tuple(
            EntitySchema(
                name,
                number,
                tuple(Property(each, read_form(form), Flags.BASE, persistent=True) for each, form in saved.items()),
            )
            for number, (name, saved) in enumerate(types.items(), 1)
        )
    )


OLD = schema(Avatar={"gold": "INT32", "name": "STRING"}, Guard={"pay": "INT16"})


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request, tmp_path):
    """Two avatars and a guard, of OLD."""
    made: Database
    if request.param == "memory":
        made = MemoryDatabase()
    elif request.param == "sqlite":
        made = SqliteDatabase(tmp_path / "game.db", lock_timeout_s=0.0)
    else:
        made = PostgresDatabase(request.getfixturevalue("postgres").new_database())
    assert settle(made, OLD, COMMAND) == []
    for name, gold in (("Ann", 5), ("Ben", 70_000)):
        record = encode_record(OLD["Avatar"], {"gold": gold, "name": name.encode()}, {"@space": b"field"})
        run(made, CreateAccount(name, "hash", "Avatar", record))
    run(made, SaveEntity("Guard", 0, encode_record(OLD["Guard"], {"pay": 9}, {})))
    yield made
    made.close()


def stored(database, game):
    """Type and values of all that is stored, by dbid."""
    records = run(database, ListRecords(0))
    return {each.dbid: (each.type_name, decode_record(game[each.type_name], each.record)[0]) for each in records}


def changes(database, game, **orders):
    found = examine(database, game, Orders(**orders)).changes()
    return {(each.kind, each.what): each for each in found}


def applied(database, game, **orders):
    return apply(database, game, Orders(**orders))[1]


def test_first_start_stores_the_layout(database):
    assert run(database, ReadLayout()) == saved_layout(OLD)


def test_new_properties_and_types_are_stored_at_a_start_and_change_no_record(database):
    before = run(database, ListRecords(0))
    new = schema(Avatar={"gold": "INT32", "name": "STRING", "rank": "INT8"}, Guard={"pay": "INT16"}, Ore={})
    assert [(each.kind, each.what) for each in settle(database, new, COMMAND)] == [
        (ChangeKind.NEW_PROPERTY, "Avatar.rank"),
        (ChangeKind.NEW_TYPE, "Ore"),
    ]
    assert run(database, ListRecords(0)) == before
    assert run(database, ReadLayout()) == saved_layout(new)
    assert stored(database, new)[1] == ("Avatar", {"gold": 5, "name": b"Ann", "rank": 0})


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (schema(Avatar={"name": "STRING"}, Guard={"pay": "INT16"}), "Avatar.gold is stored (2 entities), and the game"),
        (schema(Avatar={"gold": "INT64", "name": "STRING"}, Guard={"pay": "INT16"}), "Avatar.gold is stored as INT32"),
        (schema(Avatar={"gold": "INT32", "name": "STRING"}), "Guard is stored (1 entity), and the game does not save"),
    ],
)
def test_start_with_records_that_do_not_fit_is_refused_with_the_command(database, new, words):
    before = run(database, ListRecords(0))
    with pytest.raises(UsageError) as refused:
        settle(database, new, COMMAND)
    assert words in str(refused.value)
    assert f"`{COMMAND}` shows" in str(refused.value)
    assert run(database, ListRecords(0)) == before
    assert run(database, ReadLayout()) == saved_layout(OLD)


def test_changes_of_a_type_without_records_do_not_stop_a_start(database):
    first = schema(Avatar={"gold": "INT32", "name": "STRING"}, Guard={"pay": "INT16"}, Ore={"kind": "INT8"})
    settle(database, first, COMMAND)
    settle(database, OLD, COMMAND)
    assert run(database, ReadLayout()) == saved_layout(OLD)


def test_loss_is_blocked_until_it_is_named(database):
    new = schema(Avatar={"name": "STRING", "coins": "INT32"}, Guard={"pay": "INT16"})
    lost = changes(database, new)[ChangeKind.DROPPED, "Avatar.gold"]
    assert (lost.records, lost.lost, lost.examples, lost.is_blocked) == (2, 2, (1, 2), True)
    assert "--drop Avatar.gold" in lost.advice
    assert "--rename Avatar.gold=coins" in lost.advice
    before = run(database, ListRecords(0))
    assert not applied(database, new)
    assert run(database, ListRecords(0)) == before
    assert applied(database, new, drops=frozenset({"Avatar.gold"}))
    assert stored(database, new)[2] == ("Avatar", {"name": b"Ben", "coins": 0})
    assert settle(database, new, COMMAND) == []


def test_dropped_property_does_not_come_back_with_its_name(database):
    new = schema(Avatar={"name": "STRING"}, Guard={"pay": "INT16"})
    assert applied(database, new, drops=frozenset({"Avatar.gold"}))
    settle(database, OLD, COMMAND)
    assert stored(database, OLD)[2] == ("Avatar", {"gold": 0, "name": b"Ben"})


def test_renamed_type_and_property_keep_their_values_and_their_account(database):
    new = schema(Hero={"coins": "INT32", "name": "STRING"}, Guard={"pay": "INT16"})
    renames = {"Avatar": "Hero", "Avatar.gold": "coins"}
    assert set(changes(database, new, renames=renames)) == {
        (ChangeKind.RENAMED, "Avatar"),
        (ChangeKind.RENAMED, "Avatar.gold"),
    }
    assert applied(database, new, renames=renames)
    assert stored(database, new)[2] == ("Hero", {"coins": 70_000, "name": b"Ben"})
    account = run(database, FindAccount("ann"))
    assert account is not None
    assert (account.type_name, account.dbid) == ("Hero", 1)


def test_changed_type_converts_what_converts_and_the_rest_only_if_it_is_named(database):
    new = schema(Avatar={"gold": "INT16", "name": "UNICODE_STRING"}, Guard={"pay": "INT16"})
    found = changes(database, new)
    gold, name = (found[ChangeKind.CONVERTED, f"Avatar.{each}"] for each in ("gold", "name"))
    assert (gold.was, gold.becomes, gold.lost, gold.examples, gold.is_blocked) == ("INT32", "INT16", 1, (2,), True)
    assert (name.lost, name.is_blocked) == (0, False)
    assert applied(database, new, drops=frozenset({"Avatar.gold"}))
    assert stored(database, new)[1] == ("Avatar", {"gold": 5, "name": "Ann"})
    assert stored(database, new)[2] == ("Avatar", {"gold": 0, "name": "Ben"})


def test_place_of_an_entity_is_kept(database):
    new = schema(Avatar={"gold": "INT64", "name": "STRING"}, Guard={"pay": "INT16"})
    assert applied(database, new)
    [first, *_] = run(database, ListRecords(0))
    assert decode_record(new["Avatar"], first.record)[1] == {"@space": b"field"}


def test_dropped_type_goes_with_its_accounts(database):
    run(database, AddLogOn(1))
    new = schema(Guard={"pay": "INT16"})
    assert changes(database, new)[ChangeKind.DROPPED, "Avatar"].lost == 2
    assert applied(database, new, drops=frozenset({"Avatar"}))
    assert stored(database, new) == {3: ("Guard", {"pay": 9})}
    assert run(database, FindAccount("Ann")) is None


def test_field_of_a_record_that_is_no_more_is_named_by_its_path(database):
    bag = {"bag": "ARRAY(FIXED_DICT(item:INT32,count:UINT8))"}
    game = schema(Avatar={"gold": "INT32", "name": "STRING", **bag}, Guard={"pay": "INT16"})
    settle(database, game, COMMAND)
    record = encode_record(game["Avatar"], {"bag": [{"item": 7, "count": 3}]}, {})
    run(database, SaveEntity("Avatar", 1, record))
    new = schema(
        Avatar={"gold": "INT32", "name": "STRING", "bag": "ARRAY(FIXED_DICT(item:INT64))"}, Guard={"pay": "INT16"}
    )
    assert changes(database, new)[ChangeKind.DROPPED, "Avatar.bag.count"].is_blocked
    assert applied(database, new, drops=frozenset({"Avatar.bag.count"}))
    assert stored(database, new)[1][1]["bag"] == [{"item": 7}]


def test_database_without_a_layout_gets_it_when_its_records_fit(database):
    run(database, WriteLayout({}))
    assert settle(database, OLD, COMMAND) == []
    assert run(database, ReadLayout()) == saved_layout(OLD)


def test_database_without_a_layout_is_refused_when_its_records_do_not_fit(database):
    run(database, WriteLayout({}))
    new = schema(Avatar={"gold": "UNICODE_STRING", "name": "STRING"}, Guard={})
    with pytest.raises(UsageError, match="terrazzo migrate"):
        settle(database, new, COMMAND)
    found = changes(database, new)
    assert found[ChangeKind.DROPPED, "Guard.pay"].lost == 1
    assert found[ChangeKind.CONVERTED, "Avatar.gold"].was == "unknown"
    assert found[ChangeKind.CONVERTED, "Avatar.gold"].lost == 2


def test_bytes_that_are_no_record_stay_and_are_reported(database):
    run(database, SaveEntity("Guard", 3, b"\xc1"))
    new = schema(Avatar={"gold": "INT64", "name": "STRING"}, Guard={"pay": "INT16"})
    assert changes(database, new)[ChangeKind.UNREADABLE, "records"].examples == (3,)
    assert applied(database, new)
    assert run(database, ListRecords(2))[0].record == b"\xc1"


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ({"drops": frozenset({"Avatar.gould"})}, "did you mean Avatar.gold"),
        ({"drops": frozenset({"Avatar.name"})}, "nothing of that name would be dropped"),
        ({"renames": {"Avatar.gems": "coins"}}, "Avatar.gems is not stored"),
        ({"renames": {"Avatar.gold": "gems"}}, "the game has no gems"),
        ({"renames": {"Avatar.gold": "name"}}, "would both become name"),
        ({"renames": {"Avatar": "Guard"}}, "would both become Guard"),
    ],
)
def test_order_that_makes_no_sense_is_refused_and_changes_nothing(database, orders, words):
    before = run(database, ListRecords(0))
    new = schema(Avatar={"name": "STRING", "coins": "INT32"}, Guard={"pay": "INT16"})
    with pytest.raises(UsageError, match=words):
        apply(database, new, Orders(**orders))
    assert run(database, ListRecords(0)) == before


def test_migration_that_fails_in_the_middle_changes_nothing(database, monkeypatch):
    if isinstance(database, MemoryDatabase):
        pytest.skip("a database in memory has no transaction that could fail")
    before = run(database, ListRecords(0))
    written: list[object] = []

    def failing(self, each):
        if written:
            raise StoreError("the disk is full")
        written.append(each)
        return Rewritten(each.type_name, b"")

    monkeypatch.setattr("terrazzo.db.migration.Migration.rewrite", failing)
    monkeypatch.setattr("terrazzo.db.migration.examine", lambda *_: type("None", (), {"changes": lambda self: []})())
    with pytest.raises(StoreError, match="the disk is full"):
        apply(database, OLD, Orders())
    assert written
    assert run(database, ListRecords(0)) == before
