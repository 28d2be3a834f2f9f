"""The stories about channels, by their numbers in the list of races."""

from __future__ import annotations

import itertools

import pytest

from terrazzo.errors import UsageError
from terrazzo.wire.entity.messages import Frame
from terrazzo.wire.ids import MOVES_BITS, first_of_life, life_of, next_move
from terrazzo.wire.log_events import LogEvent
from tests.wire.entity.entity_harness import Town, X, Y, pair


def test_race_7_part_goes_there_and_back_before_any_frame_arrives():
    town = pair()
    town["B"].send(Y, X, b"0")
    town.tick("B")
    town.move(X, "A", "C")  # Y's message is under way to A
    town.deliver("B", "A")
    town.tick("A")  # A forwards it to C ...
    town.move(X, "C", "A")  # ... which X has left for A already
    town["B"].send(Y, X, b"1")
    town.settle(0.3)  # C passes it back to where X went from there: nothing waits until it is sent again
    assert town.take(X) == [b"0", b"1"]
    assert town["A"].boxes[X].version == 2
    assert [town[each].counts[LogEvent.ASTRAY] for each in "AC"] == [0, 0]
    assert all(not queue for queue in town.queues.values()), "every forward has ended somewhere"


def test_race_11_what_was_waiting_for_the_game_goes_with_the_entity_first():
    town = pair()
    town["B"].send(Y, X, b"queued at A")
    town.settle(0.2)
    assert [payload for *_, payload in town["A"].boxes[X].inbox] == [b"queued at A"]
    town["B"].send(Y, X, b"under way")
    town.move(X, "A", "C")
    town["B"].send(Y, X, b"after")
    town.settle(1.0)
    assert town.take(X) == [b"queued at A", b"under way", b"after"]


@pytest.mark.parametrize("order", list(itertools.permutations(["X", "Y", "to X", "to Y"])))
def test_race_15_both_ends_move_at_once_in_every_order(order):
    town = pair()
    town["A"].send(X, Y, b"x0")
    town["B"].send(Y, X, b"y0")
    homes = {"X": ("A", "C"), "Y": ("B", "D")}
    packed = {}
    for step in order:  # each leaves, and arrives, before or after the other leaves or arrives
        name = step[-1]
        source, target = homes[name]
        part = X if name == "X" else Y
        if name not in packed:
            packed[name] = town[source].depart(part, town.id(target))
            town.tick("A")
            town.tick("B")
        else:
            assert town[target].arrive(packed[name])
    town["C"].send(X, Y, b"x1")
    town["D"].send(Y, X, b"y1")
    town.settle(3.0)
    assert town.take(Y) == [b"x0", b"x1"]
    assert town.take(X) == [b"y0", b"y1"]


def test_race_15_part_moves_several_times_before_its_peer_gets_a_frame():
    town = pair("ABCDEF")
    town["B"].send(Y, X, b"0")
    town.tick("B")
    for source, target in itertools.pairwise("ACDEF"):
        town.move(X, source, target)
    town.settle(3.0)
    assert town.take(X) == [b"0"]
    town["F"].send(X, Y, b"1")
    town.settle(1.0)
    assert town.take(Y) == [b"1"]
    assert town["B"].places[X].app == town.id("F")


@pytest.mark.parametrize("first", ["old", "new"])
def test_race_16_overtaking_through_the_old_home(first):
    town = pair()
    town["A"].send(X, Y, b"0")
    town["A"].send(X, Y, b"1")
    town.tick("A")  # under way on A → B
    town.move(X, "A", "C")
    town["C"].send(X, Y, b"2")
    town.tick("C")  # under way on C → B
    links = [("A", "B"), ("C", "B")]
    for source, target in links if first == "old" else reversed(links):
        town.deliver(source, target)
    town.settle(1.0)
    assert town.take(Y) == [b"0", b"1", b"2"]


def test_race_17_versions_compare_across_moves_and_lives():
    version = 0
    for _ in range(3):
        version = next_move(version)
    assert version == 3
    assert first_of_life(1) > version
    assert life_of(first_of_life(1)) == 1
    last = first_of_life(2) - 1
    assert life_of(last) == 1
    with pytest.raises(AssertionError):
        next_move(last)  # a move never slips into the next life
    assert last == (1 << MOVES_BITS + 1) - 1


def test_race_17_a_restored_part_beats_the_survivor():
    town = pair()
    town["A"].send(X, Y, b"before")
    town.settle(0.3)
    assert town.take(Y) == [b"before"]
    town.settle(0.3)
    backup = town["A"].pack(X)
    for number in range(3):  # messages of the survivor after the backup are undone
        town["A"].send(X, Y, b"undone %d" % number)
        town.settle(0.2)
        assert town.take(Y) == [b"undone %d" % number]
    for target in "DCDC":
        town.move(X, "A" if X in town["A"].boxes else "C" if target == "D" else "D", target)
    town["A"].restore(backup, life=1)
    town["A"].send(X, Y, b"new life")
    town.settle(0.5)
    town["C"].send(X, Y, b"from the survivor")
    town.settle(2.0)
    assert town.take(Y) == [b"new life"]
    assert town["B"].places[X].app == town.id("A")
    town["B"].send(Y, X, b"welcome back")
    town.settle(1.0)
    assert [payload for _, payload in town["A"].take(X)] == [b"welcome back"]


