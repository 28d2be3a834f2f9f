"""Levels of detail, and how changes, calls and places are sent: by distance, latest-only, or unreliably.

An avatar's badge belongs to the level "near" (20 m, hysteresis 5), its crest to "middle" (50 m, hysteresis 5). Cells
are side by side along x, so that it is z that takes an entity through the levels wherever it is at home.
"""

from __future__ import annotations

import pytest

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import PLACE, EntityEvent
from terrazzo.sync.protocol import EntityMessage, ToClient
from tests.cell.land import Land, eventful_land
from tests.cell.plain import AVATAR

SHIVER = AVATAR.cell_layout.index["shiver"]


def words(events: list[EntityEvent]) -> list[tuple[int, EntityMessage]]:
    """The entity and content of events; the rows in which they are counted differ from app to app."""
    return [(each.subject, each.message) for each in events]


class Meeting:
    """1 has a client and sees 2, which is so many metres away."""

    def __init__(self, z: float, *, seed: int | None = None, land: Land | None = None, **values) -> None:
        self.land = Land(seed=seed) if land is None else land
        self.screen = self.land.create(1, -8.0, is_seen=True)
        self.land.create(2, -8.0, z, **values)
        self.land.settle()
        self.reliable: list[bytes] = []
        hear = self.screen.hear

        def listen(message: bytes) -> None:
            self.reliable.append(message)
            hear(message)

        self.screen.hear = listen

    def go(self, z: float) -> list[tuple]:
        """The messages for the client of 1 while 2 goes there."""
        x = self.land.real(2).body.position[0]
        return self.told(lambda: self.land.put(2, x, z))

    def set(self, name: str, *values: object) -> list[tuple]:
        """The messages when a property gets these values, one after the other, in one tick."""

        def change(part) -> None:
            for value in values:
                setattr(part, name, value)

        return self.told(lambda: self.land.do(2, change))

    def call(self, name: str, *numbers: int) -> list[tuple]:
        return self.told(lambda: self.land.do(2, lambda part: [getattr(part.others, name)(each) for each in numbers]))

    def told(self, act) -> list[tuple]:
        before = len(self.screen.events)
        act()
        self.land.settle(12)
        return list(self.screen.events[before:])

    @property
    def seen(self):
        return self.screen.seen[2]


# Levels.


def test_a_description_has_what_belongs_to_its_level():
    far, middle, near = (Meeting(z, badge=7, crest=[1, 2]) for z in (70.0, 40.0, 10.0))
    assert [each.seen["badge"] for each in (far, middle, near)] == [0, 0, 7]
    assert [each.seen["crest"] for each in (far, middle, near)] == [[], [1, 2], [1, 2]]


def test_client_that_comes_closer_for_the_first_time_gets_the_level():
    meeting = Meeting(70.0, badge=7, crest=[1])
    assert meeting.go(40.0) == [("crest", 2, [1])]
    assert meeting.go(10.0) == [("badge", 2, 7)]


def test_through_two_levels_at_once():
    assert Meeting(70.0, badge=7, crest=[1]).go(10.0) == [("crest", 2, [1]), ("badge", 2, 7)]


def test_level_changes_without_other_changes_send_nothing():
    meeting = Meeting(10.0, badge=7, crest=[1])
    for z in (40.0, 70.0, 40.0, 10.0, 70.0, 10.0):
        assert meeting.go(z) == []
    assert meeting.reliable == []


def test_coming_closer_sends_exactly_what_changed_while_away():
    meeting = Meeting(10.0, badge=7, crest=[1])
    meeting.go(40.0)
    assert meeting.set("badge", 8) == []
    assert meeting.set("crest", [1, 2]) == [("crest", 2, [1, 2])], "it is still near enough for that"
    meeting.go(70.0)
    assert meeting.set("badge", 9) == []
    assert meeting.set("name", "two") == [("name", 2, "two")]
    assert meeting.go(40.0) == []
    assert meeting.go(10.0) == [("badge", 2, 9)]
    assert meeting.set("badge", 10) == [("badge", 2, 10)]


def test_a_level_is_kept_until_a_little_farther_out():
    meeting = Meeting(24.0)
    assert meeting.set("badge", 1) == []
    assert meeting.go(19.0) == [("badge", 2, 1)]
    meeting.go(24.0)
    assert meeting.set("badge", 2) == [("badge", 2, 2)]
    meeting.go(26.0)
    assert meeting.set("badge", 3) == []
    assert meeting.go(21.0) == []


def test_changes_inside_a_value_go_on_where_they_ended():
    """A nested change can only be applied to the value that it was made in."""
    meeting = Meeting(10.0, crest=[1])
    meeting.go(70.0)
    meeting.land.do(2, lambda part: part.crest.append(2))
    meeting.land.settle()
    assert meeting.seen["crest"] == [1]
    meeting.go(30.0)
    meeting.land.do(2, lambda part: part.crest.append(3))
    meeting.land.settle()
    assert meeting.seen["crest"] == [1, 2, 3]


