"""The queue between an app and its database: which thread runs what, when, and in which order."""

from __future__ import annotations

import random

from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.passwords import Cost, Hasher
from terrazzo.db.store import CheckPassword, HashPassword, LoadEntity, SaveEntity, StoreLane, StoreQueue, TakeIds


class Desk:
    """A queue over a database in memory, and everything it called back."""

    def __init__(self) -> None:
        self.database = MemoryDatabase()
        self.wanted: list[StoreLane] = []
        hasher = Hasher(random.Random(1).randbytes, Cost(log_n=1, r=1))
        self.store = StoreQueue(self.database, hasher, self.wanted.append)
        self.got: list[object] = []

    def submit(self, operation):
        self.store.submit(operation, self.got.append, lambda reason: self.got.append(f"failed: {reason}"))


def test_nothing_is_called_before_it_was_worked_on_and_polled():
    desk = Desk()
    desk.submit(TakeIds(5))
    assert desk.wanted == [StoreLane.DATABASE]
    desk.store.poll()
    assert desk.database.next_entity_id == 1
    assert desk.store.work(StoreLane.DATABASE)
    assert (desk.got, len(desk.store)) == ([], 1)
    desk.store.poll()
    assert (desk.got, len(desk.store)) == ([1], 0)
    desk.store.poll()
    assert desk.got == [1]
    assert not desk.store.work(StoreLane.DATABASE)


def test_the_database_lane_keeps_the_order():
    desk = Desk()
    desk.submit(SaveEntity("Avatar", 0, b"a"))
    desk.submit(SaveEntity("Avatar", 1, b"b"))
    desk.submit(LoadEntity("Avatar", 1))
    desk.submit(SaveEntity("Avatar", 1, b"c"))
    while desk.store.work(StoreLane.DATABASE, limit=1):
        pass
    desk.store.poll()
    assert desk.got == [1, 1, b"b", 1]
    assert desk.database.entities[1] == ("Avatar", b"c")


def test_passwords_do_not_hold_up_the_database():
    desk = Desk()
    desk.submit(HashPassword("secret"))
    desk.submit(TakeIds(1))
    assert desk.wanted == [StoreLane.PASSWORDS, StoreLane.DATABASE]
    desk.store.work(StoreLane.DATABASE)
    desk.store.poll()
    assert desk.got == [1]
    desk.store.work(StoreLane.PASSWORDS)
    desk.store.poll()
    kept = desk.got[1]
    assert isinstance(kept, str)
    desk.submit(CheckPassword("secret", kept))
    desk.submit(CheckPassword("wrong", kept))
    desk.submit(CheckPassword("secret", None))
    desk.submit(CheckPassword("secret", "rubbish"))
    desk.store.work(StoreLane.PASSWORDS)
    desk.store.poll()
    assert desk.got[2:5] == [True, False, False]
    assert str(desk.got[5]).startswith("failed: the stored password hash")


def test_what_fails_calls_failed():
    desk = Desk()
    desk.database.failing = "the disk is full"
    desk.submit(SaveEntity("Avatar", 0, b"a"))
    desk.store.work(StoreLane.DATABASE)
    desk.store.poll()
    assert desk.got == ["failed: the disk is full"]
    assert desk.database.entities == {}


def test_a_crash_falls_between_two_operations():
    desk = Desk()
    for record in (b"a", b"b", b"c"):
        desk.submit(SaveEntity("Avatar", 0, record))
    desk.store.work(StoreLane.DATABASE, limit=2)
    assert [record for _, record in desk.database.entities.values()] == [b"a", b"b"]
    assert desk.got == []


def test_what_is_submitted_in_a_callback_waits_for_the_next_poll():
    desk = Desk()
    desk.store.submit(TakeIds(1), lambda first: desk.submit(TakeIds(1)), desk.got.append)
    desk.store.work(StoreLane.DATABASE)
    desk.store.poll()
    assert (desk.got, len(desk.store)) == ([], 1)
    desk.store.work(StoreLane.DATABASE)
    desk.store.poll()
    assert desk.got == [2]


def test_a_password_is_in_no_repr():
    assert "secret" not in repr(HashPassword("secret")) + repr(CheckPassword("secret", None))


def test_a_password_that_goes_first_does_not_wait_for_those_before_it():
    desk = Desk()
    desk.submit(HashPassword("secret"))
    desk.store.work(StoreLane.PASSWORDS)
    desk.store.poll()
    [hashed] = desk.got
    for _ in range(5):
        desk.submit(CheckPassword("wrong", str(hashed)))
    desk.submit(CheckPassword("secret", str(hashed), goes_first=True))
    desk.store.work(StoreLane.PASSWORDS, limit=1)
    desk.store.poll()
    assert desk.got[1:] == [True]
