"""Stories 1 to 6 of the races: ghosts. Orders of single messages are enumerated, the rest is played by real apps."""

from __future__ import annotations

import pytest

from terrazzo.cell.ghosts.mending import GAP_S
from terrazzo.wire.log_events import LogEvent
from tests.cell.ghost_orders import check_word
from tests.cell.ghost_script import A, B, create, delete, update
from tests.cell.land import Land, cornered


def test_race_01_update_before_birth(strict_app):
    """A creates a ghost on C, the real goes on to B, and B's updates reach C first."""
    for word in ("cmu", "cmuu", "cumuu", "cmumu"):
        check_word(strict_app, word, 1)


def test_race_01_update_before_birth_played():
    land = Land(4, margin_m=0.0, corner=True, ghost_distance_m=100.0)
    a, b, c = land.corner(-1, -1), land.corner(1, -1), land.corner(1, 1)
    watcher = land.create(2, 6.0, 6.0, is_seen=True)
    land.block(a, c)
    land.create(1, -5.0, -5.0)
    land.act(1, "step")
    land.step(3)
    land.put(1, 5.0, -5.0)
    land.step(6)
    assert land.home(1) == b
    land.act(1, "step")
    land.step(3)
    assert 1 not in land[c].bodies
    assert land[c].receiver.held
    land.settle()
    assert watcher.count("enter", 1) == 1
    assert watcher.seen[1]["steps"] == 2


def test_race_02_death_of_the_wrong_ghost(strict_app):
    """A deletes its ghost, the real moves to B, which creates one; the deletion arrives last, or anywhere."""
    for word in ("cudmcu", "cudmc", "cdmcuu", "cudumucu", "cumdmcu"):
        check_word(strict_app, word, 1)


def test_race_03_two_creators(strict_app):
    """Old and new real both create a ghost: the higher epoch wins, and the other gets that as its confirmation."""
    for word in ("cdmc", "cudmc", "cdmcdmc", "cdmumc"):
        check_word(strict_app, word, 1)


def test_race_04_the_gap_that_never_closes():
    """The step reached B but was lost on the way to C; then B has the real and goes on."""
    land, watcher, (a, b, c) = cornered()
    before = land[c].bodies[1].number
    land.act(1, "step")
    land.host.now += 0.1
    land.tick(land[a])
    land.break_link(a, c)
    land.step(2)
    assert (land[c].bodies[1].number, land[b].bodies[1].number) == (before, before + 1)
    land.put(1, 5.0, -5.0)
    land.step(4)
    assert land.home(1) == b
    land.act(1, "step")
    land.step(5)
    assert land[c].bodies[1].number == before, "it does not go past the gap"
    land.step(int(GAP_S * 10) + 3)
    assert land[c].bodies[1].number == land[b].bodies[1].number
    assert land[c].counts[LogEvent.SNAPSHOT_ASKED] >= 1
    assert watcher.count("on_stepped", 1) == 2, "the past of the snapshot tells what was missed"
    land.mend_link(a, c)
    land.settle()


def test_race_05_a_ghost_of_a_destroyed_entity(strict_app):
    """The destruction overtakes updates, and a creation; what comes after it finds a tombstone."""
    for word in ("cux", "cumux", "cumx", "cmx", "cudmcux"):
        check_word(strict_app, word, 1)
    strict_app.on_message(B, delete(1, 3, is_destroyed=True, entity=99))
    strict_app.on_message(A, create(0, 1, 99))
    strict_app.on_message(A, update(0, 2, 99))
    strict_app.on_message(B, create(1, 3, 99))
    assert 99 not in strict_app.bodies
    assert 99 not in strict_app.receiver.held


@pytest.mark.parametrize("is_broken", [False, True])
def test_race_05_destroyed_while_a_link_is_slow_or_broken(is_broken):
    land = Land()
    watcher = land.create(2, 10.0, is_seen=True)
    land.create(1, -10.0)
    land.settle()
    if is_broken:
        land.break_link(0, 1)
    else:
        land.block(0, 1)
    land.act(1, "step")
    land.step(2)
    land.do(1, lambda part: part.destroy())
    land.step(5)
    assert 1 in land[1].bodies
    if is_broken:
        land.mend_link(0, 1)
    land.settle(60)
    assert 1 not in land[1].bodies
    assert watcher.events[-2:] == [("on_stepped", 1, 1), ("leave", 1)], "its last words, then its leaving"


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_race_06_the_reals_own_old_ghost(seed):
    """A was real, is a ghost now, and gets all steps from B, its own last changes included: each is applied once."""
    land = Land(seed=seed, margin_m=0.0)
    near, far = land.create(2, -10.0, is_seen=True), land.create(3, 10.0, is_seen=True)
    land.create(1, -1.0)
    land.settle()
    for x in (1.0, 1.0, -1.0, -1.0) * 4:
        if land.home(1) is not None:
            land.put(1, x)
        land.act(1, "step")
        land.step(4)
        land.act(1, "step")
    land.settle()
    steps = land.part(1).steps
    assert near.count("on_stepped", 1) == far.count("on_stepped", 1) == steps
    assert near.count("enter", 1) == far.count("enter", 1) == 1
