"""The operations of a database on the layout of its records, and on all records at once (`migration.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from terrazzo.db.store import Operation
from terrazzo.schema.saved_layout import SavedLayout

CHUNK = 256
"""Records that are read at a time."""


class StoredRecord(NamedTuple):
    """One saved entity."""

    dbid: int
    type_name: str
    record: bytes


class Rewritten(NamedTuple):
    """What takes the place of a record."""

    type_name: str
    record: bytes


Rewrite = Callable[[StoredRecord], Rewritten | None]
"""Gives what a record becomes; None: the entity is deleted, with its account."""


@dataclass(frozen=True)
class ReadLayout(Operation[SavedLayout]):
    """The layout of the records; empty: none is stored."""


@dataclass(frozen=True)
class WriteLayout(Operation[None]):
    """Replaces the stored layout; the records stay as they are."""

    layout: SavedLayout


@dataclass(frozen=True)
class ListRecords(Operation[list[StoredRecord]]):
    """The next records after a dbid, at most CHUNK."""

    after: int


@dataclass(frozen=True)
class RewriteRecords(Operation[None]):
    """Rewrites all records and the layout: everything, or nothing. `rewrite` may be called more than once for a record,
    and has no effect of its own."""

    rewrite: Rewrite
    layout: SavedLayout
