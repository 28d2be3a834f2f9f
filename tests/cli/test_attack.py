"""`terrazzo attack`, the short form: real processes, real attackers. Outcomes are asserted, no times."""

import json

import pytest
from click.testing import CliRunner

from terrazzo.bench.attack import PLANS, choose
from terrazzo.bench.attack_order import Attack, Attacker
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
    done = CliRunner().invoke(main, ["attack", "--json", "--seconds", "2", *only])
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
