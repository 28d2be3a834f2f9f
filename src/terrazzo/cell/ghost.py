"""Ghosts on this app: what other apps tell of their reals, put in order.

Links are ordered each by itself, and an entity's real moves between apps. So what A told of it and what B tells may
come in any interleaving, and only two numbers are to be trusted: `epoch`, higher with each home of the real, and
`number`, which runs over all steps of the entity whoever sends them (`cell/body.py`).

    message           no body here                      ghost here                                real here
    CreateGhost       make it; then what was held       older epoch than `born`: ignore           ignore
                                                        no step missing: take the epoch
                                                        same real again (link was lost): take all
                                                        steps missing: it is the successor, wait
    UpdateGhost       hold                              next number: apply, then what was held    ignore
                                                        higher: hold; lower: known, ignore
    DeleteGhost       dig a grave                       older epoch than `born`: ignore           ignore
                                                        else remove it; the successor, if any,
                                                        takes its place
    NextReal          ignore                            follow the higher epoch                   ignore

**Held** steps came early: before the creation (story 1) or before a step of the former real. Bounded in all ways.

**The successor.** A real that has no ghost here creates one, while the ghost of a former home of it is still here: its
deletion is on its way. If no step lies between, the two are the same ghost. Else that deletion is waited for, so that
the story told here is the true one: the old ghost goes on to its end, and then there is a new one (stories 2, 3).

**A grave** remembers with which epoch a ghost ended. A creation of an older epoch comes too late and is ignored; one of
the same epoch is by the same real on the same link, later, and counts, unless the entity was destroyed (stories 2, 5).
It also keeps the entity's last words for witnesses that come a moment later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from terrazzo.cell.body import Body
from terrazzo.cell.history import History, Told, decode_call_item, decode_history_item, is_call_item, is_history_item
from terrazzo.errors import DecodeError
from terrazzo.schema.state import State
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, NextReal, UpdateGhost

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

HELD_STEPS_MAX = 256
HELD_ENTITIES_MAX = 4096
HELD_S = 10.0
GRAVES_MAX = 16_384
GRAVE_S = 30.0
SUCCESSOR_S = 8.0


@dataclass
class Held:
    """Steps of one entity that came early, by number."""

    until: float
    steps: dict[int, tuple[AppId, UpdateGhost]]


@dataclass(frozen=True)
class Grave:
    """A body that was here."""

    epoch: int
    is_destroyed: bool
    number: int
    history: History
    until: float


@dataclass(frozen=True)
class Successor:
    """A creation that waits for the deletion of the ghost before it."""

    source: AppId
    message: CreateGhost
    until: float
    past: UpdateGhost | None = None


class Ghosts:
    """All that is known of reals elsewhere."""

    def __init__(self, app: CellApp) -> None:
        self.graves: dict[int, Grave] = {}
        self.held: dict[int, Held] = {}
        self.successors: dict[int, Successor] = {}
        self._app = app

    # Messages.

    def on_create(self, source: AppId, message: CreateGhost) -> None:
        """A real elsewhere wants a ghost here."""
        body = self._app.bodies.get(message.entity)
        if body is None:
            if not self._is_too_late(message.entity, message.epoch):
                self._create(source, message)
        elif body.real is not None or message.epoch < body.born:
            self._app.count("ghost creation too late")
        elif message.number <= body.number:
            body.born = max(body.born, message.epoch)
            body.follow(source, message.epoch)
        elif source == body.real_app and message.epoch == body.epoch:
            self._replace(source, message)
        else:
            until = self._app.host.now + SUCCESSOR_S
            known = self.successors.get(message.entity)
            if known is None or known.message.epoch <= message.epoch:
                self.successors[message.entity] = Successor(source, message, until)

    def on_update(self, source: AppId, message: UpdateGhost) -> None:
        """A step of a real elsewhere, or what was before a creation."""
        if message.changes and is_history_item(message.changes[0]):
            self._on_past(message)
            return
        body = self._app.bodies.get(message.entity)
        if body is None:
            grave = self.graves.get(message.entity)
            if grave is None or message.epoch > grave.epoch:
                self._hold(source, message)
            return
        if body.real is not None:
            return
        body.follow(source, message.epoch)
        if message.number == body.number + 1:
            self._apply(body, message)
            self._apply_held(body)
        elif message.number > body.number:
            self._hold(source, message)

    def on_delete(self, source: AppId, message: DeleteGhost) -> None:
        """A real elsewhere wants its ghost here no longer."""
        body = self._app.bodies.get(message.entity)
        if body is None:
            self._dig(message.entity, message.epoch, message.is_destroyed, None)
            return
        if body.real is not None or message.epoch < body.born:
            self._app.count("ghost deletion too late")
            return
        successor = self.successors.pop(message.entity, None)
        self.remove(body, message.epoch, is_destroyed=message.is_destroyed)
        if successor is not None and not self._is_too_late(message.entity, successor.message.epoch):
            self._create(successor.source, successor.message)
            if successor.past is not None:
                self._on_past(successor.past)
        self._app.offloads.on_ghost_changed(message.entity)

    def on_next_real(self, source: AppId, message: NextReal) -> None:
        """The real went on to another app."""
        body = self._app.bodies.get(message.entity)
        if body is not None and body.real is None:
            body.follow(message.app, message.epoch)

    def on_tick(self) -> None:
        """Forgets what has waited long enough; a successor whose turn never came takes its place now."""
        now = self._app.host.now
        for entity in [entity for entity, held in self.held.items() if held.until <= now]:
            count = len(self.held.pop(entity).steps)
            self._app.count("held steps given up", entity=entity, steps=count)
        for entity in [entity for entity, grave in self.graves.items() if grave.until <= now]:
            del self.graves[entity]
        for entity in [entity for entity, successor in self.successors.items() if successor.until <= now]:
            successor = self.successors.pop(entity)
            self._app.count("ghost successor without deletion", entity=entity)
            self._replace(successor.source, successor.message)
            if successor.past is not None:
                self._on_past(successor.past)

    def on_landed(self, entity: int) -> None:
        """The ghost becomes the real: what waits to change it has lost its meaning."""
        self.successors.pop(entity, None)
        self.held.pop(entity, None)

    def remove(self, body: Body, epoch: int, *, is_destroyed: bool) -> None:
        """A body is no longer here: its watchers are told, and a grave is dug."""
        self._app.remove_body(body, is_destroyed=is_destroyed)
        self._dig(body.id, epoch, is_destroyed, body)

    # Within.

    def _on_past(self, message: UpdateGhost) -> None:
        """The history that a new ghost begins with; it belongs to the creation of the same number."""
        body, successor = self._app.bodies.get(message.entity), self.successors.get(message.entity)
        if successor is not None and successor.message.number == message.number:
            self.successors[message.entity] = replace(successor, past=message)
        elif body is not None and body.real is None:
            try:
                body.history.precede(message.number, decode_history_item(message.changes[0]))
            except DecodeError as problem:
                self._app.count("step that does not decode", entity=body.id, problem=str(problem))

    def _is_too_late(self, entity: int, epoch: int) -> bool:
        grave = self.graves.get(entity)
        return grave is not None and (epoch < grave.epoch or (epoch == grave.epoch and grave.is_destroyed))

    def _create(self, source: AppId, message: CreateGhost) -> None:
        app = self._app
        kind = app.kinds.get(message.type_id)
        if kind is None:
            app.count("ghost of an unknown type", entity=message.entity, type_id=message.type_id)
            return
        layout = kind.schema.ghost_layout
        try:
            values = layout.row.decode(message.properties)
        except DecodeError as problem:
            app.count("ghost that does not decode", entity=message.entity, problem=str(problem))
            return
        body = Body(
            app,
            app.space(message.space),
            kind,
            message.entity,
            base=message.base,
            real_app=source,
            epoch=message.epoch,
            number=message.number,
            position=message.position,
            yaw=message.yaw,
            state=State(layout, None, values),
        )
        app.add_body(body)
        self._apply_held(body)

    def _replace(self, source: AppId, message: CreateGhost) -> None:
        """Takes over a later state of the same entity at once; the steps between are not known."""
        body = self._app.bodies.get(message.entity)
        if body is None or body.real is not None or message.number <= body.number:
            return
        layout = body.kind.schema.ghost_layout
        try:
            values = layout.row.decode(message.properties)
        except DecodeError as problem:
            self._app.count("ghost that does not decode", entity=message.entity, problem=str(problem))
            return
        body.state.release()
        body.state = State(layout, None, values)
        body.number, body.born = message.number, max(body.born, message.epoch)
        body.history = History(message.number)
        body.follow(source, message.epoch)
        body.space.place(body, message.position, message.yaw)
        self._apply_held(body)

    def _apply(self, body: Body, message: UpdateGhost) -> None:
        told: list[Told] = []
        for item in message.changes:
            try:
                self._apply_item(body, item, told)
            except (DecodeError, IndexError) as problem:
                self._app.count("step that does not decode", entity=body.id, problem=str(problem))
        body.number = message.number
        body.history.add(message.number, told)
        if (message.position, message.yaw) != (body.position, body.yaw):
            body.space.place(body, message.position, message.yaw)

    def _apply_item(self, body: Body, item: bytes, told: list[Told]) -> None:
        """One item of a step: into the state, and into what clients are told, just as the real did it."""
        if is_call_item(item):
            told.append(Told(-1, body.kind.call_message(body.id, *decode_call_item(item))))
            return
        change = body.state.decode_internal(item)
        if body.kind.reach[change.prop].to_others:
            told.append(Told(change.prop, body.kind.change_message(body.id, change)))
        body.state.apply_internal(item)

    def _apply_held(self, body: Body) -> None:
        held = self.held.get(body.id)
        if held is not None:
            for number in [number for number in held.steps if number <= body.number]:
                del held.steps[number]
            while body.number + 1 in held.steps:
                source, message = held.steps.pop(body.number + 1)
                body.follow(source, message.epoch)
                self._apply(body, message)
            if not held.steps:
                del self.held[body.id]
        self._app.offloads.on_ghost_changed(body.id)

    def _hold(self, source: AppId, message: UpdateGhost) -> None:
        held = self.held.get(message.entity)
        if held is None:
            if len(self.held) >= HELD_ENTITIES_MAX:
                self._app.count("held steps given up", entity=next(iter(self.held)))
                del self.held[next(iter(self.held))]
            held = self.held[message.entity] = Held(0.0, {})
        held.until = self._app.host.now + HELD_S
        if len(held.steps) < HELD_STEPS_MAX:
            held.steps[message.number] = (source, message)
        else:
            self._app.count("held steps given up", entity=message.entity)

    def _dig(self, entity: int, epoch: int, is_destroyed: bool, body: Body | None) -> None:
        known = self.graves.pop(entity, None)
        if known is not None and known.epoch > epoch:
            self.graves[entity] = known
            return
        if known is not None and known.epoch == epoch:
            is_destroyed = is_destroyed or known.is_destroyed
        if len(self.graves) >= GRAVES_MAX:
            del self.graves[next(iter(self.graves))]
        number, history = (-1, History(0)) if body is None else (body.number, body.history)
        self.graves[entity] = Grave(epoch, is_destroyed, number, history, self._app.host.now + GRAVE_S)
        held = self.held.get(entity)
        if held is not None:
            held.steps = {each: held.steps[each] for each in held.steps if held.steps[each][1].epoch > epoch}
            if not held.steps:
                del self.held[entity]
