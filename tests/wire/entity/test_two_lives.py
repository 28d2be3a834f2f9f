"""A part that is ended and made again: its two lives have one name, and never speak at the same time."""

from __future__ import annotations

from terrazzo.wire.entity.messages import Astray, Frame
from terrazzo.wire.ids import EntityId, Part, PartId, first_of_life
from tests.wire.entity.entity_harness import Town, X, Y, Z, pair

BASE = PartId(X.entity, Part.BASE)


def with_base() -> Town:
    """X lives at A, its base at B, Z at C; X and its base have a channel for good."""
    town = Town()
    for part, letter in ((X, "A"), (BASE, "B"), (Z, "C")):
        town[letter].create(part)
        town.introduce(part, letter)
    town["A"].pin(X, BASE)
    town["B"].pin(BASE, X)
    town.settle(1.0)
    return town


def live_again(town: Town) -> None:
    """X begins its next life, at A, beside the memory of the former."""
    town["A"].create(X, life=1)
    town["A"].learn(BASE, 0, town.id("B"))
    town["A"].pin(X, BASE)


def test_base_gets_the_end_of_its_cell_part_last():
    town = with_base()
    town.blocked.update({("A", "C"), ("C", "A")})
    town["A"].send(X, Z, b"call")
    town["A"].send(X, BASE, b"last words")
    town["A"].destroy(X)
    town.settle(8.0)
    assert town.take(BASE) == [b"last words"], "what it says comes at once"
    assert X in town["B"].boxes[BASE].channels, "but as long as a call is under way, it is not over"
    assert town.homes["A"].ended == []
    town.blocked.clear()
    town.settle(5.0)
    assert town.take(Z) == [b"call"]
    town.settle(5.0)
    assert town["B"].boxes[BASE].channels == {}
    assert town.homes["A"].ended == [X]


def test_callers_after_the_end_do_not_keep_the_base_waiting():
    town = with_base()
    town["A"].destroy(X)
    town.blocked.add(("A", "C"))
    for number in range(20):
        stranger = PartId(EntityId(100 + number), Part.CELL)
        town["C"].create(stranger)
        town["C"].send(stranger, X, b"too late")
        town.settle(0.1)
    assert town["B"].boxes[BASE].channels == {}


def test_message_of_the_base_to_an_ending_cell_part_is_reported_in_the_end():
    town = with_base()
    town.blocked.update({("A", "C"), ("C", "A")})
    town["A"].send(X, Z, b"call")
    town["A"].destroy(X)
    town["B"].send(BASE, X, b"in vain")
    town.settle(3.0)
    assert town.homes["B"].failed == []
    town.blocked.clear()
    for _ in range(5):
        town.settle(2.0)
        town.take(Z)
    assert town.homes["B"].failed == [(BASE, X, [b"in vain"], "destroyed")]


def test_a_late_word_of_a_former_life_is_not_taken_but_its_end_is_noted():
    town = pair()
    town["A"].send(X, Y, b"former")
    town.tick("A")
    [late] = town.queues.pop(("A", "B"))
    town["C"].create(X, life=1)
    town["B"].learn(X, first_of_life(1), town.id("C"))
    town["B"].on_message(town.id("A"), late)  # type: ignore[arg-type]
    assert town["B"].with_mail() == []
    assert town["B"].boxes[Y].channels == {}
    town["A"].destroy(X)
    town.settle(3.0)
    assert town["B"].with_mail() == []
    assert town.homes["A"].ended == [X], "it may go"
    town["C"].learn(Y, 0, town.id("B"))
    town["C"].send(X, Y, b"present")
    town.settle(1.0)
    assert town.take(Y) == [b"present"]


def test_record_of_a_former_life_answers_astray_for_the_later():
    town = pair()
    town["A"].destroy(X)
    town.settle(1.0)
    assert X not in town["A"].boxes
    for heard, answer in ((first_of_life(0), Frame), (first_of_life(1), Astray)):
        town["A"].on_message(town.id("B"), Frame(X, Y, town.id("B"), 0, heard, 0, asks=True))
        town.tick("A")
        [told] = town.queues.pop(("A", "B"))
        assert isinstance(told, answer)


