"""Stories 23 and 24: one leave, not two, not none; and nothing before the description.

`Screen` holds every word against the protocol: a change before its description, an alias that means nothing, an entity
that enters twice or comes back older than it left fails the test that caused it.
"""

from __future__ import annotations

import pytest

from terrazzo.sync.protocol import ToClient as Word
from terrazzo.sync.protocol import split_message, take_alias
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ToClient
from tests.cell.land import Land, watched_land


def test_race_23_out_of_sight_while_its_ghost_is_deleted():
    land = Land()
    screen = land.create(1, -10.0, is_seen=True)
    land.create(2, 30.0)
    land.settle()
    land.act(2, "step")
    land.put(2, 400.0)
    land.settle(60)
    assert 2 not in land[0].bodies
    assert screen.events[2:] == [("steps", 2, 1), ("on_stepped", 2, 1), ("leave", 2)]
    land.put(2, 30.0)
    land.settle()
    assert screen.count("enter", 2) == 2


@pytest.mark.parametrize("ghost_first", [True, False])
@pytest.mark.parametrize("jump", [True, False])
@pytest.mark.parametrize("ticks", range(3))
def test_race_23_leaving_while_the_witness_offloads(ghost_first, jump, ticks):
    land = Land()
    screen = land.create(1, -1.0, is_seen=True)
    land.create(2, -30.0)
    land.settle()
    land.walk(1, 5.0)
    land.step(ticks)
    land.act(2, "step")
    if jump:
        land.put(2, -300.0)
    else:
        land.do(2, lambda part: part.destroy())
    if ghost_first:
        land.tick(land[0])
    land.settle(60)
    assert land.home(1) == 1
    assert screen.events[2:] == [("steps", 2, 1), ("on_stepped", 2, 1), ("leave", 2)]


def test_race_23_the_last_words_of_the_tick_in_which_it_goes():
    land, screen = watched_land(10.0)
    land.act(2, "step")
    land.put(2, 300.0)
    land.act(2, "step")
    land.settle()
    assert [event for event in screen.events if event[0] != "steps"][2:] == [
        ("on_stepped", 2, 1),
        ("on_stepped", 2, 2),
        ("leave", 2),
    ]


def test_race_23_a_ghost_that_is_deleted_and_made_again_has_not_left():
    """The two are in one round of events: the new body goes on where the old one ended."""
    land = Land()
    screen = land.create(1, -10.0, is_seen=True)
    land.create(2, 30.0)
    land.settle()
    app, real = land[0], land[1].reals[2]
    create = real.ghost()
    app.receiver.remove(app.bodies[2], app.bodies[2].epoch, is_destroyed=False)
    app.on_message(land[1].me, create)
    assert app.bodies[2].real is None
    land.act(2, "step")
    land.settle()
    assert screen.events == [("player",), ("enter", 2), ("steps", 2, 1), ("on_stepped", 2, 1)]


def test_race_24_a_change_and_the_client_in_one_tick():
    """What the client gets with its own body it does not get again as a change."""
    land = Land()
    land.create(1, -20.0)
    land.base.call(1, "step")
    screen = land.base.attach(1)
    land.base.call(1, "step")
    land.settle()
    assert screen.own is not None
    assert screen.own["bag"] == [{"kind": 2, "count": 1}, {"kind": 2, "count": 2}]


@pytest.mark.parametrize("ticks", range(6))
def test_race_24_changes_and_calls_before_the_description(ticks):
    """Changes before it are not sent; the description has them, and later ones are sent once."""
    land, screen = watched_land(200.0)
    land.put(2, 10.0)
    for _ in range(ticks):
        land.act(2, "step")
        land.step()
    land.act(2, "step")
    land.settle()
    assert screen.seen[2]["steps"] == ticks + 1
    told = screen.count("on_stepped", 2)
    assert screen.events[1] == ("enter", 2)
    assert told <= ticks + 1
    if told:
        assert screen.events[2] == ("steps", 2, ticks + 2 - told)


def test_race_24_announced_in_one_cell_and_described_in_the_next():
    land = Land()
    screen = land.create(1, -5.0, is_seen=True)
    land.create(2, -200.0)
    land.settle()
    land.blocked.add((land.base.me, land[0].me))  # the client's want does not arrive
    land.put(2, -20.0)
    land.step(3)
    assert screen.events == [("player",)]
    assert not land.witness(1).pack().seen[0].flags & 8
    land.put(1, 5.0)
    land.act(2, "step")
    land.step(8)
    assert land.home(1) == 1
    land.settle()
    assert screen.events == [("player",), ("moved", (5.0, 0.0, 0.0)), ("enter", 2)]
    land.act(2, "step")
    land.settle()
    assert screen.count("on_stepped", 2) == 1


def test_race_24_what_is_announced_and_goes_before_its_description_was_never_there():
    land, screen = watched_land(200.0)
    land.blocked.add((land.base.me, land[0].me))
    land.put(2, 10.0)
    land.step(3)
    land.act(2, "step")
    land.put(2, 200.0)
    land.settle()
    assert screen.events == [("player",)]


def test_a_client_that_remembers_gets_what_has_changed():
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 60.0, name="two")
    land.settle()
    sizes = []
    hear = screen.hear

    def listen(message: bytes) -> None:
        number, body = split_message(message)
        if number == Word.DESCRIBE:
            sizes.append(len(take_alias(body)[1]) - 32)
        hear(message)

    screen.hear = listen
    for pose in (0, 5):
        land.put(2, 300.0)
        land.settle()
        if pose:
            land.do(2, lambda part, pose=pose: setattr(part, "pose", pose))
        land.put(2, 60.0)
        land.settle()
    assert sizes == [1, 3], "a count; a count, an index and a value"
    assert screen.seen[2]["pose"] == 5
    assert screen.seen[2]["name"] == "two"


def test_memory_of_a_withheld_entity_is_dropped():
    """It was wanted, and then withheld before it could be described: the client may have dropped it when it is shown
    again."""
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0, name="two")
    land.settle()
    for x in (300.0, 10.0):
        land.put(2, x)
        land.step(5 if x > 10.0 else 1)
    story = land.witness(1).sent
    story.budget.deficit = 1e6
    land.step(3)
    assert 2 in story._remembered
    land.do(1, lambda part: part.withhold_from_client(2))
    land.step(3)
    assert story._remembered == {}


def test_pending_message_about_an_entity_is_noted_once():
    """Any events of an entity while its client cannot be served."""
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.settle()
    story = land.witness(1).sent
    story.budget.deficit = 1e6
    land.create(2, 10.0)
    for x in (300.0, 10.0, 300.0, 10.0):
        land.put(2, x)
        land.step()
    assert list(story._undescribed) == [2]


def test_each_message_for_a_client_has_the_number_of_its_witness():
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    heard = []
    tell = land[0].scheduler.send_reliable

    def told(real, payload):
        heard.append(REGISTRY.decode_nested(payload))
        tell(real, payload)

    vars(land[0].scheduler)["send_reliable"] = told
    land.settle()
    assert {message.witness for message in heard if isinstance(message, ToClient)} == {1}
