"""The plaza, played without a network: doors between two spaces, things that are picked up, creatures that stroll."""

from __future__ import annotations

import math

import pytest

from terrazzo.sync.view_events import Entered, Left, SpaceChanged
from tests.examples.visit import Visit

HALL_DOOR, PLAZA_DOOR = (0.0, -30.0), (0.0, 30.0)


@pytest.fixture(scope="module")
def visit():
    return Visit()


def test_a_door_leads_to_another_space_and_back(visit):
    plaza = visit.app.view.space
    for (x, z), arrival in ((PLAZA_DOOR, (0.0, 0.0, -20.0)), (HALL_DOOR, (0.0, 0.0, 20.0))):
        visit.walk(x, z - math.copysign(2.0, z))
        [door] = [each for each in visit.others("Door") if math.dist(each.position, (x, 0.0, z)) < 1.0]
        before = set(visit.app.view.others)
        visit.events.clear()
        assert visit.player.cell.go_through()
        visit.wait(3.0)
        assert [each.space for each in visit.events if isinstance(each, SpaceChanged)] == [visit.app.view.space]
        assert math.dist(visit.player.position, arrival) < 1.0
        assert before <= {each.entity.id for each in visit.events if isinstance(each, Left)}
        assert door.id not in visit.app.view.others
        assert [each.entity for each in visit.events if isinstance(each, Entered)]
    assert visit.app.view.space == plaza
    assert visit.faults() == visit.errors == []
    # It can walk and act on the other side as ever.
    visit.events.clear()
    assert visit.player.cell.go_through()
    visit.wait(1.0)
    assert visit.told() == ["There is no door here."]


def test_a_thing_is_picked_up_once(visit):
    thing = min(visit.others("Thing"), key=lambda each: math.dist(each.position, visit.player.position))
    x, _, z = thing.position
    visit.walk(x, z)
    visit.events.clear()
    assert visit.player.cell.pick_up()
    visit.wait(1.0)
    assert thing in [each.entity for each in visit.events if isinstance(each, Left)]
    assert [item.kind for item in visit.app.view.player.state["bag"]] == [thing.state["kind"]]
    assert visit.faults() == visit.errors == []


def test_creatures_stroll_around_their_homes(visit):
    def bodies():
        apps = visit.cluster.cell_apps
        return {
            body.id: body
            for app in apps
            for body in app.bodies.values()
            if body.kind.name == "Creature" and body.real is not None
        }

    before = {entity: body.position for entity, body in bodies().items()}
    assert len(before) == 30
    visit.wait(20.0)
    after = bodies()
    moved = [math.dist(before[entity], body.position) for entity, body in after.items()]
    assert sum(each > 1.0 for each in moved) > 20
    for body in after.values():
        home = body.state["home"]
        assert math.dist(home, body.position) < 60.0
    assert visit.faults() == visit.errors == []
