"""A database in memory: for tests, and for the simulator, where it outlives the processes that use it.

It does what `sql.py` does, operation by operation; the same tests run over both. While `failing` holds a reason, every
operation fails with it and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from terrazzo.db.layout import CHUNK, ListRecords, ReadLayout, RewriteRecords, StoredRecord, WriteLayout
from terrazzo.db.store import (
    ENTITY_ID_MAX,
    PLACE_UNKNOWN,
    Account,
    AddLogOn,
    CheckedOut,
    CheckOut,
    Claim,
    ClearLogOn,
    ClearLogOns,
    CreateAccount,
    DeleteEntity,
    FindAccount,
    Leftover,
    ListLogOns,
    LoadEntity,
    LogOnRecord,
    Operation,
    PlaceLogOn,
    SaveEntity,
    StoreError,
    TakeIds,
    TakeIn,
    UnsavedOutcome,
    fold_name,
    outcome_of,
)
from terrazzo.schema.saved_layout import SavedLayout


class MemoryDatabase:
    """See the module."""

    def __init__(self, *, first_dbid: int = 1, take_ids: Callable[[TakeIds], int] | None = None) -> None:
        """`take_ids` gives out entity ids, if another database has their sequence."""
        self.failing = ""
        self.away = ""
        self.accounts: dict[str, Account] = {}
        self.entities: dict[int, tuple[str, bytes]] = {}
        self.log_ons: dict[int, tuple[int, int]] = {}
        """dbid → entity and index of the BaseApp (PLACE_UNKNOWN: not placed yet)."""
        self.next_entity_id = 1
        self._next_dbid = first_dbid
        self._take_ids = take_ids or self._take_own_ids
        self.taken_in: set[str] = set()
        self.layout: SavedLayout = {}
        self._acts: dict[type[Operation[Any]], Callable[[Any], Any]] = {
            FindAccount: self._find_account,
            CreateAccount: self._create_account,
            LoadEntity: self._load_entity,
            SaveEntity: self._save_entity,
            AddLogOn: self._add_log_on,
            CheckOut: self._check_out,
            DeleteEntity: self._delete_entity,
            PlaceLogOn: self._place_log_on,
            ClearLogOn: self._clear_log_on,
            ClearLogOns: self._clear_log_ons,
            ListLogOns: self._list_log_ons,
            TakeIds: self._take_ids,
            TakeIn: self._take_in,
            ReadLayout: lambda _: dict(self.layout),
            WriteLayout: self._write_layout,
            ListRecords: self._list_records,
            RewriteRecords: self._rewrite_records,
        }

    def transact(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """See Database."""
        return [self._run(operation) for operation in operations]

    def stop_waiting(self) -> None:
        """See Database: nothing waits here."""

    def close(self) -> None:
        """See Database."""

    def forget(self, dbid: int) -> None:
        """Drops an entity and the account that logs on as it."""
        self.entities.pop(dbid, None)
        self.accounts = {name: each for name, each in self.accounts.items() if each.dbid != dbid}

    def _run(self, operation: Operation[Any]) -> Any:
        if self.failing:
            return StoreError(self.failing)
        try:
            return self._acts[type(operation)](operation)
        except StoreError as problem:
            return problem

    def _find_account(self, wanted: FindAccount) -> Account | None:
        return self.accounts.get(fold_name(wanted.name))

    def _create_account(self, new: CreateAccount) -> Account | None:
        folded = fold_name(new.name)
        if folded in self.accounts:
            return None
        dbid = self._add_entity(new.type_name, new.record)
        self.accounts[folded] = Account(new.name, new.password_hash, new.type_name, dbid)
        return self.accounts[folded]

    def _load_entity(self, wanted: LoadEntity) -> bytes | None:
        type_name, record = self.entities.get(wanted.dbid, ("", b""))
        return record if type_name == wanted.type_name else None

    def _save_entity(self, save: SaveEntity) -> int | None:
        dbid = save.dbid or self._dbid_of(save.entity)
        if dbid == 0:
            dbid = self._add_entity(save.type_name, save.record)
            if save.entity:
                self.log_ons[dbid] = (save.entity, save.base_app)
            return dbid
        if self.entities.get(dbid, ("", b""))[0] != save.type_name:
            return None
        self.entities[dbid] = (save.type_name, save.record)
        return dbid

    def _dbid_of(self, entity: int) -> int:
        found = (dbid for dbid, (base, _) in self.log_ons.items() if entity and base == entity)
        return next(found, 0)

    def _add_entity(self, type_name: str, record: bytes) -> int:
        dbid = self._next_dbid
        self._next_dbid += 1
        self.entities[dbid] = (type_name, record)
        return dbid

    def _add_log_on(self, new: AddLogOn) -> Claim:
        is_new = new.dbid not in self.log_ons
        if is_new:
            self.log_ons[new.dbid] = (self._take_ids(TakeIds(1)), PLACE_UNKNOWN)
        return Claim(LogOnRecord(new.dbid, *self.log_ons[new.dbid]), is_new)

    def _check_out(self, wanted: CheckOut) -> CheckedOut | None:
        record = self._load_entity(LoadEntity(wanted.type_name, wanted.dbid))
        return None if record is None else CheckedOut(*self._add_log_on(AddLogOn(wanted.dbid)), record)

    def _delete_entity(self, gone: DeleteEntity) -> LogOnRecord | None:
        if gone.dbid in self.log_ons:
            return LogOnRecord(gone.dbid, *self.log_ons[gone.dbid])
        if self.entities.get(gone.dbid, ("", b""))[0] == gone.type_name:
            self.forget(gone.dbid)
        return None

    def _place_log_on(self, placed: PlaceLogOn) -> bool:
        if self.log_ons.get(placed.dbid, (0, 0))[0] != placed.entity:
            return False
        self.log_ons[placed.dbid] = (placed.entity, placed.base_app)
        return True

    def _clear_log_on(self, gone: ClearLogOn) -> bool:
        if self.log_ons.get(gone.dbid, (0, 0))[0] != gone.entity:
            return False
        del self.log_ons[gone.dbid]
        if gone.is_deleted:
            self.forget(gone.dbid)
        return True

    def _clear_log_ons(self, gone: ClearLogOns) -> int:
        kept = {dbid: place for dbid, place in self.log_ons.items() if gone.base_app not in (None, place[1])}
        self.log_ons = kept
        return len(kept)

    def _list_log_ons(self, _: ListLogOns) -> list[LogOnRecord]:
        return [LogOnRecord(dbid, *place) for dbid, place in self.log_ons.items()]

    def _take_in(self, file: TakeIn) -> list[UnsavedOutcome]:
        if file.name in self.taken_in:
            return [UnsavedOutcome.THERE] * len(file.leftovers)
        self.taken_in.add(file.name)
        return [self._take_in_one(each) for each in file.leftovers]

    def _take_in_one(self, leftover: Leftover) -> UnsavedOutcome:
        outcome = outcome_of(leftover, self._load_entity(LoadEntity(leftover.type_name, leftover.dbid)))
        if outcome is UnsavedOutcome.TAKEN:
            self._save_entity(SaveEntity(leftover.type_name, leftover.dbid, leftover.record))
        return outcome

    def _write_layout(self, new: WriteLayout) -> None:
        self.layout = dict(new.layout)

    def _list_records(self, wanted: ListRecords) -> list[StoredRecord]:
        following = sorted(dbid for dbid in self.entities if dbid > wanted.after)
        return [StoredRecord(dbid, *self.entities[dbid]) for dbid in following[:CHUNK]]

    def _rewrite_records(self, order: RewriteRecords) -> None:
        rewritten = {dbid: order.rewrite(StoredRecord(dbid, *each)) for dbid, each in self.entities.items()}
        for dbid, new in rewritten.items():
            if new is None:
                self.log_ons.pop(dbid, None)
                self.forget(dbid)
            else:
                self.entities[dbid] = (new.type_name, new.record)
        for name, account in self.accounts.items():
            self.accounts[name] = account._replace(type_name=self.entities[account.dbid][0])
        self.layout = dict(order.layout)

    def _take_own_ids(self, wanted: TakeIds) -> int:
        first = self.next_entity_id
        if first + wanted.count - 1 > ENTITY_ID_MAX:
            raise StoreError("there are no more entity ids")
        self.next_entity_id += wanted.count
        return first
