"""The transitions of the state machines of CellApps, and how a run counts them (`coverage.py`).

    arrival      an Offload at its receiver                  (`cell/migration/offload.py`, `cell/migration/arrival.py`)
    offload      a real that leaves, at its sender           (`cell/migration/offload.py`)
    teleport     a teleport that was asked for               (`cell/migration/teleport.py`)
    ground       what a CellApp reports to the manager       (`cell/ground.py`)

Ghosts and their mending are in `ghost_paths.py`. Transitions that need a crashed CellApp are left out: the worlds that
are counted have none.
"""

from __future__ import annotations

from typing import Any

from terrazzo.cell.core.destinations import Destinations
from terrazzo.cell.ghosts.held import Held
from terrazzo.cell.ghosts.mending import Mending
from terrazzo.cell.ghosts.receiver import GhostReceiver
from terrazzo.cell.ground import Ground
from terrazzo.cell.migration.answers import Answers
from terrazzo.cell.migration.offload import Offloads
from terrazzo.cell.migration.teleport import Teleports
from terrazzo.sim.transitions import Table, Watch
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.base_cell import IAmHere
from terrazzo.wire.pairs.cell_cell import Offload, OffloadRefused, OffloadUnreadable, Onloaded
from terrazzo.wire.requests import Failure

TABLE: Table = {
    "arrival": (
        "begins at once",
        "begins after a jump",
        "is held",
        "is held, its steps come",
        "is held, begins without them",
        "is held, a link is lost",
        "is refused",
        "is a copy, confirmed again",
        "is a copy of a refused one",
    ),
    "offload": (
        "leaves",
        "leaves by a jump",
        "jumps within the app",
        "stays: a hook or its size kept it",
        "is confirmed",
        "is confirmed again",
        "is confirmed under an older epoch",
        "is refused and comes back",
        "is sent again",
        "goes to a neighbour, out of reach of its cell",
    ),
    "teleport": (
        "to a place",
        "beside an entity",
        "the entity answers",
        "the entity is not to be found",
        "the manager names the app",
        "the manager does not answer",
        "is put in this cell",
        "leaves",
        "arrives",
        "is refused there",
        "travels with its entity",
        "another teleport replaces it",
        "fails: the place is outside",
        "fails: too late",
    ),
    "ground": (
        "ready: sent",
        "ready: held back",
        "empty: sent for a retiring cell",
        "empty: held back by what is kept or arriving",
        "empty: sent for a removed cell",
    ),
}

UNREACHED = {
    "teleport: another teleport replaces it": "no entity of these worlds teleports again in on_leaving_cell",
}
"""The transitions that no world takes so far, with the reason. The worlds are incomplete here, not the tables."""


def watch(watch: Watch) -> None:
    """Installs the counters."""
    _Arrivals(watch)
    _watch_offloads(watch)
    _watch_teleports(watch)
    _watch_ground(watch)


class _Arrivals:
    """A copy of an Offload gets the stored answer (`cell/migration/answers.py`), or the one that follows from its
    epoch."""

    def __init__(self, watch: Watch) -> None:
        self._take = watch.take
        self._is_new = self._is_passed_over = False
        watch.method(Answers, "repeat", self._repeat)
        watch.method(Offloads, "on_offload", self._on_offload)
        watch.method(Offloads, "_take_in", self._take_in)
        watch.method(Offloads, "_answer", self._answer)
        watch.method(Offloads, "begin_real", self._land)
        watch.method(GhostReceiver, "hold_arrival", self._hold)
        watch.method(GhostReceiver, "pass_over", self._pass_over)
        watch.method(Mending, "begin_arrivals", self._begin_arrivals)
        self._held: set[tuple[Any, int]] = set()

    def _repeat(self, before: Any, own: Answers, source: AppId, message: Offload | OffloadUnreadable) -> bool:
        is_copy: bool = before(own, source, message)
        if is_copy:
            was_refused = isinstance(own._given[source][message.entity], OffloadRefused)
            self._take("arrival", "is a copy of a refused one" if was_refused else "is a copy, confirmed again")
        return is_copy

    def _on_offload(self, before: Any, own: Offloads, source: AppId, message: Offload) -> None:
        self._is_new = False
        before(own, source, message)

    def _take_in(self, before: Any, own: Offloads, source: AppId, message: Offload) -> None:
        before(own, source, message)
        self._is_new = True

    def _answer(self, before: Any, own: Offloads, source: AppId, answer: Onloaded | OffloadRefused) -> None:
        if isinstance(answer, OffloadRefused):
            self._take("arrival", "is refused")
        elif not self._is_new:
            self._take("arrival", "is a copy, confirmed again")
        before(own, source, answer)

    def _land(self, before: Any, own: Offloads, message: Offload) -> Any:
        key = (own._core, message.entity)
        if key in self._held:
            self._held.discard(key)
            how = "is held, begins without them" if self._is_passed_over else "is held, its steps come"
            self._take("arrival", how)
        else:
            self._take("arrival", "begins at once" if message.jump is None else "begins after a jump")
        return before(own, message)

    def _hold(self, before: Any, own: GhostReceiver, source: AppId, message: Offload) -> None:
        self._take("arrival", "is held")
        self._held.add((own._core, message.entity))
        before(own, source, message)

    def _pass_over(self, before: Any, own: GhostReceiver, entity: int, held: Held) -> None:
        self._is_passed_over = isinstance(held.transitions[0].message, Offload)
        before(own, entity, held)
        self._is_passed_over = False

    def _begin_arrivals(self, before: Any, own: Mending) -> None:
        if any(isinstance(turn.message, Offload) for held in own._gaps.held.values() for turn in held.transitions):
            self._take("arrival", "is held, a link is lost")
        before(own)


