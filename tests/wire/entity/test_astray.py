"""Frames that go astray: which places are lost for it, and which are kept."""

from __future__ import annotations

import pytest

from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import NEVER_HEARD, PartId
from terrazzo.wire.log_events import Count
from tests.wire.entity.entity_harness import X, Y, Z, pair


def test_place_is_kept_when_the_app_there_has_not_received_the_part_yet():
    """X is on its way from A to C. The news of that is faster than X: C sends the frame back as astray."""
    town = pair()
    packed = town["A"].depart(X, town.id("C"))
    del town["C"].places[X]
    town["B"].learn(X, 1, town.id("C"))
    town["B"].send(Y, X, b"early")
    town.tick("B")
    town.deliver("B", "C")
    town.tick("C")
    assert town.queues["C", "B"] == [Astray(X, NEVER_HEARD)]
    town.deliver("C", "B")
    place = town["B"].places[X]
    assert (place.version, place.app) == (1, town.id("C"))
    assert town.homes["B"].located == [X]
    town["C"].arrive(packed)
    town.settle(0.5)
    assert town.take(X) == [b"early"], "sent again soon, not after the resend timer"


@pytest.mark.parametrize("version", [1, 2])
def test_place_is_lost_when_the_app_there_has_seen_the_part_leave(version):
    town = pair()
    town["B"].learn(X, 1, town.id("C"))
    town["B"].send(Y, X, b"m")
    town["B"].on_message(town.id("C"), Astray(X, version))
    place = town["B"].places[X]
    assert (place.version, place.app) == (1, None)
    town.settle(0.5)
    assert town.homes["B"].located == [X]


def test_late_astray_about_a_former_stay_does_not_undo_a_newer_place():
    """An Astray of C was on its way while X went to C once more."""
    town = pair()
    town["B"].learn(X, 1, town.id("C"))
    town["B"].learn(X, 3, town.id("C"))
    town["B"].on_message(town.id("C"), Astray(X, 2))
    assert town["B"].places[X].app == town.id("C")


def test_stub_without_channels_asks_no_app_when_it_does_not_learn_of_the_move():
    town = pair()
    town["D"].learn(X, 1, town.id("C"))
    town["D"].on_message(town.id("C"), Astray(X, NEVER_HEARD))
    assert town["D"].places[X].app == town.id("C")
    assert town.homes["D"].located == []


def test_what_waits_for_a_part_that_never_comes_is_not_sent_in_a_hurry_for_ever():
    town = pair()
    town["B"].learn(Z, 1, town.id("C"))
    town["B"].send(Y, Z, b"m")
    town.settle(20.0)
    assert town["B"].counts[Count.RESENT] < 30
    assert len(town.homes["B"].located) > 3
    town["C"].create(Z)
    assert town.take_for(Z, 5.0) == [b"m"]


def test_astray_has_the_version_with_which_a_part_has_ended():
    town = pair()
    town.move(X, "A", "C")
    town["C"].destroy(X)
    town.settle(3.0)
    assert X not in town["C"].boxes
    town["D"].learn(X, 1, town.id("C"))
    town["D"].create(Z)
    town["D"].send(Z, X, b"m")
    town.tick("D")
    town.deliver("D", "C")
    town.tick("C")
    assert town.queues["C", "D"] == [Astray(X, 1)]
    town.deliver("C", "D")
    assert town["D"].places[X].app is None


def test_home_of_the_source_gets_astray_from_behind_a_stub():
    """Y's place of X is A, where a stub leads to C, and C has no record of X. The resolver names D."""
    town = pair()
    del town["C"].places[X]
    town["A"].depart(X, town.id("C"))
    town["D"].create(X, life=1)

    def locate(part: PartId) -> None:
        town["B"].learn(part, 1 << 32, town.id("D"))

    town.homes["B"].locate = locate  # type: ignore[method-assign]
    town["B"].send(Y, X, b"m")
    town.settle(0.5)
    assert town.take(X) == [b"m"], "before it could have been sent again"


def test_place_is_kept_when_another_app_than_that_of_the_place_lost_the_frame():
    town = pair()
    town["B"].send(Y, X, b"m")
    town["B"].on_message(town.id("C"), Astray(X, 9))
    assert town["B"].places[X].app == town.id("A")
    assert town.homes["B"].located == [X]


def test_stranger_with_a_frame_over_a_stub_gets_the_end_of_the_part():
    town = pair()
    town["D"].create(Z)
    town["B"].send(Y, X, b"m")
    town.settle(0.5)
    town.take(X)
    town.settle(0.5)
    town.blocked.add(("B", "A"))
    town["A"].destroy(X)
    del town["D"].places[X]
    town["D"].learn(X, 0, town.id("C"))
    town["D"].send(Z, X, b"stray")
    town.settle(0.5)
    assert town.id("D") in town["A"].boxes[X].strays
    town.blocked.clear()
    town.settle(0.5)
    assert X not in town["A"].boxes
    assert X in town.homes["D"].located
