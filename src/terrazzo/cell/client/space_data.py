"""The data of spaces (key → value), as the entities and clients of one CellApp get it.

    code of the game ──set_space_data──▶ CellAppMgr: the next version ──SpaceData──▶ every CellApp of the space
                                                                                     │ in the next tick, each real
                         client: space data, in order with its other messages  ◀─────┤
                         hook: on_space_data(key, value)                       ◀─────┘

Each item has the version in which it got its value, and each real the version that its code and its client have. That
travels: a cell that is behind sends nothing, and one that is ahead sends what is newer. So a client never gets an older
value after a newer one, however often its entity crosses a border. A client that enters a space gets all of its data.
"""

from __future__ import annotations

from typing import Any

from terrazzo.cell.core.account import DESCRIPTION
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.space import CellSpace
from terrazzo.schema.plaindata import decode_plain
from terrazzo.sync.protocol import encode_space_data
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cellmgr_cell import SpaceData, SpaceItem


class SpaceDataFeed:
    """Passes the data of its spaces on."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._due: dict[int, None] = {}
        """Entities that may lack something."""

    def on_space_data(self, source: AppId, message: SpaceData) -> None:
        """The data of a space has changed, or comes again."""
        space = self._core.spaces.get(message.space)
        if space is not None and message.version > space.data_version:
            space.data_version = message.version
            space.data = {item.key: item for item in message.items}
            self._due.update(dict.fromkeys(body.id for body in space.bodies.values() if body.real is not None))

    def run(self) -> None:
        """Once per tick: clients and code get what is new."""
        due, self._due = self._due, {}
        for entity in due:
            real = self._core.reals.get(entity)
            if real is not None:
                self._core.confine(real.body, "space data", self._tell, real)

    def _tell(self, real: Real) -> None:
        body, part = real.body, real.part
        news = _newer(body.space, real.space_data)
        real.space_data = max(real.space_data, body.space.data_version)
        if not news:
            return
        _send(real, news)
        if "on_space_data" in body.kind.hooks:
            for item in news:
                if body.real is real and not real.is_destroyed:
                    self._core.run(body, "on_space_data", part.on_space_data, item.key, decode_plain(item.value))

    def arrive(self, real: Real, space_before: int, version: int) -> None:
        """A real has come from another cell, with this version of the data of the space where it was."""
        space = real.body.space
        if space.id != space_before:
            real.space_data = space.data_version
            greet(real)
        else:
            real.space_data = version
            if version < space.data_version:
                self._due[real.body.id] = None


def greet(real: Real) -> None:
    """The client of a real is new in this space, and gets the data that the code of the real has. Another cell may have
    had more: that comes again."""
    space = real.body.space
    real.space_data = min(real.space_data, space.data_version)
    _send(real, [item for item in space.data.values() if item.version <= real.space_data])


def _newer(space: CellSpace, version: int) -> list[SpaceItem]:
    return [item for item in space.data.values() if item.version > version]


def _send(real: Real, items: list[SpaceItem]) -> None:
    if real.witness is not None and items:
        values: dict[str, Any] = {item.key: decode_plain(item.value) for item in items}
        real.witness.sent.add_own_message(DESCRIPTION, encode_space_data(values))