def test_the_last_words_of_one_that_never_spoke_before_are_waited_for():
    """Its first frame is its last: it is over, and its stream must begin anew, since its clock is behind."""
    town = with_base()
    town["B"].boxes[BASE].horizon = 1 << 60
    town.blocked.update({("A", "B"), ("B", "A")})
    town["A"].send(X, BASE, b"last words")
    town["A"].destroy(X)
    town["B"].send(BASE, X, b"in vain")
    town.settle(1.0)
    town.blocked = {("B", "A")}
    while not town.homes["B"].failed:
        town.settle(0.05)
    for _ in range(20):
        town.settle(0.05)
        assert X in town["B"].boxes[BASE].channels, "forgotten before its last words have come"
    town.blocked.clear()
    assert town.take_for(BASE, 10.0) == [b"last words"]
    assert town.homes["B"].failed == [(BASE, X, [b"in vain"], "destroyed")]
    assert town["B"].boxes[BASE].channels == {}
    assert town.homes["A"].ended == [X]


def test_two_apps_that_place_a_part_at_each_other_find_its_home():
    """A has a stub of a former life that points to B, and B has a report that the later life is at A."""
    town = pair()
    part = PartId(EntityId(77), Part.CELL)
    town["A"].learn(part, 2, town.id("B"))
    town["B"].learn(part, first_of_life(1), town.id("A"))
    town["C"].create(Z)
    town["C"].learn(part, first_of_life(1), town.id("A"))
    town["C"].send(Z, part, b"are you there?")
    town.settle(8.0)
    assert town["A"].places[part].app is None, "it has heard that B has it not"
    assert part in town.homes["C"].located, "so C had to ask"


def test_note_for_the_former_life_is_not_sent_to_the_later():
    """The base gets the end of the former once more, and before it can note that, the first message of the later."""
    town = with_base()
    town["A"].destroy(X)
    town.settle(2.0)
    live_again(town)
    town["A"].send(X, BASE, b"last words")
    town["A"].destroy(X)
    town.tick("A")
    town["B"].on_message(town.id("A"), Frame(BASE, X, town.id("A"), 0, 0, 0, is_over=True))
    town["B"].learn(X, first_of_life(1), town.id("A"))
    town["B"].pin(BASE, X)
    town.deliver("A", "B")
    town.tick("B")
    town.deliver("B", "A")
    assert X in town["A"].boxes, "nobody has noted its end"
    assert town.take_for(BASE, 5.0) == [b"last words"]
    assert town.homes["A"].ended == [X, X]


def test_a_late_note_of_the_former_end_does_not_end_the_later_life():
    """Both lives are at A, and the later ends as well, before its base has received anything of it."""
    town = with_base()
    town["A"].destroy(X)
    town.settle(2.0)
    assert town.homes["A"].ended == [X]
    live_again(town)
    town.blocked.update({("A", "B"), ("B", "A")})
    town["A"].send(X, BASE, b"last words")
    town["A"].destroy(X)
    town.settle(0.2)
    late = Frame(X, BASE, town.id("B"), town["B"].boxes[BASE].version, first_of_life(0), 0, is_noted=True)
    town["A"].on_message(town.id("B"), late)
    assert town.homes["A"].ended == [X], "it was the former end that was noted"
    town.blocked.clear()
    assert town.take_for(BASE, 10.0) == [b"last words"]
    assert town.homes["A"].ended == [X, X]
    assert town["B"].boxes[BASE].channels == {}


def test_what_an_ending_part_has_for_the_later_life_outlives_a_late_last_word_of_the_former():
    town = pair()
    town["B"].send(Y, X, b"hello")
    town.settle(1.0)
    town.take(X)
    town["B"].destroy(Y)
    town.tick("B")
    [late] = town.queues[("B", "A")]
    assert isinstance(late, Frame)
    assert late.is_over
    town.settle(5.0)
    assert town.homes["B"].ended == [Y]
    town["C"].create(Y, life=1)
    town["A"].send(X, Y, b"for the later life")
    town["A"].destroy(X)
    town["A"].on_message(town.id("B"), late)
    town.settle(1.0)
    assert town.homes["A"].failed == []
    town["A"].learn(Y, first_of_life(1), town.id("C"))
    assert town.take_for(Y, 5.0) == [b"for the later life"]
    town.settle(5.0)
    assert town.homes["A"].ended == [X]


def test_two_parts_that_end_together_do_not_wait_for_each_other():
    town = pair()
    town["A"].send(X, Y, b"in vain")
    town["B"].send(Y, X, b"in vain, too")
    town["A"].destroy(X)
    town["B"].destroy(Y)
    town.settle(3.0)
    assert (town.homes["A"].ended, town.homes["B"].ended) == ([X], [Y])
    assert town.homes["A"].failed == [(X, Y, [b"in vain"], "destroyed")]
    assert town.homes["B"].failed == [(Y, X, [b"in vain, too"], "destroyed")]
