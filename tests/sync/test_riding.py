"""The arithmetic of riding, and what a client makes of it."""

from __future__ import annotations

from math import cos, isclose, pi, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError
from terrazzo.sync.protocol import EntityMessage, ToClient, encode_cell_lost, encode_leave, encode_moved, with_alias
from terrazzo.sync.riding import Ride, decode_ride, encode_ride, place_on, ride_at
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import Fault, Moved, Seen, Violation
from tests.client.town import places_message
from tests.client.view_scene import (
    BOB,
    BOB_ANNOUNCED,
    BOB_DESCRIBED,
    BOBS,
    HERE,
    ME,
    OWN,
    RAT,
    RATS,
    STORY,
    TABLE,
    THERE,
)

AHEAD = (0.0, 0.0, 0.0)
metres = st.floats(-1000, 1000, width=32)
angles = st.floats(-3, 3, width=32)
points = st.tuples(metres, metres, metres)
looks = st.tuples(angles, angles, angles)


@given(st.builds(Ride, st.integers(-(2**31), 2**31 - 1), points, looks))
def test_a_ride_is_read_as_it_was_written(ride):
    assert decode_ride(encode_ride(ride)) == ride


@given(st.binary(max_size=40))
def test_any_bytes_are_a_ride_or_refused(data):
    try:
        assert encode_ride(decode_ride(data)) == data
    except DecodeError:
        assert len(data) != 28 or b"\x7f" in data or b"\xff" in data


@given(points, looks, points, looks)
def test_boarding_does_not_move_the_rider(position, direction, place, look):
    found, turned = place_on(position, direction, ride_at(7, position, direction, place, look))
    assert all(isclose(a, b, abs_tol=1e-6) for a, b in zip(found, place, strict=True))
    assert isclose((turned[0] - look[0] + pi) % (2 * pi), pi, abs_tol=1e-6)
    assert turned[1:] == look[1:]


@pytest.mark.parametrize(
    ("yaw", "place"), [(0.0, (11.0, 22.0, 33.0)), (pi / 2, (13.0, 22.0, 29.0)), (pi, (9.0, 22.0, 27.0))]
)
def test_a_vehicle_turns_its_riders(yaw, place):
    """z is where it looks; a yaw of pi / 2 looks along x."""
    found, direction = place_on((10.0, 20.0, 30.0), (yaw, 0.5, 0.5), Ride(7, (1.0, 2.0, 3.0), (0.25, 0.0, 0.0)))
    assert found == pytest.approx(place)
    assert direction == pytest.approx((yaw + 0.25 - (2 * pi if yaw == pi else 0), 0.0, 0.0))


# At a client. Bob and a rat are there.


def rides(alias: int, vehicle: int, place=(1.0, 0.0, 0.0)) -> bytes:
    return with_alias(alias, EntityMessage(ToClient.RIDES, encode_ride(Ride(vehicle, place, AHEAD))))


@pytest.fixture
def view() -> ClientView:
    view = ClientView(TABLE)
    for message in STORY[:6]:
        view.apply(message)
    return view


def moved(view: ClientView, message: bytes) -> list[int]:
    events = view.apply(message)
    assert all(isinstance(event, Moved) for event in events)
    return [event.entity.id for event in events if isinstance(event, Moved)]


def beside(vehicle: Seen) -> tuple[float, float, float]:
    """One metre to its right."""
    (x, y, z), yaw = vehicle.position, vehicle.yaw
    return (x + cos(yaw), y, z - sin(yaw))


def test_the_rider_is_where_the_vehicle_is(view):
    bob, rat = view.others[BOB], view.others[RAT]
    assert moved(view, rides(RATS, BOB)) == [RAT]
    assert rat.position == pytest.approx(beside(bob))
    assert moved(view, places_message((BOBS, (50.0, 0.0, 0.0), (0.0,)))) == [BOB, RAT]
    assert rat.position == pytest.approx(beside(bob))
    assert moved(view, places_message((RATS, THERE, ()))) == []
    assert rat.position == pytest.approx(beside(bob))
    assert moved(view, rides(RATS, 0, HERE)) == [RAT]
    assert rat.position == HERE
    assert moved(view, places_message((RATS, THERE, ()), tick=1)) == [RAT]


def test_message_from_before_alighting_does_not_undo_it(view):
    """A message from after it is not applied before it, since it would be undone; each may come at any time."""
    rat = view.others[RAT]
    moved(view, rides(RATS, BOB))
    assert moved(view, places_message((RATS, THERE, ()), (BOBS, THERE, (0.0,)), tick=1)) == []
    assert view.late == 2
    assert moved(view, rides(RATS, 0, HERE)) == [RAT]
    assert moved(view, places_message((RATS, THERE, ()))) == []
    assert rat.position == HERE
    assert moved(view, places_message((BOBS, THERE, (0.0,)))) == [BOB]
    assert moved(view, places_message((RATS, (3.0, 0.0, 4.0), ()), tick=1)) == [RAT]
    assert rat.position == pytest.approx((3.0, 0.0, 4.0), abs=0.1)
    moved(view, rides(OWN, 0, HERE))
    assert moved(view, places_message((RATS, HERE, ()), tick=1)) == [RAT]


def test_rider_without_its_vehicle_in_the_view_has_its_own_place(view):
    rat = view.others[RAT]
    before = rat.position
    assert moved(view, rides(RATS, 999)) == []
    assert rat.position == before
    assert moved(view, places_message((RATS, (3.0, 0.0, 4.0), ()))) == [RAT]
    assert rat.position == pytest.approx((3.0, 0.0, 4.0), abs=0.1)


def test_a_vehicle_leaves_and_comes_back(view):
    rat = view.others[RAT]
    moved(view, rides(RATS, BOB))
    view.apply(encode_leave(BOBS))
    assert moved(view, places_message((RATS, (3.0, 0.0, 4.0), ()))) == [RAT]
    view.answers()
    view.apply(BOB_ANNOUNCED)
    events = view.apply(BOB_DESCRIBED)
    assert [event.entity.id for event in events if isinstance(event, Moved)] == [RAT]
    assert rat.position == pytest.approx(beside(view.others[BOB]))


def test_the_own_entity_rides_and_is_ridden(view):
    bob, rat, me = view.others[BOB], view.others[RAT], view.player
    assert moved(view, rides(OWN, BOB)) == [ME]
    assert me.position == pytest.approx(beside(bob))
    assert moved(view, encode_moved(THERE, AHEAD)) == []
    assert moved(view, rides(OWN, 0, HERE)) == [ME]
    assert moved(view, rides(RATS, ME)) == [RAT]
    assert moved(view, encode_moved(THERE, AHEAD)) == [ME, RAT]
    assert [event.entity.id for event in view.move_own(HERE, AHEAD)] == [RAT]
    assert rat.position == pytest.approx(beside(me))


def test_a_body_that_is_lost_rides_no_longer(view):
    view.apply(rides(OWN, BOB))
    view.apply(encode_cell_lost())
    assert view.player.ride is None
    [violation] = view.apply(rides(OWN, BOB))
    assert isinstance(violation, Violation)
    assert violation.fault is Fault.NO_CELL


@pytest.mark.parametrize("message", [rides(RATS, RAT), rides(RATS, BOB)[:-1], rides(RATS, BOB) + b"\0", rides(77, BOB)])
def test_impossible_ride_is_a_violation(view, message):
    before = view.others[RAT].position
    [violation] = view.apply(message)
    assert isinstance(violation, Violation)
    assert view.others[RAT].ride is None
    assert view.others[RAT].position == before
