"""What several files of tests of the cell share."""

from __future__ import annotations

import pytest

from terrazzo.cell import copies, ghost
from terrazzo.cell.cellapp import CellApp
from tests.cell.land import Land


@pytest.fixture
def strict_app(monkeypatch) -> CellApp:
    """A CellApp whose ghosts can never leave out a step."""
    apply_step = copies.apply_step

    def checked(body, message) -> None:
        assert message.number == body.number + 1, "a step was left out, or taken twice"
        apply_step(body, message)

    monkeypatch.setattr(ghost, "apply_step", checked)
    return Land(1)[0]
