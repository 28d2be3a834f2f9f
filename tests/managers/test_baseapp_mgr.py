"""BaseAppMgr: a proxy for each player, never two, on the BaseApp with the least to do."""

from __future__ import annotations

import json
from collections import Counter
from math import nan

import pytest

from terrazzo.managers.baseapp_mgr import PLACE_S, RECORD_MAX, WAITING_MAX, BaseAppMgr, Why
from terrazzo.wire.common import RequestRefused
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cellmgr import CellAppLoads, SpacesReady
from terrazzo.wire.pairs.basemgr_base import (
    BaseAppLoad,
    BaseAppReady,
    Bootstrap,
    CreateProxy,
    Locate,
    ProxyCreated,
)
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyInDoubt, ProxyPlaced, WorldFull, WorldLoad, WorldLoads
from tests.fake_host import FakeHost
from tests.managers.bench import (
    BASE_APP_MGR,
    CELL_APP_MGR,
    DB_APP,
    Answered,
    Asked,
    Bench,
    baseapp,
    cellapp,
    opened,
)

WANTED = PlaceProxy(type_id=3, dbid=77, record=b"saved", entity=4711)
KEY = b"k" * 16


class Cluster(Bench):
    """A BaseAppMgr and the words of the apps around it."""

    def __init__(self, bases: int = 0, *, are_spaces_ready: bool = True) -> None:
        host = FakeHost()
        self.mgr = BaseAppMgr(BASE_APP_MGR, host)
        super().__init__(self.mgr, host)
        for index in range(bases):
            self.join(baseapp(index))
        if are_spaces_ready:
            self.hear(CELL_APP_MGR, SpacesReady(2))
        self.tick()

    def join(self, app: AppId) -> None:
        self.mgr.on_link_up(app)
        self.hear(app, BaseAppReady(f"host-{app.index}", 1000 + app.index, 2000 + app.index))

    def asked(self, seconds: float = 0.1) -> list[tuple[AppId, int]]:
        """The BaseApps that are asked for a proxy now, with the numbers of the questions."""
        said = [(peer, opened(message)) for peer, message in self.tick(seconds)]
        assert all(isinstance(each, Asked) for _, each in said), said
        return [(peer, each.number) for peer, each in said if isinstance(each, Asked)]

    def told(self, seconds: float = 0.1) -> list[Message | str]:
        """The messages for DBApp: answers, or sentences of refusal."""
        said = [opened(message) for peer, message in self.tick(seconds) if peer == DB_APP]
        return [_plain(each) for each in said]


def _plain(said: object) -> Message | str:
    if isinstance(said, RequestRefused):
        return said.reason
    if isinstance(said, Answered) and isinstance(said.message, ProxyInDoubt):
        return said.message
    return said  # type: ignore[return-value]


def burst(cluster: Cluster, count: int, *, answered: bool) -> Counter[int]:
    """Where so many players at once are sent."""
    for _ in range(count):
        cluster.ask(DB_APP, WANTED)
    asked = cluster.asked()
    for app, number in asked if answered else []:
        cluster.answer(app, number, ProxyCreated(1, KEY))
    assert len(cluster.told()) == (count if answered else 0)
    return Counter(app.index for app, _ in asked)


# A placement.


def test_a_proxy_is_placed():
    cluster = Cluster(1)
    question = cluster.ask(DB_APP, WANTED)
    [(peer, asked)] = [(peer, opened(message)) for peer, message in cluster.tick()]
    assert peer == baseapp(0)
    assert isinstance(asked, Asked)
    assert asked.message == CreateProxy(3, 77, b"saved", 4711)
    cluster.answer(baseapp(0), asked.number, ProxyCreated(4711, KEY))
    assert cluster.told() == [Answered(question, ProxyPlaced(4711, KEY, "host-0", 1000, 2000, 0))]
    assert cluster.mgr.placed == 1
    assert cluster.mgr.view()["placing"] == 0


def test_no_player_before_the_spaces_are_ready():
    cluster = Cluster(1, are_spaces_ready=False)
    cluster.ask(DB_APP, WANTED)
    assert cluster.told() == ["the world is still starting; try again in a few seconds"]
    cluster.hear(CELL_APP_MGR, SpacesReady(2))
    cluster.ask(DB_APP, WANTED)
    assert cluster.told() == []
    assert cluster.mgr.refused[Why.NOT_READY] == 1


