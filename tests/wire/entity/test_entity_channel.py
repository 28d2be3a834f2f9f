"""The entity channel by hand: streams, retirement, packing, limits, the end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo.errors import UsageError
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.entity.messages import Astray, Frame
from terrazzo.wire.entity.streams import OutStream
from terrazzo.wire.ids import NEVER_HEARD
from terrazzo.wire.log_events import Count
from tests.wire.entity.entity_harness import Town, X, Y, Z, pair


def outgoing(town: Town) -> OutStream:
    """X's stream to Y, at A."""
    stream = town["A"].boxes[X].channels[Y].outgoing
    assert stream is not None
    return stream


def test_messages_arrive_in_order_both_ways():
    town = pair()
    for number in range(5):
        town["A"].send(X, Y, b"%d" % number)
        town["B"].send(Y, X, b"%d" % -number)
    town.settle(0.3)
    assert town.take(Y) == [b"%d" % number for number in range(5)]
    assert town.take(X) == [b"%d" % -number for number in range(5)]


def test_what_goes_to_one_peer_in_one_tick_is_one_frame():
    town = pair()
    for _ in range(20):
        town["A"].send(X, Y, b"x")
    town.tick("A")
    assert len(town.queues["A", "B"]) == 1


def test_only_what_was_taken_is_acknowledged():
    town = pair()
    town["A"].send(X, Y, b"m")
    town.settle(0.2)
    assert outgoing(town).buffer == [b"m"]
    assert town.take(Y) == [b"m"]
    town.settle(0.4)
    assert outgoing(town).buffer == []


def test_frame_lost_with_a_link_is_sent_again_before_anything_else():
    town = pair()
    town["A"].send(X, Y, b"lost")
    town.tick("A")
    town.cut("A", "B")
    town["A"].send(X, Y, b"next")
    town.tick("A")
    town.deliver("A", "B")
    assert town.take(Y) == [b"lost", b"next"]


def test_part_that_has_moved_sends_again_what_is_not_acknowledged():
    """Messages sent from the former home may be lost, or come later than those sent from here."""
    town = pair()
    town["A"].send(X, Y, b"first")
    town.tick("A")
    town.move(X, "A", "C")
    town["C"].send(X, Y, b"next")
    town.tick("C")
    town.deliver("C", "B")
    assert town.take(Y) == [b"first", b"next"]


def test_parts_of_one_app_talk_without_the_network():
    town = pair()
    town["A"].create(Z)
    town["A"].send(X, Z, b"near")
    town.tick("A")
    assert town.take(Z) == [b"near"]
    assert not town.queues


def test_an_idle_stream_retires_and_a_new_one_begins():
    town = pair(idle_s=1.0)
    for number in range(3):
        town["A"].send(X, Y, b"%d" % number)
        town.settle(0.3)
        assert town.take(Y) == [b"%d" % number]
        town.settle(3.0)
        assert town["A"].boxes[X].channels == {}
        assert town["B"].boxes[Y].channels == {}


def test_a_late_copy_of_a_retired_stream_is_not_taken_again():
    town = pair(idle_s=1.0)
    town["A"].send(X, Y, b"once")
    town.tick("A")
    [copy] = town.queues["A", "B"]
    assert isinstance(copy, Frame)
    town.settle(0.3)
    assert town.take(Y) == [b"once"]
    town.settle(3.0)
    town["B"].on_message(town.id("A"), copy)
    town.settle(3.0)
    assert town.take(Y) == []
    assert town["B"].boxes[Y].channels == {}


def test_a_new_stream_below_the_horizon_is_renewed():
    town = pair(idle_s=1.0)
    town["B"].boxes[Y].horizon = 1 << 40
    town["A"].send(X, Y, b"a")
    town["A"].send(X, Y, b"b")
    town.settle(0.5)
    assert town.take(Y) == [b"a", b"b"]
    assert outgoing(town).generation > 1 << 40


def test_a_pinned_channel_stays():
    town = pair(idle_s=0.5, probe_s=1.0)
    town["A"].pin(X, Y)
    town["B"].pin(Y, X)
    town.settle(5.0)
    assert town["A"].boxes[X].channels[Y].confirmed == 0
    town["A"].send(X, Y, b"m")
    town.settle(5.0)
    assert town.take(Y) == [b"m"]
    assert Y in town["A"].boxes[X].channels


