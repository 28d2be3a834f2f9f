"""Where the parts of entities live, for the callers of a BaseApp and for its own switchboard.

For an entity with its base here, this BaseApp has the certain answer: it answers Locate, and reports `gone` to its own
switchboard. For every other entity it asks the BaseAppMgr (`cluster/locator.py`).

A base that is ending is still named in the answer, and so is the last known home of a cell part until its channel is
closed: their mailboxes report to each sender exactly what was delivered, and release peers that end at the same time.
After that, the answer is that there is no such part. A cell part that is being created is unsettled: the caller asks
again. The base is named all the same, so a caller of the base does not wait for the cell part.
"""

from __future__ import annotations

from collections.abc import Mapping

from terrazzo.base.cell_part_states import BEING_CREATED, CellPartState
from terrazzo.base.entity import BaseEntity
from terrazzo.cluster.locator import Locator
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.pairs.basemgr_base import Home, Locate, Located
from terrazzo.wire.requests import Question, Requests


class Whereabouts:
    """The resolver of one BaseApp."""

    def __init__(
        self,
        me: AppId,
        requests: Requests,
        switchboard: Switchboard,
        locator: Locator,
        bases: Mapping[EntityId, BaseEntity],
    ) -> None:
        self._me = me
        self._requests = requests
        self._switchboard = switchboard
        self._locator = locator
        self._bases = bases

    def locate(self, part: PartId) -> None:
        """The switchboard needs the home of a part."""
        entity = self._bases.get(part.entity)
        if entity is None:
            self._locator.find(part)
        elif part.part is Part.CELL:
            entity.cell.locate()

    def on_locate(self, question: Question) -> None:
        """The BaseAppMgr asks for the parts of an entity."""
        asked = question.message
        assert isinstance(asked, Locate)
        self._requests.answer(question, self._located(EntityId(asked.entity)))

    def _located(self, id: EntityId) -> Located:
        base, cell = PartId(id, Part.BASE), PartId(id, Part.CELL)
        version = self._switchboard.version_of(base) if self._switchboard.is_here(base) else None
        if version is None:
            return Located()
        entity = self._bases.get(id)
        state = CellPartState.NONE if entity is None else entity.cell.state
        home = Home(version, self._me)
        there = self._switchboard.home_of(cell)
        if state in (CellPartState.NONE, CellPartState.FINDING):
            has_one = self._switchboard.has_channel(base, cell)  # an earlier cell part, which ends
        else:
            has_one = state not in BEING_CREATED
        if has_one and there is not None:
            return Located(home, Home(self._switchboard.version_of_place(cell), there))
        return Located(home) if state is CellPartState.NONE else Located(home, is_unsettled=True)