def test_no_player_without_a_baseapp():
    cluster = Cluster()
    cluster.ask(DB_APP, WANTED)
    assert cluster.told() == ["no BaseApp is running, so nobody can log in; start one"]
    cluster.join(baseapp(5))
    cluster.ask(DB_APP, WANTED)
    assert (baseapp(5), Bootstrap()) in cluster.tick()


# The least loaded.


def test_the_least_loaded_is_chosen():
    cluster = Cluster(3)
    for index, load in enumerate([0.5, 0.2, 0.4]):
        cluster.hear(baseapp(index), BaseAppLoad(bases=10, clients=10, load=load))
    cluster.ask(DB_APP, WANTED)
    [(app, _)] = cluster.asked()
    assert app == baseapp(1)


def test_equal_loads_are_decided_by_players():
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(bases=10, clients=10, load=0.1))
    cluster.hear(baseapp(1), BaseAppLoad(bases=30, clients=9, load=0.1))
    cluster.ask(DB_APP, WANTED)
    [(app, _)] = cluster.asked()
    assert app == baseapp(1)


@pytest.mark.parametrize("answered", [False, True])
def test_a_burst_between_two_reports_spreads(answered):
    cluster = Cluster(3)
    for index in range(3):
        cluster.hear(baseapp(index), BaseAppLoad(0, 0, 0.0))
    assert burst(cluster, 60, answered=answered) == {0: 20, 1: 20, 2: 20}
    assert burst(cluster, 30, answered=answered) == {0: 10, 1: 10, 2: 10}


def test_a_burst_fills_the_emptier_first():
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(0, 0, 0.10))
    cluster.hear(baseapp(1), BaseAppLoad(0, 0, 0.05))
    where = burst(cluster, 100, answered=True)
    assert 60 <= where[1] <= 65  # 25 to draw level, then every other one


def test_baseapp_that_has_just_been_filled_is_not_taken_for_idle_while_its_load_is_smoothed():
    cluster = Cluster(2)
    for index in range(2):
        cluster.hear(baseapp(index), BaseAppLoad(0, 0, 0.0))
    cluster.hear(baseapp(0), BaseAppLoad(100, 100, 0.2))  # smoothed to 0.06: as much as 30 of the 100 players cost
    cluster.hear(baseapp(1), BaseAppLoad(60, 60, 0.12))
    where = burst(cluster, 40, answered=True)
    assert 35 <= where[1] <= 40


def test_entities_without_a_player_do_not_count_as_players():
    cluster = Cluster(2)
    for index in range(2):
        cluster.hear(baseapp(index), BaseAppLoad(0, 0, 0.02))
    cluster.hear(baseapp(0), BaseAppLoad(bases=70, clients=0, load=0.02))
    assert burst(cluster, 40, answered=True) == {0: 20, 1: 20}


def test_entities_of_the_start_do_not_make_a_baseapp_seem_idle_when_its_load_is_measured():
    """Before a load is measured, entities are counted; the game's `on_ready` makes many of them on one BaseApp."""
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(bases=72, clients=0, load=None))
    cluster.hear(baseapp(1), BaseAppLoad(bases=0, clients=0, load=None))
    for index in range(2):
        cluster.hear(baseapp(index), BaseAppLoad(bases=72 * (1 - index), clients=0, load=0.02))
    assert burst(cluster, 60, answered=True) == {0: 30, 1: 30}


def test_player_of_a_new_baseapp_is_counted_with_the_load_measured_at_the_others():
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(100, 100, 0.8))  # eight thousandths each, four times the stand-in
    cluster.hear(baseapp(1), BaseAppLoad(0, 0, 0.6))
    where = burst(cluster, 60, answered=True)
    assert 40 <= where[1] <= 45  # 25 to draw level, then every other one


def test_player_is_counted_with_the_measured_load_of_one():
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(100, 100, 0.8))  # eight thousandths each, four times the stand-in
    cluster.hear(baseapp(1), BaseAppLoad(100, 100, 0.4))
    where = burst(cluster, 60, answered=True)
    assert where == {1: 60}


def test_bases_without_a_client_do_not_make_a_player_cheap():
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(1000, 100, 0.40))  # four thousandths a player, however many bases there are
    cluster.hear(baseapp(1), BaseAppLoad(100, 100, 0.45))
    where = burst(cluster, 40, answered=True)
    assert where[0] <= 30  # 11 to draw level, then every other one


