"""BaseApp or CellApp ↔ CellAppMgr: what the code of a game changes about spaces (150–159).

`sync/spaces.py` has the asking side, `managers/changes.py` the other one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import CountNumber


class SpaceAct(IntEnum):
    """The kinds of changes."""

    CREATE = 1
    END = 2
    SET_DATA = 3


class SpaceChange(NamedTuple):
    """One change."""

    act: SpaceAct
    space: str
    """The name of the space; CREATE: the part of the name that the game has chosen."""
    bounds: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """CREATE: least x and z, greatest x and z."""
    data: tuple[tuple[str, bytes], ...] = ()
    """CREATE, SET_DATA: keys and values (`schema/plaindata.py`)."""


class SpaceOutcome(NamedTuple):
    """What came of one change."""

    space: str
    """The name of the space; empty: nothing was changed."""
    problem: str = ""
    """The reason for that."""


@message(150)
class SpaceChanges(Message, frozen=True):
    """Request, to CellAppMgr: changes that it makes in this order. Answered by SpaceChangesMade. The same request is
    sent again until it is answered, and only then the next one."""

    first: CountNumber
    """The number of the first change; each has the next number of the app that asks, from 1 on."""
    changes: tuple[SpaceChange, ...]


@message(151)
class SpaceChangesMade(Message, frozen=True):
    """What came of each of the changes."""

    outcomes: tuple[SpaceOutcome, ...]
