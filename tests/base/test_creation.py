"""How bases begin: ids, keys, the game's own entities, and code of the game that fails."""

from __future__ import annotations

import random
from hashlib import sha256

import msgspec
import pytest

from terrazzo import BASE, EntityType, Int32, build, prop
from terrazzo.base.baseapp import BaseApp
from terrazzo.base.farewells import Farewell
from terrazzo.base.keys import KeyRing
from terrazzo.base.limits import KEYS_MAX
from terrazzo.base.services import ClientPorts
from terrazzo.errors import UsageError, ValueRejected
from terrazzo.game import Game, LoadedGame, Space
from terrazzo.schema.classes import parts
from terrazzo.schema.model import Side
from terrazzo.schema.record import encode_record
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.common import Request
from terrazzo.wire.ids import EntityId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cellmgr import FindEntry, SpacesReady
from terrazzo.wire.pairs.base_db import Ids, LoggedOff, Save, WantIds
from terrazzo.wire.pairs.basemgr_base import Bootstrap, CreateProxy, ProxyCreated
from tests.base.base_harness import (
    AVATAR,
    BASE_ID,
    BASE_MGR,
    BYE,
    CELL_MGR,
    CREATURE,
    DB,
    EVENTS,
    RAISE,
    Town,
)
from tests.fake_host import FakeHost


def test_the_stock_of_ids_is_filled_up_before_it_is_empty():
    town = Town()
    assert [each.count for each in town.told(WantIds)] == [512]
    town.answers[WantIds] = lambda request: Ids(5000, request.count)
    server = town.server
    for _ in range(600):
        server.create("Creature")
    town.step()
    ids = list(town.app.bases)
    assert ids == [*range(2000, 2512), *range(5000, 5088)]
    assert len(town.told(WantIds)) == 2


def test_creation_waits_for_ids_in_order():
    town = Town(linked=False)
    server = town.server
    server.create("Creature", mood=1)
    server.create("Creature", mood=2)
    town.step()
    assert (town.app.bases, town.app.view()["waiting_for_id"]) == ({}, 2)
    town.answers[WantIds] = lambda request: "later"
    town.app.on_link_up(DB)
    town.step()
    assert town.logs("no entity ids")[0]["why"] == "later"
    town.answers[WantIds] = lambda request: Ids(0, 5)
    town.step(1, 1.1)
    assert "no run of ids" in str(town.logs("no entity ids")[-1]["why"])
    town.answers[WantIds] = lambda request: Ids(40, 300)
    town.step(2, 1.1)
    assert [(id, each.part.mood) for id, each in town.app.bases.items()] == [(40, 1), (41, 2)]


def test_a_proxy_has_the_id_that_it_was_given_and_needs_none_of_the_stock():
    town = Town(linked=False)
    town.app.on_link_up(BASE_MGR)
    item = REGISTRY.encode(CreateProxy(AVATAR.type_id, 5, encode_record(AVATAR, {}, {}), 4711))
    town.app.on_message(BASE_MGR, Request(1, item))
    town.step()
    [created] = town.replies
    assert isinstance(created, ProxyCreated)
    assert (created.entity, list(town.app.bases)) == (4711, [4711])


@pytest.mark.parametrize("entity", [0, -3, 1000])
def test_a_proxy_with_an_id_that_is_taken_or_impossible_is_refused(entity):
    town = Town()
    town.log_on(dbid=5)
    item = REGISTRY.encode(CreateProxy(AVATAR.type_id, 6, encode_record(AVATAR, {}, {}), entity))
    town.app.on_message(BASE_MGR, Request(1, item))
    town.step()
    assert town.replies == [f"{entity} is not the id of a new entity"]
    assert list(town.app.bases) == [1000]


