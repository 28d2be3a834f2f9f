"""A herd: many walkers behind one socket come in, walk, answer, are counted, and leave."""

from random import Random

import pytest

from terrazzo._speed.sight import PLACES
from terrazzo.client.herd import EYES, Herd, HerdEntrance, WalkerStage
from terrazzo.client.link import ANSWER_S
from terrazzo.client.sights import SightCounts
from terrazzo.sync import protocol
from terrazzo.sync.protocol import LoginReply, ToServer
from terrazzo.wire.client import ClientSwarm, Closed, Connected
from tests.client.fake_cluster import BASE, LOGIN, FakeCluster, entropy_of, welcome
from tests.client.play import BOB, BOBS, HERE
from tests.client.town import AVATAR, GAME, base_row, cell_row

BOUNDS = (-100.0, -100.0, 100.0, 100.0)
US = ("192.0.2.7", 5000)
UPDATE = bytes([PLACES, 0, *bytes(10)])


class Servers(FakeCluster):
    """A cluster with many clients."""

    def __init__(self, **options):
        super().__init__(**options)
        self.sessions = []

    def _on_event(self, place, event, now):
        if isinstance(event, Connected) and place == BASE:
            self.sessions.append(event.session)
        if isinstance(event, Closed) and event.session in self.sessions:
            self.sessions.remove(event.session)
        super()._on_event(place, event, now)


class HerdPlay:
    def __init__(self, count, **options):
        self.now = 100.0
        self.servers = Servers(**options)
        self.swarm = ClientSwarm(entropy=entropy_of(3))
        self.sights = SightCounts()
        entry = HerdEntrance(login=LOGIN, server_key=self.servers.public_key, password="secret", digest=GAME.digest)
        self.herd = Herd(self.swarm, entry, self.sights, Random(1), bounds={1: BOUNDS}.get)
        self.turn = 0
        for number in range(count):
            self.herd.begin(f"walker-{number}", self.now)

    def step(self, seconds=0.02):
        self.now += seconds
        self.herd.step(self.turn % 5, 5, self.now)
        self.turn += 1
        for address, data in self.swarm.poll(self.now):
            assert isinstance(address, tuple)
            self.servers.on_datagram(address, US, data, self.now)
        for place, _, data in self.servers.poll(self.now):
            self.swarm.on_datagram(place, data, self.now)
        self.herd.on_events(self.swarm.events(), self.now)

    def until(self, holds, seconds=5.0):
        end = self.now + seconds
        while not holds():
            assert self.now < end, f"not within {seconds} s"
            self.step()

    def settle(self):
        for _ in range(10):
            self.step()

    def say(self, *messages, reliable=True):
        for session in list(self.servers.sessions):
            assert session.send_many(messages, reliable=reliable)

    def come_in(self, count):
        self.until(lambda: len(self.servers.sessions) == count)
        self.say(protocol.encode_base_player(10, AVATAR, base_row()))
        self.until(lambda: self.servers.heard.count(bytes([ToServer.READY])) == count)
        self.say(protocol.encode_cell_player(AVATAR, 1, HERE, (0.0, 0.0, 0.0), cell_row()))
        self.until(lambda: self.herd.walking == count)
        return self

    def heard(self, number):
        return [message for message in self.servers.heard if message[0] == number]


def test_all_walkers_come_in_with_names_of_their_own_and_walk():
    play = HerdPlay(5).come_in(5)
    assert sorted(each.name for each in play.servers.requests) == [f"walker-{number}" for number in range(5)]
    before = len(play.heard(ToServer.MOVE))
    for _ in range(50):
        play.step()
    assert len(play.heard(ToServer.MOVE)) - before == pytest.approx(50, abs=5)
    assert play.sights.moves == pytest.approx(len(play.heard(ToServer.MOVE)), abs=5)
    assert len(play.herd.round_trips_s()) == 5


def test_walkers_want_and_release():
    play = HerdPlay(3).come_in(3)
    play.say(protocol.encode_announce(BOB, BOBS, AVATAR))
    play.settle()
    assert len(play.heard(ToServer.WANT)) == 3
    play.say(protocol.encode_leave(BOBS))
    play.settle()
    assert len(play.heard(ToServer.RELEASED)) == 3


def test_updates_are_counted_without_being_delivered_except_to_the_eyes():
    count = EYES + 4
    play = HerdPlay(count).come_in(count)
    for _ in range(3):
        play.say(UPDATE, reliable=False)
        for _ in range(5):
            play.step()
    assert play.sights.updates == 3 * EYES
    assert play.swarm.tally().muted == 3 * 4
    gaps = play.sights.take_gaps()
    assert sum(times for _, times in gaps) == 2 * EYES
    assert all(95 <= ms <= 105 for ms, _ in gaps)
    assert play.sights.take_gaps() == []


def test_refused_walker_is_out_with_the_reason_and_the_others_go_on():
    def answer(request):
        return LoginReply(error="No.") if request.name == "walker-1" else welcome(request)

    play = HerdPlay(3, answer=answer).come_in(2)
    assert play.herd.why == {"No.": 1}
    assert (play.herd.count(WalkerStage.OUT), play.herd.count(WalkerStage.WALKING)) == (1, 2)


def test_walker_without_an_answer_is_out_after_a_while():
    play = HerdPlay(1, answer=lambda request: None)
    play.until(lambda: play.herd.count(WalkerStage.OUT) == 1, ANSWER_S + 6)
    assert "took longer than 15 s" in next(iter(play.herd.why))


def test_walker_at_a_dead_door_is_out_after_a_while():
    play = HerdPlay(1)
    play.servers.is_reachable[LOGIN] = False
    play.until(lambda: play.herd.count(WalkerStage.OUT) == 1, 30.0)
    assert sum(play.herd.why.values()) == 1


def test_walker_that_is_sent_away_is_out_with_the_reason():
    play = HerdPlay(2).come_in(2)
    session = play.servers.sessions[0]
    session.send(protocol.encode_logged_off(3, "Enough."))
    session.close(play.now)
    play.until(lambda: play.herd.walking == 1)
    assert play.herd.why == {"Enough.": 1}
    play.until(lambda: len(play.swarm.sessions) == 1)


def test_all_walkers_leave_in_order():
    play = HerdPlay(3).come_in(3)
    play.herd.leave(play.now)
    play.until(lambda: not play.swarm.sessions)
    assert len(play.heard(ToServer.BYE)) == 3
    assert play.herd.why == {}
    assert play.herd.count(WalkerStage.OUT) == 3


def test_walkers_that_are_logging_in_give_up_on_leave():
    play = HerdPlay(2, answer=lambda request: None)
    play.settle()
    play.herd.leave(play.now)
    play.until(lambda: not play.swarm.sessions and not play.swarm.opening)
    assert play.herd.count(WalkerStage.OUT) == 2