def test_changes_and_crossings_in_one_tick():
    meeting = Meeting(10.0)

    def change_and_go(z: float, badge: int) -> None:
        meeting.land.do(2, lambda part: setattr(part, "badge", badge))
        meeting.land.put(2, -8.0, z)

    assert meeting.told(lambda: change_and_go(70.0, 1)) == [("badge", 2, 1)], "it was near until then"
    assert meeting.told(lambda: change_and_go(60.0, 2)) == []
    assert meeting.told(lambda: change_and_go(10.0, 3)) == [("badge", 2, 3)]


def test_a_client_that_remembers_gets_all_of_the_level_it_comes_back_to():
    meeting = Meeting(10.0, badge=7)
    meeting.go(70.0)
    meeting.set("badge", 8)
    meeting.go(300.0)
    assert 2 not in meeting.screen.seen
    meeting.go(10.0)
    assert meeting.seen["badge"] == 8


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("movers", [(1,), (2,), (1, 2)])
def test_levels_move_with_a_migrating_client(movers, seed):
    meeting = Meeting(10.0, seed=seed, badge=7, crest=[1])
    land = meeting.land
    meeting.go(70.0)
    before = len(meeting.screen.events)
    for entity in movers:
        land.put(entity, 8.0, land.real(entity).body.position[2])
    meeting.set("badge", 8)
    for _ in range(6):
        land.step()
    meeting.set("badge", 9)
    assert [land.home(entity) for entity in (1, 2)] == [int(entity in movers) for entity in (1, 2)]
    assert [each for each in meeting.screen.events[before:] if each[0] in ("badge", "crest")] == []
    assert meeting.go(0.0) == [("badge", 2, 9)]
    assert meeting.go(70.0) == meeting.go(0.0) == []


# Calls by distance.


def test_call_is_sent_up_to_its_detail_distance():
    meeting = Meeting(24.0)
    assert meeting.call("on_whispered", 1) == [("on_whispered", 2, 1)]
    meeting.go(26.0)
    assert meeting.call("on_whispered", 2) == []
    meeting.go(10.0)
    assert meeting.call("on_whispered", 3) == [("on_whispered", 2, 3)]


@pytest.mark.parametrize("on", [0, 1])
def test_last_calls_are_sent_up_to_their_distance(on):
    """Also of one that is a ghost here; its tombstone has them."""
    for z, heard in ((15.0, [("on_whispered", 2, 1), ("badge", 2, 9)]), (40.0, [])):
        meeting = Meeting(z)
        meeting.land.put(2, 8.0 * (2 * on - 1), z)
        meeting.land.settle()

        def die(part) -> None:
            part.others.on_whispered(1)
            part.badge = 9
            part.pose = 3
            part.destroy()

        told = meeting.told(lambda meeting=meeting: meeting.land.do(2, die))
        assert told == [*heard, ("pose", 2, 3), ("leave", 2)]


# The latest only.


def test_several_changes_of_a_tick_are_one_whole_change():
    meeting = Meeting(10.0)
    own = meeting.land.base.attach(2)
    meeting.land.settle()
    assert meeting.set("aim", [1], [2], [3]) == [("aim", 2, [3])]
    assert own.count("aim", 2) == 1
    meeting.land.do(2, lambda part: part.aim.append(4))
    meeting.land.do(2, lambda part: part.aim.append(5))
    meeting.land.settle()
    assert own.own is not None
    assert meeting.seen["aim"] == own.own["aim"] == [3, 4, 5]
    assert own.count("aim", 2) == meeting.screen.count("aim", 2) == 2


def test_client_that_comes_in_the_same_tick_gets_a_change_once():
    meeting = Meeting(10.0)
    meeting.land.do(2, lambda part: setattr(part, "aim", [1]))
    own = meeting.land.base.attach(2)
    meeting.land.settle()
    assert own.own is not None
    assert own.own["aim"] == [1]
    assert own.count("aim", 2) == 0


def test_last_of_several_latest_only_calls_is_sent():
    meeting = Meeting(10.0)
    assert meeting.call("on_blinked", 1, 2, 3) == [("on_blinked", 2, 3)]


def test_later_ones_replace_earlier_ones_in_history_on_real_and_ghost_alike():
    meeting = Meeting(10.0)
    for number in range(5):
        meeting.set("aim", [number])
        meeting.call("on_blinked", number)
        meeting.set("steps", number + 1)
    real, ghost = (meeting.land[at].bodies[2] for at in (0, 1))
    events = all_of(real)
    assert words(events) == words(all_of(ghost))
    latest = [each.subject for each in events if each.manner.is_latest]
    assert len(latest) == len(set(latest)) == 2
    assert sum(each.subject == AVATAR.cell_layout.index["steps"] for each in events) == 5


# What may be lost.


def all_of(body: Body) -> list[EntityEvent]:
    """Everything that its history has."""
    events = body.history.since(body.history.floor)
    assert events is not None
    return events