def test_why_a_proxy_is_refused():
    town = Town()
    town.log_on(dbid=5)
    assert town.log_on(dbid=5) == "this stored entity is here already"
    assert town.log_on(dbid=6, record=b"\xff") == "the saved state of this entity cannot be read"
    for type_id in (CREATURE.type_id, 99):
        town.app.on_message(BASE_MGR, Request(1, REGISTRY.encode(CreateProxy(type_id, 7, b"", 4711))))
    town.step()
    assert ["must be a Proxy" in str(each) for each in town.replies] == [True, True]
    town.replies.clear()
    for number in range(KEYS_MAX):
        town.app.keys.make(EntityId(number), town.host.now)
    assert "full" in str(town.log_on(dbid=8))
    town.app.stop()
    assert town.log_on(dbid=9) == "this server is stopping"


def test_a_saved_value_that_no_longer_fits_is_reported_and_gets_its_default():
    town = Town()
    extra = {"@space": b"\xff", "@position": b"short"}
    fields = msgspec.msgpack.decode(encode_record(AVATAR, {"name": "Ann", "gold": 30}, extra))
    created = town.log_on(record=msgspec.msgpack.encode({**fields, "gold": b"xx"}))
    assert isinstance(created, ProxyCreated)
    proxy = town.proxy(created.entity)
    assert (proxy.part.gold, proxy.data.cell["name"], proxy.part.last_place) == (0, "Ann", None)
    assert [each["name"] for each in town.logs("bad saved value")] == ["gold", "@position"]


def test_keys_are_bounded_and_expire():
    ring = KeyRing(random.Random(3).randbytes, life_s=60.0, most=2)
    first, second = ring.make(EntityId(1), 0.0), ring.make(EntityId(2), 10.0)
    assert ring.is_full(59.9)
    assert not ring.is_full(60.0)
    assert ring.take(first, 60.0) is None
    assert ring.take(second, 60.0) == 2
    assert ring.take(second, 60.0) is None
    assert len(ring) == 0


def test_the_game_populates_its_world_once_it_is_asked():
    def populate(server):
        server.create("Creature", space="plaza", position=(3, 0, 4), species=7, mood=9)
        server.create("Creature")
        raise RuntimeError("and then it fails")

    town = Town(on_ready=populate)
    town.app.on_message(CELL_MGR, SpacesReady(2))
    town.app.on_message(BASE_MGR, Bootstrap())
    town.settle()
    assert EVENTS == [("creature on_cell_created", 2000)]
    assert town.told(FindEntry) == [FindEntry("plaza", 3.0, 4.0)]
    [request] = town.cell.created
    row = dict(zip(CREATURE.cell_layout.names, CREATURE.cell_layout.row.decode(request.properties), strict=True))
    assert row == {"species": 7, "home": 0}
    assert [each.part.mood for each in town.app.bases.values()] == [9, 3]
    assert [each["what"] for each in town.logs("game error")] == ["the game's on_ready"]


def test_wrong_arguments_of_create_raise_at_once():
    server = Town().server
    with pytest.raises(UsageError, match="no entity type 'Dragon'; the game has Avatar, Creature"):
        server.create("Dragon")
    with pytest.raises(UsageError, match="no property 'wings'; it has mood, species, home"):
        server.create("Creature", wings=2)
    with pytest.raises(ValueRejected, match=r"Creature\.species"):
        server.create("Creature", species=-1)
    with pytest.raises(UsageError, match="no space"):
        server.create("Creature", space="moon", position=(0, 0, 0))
    with pytest.raises(UsageError, match="both"):
        server.create("Creature", space="plaza")


def test_a_type_without_a_base_class_gets_the_engines():
    class Rock(EntityType):
        weight: Int32 = prop(BASE, default=5)

    class Hero(EntityType):
        pass

    class OldBase(parts.Base, of=Rock):
        pass

    schema = build([Rock, Hero]).checked()
    game = LoadedGame(schema, Game(player=Hero, spaces=[Space("plaza")]), {})
    host = FakeHost()
    app = BaseApp(BASE_ID, host, game, [], entropy=bytes, address=ClientPorts("", 0, 0))
    assert app.factory._classes["Hero"].__mro__[1].__name__ == "Proxy"
    assert app.factory._classes["Rock"].__mro__[1].__name__ == "Base"
    game = LoadedGame(schema, game.policy, {"Rock": {Side.BASE: OldBase}})
    with pytest.raises(UsageError, match=r"OldBase must derive from terrazzo\.Base"):
        BaseApp(BASE_ID, host, game, [], entropy=bytes, address=ClientPorts("", 0, 0))