def test_race_17_messages_in_the_backup_are_neither_lost_nor_repeated():
    town = pair()
    town["A"].send(X, Y, b"0")
    town.settle(0.2)
    assert town.take(Y) == [b"0"]  # the acknowledgement is not yet at A
    town["A"].send(X, Y, b"1")
    backup = town["A"].pack(X)
    town.settle(0.5)
    assert town.take(Y) == [b"1"]
    town["B"].send(Y, X, b"taken by the lost life")
    town.settle(0.5)
    assert town.take(X) == [b"taken by the lost life"]
    town["B"].send(Y, X, b"not yet taken")
    town.settle(0.5)
    town["C"].restore(backup, life=1)
    town["C"].send(X, Y, b"2")
    town.settle(2.0)
    assert town.take(Y) == [b"2"]
    assert [payload for _, payload in town["C"].take(X)] == [b"not yet taken"]


def test_race_17_both_restored_at_once_find_each_other():
    town = pair()
    town["A"].pin(X, Y)
    town["B"].pin(Y, X)
    town["A"].send(X, Y, b"x0")
    town["B"].send(Y, X, b"y0")
    town.settle(0.3)
    backups = town["A"].pack(X), town["B"].pack(Y)
    for gone in "AB":
        town.homes.pop(gone)
    town["C"].restore(backups[0], life=1)
    town["D"].restore(backups[1], life=2)
    town.queues.clear()
    town["C"].learn(Y, first_of_life(2), town.id("D"))
    town["D"].learn(X, first_of_life(1), town.id("C"))
    town["C"].send(X, Y, b"x1")
    town.settle(3.0)
    assert town.take(Y) == [b"x0", b"x1"]
    assert town.take(X) == [b"y0"]


def test_race_17_a_restored_inbox_of_a_stream_since_retired():
    town = pair(idle_s=0.5)
    town["B"].send(Y, X, b"old")
    town.settle(0.2)
    backup = town["A"].pack(X)  # "old" is in its inbox, not taken
    assert town.take(X) == [b"old"]
    town.settle(3.0)  # acknowledged, retired, dropped by Y
    town["C"].restore(backup, life=1)
    town.settle(0.5)
    town["B"].send(Y, X, b"new 0")
    town["B"].send(Y, X, b"new 1")
    town.settle(0.5)
    town.homes.pop("A")
    assert town.take(X) == [b"old", b"new 0", b"new 1"]
    town["B"].send(Y, X, b"new 2")
    town.settle(0.5)
    assert town.take(X) == [b"new 2"], "what was taken of the old stream is not counted in the new one"


def test_race_17_stream_that_ended_in_the_lost_life_is_removed():
    town = pair(idle_s=0.5, probe_s=1.0)
    town["B"].send(Y, X, b"0")
    town.settle(0.2)
    assert town.take(X) == [b"0"]
    backup = town["A"].pack(X)
    town.settle(3.0)
    assert town["B"].boxes[Y].channels == {}
    town["C"].restore(backup, life=1)
    town.settle(5.0)
    assert town["C"].boxes[X].channels == {}


def test_race_17_a_restore_must_beat_what_is_known():
    town = pair()
    backup = town["A"].pack(X)
    town["B"].learn(X, first_of_life(4), town.id("C"))
    with pytest.raises(UsageError, match="cannot be restored as life 4"):
        town["B"].restore(backup, life=4)
    assert town["B"].restore(backup) == first_of_life(5)


def test_race_18_a_silent_end_is_found_after_it_moved():
    town = pair(stub_s=0.5)
    town["A"].pin(X, Y)
    town["B"].pin(Y, X)
    town.settle(1.0)
    town.move(X, "A", "C")  # X has nothing to send
    town.settle(2.0)  # the stub at A is dropped
    assert town["B"].places[X].app == town.id("C")
    town["B"].send(Y, X, b"found")
    town.settle(0.3)
    assert town.take(X) == [b"found"]
    assert town.homes["B"].located == []


def test_race_18_the_announcement_is_repeated_when_its_link_breaks():
    town = pair()
    town["A"].pin(X, Y)
    town["B"].pin(Y, X)
    town.settle(1.0)
    town.move(X, "A", "C")
    town.tick("C")
    town.cut("B", "C")
    town.settle(3.0)
    assert town["B"].places[X].app == town.id("C")
    assert town["C"].boxes[X].channels[Y].confirmed == 1


def asked() -> Town:
    """X has asked Y something."""
    town = pair()
    town["A"].send(X, Y, b"question")
    town.settle(0.2)
    assert town.take(Y) == [b"question"]
    return town


def test_race_19_reply_reaches_a_part_that_moved():
    town = asked()
    town.move(X, "A", "C")
    town["B"].send(Y, X, b"reply")
    town.settle(1.0)
    assert town.take(X) == [b"reply"]


def test_race_19_reply_to_a_destroyed_part_is_reported():
    town = asked()
    town["A"].destroy(X)
    town["B"].send(Y, X, b"reply")
    town.settle(1.0)
    assert town.homes["B"].failed == [(Y, X, [b"reply"], "destroyed")]


def test_race_28_stub_that_is_notified_last_forwards_to_a_dead_app():
    town = pair(resend_s=0.2)
    town["B"].send(Y, X, b"0")
    town.tick("B")
    backup = town["A"].pack(X)
    town["A"].depart(X, town.id("D"))  # A sends X to D, which dies
    town.deliver("B", "A")
    town.tick("A")
    assert any(isinstance(message, Frame) for message in town.queues["A", "D"]), "A forwards to the dead"
    town.queues.clear()
    dead = town.homes.pop("D").id
    town["C"].restore(backup, life=1)  # the manager has received it; A and B have not
    town.settle(0.1)
    for letter in "AB":
        town[letter].on_app_dead(dead)
    town["B"].learn(X, first_of_life(1), town.id("C"))
    town.settle(2.0)
    assert town.take(X) == [b"0"]