def test_baseapp_without_a_measured_load_is_chosen_by_players():
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(5, 5, None))
    cluster.hear(baseapp(1), BaseAppLoad(3, 3, None))
    cluster.ask(DB_APP, WANTED)
    [(app, _)] = cluster.asked()
    assert app == baseapp(1)
    assert cluster.mgr.view()["apps"][0]["load"] is None


def test_a_report_covers_what_was_made_and_not_what_is_still_asked():
    cluster = Cluster(1)
    for _ in range(2):
        cluster.ask(DB_APP, WANTED)
    (app, first), _second = cluster.asked()
    cluster.answer(app, first, ProxyCreated(1, KEY))
    assert cluster.mgr.view()["apps"][0]["unreported"] == 2
    cluster.hear(app, BaseAppLoad(1, 1, 0.0))
    assert cluster.mgr.view()["apps"][0]["unreported"] == 1


# Refused by a BaseApp: it is certain that none was made.


def test_next_baseapp_is_asked_when_one_refuses():
    cluster = Cluster(3)
    cluster.ask(DB_APP, WANTED)
    tried = []
    for _ in range(3):
        [(app, number)] = cluster.asked()
        tried.append(app)
        cluster.refuse(app, number, f"{app} is full")
    assert sorted(tried) == [baseapp(0), baseapp(1), baseapp(2)]
    assert cluster.told() == [f"{tried[-1]} is full"]
    assert cluster.mgr.refused[Why.REFUSED] == 1
    assert cluster.tick() == []


def test_the_second_choice_can_succeed():
    cluster = Cluster(2)
    question = cluster.ask(DB_APP, WANTED)
    [(first, number)] = cluster.asked()
    cluster.refuse(first, number, "full")
    [(second, number)] = cluster.asked()
    cluster.answer(second, number, ProxyCreated(9, KEY))
    assert second != first
    assert cluster.told() == [Answered(question, ProxyPlaced(9, KEY, "host-1", 1001, 2001, 1))]


def test_a_second_try_has_only_the_time_that_is_left():
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    [(first, number)] = cluster.asked()
    cluster.host.now += PLACE_S - 1
    cluster.refuse(first, number, "full")
    [(_second, _number)] = cluster.asked()
    assert cluster.told(0.5) == []
    [told] = cluster.told(0.5)
    assert told == ProxyInDoubt("base_app-1.1 did not answer within 8 s; try again later")


def test_refusal_after_the_time_asks_no_other_baseapp():
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    [(first, number)] = cluster.asked()
    cluster.host.now += PLACE_S
    cluster.refuse(first, number, "full")
    assert cluster.told() == ["the BaseApps took too long to refuse; try again later"]


# Lost or late: it is unknown whether one was made, so no second one is made.


def test_a_link_lost_between_question_and_answer_is_refused_and_not_tried_again():
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    [(app, number)] = cluster.asked()
    cluster.lose(app)
    assert cluster.told() == [ProxyInDoubt(f"{app} was lost while it let the player in; try again")]
    assert cluster.tick() == []
    cluster.answer(app, number, ProxyCreated(1, KEY))  # cannot come any more; if it did, it would mean nothing
    assert cluster.tick() == []
    assert cluster.mgr.view()["placing"] == 0


def test_a_timeout_is_refused_and_not_tried_again():
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    [(app, number)] = cluster.asked()
    assert cluster.told(PLACE_S - 0.2) == []
    [told] = cluster.told(0.2)
    assert told == ProxyInDoubt(f"{app} did not answer within 8 s; try again later")
    cluster.answer(app, number, ProxyCreated(1, KEY))
    assert cluster.tick() == []
    assert cluster.mgr.placed == 0


def test_a_link_lost_before_the_question_left_asks_another():
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    cluster.lose(baseapp(0))
    [(app, _)] = cluster.asked()
    assert app == baseapp(1)


def test_the_next_life_of_a_lost_baseapp_is_asked_at_its_new_address():
    cluster = Cluster(1)
    cluster.lose(baseapp(0))
    cluster.mgr.on_link_up(baseapp(0, 2))
    cluster.hear(baseapp(0, 2), BaseAppReady("elsewhere", 1, 2))
    question = cluster.ask(DB_APP, WANTED)
    [(app, number)] = cluster.asked()
    cluster.answer(app, number, ProxyCreated(5, KEY))
    assert app == baseapp(0, 2)
    assert cluster.told() == [Answered(question, ProxyPlaced(5, KEY, "elsewhere", 1, 2, 0))]


