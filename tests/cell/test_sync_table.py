"""The receivers of a change: every flag × kind of change × receiver × moment; exactly the right ones, once, in order.

`sync_scene.py` plays each moment once; a row of the table looks at what one receiver got of one property. Base flags
are in the table, too: their changes are sent to the own client or not at all, in any migration.
"""

from __future__ import annotations

from functools import cache

import pytest

from terrazzo._speed.values import WHOLE
from terrazzo.schema.flags import Flags
from tests.cell.sync_scene import COLUMNS, KINDS, SUBJECT, Column, Heard, Moment, Receiver, Scene


@cache
def scene(moment: Moment) -> Scene:
    return Scene(moment)


def is_for(receiver: Receiver, column: Column) -> bool:
    """The table itself."""
    audience = column.flag.value
    return {
        Receiver.GHOST: audience.ghosted,
        Receiver.OWN: audience.own_client,
        Receiver.NEAR: audience.other_clients,
        Receiver.BEYOND: audience.other_clients and not column.is_detail,
    }[receiver]


def got(play: Scene, receiver: Receiver, column: Column) -> list[list[Heard]]:
    """Of each receiver of that kind, what it got of the property."""
    logs = list(play.ghosts.values()) if receiver is Receiver.GHOST else [play.logs[receiver]]
    return [log.heard.get(column.name, []) for log in logs]


def test_the_table_has_every_flag_and_kind_of_change():
    assert {(each.flag, each.kind, each.is_detail) for each in COLUMNS} == {
        (flag, kind, is_detail) for flag in Flags for kind in KINDS for is_detail in (False, True)
    }
    assert {each.name for each in SUBJECT.properties} == {"name", *(each.name for each in COLUMNS)}


@pytest.mark.parametrize("moment", Moment, ids=lambda each: each.name.lower())
@pytest.mark.parametrize("receiver", Receiver, ids=lambda each: each.name.lower())
@pytest.mark.parametrize("column", COLUMNS, ids=lambda each: each.name)
def test_the_right_ones_get_every_change_once_and_in_order(column: Column, receiver: Receiver, moment: Moment):
    play = scene(moment)
    made = play.made.heard.get(column.name, [])
    assert len(made) >= 7 or column.flag is Flags.EDITOR_ONLY
    expected = made if is_for(receiver, column) else []
    lists = got(play, receiver, column)
    assert len(lists) == (2 if receiver is Receiver.GHOST else 1)
    for heard in lists:
        assert heard == expected


# What is beyond the level, and comes closer. The subject stands at -5, -5.

DETAILS = {each.name for each in COLUMNS if each.is_detail and each.flag.value.other_clients}
PLAIN = {each.name for each in COLUMNS if not each.is_detail and each.flag.value.other_clients}
FAR, EDGE, NEAR = (-5.0, 55.0), (-5.0, 30.0), (-5.0, 15.0)
"""Beyond the level; within its hysteresis; in it."""


def whole_now(play: Scene, names: set[str]) -> dict[str, list[Heard]]:
    return {name: [Heard(WHOLE, play.made.heard[name][-1].value)] for name in names}


@pytest.mark.parametrize("side", [1.0, -1.0], ids=["in one cell", "through two cells"])
def test_client_that_comes_closer_gets_each_missed_change_once(side: float):
    play = Scene(Moment.STEADY)

    def walk(to: tuple[float, float]) -> dict[str, list[Heard]]:
        return play.walk("far", to[0], to[1])[Receiver.BEYOND].heard

    assert walk(NEAR) == whole_now(play, DETAILS), "the latest of each, and no more"
    assert walk((FAR[0] * side, FAR[1])) == {}
    assert walk(NEAR) == {}, "to and fro without changes: nothing"
    walk((FAR[0] * side, FAR[1]))
    changed = play.change("all_clients_nested_near")
    assert play.walk("near", -9.0, 9.0)[Receiver.BEYOND].heard == {}
    assert walk(NEAR) == whole_now(play, {changed}), "just what changed"
    assert play.seats["far"].app.view.others[play.subject].state[changed] == play.value(changed)


def test_a_level_is_left_later_than_it_is_entered():
    play = Scene(Moment.STEADY)
    assert play.walk("far", *EDGE)[Receiver.BEYOND].heard == {}
    play.edit()
    heard = play.walk("far", *EDGE)[Receiver.BEYOND].heard
    assert heard.keys() == PLAIN, "not near enough yet"
    play.walk("far", *NEAR)
    play.walk("far", *EDGE)
    play.edit()
    heard = play.walk("far", *EDGE)[Receiver.BEYOND].heard
    assert heard.keys() == PLAIN | DETAILS, "still near enough"
