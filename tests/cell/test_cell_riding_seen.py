"""What clients see of riders: clients that have the vehicle and clients that do not."""

from __future__ import annotations

from math import dist

import pytest

from terrazzo._speed.sight import REFRESH
from terrazzo.schema.model import Volatile
from tests.cell.land import Land, eventful_land, volatile_land
from tests.cell.rides import RIDER, SHIP, WATCHER, board, check_seen, embark, sail


def test_client_without_the_vehicle_gets_the_place_of_the_rider():
    land = Land(1)
    land.create(SHIP, 10.0)
    screen = land.create(RIDER, 40.0, is_seen=True)
    land.step(5)
    land.do(RIDER, lambda part: part.set_aoi_radius(10.0, 1.0))
    land.step(3)
    assert SHIP not in screen.view.others
    board(land)
    sail(land, 15.0)
    land.step(2)
    assert screen.view.player.position == (45.0, 0.0, 0.0)
    land.do(RIDER, lambda part: part.set_aoi_radius(60.0, 1.0))
    land.step(6)
    sail(land, 16.0)
    land[0].riding.run()
    assert land.witness(RIDER).sent.pending == []
    land.step(2)
    check_seen(screen)


def test_client_with_a_withheld_vehicle_gets_the_place_of_the_rider():
    """It had worked that out by itself, from a place of the vehicle that was rounded, or old."""
    land = Land(1)
    screen = embark(land, 10.0, 40.0, is_seen=True)
    land.step(3)
    check_seen(screen)
    sail(land, 15.3, yaw=0.7)
    land.do(RIDER, lambda part: part.withhold_from_client(SHIP))
    land.step(6)
    assert SHIP not in screen.view.others
    assert screen.view.player.position == land.part(RIDER).position
    told = screen.count("moved")
    land.step(6)
    assert screen.count("moved") == told, "not again and again"


def test_client_without_the_vehicle_gets_places_of_a_rider_without_a_volatile_position():
    """Now and then, and in the end with its last place; a client that has the vehicle gets no more than without."""
    land = eventful_land()
    land.create(SHIP, 10.0)
    land.create(RIDER, 40.0)
    far, near = land.create(WATCHER, 60.0, is_seen=True), land.create(4, 30.0, is_seen=True)
    land.step(5)
    land.do(WATCHER, lambda part: part.set_aoi_radius(30.0, 1.0))
    land.step(3)
    assert (SHIP in far.view.others, RIDER in far.view.others) == (False, True)
    board(land)
    land.step(3)
    places = set()
    for tick in range(40):
        sail(land, 10.0 + 0.1 * tick)
        land.step()
        places.add(far.view.others[RIDER].position)
        check_seen(near)
    assert 3 <= len(places) <= 6
    land.step(15)
    assert far.view.others[RIDER].position == land.part(RIDER).position == pytest.approx((43.9, 0.0, 0.0))
    land.settle()


@pytest.mark.parametrize("volatile", [Volatile(5.0, 5.0), Volatile(5.0)])
def test_vehicle_is_sent_beyond_the_distance_of_its_type(volatile):
    """By the own client of a rider at its other end, and by clients near the rider; with place and direction, though
    its type does not send them. Without riders it is sent as before."""
    land = volatile_land(volatile)
    land.create(SHIP, 10.0)
    own, other = land.create(RIDER, 40.0, is_seen=True), land.create(WATCHER, 42.0, is_seen=True)
    land.step(5)
    board(land)
    land.step(3)
    for tick in range(8):
        sail(land, 11.0 + tick, yaw=0.02 * tick)
        land.step(3)
        here = land.part(RIDER).position
        for each in (own, other):
            check_seen(each)
            assert dist(each.view.find(RIDER).position, here) < 1.0
    land.act(RIDER, "alight")
    sail(land, 20.0)
    land.step(6)
    before = other.view.others[SHIP].position
    sail(land, 12.0)
    land.step(6)
    assert other.view.others[SHIP].position == before


def test_a_vehicle_that_comes_after_its_riders_is_followed():
    """Here, where both are ghosts."""
    land = volatile_land(Volatile(5.0, 5.0))
    land.create(SHIP, -40.0)
    land.create(RIDER, -1.0)
    watcher = land.create(WATCHER, 4.0, is_seen=True)
    land.step(5)
    board(land)
    for tick in range(30):
        sail(land, -40.0 + tick)
        land.step()
    land.step(6)
    check_seen(watcher)
    assert dist(watcher.view.find(RIDER).position, land.part(RIDER).position) < 1.0


@pytest.mark.parametrize("land_of", [Land, eventful_land])
def test_client_that_loses_the_vehicle_gets_the_place_of_the_rider(land_of):
    """It was shown at the place of the vehicle, perhaps an old one, and stands still: its place would not be sent
    again."""
    land = land_of()
    land.create(SHIP, 10.0)
    land.create(RIDER, 40.0)
    board(land)
    watcher = land.create(WATCHER, 60.0, is_seen=True)
    land.step(30)
    check_seen(watcher)
    seen = watcher.view.others[RIDER]
    seen.put((0.0, 0.0, 0.0), seen.direction)  # as if it had worked that out from an old place
    land.do(WATCHER, lambda part: part.set_aoi_radius(30.0, 1.0))
    land.step(REFRESH + 6)  # an unreliable message comes before the leave, and is sent again
    assert SHIP not in watcher.view.others
    assert seen.position == pytest.approx(land.part(RIDER).position, abs=0.1)


def test_client_that_comes_later_gets_the_ride():
    """A new client of the rider, another watcher, and one that saw it before it boarded."""
    land = Land(2)
    land.create(SHIP, -20.0)
    land.create(RIDER, -22.0)
    early = land.create(4, 20.0, is_seen=True)
    land.step(5)
    board(land)
    land.step(2)
    screens = [early, land.base.attach(RIDER), land.create(WATCHER, 30.0, is_seen=True)]
    land.step(6)
    sail(land, -15.0)
    land.step(6)
    for screen in screens:
        check_seen(screen)
    land.settle()
