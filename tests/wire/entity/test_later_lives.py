"""A caller of a part must not get its end when it lives again: no memory of a former life answers for a later one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from terrazzo.wire.entity.messages import Frame
from terrazzo.wire.ids import EntityId, Part, PartId, first_of_life
from tests.wire.entity.entity_harness import Town, X, Y, Z, pair


def introduced() -> Town:
    """Y has sent to X, and X has taken and acknowledged it."""
    town = pair()
    town["B"].send(Y, X, b"here I am")
    town.settle(1.0)
    assert town.take(X) == [b"here I am"]
    town.settle(1.0)
    return town


def check_the_later_life_is_found(town: Town, *, before: Iterable[Frame] = (), after: Iterable[Frame] = ()) -> None:
    """Y, which has ended at B, lives again at C. X calls it; before and after that, late words of B come."""
    town.settle(1.0)
    assert town.homes["B"].ended == [Y]
    town["C"].create(Y, life=1)
    for word in before:
        town["A"].on_message(town.id("B"), word)
    town["A"].send(X, Y, b"0")
    for word in after:
        town["A"].on_message(town.id("B"), word)
    town.settle(2.0)
    assert town.homes["A"].failed == [], "the former life has never seen that stream"
    assert Y in town.homes["A"].located
    town["A"].learn(Y, first_of_life(1), town.id("C"))
    town.settle(2.0)
    assert town.take(Y) == [b"0"]


def test_a_call_to_where_a_former_life_ended_finds_the_later_one():
    town = pair()
    town["B"].destroy(Y)
    check_the_later_life_is_found(town)


def test_a_later_life_that_has_moved_on_is_found_through_where_it_began():
    town = pair()
    town["B"].destroy(Y)
    town.settle(1.0)
    town["B"].create(Y, life=1)
    town.move(Y, "B", "C")
    town["A"].send(X, Y, b"0")
    town.settle(3.0)
    assert town.homes["A"].failed == []
    assert town.take(Y) == [b"0"]


def test_a_caller_beside_a_part_that_has_ended_asks_as_well():
    town = pair()
    town["A"].create(Z)
    town["A"].destroy(Z)
    town.settle(1.0)
    town["A"].send(X, Z, b"0")
    town.settle(3.0)
    assert town.homes["A"].failed == []
    assert Z in town.homes["A"].located
    town["A"].gone(Z, "no such entity")
    assert town.homes["A"].failed == [(X, Z, [b"0"], "no such entity")]


def test_late_frame_of_the_end_does_not_fail_a_younger_call():
    town = introduced()
    town["B"].destroy(Y)
    town.tick("B")
    [late] = [each for each in town.queues["B", "A"] if isinstance(each, Frame) and each.is_over]
    check_the_later_life_is_found(town, after=[late])


def test_two_late_frames_and_an_earlier_one_do_not_fail_a_younger_call():
    """They come when the channel was dropped: the first ones open it again, and the last is no answer to the call."""
    town = pair()
    town["B"].send(Y, X, b"here I am")
    town.tick("B")
    late = [each for each in town.queues["B", "A"] if isinstance(each, Frame)]
    town["B"].destroy(Y)
    town.tick("B")
    late += [each for each in town.queues["B", "A"] if isinstance(each, Frame) and each.is_over] * 2
    town.settle(0.2)
    assert town.take(X) == [b"here I am"]
    assert len(late) == 3
    check_the_later_life_is_found(town, before=late[:-1], after=late[-1:])


def test_ending_part_does_not_wait_for_a_later_life_of_an_ended_peer():
    town = introduced()
    town["B"].destroy(Y)
    town["A"].send(X, Y, b"0")
    town["A"].destroy(X)
    town.settle(3.0)
    assert town.homes["A"].ended == [X]
    assert town.homes["B"].ended == [Y]


def test_strangers_do_not_keep_a_part_from_ending_and_get_its_end():
    """It waits for one peer that is out of reach; meanwhile others call it, again and again."""
    town = pair()
    town["C"].create(Z)
    town["A"].learn(Z, 0, town.id("C"))
    town.blocked.update({("A", "C"), ("C", "A")})
    town["A"].send(X, Z, b"promised")
    town["A"].destroy(X)
    for number in range(20):
        stranger = PartId(EntityId(100 + number), Part.CELL)
        town["D"].create(stranger)
        town["D"].send(stranger, X, b"too late")
        town.settle(0.2)
    assert town["A"].boxes[X].channels.keys() == {Z}
    assert X not in town.homes["D"].located
    town.blocked.clear()
    for _ in range(5):
        town.settle(1.0)
        town.take(Z)
    assert town.homes["A"].ended == [X]
    assert X in town.homes["D"].located, "as soon as it has ended, D hears that it is not there"


def test_three_that_end_together_do_not_wait_for_each_other():
    """Each has sent something to the next, which did not come before all of them ended."""
    ring = [PartId(EntityId(number), Part.CELL) for number in range(1, 4)]
    town = Town()
    homes = dict(zip(ring, "ABC", strict=True))
    for part, letter in homes.items():
        town[letter].create(part)
        town.introduce(part, letter)
    for part, following in pairwise([*ring, ring[0]]):
        town[homes[part]].send(part, following, b"farewell")
    for part, letter in homes.items():
        town[letter].destroy(part)
    town.settle(3.0)
    assert [town.homes[letter].ended for letter in "ABC"] == [[part] for part in ring]


def test_answer_of_the_resolver_fails_only_what_was_sent_before_the_question():
    town = pair()
    town["A"].create(Z)
    part = PartId(EntityId(77), Part.CELL)
    town["A"].send(X, part, b"before")
    town.settle(0.1)
    assert town.homes["A"].located == [part]
    asked_at = town.host.now
    town.host.now += 0.1
    town["A"].send(Z, part, b"after")
    town["A"].gone(part, "no such entity", asked_at)
    assert town.homes["A"].failed == [(X, part, [b"before"], "no such entity")]
    town.settle(0.2)
    assert town.homes["A"].located == [part, part], "so it is asked again"
    town["A"].gone(part, "no such entity", town.host.now)
    assert town.homes["A"].failed[1:] == [(Z, part, [b"after"], "no such entity")]


def test_the_last_call_of_one_that_ends_finds_the_later_life_as_well():
    """The former life only waits until its base, to which the way back is blocked, has noted its end."""
    base = PartId(Y.entity, Part.BASE)
    town = pair()
    town["C"].create(base)
    town.introduce(base, "C")
    town["B"].pin(Y, base)
    town["C"].pin(base, Y)
    town.settle(1.0)
    town.blocked.add(("C", "B"))
    town["B"].destroy(Y)
    town.settle(1.0)
    assert Y not in town["C"].boxes[base].channels, "so the next life may be made"
    town["D"].create(Y, life=1)
    town["A"].send(X, Y, b"0")
    town["A"].destroy(X)
    town.settle(1.0)
    town.blocked.clear()
    town.settle(6.0)
    assert town.homes["B"].ended == [Y]
    town["A"].learn(Y, first_of_life(1), town.id("D"))
    town.settle(1.0)
    assert town.take(Y) == [b"0"]


def test_one_that_has_ended_notes_the_end_of_another_at_once():
    town = pair()
    town["B"].destroy(Y)
    town.settle(1.0)
    last = Frame(Y, X, town.id("A"), 0, 0, 0, is_over=True, is_noted=True)
    town["B"].on_message(town.id("A"), last)
    town.tick("B")
    [note] = town.queues["B", "A"]
    assert isinstance(note, Frame)
    assert (note.to, note.is_noted, note.is_over) == (X, True, False), "else two memories would never be silent"


def _waits_for(part: PartId) -> Town:
    """X, at A, has called a part without a known place for so long that it seldom tries."""
    town = pair()
    town["A"].send(X, part, b"0")
    town.settle(20.0)
    return town


def test_waiting_call_is_delivered_when_the_part_begins_in_the_same_app():
    town = _waits_for(Z)
    town["A"].create(Z)
    town.settle(0.1)
    assert town.take(Z) == [b"0"]


def test_waiting_call_is_delivered_when_the_part_sends_to_another():
    town = _waits_for(Z)
    town["A"].create(PartId(EntityId(4), Part.CELL))
    town["D"].create(Z)
    town["D"].learn(PartId(EntityId(4), Part.CELL), 0, town.id("A"))
    town["D"].send(Z, PartId(EntityId(4), Part.CELL), b"hello")
    town.settle(0.2)
    assert town.take(Z) == [b"0"]


def test_resolver_is_asked_again_soon_for_a_part_that_is_being_made():
    town = _waits_for(Z)
    asked = len(town.homes["A"].located)
    while len(town.homes["A"].located) == asked:
        town.settle(0.1)
    town["A"].unsettled(Z)
    town.settle(1.1)
    assert len(town.homes["A"].located) == asked + 2


def test_call_after_the_noted_end_fails_when_the_part_is_over():
    town = pair()
    town["C"].create(Z)
    town["B"].learn(Z, 0, town.id("C"))
    town.blocked.add(("C", "B"))
    town["B"].send(Y, Z, b"promised")
    town["B"].send(Y, X, b"here I am")
    town["B"].destroy(Y)
    town.settle(0.1)
    assert town.take(X) == [b"here I am"]
    town.settle(0.1)
    town["A"].send(X, Y, b"0")  # with the note
    town.settle(0.2)
    town.blocked.clear()
    town.take(Z)
    town.settle(0.3)
    assert town.homes["B"].ended == [Y]
    town.settle(0.4)
    assert Y in town.homes["A"].located


def _both_end() -> Town:
    """Y has taken the messages of X, and both end before X has received that."""
    town = pair()
    town["A"].send(X, Y, b"0")
    town.settle(0.1)
    assert town.take(Y) == [b"0"]
    town["A"].destroy(X)
    town["B"].destroy(Y)
    return town


def test_two_parts_that_end_together_are_done_when_each_has_the_end():
    town = _both_end()
    town.settle(0.3)
    assert town.homes["B"].ended == [Y]
    assert town.homes["A"].ended == [X], "nothing had to be said again"


def test_a_note_of_a_former_life_is_enough_for_one_that_ends():
    """It is lost; when the end is sent again, the answer comes from the memory of a life that has a successor."""
    town = _both_end()
    while town.homes["B"].ended == []:
        town.settle(0.05)
    town["B"].on_tick()
    town.homes["B"].outbox.drain()
    town["B"].create(Y, life=1)
    town.move(Y, "B", "C")
    town["A"].learn(Y, first_of_life(1), town.id("B"))
    town.settle(3.0)
    assert town.homes["A"].ended == [X]


def test_unless_it_was_a_former_end_that_was_noted():
    town = Town()
    town["A"].create(X, life=1)
    town["B"].create(Y)
    town.introduce(Y, "B")
    town["A"].send(X, Y, b"0")
    town.settle(0.1)
    town.take(Y)
    town.settle(1.0)
    town["A"].destroy(X)
    town["A"].learn(Y, first_of_life(1), town.id("C"))
    for life, ended in ((0, []), (1, [X])):
        note = Frame(X, Y, town.id("B"), 0, first_of_life(life), 0, is_noted=True)
        town["A"].on_message(town.id("B"), note)
        assert town.homes["A"].ended == ended


def test_end_of_the_former_life_is_not_enough_for_a_call_to_the_later():
    town = pair()
    town["B"].destroy(Y)
    town.settle(0.1)
    town["A"].send(X, Y, b"0")
    town["A"].destroy(X)
    town["A"].learn(Y, first_of_life(1), town.id("C"))
    town["A"].on_message(town.id("B"), Frame(X, Y, town.id("B"), 0, 0, 0, is_over=True, is_noted=True))
    assert town.homes["A"].ended == []
    town["C"].create(Y, life=1)
    town.settle(3.0)
    assert town.take(Y) == [b"0"]
