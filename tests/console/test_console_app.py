"""ConsoleApp: which apps it asks, how often, and the picture that it makes of the answers."""

import pytest

from terrazzo.wire.common import Reply
from terrazzo.wire.ids import ANY_INCARNATION
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.console_any import View, WantView
from tests.console.pictures import BASE_0, CELL_0, CELL_1, CELL_APP_MGR, DB_APP, VIEWS, Bench, whole_cluster


def app_of(bench, app):
    return next(each for each in bench.console.snapshot()["apps"] if each["app"] == str(app))


def test_console_joins_every_listed_peer_once():
    bench = Bench()
    bench.tick()
    bench.tick()
    assert sorted(bench.host.joined) == sorted(peer._replace(incarnation=ANY_INCARNATION) for peer in VIEWS)


def test_a_join_that_failed_is_tried_again():
    bench = Bench()
    bench.tick()
    wild = CELL_0._replace(incarnation=ANY_INCARNATION)
    bench.console.on_link_lost(wild)
    bench.tick()
    assert bench.host.joined.count(wild) == 2


def test_the_picture_of_a_whole_cluster():
    snapshot = whole_cluster().console.snapshot()
    assert (snapshot["state"], snapshot["progress"], snapshot["players"]) == ("running", "all cells are there", 3)
    [space] = snapshot["spaces"]
    assert (space["id"], space["name"], space["bounds"]) == (1, "plaza", (-10.0, -10.0, 10.0, 10.0))
    assert space["entities"] == [
        {"id": 5, "type": "Avatar", "x": -1.0, "z": 2.0, "real": True, "app": str(CELL_0)},
        {"id": 6, "type": "Creature", "x": 3.0, "z": 4.12, "real": False, "app": str(CELL_0)},
        {"id": 6, "type": "Creature", "x": 3.0, "z": 4.12, "real": True, "app": str(CELL_1)},
    ]
    first = {"cell": 1, "app": str(CELL_0), "rect": (-10.0, -10.0, 0.0, 10.0), "load": 0.5, "reals": 1, "ghosts": 1}
    assert space["cells"][0] == {**first, "is_load_estimated": False, "is_lost": False}
    assert (space["cells"][1]["load"], space["cells"][1]["reals"], space["cells"][1]["ghosts"]) == (None, 1, 0)


def test_the_list_of_apps():
    bench = whole_cluster()
    bench.host.now += 1.5
    assert [each["app"] for each in bench.console.snapshot()["apps"]] == [str(peer) for peer in VIEWS]
    cell = {"app": str(CELL_0), "kind": "cell_app", "index": 0, "is_up": True, "age_s": 1.5, "load": 0.25, "facts": {}}
    assert app_of(bench, CELL_0) == cell
    assert app_of(bench, BASE_0)["load"] == 0.125
    assert app_of(bench, BASE_0)["facts"] == {"clients": 3, "bases": {"Avatar": 3}}
    assert app_of(bench, DB_APP)["facts"] == {"saved": 4}
    assert app_of(bench, CELL_APP_MGR)["facts"] == {"cells_wanted": 2}


def test_the_bandwidth_of_all_cells_is_one_account():
    bench = whole_cluster()
    assert bench.console.snapshot()["bandwidth"] == []
    hp = {"type": "Avatar", "what": "hp", "to": "ghosts", "messages": 2, "bytes": 20}
    wave = {"type": "Avatar", "what": "wave()", "to": "ghosts", "messages": 1, "bytes": 25}
    asked = bench.tick(1.0)
    for app, lines in {CELL_0: [hp, wave], CELL_1: [hp]}.items():
        bench.show(app, asked[app][0], VIEWS[app] | {"bandwidth": lines})
    assert bench.console.snapshot()["bandwidth"] == [{**hp, "messages": 4, "bytes": 40}, wave]
    assert app_of(bench, CELL_0)["facts"] == {}, "it has a place of its own"


def test_snapshot_before_any_report_is_empty():
    snapshot = Bench().console.snapshot()
    assert (snapshot["spaces"], snapshot["players"], snapshot["state"]) == ([], 0, "")
    assert not any(each["is_up"] for each in snapshot["apps"])
    assert snapshot["apps"][0]["age_s"] is None


