"""Riding on another entity: the places, the cells, and what clients see of it."""

from __future__ import annotations

import random
from math import dist, pi

import msgspec
import pytest

from terrazzo.cell.motion.riding import LOST_S
from terrazzo.errors import UsageError
from terrazzo.sync.protocol import encode_moved
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cell_cell import Item, UpdateGhost
from tests.cell.forms import IS_PLAIN
from tests.cell.ghost_script import NO_TURN, A, create, place_of
from tests.cell.land import Land
from tests.cell.rides import RIDER, SHIP, WATCHER, board, check_aboard, check_seen, embark, sail


def test_a_rider_moves_and_turns_with_its_vehicle():
    land = Land(1)
    land.create(SHIP, 10.0)
    screen, watcher = land.create(RIDER, 12.0, 3.0, is_seen=True), land.create(WATCHER, 30.0, is_seen=True)
    land.step(5)
    board(land)
    assert land.part(RIDER).position == pytest.approx((12.0, 0.0, 3.0))
    assert land.part(RIDER).vehicle == SHIP
    assert land.part(RIDER).local_position == (2.0, 0.0, 3.0)
    sail(land, 20.0, 5.0, pi / 2)
    land.step(3)
    assert land.part(RIDER).position == pytest.approx((23.0, 0.0, 3.0), abs=1e-5)
    assert land.part(RIDER).yaw == pytest.approx(pi / 2)
    for each in (screen, watcher):
        check_seen(each)
    assert land.do(WATCHER, lambda part: part.entity(RIDER).vehicle) == SHIP
    board(land, RIDER, SHIP, (0.0, 1.0, -2.0), (0.5, 0.0, 0.0))
    land.step(2)
    assert land.part(RIDER).position == pytest.approx((18.0, 1.0, 5.0), abs=1e-5)
    check_seen(watcher)
    land.act(RIDER, "alight")
    assert land.part(RIDER).vehicle == 0
    sail(land, 60.0)
    land.step(3)
    assert land.part(RIDER).position == land.part(RIDER).local_position == pytest.approx((18.0, 1.0, 5.0), abs=1e-5)
    assert watcher.view.others[RIDER].ride is None
    assert watcher.view.others[RIDER].position == pytest.approx((18.0, 1.0, 5.0), abs=0.1)
    assert screen.view.player.position == pytest.approx((18.0, 1.0, 5.0), abs=1e-5)
    land.settle()


