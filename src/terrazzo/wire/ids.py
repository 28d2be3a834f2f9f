"""The ids of apps and of the parts of entities.

An `AppId` names one incarnation of one process: a kind, an index that the launcher gave, and an incarnation that grows
each time that (kind, index) is started again. Two incarnations are two different peers: a message of a dead one is
never mistaken for one of its successor.

A `PartId` names one part of an entity for ever, wherever it lives. A `Version` counts a part's moves and its lives in
one number, so that the higher of two versions is of the newer home:

    version = life << 32 | moves       a move adds one; a restore after a crash begins the next life with moves = 0

All three are plain tuples and integers: cheap to hash, and their hashes do not depend on the process.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple, NewType

from msgspec import Meta

EntityId = NewType("EntityId", int)
Version = NewType("Version", int)

MOVES_BITS = 32
NEVER_HEARD = Version(-1)
"""Older than any version: the version of a peer from which a part has received nothing."""

ANY_INCARNATION = 0
"""In a dialled AppId: any incarnation. Real incarnations begin at 1."""


class AppKind(IntEnum):
    """The kinds of processes."""

    LOGIN_APP = 1
    DB_APP = 2
    BASE_APP_MGR = 3
    BASE_APP = 4
    CELL_APP_MGR = 5
    CELL_APP = 6
    CONSOLE = 7


class AppId(NamedTuple):
    """One incarnation of one process."""

    kind: AppKind
    index: int  # type: ignore[assignment]  # the word hides tuple.index, which nobody misses
    incarnation: int

    @property
    def slot(self) -> tuple[AppKind, int]:
        """The kind and the index, which stay the same over restarts."""
        return (self.kind, self.index)

    def __str__(self) -> str:
        return f"{self.kind.name.lower()}-{self.index}.{self.incarnation}"


NO_BASE = AppId(AppKind.BASE_APP, 0, 0)
"""In place of the app of the base of an entity that has no base part: no process is called that."""


class Part(IntEnum):
    """The parts of an entity that live in the cluster."""

    BASE = 0
    CELL = 1


class PartId(NamedTuple):
    """One part of one entity, wherever it is."""

    entity: Annotated[EntityId, Meta(ge=-(1 << 31), lt=1 << 31)]
    part: Part

    def __str__(self) -> str:
        return f"{self.entity}.{self.part.name.lower()}"


def life_of(version: int) -> int:
    """How many times the part had been restored; -1 for NEVER_HEARD."""
    return version >> MOVES_BITS


def next_move(version: int) -> Version:
    """The version of a part that arrives at a new home."""
    assert (version + 1) >> MOVES_BITS == version >> MOVES_BITS, "a part has moved four thousand million times"
    return Version(version + 1)


def first_of_life(life: int) -> Version:
    """The version with which a restored part begins; beats every version of an earlier life."""
    return Version(life << MOVES_BITS)
