"""A game that stores, loads and deletes entities: real processes, over both databases."""

from __future__ import annotations

import threading
import time

import pytest

from terrazzo.db.layout import ListRecords
from terrazzo.db.store import ListLogOns, run
from terrazzo.game import load_game
from terrazzo.runtime.databases import open_database
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.schema.record import decode_record
from tests.runtime.worlds import LIMIT_S, World

GAME = """
from pathlib import Path

from terrazzo import BASE, Base, EntityType, Game, Int32, Int64, Proxy, Space, StoredFailed, prop, remote

class Avatar(EntityType):
    pass

class AvatarBase(Proxy, of=Avatar):
    pass

class Clerk(EntityType):
    pass

class Ledger(EntityType):
    count: Int32 = prop(BASE, saved=True)

class LedgerBase(Base, of=Ledger):
    @remote
    async def keep(self) -> Int64:
        self.count += 1
        await self.save()
        return self.dbid

    @remote
    def end(self, delete: Int32) -> Int32:
        self.destroy(delete=bool(delete))
        return 1

class ClerkBase(Base, of=Clerk):
    def on_created(self) -> None:
        self.timer(0.1)

    async def on_timer(self, number: int) -> None:
        try:
            words = await self.work()
        except Exception as problem:
            words = repr(problem)
        Path({done!r}).write_text(words)

    async def work(self) -> str:
        kept, dropped, own = [await self.create(Ledger) for _ in range(3)]
        numbers = [await self.ref(each).keep() for each in (kept, dropped, own)]
        same = await self.load(Ledger, dbid=numbers[0])
        for each in (kept, dropped):
            await self.ref(each).end(0)
        await self.ref(own).end(1)
        again = await self.load(Ledger, dbid=numbers[0])
        await self.ref(again).keep()
        await self.delete(Ledger, dbid=numbers[1])
        failed = 0
        for number in numbers:
            try:
                await self.delete(Ledger, dbid=number)
            except StoredFailed:
                failed += 1
        try:
            await self.load(Ledger, dbid=numbers[1])
        except StoredFailed:
            failed += 1
        return f"{{same == kept}} {{again == kept}} {{failed}}"

def populate(server):
    server.create(Clerk)

GAME = Game(player=Avatar, spaces=[Space("field")], on_ready=populate)
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_stored_entities_are_loaded_and_deleted_in_a_real_cluster(tmp_path, request, kind):
    url = request.getfixturevalue("postgres").new_database() if kind == "postgres" else ""
    game, data, settings, done = (tmp_path / each for each in ("tiny_game.py", "data", "settings.toml", "done"))
    settings.write_text(f'[store]\nurl = "{url}"\n')
    game.write_text(GAME.format(done=str(done)))
    with World(data, "--cells", 1, "--bases", 2, "--no-console", "--config", settings, game=game) as world:
        world.wait_ready()
        pause, until = threading.Event(), time.monotonic() + LIMIT_S
        while not (done.exists() and done.read_text()):
            assert time.monotonic() < until, "the clerk has not finished"
            pause.wait(0.05)
        assert world.terminate() == 0
    assert done.read_text() == "True False 2"
    database = open_database(url, DataFolder(data))
    schema = load_game(game).schema
    records = run(database, ListRecords(0))
    log_ons = run(database, ListLogOns())
    database.close()
    assert [decode_record(schema["Ledger"], each.record)[0] for each in records] == [{"count": 2}]
    assert len(log_ons) <= 1