def test_client_of_a_rider_cannot_move_it():
    land = Land(1)
    screen = embark(land, 10.0, 12.0, is_seen=True)
    land.walk(RIDER, 400.0)
    land.step(3)
    check_aboard(land)
    assert LogEvent.MOVE_TOO_FAST not in land[0].counts
    land.act(RIDER, "alight")
    assert land.witness(RIDER).sent.pending[-1] == encode_moved((12.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    land.step(2)
    assert screen.view.player.ride is None
    land.walk(RIDER, 12.5)
    land.step(3)
    assert land.part(RIDER).position == (12.5, 0.0, 0.0)


@pytest.mark.parametrize("is_rider_first", [True, False])
def test_rider_and_vehicle_cross_a_border(is_rider_first):
    land = Land(2, margin_m=1.0)
    land.create(SHIP, -20.0)
    offset = 6.0 if is_rider_first else -6.0
    screen = land.create(RIDER, -20.0 + offset, is_seen=True)
    watchers = [land.create(3, -40.0, is_seen=True), land.create(4, 40.0, is_seen=True)]
    land.settle()
    board(land)
    homes = []
    for x in range(-19, 21):
        sail(land, float(x), yaw=0.0)
        land.step()
        homes.append((land.home(SHIP), land.home(RIDER)))
        check_aboard(land, far_m=3.0)
    assert ((0, 1) if is_rider_first else (1, 0)) in homes
    land.settle()
    assert (land.home(SHIP), land.home(RIDER)) == (1, 1)
    check_aboard(land)
    for each in (screen, *watchers):
        check_seen(each)
        assert each.count("leave") == 0
    land.walk(RIDER, 400.0)
    land.step(2)
    assert LogEvent.MOVE_TOO_FAST not in land[1].counts


def test_ghosts_of_riders_ride():
    """A ghost that is made when it rides already."""
    land = Land(2)
    land.create(SHIP, -300.0)
    land.create(RIDER, -302.0)
    watcher = land.create(WATCHER, 10.0, is_seen=True)
    land.settle()
    board(land)
    land.step(2)
    assert RIDER not in land[1].bodies
    sail(land, -40.0)
    land.settle()
    assert land[1].bodies[RIDER].ride == land[0].bodies[RIDER].ride
    check_seen(watcher)


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("seed", range(2 if IS_PLAIN else 6))
def test_rides_where_links_have_their_own_pace(seed, breaks):
    """A ship with three riders sails and turns around a corner of four cells, while they board and alight; and links
    between the cells break."""
    land, rng = Land(4, corner=True, seed=seed, margin_m=1.0), random.Random(seed)
    land.create(SHIP, 5.0, 5.0)
    screens = [land.create(entity, 5.0 + entity, 5.0, is_seen=True) for entity in (2, 3, 4)]
    x = z = 5.0
    for screen in screens:
        screen.has_gaps = breaks
    for turn in range(100):
        if breaks and turn % 20 == 10:
            broken = rng.sample(range(4), 2)
            land.break_link(*broken)
        elif breaks and turn % 20 == 15:
            land.mend_link(*broken)
        x, z = (max(-30.0, min(30.0, each + rng.uniform(-3, 3))) for each in (x, z))
        if land.home(SHIP) is not None:
            sail(land, x, z, rng.uniform(-3, 3))
        rider = rng.choice((2, 3, 4))
        if rng.random() < 0.2 and land.home(rider) is not None:
            if land.part(rider).vehicle:
                land.act(rider, "alight")
            elif land.do(rider, lambda part: part.entity(SHIP)) is not None:
                board(land, rider, SHIP, (rng.uniform(-5, 5), 0.0, rng.uniform(-5, 5)))
        land.step()
    land.settle(60)
    for rider, screen in zip((2, 3, 4), screens, strict=True):
        if land.part(rider).vehicle:
            check_aboard(land, rider=rider)
        for other in (2, 3, 4):
            seen, ride = screen.view.find(other), land.real(other).body.ride
            assert seen.ride == ride
            assert dist(seen.position, land.part(other).position) < 0.3
            if ride is not None:
                check_seen(screen, other)


def test_the_vehicle_is_destroyed():
    """Wherever its riders are, they stand where they were."""
    land = Land(2, margin_m=0.0)
    land.create(SHIP, -2.0)
    watcher = land.create(WATCHER, 30.0, is_seen=True)
    for entity, x in ((RIDER, 3.0), (4, -5.0)):
        land.create(entity, x)
    land.settle()
    board(land)
    board(land, 4)
    land.step(3)
    land.act(SHIP, "destroy")
    land.step(6)
    for entity, x in ((RIDER, 3.0), (4, -5.0)):
        assert land.part(entity).vehicle == 0
        assert land.part(entity).events[-1] == "vehicle lost"
        assert land.part(entity).position == (x, 0.0, 0.0)
        assert watcher.view.others[entity].ride is None
    land.settle()


def test_tombstone_of_a_former_life_of_the_vehicle_ends_no_ride():
    """Where a vehicle was destroyed once, its next life may be out of sight for a moment when its rider comes."""
    land = Land(2, margin_m=0.0)
    embark(land, -2.0, 3.0)
    land.step(2)
    rider, home = land.real(RIDER), land.home(RIDER)
    assert home is not None
    app = land[home]
    ship = app.bodies[SHIP]
    app.receiver.end(ship, ship.epoch, is_destroyed=True)
    app.riding.enter(rider)
    app.riding.run()
    assert land.part(RIDER).vehicle == SHIP, "it has just come, and the tombstone is of an earlier life"


def test_a_vehicle_that_goes_to_another_space_leaves_its_riders_behind():
    land = Land(2, hall=1)
    embark(land, -20.0, -22.0)
    land.act(SHIP, "teleport", "hall", (5.0, 0.0, 5.0))
    land.step(4)
    assert land.part(RIDER).vehicle == SHIP
    land.step(int(LOST_S * 10) + 2)
    assert land.part(RIDER).vehicle == 0
    assert land.part(RIDER).position == (-22.0, 0.0, 0.0)
    land.settle()


@pytest.mark.parametrize(
    "where", [("plain", (-60.0, 0.0, 5.0)), ("plain", (60.0, 0.0, 5.0)), ("hall", (5.0, 0.0, 5.0))]
)
def test_a_rider_that_is_teleported_rides_no_longer(where):
    land = Land(2, hall=1)
    screen = embark(land, -20.0, -22.0, is_seen=True)
    land.step(3)
    land.act(RIDER, "teleport", *where)
    land.step(10)
    assert "teleported" in land.part(RIDER).events
    assert "vehicle lost" not in land.part(RIDER).events
    assert land.part(RIDER).vehicle == 0
    assert screen.view.player.ride is None
    assert screen.view.player.position == land.part(RIDER).position == where[1]
    land.walk(RIDER, where[1][0] + 0.5, 5.0)
    land.step(3)
    assert land.part(RIDER).position.x == where[1][0] + 0.5
    land.settle()


def test_rider_back_from_another_space_rides_no_longer():
    """A client in the cell to which it comes back has not received its leave; it alighted in the other space."""
    land = Land(3, margin_m=0.0, hall=2)
    land.create(SHIP, -20.0)
    land.create(RIDER, -18.0)
    watcher = land.create(WATCHER, 20.0, is_seen=True)
    land.settle()
    board(land)
    land.settle()
    assert watcher.view.others[RIDER].ride is not None
    land.act(RIDER, "teleport", "hall", (5.0, 0.0, 5.0))
    land.block(0, 1)
    land.block(2, 1)
    land.step(4)
    assert land.home(RIDER) == 2
    land.blocked.discard((land[2].me, land[1].me))
    land.queues[land[2].me, land[1].me].clear()
    land.act(RIDER, "teleport", "plain", (30.0, 0.0, 5.0))
    land.step(8)
    assert land.home(RIDER) == 1
    assert watcher.view.others[RIDER].ride is None
    assert watcher.view.others[RIDER].position == (30.0, 0.0, 5.0)
    assert ("moved", (5.0, 0.0, 5.0)) not in watcher.events


def test_a_teleport_that_fails_leaves_it_aboard():
    land = Land(2)
    embark(land, -20.0, -22.0)
    land.act(RIDER, "teleport", "hall", (5.0, 0.0, 5.0))
    land.step(120)
    assert any("teleport failed" in event for event in land.part(RIDER).events)
    assert land.part(RIDER).vehicle == SHIP
    land.settle()


def test_entities_that_board_each_other_stand_still():
    """In two cells, at the same time."""
    land = Land(2, margin_m=0.0)
    land.create(1, -2.0)
    land.create(2, 2.0)
    land.settle()
    board(land, 1, 2)
    board(land, 2, 1)
    land.step(10)
    assert land.part(1).vehicle == land.part(2).vehicle == 0
    assert (land.part(1).position.x, land.part(2).position.x) == (-2.0, 2.0)
    land.settle()


def test_impossible_ride_is_refused():
    land = Land(1)
    for entity in (1, 2, 3):
        land.create(entity, 10.0 * entity)
    land.step(2)
    board(land, 2, 1)
    for wish, words in (
        (lambda: board(land, 3, 2), "entity 2 rides itself, on entity 1: board that one"),
        (lambda: board(land, 1, 2), "entity 2 rides itself, on this very entity: let it alight first"),
        (lambda: board(land, 1, 3), "entity 1 has riders itself: let them alight first"),
        (lambda: board(land, 1, 1), "board: vehicle is another entity"),
        (lambda: board(land, 3, 99), "not known in this cell"),
        (lambda: board(land, 3, 1, (101.0, 0.0, 0.0)), r"a seat is at most 100 m \(ghost_distance_m\)"),
        (lambda: board(land, 3, 1, (float("nan"), 0.0, 0.0)), "three finite numbers"),
        (lambda: land.put(2, 5.0), "alight first"),
        (lambda: land.do(2, lambda part: setattr(part, "yaw", 1.0)), "alight first"),
        (lambda: land.do(2, lambda part: part.move_to((0.0, 0.0, 0.0), 1.0)), "alight first"),
        (lambda: land.do(2, lambda part: part.turn_to(1.0, 1.0)), "alight first"),
        (lambda: land.do(3, lambda part: part.entity(2).alight()), "only in its own code"),
    ):
        with pytest.raises(UsageError, match=words):
            wish()
    assert [land.part(entity).vehicle for entity in (1, 2, 3)] == [0, 1, 0]
    land.act(3, "alight")
    land.settle()


def test_walks_end_when_it_boards():
    land = Land(1)
    land.create(SHIP, 10.0)
    land.create(RIDER, 12.0)
    land.step()
    land.do(RIDER, lambda part: part.move_to((100.0, 0.0, 0.0), 1.0))
    board(land)
    land.step(5)
    check_aboard(land)


def test_a_rider_stays_inside_the_space():
    land = Land(1)
    embark(land, 480.0, 490.0)
    sail(land, 499.0)
    land.step(2)
    assert land.part(RIDER).position == pytest.approx((500.0, 0.0, 0.0), abs=0.02)
    sail(land, 499.0, 50.0)
    land.step(2)
    assert land.part(RIDER).position == pytest.approx((500.0, 0.0, 50.0), abs=0.02), "it stays beside its vehicle"
    sail(land, 485.0)
    land.step(2)
    assert land.part(RIDER).position == (495.0, 0.0, 0.0)


def test_client_that_missed_too_much_gets_the_present_ride():
    land = Land(1)
    land.create(SHIP, 10.0)
    land.create(RIDER, 12.0)
    watcher = land.create(WATCHER, 30.0, is_seen=True)
    land.step(5)
    body = land.real(RIDER).body
    for is_aboard in (True, False):
        if is_aboard:
            board(land)
        else:
            land.act(RIDER, "alight")
        body.history.floor = body.number + 1
        land.step(3)
        assert watcher.view.others[RIDER].ride == body.ride
        assert (body.ride is not None) == is_aboard


def test_rides_that_do_not_decode_change_nothing_else():
    land = Land(1)
    land[0].on_message(A, msgspec.structs.replace(create(0, 0), ride=b"short"))
    assert not land[0].bodies
    land[0].on_message(A, create(0, 0))
    land[0].on_message(A, UpdateGhost(1, 0, 1, (Item(-3, b"short"),), place_of(1), NO_TURN))
    assert land[0].bodies[1].number == 1
    assert land[0].bodies[1].ride is None
    assert land[0].counts[LogEvent.STEP_MALFORMED] == 1