def loose(meeting: Meeting) -> list[bytes]:
    return [each for each in meeting.land.base.places.get(1, []) if each[0] != ToClient.PLACES]


def test_unreliable_changes_and_calls_go_with_the_places():
    meeting = Meeting(10.0)
    assert meeting.set("shiver", [1], [1, 2]) == []
    meeting.land.do(2, lambda part: part.shiver.append(3))
    meeting.call("on_twitched", 1)
    assert meeting.reliable == []
    assert len(loose(meeting)) == 4
    assert meeting.seen["shiver"] == [1, 2, 3], "each was told whole"
    real, ghost = (meeting.land[at].bodies[2] for at in (0, 1))
    for body in (real, ghost):
        assert all_of(body) == [], "they are not kept"
        assert body.history.has_changed(SHIVER, body.number - 2)


def test_unreliable_changes_for_the_own_client_may_be_lost_as_well():
    meeting = Meeting(10.0)
    meeting.land.do(1, lambda part: setattr(part, "shiver", [1]))
    meeting.land.settle()
    assert meeting.reliable == []
    assert meeting.screen.own["shiver"] == [1]


def test_unreliable_value_that_is_too_long_is_sent_reliably():
    meeting = Meeting(10.0)
    assert meeting.set("shiver", list(range(400))) == [("shiver", 2, list(range(400)))]
    assert loose(meeting) == []


@pytest.mark.parametrize("steps", [("pose", "shiver"), ("shiver", "pose"), ("shiver",)])
def test_client_that_was_not_served_gets_an_unreliable_value_with_the_next_change(steps):
    """An event that was not kept is not part of the next headline, whatever else was sent before."""
    meeting = Meeting(10.0)
    meeting.land.witness(1).sent.budget.deficit = 1e6
    for name in steps:
        meeting.land.do(2, lambda part, name=name: setattr(part, name, 1 if name == "pose" else [1]))
        meeting.land.step()
        meeting.land.witness(1).sent.budget.deficit = 1e6
    assert meeting.seen["shiver"] == [], "it could not be told"
    assert meeting.told(lambda: meeting.land.do(2, lambda part: setattr(part, "name", "two")))[-1] == ("shiver", 2, [1])
    assert meeting.seen["name"] == "two"


def test_new_ghost_has_the_stamps_of_unreliable_changes():
    """The witness comes to a cell with a copy of the other one that was made after an unreliable change."""
    meeting = Meeting(10.0)
    land, here = meeting.land, meeting.land[0].bodies[2]
    meeting.set("pose", 1)
    meeting.set("shiver", [1])
    assert here.history.newest < here.space.area.news(here.slot)
    past, news = here.history.pack(), here.space.area.news(here.slot)
    here.adopt(past)
    assert here.space.area.news(here.slot) == news
    assert land[1].bodies[2].space.area.news(land[1].bodies[2].slot) == news


# Places.


def test_position_that_is_not_volatile_is_sent_as_an_event():
    meeting = Meeting(10.0, land=eventful_land())
    assert meeting.go(12.0) == [("moved", (-8.0, 0.0, 12.0))]
    meeting.land.put(2, -8.0, 13.0)
    meeting.land.put(2, -8.0, 14.0)
    meeting.land.settle()
    assert meeting.screen.count("moved") == 2, "one a tick"
    assert meeting.screen.view.others[2].position == (-8.0, 0.0, 14.0)
    assert meeting.land.base.places.get(1, []) == []
    real, ghost = (meeting.land[at].bodies[2] for at in (0, 1))
    events = all_of(real)
    assert [each.subject for each in events] == [PLACE], "the latest replaced the others"
    assert words(events) == words(all_of(ghost))


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("movers", [(1,), (2,), (1, 2)])
def test_place_events_go_on_after_a_migration(movers, seed):
    meeting = Meeting(10.0, land=eventful_land(seed=seed))
    land = meeting.land
    for z in (11.0, 12.0, 13.0):
        for entity in movers:
            land.put(entity, 8.0, 0.0 if entity == 1 else z)
        land.step(2)
        meeting.go(z)
    assert [land.home(entity) for entity in (1, 2)] == [int(entity in movers) for entity in (1, 2)]
    assert meeting.screen.view.others[2].position == land.real(2).body.position
    assert land.base.places.get(1, []) == []


@pytest.mark.parametrize(("z", "heard"), [(15.0, [("on_whispered", 2, 1)]), (40.0, [])])
def test_witness_that_arrives_after_an_end_measures_last_calls_from_the_last_place(z, heard):
    """Its entry has no body any more; the tombstone has the events and the place."""
    meeting = Meeting(z)
    land = meeting.land
    packed = land.witness(1).pack()
    land[0].clients.set_witness(land.real(1), packed.witness, False)
    land.do(2, lambda part: part.others.on_whispered(1))
    land.do(2, lambda part: part.destroy())
    land.step(3)
    assert 2 not in land[0].bodies
    assert meeting.told(lambda: land[0].clients.unpack(land.real(1), packed)) == [*heard, ("leave", 2)]
