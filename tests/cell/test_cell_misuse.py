"""Wrong uses of bodies by a game's code, and the errors that they raise."""

from __future__ import annotations

import pytest

from terrazzo.errors import UsageError
from tests.cell.land import Land
from tests.cell.plain import AvatarCell, HealthCell, Item


@pytest.fixture
def land(monkeypatch):
    """One avatar beside it, one across the border; all of a class with methods that are not declared."""

    def is_near(part, x: float) -> bool:
        return bool(abs(part.position.x - x) < 1.0)

    def rename(part, name: str) -> None:
        part.name = name

    def stuff(part) -> None:
        part.bag.append(Item(kind=1))

    def nap(part) -> None:
        part.timer(5.0)

    def rot(part) -> None:
        part.hp = 0

    for method in (is_near, rename, stuff, nap):
        monkeypatch.setattr(AvatarCell, method.__name__, method, raising=False)
    monkeypatch.setattr(HealthCell, "rot", rot, raising=False)
    land = Land()
    for entity, x in ((1, -20.0), (2, -30.0), (3, 30.0)):
        land.create(entity, x)
    land.settle()
    return land


@pytest.mark.parametrize(("other", "x"), [(2, -30.0), (3, 30.0)])
def test_a_method_that_only_reads_can_be_used_on_a_view(land, other, x):
    assert land.do(1, lambda part: part.entity(other).is_near(x))


@pytest.mark.parametrize("other", [2, 3])
@pytest.mark.parametrize(("method", "args"), [("rename", ("Ada",)), ("stuff", ()), ("nap", ())])
def test_plain_method_that_changes_a_view_raises_with_advice(land, other, method, args):
    view = land.do(1, lambda part: part.entity(other))
    with pytest.raises(UsageError, match=rf"{method} is not @remote, so it ran here.*: decorate it with @remote"):
        getattr(view, method)(*args)
    with pytest.raises(UsageError, match="rot is not @remote"):
        view.health.rot()
    assert (view.name, list(view.bag), view.health.hp) == ("nobody", [], 10)


def test_plain_method_may_change_its_own_entity(land):
    land.do(1, lambda part: part.rename("Ada"))
    land.do(1, lambda part: part.health.rot())
    assert (land.part(1).name, land.part(1).health.hp) == ("Ada", 0)


def test_method_without_a_declared_result_cannot_be_awaited(land, monkeypatch):
    async def wait(part: AvatarCell, on) -> None:
        try:
            await on()
        except UsageError as problem:
            part.events.append(str(problem))

    monkeypatch.setattr(AvatarCell, "wait", wait, raising=False)
    part = land.part(1)
    part.events.clear()
    for call in (
        lambda: part.entity(2).hit(3),
        lambda: part.ref(3).hit(3),
        lambda: part.base.note("x"),
        lambda: part.client.on_said("x"),
    ):
        land.act(1, "wait", call)
    assert [each.split(" ")[0] for each in part.events] == ["hit", "hit", "note", "on_said"]
    assert "hit declares no result" in part.events[0]
    assert "write `-> UInt8`" in part.events[0]
    land.settle()
    assert list(land.part(2).purse) == list(land.part(3).purse) == [3], "the calls themselves are made"
    assert not land.do(1, lambda part: part.entity(2).hit(3))


def test_ref_takes_a_view(land):
    land.do(1, lambda part: part.ref(part.entity(3)).hit(1))
    land.do(1, lambda part: part.ref(part).hit(2))
    land.settle()
    assert (list(land.part(3).purse), list(land.part(1).purse)) == ([1], [2])
    for wrong in ("Ada", None, 2.0, True):
        with pytest.raises(UsageError, match="a view, a Ref or an id"):
            land.part(1).ref(wrong)


@pytest.mark.parametrize(
    ("method", "args", "words"),
    [
        ("timer", ("x",), "timer: seconds is a finite number of 0 or more, not 'x'"),
        ("timer", (1.0, "x"), "timer: repeat is a finite number"),
        ("turn_to", ("north", 1), "turn_to: yaw, in radians, is a finite number, .*, not 'north'"),
        ("turn_to", (1.0, None), "turn_to: speed, in radians a second, is a finite number"),
        ("move_to", ((0, 0, 0), "fast"), "move_to: speed, in metres a second, is a finite number"),
        ("entities_in_range", ("x",), "entities_in_range: radius, in metres, is a finite number of 0 or more, not 'x'"),
        ("add_proximity", (None,), "add_proximity: radius, up to ghost_distance_m, is a finite number"),
    ],
)
def test_argument_that_is_no_number_is_refused(land, method, args, words):
    with pytest.raises(UsageError, match=words):
        land.do(1, lambda part: getattr(part, method)(*args))
