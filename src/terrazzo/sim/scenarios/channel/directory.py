"""The directory of the channel scenario: has the place of each part, stores backups, declares apps dead, restores
parts.

It stands for the managers, with as few rules as are safe, so that the channel is tested with what happens in a cluster:

- A home registers the parts that live there. A move is confirmed to the old home only after the directory has recorded
  it: until then the old home keeps its copy of what it sent.
- An app whose link is lost for `dead_s`, or whose successor appears, is declared dead: it is fenced and ignored. Every
  living home is notified (at its own time: race 28) and reports its parts; once it has reported, it takes nothing more
  from the dead app. When all have reported, a part that lives nowhere is restored: from a copy that was on its way to
  the dead app, or from the backup, whichever has the higher version. Each recovery has a number, and it is the new
  life's number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from terrazzo.sim.scenarios.channel.ledger import Truth
from terrazzo.sim.scenarios.channel.log_events import ChannelEvent
from terrazzo.sim.scenarios.channel.messages import (
    Backup,
    Dead,
    InAir,
    Landed,
    Locate,
    Located,
    Register,
    Registered,
    Report,
    Restore,
)
from terrazzo.sim.world import Process
from terrazzo.wire.ids import AppId, AppKind, PartId, first_of_life
from terrazzo.wire.messages import Message
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.requests import Failure, Question, Requests

_ASK_S = 2.0


@dataclass
class _Recovery:
    dead: dict[AppId, None]
    awaiting: dict[AppId, None]
    living: dict[PartId, int] = field(default_factory=dict)
    in_air: list[tuple[AppId, InAir]] = field(default_factory=list)


class DirectoryApp:
    """See the module."""

    def __init__(self, process: Process, truth: Truth, dead_s: float) -> None:
        self.outbox = Outbox()
        self.requests = Requests(process, self.outbox)
        self._host = process
        self._truth = truth
        self._dead_s = dead_s
        self._places: dict[PartId, tuple[int, AppId]] = {}
        self._ended: dict[PartId, None] = {}
        self._backups: dict[PartId, Backup] = {}
        self._homes: dict[AppId, None] = {}
        self._suspects: dict[AppId, float] = {}
        self._deaths: dict[AppId, None] = {}
        self._recovery: _Recovery | None = None
        self._recoveries = 0

    def found(self, part: PartId, home: AppId) -> None:
        """A part begins its life at a home; it may end before the home reports it."""
        self._places[part] = (0, home)

    @property
    def is_busy(self) -> bool:
        """Whether something is still being recovered."""
        return bool(self._suspects or self._deaths or self._recovery or len(self.requests))

    def home_of(self, part: PartId) -> tuple[int, AppId] | None:
        """Where a part is registered."""
        return self._places.get(part)

    # App.

    def on_message(self, source: AppId, message: Message) -> None:
        """See App."""
        received = self.requests.receive(source, message)
        if isinstance(received, Question):
            self._on_question(received)
        elif isinstance(received, Backup):
            known = self._backups.get(received.part)
            if known is None or received.version >= known.version:
                self._backups[received.part] = received

    def on_link_up(self, peer: AppId) -> None:
        """A home is there (again); its older incarnations are declared dead."""
        if peer.kind is not AppKind.CELL_APP:
            return
        self._suspects.pop(peer, None)
        self._homes[peer] = None
        for incarnation in range(1, peer.incarnation):
            old = peer._replace(incarnation=incarnation)
            if old not in self._truth.dead:
                self._declare_dead(old)

    def on_link_lost(self, peer: AppId) -> None:
        """Begins to wait for the home: it may come back."""
        self.requests.on_link_lost(peer)
        if peer in self._homes:
            self._suspects.setdefault(peer, self._host.now)

    def on_tick(self) -> None:
        """Declares apps dead, requests reports, restores parts."""
        self.requests.on_tick()
        for app in [app for app, since in self._suspects.items() if self._host.now - since > self._dead_s]:
            self._declare_dead(app)
        if self._deaths:
            self._begin_recovery()
        elif self._recovery is not None and not self._recovery.awaiting:
            self._settle(self._recovery)

    # Requests of homes.

    def _on_question(self, question: Question) -> None:
        asked = question.message
        if isinstance(asked, Register):
            self._on_register(question.source, asked)
            self.requests.answer(question, Registered(tuple(self._truth.dead)))
        elif isinstance(asked, Locate):
            place = self._places.get(asked.part)
            if asked.part in self._ended or asked.part in self._truth.lost:
                self.requests.answer(question, Located(asked.part, 0, None))
            elif place is not None and place[1] in self._homes:
                self.requests.answer(question, Located(asked.part, *place))
            else:
                self.requests.refuse(question, "not known yet")

    def _on_register(self, home: AppId, register: Register) -> None:
        # A part on its way counts as living where it left until it has arrived: the copy to restore it from is there.
        left = [(part, version - 1) for part, version, _ in register.in_air]
        for part, version in [*register.living, *left]:
            if version > self._places[part][0]:
                self._places[part] = (version, home)
        for part, version in register.ended:
            if version >= self._places[part][0]:
                self._ended[part] = None
        for entry in register.in_air:
            if entry.to in self._truth.dead and (self._recovery is None or entry.to not in self._recovery.dead):
                self._deaths[entry.to] = None  # this home was not asked when that app was declared dead

    # Death and recovery.

    def _declare_dead(self, app: AppId) -> None:
        self._suspects.pop(app, None)
        self._homes.pop(app, None)
        self._truth.dead[app] = None
        self._host.log(ChannelEvent.DECLARED_DEAD, app=app)
        self._host.fence(app)
        self._deaths[app] = None

    def _begin_recovery(self) -> None:
        """Begins a recovery of all dead apps, also of those in the present one: each may have had parts of another."""
        dead = {**(self._recovery.dead if self._recovery is not None else {}), **self._deaths}
        self._deaths.clear()
        self._recovery = _Recovery(dead, dict.fromkeys(self._homes))
        for home in self._homes:
            self._ask_report(self._recovery, home)

    def _ask_report(self, recovery: _Recovery, home: AppId) -> None:
        def reported(answer: Message) -> None:
            assert isinstance(answer, Report)
            for part, version in answer.living:
                recovery.living[part] = max(version, recovery.living.get(part, -1))
            recovery.in_air += [(home, entry) for entry in answer.in_air]
            recovery.awaiting.pop(home, None)

        def failed(failure: Failure, why: str) -> None:
            if recovery is self._recovery and home in recovery.awaiting:
                self._ask_report(recovery, home)

        self.requests.ask(home, Dead(tuple(recovery.dead)), timeout_s=_ASK_S, then=reported, failed=failed)

    def _settle(self, recovery: _Recovery) -> None:
        self._recovery = None
        copies: dict[PartId, tuple[int, AppId]] = {}
        for home, entry in recovery.in_air:
            if entry.to in recovery.dead and home in self._homes:
                best = copies.get(entry.part)
                copies[entry.part] = (entry.version, home) if best is None else max(best, (entry.version, home))
                if best is not None:
                    older = min(best, (entry.version, home))
                    self.outbox.send(older[1], Landed(entry.part, older[0]))
        homeless = [part for part, (_, app) in self._places.items() if app in recovery.dead]
        for part in dict.fromkeys([*homeless, *copies]):
            self._recover(part, recovery, copies.get(part))

    def _recover(self, part: PartId, recovery: _Recovery, copy: tuple[int, AppId] | None) -> None:
        version, app = self._places[part]
        known = max(recovery.living.get(part, -1), version if app in self._homes else -1)
        if part in self._ended or known >= (copy[0] if copy is not None else version):
            if copy is not None:
                self.outbox.send(copy[1], Landed(part, copy[0]))
            return
        if part in self._truth.destroyed:
            # Its app died while the part was ending. The game has destroyed the part, so it is not restored; the record
            # of what it had received is lost with the app.
            self._truth.lost[part] = None
            if copy is not None:
                self.outbox.send(copy[1], Landed(part, copy[0]))
            return
        backup = self._backups.get(part)
        self._recoveries += 1
        if copy is not None and (backup is None or copy[0] > backup.version):
            self._restore(copy[1], Restore(part, self._recoveries, None, b""))
            return
        if copy is not None:
            self.outbox.send(copy[1], Landed(part, copy[0]))
        if backup is None or not self._homes:
            self._host.log(ChannelEvent.PART_LOST, part=part)
            self._truth.lost[part] = None
            return
        home = self._host.rng.choice(list(self._homes))
        self._restore(home, Restore(part, self._recoveries, backup.packed, backup.ledger))

    def _restore(self, home: AppId, order: Restore) -> None:
        self._places[order.part] = (first_of_life(order.life), home)

        def failed(failure: Failure, why: str) -> None:
            if home in self._homes and self._places[order.part] == (first_of_life(order.life), home):
                self._restore(home, order)

        self.requests.ask(home, order, timeout_s=_ASK_S, then=lambda answer: None, failed=failed)
