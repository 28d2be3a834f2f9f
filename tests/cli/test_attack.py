"""`terrazzo attack`, the short form: real processes, real attackers. Outcomes are asserted, no times."""

import json

import pytest
from click.testing import CliRunner

from terrazzo.bench.attack import GROWTH_MAX_MIB, PLANS, Plan, choose, judge
from terrazzo.bench.attack_order import Attack, Attacker
from terrazzo.bench.attack_player import Login
from terrazzo.bench.attackers import ATTACKS
from terrazzo.cli.main import main
from terrazzo.errors import UsageError


def order(**more):
    facts = {
        "name": "requests",
        "host": "127.0.0.1",
        "udp_port": 1,
        "tcp_port": 1,
        "path": "/",
        "public_key": "00" * 32,
    }
    return Attack(**{**facts, "sources": ["127.0.0.2"], "seconds": 0.1, "most": 1, **more})


@pytest.mark.parametrize("host", ["192.0.2.1", "0.0.0.0", "2001:db8::1", "10.0.0.1"])
def test_attacker_refuses_any_target_but_this_machine(host):
    with pytest.raises(UsageError, match="loopback"):
        Attacker(order(host=host))


def test_every_plan_names_an_attack_and_every_attack_is_planned():
    assert {plan.attack for plan in PLANS.values()} == set(ATTACKS)
    assert list(choose(("A2",))) == [name for name in PLANS if name.startswith("A2")]
    with pytest.raises(UsageError, match="no attack begins with A7"):
        choose(("A7",))


def test_honest_players_get_in_while_the_doors_are_attacked():
    names = ("A1 sessions, one WebSocket, L", "A2 half-sent requests, B", "A3 forged OPENs, one", "A8", "empty")
    only = [part for name in names for part in ("--only", name)]
    done = CliRunner().invoke(main, ["attack", "--json", "--no-times", "--seconds", "2", *only])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["is_sound"]
    assert report["failures"] == []
    refused = {name.split(",")[0].split()[0]: each["refused"] for name, each in report["rounds"].items()}
    assert refused["undisturbed"] == {}
    for attack, reason in (
        ("A1", "login_app-0.1 websocket second"),
        ("A2", "base_app-0.1 connections connection_rate"),
        ("A3", "base_app-0.1 udp spent"),
        ("A8", "login_app-0.1 udp early"),
        ("empty", "base_app-0.1 connections too_much"),
    ):
        assert reason in refused[attack], (attack, refused)
    logins = [login for each in report["rounds"].values() for login in each["logins"]]
    assert [login["over"] for login in logins] == ["UDP", "WebSocket"] * 6
    assert all(each["action_s"]["count"] for each in report["rounds"].values())


def test_rogue_clients_are_refused_and_counted_while_honest_players_get_in():
    names = ("malformed", "forged", "login keys", "calls", "password guesses, LoginApp, 50", "clients that never")
    only = [part for name in names for part in ("--only", name)]
    done = CliRunner().invoke(main, ["attack", "--json", "--no-times", "--seconds", "2", *only])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["is_sound"], report["failures"]) == (True, [])
    assert len(report["rounds"]) == 1 + len(names)


def round_of(**facts):
    spread = {"count": 9, "p50": 0.1, "p99": 0.2, "max": 0.2}
    return {
        "attacker": {}, "update_gap_s": spread, "action_s": spread, "logins": [Login("UDP", True, 1.0)],
        "memory_mib": {"base_app-0": [50.0, 60.0]}, "refused": {"base_app-0.1 udp spent": 3}, "is_playing": True,
        "error": "", **facts,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, ""),
        ({"memory_mib": {"base_app-0": [50.0, 51.0 + GROWTH_MAX_MIB]}}, "base_app-0 has grown from 50 to 115 MiB"),
        ({"refused": {}}, "nothing was counted as udp spent"),
        (
            {"update_gap_s": {"p50": 0.3, "p99": 0.3, "max": 0.3}},
            "0.300 s between two updates, and 0.100 s",
        ),
        ({"update_gap_s": {"p50": 0.15, "p99": 9.0, "max": 9.0}}, ""),
        ({"is_playing": False, "error": "kicked"}, "the player is out: kicked"),
        ({"logins": [Login("UDP", False, 20.0, "no answer")]}, "UDP login failed: no answer"),
    ],
)
def test_attack_that_costs_more_than_it_may_is_a_failure(facts, words):
    plans = {"A3": Plan("opens", "base_app-0", 10, ("udp spent",))}
    report = judge({"undisturbed": round_of(refused={}), "A3": round_of(**facts)}, plans, "", with_times=True)
    assert report["is_sound"] == (not words)
    assert words in "".join(report["failures"])


def test_times_are_judged_only_where_that_is_wanted():
    rounds = {"undisturbed": round_of(), "A3": round_of(action_s={"p50": 5.0, "p99": 5.0, "max": 5.0})}
    plans = {"A3": Plan("opens", "base_app-0", 10, ("udp spent",))}
    assert judge(rounds, plans, "", with_times=False)["is_sound"]
    assert not judge(rounds, plans, "", with_times=True)["is_sound"]
