"""Where entities are, as a BaseApp knows it and finds it out.

Of the entities whose bases are here it knows for sure: it answers Locate, and says `gone` to its own switchboard. For
all others it asks BaseAppMgr (`cluster/locator.py`).

A base that is ending is still named, and so is the last known home of a cell part that has not said its last word:
their mailboxes tell those who have written to them exactly what was delivered, and those who end at the same time that
they need not wait. When that is done, there is no such part. A cell part that is just being made is unsettled: the
seeker asks again. The base is named all the same: a caller of the base need not wait for the cell part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.base.cellside import Body
from terrazzo.cluster.locator import Locator
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.pairs.basemgr_base import Home, Locate, Located
from terrazzo.wire.requests import Question

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp


class Whereabouts:
    """The resolver of one BaseApp."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app
        self._locator = Locator(app, app.switchboard)
        app.answers(Locate, self._on_locate)

    def on_link_up(self, peer: AppId) -> None:
        """The app has a link."""
        self._locator.on_link_up(peer)

    def on_link_lost(self, peer: AppId) -> None:
        """The app has lost a link."""
        self._locator.on_link_lost(peer)

    def locate(self, part: PartId) -> None:
        """The switchboard asks where a part is."""
        entity = self._app.bases.get(part.entity)
        if entity is None:
            self._locator.find(part)
        elif part.part is Part.CELL:
            entity.cell.locate()

    def _on_locate(self, question: Question) -> None:
        asked = question.message
        assert isinstance(asked, Locate)
        base, cell = (PartId(EntityId(asked.entity), part) for part in Part)
        box = self._app.switchboard.boxes.get(base)
        if box is None:
            self._app.requests.answer(question, Located())
            return
        place = self._app.switchboard.places.get(cell)
        entity = self._app.bases.get(base.entity)
        state, home = Body.NONE if entity is None else entity.cell.state, Home(box.version, self._app.me)
        has_one = cell in box.channels if state in (Body.NONE, Body.FINDING) else state is not Body.CREATING
        if has_one and place is not None and place.app is not None:
            self._app.requests.answer(question, Located(home, Home(place.version, place.app)))
        elif state is Body.NONE:
            self._app.requests.answer(question, Located(home))
        else:
            self._app.requests.answer(question, Located(home, is_unsettled=True))
