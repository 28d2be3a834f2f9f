"""Mail is taken letter by letter: what was handed over is acknowledged, what was not moves on or is reported."""

from __future__ import annotations

from terrazzo.wire.entity.streams import OutStream
from tests.wire.entity.entity_harness import Town, X, Y, Z, pair


def posted(count: int, **limits) -> Town:
    """X has sent to Y, and the mail has come to B."""
    town = pair(**limits)
    for number in range(count):
        town["A"].send(X, Y, b"%d" % number)
    town.settle(0.2)
    return town


def outgoing(town: Town) -> OutStream:
    """The messages of X for Y, as far as A keeps them."""
    stream = town["A"].boxes[X].channels[Y].outgoing
    assert stream is not None
    return stream


def test_only_parts_with_mail_are_named_in_the_order_in_which_it_came():
    town = pair()
    town["B"].create(Z)
    town.introduce(Z, "B")
    assert town["B"].with_mail() == []
    town["A"].send(X, Z, b"first")
    town.settle(0.2)
    town["A"].send(X, Y, b"second")
    town["A"].send(X, Z, b"third")
    town.settle(0.2)
    assert town["B"].with_mail() == [Z, Y]
    assert list(town["B"].taking(Z)) == [(X, b"first"), (X, b"third")]
    assert town["B"].with_mail() == [Y]
    assert list(town["B"].taking(Y)) == [(X, b"second")]
    assert town["B"].with_mail() == []
    assert list(town["B"].taking(Y)) == []


def test_one_may_stop_anywhere_and_go_on_later():
    town = posted(3)
    for _, payload in town["B"].taking(Y):
        assert payload == b"0"
        break
    town.settle(0.4)
    assert outgoing(town).first == 1, "only what was handed over is acknowledged"
    assert town["B"].with_mail() == [Y]
    assert list(town["B"].taking(Y)) == [(X, b"1"), (X, b"2")]


def test_what_is_not_taken_of_a_destroyed_part_is_reported_to_its_callers():
    town = posted(4)
    taken = []
    for _, payload in town["B"].taking(Y):
        taken.append(payload)
        if payload == b"1":
            town["B"].destroy(Y)
    assert taken == [b"0", b"1"]
    assert town["B"].with_mail() == []
    town.settle(2.0)
    assert town.homes["A"].failed == [(X, Y, [b"2", b"3"], "destroyed")]


def test_what_is_not_taken_of_a_part_that_leaves_goes_with_it():
    town = posted(3)
    taken = []
    for _, payload in town["B"].taking(Y):
        taken.append(payload)
        town.move(Y, "B", "C")
    assert taken == [b"0"]
    assert (town["B"].with_mail(), town["C"].with_mail()) == ([], [Y])
    assert list(town["C"].taking(Y)) == [(X, b"1"), (X, b"2")]
    town.settle(2.0)
    assert list(town["C"].taking(Y)) == []


def test_there_and_back_within_the_hand_of_a_taker():
    town = posted(3)
    taken = []
    for _, payload in town["B"].taking(Y):
        taken.append(payload)
        town.move(Y, "B", "C")
        town.move(Y, "C", "B")
    assert taken == [b"0"], "it is another mailbox now, whose mail is taken by whoever looks next"
    assert town["B"].with_mail() == [Y]
    assert list(town["B"].taking(Y)) == [(X, b"1"), (X, b"2")]


def test_what_waits_behind_a_full_inbox_counts_as_mail_when_it_has_come_in():
    town = posted(4, inbox_max=2, window=4)
    town.settle(1.0)
    assert [payload for _, payload in town["B"].taking(Y)] == [b"0", b"1"]
    assert town["B"].with_mail() == [Y]
    assert [payload for _, payload in town["B"].taking(Y)] == [b"2", b"3"]
    assert town["B"].with_mail() == []