@pytest.mark.parametrize("callback", ["on_loaded", "on_client_ready", "on_cell_created", "on_cell_lost", "buy", "give"])
def test_code_of_the_game_that_raises_is_confined(callback):
    town = Town()
    RAISE.add(callback)
    proxy, session = town.ready()
    town.settle()
    if callback == "on_client_ready":
        proxy.part.create_cell("plaza", (0, 0, 0))
        town.settle()
    for method in proxy.schema.base_methods:
        proxy.call(method, [1])
    town.cell.end(proxy.id)
    town.settle()
    assert (callback, *((1,) if callback in ("buy", "give") else ())) in EVENTS
    [report] = town.logs("game error")
    assert report["what"] == f"Avatar {proxy.id}.{callback}"
    assert "RuntimeError" in str(report["trace"])
    town.hear(session, BYE)
    town.settle()
    assert town.app.bases == {}


def test_a_client_lost_callback_that_raises_does_not_keep_the_player_logged_on():
    town = Town()
    RAISE.add("on_client_lost")
    _, session = town.ready()
    town.lose(session)
    town.settle()
    town.cell.end(1000)
    town.settle()
    assert len(town.told(LoggedOff)) == 1
    assert town.app.bases == {}


def test_stop_sends_clients_away_takes_bodies_down_and_saves():
    town = Town()
    proxy, session = town.playing()
    town.server.create("Creature", space="plaza", position=(0, 0, 0))
    town.settle()
    town.app.stop()
    town.settle()
    assert not town.app.is_stopped
    town.cell.end(proxy.id)
    town.settle()
    assert session.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.STOPPING])
    assert (len(town.told(Save)), len(town.told(LoggedOff))) == (1, 1)
    assert not town.app.is_stopped  # the creature's cell part sends nothing
    town.step(31)
    assert town.app.is_stopped


def test_key_is_valid_only_for_the_client_that_asked_for_it():
    ring = KeyRing(random.Random(3).randbytes, life_s=60.0, most=2)
    key = ring.make(EntityId(1), 0.0, sha256(b"attempt").digest())
    assert ring.take(key, 1.0) is None
    assert ring.take(key + b"another", 1.0) is None
    assert ring.take(b"k" * 16 + b"attempt", 1.0) is None
    assert ring.take(key + b"attempt", 1.0) == 1, "a wrong attempt does not use up the key"
    assert ring.take(key + b"attempt", 1.0) is None


def test_keys_are_as_long_as_they_should_be_and_differ():
    ring = KeyRing(random.Random(3).randbytes, life_s=60.0, most=100)
    keys = {ring.make(EntityId(1), 0.0) for _ in range(100)}
    assert len(keys) == 100
    assert {len(each) for each in keys} == {16}


def test_key_of_a_placed_proxy_is_bound_to_the_holder_that_the_login_gave():
    town = Town()
    record = encode_record(AVATAR, {}, {})
    item = REGISTRY.encode(CreateProxy(AVATAR.type_id, 5, record, 4711, sha256(b"attempt").digest()))
    town.app.on_message(BASE_MGR, Request(1, item))
    town.step()
    [created] = town.replies
    assert isinstance(created, ProxyCreated)
    stranger = town.connect(created.key)
    assert stranger.sent[0][:2] == bytes([ToClient.LOGGED_OFF, Farewell.WRONG_KEY])
    client = town.connect(created.key + b"attempt", session_id=2)
    assert client.kinds() == [ToClient.BASE_PLAYER]
