"""The operations of a database, and the queue between it and the DBApp. No call here blocks or starts a thread.

An **operation** is a plain record of what to do; its type parameter is the type of its result. A **database**
(`sqlite.py`, `memory.py`, `runtime/postgres.py`) runs operations one after the other and returns when they are durable:
it blocks. A **store** is the app's interface to it: it takes operations and calls back at a later tick. `StoreQueue`
makes a store out of a database and a worker:

    app, in its tick                      queue                          worker: a thread, the simulator, a test
    submit(operation, then, failed) ──▶   waiting, by lane   ── on_work(lane) ──▶  work(lane): runs a batch,
    poll() ── then(result) ─────────◀──   done               ◀─────────────────    returns when it is durable
           └─ failed(reason)

There are two lanes, because hashing a password takes some fifty milliseconds of computing, and no save should wait for
it:

    DATABASE    operations take effect and complete in the order submitted; a batch is one transaction
    PASSWORDS   hashing and checking; the order is not fixed, except that some checks go first

For every `submit`, exactly one of `then` and `failed` is called, once, from inside `poll` and nowhere else. If the
process ends before that, the operation was done as a whole or not at all. `then` means durable (P5). `failed` means
that nothing of it was done.

`work` may run in any thread, in one at a time for each lane: the two lanes share nothing but the ends of deques. A
runtime has a thread for each lane that sleeps until `on_work`. The simulator calls `work` after a drawn latency, and
lets a crash fall between two operations with `work(lane, limit=…)` on a queue that is not polled any more.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from terrazzo.errors import TerrazzoError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ENTITY_ID_MAX = 2**31 - 1
"""Entity ids are positive and fit an int32; when the last is taken there are no more."""

PLACE_UNKNOWN = -1
"""The BaseApp of a log-on without a placed proxy so far."""

BATCH_MAX = 256
"""Operations in one transaction."""


class StoreError(TerrazzoError):
    """An operation was not done, and why: a full disk, a damaged file, no more ids."""


class Account(NamedTuple):
    """An account, and the stored entity that logs on with it."""

    name: str
    password_hash: str
    type_name: str
    dbid: int


class LogOnRecord(NamedTuple):
    """A stored entity that is in the world, its base, and the index of the BaseApp (PLACE_UNKNOWN: not placed yet)."""

    dbid: int
    entity: int
    base_app: int


class Claim(NamedTuple):
    """The result of AddLogOn: the record, and whether it is new."""

    record: LogOnRecord
    is_new: bool


class Operation(Generic[T_co]):
    """One operation; `T_co` is the type of its result."""


@dataclass(frozen=True)
class FindAccount(Operation[Account | None]):
    """The account of this name; case does not matter."""

    name: str


@dataclass(frozen=True)
class CreateAccount(Operation[Account | None]):
    """A new account with a new entity, both or neither. None: the name is taken."""

    name: str
    password_hash: str
    type_name: str
    record: bytes


@dataclass(frozen=True)
class LoadEntity(Operation[bytes | None]):
    """The record of an entity; None: there is no such entity of this type."""

    type_name: str
    dbid: int


@dataclass(frozen=True)
class SaveEntity(Operation[int | None]):
    """Stores a record under its dbid; dbid 0 creates an entity, and with an entity id its log-on record, by which the
    same operation, repeated, finds what was created. Returns the dbid; None: there is no such entity."""

    type_name: str
    dbid: int
    record: bytes
    entity: int = 0
    base_app: int = PLACE_UNKNOWN


class CheckedOut(NamedTuple):
    """The result of CheckOut: the log-on record, whether it is new, and the record of the entity."""

    holder: LogOnRecord
    is_new: bool
    record: bytes


@dataclass(frozen=True)
class CheckOut(Operation[CheckedOut | None]):
    """AddLogOn and LoadEntity in one. None, and nothing is done: there is no such entity of this type."""

    type_name: str
    dbid: int


@dataclass(frozen=True)
class DeleteEntity(Operation[LogOnRecord | None]):
    """Deletes an entity, and the account that logs on as it. None: it is not there (any more). If it is in the world,
    its log-on record, and nothing is done."""

    type_name: str
    dbid: int


@dataclass(frozen=True)
class AddLogOn(Operation[Claim]):
    """Adds a log-on record with the next entity id for a proxy that is not placed yet, unless the entity has a record
    already."""

    dbid: int


@dataclass(frozen=True)
class PlaceLogOn(Operation[bool]):
    """The proxy `entity` of a logged-on entity is on the BaseApp of this index. False: that proxy is not recorded."""

    dbid: int
    entity: int
    base_app: int


@dataclass(frozen=True)
class ClearLogOn(Operation[bool]):
    """Removes the log-on record of this base; `is_deleted`: and the entity, with its account. False, and nothing is
    done: the entity has no log-on record, or another base's."""

    dbid: int
    entity: int
    is_deleted: bool = False


