"""Bots: they stay within bounds, keep to their speed, talk now and then, and a seed repeats their life."""

import math
import random
from itertools import pairwise

from terrazzo.client import Bot
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer, take_entity
from tests.client.play import ME, Play, moves
from tests.client.town import AVATAR, GAME

BOUNDS = (-20.0, -10.0, 20.0, 10.0)


def live(seed, seconds=120.0, bounds=lambda space: BOUNDS, disturb=None):
    play = Play().enter()
    bot = Bot(play.app, random.Random(seed), bounds=bounds, speed=4.0, talk_every_s=10.0)
    play.tick = bot.tick
    trail = []
    for number in range(int(seconds / 0.1)):
        play.step(0.1)
        trail.append(play.app.player.position)
        if disturb is not None:
            disturb(number, play)
    return play, trail


def test_walks_within_bounds_at_its_speed():
    play, trail = live(1)
    assert len(set(trail)) > 100
    for x, y, z in trail[20:]:
        assert -20.0 <= x <= 20.0
        assert -10.0 <= z <= 10.0
        assert y == 2.0
    assert all(math.dist(a, b) <= 0.4 + 1e-6 for a, b in pairwise(trail))
    assert moves(play.cluster.heard)


def test_bot_chats_now_and_then():
    play, _ = live(2)
    calls = [each for each in play.cluster.heard if each[0] != ToServer.MOVE]
    said = [GAME.methods.find(AVATAR, Side.CELL, each[0], each[5:]) for each in calls]
    assert {call.method.name for call in said} == {"say"}
    assert 5 <= len(said) <= 24
    assert {take_entity(each[1:])[0] for each in calls} == {ME}


def test_a_seed_repeats_its_life():
    assert live(3, 20.0)[1] == live(3, 20.0)[1]
    assert live(3, 20.0)[1] != live(4, 20.0)[1]


def test_goes_on_from_where_the_server_put_it():
    def disturb(number, play):
        if number == 50:
            play.cluster.say(protocol.encode_moved((5.0, 2.0, 5.0), (0.0, 0.0, 0.0)))

    _, trail = live(5, 10.0, disturb=disturb)
    near = [math.dist(each, (5.0, 2.0, 5.0)) for each in trail[50:56]]
    assert min(near) <= 1.0
    assert len(set(trail[60:])) > 10


def test_stands_still_where_it_has_no_bounds():
    _, trail = live(6, 5.0, bounds=lambda space: None)
    assert set(trail) == {(1.0, 2.0, 3.0)}
