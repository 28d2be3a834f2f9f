"""A second login with the right password: a client that does not answer makes room, one that answers stays."""

from __future__ import annotations

import pytest

from terrazzo.base.limits import KEY_S
from terrazzo.base.proxy import Farewell, ProxyEntity
from terrazzo.base.takeover import PROBE_S, PROBES
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.common import Request
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_db import LoggedOff, Save, TakenOver, TakeOver
from tests.base.base_harness import DB, EVENTS, FakeSession, Town

LONG_S = PROBE_S * (PROBES + 2)


def take_over(town: Town, entity: int) -> None:
    town.app.on_message(DB, Request(9, REGISTRY.encode(TakeOver(entity))))
    town.step()


def silent(town: Town) -> tuple[ProxyEntity, FakeSession]:
    proxy, session = town.playing()
    session.heard_at = town.host.now
    town.replies.clear()
    return proxy, session


def test_a_silent_client_is_let_go_its_entity_saved_and_logged_off():
    town = Town()
    proxy, session = silent(town)
    take_over(town, proxy.id)
    assert town.replies == []
    town.step(round(LONG_S / 0.1))
    assert (town.replies, session.probes) == ([TakenOver(is_going=True)], PROBES)
    assert (session.sent[-1][0], session.sent[-1][1]) == (ToClient.LOGGED_OFF, Farewell.SILENT)
    assert EVENTS[-1] == ("on_client_lost",)
    town.cell.end(proxy.id, name="Anna")
    town.settle()
    assert (len(town.told(Save)), len(town.told(LoggedOff))) == (1, 1)


def test_a_client_that_answers_a_probe_stays():
    town = Town()
    proxy, session = silent(town)
    take_over(town, proxy.id)
    session.heard_at = town.host.now + 0.01
    town.step(round(LONG_S / 0.1))
    assert town.replies == [TakenOver(is_going=False)]
    assert proxy.is_ready
    assert session.probes < PROBES


def test_a_proxy_whose_client_never_came_makes_room_before_its_key_expires():
    town = Town()
    created = town.log_on()
    assert not isinstance(created, str)
    take_over(town, created.entity)
    town.step(round(LONG_S / 0.1))
    assert LONG_S < KEY_S
    assert town.replies == [TakenOver(is_going=True)]
    assert (town.told(Save), len(town.told(LoggedOff))) == ([], 1)


def test_a_client_that_comes_while_it_is_probed_stays():
    town = Town()
    created = town.log_on()
    assert not isinstance(created, str)
    take_over(town, created.entity)
    town.connect(created.key).heard_at = town.host.now + 0.01
    town.step(round(LONG_S / 0.1))
    assert town.replies == [TakenOver(is_going=False)]


@pytest.mark.parametrize("entity", [4711, 0])
def test_a_proxy_that_is_gone_is_going(entity):
    town = Town()
    take_over(town, entity)
    assert town.replies == [TakenOver(is_going=True)]


def test_an_entity_that_the_game_keeps_without_a_client_stays():
    town = Town()
    proxy, session = silent(town)
    proxy.part.on_client_lost = lambda: None
    town.lose(session)
    take_over(town, proxy.id)
    assert town.replies == [TakenOver(is_going=False)]
