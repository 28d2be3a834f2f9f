"""Proximity triggers: entities that enter and leave, also when one of the two moves to another cell."""

from __future__ import annotations

from terrazzo.cell.client.interests import PATIENCE_S
from tests.cell.land import Land
from tests.cell.plain import AvatarCell


def with_trigger(land: Land, radius: float, *places: float) -> int:
    """Avatars 1, 2, … stand there, and the first one has a trigger."""
    for entity, x in enumerate(places, 1):
        land.create(entity, x)
    land.settle()
    number: int = land.do(1, lambda part: part.add_proximity(radius))
    return number


def test_trigger_runs_one_hook_for_each_crossing(hooks):
    land = Land(1)
    number = with_trigger(land, 10.0, 0.0, 30.0)
    land.step()
    for x in (9.0, 8.0, 11.0, 12.0, 5.0):
        land.put(2, x)
        land.step(2)
    land.put(1, -10.0)
    land.step(2)
    near, far = ("near", number, 2), ("far", number, 2)
    assert hooks[1] == [near, far, near, far]
    assert 2 not in hooks
    land.do(1, lambda part: part.cancel(number))
    land.put(2, -10.0)
    land.step(2)
    assert len(hooks[1]) == 4


def test_triggers_migrate_with_those_inside(hooks):
    land = Land()
    number = with_trigger(land, 20.0, -5.0, -10.0, 8.0)
    land.settle()
    assert sorted(hooks[1]) == [("near", number, 2), ("near", number, 3)]
    for x in (5.0, -5.0, 5.0):
        land.put(1, x)
        land.settle()
    assert land.home(1) == 1
    assert len(hooks[1]) == 2
    land.put(2, -100.0)
    land.do(3, lambda part: part.destroy())
    land.settle()
    assert sorted(hooks[1][2:]) == [("far", number, 2), ("far", number, 3)]


def test_triggers_wait_for_entities_without_a_body_at_the_new_home(hooks):
    land = Land(1)
    number = with_trigger(land, 20.0, 0.0, 5.0)
    land.settle()
    app, real = land[0], land[0].reals[1]
    packed = app.interests.pack(real)
    assert packed[0].inside == (2,)
    app.interests.end(real)
    assert not real.proximities
    app.interests.unpack(real, [packed[0]._replace(inside=(2, 77))])
    assert set(app.interests.pack(real)[0].inside) == {2, 77}
    land.step(int(PATIENCE_S * 10) - 2)
    assert hooks[1] == [("near", number, 2)]
    land.step(4)
    assert hooks[1] == [("near", number, 2), ("far", number, 77)]


def test_a_ghost_that_is_deleted_and_made_again_has_not_left_a_trigger(hooks):
    land = Land()
    number = with_trigger(land, 20.0, -10.0, 5.0)
    land.settle()
    app, ghost = land[0], land[1].reals[2].ghost()
    app.receiver.remove(app.bodies[2], app.bodies[2].epoch, is_destroyed=False)
    app.on_message(land[1].me, ghost)
    land.settle()
    assert hooks[1] == [("near", number, 2)]


def test_hook_may_end_the_trigger_with_further_hooks_waiting(hooks, monkeypatch):
    def once(part, number, other):
        hooks.setdefault(part.id, []).append(other.id)
        part.cancel(number)

    monkeypatch.setattr(AvatarCell, "on_proximity_entered", once)
    land = Land(1)
    with_trigger(land, 10.0, 0.0, 5.0, 6.0)
    land.step(3)
    assert len(hooks[1]) == 1
