"""A walker: it comes in as every client does, walks, answers what has to be answered, and counts."""

import struct
from random import Random

import pytest

from terrazzo._speed.sight import GROUND, PLACES
from terrazzo.client.sights import SightCounts
from terrazzo.client.walker import Walker
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer
from tests.client.fake_cluster import LOGIN, entropy_of
from tests.client.play import BOB, BOBS, HERE, RAT, RATS, THERE, Play
from tests.client.town import AVATAR, CREATURE, GAME, cell_row

BOUNDS = (-100.0, -100.0, 100.0, 100.0)


class WalkerPlay(Play):
    def __init__(self, bounds=BOUNDS, is_numbered=False):
        super().__init__()
        self.sights = SightCounts()
        self.app = self.walker = Walker(  # type: ignore[assignment]  # the driver of both is the same
            self.sights,
            Random(1),
            bounds={1: bounds}.get,
            is_numbered=is_numbered,
            digest=GAME.digest,
            login=LOGIN,
            server_key=self.cluster.public_key,
            name="ann",
            password="secret",
            entropy=entropy_of(5),
            now=self.now,
        )
        self.tick = self.app.tick

    def walk_in(self):
        self.join()
        self.cluster.say(protocol.encode_cell_player(AVATAR, 1, HERE, (0.0, 0.0, 0.0), cell_row()))
        self.until(lambda: self.app.has_body)
        return self

    def heard(self, number):
        return [message for message in self.cluster.heard if message[0] == number]

    def settle(self):
        for _ in range(10):
            self.step()

    def moves(self):
        return [struct.unpack("<6f", message[1:]) for message in self.heard(ToServer.MOVE)]


def places(number):
    head = struct.pack("<BB3s3sf", PLACES, 0, bytes(3), bytes(3), float(number))
    return head + bytes([GROUND * 4, 1, BOBS, 0, 0, 0])


def test_walker_walks_from_where_the_server_puts_it_and_stays_within_bounds():
    play = WalkerPlay(bounds=(0.0, 2.0, 3.0, 4.0)).walk_in()
    for _ in range(200):
        play.step(0.1)
    moves = play.moves()
    assert moves[0][:3] != HERE
    assert moves[0][0] == pytest.approx(HERE[0], abs=0.6)
    assert len({move[:3] for move in moves}) > 20
    assert all(0.0 <= x <= 3.0 and y == 2.0 and 2.0 <= z <= 4.0 for x, y, z, *_ in moves)
    play.cluster.say(protocol.encode_moved((2.0, 9.0, 3.5), (0.0, 0.0, 0.0)))
    play.settle()
    assert play.moves()[-1][1] == 9.0


def test_walker_stands_still_where_it_has_no_bounds():
    play = WalkerPlay(bounds=None).walk_in()
    play.settle()
    assert {move[:3] for move in play.moves()} == {HERE}


def test_walker_wants_what_is_announced_and_releases_what_left():
    play = WalkerPlay().walk_in()
    play.cluster.say(
        protocol.encode_announce(BOB, BOBS, AVATAR), protocol.encode_announce(RAT, 300, CREATURE),
    )  # fmt: skip
    play.settle()
    assert [protocol.decode_want(each[1:]) for each in play.heard(ToServer.WANT)] == [[(BOB, 0), (RAT, 0)]]
    play.cluster.say(protocol.encode_leave(300))
    play.settle()
    assert [protocol.decode_released(each[1:]) for each in play.heard(ToServer.RELEASED)] == [[300]]


@pytest.mark.parametrize(
    "message", [protocol.encode_cell_lost(), protocol.encode_space(2, THERE, HERE)], ids=["cell lost", "space"]
)
def test_walker_releases_all_aliases_when_its_area_ends(message):
    play = WalkerPlay().walk_in()
    play.cluster.say(protocol.encode_announce(BOB, BOBS, AVATAR), protocol.encode_announce(RAT, RATS, CREATURE))
    play.settle()
    play.cluster.say(message)
    play.settle()
    released = [alias for each in play.heard(ToServer.RELEASED) for alias in protocol.decode_released(each[1:])]
    assert sorted(released) == [BOBS, RATS]
    play.settle()
    assert len(play.heard(ToServer.RELEASED)) == 1


def test_walker_counts_updates_and_the_time_between_them():
    play = WalkerPlay().walk_in()
    for number in range(4):
        play.cluster.say(places(number), reliable=False)
        play.step(0.1)
    assert play.sights.updates == 4
    gaps = play.sights.take_gaps()
    assert sum(count for _, count in gaps) == 3
    assert all(90 <= ms <= 110 for ms, _ in gaps)
    assert play.sights.take_gaps() == []


def test_walker_numbers_its_moves_in_their_height():
    play = WalkerPlay(is_numbered=True).walk_in()
    play.settle()
    assert [y for _, y, *_ in play.moves()][:3] == [1.0, 2.0, 3.0]


def test_walker_leaves_in_order_and_walks_no_more():
    play = WalkerPlay().walk_in()
    play.app.leave(play.now)
    play.until(lambda: play.app.is_over)
    assert play.app.error == ""
    assert not play.app.has_body
    moves = len(play.moves())
    play.settle()
    assert len(play.moves()) == moves


def test_walker_keeps_the_reason_of_its_log_off():
    play = WalkerPlay().walk_in()
    play.cluster.say(protocol.encode_logged_off(7, "the server stops"))
    play.cluster.session.close(play.now)
    play.until(lambda: play.app.is_over)
    assert play.app.error == "the server stops"


@pytest.mark.parametrize("number", [4, 6, 7, 8, 12, 20, 21, 54])
def test_walker_survives_messages_that_are_cut_off(number):
    play = WalkerPlay(is_numbered=True).walk_in()
    play.cluster.say(bytes([number]))
    play.settle()
    assert not play.app.is_over or number == 54


def test_walker_has_its_round_trip_after_a_while():
    new, old = WalkerPlay(), WalkerPlay().walk_in()
    old.settle()
    assert new.walker.round_trip_s is None
    assert old.walker.round_trip_s is not None
    assert old.walker.connection_ids
