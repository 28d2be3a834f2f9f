"""The database in PostgreSQL, through asyncpg. Its calls block: they run an event loop of its own (`transact`), in the
thread of the store.

`db/sql.py` has the tables and the statements of the operations, `pgsession.py` how a session begins. A batch is one
transaction; a batch that only reads needs none.

**A connection that is lost** is made again for as long as it takes, with pauses up to RETRY_MAX_S; meanwhile `transact`
waits, and `away` has the reason. The batch that was under way is then done, once:

    BEGIN, the statements of the batch ──▶ number := last + 1; COMMIT ──▶ the answer
             lost: it is not done               lost: PostgreSQL may or may not have committed

A batch has the next number, and the same transaction writes that number into the table `batches`. The new session
first takes the lock of the database. It gets the lock only when the former session has ended, so by then the former
transaction is committed or undone, and cannot change any more. So the number decides:

    last + 1    it was committed: its results, which are known, are returned
    last        it was not: it is run again
    any other   another server has used the database meanwhile, or it was restored from a copy: what this server has
                in memory is not true any more. It ends, with a UsageError

`txid_status` of PostgreSQL would not do: after a crash, the id of a transaction that left nothing on disk can be given
to another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg

from terrazzo.db import sql
from terrazzo.db.store import Operation, StoreError
from terrazzo.errors import UsageError
from terrazzo.runtime import pgsession
from terrazzo.runtime.loop import loop_factory
from terrazzo.runtime.pgsession import Backend, shown

RETRY_S = 0.05
RETRY_MAX_S = 1.0


class _LostError(Exception):
    """The connection is lost."""


class PostgresDatabase:
    """See the module. May be used from any thread that runs no event loop, by one at a time."""

    def __init__(self, url: str, *, lock_timeout_s: float = 2.0) -> None:
        self.url = url
        self.away = ""
        self._lock_timeout_s = lock_timeout_s
        self._connection: asyncpg.Connection | None = None
        self._own: set[Backend] = set()
        """The sessions of this process that may still be there."""
        self._number = 0
        """Of the last batch that is known to be committed."""
        self._waiting: asyncio.Task[Any] | None = None
        self._is_closing = False
        self._loop = loop_factory()()
        try:
            self._loop.run_until_complete(self._open())
        except BaseException:
            self.close()
            raise

    async def _open(self) -> None:
        connection = await pgsession.first_connection(self.url)
        self._number = await self._begin_session(connection, is_new=True)

    def close(self) -> None:
        """See Database."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._loop.run_until_complete(_close(connection))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def stop_waiting(self) -> None:
        """See Database."""
        self._is_closing = True
        self._loop.call_soon_threadsafe(lambda: self._waiting is not None and self._waiting.cancel())

    def transact(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """See Database."""
        return self._loop.run_until_complete(self._transact(operations))

    # Sessions.

    async def _begin_session(self, connection: asyncpg.Connection, *, is_new: bool) -> int:
        """Makes this connection the one that works; returns the number of the last batch."""
        try:
            own = await pgsession.backend_of(connection)
            former, self._own = self._own, {*self._own, own}
            await pgsession.take_lock(connection, self.url, former, self._lock_timeout_s)
            if is_new:
                await pgsession.bring_up_to_date(connection, self.url)
            number: int = await connection.fetchval("SELECT number FROM batches")
        except BaseException:
            connection.terminate()
            raise
        self._own = {own}  # it has the lock, so no other is left
        self._connection = connection
        self.away = ""
        return number

    async def _connect_again(self) -> int:
        """Waits until there is a session again; returns the number of the last batch."""
        if self._is_closing:
            raise self._stopped()
        self._waiting = asyncio.current_task()
        pause_s = RETRY_S
        try:
            while True:
                try:
                    return await self._begin_session(await pgsession.connect(self.url), is_new=False)
                except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:
                    self.away = str(problem) or type(problem).__name__
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, RETRY_MAX_S)
        except asyncio.CancelledError:
            raise self._stopped() from None
        finally:
            self._waiting = None

    def _stopped(self) -> UsageError:
        return UsageError(f"the database {shown(self.url)} was out of reach until the end: {self.away}")

    def _drop(self, problem: BaseException) -> None:
        self.away = str(problem) or type(problem).__name__
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    # Batches.

    async def _transact(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        results: list[Any] = []
        is_committing = False
        while True:
            try:
                if self._connection is None and await self._is_committed(is_committing):
                    return results
                if sql.changes_nothing(operations):
                    return [await self._read(each) for each in operations]
                is_committing = False
                results = await self._run(operations)
                is_committing = True
                await self._commit()
            except _LostError as lost:
                self._drop(lost)
            except asyncpg.PostgresError as problem:
                await self._roll_back()
                return [StoreError(f"the database does not work: {_words(problem)}") for _ in operations]
            else:
                return results

    async def _is_committed(self, is_committing: bool) -> bool:
        """Connects again; whether the batch under way, of which the COMMIT was sent (`is_committing`), was done."""
        number = await self._connect_again()
        if is_committing and number == self._number + 1:
            self._number = number
            return True
        if number != self._number:
            self._drop(_LostError("another server has used it"))  # its lock, too
            raise UsageError(
                f"another server has used the database {shown(self.url)} while it was out of reach, or it was restored "
                f"from a copy (its last batch is {number}, this server's is {self._number}): this server ends"
            )
        return False

    async def _run(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Begins the transaction and runs the batch in it; first without savepoints (`sql.py`)."""
        await self._execute("BEGIN")
        try:
            return [await self._steps(each) for each in operations]
        except (asyncpg.PostgresError, StoreError):
            await self._execute("ROLLBACK")
        await self._execute("BEGIN")
        return [await self._confined(each) for each in operations]

    async def _commit(self) -> None:
        status = await self._execute(f"UPDATE batches SET number = {self._number + 1}; COMMIT")
        assert status == "COMMIT", status
        self._number += 1

    async def _roll_back(self) -> None:
        """After an error of the transaction itself. If that fails, the connection ends, and the transaction with it."""
        try:
            await self._execute("ROLLBACK")
        except (_LostError, asyncpg.PostgresError) as problem:
            self._drop(problem)

    async def _confined(self, operation: Operation[Any]) -> Any:
        """The result of one operation, or the StoreError for which it undid itself."""
        await self._execute(sql.SAVEPOINT)
        result = await self._read(operation)
        if isinstance(result, StoreError):
            await self._execute(sql.UNDO)
        await self._execute(sql.RELEASE)
        return result

    async def _read(self, operation: Operation[Any]) -> Any:
        """The result of an operation, or its StoreError."""
        try:
            return await self._steps(operation)
        except asyncpg.PostgresError as problem:
            return StoreError(f"the database refuses: {_words(problem)}")
        except StoreError as problem:
            return problem

    async def _steps(self, operation: Operation[Any]) -> Any:
        steps = sql.steps_of(operation)
        try:
            text, values = next(steps)
            while True:
                text, values = steps.send(await self._fetch(sql.for_postgres(text), values))
        except StopIteration as end:
            return end.value

    async def _fetch(self, text: str, values: tuple[object, ...]) -> Sequence[sql.DatabaseRow]:
        assert self._connection is not None
        try:
            rows: list[sql.DatabaseRow] = await self._connection.fetch(text, *values)
        except Exception as problem:
            raise _lost_or(problem, self._connection) from None
        return rows

    async def _execute(self, text: str) -> str:
        assert self._connection is not None
        try:
            status: str = await self._connection.execute(text)
        except Exception as problem:
            raise _lost_or(problem, self._connection) from None
        return status


def _words(problem: BaseException) -> str:
    """The message without its DETAIL, which has values of rows."""
    return str(problem.args[0]) if problem.args and isinstance(problem, asyncpg.PostgresError) else str(problem)


def _lost_or(problem: Exception, connection: asyncpg.Connection) -> Exception:
    """The problem itself, or _LostError if the connection is of no more use."""
    ends = (
        OSError,  # TimeoutError, too
        asyncpg.InterfaceError,
        asyncpg.PostgresConnectionError,
        asyncpg.AdminShutdownError,
        asyncpg.CrashShutdownError,
        asyncpg.CannotConnectNowError,
    )
    is_lost = connection.is_closed() or isinstance(problem, ends)
    return _LostError(str(problem) or type(problem).__name__) if is_lost else problem


async def _close(connection: asyncpg.Connection) -> None:
    try:
        await connection.close(timeout=1.0)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()
