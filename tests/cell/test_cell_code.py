"""What a game's code can do with a body: properties, places, calls, timers, views, and mistakes."""

from __future__ import annotations

import pytest

from terrazzo.errors import UsageError
from terrazzo.schema.refs import Component, Ref
from terrazzo.schema.vectors import Vector3
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import CallCell, DestroyReal
from tests.cell.land import CELL_METHODS, Land
from tests.cell.plain import AVATAR, AvatarCell, Item


@pytest.fixture
def land():
    """Two avatars with clients on one side of the border, one on the other."""
    land = Land()
    for entity, x in ((1, -20.0), (2, -30.0), (3, 30.0)):
        land.create(entity, x, is_seen=True)
    land.settle()
    return land


def test_init_may_read_and_not_write():
    land = Land()
    land.create(1, -20.0, luck=4)
    assert land.part(1).lucky == 4
    assert land.part(1).events == ["created"]

    def write(self) -> None:
        self.steps = 5

    original, AvatarCell.__init__ = AvatarCell.__init__, write  # type: ignore[method-assign]
    try:
        land.create(2, -20.0)
    finally:
        AvatarCell.__init__ = original  # type: ignore[method-assign]
    problem = land.host.words("game error")[0]
    assert "write in on_created" in str(problem["error"])
    assert land.part(2).steps == 0


def test_property_is_sent_to_its_receivers(land):
    land.do(1, lambda part: part.__setattr__("gold", 9))
    land.do(1, lambda part: part.__setattr__("pose", 3))
    land.do(1, lambda part: part.__setattr__("guild", "masons"))
    land.settle()
    one, two, three = (land.base.screens[entity] for entity in (1, 2, 3))
    assert one.count("gold", 1, 9) == 1
    assert one.count("pose") == 0, "OTHER_CLIENTS is not for the own one"
    assert two.count("pose", 1, 3) == three.count("pose", 1, 3) == 1
    assert two.count("gold") == three.count("gold") == 0
    assert land[1].bodies[1].state["guild"] == "masons"
    with pytest.raises(KeyError):
        land[1].bodies[1].state.layout.index["luck"]


def test_clients_are_called(land):
    land.do(1, lambda part: part.client.on_said("psst"))
    land.do(1, lambda part: part.others.on_said("hello"))
    land.do(1, lambda part: part.everyone.on_said("HEY"))
    land.settle()
    heard = {
        entity: [each[2] for each in screen.events if each[0] == "on_said"]
        for entity, screen in land.base.screens.items()
    }
    assert heard == {1: ["psst", "HEY"], 2: ["hello", "HEY"], 3: ["hello", "HEY"]}


def test_changes_and_calls_are_sent_in_the_order_made(land):
    for _ in range(3):
        land.act(1, "step")
    land.settle()
    told = [each[0] for each in land.base.screens[3].events if each[0] in ("steps", "on_stepped")]
    assert told == ["steps", "on_stepped"] * 3


def test_entities_in_range_gives_views_of_reals_and_ghosts_alike(land):
    views = land.do(1, lambda part: part.entities_in_range(60.0))
    assert [each.id for each in views] == [2, 3], "nearest first"
    for view in views:
        assert isinstance(view, AvatarCell)
        assert view.name == "nobody"
        assert view.space == "plain"
        with pytest.raises(UsageError, match="call one of its methods"):
            view.steps = 4
        with pytest.raises(UsageError, match="private"):
            view.gold
        with pytest.raises(UsageError, match="its own code"):
            view.position = (0, 0, 0)
        with pytest.raises(UsageError, match="its own code"):
            view.destroy()
        with pytest.raises(UsageError, match="its own code"):
            view.others.on_said("not me")
    assert land.do(1, lambda part: part.entities_in_range(5.0)) == []