def test_mail_of_a_life_undone_is_mail_no_more():
    town = pair()
    backup = town["A"].pack(X)
    town["A"].send(X, Y, b"undone")
    town.settle(0.2)
    assert town["B"].with_mail() == [Y]
    town["C"].restore(backup, life=1)
    town["C"].send(X, Y, b"done")
    for letter in "ABCD":
        town[letter].on_app_dead(town.id("A"))
    town["C"].learn(Y, 0, town.id("B"))
    town.settle(3.0)
    assert [payload for _, payload in town["B"].taking(Y)] == [b"done"]


def test_where_a_part_lives_or_has_ended():
    town = pair(stub_s=2.0)
    assert town["A"].version_of(X) == 0
    assert town["A"].version_of(Y) is None
    town.move(X, "A", "C")
    assert (town["A"].version_of(X), town["C"].version_of(X)) == (None, 1)
    town["C"].destroy(X)
    assert town["C"].version_of(X) == 1
    town.settle(1.0)
    assert X not in town["C"].boxes
    assert town["C"].version_of(X) == 1, "it is remembered, to say that it is over"
    town.settle(3.0)
    assert town["C"].version_of(X) is None


# Acknowledgements wait a little for company.


def frames(town, seconds: float) -> list[int]:
    """How many frames leave B, tick by tick."""
    counts = []
    for _ in range(round(seconds / 0.05)):
        town.host.now += 0.05
        for letter in town.homes:
            town.tick(letter)
        counts.append(len(town.queues.get(("B", "A"), [])))
        for source, target in list(town.queues):
            town.deliver(source, target)
    return counts


def test_an_acknowledgement_alone_waits_and_then_stands_for_many():
    town = pair(ack_s=0.25)
    town["A"].pin(X, Y)
    town["B"].pin(Y, X)
    town.settle(1.0)
    counts = []
    for number in range(5):
        town["A"].send(X, Y, b"%d" % number)
        counts += frames(town, 0.05)
        list(town["B"].taking(Y))
    counts += frames(town, 0.5)
    assert sum(counts) == 1
    assert (outgoing(town).first, outgoing(town).buffer) == (5, [])


def test_acknowledgement_goes_with_the_next_message():
    town = pair(ack_s=0.25)
    town["A"].send(X, Y, b"question")
    town.settle(0.2)
    list(town["B"].taking(Y))
    town["B"].send(Y, X, b"answer")
    frames(town, 0.05)
    assert outgoing(town).buffer == []
    assert [payload for _, payload in town["A"].taking(X)] == [b"answer"]


def test_it_does_not_wait_when_half_the_window_is_taken():
    town = pair(ack_s=100.0, resend_s=100.0, window=4)
    for number in range(12):
        town["A"].send(X, Y, b"%d" % number)
    got = []
    for _ in range(10):
        frames(town, 0.05)
        got += [payload for _, payload in town["B"].taking(Y)]
    assert got == [b"%d" % number for number in range(12)]


def test_it_does_not_wait_when_the_sender_repeats_itself_or_ends():
    town = pair(ack_s=100.0, resend_s=0.2)
    town["A"].send(X, Y, b"m")
    frames(town, 0.1)
    assert list(town["B"].taking(Y)) == [(X, b"m")]
    frames(town, 0.5)
    assert outgoing(town).buffer == []
    town["A"].send(X, Y, b"last")
    town["A"].destroy(X)
    frames(town, 0.05)
    assert list(town["B"].taking(Y)) == [(X, b"last")]
    frames(town, 0.15)
    assert town.homes["A"].ended == [X]


def test_what_was_taken_and_not_acknowledged_is_not_given_again_after_a_move():
    town = pair(ack_s=100.0)
    town["A"].send(X, Y, b"m")
    town.settle(0.2)
    assert list(town["B"].taking(Y)) == [(X, b"m")]
    town.move(Y, "B", "C")
    town.settle(0.2)
    assert outgoing(town).buffer == [], "who has moved says so, and all else with it"
    assert list(town["C"].taking(Y)) == []
