"""A base that had no answer asks for the same cell part again: one life is made once."""

from __future__ import annotations

import pytest

from terrazzo.wire.log_events import LogEvent
from tests.cell.land import Land
from tests.cell.plain import AvatarCell


def ask(land: Land, *, on: int = 0, x: float = -20.0, life: int = 1) -> None:
    """CreateReal for entity 1."""
    land.base.create(land[on].me, 1, (x, 0.0, 0.0), life=life)


def reach(land: Land, on: int = 0) -> None:
    """The messages of the base arrive; the answers of the CellApp do not."""
    land.tick(land.base)
    land.deliver(land.base.me, land[on].me)
    land.broken.add((land[on].me, land.base.me))
    land.tick(land[on])
    land.broken.clear()


@pytest.fixture
def born() -> list[str]:
    return []


@pytest.fixture
def land(monkeypatch, born) -> Land:
    monkeypatch.setattr(AvatarCell, "on_created", lambda part: born.append("born"))
    return Land(3)


def test_repeated_creation_answers_when_the_real_is_here(land, born):
    ask(land)
    reach(land)
    assert (land.home(1), land.base.created) == (0, [])
    ask(land)
    land.settle()
    assert (land.home(1), land.base.created, born) == (0, [1], ["born"])
    assert land[0].counts.get(LogEvent.CREATION_REFUSED) is None


def test_repeated_creation_answers_when_the_real_has_moved_on(land, born):
    ask(land, x=300.0)
    reach(land)
    land.settle()
    assert land.home(1) == 2
    ask(land, x=300.0)
    land.settle()
    assert (land.home(1), land.base.created, born) == (2, [1], ["born"])


def test_repeated_creation_answers_when_only_a_ghost_is_left(land, born):
    ask(land, x=10.0)
    reach(land)
    land.settle()
    assert land.home(1) == 1
    land.host.now += 200.0
    land.settle()
    assert land.base.mail[1] == []
    ask(land, x=10.0)
    land.settle()
    assert (land.home(1), land.base.created, born) == (1, [1], ["born"])


def test_repeated_creation_answers_when_the_real_has_ended(land, born):
    ask(land)
    reach(land)
    land.do(1, lambda part: part.destroy())
    land.tick(land[0])
    ask(land)
    land.settle()
    assert (land.home(1), land.base.created, born) == (None, [1], ["born"])
    assert [data.is_last for data in land.base.data_of(1)] == [True]


def test_repeated_creation_waits_for_the_former_body(land, born):
    land.create(1, -20.0)
    land.settle()
    land.do(1, lambda part: part.destroy())
    land.tick(land[0])
    for _ in range(2):
        ask(land, life=2)
        reach(land)
        assert land.home(1) is None
    land.settle()
    assert (land.home(1), land.base.created, born) == (0, [1, 1], ["born", "born"])
    assert land.base.refused == {}


def test_creation_is_refused_only_if_it_was_never_made(land, born):
    ask(land, x=9999.0)
    reach(land)
    ask(land, x=9999.0)
    land.settle()
    assert (land.home(1), land.base.created, born) == (None, [], [])
    assert "bounds of plain" in land.base.refused[1]
