"""A place that a base part or `on_ready` asks for lies within its space; another one is refused at the call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from terrazzo.base.entity_data import checked_place
from terrazzo.errors import UsageError
from terrazzo.game import Space

GAME: Any = SimpleNamespace(policy=SimpleNamespace(spaces=[Space("plain", bounds=(-10.0, -20.0, 10.0, 20.0))]))


@pytest.mark.parametrize("point", [(10.5, 0.0, 0.0), (0.0, 0.0, -20.5), (1000.0, 0.0, 1000.0)])
def test_a_place_beyond_the_bounds_of_its_space_is_refused(point: tuple[float, float, float]) -> None:
    with pytest.raises(UsageError, match=r"create: .* is not within .*, the bounds of plain"):
        checked_place("create", "plain", point, (0.0, 0.0, 0.0), GAME)


@pytest.mark.parametrize("point", [(10.0, 900.0, 20.0), (-10.0, 0.0, -20.0)])
def test_a_place_on_the_bounds_is_taken_at_any_height(point: tuple[float, float, float]) -> None:
    assert checked_place("create", "plain", point, (0.0, 0.0, 0.0), GAME).position == point