def test_a_slow_reader_stops_the_sender_at_its_backlog():
    town = pair(inbox_max=2, window=4, backlog_max=10)
    for number in range(10):
        town["A"].send(X, Y, b"%d" % number)
    with pytest.raises(ChannelFull):
        town["A"].send(X, Y, b"10")
    town.settle(2.0)
    assert len(town["B"].boxes[Y].inbox) == 2
    got = [*town.take(Y), *town.take(Y)]
    assert got == [b"0", b"1", b"2", b"3"], "what was held comes in as soon as there is room"
    for _ in range(20):
        got += town.take(Y)
        town.settle(1.0)
    assert got == [b"%d" % number for number in range(10)]


def test_a_payload_that_no_frame_can_carry_is_refused_at_once():
    town = pair()
    with pytest.raises(UsageError, match="send parts"):
        town["A"].send(X, Y, bytes(896 * 1024 + 1))
    assert town["A"].boxes[X].channels == {}
    for _ in range(2):
        town["A"].send(X, Y, bytes(896 * 1024))
    town.settle(0.5)
    assert [len(payload) for payload in town.take(Y)] == [896 * 1024] * 2


def test_a_sender_stops_at_the_bytes_that_wait_but_for_an_urgent_word():
    town = pair(backlog_bytes=100)
    town["A"].send(X, Y, bytes(200))  # alone it may be as long as any
    with pytest.raises(ChannelFull, match=r"1 messages of .*, 200 bytes, wait"):
        town["A"].send(X, Y, b"")
    town["A"].send(X, Y, b"urgent", is_urgent=True)
    town.settle(0.5)
    assert town.take(Y) == [bytes(200), b"urgent"]
    town.settle(0.5)
    assert outgoing(town).size == 0
    for _ in range(2):
        town["A"].send(X, Y, bytes(50))
    town.move(X, "A", "C")
    with pytest.raises(ChannelFull, match=r"2 messages of .*, 100 bytes, wait"):
        town["C"].send(X, Y, b"1")


def test_an_inbox_is_full_of_bytes_and_the_rest_is_held():
    town = pair(inbox_bytes=100)
    for number in range(4):
        town["A"].send(X, Y, bytes([number]) * 60)
    town.settle(0.5)
    assert [payload[0] for _, _, payload in town["B"].boxes[Y].inbox] == [0, 1]
    town.move(Y, "B", "C")
    town.settle(0.5)
    assert town["C"].boxes[Y].inbox_bytes == 120
    assert [payload[0] for _, payload in town["C"].taking(Y)] == [0, 1]
    assert [payload[0] for _, payload in town["C"].taking(Y)] == [2, 3]
    assert town["C"].boxes[Y].inbox_bytes == 0


def test_the_halves_of_a_departure():
    town = pair()
    town["A"].send(X, Y, b"1")
    packed = town["A"].packed(X)
    assert town["A"].version_of(X) == 0, "nothing has happened"
    town["A"].leave(X, town.id("C"))
    assert town["A"].version_of(X) is None
    assert town["C"].arrive(packed)
    town.settle(0.5)
    assert town.take(Y) == [b"1"]


def test_only_a_part_that_lives_here_sends_moves_or_arrives_once():
    town = pair()
    with pytest.raises(UsageError, match="does not live here"):
        town["B"].send(X, Y, b"m")
    with pytest.raises(UsageError, match="lives here already"):
        town["A"].create(X)
    packed = town["A"].depart(X, town.id("C"))
    assert town["C"].arrive(packed)
    assert not town["C"].arrive(packed)
    town.move(X, "C", "D")
    assert not town["C"].arrive(packed)


def test_a_move_that_is_refused_is_taken_back():
    town = pair()
    town["A"].send(X, Y, b"m")
    packed = town["A"].depart(X, town.id("C"))
    assert town["A"].arrive(packed)
    town.settle(0.3)
    assert town.take(Y) == [b"m"]


