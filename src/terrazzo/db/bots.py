"""A database that keeps bots out of the players' database: a bot's account is in memory, and ends with its log-off.

    BotsDatabase ── operation of a bot ──────────▶ MemoryDatabase: the account ends with the log-on record
                └── every other operation ───────▶ the database of the players

An operation is a bot's when its name is reserved for bots (`login_db.is_bot_name`), or its dbid was given by the
MemoryDatabase: those begin at BOT_DBID_FIRST, which no database of players reaches. So a bot is a new entity each time
it logs on, and the players' database never holds one. The memory is bounded by the number of bots that are logged on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.store import (
    AddLogOn,
    CheckOut,
    ClearLogOn,
    ClearLogOns,
    CreateAccount,
    Database,
    DeleteEntity,
    FindAccount,
    ListLogOns,
    LoadEntity,
    Operation,
    PlaceLogOn,
    SaveEntity,
    StoreError,
    TakeIds,
)
from terrazzo.wire.pairs.login_db import BOT_DBID_FIRST, is_bot_dbid, is_bot_name


class BotsDatabase:
    """See the module."""

    def __init__(self, players: Database) -> None:
        self.bots = MemoryDatabase(first_dbid=BOT_DBID_FIRST, take_ids=self._take_ids)
        self.players = players

    def transact(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """See Database. The operations of players are one transaction, as they are without bots."""
        asked = [each for each in operations if not _is_of_bot(each)]
        results = iter(self.players.transact(asked) if asked else [])
        return [self._run(each) if _is_of_bot(each) else self._both(each, next(results)) for each in operations]

    @property
    def away(self) -> str:
        """See Database."""
        return self.players.away

    def stop_waiting(self) -> None:
        """See Database."""
        self.players.stop_waiting()

    def close(self) -> None:
        """See Database."""
        self.players.close()

    def _run(self, operation: Operation[Any]) -> Any:
        [result] = self.bots.transact([operation])
        if isinstance(operation, ClearLogOn) and result is True:
            self.bots.forget(operation.dbid)
        return result

    def _take_ids(self, wanted: TakeIds) -> int:
        """Bots and players share one sequence of entity ids, which the players' database gives out."""
        [result] = self.players.transact([wanted])
        if isinstance(result, StoreError):
            raise result
        assert isinstance(result, int)
        return result

    def _both(self, operation: Operation[Any], result: Any) -> Any:
        """ClearLogOns and ListLogOns name no entity: they run in both databases."""
        if isinstance(operation, ListLogOns) and isinstance(result, list):
            return [*result, *self.bots.transact([operation])[0]]
        if not isinstance(operation, ClearLogOns) or not isinstance(result, int):
            return result
        before = set(self.bots.log_ons)
        [left] = self.bots.transact([operation])
        for dbid in before - set(self.bots.log_ons):
            self.bots.forget(dbid)
        return result + left


def _is_of_bot(operation: Operation[Any]) -> bool:
    if isinstance(operation, FindAccount | CreateAccount):
        return is_bot_name(operation.name)
    by_dbid = LoadEntity | SaveEntity | AddLogOn | PlaceLogOn | ClearLogOn | CheckOut | DeleteEntity
    return isinstance(operation, by_dbid) and is_bot_dbid(operation.dbid)