def test_value_of_a_view_cannot_be_changed_inside(land):
    land.do(2, lambda part: part.bag.append(Item(kind=1)))
    land.settle()
    view = land.do(1, lambda part: part.entity(2))
    assert view.bag == [{"kind": 1, "count": 1}]
    with pytest.raises(UsageError, match="copy of a value of Avatar 2"):
        view.bag[0].count = 7
    with pytest.raises(UsageError, match="copy of a value"):
        view.bag.append(Item(kind=2))
    assert view.bag == [{"kind": 1, "count": 1}]


def test_calling_a_view_runs_where_the_real_is(land):
    land.do(1, lambda part: [each.hit(5) for each in part.entities_in_range(60.0)])
    assert list(land.part(2).purse) == [], "also one that is here is called through its mailbox, in order"
    land.settle()
    assert list(land.part(2).purse) == list(land.part(3).purse) == [5]


def test_a_call_needs_a_caller(land):
    view = land.do(1, lambda part: part.entity(3))
    with pytest.raises(UsageError, match="from the code of an entity"):
        view.hit(1)


def test_entities_by_id_and_by_ref(land):
    part = land.part(1)
    assert part.entity(1) is part
    assert part.entity(99) is None
    assert part.me == Ref(1, Component.CELL, AVATAR.type_id)
    land.do(1, lambda part: part.ref(3).hit(1))
    land.do(1, lambda part: part.ref(Ref(3, Component.CELL, AVATAR.type_id)).hit(power=2))
    land.do(1, lambda part: part.ref(Ref(3, Component.BASE, AVATAR.type_id)).note("seen"))
    land.do(1, lambda part: part.base.note("mine"))
    land.settle()
    assert list(land.part(3).purse) == [1, 2]
    assert len(land.base.calls_of(3)) == len(land.base.calls_of(1)) == 1
    for wrong, words in ((99, "not known"), (Ref(3), "no entity type"), (Ref(3, Component.CLIENT, 1), "cell and base")):
        with pytest.raises(UsageError, match=words):
            part.ref(wrong)
    with pytest.raises(UsageError, match="no cell method 'dance'"):
        part.ref(3).dance()


def test_call_of_an_unknown_entity_comes_back(land):
    land.do(1, lambda part: part.ref(Ref(99, Component.CELL, AVATAR.type_id)).hit(1))
    land.step(150)
    (failed,) = [each for each in land.part(1).events if each[0] == 99]
    assert failed[1:] == ("hit", "there is no such entity (any more)")


def test_a_call_to_one_that_was_destroyed_meanwhile_comes_back(land):
    land.do(3, lambda part: part.destroy())
    land.do(1, lambda part: part.entity(3).hit(1))
    land.settle()
    (failed,) = [each for each in land.part(1).events if each[0] == 3]
    assert failed[2] == "it has no cell part"


def test_exposed_methods_only(land):
    land.base.call(1, "say", "hi", caller=1)
    land.base.call(1, "hit", 3, caller=1)  # not exposed at all
    land.base.call(2, "poke", 3, caller=2, to=1)  # exposed to all
    land.base.call(2, "say", "fake", caller=2, to=1)  # exposed to its own client only
    land.base.tell(1, CallCell(99, b"", 1))
    land.base.tell(1, CallCell(CELL_METHODS["say"], b"\x07", 1))
    land.settle()
    part = land.part(1)
    assert list(part.purse) == []
    assert ("poked", 3) in part.events
    assert part.pose == 2, "the caller is known during the call"
    assert part.caller == 0
    assert land.base.screens[2].count("on_said") == 1
    assert land[0].counts[LogEvent.CALL_REFUSED] == 4
    assert any("not exposed to client 2" in str(each["why"]) for each in land.host.words("call refused"))


def test_mail_that_is_not_of_the_own_base_is_refused(land):
    land.base.switchboard.send(land[0].bodies[2].base_part, land[0].bodies[1].part, b"no message at all")
    land.base.tell(2, DestroyReal(), to=1)
    land.settle()
    assert land.home(1) == 0
    assert land[0].counts[LogEvent.MAIL_REFUSED] == 2


