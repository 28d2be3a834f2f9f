"""What a BaseApp hands over when it ends and could not save: records, and which ones they may replace."""

from __future__ import annotations

from hashlib import sha256

from terrazzo.wire.pairs.base_db import Save, Saved
from terrazzo.wire.pairs.login_db import BOT_DBID_FIRST
from tests.base.base_harness import Town


def test_record_that_the_database_holds_is_named_however_many_saves_have_failed():
    town = Town()
    proxy, _ = town.attached()
    [held] = proxy.saver._stored
    town.answers[Save] = lambda request: "the disk is full"
    for gold in range(80):
        proxy.part.gold = gold
        proxy.part.save()
        town.step(1, 40.0)
    tried = {sha256(each.record).hexdigest() for each in town.told(Save)}
    assert len(tried) > 70
    [unsaved] = town.app.unsaved()
    assert held in unsaved.replaces
    assert len(unsaved.replaces) < 70, "and not more than that"


def test_record_that_was_confirmed_is_named_though_it_had_been_held_before():
    town = Town()
    proxy, _ = town.attached()
    proxy.part.save()
    town.settle()
    before = proxy.part.gold
    town.answers[Save] = lambda request: "the disk is full"
    proxy.part.gold = 1
    proxy.part.save()
    town.step()
    proxy.part.gold = before
    town.answers[Save] = lambda request: Saved(request.dbid)
    town.step(3, 5.0)
    last = town.told(Save)[-1]
    assert proxy.saver.is_idle
    assert proxy.saver._stored == [sha256(last.record).hexdigest()]


def test_bot_that_could_not_be_saved_is_not_handed_over():
    town = Town()
    town.attached(dbid=BOT_DBID_FIRST + 3)
    town.attached(dbid=6)
    town.answers[Save] = lambda request: "the disk is full"
    town.app.stop()
    town.step(3)
    assert [each.dbid for each in town.app.unsaved()] == [6]


def test_entity_that_cannot_be_encoded_does_not_keep_the_others_from_being_handed_over(monkeypatch):
    town = Town()
    broken, _ = town.attached(dbid=5)
    town.attached(dbid=6)

    def fail():
        raise ValueError("a value of the game")

    monkeypatch.setattr(broken.saver, "unsaved", fail)
    town.answers[Save] = lambda request: "the disk is full"
    town.app.stop()
    town.step(3)
    assert [each.dbid for each in town.app.unsaved()] == [6]
    assert "what is not saved" in str(town.logs("entity work failed")[-1]["what"])
