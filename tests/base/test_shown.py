"""The messages of a client about the entities that it was shown: wants and released aliases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.base.limits import WANTS_MAX, ClientRefusal
from terrazzo.base.shown import Shown
from terrazzo.errors import DecodeError
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import encode_announce, encode_leave, encode_released, encode_want
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.pairs.base_cell import ClientWants, SetWitness
from tests.base.base_harness import AVATAR, CREATURE, READY, Town, call

CELL_PLAYER = protocol.encode_cell_player(AVATAR, 1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), ["Ann", 100])
SPACE = protocol.encode_space(2, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def test_wants_and_releases_of_a_tick_go_to_the_cell_part_together():
    town = Town()
    proxy, session = town.playing()
    town.tell(proxy, encode_announce(70, 1, AVATAR), encode_announce(71, 300, CREATURE), encode_announce(72, 2, AVATAR))
    town.tell(proxy, encode_leave(2))
    town.hear(session, encode_want([(70, 0), (71, 5)]), encode_released([2]))
    town.settle()
    assert town.cell.got(ClientWants) == [ClientWants(1, ((70, 0), (71, 5)), (2,))]
    town.settle()
    assert len(town.cell.got(ClientWants)) == 1
    assert proxy.bad == 0


def test_wants_that_a_full_channel_refuses_are_sent_later():
    town = Town()
    proxy, session = town.playing()
    town.tell(proxy, encode_announce(70, 1, AVATAR), encode_announce(71, 2, AVATAR), encode_announce(72, 3, AVATAR))
    town.tell(proxy, encode_leave(3))
    town.app.switchboard.limits = ChannelLimits(backlog_max=1)
    town.cell.is_reachable = False
    town.hear(session, call(proxy.id, Side.CELL, "say", "x"), encode_want([(70, 0), (71, 5)]), encode_released([3]))
    town.settle()
    proxy.row.shown.note(encode_leave(2))
    town.hear(session, encode_released([2]))
    town.settle()
    assert len(town.logs("cell part channel full")) > 1
    town.cell.is_reachable = True
    town.step(20)
    assert town.cell.got(ClientWants) == [ClientWants(1, ((70, 0),), (3, 2))]


def test_witness_that_a_full_channel_refuses_is_sent_later(monkeypatch):
    town = Town()
    proxy, session = town.attached()
    with monkeypatch.context() as full:
        full.setattr(proxy.cell, "send", lambda message: False)
        town.hear(session, READY)
        town.settle()
        assert proxy.has_cell
        assert proxy.witness == 1
    assert town.cell.got(SetWitness) == []
    town.step(20)
    assert town.cell.got(SetWitness) == [SetWitness(1, True)]


def test_each_announcement_is_wanted_once():
    town = Town()
    proxy, session = town.playing()
    town.show(proxy, 70, 1)
    town.hear(session, encode_want([(70, 0), (70, 0)]))
    town.hear(session, encode_want([(70, 9), (99, 0)]))
    town.settle()
    assert town.cell.got(ClientWants) == [ClientWants(1, ((70, 0),), ())]
    assert (proxy.bad, proxy.mail.dropped[ClientRefusal.LATE]) == (0, 3)


def test_what_left_is_not_wanted_any_more():
    town = Town()
    proxy, session = town.playing()
    town.show(proxy, 70, 1)
    town.tell(proxy, encode_leave(1))
    town.hear(session, encode_want([(70, 0)]))
    town.settle()
    assert town.cell.got(ClientWants) == []
    assert (proxy.bad, proxy.mail.dropped[ClientRefusal.LATE]) == (0, 1)


def test_an_alias_is_released_once_and_only_when_it_has_ended():
    town = Town()
    proxy, session = town.playing()
    town.show(proxy, 70, 1)
    town.hear(session, encode_released([1]))
    assert proxy.bad == 1
    town.tell(proxy, encode_leave(1))
    town.hear(session, encode_released([1]))
    town.hear(session, encode_released([1]))
    town.settle()
    assert proxy.bad == 2
    assert town.cell.got(ClientWants) == [ClientWants(1, (), (1,))]


def test_another_space_ends_all_aliases():
    town = Town()
    proxy, session = town.playing()
    town.tell(proxy, encode_announce(70, 1, AVATAR), encode_announce(71, 2, AVATAR), SPACE)
    assert proxy.schema_of(70) is None
    town.tell(proxy, encode_announce(70, 3, AVATAR))
    town.hear(session, encode_released([1, 2]), encode_want([(70, 0)]))
    town.settle()
    assert town.cell.got(ClientWants) == [ClientWants(1, ((70, 0),), (1, 2))]
    assert proxy.bad == 0


def test_what_is_released_for_a_former_witness_does_not_reach_the_next():
    town = Town()
    proxy, session = town.playing()
    town.tell(proxy, encode_announce(70, 1, AVATAR), encode_announce(71, 2, AVATAR), encode_leave(2))
    town.cell.end(proxy.id)
    town.settle()
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.settle()
    assert town.cell.got(SetWitness)[-1] == SetWitness(2, True)
    town.tell(proxy, CELL_PLAYER, encode_announce(72, 1, AVATAR), encode_leave(1))
    # First what it owes for the former: 2 left, 1 and all others were gone. Then 1 left again.
    town.hear(session, encode_released([2, 1]))
    town.settle()
    assert town.cell.got(ClientWants) == []
    town.hear(session, encode_released([1]))
    town.settle()
    assert town.cell.got(ClientWants) == [ClientWants(2, (), (1,))]
    assert proxy.bad == 0


def test_another_client_owes_nothing(monkeypatch):
    town = Town()
    proxy, session = town.playing()
    monkeypatch.setattr(type(proxy.part), "on_client_lost", lambda self, reason: None)
    town.show(proxy, 70, 1)
    town.lose(session)
    assert proxy.shown.type_of(70) is None
    with pytest.raises(DecodeError):
        proxy.shown.release(1)


def test_many_wants_are_sent_in_several_messages():
    town = Town()
    proxy, _ = town.playing()
    shown = proxy.shown
    for entity in range(1, WANTS_MAX + 2):
        shown.note(encode_announce(entity, entity, AVATAR))
        assert shown.want(entity, 0)
    registry = town.app.switchboard._registry
    assert proxy.row.send_wants(registry, town.app.host.now)
    town.settle()
    assert [len(each.wants) for each in town.cell.got(ClientWants)] == [WANTS_MAX, 1]


def test_a_message_that_is_none_does_not_reach_the_client():
    town = Town()
    proxy, session = town.playing()
    count = len(session.sent)
    town.tell(proxy, bytes([protocol.ToClient.ANNOUNCE, 1]), b"", b"\x14good")
    assert session.sent[count:] == [b"\x14good"]
    assert len(town.logs("bad message for a client")) == 2


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("announce"), st.integers(1, 4), st.integers(1, 4)),
        st.tuples(st.just("leave"), st.integers(1, 4)),
        st.tuples(st.sampled_from(["space", "lost"])),
        st.tuples(st.just("want"), st.integers(1, 4)),
        st.tuples(st.just("release"), st.integers(1, 4)),
        st.tuples(st.just("take")),
    ),
    max_size=40,
)


@given(STEPS)
def test_each_announcement_lets_one_want_and_one_release_through(steps):
    shown = Shown()
    announced = wanted = released = 0
    held: dict[int, int] = {}
    for what, *args in steps:
        if what == "announce" and args[1] not in held and args[0] not in held.values():
            held[args[1]] = args[0]
            shown.note(encode_announce(args[0], args[1], AVATAR))
            announced += 1
        elif what == "leave" and args[0] in held:
            del held[args[0]]
            shown.note(encode_leave(args[0]))
        elif what in ("space", "lost"):
            held.clear()
            shown.note(SPACE if what == "space" else protocol.encode_cell_lost())
        elif what == "want":
            wanted += shown.want(args[0], 0)
        elif what == "release":
            try:
                released += shown.release(args[0])
            except DecodeError:
                continue
        elif what == "take":
            wants, _ = shown.take()
            assert {entity for entity, _ in wants} <= set(held.values())
    assert wanted <= announced
    assert released <= announced
