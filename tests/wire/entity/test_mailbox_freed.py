"""A mailbox that has left is freed at once, by reference counts: a CellApp runs the garbage collector very seldom."""

from __future__ import annotations

import gc

from terrazzo.wire.entity.mailbox import Mailbox
from tests.wire.entity.entity_harness import X, Y, pair


def mailboxes() -> int:
    return sum(isinstance(each, Mailbox) for each in gc.get_objects())


def test_mailbox_that_has_left_needs_no_garbage_collector():
    town = pair()
    town["A"].send(X, Y, b"hello")
    town.settle(1.0)
    gc.collect()
    gc.disable()
    try:
        before = mailboxes()
        for _ in range(10):
            town.move(X, "A", "C")
            town.settle(3.0)  # longer than the timers of what waits for an answer
            town.move(X, "C", "A")
            town.settle(3.0)
        assert mailboxes() == before
    finally:
        gc.enable()
