"""Offloads: a real leaves for another app, or arrives here.

    A (real, epoch 4)                                         B (ghost)
      last step to all ghosts, the client told all of it
      CreateGhost, if B has none            ─────────────▶
      Offload(epoch 5): everything          ─────────────▶    mailbox arrives at once: what is forwarded finds it
      NextReal(epoch 5) to the other ghosts                   ghost at the same number: becomes the real
      becomes a ghost, keeps the Offload                      ghost behind (a step of the home before A is still
      forwards mail and moves                                   on its way): waits for it, then becomes the real
      forgets the Offload                   ◀─────────────    Onloaded

Between A's becoming a ghost and B's becoming the real there is no real at all, and never two (P1). That a ghost which
is behind is waited for keeps the history on B without a gap: everyone who watches from there gets each step (P4). The
wait ends by itself: what it waits for was sent before the Offload. If it was lost with a link, the wait ends with it.

An offload needs a reason that lasts: the place is outside this cell by more than the margin. Who has just arrived stays
a while, unless the tree has changed since: two apps with different trees would else play ball (story 8). At most so
many leave in a tick (story 14).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import msgspec

from terrazzo.cell.body import Body
from terrazzo.cell.history import History
from terrazzo.cell.kind import EntityKind
from terrazzo.cell.real import Real
from terrazzo.cell.witness import Witness
from terrazzo.errors import DecodeError
from terrazzo.schema.state import State
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import CreateGhost, NextReal, Offload, Onloaded

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

STAY_S = 0.5
OFFLOADS_MAX = 100
WAIT_S = 10.0


@dataclass(frozen=True)
class Kept:
    """What was sent and not yet confirmed."""

    to: AppId
    message: Offload


@dataclass(frozen=True)
class Waiting:
    """A real that has arrived and waits for its ghost to catch up."""

    message: Offload
    until: float


class Offloads:
    """The reals on their way, in both directions."""

    def __init__(self, app: CellApp, margin_m: float) -> None:
        self.kept: dict[int, Kept] = {}
        self.waiting: dict[int, Waiting] = {}
        self._app = app
        self._margin_m = margin_m

    # Leaving.

    def check(self) -> None:
        """Sends off those whose place is another app's."""
        count = 0
        for real in list(self._app.reals.values()):
            to = self._destination(real)
            if to is not None:
                self.offload(real, to)
                count += 1
                if count >= OFFLOADS_MAX:
                    break

    def _destination(self, real: Real) -> AppId | None:
        body = real.body
        if body.space.outside_by(body.position) <= self._margin_m:
            return None
        if (
            real.arrived_at is not None
            and self._app.host.now < real.arrived_at + STAY_S
            and real.tree_version == body.space.version
        ):
            return None
        to = body.space.home_of(body.position)
        return None if to is None or to == self._app.me or to in self._app.lost else to

    def offload(self, real: Real, to: AppId) -> None:
        """Sends a real away; its step is closed and its ghosts have it."""
        app, body = self._app, real.body
        if to not in real.haunts:
            app.haunts.create(real, to)
        if real.witness is not None:
            app.feed.serve(real)
        message = self._pack(real, to)
        app.send(to, message)
        for haunt in real.haunts:
            if haunt != to:
                app.send(haunt, NextReal(body.id, message.epoch, to))
        self.kept[body.id] = Kept(to, message)
        del app.reals[body.id]
        real.end()
        body.real = None
        body.keep_ghosted()
        body.epoch = body.born = message.epoch
        body.real_app = to

    def _pack(self, real: Real, to: AppId) -> Offload:
        app, body = self._app, real.body
        return Offload(
            entity=body.id,
            type_id=body.kind.schema.type_id,
            space=body.space.id,
            epoch=body.epoch + 1,
            number=body.number,
            position=body.position,
            yaw=body.yaw,
            properties=body.state.encode(),
            mailbox=app.switchboard.depart(body.part, to),
            haunts=(*(haunt for haunt in real.haunts if haunt != to), app.me),
            base=app.base_of(body),
            witness=None if real.witness is None else real.witness.pack(),
            timers=real.timers.pack(app.host.now),
            dbid=real.dbid,
            moved=real.mover.number,
        )

    def on_onloaded(self, source: AppId, message: Onloaded) -> None:
        """It arrived."""
        kept = self.kept.get(message.entity)
        if kept is not None and kept.message.epoch <= message.epoch:
            del self.kept[message.entity]

    def on_link_up(self, peer: AppId) -> None:
        """What was sent to this peer may have been lost with the former link, the last steps of the ghost included. A
        second copy does no harm."""
        for kept in self.kept.values():
            if kept.to == peer:
                self._app.send(peer, self._ghost_of(kept.message))
                self._app.send(peer, kept.message)

    def _ghost_of(self, message: Offload) -> CreateGhost:
        """The ghost that an offload needs where it goes."""
        kind = self._app.kinds.get(message.type_id)
        assert kind is not None
        layout = kind.schema.ghost_layout
        values = kind.schema.cell_layout.row.decode(message.properties)
        return CreateGhost(
            entity=message.entity,
            type_id=message.type_id,
            space=message.space,
            epoch=message.epoch - 1,
            number=message.number,
            position=message.position,
            yaw=message.yaw,
            properties=layout.row.encode(values[: len(layout)]),
            base=message.base,
        )

    # Arriving.

    def on_offload(self, source: AppId, message: Offload) -> None:
        """A real arrives. What cannot be taken in is not confirmed, so the sender still has it."""
        app = self._app
        kind = app.kinds.get(message.type_id)
        try:
            if kind is None:
                raise DecodeError(f"type {message.type_id} is not of this game")
            kind.schema.cell_layout.row.decode(message.properties)
            is_new = app.switchboard.arrive(message.mailbox)
        except (DecodeError, msgspec.MsgspecError) as problem:
            app.count("offload that does not decode", entity=message.entity, problem=str(problem))
            return
        app.send(source, Onloaded(message.entity, message.epoch))
        if not is_new:
            return
        kept = self.kept.get(message.entity)
        if kept is not None and kept.message.epoch < message.epoch:
            del self.kept[message.entity]
        self.waiting[message.entity] = Waiting(message, app.host.now + WAIT_S)
        self.on_ghost_changed(message.entity)

    def on_ghost_changed(self, entity: int) -> None:
        """The ghost has a new number: perhaps the one that its real, which has arrived, waits for."""
        waiting = self.waiting.get(entity)
        if waiting is not None:
            body = self._app.bodies.get(entity)
            if body is None or body.number >= waiting.message.number:
                self._land(waiting.message)

    def on_tick(self) -> None:
        """Ends waits that are over."""
        self._end_waits(self._app.host.now)

    def on_link_lost(self) -> None:
        """What is waited for may never come: a state with a gap in its history is better than none."""
        self._end_waits(inf)

    def _end_waits(self, until: float) -> None:
        for entity in [entity for entity, waiting in self.waiting.items() if waiting.until <= until]:
            self._app.count("offload that waited in vain", entity=entity)
            self._land(self.waiting[entity].message)

    def _land(self, message: Offload) -> None:
        app = self._app
        del self.waiting[message.entity]
        app.ghosts.on_landed(message.entity)
        kind = app.kinds.get(message.type_id)
        assert kind is not None
        body = self._landed_body(message, kind)
        real = Real(body, message.dbid, app.host.now)
        real.haunts = dict.fromkeys((haunt for haunt in message.haunts if haunt != app.me), app.host.now)
        real.timers.unpack(message.timers, app.host.now)
        real.arrived_at = app.host.now
        real.mover.number = message.moved
        if message.witness is not None:
            real.witness = Witness.unpack(body, message.witness, app.host.now)
        app.settle(real)
        app.run(body, "on_arrived", real.part.on_arrived)

    def _landed_body(self, message: Offload, kind: EntityKind) -> Body:
        """The ghost that was here, with the state of the real; or a new body where none was."""
        app = self._app
        state = State(kind.schema.cell_layout, None, kind.schema.cell_layout.row.decode(message.properties))
        body = app.bodies.get(message.entity)
        if body is not None and body.space.id != message.space:
            app.ghosts.remove(body, body.epoch, is_destroyed=False)
            body = None
        if body is None:
            body = Body(
                app,
                app.space(message.space),
                kind,
                message.entity,
                base=message.base,
                real_app=app.me,
                epoch=message.epoch,
                number=message.number,
                position=message.position,
                yaw=message.yaw,
                state=state,
            )
            app.add_body(body)
            return body
        body.state.release()
        body.state = state
        if body.number != message.number:
            body.number, body.history = message.number, History(message.number)
        body.base, body.real_app = message.base, app.me
        body.epoch = body.born = message.epoch
        body.space.place(body, message.position, message.yaw)
        return body
