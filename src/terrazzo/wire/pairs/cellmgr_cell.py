"""CellAppMgr ↔ CellApp: cells, trees and loads (70–79)."""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.messages import Message, message


@message(70, max_size=256)
class CellAppReady(Message, frozen=True):
    """CellApp → CellAppMgr, when the link is up: I can take cells."""


@message(71)
class SpaceTree(Message, frozen=True):
    """CellAppMgr → every CellApp of the space, whenever it changes: the whole tree (`world.bsp.BspTree.pack`).

    A CellApp that finds itself in it for the first time makes its cell. A lower version than one has is ignored.
    """

    space: int
    name: str
    version: int
    tree: bytes


@message(72, max_size=256)
class CellReady(Message, frozen=True):
    """CellApp → CellAppMgr: my cell of this space is there, as of this version."""

    space: int
    version: int


class CellLoad(NamedTuple):
    """One cell's share of a report."""

    space: int
    load: float
    reals: int
    ghosts: int


@message(73)
class CellAppLoad(Message, frozen=True):
    """CellApp → CellAppMgr, every second or so."""

    load: float
    cells: tuple[CellLoad, ...]
