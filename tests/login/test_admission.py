"""Logins are refused while a measured load is above its bound, after a tolerance; and let in again afterwards."""

from __future__ import annotations

import pytest

from terrazzo.login.admission import Admission, AdmissionLimits, AdmissionState, Overload
from terrazzo.sim.validation import violations_of
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.db_basemgr import WorldLoads
from terrazzo.wire.pairs.login_db import DoorLoad
from tests.login.test_loginapp import DATABASE, Door

BOUNDS = {
    Overload.LOGIN_APP: 0.9,
    Overload.DB_APP: 1.5,
    Overload.BASE_APPS: 0.8,
    Overload.CELL_APPS: 0.9,
    Overload.CELL_MEAN: 0.7,
}
CALM = WorldLoads(players=3, players_max=10, base_app=0.3, cell_mean=0.3, cell_most=0.3)


def admission(**limits):
    return Admission(AdmissionLimits(BOUNDS, **limits))


def test_load_above_its_bound_refuses_only_after_the_tolerance_in_time():
    gate = admission(tolerance_s=5.0, tolerance_logins=100)
    gate.note({Overload.BASE_APPS: 0.81}, 10.0)
    assert gate.state is AdmissionState.TOLERANT
    assert not gate.is_shut(14.9)
    assert gate.is_shut(15.0)


def test_load_above_its_bound_refuses_after_the_tolerated_number_of_logins():
    gate = admission(tolerance_s=5.0, tolerance_logins=2)
    gate.note({Overload.DB_APP: 1.6}, 10.0)
    for _ in range(2):
        assert not gate.is_shut(10.0)
        gate.count_login(10.0)
    assert gate.is_shut(10.0)


def test_without_tolerance_a_load_above_its_bound_refuses_at_once():
    gate = admission(tolerance_s=0.0, tolerance_logins=0)
    gate.note({Overload.CELL_MEAN: 0.71}, 10.0)
    assert gate.is_shut(10.0)


def test_door_opens_again_when_all_loads_are_within_their_bounds_and_no_sooner():
    gate = admission(tolerance_s=0.0)
    gate.note({Overload.CELL_APPS: 0.95, Overload.LOGIN_APP: 0.95}, 10.0)
    gate.note({Overload.CELL_APPS: 0.5}, 11.0)
    assert gate.is_shut(11.0)
    assert gate.over() == [Overload.LOGIN_APP]
    gate.note({Overload.LOGIN_APP: 0.9}, 12.0)
    assert gate.state is AdmissionState.OPEN
    gate.note({Overload.LOGIN_APP: 0.95}, 13.0)
    assert gate.is_shut(13.0), "a tolerance of no time is over at once"


def test_each_overload_has_a_tolerance_of_its_own():
    gate = admission(tolerance_s=5.0)
    gate.note({Overload.CELL_APPS: 0.95}, 10.0)
    gate.note({Overload.CELL_APPS: 0.5}, 14.0)
    gate.note({Overload.CELL_APPS: 0.95}, 20.0)
    assert not gate.is_shut(24.0)


def test_load_without_a_figure_and_load_without_a_bound_refuse_nothing():
    gate = Admission(AdmissionLimits({Overload.DB_APP: 1.0}, tolerance_s=0.0))
    gate.note({Overload.DB_APP: None, Overload.CELL_APPS: 9.0}, 10.0)
    assert gate.state is AdmissionState.OPEN


def busy_door(**limits):
    return Door(admission=AdmissionLimits(BOUNDS, **{"tolerance_s": 0.0, **limits}))


@pytest.mark.parametrize(
    "load",
    [
        DoorLoad(1.6, CALM),
        DoorLoad(0.2, CALM._replace(base_app=0.9)),
        DoorLoad(0.2, CALM._replace(cell_most=0.95)),
        DoorLoad(0.2, CALM._replace(cell_mean=0.75)),
    ],
)
def test_login_is_refused_while_a_server_is_overloaded_and_let_in_afterwards(load):
    door = busy_door()
    door.app.on_message(DATABASE, load)
    session = door.knock()
    assert door.tick() == []
    assert session.code == "overloaded"
    assert door.app.view()["refused"] == {"overloaded": 1}
    assert [*violations_of(door.app)] == []
    door.app.on_message(DATABASE, DoorLoad(0.2, CALM))
    door.knock()
    assert len(door.tick()) == 1
    assert [event for event, _ in door.host.logged if event in (LogEvent.LOGINS_OVERLOADED, LogEvent.LOGINS_OPEN)] == [
        LogEvent.LOGINS_OVERLOADED,
        LogEvent.LOGINS_OPEN,
    ]


def test_loginapp_measures_its_own_load():
    door = busy_door()
    door.host.load = 0.95
    door.tick(1.0)
    door.knock()
    assert door.tick() == []
    assert door.app.view()["admission"]["over"] == ["login_app"]
    door.host.load = 0.0
    door.tick(1.0)
    door.knock()
    assert len(door.tick()) == 1


def test_only_logins_that_the_dbapp_is_asked_for_use_up_the_tolerance():
    door = busy_door(tolerance_s=60.0, tolerance_logins=1)
    door.app.on_message(DATABASE, DoorLoad(1.6, CALM))
    wrong = door.knock(digest="x")
    door.tick()
    door.knock()
    assert len(door.tick()) == 1
    last = door.knock()
    assert door.tick() == []
    assert (wrong.code, last.code) == ("digest", "overloaded")


def test_lost_link_with_the_dbapp_leaves_no_figure_behind():
    door = busy_door()
    door.app.on_message(DATABASE, DoorLoad(1.6, CALM._replace(base_app=0.9)))
    door.app.on_link_lost(DATABASE)
    assert door.app.admission.state is AdmissionState.OPEN
    door.app.on_link_up(DATABASE)
    door.knock()
    assert len(door.tick()) == 1


def test_loads_that_are_no_loads_or_come_from_another_app_are_refused():
    door = busy_door()
    door.app.on_message(DATABASE._replace(incarnation=2), DoorLoad(9.0, None))
    door.app.on_message(DATABASE, DoorLoad(float("nan"), None))
    door.app.on_message(DATABASE, DoorLoad(0.5, CALM._replace(cell_mean=-1.0)))
    assert door.app.refusals.total() == 3
    assert door.app.admission.state is AdmissionState.OPEN
