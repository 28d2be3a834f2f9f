"""Whole entities on their way, compressed where that pays."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrazzo.cell.core.parcels import BYTES_MIN, MEASURED_EVERY, Gauge
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import MESSAGE_MAX, REGISTRY
from terrazzo.wire.pairs.cell_cell import CreateGhost, Offload, Parcel
from tests.cell.ghost_script import A, create, update
from tests.cell.land import Land
from tests.cell.plain import AVATAR


def parcel(message) -> Parcel:
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
    return Parcel(deflate.compress(REGISTRY.encode(message)) + deflate.flush())


def sent(land: Land, kinds: tuple[type, ...]) -> list:
    """What is on the links between the cells."""
    cells = {app.me for app in land.cells}
    return [each for link, queue in land.queues.items() if set(link) <= cells for each in queue if type(each) in kinds]


@pytest.mark.parametrize("is_long", [True, False])
def test_a_long_text_pays_and_a_short_one_does_not(is_long):
    """It is the same entity at the other end, and after the way back."""
    land = Land(2, margin_m=0.0)
    name = "all work and no play " * 200 if is_long else "Ann"
    land.create(1, -200.0, name=name)
    land.settle()
    seen = []
    for x in (-20.0, 20.0, -20.0):
        land.put(1, x)
        land.tick(land[0])
        land.tick(land[1])
        seen += sent(land, (Parcel, CreateGhost, Offload))
        land.settle()
        assert land.home(1) == (x > 0)
        assert land[0].bodies[1].state["name"] == land[1].bodies[1].state["name"] == name
    assert len(seen) >= 3
    assert {type(each) is Parcel for each in seen} == {is_long}
    gauge = land[0].parcels.gauges[Offload, AVATAR.type_id]
    assert gauge.pays == is_long
    assert not is_long or gauge.packed < gauge.plain / 4


def test_gain_of_compression_is_measured_again():
    """A type that changes its habits is found out."""
    land = Land(1)
    for name, expected in (("x" * 3000, Parcel), ("x", CreateGhost), ("x" * 3000, Parcel)):
        land.create(1 + len(land.base.created), 0.0, name=name)
        ghost = land.real(len(land.base.created)).ghost()
        for _ in range(MEASURED_EVERY * 12):
            land[0].parcels.send(A, ghost)
        [*_, (_, bundles)] = [each for each in land[0].outbox.drain() if each[0] == A]
        last = list(REGISTRY.decode_bundle(bundles[-1]))[-1]
        assert type(last) is expected


@pytest.mark.parametrize(
    ("plain", "packed", "pays"),
    [
        (1000, 1000 - BYTES_MIN, True),
        (1000, 1001 - BYTES_MIN, False),
        (10_000, 6_600, True),
        (10_000, 6_700, False),
        (100, 1, False),
    ],
)
def test_compression_pays_from_a_certain_gain(plain, packed, pays):
    gauge = Gauge()
    assert not gauge.pays
    gauge.measure(plain, packed)
    assert gauge.pays == pays


def test_message_in_a_parcel_is_handled():
    land = Land(1)
    land[0].on_message(A, parcel(create(0, 3)))
    assert land[0].bodies[1].number == 3


BOMB = zlib.compressobj(9, zlib.DEFLATED, -15)
BAD = [
    parcel(update(0, 4)),
    parcel(Parcel(b"")),
    Parcel(b""),
    Parcel(parcel(create(0, 3)).data[:-3]),
    Parcel(BOMB.compress(bytes(2 * MESSAGE_MAX)) + BOMB.flush()),
]


@pytest.mark.parametrize("message", BAD)
def test_bytes_that_are_no_parcel_are_counted_and_dropped(message):
    land = Land(1)
    land[0].on_message(A, message)
    assert land[0].counts == {LogEvent.PARCEL_MALFORMED: 1}
    assert not land[0].bodies


@settings(max_examples=50, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_do_no_harm(data):
    land = Land(1)
    land[0].on_message(A, Parcel(data))
    assert land[0].counts[LogEvent.PARCEL_MALFORMED] == 1