@dataclass(frozen=True)
class ClearLogOns(Operation[int]):
    """Removes all records of this BaseApp (None: of every BaseApp). Returns how many are left."""

    base_app: int | None


@dataclass(frozen=True)
class ListLogOns(Operation[list[LogOnRecord]]):
    """All log-on records."""


@dataclass(frozen=True)
class TakeIds(Operation[int]):
    """The first of `count` consecutive entity ids that were never given out before."""

    count: int


class UnsavedOutcome(Enum):
    """The outcome for a record that an earlier run could not save."""

    TAKEN = "taken in"
    THERE = "already there"
    NEWER = "not taken in: the database has something newer"
    UNKNOWN = "not taken in: the database has no such entity"


class Leftover(NamedTuple):
    """A record that an earlier run could not save."""

    type_name: str
    dbid: int
    record: bytes
    replaces: list[str]
    """SHA-256 digests of the records that it replaces: a record with any other digest is newer."""


@dataclass(frozen=True)
class TakeIn(Operation[list[UnsavedOutcome]]):
    """Saves the leftovers of one file, all or none, once for each `name`: if the file was taken in before, each outcome
    is THERE."""

    name: str
    leftovers: tuple[Leftover, ...]


@dataclass(frozen=True)
class HashPassword(Operation[str]):
    """The text to store for a password."""

    password: str = field(repr=False)


@dataclass(frozen=True)
class CheckPassword(Operation[bool]):
    """Whether this is the password. Without a hash the result is False, after the same work."""

    password: str = field(repr=False)
    password_hash: str | None = field(repr=False)
    goes_first: bool = False
    """Whether it goes before all that wait in its lane."""


class StoreLane(Enum):
    """Operations of different lanes do not wait for each other."""

    DATABASE = "database"
    PASSWORDS = "passwords"


