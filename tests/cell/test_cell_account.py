"""The bandwidth account: exact for a small scene, and its sums are what was sent, whatever happened."""

from __future__ import annotations

import pytest

from terrazzo._speed.tally import Tally
from terrazzo.cell.core.account import SentAccount, To, name_of
from terrazzo.cell.core.history import PLACE, RIDE
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, GhostPlaces, Parcel, UpdateGhost
from tests.cell.hearing import overhear
from tests.cell.land import Land
from tests.cell.plain import AVATAR
from tests.speed.forms import FORMS, form_of

TO_GHOSTS = (CreateGhost, DeleteGhost, GhostPlaces, Parcel, UpdateGhost)


def account_of(land):
    """(what, to) → messages and bytes, of all cells."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for line in (line for app in land.cells for line in app.view()["bandwidth"]):
        messages, size = sums.get((line["what"], line["to"]), (0, 0))
        sums[line["what"], line["to"]] = (messages + line["messages"], size + line["bytes"])
    return sums


def grown(land, before):
    """What the account has more than before; places are sent all the time."""
    now = account_of(land)
    more = {key: (now[key][0] - was[0], now[key][1] - was[1]) for key in now for was in [before.get(key, (0, 0))]}
    return {key: each for key, each in more.items() if each != (0, 0) and key[0] != "(places)"}


def scene():
    """One with three ghosts and a client, two more clients that see it: one from its cell, one from a ghost's."""
    land = Land(4, corner=True)
    land.create(1, 5.0, 5.0, is_seen=True)
    land.create(2, 9.0, 9.0, is_seen=True)
    land.create(3, -9.0, -9.0, is_seen=True)
    land.settle()
    assert len(land.real(1).ghosts) == 3
    return land


def test_property_and_call_are_counted_for_each_receiver():
    land = scene()
    before = account_of(land)
    land.do(1, lambda part: setattr(part, "steps", 1))
    land.step(5)
    # Ghosts: flag, place of the property, value (1 + 4 + 4). Clients: id of the message, alias, value (1 + 1 + 4).
    assert grown(land, before) == {
        ("steps", "ghosts"): (3, 27),
        ("steps", "own client"): (1, 6),
        ("steps", "other clients"): (2, 12),
    }
    before = account_of(land)
    land.do(1, lambda part: part.others.on_stepped(1))
    land.do(1, lambda part: setattr(part, "gold", 9))
    land.step(5)
    assert grown(land, before) == {
        ("on_stepped()", "ghosts"): (3, 12),
        ("on_stepped()", "other clients"): (2, 12),
        ("gold", "own client"): (1, 6),
    }


def test_change_without_receivers_costs_nothing():
    land = scene()
    before = account_of(land)
    land.do(1, lambda part: setattr(part, "luck", 3))
    land.step(5)
    assert grown(land, before) == {}


def test_client_that_lacks_more_than_the_headline_is_counted():
    """Clients that are not served for some ticks get the steps from the history."""
    land = scene()
    before = account_of(land)
    for app in land.cells:
        app.scheduler.serve_all = lambda: None
    for number in (1, 2, 3):
        land.do(1, lambda part, number=number: setattr(part, "steps", number))
        land.step()
    for app in land.cells:
        del app.scheduler.serve_all
    land.step(5)
    assert grown(land, before)["steps", "other clients"] == (6, 36)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_sums_are_what_was_sent(seed, monkeypatch):
    """All that clients got and all that was sent to ghosts is in the account, and nothing else."""
    land = Land(4, corner=True, seed=seed)
    heard = dict.fromkeys(("clients", "ghosts"), 0)

    def listen(app):
        send = app.outbox.send

        def sent(peer, message):
            if isinstance(message, TO_GHOSTS):
                heard["ghosts"] += len(REGISTRY.encode(message))
            return send(peer, message)

        def hear(entity, reliable, loose):
            heard["clients"] += reliable + loose

        monkeypatch.setattr(app.outbox, "send", sent)
        overhear(app.scheduler, hear)

    for app in land.cells:
        listen(app)
    for entity in range(1, 7):
        land.create(entity, 4.0 * entity, 5.0, is_seen=entity != 4)
    land.settle()
    for turn in range(8):
        for entity in range(1, 7):
            land.act(entity, "step")
            land.put(entity, 4.0 * entity + turn, 5.0 + 30.0 * (entity == 1) * turn)
        land.act(2, "say", "hello")
        land.step()
    land.base.destroy(3)
    land.settle()
    land.put(1, 5.0, 5.0)
    land.settle()
    account = account_of(land)
    ghosts = sum(size for (_, to), (_, size) in account.items() if to == To.GHOSTS.value)
    assert ghosts == heard["ghosts"]
    assert sum(size for _, size in account.values()) - ghosts == heard["clients"]
    assert account["(coming and going)", "ghosts"][0]
    assert account["bag", "other clients"][1] > account["steps", "other clients"][1] > 0


def test_an_event_bears_the_same_row_on_real_and_ghost():
    land = scene()
    land.act(3, "step")
    land.act(1, "step")
    land.settle()
    [first, *others] = [app.bodies[1].history.since(app.bodies[1].history.floor) for app in land.cells]
    assert first
    assert len({event.row for event in first}) == 3
    assert all(each == first for each in others)


def test_the_lines_are_those_with_something_in_them_most_bytes_first():
    account = SentAccount()
    few, none, many = (account.row("Avatar", what, To.GHOSTS) for what in ("few", "none", "many"))
    assert account.row("Avatar", "few", To.GHOSTS) == few
    assert len({few, none, many, account.row("Avatar", "few", To.OWN_CLIENT)}) == 4
    account.add(few, 1, 5)
    account.add(many, 2, 50)
    account.add(few, 1, 6)
    assert account.lines() == [
        {"type": "Avatar", "what": "many", "to": "ghosts", "messages": 2, "bytes": 50},
        {"type": "Avatar", "what": "few", "to": "ghosts", "messages": 2, "bytes": 11},
    ]


def test_the_names_of_subjects():
    names = {AVATAR.cell_properties[at].name: at for at in range(len(AVATAR.cell_properties))}
    assert all(name_of(AVATAR, at) == name for name, at in names.items())
    methods = {name_of(AVATAR, ~at) for at in range(len(AVATAR.client_methods))}
    assert methods >= {"on_said()", "on_stepped()", "health.on_healed()"}
    assert (name_of(AVATAR, PLACE), name_of(AVATAR, RIDE)) == ("(places)", "(rides)")
    assert (name_of(AVATAR, 999), name_of(AVATAR, ~99)) == ("property 999", "method 99()")


@pytest.mark.parametrize("form", FORMS)
def test_tally_grows_and_keeps_its_rows(form):
    tally: Tally = form_of(form, "tally").Tally()
    rows = [tally.new_row() for _ in range(100)]
    assert rows == list(range(1, 101))
    for row in rows:
        tally.add(row, row, 1 << 40)
    tally.add(7, 1, -1)
    assert len(tally) == 101
    assert [tally.get(row)[0] for row in (0, 1, 7, 100)] == [0, 1, 8, 100]
    assert tally.get(7)[1] == (1 << 40) - 1
    for row in (-1, 101):
        with pytest.raises(IndexError):
            tally.add(row, 1, 1)
        with pytest.raises(IndexError):
            tally.get(row)
