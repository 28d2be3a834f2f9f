"""Leftovers: records that could not be saved before the cluster ended. They are kept in a file, and the next start of
DBApp takes them in.

    BaseApp, at its end ──▶ unsaved-APP-ID.json ──▶ the next start of DBApp, before any player can log in
                                                      ├─ taken in, or already stored ──▶ the file is deleted
                                                      ├─ the database has newer records ──▶ unsaved-….json.refused
                                                      └─ the database does not work ──▶ no start; the file stays

The rules:

- *Whole or not at all.* A file is written under another name, flushed and then renamed. All records of a file are taken
  in by one transaction, which also notes the file's name: a file that is found again after a crash changes nothing.
- *Never over newer records.* Each record has the digests of all records that the database can have if the entity was
  not saved since. Any other record is newer, and stays.
- *A full disk* has room for the file: RESERVE_BYTES are set aside in the file `reserve` at each start, and freed for
  it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from terrazzo.base.saving import Unsaved
from terrazzo.db.store import Database, Leftover, StoreError, TakeIn, UnsavedOutcome
from terrazzo.db.store import run as run_operation
from terrazzo.errors import UsageError
from terrazzo.wire.environment import Log
from terrazzo.wire.log_events import LogEvent

RESERVE_BYTES = 4 << 20
NAMED_MAX = 20
"""The most entities that are named in a message; the log has all of them."""


class _File(msgspec.Struct, frozen=True):
    """The content of a file."""

    entities: list[Unsaved]


def set_reserve_aside(folder: Path) -> None:
    """Reserves room for leftovers on the disk. A disk that is full already has none."""
    path = folder / "reserve"
    if path.exists() and path.stat().st_size >= RESERVE_BYTES:
        return
    with suppress(OSError), path.open("wb") as file:
        file.write(os.urandom(RESERVE_BYTES))  # no file system can compress this
        os.fsync(file.fileno())


def keep_unsaved(folder: Path, app: str, unsaved: Sequence[Unsaved]) -> str:
    """Writes the file; returns a sentence for the operator."""
    names = ", ".join(each.label for each in unsaved[:NAMED_MAX])
    more = f" and {len(unsaved) - NAMED_MAX} more" if len(unsaved) > NAMED_MAX else ""
    what = f"could not save {names}{more}"
    path = folder / f"unsaved-{app}-{os.urandom(8).hex()}.json"
    data = msgspec.json.encode(_File(list(unsaved)))
    try:
        _write(path, data)
    except OSError:
        (folder / "reserve").unlink(missing_ok=True)
        try:
            _write(path, data)
        except OSError as problem:
            return f"{what}; it is LOST, since {path} could not be written either: {problem.strerror}"
    return f"{what}; it is kept in {path}, and the next start takes it in"


def _write(path: Path, data: bytes) -> None:
    fresh = path.with_suffix(".new")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def take_in(folder: Path, database: Database, log: Log) -> None:
    """Takes in every file; UsageError when one cannot be taken in: without it, players would get an old state, and what
    is saved of them from then on would be newer than the file."""
    for path in sorted(folder.glob("unsaved-*.json")):
        entities = _read(path)
        leftovers = tuple(Leftover(*each[:4]) for each in entities)
        try:
            outcomes = run_operation(database, TakeIn(path.name, leftovers))
        except StoreError as problem:
            raise UsageError(
                f"what the last run could not save, in {path}, cannot be taken in: {problem}; mend that, or move the "
                f"file away to do without it"
            ) from None
        for entity, outcome in zip(entities, outcomes, strict=True):
            log(LogEvent.LEFTOVER, entity=entity.label, dbid=entity.dbid, file=path.name, outcome=outcome.value)
        if any(each in (UnsavedOutcome.NEWER, UnsavedOutcome.UNKNOWN) for each in outcomes):
            path.replace(path.with_name(f"{path.name}.refused"))
        else:
            path.unlink()


def _read(path: Path) -> list[Unsaved]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File).entities
    except (OSError, msgspec.DecodeError) as problem:
        raise UsageError(
            f"what the last run could not save, in {path}, cannot be read: {problem}; mend or move the file"
        ) from None