def test_an_answer_of_the_wrong_kind_is_refused_and_not_tried_again():
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    [(app, number)] = cluster.asked()
    cluster.answer(app, number, Bootstrap())
    assert cluster.told() == [ProxyInDoubt(f"{app} answered Bootstrap; report this mistake")]
    assert cluster.mgr.refusals.total() == 1


@pytest.mark.parametrize("how", ["created", "refused", "lost", "timeout", "not yet asked"])
def test_dbapp_that_was_lost_meanwhile_gets_no_answer(how):
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    if how == "not yet asked":
        cluster.lose(DB_APP)
        assert cluster.tick() == []
    else:
        [(app, number)] = cluster.asked()
        cluster.lose(DB_APP)
        acts = {
            "created": lambda: cluster.answer(app, number, ProxyCreated(1, KEY)),
            "refused": lambda: cluster.refuse(app, number, "full"),
            "lost": lambda: cluster.lose(app),
        }
        acts.get(how, lambda: None)()
        assert cluster.tick(PLACE_S) == []
    assert cluster.mgr.placed == 0
    assert cluster.mgr.view()["placing"] == 0
    assert sum(cluster.mgr.refused.values()) == 1


# Limits.


def test_a_full_game_makes_no_proxy():
    cluster = Cluster(2)
    cluster.mgr.players_max = 3
    for app, clients in ((baseapp(0), 1), (baseapp(1), 1)):
        cluster.hear(app, BaseAppLoad(bases=1, clients=clients, load=0.0))
    cluster.ask(DB_APP, WANTED)
    cluster.ask(DB_APP, WANTED)
    said = [opened(message) for _, message in cluster.tick()]
    assert [each.message for each in said if isinstance(each, Answered)] == [WorldFull(3)]
    assert sum(isinstance(each, Asked) for each in said) == 1
    assert cluster.mgr.view()["refused"] == {"as many players as may be": 1}


def test_a_crowd_is_refused_beyond_a_limit():
    cluster = Cluster(1)
    for _ in range(WAITING_MAX + 2):
        cluster.ask(DB_APP, WANTED)
    assert cluster.told() == ["too many players are logging in at once; try again in a moment"] * 2
    assert cluster.mgr.view()["placing"] == WAITING_MAX


@pytest.mark.parametrize(("size", "fits"), [(RECORD_MAX, True), (RECORD_MAX + 1, False)])
def test_a_record_that_cannot_be_passed_on_is_refused(size, fits):
    cluster = Cluster(1)
    cluster.ask(DB_APP, PlaceProxy(1, 1, b"x" * size, 4711))
    if fits:
        assert len(cluster.asked()) == 1
    else:
        [told] = cluster.told()
        assert isinstance(told, str)
        assert told.startswith("what is saved of this player is")


def test_the_longest_reason_can_be_passed_on():
    cluster = Cluster(1)
    cluster.ask(DB_APP, WANTED)
    [(app, number)] = cluster.asked()
    cluster.refuse(app, number, "\U0001f3db" * 1020)
    assert cluster.told() == ["\U0001f3db" * 1000]


# Bootstrap.


def bootstrapped(cluster: Cluster) -> list[AppId]:
    return [peer for peer, message in cluster.tick() if message == Bootstrap()]


def test_bootstrap_comes_once_whichever_is_there_first():
    cluster = Cluster(are_spaces_ready=False)
    cluster.join(baseapp(1))
    cluster.join(baseapp(0))
    assert bootstrapped(cluster) == []
    cluster.hear(CELL_APP_MGR, SpacesReady(2))
    assert bootstrapped(cluster) == [baseapp(1)]
    cluster.hear(CELL_APP_MGR, SpacesReady(2))
    assert bootstrapped(cluster) == []

    cluster = Cluster()
    assert bootstrapped(cluster) == []
    cluster.join(baseapp(2))
    assert bootstrapped(cluster) == [baseapp(2)]


def test_a_baseapp_lost_before_bootstrap_left_does_not_take_it_along():
    cluster = Cluster(are_spaces_ready=False)
    cluster.join(baseapp(0))
    cluster.join(baseapp(1))
    cluster.hear(CELL_APP_MGR, SpacesReady(2))
    cluster.lose(baseapp(0))
    assert bootstrapped(cluster) == [baseapp(1)]


