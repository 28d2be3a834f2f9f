"""What several files of tests of the cell share."""

from __future__ import annotations

import pytest

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.ghosts import copies, receiver
from tests.cell.land import Land
from tests.cell.plain import AvatarCell


@pytest.fixture
def strict_app(monkeypatch) -> CellApp:
    """A CellApp with ghosts that can never leave out a step."""
    apply_step = copies.apply_step

    def checked(body, message) -> None:
        assert message.number == body.number + 1, "a step was left out, or taken twice"
        apply_step(body, message)

    monkeypatch.setattr(receiver, "apply_step", checked)
    return Land(1)[0]


@pytest.fixture
def hooks(monkeypatch):
    """The hooks that have run, by entity, in order; also across migrations."""
    heard: dict[int, list[tuple]] = {}

    def listen(name: str, say) -> None:
        monkeypatch.setattr(AvatarCell, name, lambda part, *args: heard.setdefault(part.id, []).append(say(*args)))

    listen("on_entered_aoi", lambda other: ("in", other.id))
    listen("on_left_aoi", lambda entity: ("out", entity))
    listen("on_proximity_entered", lambda number, other: ("near", number, other.id))
    listen("on_proximity_left", lambda number, entity: ("far", number, entity))
    return heard
