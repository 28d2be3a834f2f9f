"""The transitions of the state machines of ghosts, and how a run counts them (`coverage.py`).

ghost        what is told of reals elsewhere             (`cell/ghosts/receiver.py`: the table at its top)
mending      what ends a gap that does not close         (`cell/ghosts/mending.py`)
"""

from __future__ import annotations

from typing import Any

from terrazzo.cell.ghosts.held import Held
from terrazzo.cell.ghosts.mending import ASKED_MAX, Mending
from terrazzo.cell.ghosts.receiver import GhostReceiver
from terrazzo.sim.transitions import Table, Watch
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, GhostList, NextReal, Offload, SetReal, UpdateGhost

TABLE: Table = {
    "ghost": (
        "create: made",
        "create: after its grave",
        "create: meets the real",
        "create: known",
        "create: a snapshot",
        "create: held",
        "step: without a ghost, held",
        "step: behind the grave",
        "step: meets the real",
        "step: taken",
        "step: known",
        "step: held",
        "delete: without a ghost",
        "delete: too late",
        "delete: taken",
        "delete: with last words",
        "delete: held",
        "next real: believed",
        "next real: older",
        "set real: the ghost is up to date",
        "set real: the ghost is behind",
        "set real: without a ghost, awaited",
        "set real: behind the grave",
        "set real: meets the real",
        "list: a ghost is doubted",
    ),
    "mending": (
        "a creation is taken",
        "last words are asked for",
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

    def begin(before: Any, own: GhostReceiver, source: AppId, message: CreateGhost) -> None:
        take("ghost", f"create: {_creation(own, message)}")
        before(own, source, message)

    def on_update(before: Any, own: GhostReceiver, source: AppId, message: UpdateGhost) -> None:
        take("ghost", f"step: {_step(own, message)}")
        before(own, source, message)

    def end(before: Any, own: GhostReceiver, source: AppId, message: DeleteGhost) -> None:
        take("ghost", f"delete: {_deletion(own, message)}")
        before(own, source, message)

    def on_next_real(before: Any, own: GhostReceiver, source: AppId, message: NextReal) -> None:
        body = own._core.bodies.get(message.entity)
        is_new = body is not None and body.real is None and message.epoch > body.epoch
        take("ghost", "next real: believed" if is_new else "next real: older")
        before(own, source, message)

    def on_set_real(before: Any, own: GhostReceiver, source: AppId, message: SetReal) -> None:
        take("ghost", f"set real: {_set_real(own, message)}")
        before(own, source, message)

    def on_list(before: Any, own: GhostReceiver, source: AppId, message: GhostList) -> None:
        before(own, source, message)
        if any(held.is_unconfirmed for held in own.held.values()):
            take("ghost", "list: a ghost is doubted")

    watch.method(GhostReceiver, "_begin", begin)
    watch.method(GhostReceiver, "on_update", on_update)
    watch.method(GhostReceiver, "_end", end)
    watch.method(GhostReceiver, "on_next_real", on_next_real)
    watch.method(GhostReceiver, "on_set_real", on_set_real)
    watch.method(GhostReceiver, "on_list", on_list)


def _creation(own: GhostReceiver, message: CreateGhost) -> str:
    body = own._core.bodies.get(message.entity)
    if body is None:
        return "after its grave" if own.tombstones.is_too_late(message.entity, message.epoch) else "made"
    if body.real is not None:
        return "meets the real"
    if message.number <= body.number:
        return "known"
    return "a snapshot" if message.is_snapshot else "held"


def _step(own: GhostReceiver, message: UpdateGhost) -> str:
    body = own._core.bodies.get(message.entity)
    if body is None:
        is_late = message.number <= own.tombstones.end_of(message.entity)
        return "behind the grave" if is_late else "without a ghost, held"
    if body.real is not None:
        return "meets the real"
    if message.number == body.number + 1:
        return "taken"
    return "known" if message.number <= body.number else "held"


def _deletion(own: GhostReceiver, message: DeleteGhost) -> str:
    body = own._core.bodies.get(message.entity)
    if body is None:
        return "without a ghost"
    if body.real is not None or message.epoch < body.born or message.number < body.number:
        return "too late"
    if message.number == body.number:
        return "taken"
    return "held" if message.past is None else "with last words"


def _set_real(own: GhostReceiver, message: SetReal) -> str:
    body = own._core.bodies.get(message.entity)
    if body is None:
        is_late = own.tombstones.is_too_late(message.entity, message.epoch)
        return "behind the grave" if is_late else "without a ghost, awaited"
    if body.real is not None:
        return "meets the real"
    return "the ghost is behind" if message.number > body.number else "the ghost is up to date"


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
        return "last words are asked for" if is_asked else "a deletion is taken"
    return "an arrival begins" if isinstance(first.message, Offload) else "a creation is taken"