def test_bootstrap_is_not_repeated_when_its_baseapp_is_lost():
    cluster = Cluster(1)
    cluster.lose(baseapp(0))
    cluster.join(baseapp(0, 2))
    assert bootstrapped(cluster) == []


def test_a_lost_cellappmgr_changes_nothing():
    cluster = Cluster(1)
    cluster.lose(CELL_APP_MGR)
    cluster.ask(DB_APP, WANTED)
    assert len(cluster.asked()) == 1


# What is shown, and what is refused.


def test_the_view_is_plain_data():
    cluster = Cluster(2)
    cluster.hear(baseapp(0), BaseAppLoad(bases=12, clients=7, load=0.5))
    cluster.hear(baseapp(0), BaseAppLoad(bases=13, clients=8, load=1.0))
    cluster.ask(DB_APP, PlaceProxy(1, 1, b"x" * (RECORD_MAX + 1), 4711))
    view = cluster.mgr.view()
    assert json.loads(json.dumps(view, allow_nan=False)) == view
    assert view["bootstrapped"] == "base_app-0.1"
    assert view["refused"] == {"record too big": 1}
    assert view["apps"][0] == {
        "app": "base_app-0.1",
        "index": 0,
        "host": "host-0",
        "udp_port": 1000,
        "ws_port": 2000,
        "load": pytest.approx(0.65),
        "bases": 13,
        "clients": 8,
        "unreported": 0,
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (cellapp(0), BaseAppReady("host", 1, 2)),
        (baseapp(9), BaseAppLoad(1, 1, 0.1)),
        (baseapp(0), BaseAppLoad(1, 1, nan)),
        (baseapp(0), SpacesReady(1)),
        (baseapp(0), Bootstrap()),
    ],
    ids=str,
)
def test_message_that_cannot_be_true_is_counted_and_changes_nothing(source, message):
    cluster = Cluster(1, are_spaces_ready=False)
    before = cluster.mgr.view()
    cluster.hear(source, message)
    assert cluster.mgr.refusals.total() == 1
    assert cluster.mgr.view() == before


def test_proxy_that_is_still_being_placed_is_not_reported_as_gone():
    """The first BaseApp may refuse after the second has answered Locate; then the second one is asked to make it."""
    cluster = Cluster(2)
    cluster.ask(DB_APP, WANTED)
    cluster.ask(DB_APP, Locate(WANTED.entity))
    assert cluster.told() == ["its proxy is being placed"]
    cluster.ask(DB_APP, Locate(WANTED.entity))
    assert cluster.told() == ["its proxy is being placed"]
    cluster.ask(DB_APP, Locate(WANTED.entity + 1))
    assert [each for each in cluster.asked() if each[0] == DB_APP] == []


# Loads for the door.


def test_dbapp_gets_the_loads_of_the_world_once_a_second():
    cluster = Cluster(2)
    cluster.mgr.on_link_up(DB_APP)
    cluster.mgr.on_link_up(CELL_APP_MGR)
    cluster.hear(CELL_APP_MGR, CellAppLoads(0.25, 0.75))
    cluster.hear(baseapp(0), BaseAppLoad(bases=5, clients=4, load=0.5))
    assert cluster.told(1.0) == [WorldLoad(WorldLoads(4, 1_000_000, None, 0.25, 0.75))], "one BaseApp is not measured"
    cluster.hear(baseapp(1), BaseAppLoad(bases=2, clients=2, load=0.25))
    assert cluster.told(0.5) == []
    assert cluster.told(0.5) == [WorldLoad(WorldLoads(6, 1_000_000, 0.25, 0.25, 0.75))]
    cluster.mgr.on_link_lost(CELL_APP_MGR)
    assert cluster.told(1.0) == [WorldLoad(WorldLoads(6, 1_000_000, 0.25, None, None))]


def test_loads_of_cellapps_come_from_the_cellappmgr_only_and_are_possible_values():
    cluster = Cluster()
    cluster.hear(cellapp(0), CellAppLoads(0.5, 0.5))
    cluster.hear(CELL_APP_MGR, CellAppLoads(-0.5, 0.5), CellAppLoads(0.5, float("inf")))
    assert cluster.mgr.refusals.total() == 3