class Database(Protocol):
    """Runs the operations of the DATABASE lane, and blocks while it does."""

    @property
    def away(self) -> str:
        """Why the database has not been within reach for a while; empty: it is. May be read from any thread."""

    def transact(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Runs them in order; returns for each its result or a StoreError. All of it is durable by then. While the
        database is out of reach this waits."""

    def stop_waiting(self) -> None:
        """Called from another thread: a `transact` that waits for a database out of reach raises a UsageError, and so
        does every later one that would wait."""

    def close(self) -> None:
        """Closes the database."""


class Passwords(Protocol):
    """Runs the operations of the PASSWORDS lane (`passwords.Hasher`)."""

    def hash(self, password: str) -> str: ...
    def check(self, password: str, password_hash: str | None) -> bool: ...


class Store(Protocol):
    """The DBApp's interface to its database."""

    def submit(self, operation: Operation[T], then: Callable[[T], None], failed: Callable[[str], None]) -> None:
        """Begins an operation; one of the two is called from a later `poll`."""

    def poll(self) -> None:
        """Makes the calls of all operations that are done."""

    @property
    def away(self) -> str:
        """Why the database has not been within reach for a while; empty: it is. Operations then wait until it is back,
        so an app submits no more than it must."""

    def __len__(self) -> int:
        """The number of operations that were submitted and have not called back."""


class _Job:
    """One submitted operation."""

    __slots__ = ("failed", "operation", "outcome", "then")

    def __init__(self, operation: Operation[Any], then: Callable[[Any], None], failed: Callable[[str], None]) -> None:
        self.operation = operation
        self.then = then
        self.failed = failed
        self.outcome: Any = None


class StoreQueue:
    """A store over a database; see the module."""

    def __init__(
        self, database: Database, passwords: Passwords, on_work: Callable[[StoreLane], None] = lambda lane: None
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._on_work = on_work
        self._waiting: dict[StoreLane, deque[_Job]] = {lane: deque() for lane in StoreLane}
        self._done: deque[_Job] = deque()
        self._outstanding = 0

    def __len__(self) -> int:
        return self._outstanding

    @property
    def away(self) -> str:
        """See Store."""
        return self._database.away

    # The app's side.

    def submit(self, operation: Operation[T], then: Callable[[T], None], failed: Callable[[str], None]) -> None:
        """See Store."""
        lane = StoreLane.PASSWORDS if isinstance(operation, HashPassword | CheckPassword) else StoreLane.DATABASE
        self._outstanding += 1
        job = _Job(operation, then, failed)
        if isinstance(operation, CheckPassword) and operation.goes_first:
            self._waiting[lane].appendleft(job)
        else:
            self._waiting[lane].append(job)
        self._on_work(lane)

    def poll(self) -> None:
        """See Store. An operation that is done while this runs is called back by the next `poll`."""
        for _ in range(len(self._done)):
            job = self._done.popleft()
            self._outstanding -= 1
            if isinstance(job.outcome, StoreError):
                job.failed(str(job.outcome))
            else:
                job.then(job.outcome)

    # The worker's side.

    def work(self, lane: StoreLane, limit: int = BATCH_MAX) -> bool:
        """Runs at most `limit` operations of a lane; False when none waited."""
        waiting = self._waiting[lane]
        count = min(len(waiting), limit)
        if lane is StoreLane.PASSWORDS:
            for _ in range(count):  # one by one: a check that goes first may arrive meanwhile
                job = waiting.popleft()
                job.outcome = self._compute(job.operation)
                self._done.append(job)
        elif count:
            jobs = [waiting.popleft() for _ in range(count)]
            outcomes = self._database.transact([job.operation for job in jobs])
            for job, outcome in zip(jobs, outcomes, strict=True):
                job.outcome = outcome
                self._done.append(job)
        return count > 0

    def _compute(self, operation: Operation[Any]) -> Any:
        try:
            if isinstance(operation, HashPassword):
                return self._passwords.hash(operation.password)
            assert isinstance(operation, CheckPassword)
            return self._passwords.check(operation.password, operation.password_hash)
        except StoreError as problem:
            return problem


def outcome_of(leftover: Leftover, stored: bytes | None) -> UnsavedOutcome:
    """What becomes of a leftover when the database has `stored` for its entity; TAKEN: it is to be saved."""
    if leftover.dbid == 0:
        return UnsavedOutcome.TAKEN
    if stored is None:
        return UnsavedOutcome.UNKNOWN
    if stored == leftover.record:
        return UnsavedOutcome.THERE
    return UnsavedOutcome.TAKEN if sha256(stored).hexdigest() in leftover.replaces else UnsavedOutcome.NEWER


def run(database: Database, operation: Operation[T]) -> T:
    """Runs one operation at once: for tools and tests. Raises the StoreError if it failed."""
    [result] = database.transact([operation])
    if isinstance(result, StoreError):
        raise result
    return result  # type: ignore[no-any-return]  # the type parameter of the operation is the type of its result


def fold_name(name: str) -> str:
    """The form in which two names that look the same to people are equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