def test_what_was_at_rest_for_long_is_repeated_as_soon_as_anything_else():
    town = pair(resend_s=0.5)
    town["A"].send(X, Y, b"first")
    town.settle(0.2)
    town.take(Y)
    town.settle(5.0)  # acknowledged, and not to be looked at before it has been idle for half a minute
    town["A"].send(X, Y, b"second")
    town.tick("A")
    town.queues["A", "B"].clear()  # forwarded to an app that may be dead: no link broke
    town.settle(1.0)
    assert town.take(Y) == [b"second"]


def test_a_rumour_that_runs_ahead_of_an_arrival_does_not_pass_for_it():
    town = pair()
    packed = town["A"].depart(X, town.id("C"))
    town["C"].learn(X, 1, town.id("C"))
    assert town["C"].arrive(packed)


def test_a_parts_own_word_beats_a_rumour_of_the_same_version():
    town = pair()
    town.move(X, "A", "C")
    town["B"].learn(X, 1, town.id("D"))  # as an app with the version reports it, and only where it began
    town["C"].send(X, Y, b"here I am")
    town.settle(0.3)
    place = town["B"].places[X]
    assert (place.version, place.app) == (1, town.id("C"))


def test_send_now_sends_once_even_from_a_part_that_leaves():
    town = pair()
    town["A"].send(X, Y, b"first")
    town["A"].send_now(X, Y)
    town["A"].send_now(X, Y)
    town["A"].send_now(X, Z)
    town.move(X, "A", "C")
    town.tick("A")
    assert len(town.queues["A", "B"]) == 1
    town.deliver("A", "B")
    assert town.take(Y) == [b"first"]
    town.settle(3.0)
    assert town.take(Y) == []


def test_late_frame_of_a_stay_in_between_does_not_move_the_place():
    """From C it came back to where it had been before, and was received there."""
    town = pair()
    for home, version in (("A", 0), ("A", 2), ("C", 1)):
        town["B"].on_message(town.id(home), Frame(Y, X, town.id(home), version, NEVER_HEARD, 0))
    place = town["B"].places[X]
    assert (place.version, place.app) == (2, town.id("A"))


def test_only_where_a_part_went_itself_is_it_followed_back():
    town = pair()
    town["A"].learn(Z, 5, town.id("C"))  # a rumour: Z did not go to C from A
    town["A"].on_message(town.id("C"), Frame(Z, Y, town.id("B"), 0, NEVER_HEARD, 0))
    town.tick("A")
    assert town.queues["A", "C"] == [Astray(Z, 5)]
    assert town["A"].counts[Count.FORWARDED] == 0


def test_channel_removed_during_the_round_sends_nothing():
    town = pair("AB")
    town["A"].create(Z)
    town["B"].send(Y, X, b"1")
    town.tick("B")
    town["A"].send(Z, Y, b"2")
    town.deliver("B", "A")
    town.take(X)
    board, home = town["A"], town.homes["A"]
    board.on_app_dead(town.id("B"))
    home.locate = lambda part: board.gone(part, "nobody has it")  # type: ignore[method-assign]
    board.on_tick()
    assert home.failed == [(Z, Y, [b"2"], "nobody has it")]
    assert not board.boxes[X].channels
    assert [at for at, _, channel in board.schedule.timers if channel.due == at] == []


def test_peer_of_a_destroyed_part_gets_exactly_what_was_not_delivered():
    town = pair()
    for payload in (b"0", b"1"):
        town["A"].send(X, Y, payload)
    town.settle(0.3)
    assert town.take(Y) == [b"0", b"1"]
    town["A"].send(X, Y, b"2")
    town.settle(0.3)  # arrived, but Y never takes it
    town["B"].send(Y, X, b"farewell")
    town["B"].destroy(Y)
    town["A"].send(X, Y, b"3")
    town.settle(2.0)
    assert town.homes["A"].failed == [(X, Y, [b"2", b"3"], "destroyed")]
    assert town.take(X) == [b"farewell"]
    town.settle(2.0)
    assert town.homes["B"].ended == [Y]
    assert town["A"].boxes[X].channels == {}


def test_call_to_an_ended_part_fails_when_the_resolver_reports_it_gone():
    town = pair(stub_s=1.0)
    town["B"].destroy(Y)
    for number, seconds in ((0, 0.5), (1, 3.0)):  # while it is remembered, and after
        town["A"].send(X, Y, b"%d" % number)
        town.settle(seconds)
        assert Y in town.homes["A"].located, "perhaps it lives again: the resolver must say"
        town["A"].gone(Y, "no such entity")
        assert town.homes["A"].failed[number:] == [(X, Y, [b"%d" % number], "no such entity")]


