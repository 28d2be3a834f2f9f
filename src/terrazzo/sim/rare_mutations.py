"""Broken forms of what happens seldom, or only at rest, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts: kept copies that are dropped too early, cells that are reported as empty too
early, snapshots of open steps, saves under faults, unreliable properties at rest, and rest that takes too long.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import msgspec

from terrazzo.base.baseapp import BaseApp
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.ghosts.held import Held
from terrazzo.cluster.app import App
from terrazzo.db.dbapp import DBApp
from terrazzo.sim.cell_mutations import _changes_received, harmed, instead
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates
from terrazzo.wire.pairs.base_db import Save, Saved
from terrazzo.wire.pairs.cell_cell import CreateGhost, GhostCreated, NextReal, Offload, Onloaded, SetReal, WantSnapshot

SLOW_S = 45.0


def _confirms_any(app: CellApp) -> None:
    """Any Onloaded deletes the kept copy, even with another epoch."""
    app.on(Onloaded, lambda source, message: app.offloads.kept.pop(message.entity, None))


def _empties_at_once(app: CellApp) -> None:
    """CellEmpty is sent while copies are kept and arrivals wait."""

    def is_empty(before: Any, id: int) -> bool:
        space = app.spaces.get(id)
        return space is None or all(body.real is None for body in space.bodies.values())

    instead(app.ground, "_is_empty", is_empty)


def _snapshots_open_steps(app: CellApp) -> None:
    """A snapshot is sent while a step is open."""

    def on_want(source: AppId, message: WantSnapshot) -> None:
        real = app.reals.get(message.entity)
        if real is not None and source in real.ghosts:
            app.placement.describe(real, source, is_snapshot=True)
        else:
            app.placement.on_want_snapshot(source, message)

    app.on(WantSnapshot, on_want)


def _trims_too_many(app: CellApp) -> None:
    """The history that is sent with a ghost lacks its first step, but has the floor of the whole."""

    def hear(message: CreateGhost) -> CreateGhost:
        return msgspec.structs.replace(message, past=message.past._replace(steps=message.past.steps[1:]))

    _changes_received(app, CreateGhost, hear)


def _returns_bare(app: CellApp) -> None:
    """A real comes back from a refused jump without its timers."""

    def bring_back(before: Any, message: Offload, reason: str) -> Any:
        return before(msgspec.structs.replace(message, timers=()), reason)

    instead(app.offloads, "_bring_back", bring_back)


def _ignores_late_reals(app: CellApp) -> None:
    """A late SetReal is ignored, and so is the NextReal before it; both are confirmed."""

    def on_set_real(source: AppId, message: SetReal) -> None:
        body = app.bodies.get(message.entity)
        if body is not None and body.real is None and message.epoch > body.epoch:
            app.send(source, GhostCreated(message.entity, message.epoch))
        else:
            app.receiver.on_set_real(source, message)

    app.on(SetReal, on_set_real)
    _changes_received(app, NextReal, lambda message: None)


def _holds_for_ever(app: CellApp) -> None:
    """An arrival that waits for steps waits until they come."""

    def mend(before: Any, entity: int, held: Held) -> None:
        if held.transitions and isinstance(held.transitions[0].message, Offload):
            held.until = inf
        else:
            before(entity, held)

    instead(app.receiver.mending, "_mend", mend)


def _mends_slowly(app: CellApp) -> None:
    """Gaps are mended, but only after most of a minute: one bound of 60 s for all kinds would not detect it."""
    since: dict[int, float] = {}

    def mend(before: Any, entity: int, held: Held) -> None:
        begun = since.setdefault(entity, app.host.now)
        if app.host.now >= begun + SLOW_S:
            before(entity, held)
        else:
            held.until = app.host.now + 1.0

    instead(app.receiver.mending, "_mend", mend)


def _never_sends_unreliable(app: CellApp) -> None:
    """Unreliable changes are never sent: clients keep the values of the description."""

    def send(before: Any, peer: AppId, message: Message) -> int:
        if isinstance(message, ClientUpdates):
            message = ClientUpdates.of(*map(_places_only, message.read()))
        sent: int = before(peer, message)
        return sent

    instead(app.outbox, "send", send)


def _places_only(update: ClientUpdate) -> ClientUpdate:
    return update._replace(messages=tuple(each for each in update.messages if each[0] == ToClient.PLACES))


# Saves.


def _confirms_early(app: App) -> None:
    """A save is confirmed at once, and written when the next one comes."""
    if isinstance(app, DBApp):
        waiting: list[tuple[Any, ...]] = []

        def save(before: Any, question: Any, message: Save, type_name: str) -> None:
            for each in waiting:
                before(*each)
            waiting[:] = [(question, message, type_name)]
            app.requests.answer(question, Saved(message.dbid))

        instead(app, "_save", save)


def _saves_older(app: App) -> None:
    """A BaseApp saves the record of its first save again and again."""
    if isinstance(app, BaseApp):
        first: dict[int, bytes] = {}

        def ask(before: Any, peer: AppId, message: Message, **named: Any) -> None:
            if isinstance(message, Save):
                record = first.setdefault(message.dbid, message.record)
                message = msgspec.structs.replace(message, record=record)
            before(peer, message, **named)

        instead(app.requests, "ask", ask)


def _loads_older(app: App) -> None:
    """A player that logs on gets the record of the log-on before."""
    if isinstance(app, DBApp):
        last: dict[str, bytes] = {}

        def loaded(before: Any, attempt: Any, record: bytes | None) -> None:
            older = last.get(attempt.name, record)
            if record is not None:
                last[attempt.name] = record
            before(attempt, older)

        instead(app.log_ons, "_loaded", loaded)


RARE_MUTATIONS: dict[str, Callable[[App], None]] = {
    "confirm-any": harmed(_confirms_any),
    "empty-at-once": harmed(_empties_at_once),
    "snapshot-open-steps": harmed(_snapshots_open_steps),
    "trim-too-many": harmed(_trims_too_many),
    "return-bare": harmed(_returns_bare),
    "deaf-to-late-reals": harmed(_ignores_late_reals),
    "hold-for-ever": harmed(_holds_for_ever),
    "mend-slowly": harmed(_mends_slowly),
    "confirm-early": _confirms_early,
    "save-older": _saves_older,
    "load-older": _loads_older,
}
RARE_SYNC_MUTATIONS: dict[str, Callable[[App], None]] = {"forget-loose": harmed(_never_sends_unreliable)}
