"""Which reports of a part's place are accepted, and where messages for it are forwarded."""

from __future__ import annotations

import pytest

from terrazzo.wire.entity.places import Place
from terrazzo.wire.ids import NEVER_HEARD, AppId, AppKind, first_of_life

A, B, C = (AppId(AppKind.CELL_APP, index, 1) for index in (1, 2, 3))


def place(version: int = NEVER_HEARD, app: AppId | None = None) -> Place:
    """A place that the part itself has reported."""
    known = Place(0.0)
    if app is not None:
        known.follow(version, app)
    known.version = version
    return known


@pytest.mark.parametrize(
    ("version", "app", "is_rumour_believed", "is_own_word_believed"),
    [(6, C, True, True), (6, B, True, True), (5, C, False, True), (5, B, False, False), (4, C, False, False)],
)
def test_place_at_b_since_version_5_takes_only_newer_reports(version, app, is_rumour_believed, is_own_word_believed):
    known = place(5, B)
    assert known.learn(version, app) == is_rumour_believed
    assert (known.version, known.app) == ((version, app) if is_rumour_believed else (5, B))
    known = place(5, B)
    known.follow(version, app)
    assert (known.version, known.app) == ((version, app) if is_own_word_believed else (5, B))


def test_where_only_the_version_is_known_a_rumour_of_the_same_is_enough_but_none_of_an_older():
    known = place(5, B)
    known.lose(locate_at=1.0)
    assert (known.version, known.app) == (5, None)
    assert not known.learn(4, C)
    assert known.learn(5, C)


def test_frames_are_sent_again_to_a_part_found_or_restored_not_to_one_that_moved():
    assert place().follow(0, B), "found"
    assert not place(5, B).follow(6, C), "moved: what is under way is passed on"
    assert place(5, B).follow(first_of_life(1), C), "a later life"


def test_an_older_move_is_not_a_former_life():
    known = place(first_of_life(2) + 5, B)
    assert not known.is_former(first_of_life(2))
    assert not known.is_former(first_of_life(3))
    assert known.is_former(first_of_life(2) - 1)


def test_an_arrival_is_newer_or_comes_back():
    known = place(5, A)
    assert not known.is_arrival_of(5, me=A), "a copy of what is here"
    known.leave(6, B, 100.0)
    assert known.is_arrival_of(6, me=A), "refused at B"
    assert known.is_arrival_of(7, me=A), "from B"
    assert not known.is_arrival_of(5, me=A), "a copy of what was here"
    known.lose(locate_at=1.0)
    assert not known.is_arrival_of(6, me=A), "it may have lived there"


def test_a_frame_goes_back_only_to_where_the_part_went_itself():
    known = place(5, B)
    assert known.onward(C, me=A) == B
    assert known.onward(B, me=A) is None
    known.leave(6, B, 100.0)
    assert known.onward(B, me=A) == B
    known.follow(7, B)
    assert known.onward(B, me=A) is None
    known.set_here(8, A)
    assert known.onward(B, me=A) is None
    assert place().onward(B, me=A) is None


def test_frame_is_not_passed_back_to_an_app_that_had_no_record_of_the_part():
    known = place(5, A)
    known.leave(6, B, expires_at=1.0)
    assert known.onward(B, A) == B
    known.lose(locate_at=1.0)
    assert known.learn(6, B)
    assert known.onward(B, A) is None
