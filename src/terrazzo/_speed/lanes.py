"""The moves of many clients, from the lanes of their sessions to the rows that CellApps get.

    lane row, as it comes     tag u32 | x y z yaw pitch roll, f32        (`wire/client/lane.py`)
    row, as it goes on        entity i32 | number u32 | the same         (`_speed/movers.py`)

A lane is open while its client may move: it is ready, and its cell part is there. A row with a tag of no open lane
was sent before its lane was closed: it is passed over. A row with a value that is not finite is not passed on; its
entity is named, and its client is held to account. Each row that is a place gets the next number of its client.
"""

from __future__ import annotations

from math import isfinite
from struct import Struct

_COMING = Struct("<I6f")
_GOING = Struct("<iI6f")
TAG_MAX = 0xFFFF_FFFF
ROW_BYTES = _COMING.size


class MoveLane:
    """How many moves the clients of one proxy have made; the number never goes back."""

    __slots__ = ("entity", "number", "tag")

    def __init__(self, entity: int) -> None:
        self.entity = entity
        self.number = 0
        self.tag = 0  # while it is open; 0: it is not


class MoveLanes:
    """The open lanes of one app."""

    def __init__(self) -> None:
        self._open: dict[int, MoveLane] = {}
        self._last = 0

    def open(self, lane: MoveLane) -> int:
        """Opens a lane; gives its tag."""
        self.close(lane)
        self._last = self._last % TAG_MAX + 1
        self._open[self._last] = lane
        lane.tag = self._last
        return self._last

    def close(self, lane: MoveLane) -> None:
        """Closes a lane, if it is open."""
        if lane.tag:
            del self._open[lane.tag]
            lane.tag = 0

    def read(self, rows: bytes) -> tuple[list[tuple[int, bytes]], list[int]]:
        """The entity and the row of each move that goes on, and the entities of those that are no places. The bytes of
        a row that is cut off are passed over."""
        moves: list[tuple[int, bytes]] = []
        bad: list[int] = []
        for tag, *place in _COMING.iter_unpack(rows[: len(rows) - len(rows) % ROW_BYTES]):
            lane = self._open.get(tag)
            if lane is None:
                continue
            if all(map(isfinite, place)):
                lane.number += 1
                moves.append((lane.entity, _GOING.pack(lane.entity, lane.number & TAG_MAX, *place)))
            else:
                bad.append(lane.entity)
        return moves, bad
