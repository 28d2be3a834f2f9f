"""The transitions of the state machines of ghosts, and how a run counts them (`coverage.py`).

ghost        messages about reals elsewhere              (`cell/ghosts/stream.py`: its table)
mending      the end of a gap that does not close        (`cell/ghosts/mending.py`)
"""

from __future__ import annotations

from typing import Any

from terrazzo.cell.core.body import Body
from terrazzo.cell.ghosts.held import Held
from terrazzo.cell.ghosts.mending import ASKED_MAX, Mending
from terrazzo.cell.ghosts.receiver import GhostReceiver, StreamMessage
from terrazzo.cell.ghosts.stream import TRANSITIONS, GhostEvent, GhostState, state_of
from terrazzo.sim.transitions import Table, Watch
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import DeleteGhost, Offload


def _path(state: GhostState, event: GhostEvent) -> str:
    return f"{state.value}: {event.value}"


TABLE: Table = {
    "ghost": tuple(_path(state, event) for state, row in TRANSITIONS.items() for event in row),
    "mending": (
        "a creation is taken",
        "its last steps are asked for",
        "a deletion is taken",
        "an arrival begins",
        "a snapshot is asked for",
        "its app is out of reach",
        "is given up",
    ),
}


def watch(watch: Watch) -> None:
    """Puts the counting in."""
    _watch_ghosts(watch)
    _watch_mending(watch)


def _watch_ghosts(watch: Watch) -> None:
    take = watch.take

    def meet(
        before: Any, own: GhostReceiver, event: GhostEvent, source: AppId, message: StreamMessage, body: Body | None
    ) -> None:
        take("ghost", _path(state_of(message.entity, body, own.tombstones), event))
        before(own, event, source, message, body)

    watch.method(GhostReceiver, "_meet", meet)


def _watch_mending(watch: Watch) -> None:
    take = watch.take

    def mend(before: Any, own: Mending, entity: int, held: Held) -> None:
        take("mending", _mending(own, held))
        before(own, entity, held)

    watch.method(Mending, "_mend", mend)


def _mending(own: Mending, held: Held) -> str:
    lost, first = own._core.links.lost, held.transitions[0] if held.transitions else None
    if first is None:
        if held.ask in lost:
            return "its app is out of reach"
        return "is given up" if held.asked >= ASKED_MAX else "a snapshot is asked for"
    if isinstance(first.message, DeleteGhost):
        is_asked = held.asked == 0 and first.source not in lost
        return "its last steps are asked for" if is_asked else "a deletion is taken"
    return "an arrival begins" if isinstance(first.message, Offload) else "a creation is taken"
