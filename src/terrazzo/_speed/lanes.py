"""The moves of many clients, from the lanes of their sessions to the rows that CellApps get.

    lane row, as it comes     tag u32 | x y z yaw pitch roll, f32        (`wire/client/lane.py`)
    row, as it goes on        entity i32 | number u32 | the same         (`_speed/movers.py`)

A lane is open while its client may move: it is ready, and its cell part is there. A row with a tag of no open lane
was sent before its lane was closed: it is passed over. A row with a value that is not finite is not passed on; its
entity is named, and its client is held to account. Each row that is a place gets the next number of its client.

Of several moves of a client the latest is packed. No object is made for a move.
"""

from __future__ import annotations

from math import isfinite
from struct import Struct
from typing import Any

_COMING = Struct("<I6f")
_GOING = Struct("<iI")
_PLACE = Struct("<6f")
TAG_MAX = 0xFFFF_FFFF
ROW_BYTES = _COMING.size


class MoveLane:
    """The moves of the clients of one proxy. Their number never goes back."""

    __slots__ = ("client", "entity", "number", "place", "tag", "waits")

    def __init__(self, entity: int, client: Any = None) -> None:
        """`client` is whatever the owner of the lane keeps for it."""
        self.entity = entity
        self.number = 0
        self.tag = 0  # while it is open; 0: it is not
        self.waits = False
        """Whether its latest move was not packed yet."""
        self.client = client
        self.place = b""


class MoveLanes:
    """The open lanes of one app, and the lanes with moves that wait."""

    def __init__(self) -> None:
        self._open: dict[int, MoveLane] = {}
        self._waiting: list[MoveLane] = []
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

    def read(self, rows: bytes) -> list[int]:
        """Notes the moves; gives the entities of those that are no places. The bytes of a row that is cut off are
        passed over."""
        bad: list[int] = []
        for tag, *place in _COMING.iter_unpack(rows[: len(rows) - len(rows) % ROW_BYTES]):
            lane = self._open.get(tag)
            if lane is None:
                continue
            if all(map(isfinite, place)):
                self.note(lane, _PLACE.pack(*place))
            else:
                bad.append(lane.entity)
        return bad

    def note(self, lane: MoveLane, place: bytes) -> None:
        """A move came past the lane: its place, as a row of the lane has it."""
        if len(place) != _PLACE.size:
            raise ValueError(f"a place has {_PLACE.size} bytes")
        lane.number += 1
        lane.place = place
        if not lane.waits:
            lane.waits = True
            self._waiting.append(lane)

    def take_waiting(self) -> list[MoveLane]:
        """The lanes with a move that was not packed, in the order of their first such moves; they are no longer kept
        here."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def keep(self, lanes: list[MoveLane]) -> None:
        """These lanes, of those that were taken, still wait."""
        self._waiting = lanes + self._waiting


def pack_rows(lanes: list[MoveLane]) -> bytes:
    """The rows of the latest moves of these lanes, which wait no longer."""
    rows = bytearray()
    for lane in lanes:
        lane.waits = False
        rows += _GOING.pack(lane.entity, lane.number & TAG_MAX)
        rows += lane.place
    return bytes(rows)
