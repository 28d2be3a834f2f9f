"""CellAppMgr ↔ CellApp: cells, trees and loads (70–79).

    the manager          SpaceTree, to all of the space    CellRemoved, to one that had a cell and is empty
                         SpaceEnded, to all of a space that the game has ended
                         SpaceData, to all of the space
    CellApps             CellReady for each version        CellEmpty, from one that has no cell any more

`managers/cells.py` describes how cells come and go, `managers/instances.py` how a space ends.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import CountNumber, IndexNumber


@message(70, max_size=256)
class CellAppReady(Message, frozen=True):
    """CellApp → CellAppMgr, when the link is up: the CellApp can take cells."""


@message(71)
class SpaceTree(Message, frozen=True):
    """CellAppMgr → every CellApp of the space, whenever it changes: the whole tree (`world.bsp.BspTree.pack`).

    A CellApp that is in the tree for the first time makes its cell. A lower version than the present one is ignored.
    """

    space: IndexNumber
    name: str
    version: CountNumber
    tree: bytes
    retiring: tuple[AppId, ...] = ()
    """CellApps that had a cell and are not yet empty: their entities are on their way to the present cells."""


@message(72, max_size=256)
class CellReady(Message, frozen=True):
    """CellApp → CellAppMgr: the CellApp uses this version of the tree. Its cell, if it has one, exists; and none of its
    entities is on its way to, or has a ghost at, a CellApp that is no longer part of the space."""

    space: IndexNumber
    version: CountNumber


@message(74, max_size=256)
class CellEmpty(Message, frozen=True):
    """CellApp → CellAppMgr: the CellApp has no cell of this space any more, and no real, as of this version."""

    space: IndexNumber
    version: CountNumber


@message(75, max_size=256)
class CellRemoved(Message, frozen=True):
    """CellAppMgr → CellApp: all members have confirmed that the CellApp has no cell of this space. It answers CellEmpty
    and drops the space."""

    space: IndexNumber
    version: CountNumber
    """The tree that all members use; a later one may give the CellApp a cell again."""


@message(76, max_size=256)
class SpaceEnded(Message, frozen=True):
    """CellAppMgr → every CellApp of a space that the game has ended. The CellApp destroys the entities that are there,
    lets no other in, and answers CellEmpty with this version, the last one of the space."""

    space: IndexNumber
    version: CountNumber


class SpaceItem(NamedTuple):
    """One item of the data of a space."""

    key: str
    version: CountNumber
    """The version of the data in which it got this value."""
    value: bytes
    """Plain data (`schema/plaindata.py`)."""


@message(77)
class SpaceData(Message, frozen=True):
    """CellAppMgr → every CellApp of the space, after its first tree and whenever the data changes: all of it. A lower
    version than the present one is ignored."""

    space: IndexNumber
    version: CountNumber
    items: tuple[SpaceItem, ...]


class CellLoad(NamedTuple):
    """One cell's share of a report."""

    space: IndexNumber
    load: float | None
    """The cell's share of its app's load; None: not measured yet."""
    reals: int
    ghosts: int


@message(73)
class CellAppLoad(Message, frozen=True):
    """CellApp → CellAppMgr, every second or so."""

    load: float | None
    """The measured share of a core; None: not measured yet."""
    cells: tuple[CellLoad, ...]