def test_one_question_at_a_time_and_a_rest_after_each_answer():
    bench = Bench()
    bench.console.on_link_up(DB_APP)
    [number] = bench.tick()[DB_APP]
    assert bench.tick() == {}, "it has not answered yet"
    bench.show(DB_APP, number, {"saved": 1})
    assert bench.tick(0.1) == {}, "it answered a moment ago"
    assert DB_APP in bench.tick(0.15)


def test_peer_that_refuses_or_never_answers_is_asked_again():
    bench = Bench()
    bench.console.on_link_up(DB_APP)
    bench.refuse(DB_APP, bench.tick()[DB_APP][0])
    assert DB_APP in bench.tick(0.3)
    bench.tick(2.5)
    assert DB_APP in bench.tick(0.3)
    assert [facts["why"] for event, facts in bench.host.logged if event == "no view"] == ["refused", "timeout"]


@pytest.mark.parametrize(
    "reply",
    [
        View(b"no json"),
        View(b"[]"),
        View(b'{"spaces": {"plaza": [[5, "Avatar", true, "west", 2.0]]}}'),
        View(b'{"spaces": null}'),
        WantView(),
    ],
    ids=["no json", "no object", "wrong type", "null", "no view"],
)
def test_a_view_that_does_not_fit_is_refused_and_the_one_before_stays(reply):
    bench = whole_cluster()
    before = bench.console.snapshot()["spaces"]
    [number] = bench.tick(0.3)[CELL_0]
    bench.answer(CELL_0, number, reply)
    assert bench.console.snapshot()["spaces"] == before
    assert sum(bench.console.refusals.by_peer[CELL_0].values()) == 1
    assert bench.host.logged[-1][0] == "view that does not decode"
    assert CELL_0 in bench.tick(0.3), "it is asked again"


def test_a_lost_cell_app_has_no_bodies_on_the_map_but_its_cell_stays():
    bench = whole_cluster()
    bench.console.on_link_lost(CELL_1)
    [space] = bench.console.snapshot()["spaces"]
    assert {each["app"] for each in space["entities"]} == {str(CELL_0)}
    assert (space["cells"][1]["reals"], space["cells"][1]["ghosts"]) == (8, 8), "the manager's count is all there is"
    assert (app_of(bench, CELL_1)["is_up"], app_of(bench, CELL_1)["load"]) == (False, None)


def test_a_lost_base_app_has_no_players():
    bench = whole_cluster()
    bench.console.on_link_lost(BASE_0)
    assert bench.console.snapshot()["players"] == 0


def test_without_its_manager_a_space_stays_on_the_map():
    bench = whole_cluster()
    bench.console.on_link_lost(CELL_APP_MGR)
    assert len(bench.console.snapshot()["spaces"][0]["entities"]) == 3


def test_a_link_that_is_lost_while_asked_is_joined_again():
    bench = Bench()
    bench.tick()
    bench.console.on_link_up(DB_APP)
    bench.tick()
    bench.console.on_link_lost(DB_APP)
    bench.tick()
    assert bench.host.joined.count(DB_APP._replace(incarnation=ANY_INCARNATION)) == 2
    assert bench.host.logged == []
    bench.console.on_link_up(DB_APP)
    assert DB_APP in bench.tick()


def test_view_of_an_earlier_incarnation_is_dropped():
    bench = whole_cluster()
    [late] = bench.tick(0.3)[CELL_0]
    bench.console.on_link_lost(CELL_0)
    again = CELL_0._replace(incarnation=2)
    bench.console.on_link_up(again)
    bench.console.on_message(CELL_0, Reply(late, REGISTRY.encode(View(b"{}"))))
    assert app_of(bench, again)["age_s"] is None
    assert len(bench.console.snapshot()["spaces"][0]["entities"]) == 1
    assert again in bench.tick()


def test_unlisted_peer_is_left_alone():
    bench = Bench()
    stranger = CELL_0._replace(index=7)
    bench.console.on_link_up(stranger)
    assert stranger not in bench.tick()
    bench.console.on_link_lost(stranger)
    assert len(bench.console.snapshot()["apps"]) == len(VIEWS)


def test_it_shows_itself_too():
    assert whole_cluster().console.view() == {"watched": 7, "up": 7}