def test_two_that_were_destroyed_stop_talking():
    town = pair()
    town["A"].send(X, Y, b"0")
    town.settle(0.2)
    town["A"].destroy(X)
    town["B"].destroy(Y)
    town.settle(3.0)
    assert town.homes["A"].ended == [X]
    assert town.homes["B"].ended == [Y]
    assert all(not queue for queue in town.queues.values())
    for a, b in (("A", "B"), ("B", "A")):
        frame = Frame(X if b == "A" else Y, Y if b == "A" else X, town.id(a), 0, 0, 0, is_over=True)
        town[b].on_message(town.id(a), frame)
    town.settle(1.0)
    assert all(not queue for queue in town.queues.values())


def test_an_unknown_place_is_asked_for_and_not_too_often():
    town = pair(locate_s=2.0)
    town["A"].send(X, Z, b"m")
    town.settle(1.0)
    assert town.homes["A"].located == [Z]
    town["C"].create(Z)
    town["A"].learn(Z, 0, town.id("C"))
    town.settle(1.0)
    assert town.take(Z) == [b"m"]


def test_an_unknown_place_is_asked_for_again_as_soon_as_it_may_be():
    town = pair(locate_s=2.0)
    town["A"].send(X, Z, b"m")
    town.settle(0.1)
    town["A"].gone(Z, "no such entity")
    town["A"].send(X, Z, b"n")
    town.settle(1.8)
    assert town.homes["A"].located == [Z]
    town.settle(0.3)
    assert town.homes["A"].located == [Z, Z]


def test_forwards_end():
    town = pair("ABCD", hops_max=2)
    frame = Frame(Z, X, town.id("A"), 0, 0, 0)
    for letter, target in (("B", "C"), ("C", "D"), ("D", "B")):
        town[letter].learn(Z, 1, town.id(target))
    town["B"].on_message(town.id("A"), frame)
    town.settle(5.0)
    assert sum(town[letter].counts[Count.FORWARDED] for letter in "BCD") == 2
    assert sum(town[letter].counts[Count.TOO_MANY_HOPS] for letter in "BCD") == 1


def test_a_channel_at_rest_is_small():
    town = pair()
    town["A"].pin(X, Y)
    town["B"].pin(Y, X)
    town["A"].send(X, Y, b"m")
    town.settle(0.5)
    town.take(Y)
    town.settle(0.5)
    assert len(town["A"].pack(X)) < 80


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["send X", "send Y", "move X", "move Y", "take", "tick", "deliver", "cut", "wait"]),
        max_size=60,
    ),
    st.randoms(use_true_random=False),
)
def test_whatever_happens_each_message_arrives_once_and_in_order(steps, random):
    town = pair(window=8, idle_s=0.3, resend_s=0.2)
    homes = {X: "A", Y: "B"}
    sent = {X: 0, Y: 0}
    got: dict = {X: [], Y: []}
    for step in steps:
        if step.startswith("send"):
            source, to = (X, Y) if step.endswith("X") else (Y, X)
            town[homes[source]].send(source, to, b"%d" % sent[source])
            sent[source] += 1
        elif step.startswith("move"):
            part = X if step.endswith("X") else Y
            target = random.choice([letter for letter in "ABCD" if letter != homes[part]])
            town.move(part, homes[part], target)
            homes[part] = target
        elif step == "take":
            got[X] += town.take(X)
            got[Y] += town.take(Y)
        elif step == "tick":
            town.tick(random.choice("ABCD"))
        elif step == "deliver" and town.queues:
            source, target = random.choice(sorted(town.queues))
            town.deliver(source, target, count=random.randrange(1, 3))
        elif step == "cut":
            town.cut(*random.sample("ABCD", 2))
        else:
            town.settle(0.4, step_s=0.1)
    for _ in range(4):
        town.settle(3.0, step_s=0.1)
        got[X] += town.take(X)
        got[Y] += town.take(Y)
    assert got[Y] == [b"%d" % number for number in range(sent[X])]
    assert got[X] == [b"%d" % number for number in range(sent[Y])]
