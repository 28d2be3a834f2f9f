"""`await self.save()`: it ends when the values are durable, or raises. The archive; one state of both parts."""

from __future__ import annotations

from terrazzo.base.saveslots import SLOTS, Archive, SaveSlots
from terrazzo.base.saving import ROUNDS_MAX
from terrazzo.errors import CallTimeout, SaveFailed
from terrazzo.schema.record import decode_record
from terrazzo.wire.ids import EntityId
from terrazzo.wire.pairs.base_cell import WantCellData
from terrazzo.wire.pairs.base_db import Save, Saved
from terrazzo.wire.pairs.login_db import BOT_DBID_FIRST
from tests.base.base_harness import AVATAR, DB, Town, cell_data
from tests.fake_host import FakeHost


class Diary:
    """A method of a proxy that saves and waits."""

    def __init__(self, proxy, timeout=30.0):
        self.proxy = proxy
        self.events = []
        proxy.guarded("diary", self.run, (timeout,))

    async def run(self, timeout):
        try:
            await self.proxy.part.save(timeout=timeout)
        except (SaveFailed, CallTimeout) as problem:
            self.events.append(problem)
        else:
            self.events.append("durable")


def gold_of(save):
    return decode_record(AVATAR, save.record)[0]["gold"]


def test_awaited_save_ends_when_it_is_confirmed_and_not_before():
    town = Town()
    proxy, _ = town.attached()
    answers = [None, "the disk is full", Saved(5)]
    town.answers[Save] = lambda request: answers.pop(0)
    diary = Diary(proxy)
    town.settle()
    assert (len(town.told(Save)), diary.events) == (1, [])
    town.step(15, 1.0)
    assert (len(town.told(Save)), diary.events) == (3, ["durable"])


def test_awaited_save_that_is_asked_for_meanwhile_waits_for_the_next_record():
    town = Town()
    proxy, _ = town.attached()
    town.answers[Save] = lambda request: None
    first = Diary(proxy)
    town.step()
    proxy.part.gold = 99
    second = Diary(proxy)
    proxy.saver._on_answer(Saved(5))
    town.step(2)
    assert (first.events, second.events) == (["durable"], [])
    assert gold_of(town.told(Save)[-1]) == 99
    proxy.saver._on_answer(Saved(5))
    town.step(2)
    assert second.events == ["durable"]


def test_awaited_save_that_is_over_time_raises_the_last_reason_and_is_still_tried():
    town = Town()
    proxy, _ = town.attached()
    town.answers[Save] = lambda request: "the disk is full"
    diary = Diary(proxy, timeout=4.0)
    town.step(8, 1.0)
    [problem] = diary.events
    assert isinstance(problem, CallTimeout)
    assert "the disk is full" in str(problem)
    town.answers[Save] = lambda request: Saved(5)
    town.step(8, 1.0)
    assert proxy.saver.is_idle


def test_awaited_save_of_values_that_cannot_be_saved_fails_at_once():
    town = Town()
    proxy, _ = town.attached()
    proxy.data.cell["name"] = "x" * (1 << 20)
    diary = Diary(proxy)
    town.settle()
    [problem] = diary.events
    assert isinstance(problem, SaveFailed)
    assert "over its limit" in str(problem)


def test_base_that_calls_its_cell_part_meanwhile_asks_for_the_values_again():
    town = Town()
    proxy, _ = town.playing()
    proxy.part.save()
    proxy.part.gold -= 5
    proxy.part.cell.heal(5)
    town.settle()
    assert len(town.cell.got(WantCellData)) == 1
    town.cell.say(proxy.id, cell_data(hp=100))  # as it was before the call
    town.settle()
    assert (len(town.cell.got(WantCellData)), town.told(Save)) == (2, [])
    town.cell.say(proxy.id, cell_data(hp=105))
    town.settle()
    [save] = town.told(Save)
    assert gold_of(save) == 25
    assert proxy.data.cell["hp"] == 105


def test_base_that_always_calls_its_cell_part_is_saved_nevertheless():
    town = Town()
    proxy, _ = town.playing()
    proxy.part.save()
    for _ in range(ROUNDS_MAX):
        assert town.told(Save) == []
        proxy.part.cell.heal(5)
        town.cell.say(proxy.id, cell_data())
        town.settle()
    assert len(town.told(Save)) == 1


def players(town, count):
    return [town.attached(dbid=100 + number)[0] for number in range(count)]


def test_no_more_saves_than_slots_are_under_way_and_what_waits_is_saved_with_its_newest_values():
    town = Town()
    all_of_them = players(town, SLOTS + 3)
    town.answers[Save] = lambda request: None
    for each in all_of_them:
        each.part.save()
    late = all_of_them[-1]
    late.part.gold = 77
    town.settle()
    assert len(town.told(Save)) == SLOTS
    assert town.app.queues()["saves"] == 3
    town.answers[Save] = lambda request: Saved(request.dbid)
    for each in all_of_them[:3]:
        each.saver._on_answer(Saved(each.data.dbid))
    town.step(2)
    assert gold_of(town.told(Save)[-1]) == 77
    assert town.app.queues()["saves"] == 0


def test_long_line_of_saves_without_a_database_ends_in_retries_of_each():
    slots, tried = SaveSlots(1), []
    slots.take(lambda: None)
    for number in range(5000):

        def go(number=number):
            tried.append(number)
            slots.give()

        assert not slots.take(go)
    slots.give()
    assert (tried, len(slots)) == ([*range(5000)], 0)


class Stored:
    def __init__(self, name, seen):
        self.name, self.seen = name, seen

    def archive(self):
        self.seen.append(self.name)


def test_archive_saves_each_base_once_in_a_period_and_spread_over_it():
    host, seen = FakeHost(), list[int]()
    bases = {EntityId(number): Stored(number, seen) for number in range(100)}
    archive = Archive(host, SaveSlots(), bases, 10.0)
    counts, began = [], host.now
    while len(seen) < 100 and host.now < began + 30.0:
        host.now += 0.1
        before = len(seen)
        archive.on_tick()
        counts.append(len(seen) - before)
    assert sorted(seen) == [*range(100)]
    assert max(counts) <= 2
    assert 19.0 < host.now - began < 21.0, "the first round was empty"


def test_archive_waits_while_half_of_the_slots_are_in_use():
    host, slots, seen = FakeHost(), SaveSlots(2), list[int]()
    archive = Archive(host, slots, {EntityId(1): Stored(1, seen)}, 1.0)
    slots.take(lambda: None)
    for _ in range(5):
        host.now += 1.0
        archive.on_tick()
    assert seen == []
    slots.give()
    archive.on_tick()
    assert seen == [1]


def test_archive_saves_what_has_changed_and_nothing_of_bots_or_of_what_was_never_saved():
    town = Town()
    changed, _ = town.attached(dbid=5)
    town.attached(dbid=6)
    town.attached(dbid=BOT_DBID_FIRST + 3)
    town.server.create("Creature")
    town.settle()
    changed.part.gold = 31
    for each in list(town.app.bases.values()):
        each.archive()
    town.settle()
    first = town.told(Save)
    assert 5 in [each.dbid for each in first]
    assert {each.dbid for each in first} <= {5, 6}, "the record of 6 is complete only now"
    for each in list(town.app.bases.values()):
        each.archive()
    town.settle()
    assert town.told(Save) == first, "nothing has changed since"
    town.app.on_link_lost(DB)
