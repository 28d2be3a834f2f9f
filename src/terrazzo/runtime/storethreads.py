"""The threads that work for DBApp: one for each lane of its `StoreQueue`; each sleeps until there is work.

After an exception in a thread the process must end, since submitted work would never be answered. `error` has it, and
the driver of the app checks it: a UsageError is for the operator, any other is a broken invariant.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from terrazzo.db.store import Database, Passwords, StoreLane, StoreQueue

PASSWORDS_S = 0.2


class StoreThreads:
    """A store over a blocking database, with its threads."""

    def __init__(self, database: Database, passwords: Passwords) -> None:
        self.error: BaseException | None = None
        self.on_done: Callable[[], object] | None = None
        """Called from a thread when operations are done."""
        self.store = StoreQueue(database, passwords, self._wake)
        self._database = database
        self._is_closing = False
        self._bells = {lane: threading.Event() for lane in StoreLane}
        self._threads = {lane: threading.Thread(target=self._work, args=(lane,), name=lane.value) for lane in StoreLane}
        for thread in self._threads.values():
            thread.daemon = True  # a process that has failed does not wait for them
            thread.start()

    def close(self) -> None:
        """Ends the threads, then the database, after everything is written, unless the database is out of reach.
        Pending password checks are dropped."""
        self._is_closing = True
        self._database.stop_waiting()
        for lane in StoreLane:
            self._wake(lane)
        self._threads[StoreLane.DATABASE].join()
        self._threads[StoreLane.PASSWORDS].join(PASSWORDS_S)
        self._database.close()

    def _wake(self, lane: StoreLane) -> None:
        bell = self._bells[lane]
        if not bell.is_set():  # a bell that is set rings for this work, too: the thread clears it before it looks
            bell.set()

    def _work(self, lane: StoreLane) -> None:
        bell = self._bells[lane]
        try:
            while True:
                bell.wait()
                bell.clear()
                while self.store.work(lane):
                    if self.on_done is not None and not self._is_closing:
                        self.on_done()
                if self._is_closing:
                    return
        except BaseException as error:
            self.error = error