def test_code_that_raises_costs_only_its_call(land):
    land.base.call(1, "fail")
    land.base.call(1, "hit", 4)
    land.settle()
    (problem,) = land.host.words("game error")
    assert "Avatar 1 in plain, fail, tick" in str(problem["what"])
    assert "this game has a mistake" in str(problem["error"])
    assert land.part(1).luck == 1
    assert list(land.part(1).purse) == [4]


def test_places_are_assigned(land):
    land.do(1, lambda part: setattr(part, "position", part.position + Vector3(1, 2, 3)))
    land.do(1, lambda part: setattr(part, "yaw", 1.5))
    land.settle()
    assert land.part(1).position == (-19.0, 2.0, 3.0)
    assert land[1].bodies[1].direction == (1.5, 0.0, 0.0)
    assert land.base.screens[1].count("moved", (-19.0, 2.0, 3.0)) == 2
    land.do(1, lambda part: setattr(part, "direction", (0.25, 0.5, 0.75)))
    land.do(1, lambda part: setattr(part, "pitch", part.roll))
    assert land.part(1).direction == (0.25, 0.75, 0.75)
    for wrong, words in (
        ((9999, 0, 0), "bounds of plain"),
        ((float("nan"), 0, 0), "three finite numbers"),
        ((1, 2), "position is three finite numbers"),
        (None, "three finite numbers"),
    ):
        with pytest.raises(UsageError, match=words):
            land.do(1, lambda part, to=wrong: setattr(part, "position", to))
    with pytest.raises(UsageError, match="finite"):
        land.do(1, lambda part: setattr(part, "roll", float("inf")))


def test_destroy_ends_the_body_everywhere(land):
    land.do(1, lambda part: part.others.on_said("farewell"))
    land.do(1, lambda part: part.destroy())
    assert 1 not in [each.id for each in land.do(2, lambda part: part.entities_in_range(99.0))]
    land.settle()
    assert land.home(1) is None
    assert all(1 not in app.bodies for app in land.cells)
    (data,) = land.base.data_of(1)
    assert data.is_last
    assert data.space == "plain"
    for entity in (2, 3):
        events = land.base.screens[entity].events
        assert events[events.index(("on_said", 1, "farewell")) :] == [("on_said", 1, "farewell"), ("leave", 1)]


def test_a_component_can_do_what_its_entity_can(land):
    land.do(3, lambda part: part.ref(1).health.heal(5))
    land.settle()
    assert land.part(1).health.hp == 15
    assert land.base.screens[1].count("on_healed", 1, 5) == 1
    assert land.part(1).gold == 5, "its timer is the entity's"
    assert land.base.screens[3].seen[1]["health.hp"] == 15
    view = land.do(3, lambda part: part.entity(1))
    assert view.health.hp == 15
    with pytest.raises(UsageError, match="its own code"):
        view.health.timer(1.0)
    with pytest.raises(UsageError, match="call one of its methods"):
        view.health.hp = 3
    land.do(3, lambda part: part.entity(1).health.heal(1))
    land.settle()
    assert land.part(1).health.hp == 16
    with pytest.raises(UsageError, match="no cell method 'rot'"):
        land.do(1, lambda part: part.ref(3).health.rot())


def test_entities_in_range_can_be_filtered_and_centred_elsewhere(land):
    found = lambda **how: [each.id for each in land.do(1, lambda part: part.entities_in_range(25.0, **how))]  # noqa: E731
    assert found() == [2]
    assert found(of=AvatarCell) == [2]
    assert found(of=int) == []
    assert found(position=(30.0, 0.0, 0.0)) == [3]
    with pytest.raises(UsageError, match="three finite numbers"):
        found(position=3)


def test_entity_of_a_second_life_enters_the_view_again(land):
    land.base.destroy(1)
    land.settle()
    land.base.create(land[0].me, 1, (-25.0, 0.0, 0.0), life=2, name="again")
    land.settle()
    assert land.part(1).name == "again"
    assert land.base.screens[3].count("enter", 1) == 2
    assert land.base.screens[3].seen[1]["name"] == "again"
