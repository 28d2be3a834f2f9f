"""Where entities without a base part live, for the BaseAppMgr: no base has the answer, so the CellApps give it.

    the entity, or its ending mailbox, is here                   its place
    it has ended here within the last ENDED_S                    it has ended: it has one life, so no CellApp has it
    it has left from here and is not confirmed, or has left      unsettled: it may be anywhere, the question must be
    within the last LEFT_S                                       asked again
    else                                                         it is not here

The manager asks all CellApps, not all at the same moment. An entity that moves meanwhile may be missed by both: its
former CellApp is asked after it has left, the next one before it has come. So the former one answers "unsettled" for
longer than a search lasts. What other CellApps have learned of its place is no answer: it may be long out of date.
An entity that has ended is named as such, so that a part that calls it, and ends itself, does not wait for LEFT_S.
"""

from __future__ import annotations

from collections.abc import Container

from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.pairs.basemgr_base import Home, Locate, Located
from terrazzo.wire.requests import Question, Requests

LEFT_S = 8.0
"""Longer than a search of the BaseAppMgr (`managers/searches.py`)."""
ENDED_S = 30.0
"""How long an end is remembered: longer than LEFT_S, so that no other CellApp still answers "unsettled"."""


class CellWhereabouts:
    """The answers of one CellApp."""

    def __init__(self, core: Core, requests: Requests, kept: Container[int]) -> None:
        """`kept`: the entities that were sent from here and are not confirmed."""
        self._core = core
        self._requests = requests
        self._kept = kept
        self._left: dict[int, float] = {}
        """When entities without a base part left, the earliest first."""
        self._ended: dict[int, float] = {}
        """When entities without a base part ended here, the earliest first."""
        core.real_ended.append(self._on_real_ended)

    def on_locate(self, question: Question) -> None:
        """The BaseAppMgr asks for an entity."""
        asked = question.message
        assert isinstance(asked, Locate)
        self._requests.answer(question, self._located(EntityId(asked.entity)))

    def _located(self, entity: EntityId) -> Located:
        part, switchboard = PartId(entity, Part.CELL), self._core.switchboard
        if switchboard.is_here(part):
            version = switchboard.version_of(part)
            assert version is not None, "a part that is here has a version"
            return Located(cell=Home(version, self._core.me))
        self._forget_old()
        if entity in self._ended:
            return Located(has_ended=True)
        return Located(is_unsettled=entity in self._kept or entity in self._left)

    def _on_real_ended(self, real: Real) -> None:
        if real.body.kind.schema.cell_only:
            self._forget_old()
            entity, now = real.body.id, self._core.host.now
            self._left.pop(entity, None)
            (self._ended if real.is_destroyed else self._left)[entity] = now

    def _forget_old(self) -> None:
        now = self._core.host.now
        _drop_until(self._left, now - LEFT_S)
        _drop_until(self._ended, now - ENDED_S)


def _drop_until(times: dict[int, float], since: float) -> None:
    """Removes what was not later than `since`; the earliest is the first."""
    while times:
        entity, at = next(iter(times.items()))
        if at > since:
            return
        del times[entity]
