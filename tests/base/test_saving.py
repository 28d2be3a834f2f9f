"""Saving: what is written, when, and what happens when it cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from terrazzo.base.limits import KEY_S
from terrazzo.base.saving import RETRY_MAX_S
from terrazzo.errors import UsageError
from terrazzo.schema.record import decode_record
from terrazzo.wire.ids import EntityId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cell import WantCellData
from terrazzo.wire.pairs.base_db import LoggedOff, LogOffRecorded, Save, Saved
from tests.base.base_harness import AVATAR, BYE, CREATURE, DB, Town, cell_data


def test_a_save_asks_the_cell_part_first():
    town = Town()
    proxy, _ = town.playing()
    proxy.part.save()
    town.settle()
    assert town.cell.got(WantCellData) == [WantCellData()]
    assert town.told(Save) == []
    town.cell.say(proxy.id, cell_data(name="Anna"))
    town.settle()
    [save] = town.told(Save)
    values, extra = decode_record(AVATAR, save.record)
    assert (values["name"], extra["@space"]) == ("Anna", b"hall")
    assert proxy.has_cell
    assert town.told(LoggedOff) == []


def test_a_cell_part_that_does_not_answer_does_not_stop_a_save():
    town = Town()
    proxy, _ = town.playing()
    proxy.part.save()
    town.step(60)
    assert len(town.told(Save)) == 1
    assert len(town.logs("cell part did not send its values")) == 1


def test_repeated_first_save_names_the_entity():
    town = Town()
    proxy, _ = town.attached()
    proxy.data.dbid = 0
    town.is_forced = True
    asked: list[tuple[int, int]] = []

    def answer(request: Save) -> Message | None:
        asked.append((request.dbid, request.entity))
        return None if len(asked) == 1 else Saved(77)  # the first answer is lost, but the record was made

    town.answers[Save] = answer
    proxy.part.save()
    town.step(40, 1.0)
    assert asked[:2] == [(0, proxy.id)] * 2
    assert proxy.data.dbid == 77


def test_saves_asked_for_meanwhile_are_one_more():
    town = Town()
    proxy, _ = town.attached()
    town.answers[Save] = lambda request: None
    proxy.part.save()
    proxy.part.gold = 1
    proxy.part.save()
    proxy.part.gold = 2
    proxy.part.save()
    town.step()
    assert len(town.told(Save)) == 1
    proxy.saver._on_answer(Saved(5))
    town.answers[Save] = lambda request: Saved(5)
    town.settle()
    records = [decode_record(AVATAR, each.record)[0]["gold"] for each in town.told(Save)]
    assert records == [30, 2]


def test_a_new_entity_gets_its_number_in_the_database():
    town = Town()
    proxy, _ = town.attached(dbid=5)
    proxy.data.dbid = 0
    town.is_forced = True
    proxy.part.save()
    town.settle()
    assert [each.dbid for each in town.told(Save)] == [0]
    proxy.part.save()
    town.settle()
    assert [each.dbid for each in town.told(Save)] == [0, 77]


@pytest.mark.parametrize("way", ["refused", "silent", "no link", "nonsense"])
def test_failed_save_is_repeated_and_the_client_waits_for_it(way):
    town = Town()
    _, session = town.attached()
    answers: dict[str, Message | str] = {"refused": "the disk is full", "nonsense": LoggedOff(1, 2, 3)}
    town.answers[Save] = lambda request: answers.get(way)
    if way == "no link":
        town.app.on_link_lost(DB)
    town.hear(session, BYE)
    town.step(120, 1.0)
    assert town.told(LoggedOff) == []
    assert not session.is_closed()
    failures = town.logs("save failed")
    assert 4 <= len(failures) <= 12
    assert [each["again_s"] for each in failures[:3]] == [1.0, 2.0, 4.0]
    assert max(float(str(each["again_s"])) for each in failures) <= RETRY_MAX_S
    assert town.app.view()["saving"] == 1
    town.answers[Save] = lambda request: Saved(request.dbid)
    if way == "no link":
        town.app.on_link_up(DB)
    town.step(50, 1.0)
    assert len(town.told(LoggedOff)) == 1
    assert session.is_closed()


def test_what_is_too_large_is_not_lost_silently():
    town = Town()
    proxy, _ = town.attached()
    proxy.data.cell["name"] = "x" * (1 << 20)
    proxy.part.save()
    town.settle()
    [failure] = town.logs("save failed")
    assert "over its limit" in str(failure["why"])
    proxy.data.cell["name"] = "short"
    town.step(2, 1.0)
    assert len(town.told(Save)) == 1


def test_entities_that_were_never_stored_go_without_a_word():
    town = Town()
    town.server.create("Creature", space="plaza", position=(0, 0, 0))
    town.settle()
    creature = town.app.bases[EntityId(2000)]
    assert creature.schema is CREATURE
    creature.part.destroy()
    town.settle()
    assert creature.id in town.app.bases
    data = cell_data()
    row = CREATURE.cell_layout.row.encode([0, 0])
    town.cell.say(creature.id, data.__class__("plaza", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), row, True))
    town.settle()
    assert town.app.bases == {}
    assert town.told(Save) == town.told(LoggedOff) == []


def test_a_log_off_is_repeated_until_it_is_confirmed_however_long_the_link_is_lost():
    """A client that never came, while the link with DBApp is lost for longer than every time limit."""
    town = Town()
    town.log_on()
    town.app.on_link_lost(DB)
    town.step(1, KEY_S + 1.0)
    town.step()
    assert town.app.bases == {}
    for _ in range(20):
        town.step(1, 60.0)
    assert town.told(LoggedOff) == []
    town.answers[LoggedOff] = lambda request: "the disk is full"
    town.app.on_link_up(DB)
    town.step(3, 3.0)
    assert len(town.told(LoggedOff)) > 1
    assert town.app.view()["logging_off"] == 1
    town.answers[LoggedOff] = lambda request: LogOffRecorded()
    town.step(3, 3.0)
    count = len(town.told(LoggedOff))
    town.step(5, 20.0)
    assert len(town.told(LoggedOff)) == count, "it is confirmed"
    assert town.app.view()["logging_off"] == 0


def test_log_off_without_an_answer_is_repeated_after_the_link_is_back():
    town = Town()
    town.answers[LoggedOff] = lambda request: None
    _, session = town.attached()
    town.hear(session, BYE)
    town.settle()
    town.app.on_link_lost(DB)
    town.answers[LoggedOff] = lambda request: LogOffRecorded()
    town.app.on_link_up(DB)
    town.step()
    assert len(town.told(LoggedOff)) == 2
    assert len(town.app.log_offs) == 0


def test_what_waits_to_be_saved_again_is_saved_at_once_when_the_link_is_back():
    town = Town()
    _, session = town.attached()
    town.app.on_link_lost(DB)
    town.hear(session, BYE)
    for _ in range(10):
        town.step(1, 31.0)
    assert town.told(Save) == []
    town.app.on_link_up(DB)
    town.step(3)
    assert (len(town.told(Save)), len(town.told(LoggedOff))) == (1, 1)


def test_what_is_not_persistent_cannot_be_saved():
    town = Town()
    proxy, _ = town.attached()
    proxy.schema = replace(AVATAR, persistent=False)
    with pytest.raises(UsageError, match="not persistent"):
        proxy.part.save()
