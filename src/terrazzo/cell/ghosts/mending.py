"""Mending: what is held for a step that does not arrive (race 4).

What was sent over a link that broke may be lost, and what is on a slow link may arrive much later. A CellApp cannot
tell one from the other. So a gap is given GAP_S to close, and then:

    a creation is held     it is taken now: it has the whole state, and the recent past for witnesses
    a deletion is held     its sender is asked for the last events; if they do not arrive either, the ghost ends without
    an arrival is held     the real begins now. It has been given ARRIVAL_S since the gap was found: it waits only for a
                           long past that did not travel with it, and the wait costs it less than the gap would cost
                           the clients that see it. It begins at once where nothing can close the gap: when the missing
                           steps were sent over the same link before it, so that they are lost, and when a link is lost
    only steps are held    the real is asked for a snapshot, again and again; after ASKED_MAX times without an answer no
                           CellApp has this entity any more, and its ghost is removed

Each of these is counted: in a calm world none happens. What is held is bounded, too: the entity that has held something
for the longest gives way.
"""

from __future__ import annotations

from typing import Protocol

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.ghosts.held import Held
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cell_cell import DeleteGhost, Offload, WantSnapshot

GAP_S = 2.0
ARRIVAL_S = 10.0
ASKED_MAX = 10


class Gaps(Protocol):
    """What is held for ghosts, and how it is taken (`cell/ghosts/receiver.py`)."""

    held: dict[int, Held]

    def pass_over(self, entity: int, held: Held) -> None: ...
    def forget_held(self, entity: int) -> None: ...
    def end(self, body: Body, epoch: int, *, is_destroyed: bool) -> None: ...


class Mending:
    """Ends what has waited long enough."""

    def __init__(self, core: Core, gaps: Gaps) -> None:
        self._core = core
        self._gaps = gaps

    def renew(self, held: Held) -> None:
        """Something has come: the time counts from now."""
        is_arrival = any(isinstance(transition.message, Offload) for transition in held.transitions)
        held.since = self._core.host.now
        held.until, held.asked = held.since + (ARRIVAL_S if is_arrival else GAP_S), 0

    def await_arrival(self, held: Held, *, is_lost: bool) -> None:
        """A real has come and waits for the steps that are missing, if they may still come."""
        held.until, held.asked = self._core.host.now if is_lost else held.since + ARRIVAL_S, 0

    def run(self) -> None:
        """Looks at all that is held."""
        now, all_held = self._core.host.now, self._gaps.held
        for entity in [entity for entity, held in all_held.items() if held.until <= now]:
            if entity in all_held:
                self._mend(entity, all_held[entity])

    def begin_arrivals(self) -> None:
        """A link is lost: each real that has arrived and is held begins."""
        for held in self._gaps.held.values():
            if any(isinstance(transition.message, Offload) for transition in held.transitions):
                held.until = self._core.host.now

    def give_up(self, entity: int) -> None:
        """Too much is held: transitions are taken as they are, steps dropped."""
        held = self._gaps.held[entity]
        self._core.count(LogEvent.HELD_STEPS_GIVEN_UP, entity=entity)
        while held.transitions and self._gaps.held.get(entity) is held:
            self._gaps.pass_over(entity, held)
        self._gaps.forget_held(entity)

    def _mend(self, entity: int, held: Held) -> None:
        core, body, lost = self._core, self._core.bodies.get(entity), self._core.links.lost
        held.until = core.host.now + GAP_S
        first = held.transitions[0] if held.transitions else None
        is_end = first is not None and isinstance(first.message, DeleteGhost)
        ask = held.ask if first is None else first.source
        if first is not None and not (is_end and held.asked == 0 and ask not in lost):
            core.count(LogEvent.GAP_PASSED_OVER, entity=entity)
            self._gaps.pass_over(entity, held)
        elif ask in lost:
            return
        elif held.asked >= ASKED_MAX:
            self.give_up(entity)
            if body is not None and body.real is None:
                self._gaps.end(body, body.epoch, is_destroyed=False)
        else:
            held.asked += 1
            core.count(LogEvent.SNAPSHOT_ASKED, entity=entity)
            core.send(ask, WantSnapshot(entity, -1 if body is None else body.number))
