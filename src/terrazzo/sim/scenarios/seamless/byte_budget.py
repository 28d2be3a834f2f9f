"""The bytes that CellApps send for a client stay within its budget, across any number of borders (P4).

The rule is that of `cell/client/budget.py`: so many bytes a second, in the long run. Messages of the own entity and
leaves of others (with their last changes, and the places of their riders) are sent in any case, and are owed
afterwards. Announcements, descriptions, changes and places of others are sent as far as the budget reaches: the last
message may exceed it, and the excess is owed. Unused bytes are saved, and both savings and debts are bounded by
CARRY_TICKS. A client that was not served for STARVED_TICKS serves in a row gets the bytes of one tick, whatever it
owes.

The judge keeps one account for each client (a proxy and its witness number) by the clock of the world, not by those of
the CellApps: the account continues when the witness arrives at the next cell. That bounds every window at once: in a
window of length T, the bytes about others are at most rate · T + savings + the excess of the last message + the bytes
of starved clients.

    filled     with time, up to what may be saved; a throttled app grants less, which is no fault
    others     a message about others is sent only while the account, less the own messages, is above zero
    too much   beyond that at most one place and the messages about two entities: the last headline (or announcement, or
               description) and the changes of the first entity that has more than a headline; the messages of an entity
               are sent as a whole, with the unreliable ones
    credit     at its first serve in a cell, a client that owes less than ADVANCE of a tick may be sent that much more
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.budget import ADVANCE, CARRY_TICKS, STARVED_TICKS, WAITED_MAX
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.client.scheduler import UPDATES_BYTES, UPDATES_MAX
from terrazzo.cell.client.witness import Witness
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.sim.oracle import Broken
from terrazzo.sync.protocol import OWN, split_message, take_alias
from terrazzo.sync.protocol import ToClient as Kind
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ClientUpdates, ToClient

OF_OWN = (Kind.CELL_PLAYER, Kind.SPACE, Kind.MOVED)
OF_OTHERS = (Kind.ANNOUNCE, Kind.PLACES)
"""Messages that do not begin with an alias."""
ENTRY_BYTES = 40
"""An entry of PLACES, with the heads of its message and its section."""
EDGE = 1.0
"""Bytes; sums of fractions are not exact."""


@dataclass
class Account:
    """The bytes that one client has left; below zero: what it owes."""

    left: float
    at: float
    waited: int = 0
    """Serves since something about others was sent."""


@dataclass
class Served:
    """The bytes sent for a client in one serve: about itself and of leaves, and about others."""

    has_riders: bool
    """How a place right after a leave is read: it is of a rider of what has left, or else of an entity in view."""
    own: int = 0
    others: int = 0
    by_alias: dict[int, int] = field(default_factory=dict)
    """Bytes about others, without places."""
    longest: int = 0
    """The longest announcement."""

    def add(self, messages: list[bytes]) -> None:
        """Adds messages, in order. Messages before a leave count with the leave or with the own entity."""
        kinds = [split_message(message) for message in messages]
        left = max((at for at, (kind, _) in enumerate(kinds) if kind == Kind.LEAVE), default=-1)
        while self.has_riders and 0 <= left < len(kinds) - 1 and kinds[left + 1][0] == Kind.PLACE:
            left += 1
        for at, (kind, body) in enumerate(kinds):
            alias = OWN if kind in OF_OWN else -1 if kind in OF_OTHERS else take_alias(body)[0]
            size = len(messages[at])
            if at <= left or alias == OWN:
                self.own += size
                continue
            self.others += size
            if kind == Kind.ANNOUNCE:
                self.longest = max(self.longest, size)
            elif alias != -1:
                self.by_alias[alias] = self.by_alias.get(alias, 0) + size

    @property
    def beyond(self) -> int:
        """How far the last messages may exceed the budget."""
        return sum(sorted([self.longest, *self.by_alias.values()])[-2:]) + ENTRY_BYTES


class Budgets:
    """The accounts of all clients of one world."""

    def __init__(self, now: Callable[[], float], bits_s: float) -> None:
        self._now = now
        self._rate = bits_s / 8
        self._accounts: dict[tuple[int, int], Account] = {}
        self.counts: dict[str, int] = {}

    def watch(self, app: App) -> None:
        """Counts what a CellApp sends each time that it serves a client."""
        if not isinstance(app, CellApp):
            return
        feed, send_reliable, serve = app.scheduler, app.scheduler.send_reliable, app.scheduler.serve
        told: list[bytes] = []

        def heard(witness: Witness, payload: bytes) -> bool:
            message = REGISTRY.decode_nested(payload)
            assert isinstance(message, ToClient)
            told.extend(message.messages)
            return bool(send_reliable(witness, payload))

        def served(real: Real) -> None:
            witness = witness_of(real)
            assert witness is not None
            told.clear()
            waited = (app.host.now - witness.sent.budget.served_at) / app.core.tick_s
            has_come = witness.sent.budget.has_come
            before, feed._updates = feed._updates, {}
            serve(real)
            mine, feed._updates = feed._updates, before
            loose: list[bytes] = []
            for base, rows in mine.items():
                for part in rows.take(UPDATES_MAX, UPDATES_BYTES):
                    feed.rows_for(base).extend(part)
                    loose += [message for update in ClientUpdates(part).read() for message in update.messages]
            readings = [Served(has_riders=True), Served(has_riders=False)]
            for sent in readings:
                sent.add(told)
                sent.add(loose)
            key = (real.body.id, witness.number)
            self._book(app, key, readings, max(1.0, min(waited, WAITED_MAX)), has_come=has_come)

        patched: dict[str, Any] = {"send_reliable": heard, "serve": served}
        vars(feed).update(patched)

    def _book(
        self, app: CellApp, key: tuple[int, int], readings: list[Served], waited: float, *, has_come: bool
    ) -> None:
        """Books the bytes that were sent; one of the readings must be within the budget."""
        now, tick = self._now(), self._rate * app.core.tick_s
        most = tick * waited * (CARRY_TICKS + 1)
        account = self._accounts.setdefault(key, Account(most, now))
        account.left = min(account.left + (now - account.at) * self._rate, most)
        account.at = now
        account.waited += 1
        may_owe = tick * waited * ADVANCE
        credit = may_owe if has_come and account.left > -may_owe - EDGE else 0.0
        fitting = [sent for sent in readings if self._fits(account, sent, credit, tick * waited)]
        if not fitting:
            others, room = readings[0].others, account.left - readings[0].own + credit
            what = f"client {key[1]} of entity {key[0]} was sent {others} bytes about others, having {room:.0f} left"
            raise Broken("P4", what, key[0])
        sent = fitting[0]
        if sent.others:
            account.waited = 0
            self.counts["told"] = self.counts.get("told", 0) + 1
        owed_most = tick * app.scheduler.throttle * waited * CARRY_TICKS
        account.left = max(account.left - sent.own - sent.others, -owed_most)

    @staticmethod
    def _fits(account: Account, sent: Served, credit: float, allowed: float) -> bool:
        """Whether what was sent about others is within the account."""
        room = account.left - sent.own + credit
        if room <= -EDGE and account.waited >= STARVED_TICKS:
            room = allowed
        return not sent.others or (room > -EDGE and sent.others <= room + sent.beyond + EDGE)