def _watch_offloads(watch: Watch) -> None:
    take = watch.take

    def offload(before: Any, own: Offloads, real: Any, to: AppId, jump: Any = None) -> bool:
        left: bool = before(own, real, to, jump)
        how = "leaves" if jump is None else "leaves by a jump" if to != own._core.me else "jumps within the app"
        take("offload", how if left else "stays: a hook or its size kept it")
        return left

    def on_onloaded(before: Any, own: Offloads, source: AppId, message: Onloaded) -> None:
        had = message.entity in own.kept
        before(own, source, message)
        has = message.entity in own.kept
        how = "is confirmed under an older epoch" if has else "is confirmed" if had else "is confirmed again"
        take("offload", how)

    def on_refused(before: Any, own: Offloads, source: AppId, message: OffloadRefused) -> None:
        kept = own.kept.get(message.entity)
        if kept is not None and kept.message.epoch == message.epoch:
            take("offload", "is refused and comes back")
            if kept.message.jump is not None:
                take("teleport", "is refused there")
        before(own, source, message)

    def on_link_up(before: Any, own: Offloads, peer: AppId) -> None:
        for kept in own.kept.values():
            if kept.to == peer:
                take("offload", "is sent again")
        before(own, peer)

    def shelter(before: Any, own: Destinations, real: Any) -> Any:
        found = before(own, real)
        if found is not None:
            take("offload", "goes to a neighbour, out of reach of its cell")
        return found

    watch.method(Offloads, "offload", offload)
    watch.method(Offloads, "on_onloaded", on_onloaded)
    watch.method(Offloads, "on_refused", on_refused)
    watch.method(Offloads, "on_link_up", on_link_up)
    watch.method(Destinations, "_shelter", shelter)


def _watch_teleports(watch: Watch) -> None:
    take = watch.take

    def noting(path: str) -> Any:
        def run(before: Any, *args: Any) -> Any:
            take("teleport", path)
            return before(*args)

        return run

    def on_here(before: Any, own: Teleports, real: Any, source: Any, message: IAmHere) -> None:
        wish = own._of(real)
        if wish is not None and wish.question == message.question and wish.target == source.entity:
            take("teleport", "the entity answers")
        before(own, real, source, message)

    def on_no_entry(before: Any, own: Teleports, wish: Any, why: Failure, words: str) -> None:
        if why is not Failure.REFUSED:
            take("teleport", "the manager does not answer")
        before(own, wish, why, words)

    def fail(before: Any, own: Teleports, wish: Any, reason: str) -> None:
        if "cannot be found" in reason:
            take("teleport", "the entity is not to be found")
        else:
            is_outside = "is not within" in reason
            take("teleport", "fails: the place is outside" if is_outside else "fails: too late")
        before(own, wish, reason)

    def unpack(before: Any, own: Teleports, real: Any, packed: Any) -> None:
        wish = own._pending.get(real.body.id)
        if packed is not None and real.arrived_at == own._core.host.now and wish is None:
            take("teleport", "travels with its entity")
        before(own, real, packed)

    def is_overtaken(before: Any, own: Teleports, real: Any) -> bool:
        is_so: bool = before(own, real)
        if is_so:
            take("teleport", "another teleport replaces it")
        return is_so

    def arrive(before: Any, own: Teleports, real: Any) -> None:
        take("teleport", "arrives" if real.arrived_at == own._core.host.now else "is put in this cell")
        before(own, real)

    def offload(before: Any, own: Offloads, real: Any, to: AppId, jump: Any = None) -> bool:
        left: bool = before(own, real, to, jump)
        if left and jump is not None:
            take("teleport", "leaves")
        return left

    watch.method(Teleports, "to_space", noting("to a place"))
    watch.method(Teleports, "to_entity", noting("beside an entity"))
    watch.method(Teleports, "_on_entry", noting("the manager names the app"))
    watch.method(Teleports, "on_here", on_here)
    watch.method(Teleports, "_on_no_entry", on_no_entry)
    watch.method(Teleports, "_fail", fail)
    watch.method(Teleports, "unpack", unpack)
    watch.method(Teleports, "is_overtaken", is_overtaken)
    watch.method(Teleports, "_arrive", arrive)
    watch.method(Offloads, "offload", offload)


def _watch_ground(watch: Watch) -> None:
    take = watch.take

    def run(before: Any, own: Ground) -> None:
        retiring, owed = dict(own._emptied), dict(own._owed)
        removed = dict(own._removed)
        before(own)
        if own._core.links.manager is None:
            return
        for id in owed:
            take("ground", "ready: held back" if id in own._owed else "ready: sent")
        for _ in own._emptied.keys() - retiring.keys():
            take("ground", "empty: sent for a retiring cell")
        for _ in removed.keys() - own._removed.keys():
            take("ground", "empty: sent for a removed cell")

    def is_empty(before: Any, own: Ground, id: int) -> bool:
        space = own._core.spaces.get(id)
        has_reals = space is not None and any(body.real is not None for body in space.bodies.values())
        is_so: bool = before(own, id)
        if not is_so and not has_reals:
            take("ground", "empty: held back by what is kept or arriving")
        return is_so

    watch.method(Ground, "run", run)
    watch.method(Ground, "_is_empty", is_empty)
