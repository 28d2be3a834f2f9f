"""The ghosts on this CellApp: what other CellApps send about their reals, put in order.

Each link is ordered, and the real of an entity moves between CellApps. So messages of A about it and messages of B may
arrive in any interleaving. But every message about an entity has its place in one stream, the same for all CellApps:

    `number` runs over all steps of the entity, whichever CellApp has the real. A ghost begins after a step
    (CreateGhost, number), ends after a step (DeleteGhost, number), and becomes the real after a step (Offload, number):
    these are **transitions**.
    `epoch` grows with each home of the real: it orders transitions of the same number, and tells the newest home.

    a ghost here, as it was sent:     Create(e0, 4) 5 6 │ 7 8 Delete(e1, 8)        Create(e2, 12) 13 14 …
                                      from A            │ from B                   from D

So there is one rule: **the stream is taken in order, and what arrives early is held** (`cell/ghosts/held.py`). With m,
the number of the ghost, and `born`, the epoch of the creation that it begins with:

    message          no body here                         ghost at m                                       real here
    Create(e, n)     older than the tombstone: ignore     n ≤ m: known; born = e, if that is higher        ignore
                     else make it at n                    n > m: hold; a snapshot is taken at once
    step(n)          n ≤ the tombstone's end: ignore      n = m+1: apply; n ≤ m: known, ignore             ignore
                     else hold                            n > m+1: hold
    Delete(e, n)     add a tombstone                      e < born or n < m: ignore; n = m: remove         ignore
                                                          n > m: hold
    Offload(e, n)    the real begins                      n = m, or its past reaches down to m: it begins  a copy
                                                          else hold
    NextReal(e), SetReal(e), step(e), Create(e):          the highest epoch is followed: `real_app`
    SetReal(e, n)    n beyond the tombstone: hold         n > m: something is missing, hold

Why a deletion with n < m is ignored: a step after n was sent here, so the ghost was needed again after that deletion;
its creation is on its way or was taken as known. The two lives of the ghost are one.

Why a creation with n > m is held: the ghost is one of a former home of the real, whose steps and deletion are on their
way. They are applied first, so that a client that sees the ghost misses none of its last events (stories 2, 3).

**A gap that does not close** is mended (`cell/ghosts/mending.py`).

Whatever is lost is found: the next step leaves a gap, and a real sends SetReal, with its number, when it arrives and
after each break of a link. Everything that is held is bounded in number and time.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.history import without_places
from terrazzo.cell.ghosts.copies import apply_step, create_ghost, renew_ghost, run_destroyed_hook
from terrazzo.cell.ghosts.held import HELD_TRANSITIONS_MAX, Held
from terrazzo.cell.ghosts.mending import GAP_S, Mending
from terrazzo.cell.ghosts.seeking import Seeking
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.errors import DecodeError
from terrazzo.wire.ids import AppId, life_of
from terrazzo.wire.pairs.cell_cell import (
    CreateGhost,
    DeleteGhost,
    GhostCreated,
    GhostList,
    GhostPlaces,
    NextReal,
    Offload,
    SetReal,
    UpdateGhost,
)

HELD_ENTITIES_MAX = 4096
NOBODY = -1
"""The owner of a ghost for which something is held: its rows of places come to be put in order, too."""


class GhostReceiver:
    """The ghosts of one CellApp."""

    def __init__(
        self, core: Core, tombstones: Tombstones, seeking: Seeking, begin_real: Callable[[Offload], object]
    ) -> None:
        """`begin_real` lets a real begin here that has arrived and was held."""
        self.tombstones = tombstones
        self.held: dict[int, Held] = {}
        self.mending = Mending(core, self)
        self._core = core
        self._seeking = seeking
        self._begin_real = begin_real

    # Messages.

    def on_create(self, source: AppId, message: CreateGhost) -> None:
        """A real elsewhere makes a ghost here."""
        self._begin(source, message)
        self._trust(message.entity, message.epoch)
        self._advance(message.entity)
        self._confirm(source, message.entity, message.epoch)

    def on_update(self, source: AppId, message: UpdateGhost) -> None:
        """A step of a real elsewhere."""
        body = self._core.bodies.get(message.entity)
        if body is None:
            if message.number > self.tombstones.end_of(message.entity):
                self._hold(message.entity, source, message.epoch).add_step(message)
            return
        if body.real is not None:
            return
        if message.epoch > body.epoch:
            self._follow(body.id, source, message.epoch)
        self._trust(body.id, message.epoch)
        if message.number == body.number + 1:
            apply_step(body, message)
            self._advance(body.id)
        elif message.number > body.number:
            if not self._hold(body.id, source, message.epoch).add_step(message):
                self._core.count("held steps given up", entity=body.id)
            self._guard(body)
        else:
            self._advance(body.id)

    def on_places(self, source: AppId, message: GhostPlaces) -> None:
        """Steps of many reals that have only moved."""
        space = self._core.space(message.space)
        try:
            rows = space.area.apply_places(message.rows, self._core.number_of(source))
        except DecodeError as problem:
            self._core.count("places that do not decode", source=str(source), problem=str(problem))
            return
        for entity, epoch, number, position, direction in rows:
            self.on_update(source, UpdateGhost(entity, epoch, number, (), position, direction))

    def on_delete(self, source: AppId, message: DeleteGhost) -> None:
        """A real elsewhere deletes its ghost here."""
        self._seeking.on_delete(source, message)
        self._end(source, message)
        self._advance(message.entity)

    def on_next_real(self, source: AppId, message: NextReal) -> None:
        """The real went on to another CellApp. A message of that one must follow: if it is lost, its real is asked."""
        self._seeking.on_next_real(source, message)
        if message.app == self._core.me:
            return  # the real is on its way to here: the ghost becomes it when it comes
        body = self._core.bodies.get(message.entity)
        if body is not None and body.real is None and message.epoch > body.epoch:
            self._hold(body.id, message.app, message.epoch).is_unconfirmed = True
        self._follow(message.entity, message.app, message.epoch)

    def on_set_real(self, source: AppId, message: SetReal) -> None:
        """A real has arrived at the source, or is confirmed to be there."""
        body = self._core.bodies.get(message.entity)
        if body is None and self.tombstones.is_too_late(message.entity, message.epoch):
            return
        if body is not None and body.real is not None:
            return
        self._follow(message.entity, source, message.epoch)
        self._trust(message.entity, message.epoch)
        if body is None or message.number > body.number:
            held = self._hold(message.entity, source, message.epoch)
            held.upto = max(held.upto, message.number)
            if body is None:
                held.awaited = max(held.awaited, message.epoch)
        self._advance(message.entity)
        self._confirm(source, message.entity, message.epoch)

    def on_list(self, source: AppId, message: GhostList) -> None:
        """After a broken link: all ghosts that the source has here. What is here beside these may have ended, or gone
        elsewhere, without our hearing of it: it is asked for until its real has answered."""
        listed = set(message.entities)
        for body in list(self._core.bodies.values()):  # to hold one may cost another, when too many are held
            if body.real is None and body.real_app == source and body.id not in listed:
                held = self._hold(body.id, source, body.epoch)
                held.is_unconfirmed, held.until = True, self._core.host.now
                self._guard(body)

    def on_tick(self) -> None:
        """Mends the gaps that have not closed in time."""
        self.tombstones.expire(self._core.host.now)
        self.mending.run()

    # Offloads.

    def hold_arrival(self, source: AppId, message: Offload) -> None:
        """A real has arrived whose ghost here is too far behind. Its epoch begins when it does: its sender had the
        one before."""
        held, body = self._hold(message.entity, source, message.epoch - 1), self._core.bodies[message.entity]
        held.add_transition(source, message)
        self.mending.await_arrival(held, is_lost=body.number >= message.first)
        self._advance(message.entity)

    def arrivals(self) -> list[Offload]:
        """The reals that have come here and wait."""
        turns = (transition.message for held in self.held.values() for transition in held.transitions)
        return [each for each in turns if isinstance(each, Offload)]

    def has_arrivals(self, space: int) -> bool:
        """Whether a real of this space has come here and waits."""
        return any(space in (each.space, each.jump and each.jump.space) for each in self.arrivals())

    def on_arrived(self, entity: int) -> None:
        """The real is here: what waits to change the ghost has lost its meaning."""
        self.held.pop(entity, None)

    def remove(self, body: Body, epoch: int, *, is_destroyed: bool) -> None:
        """A body ends here, and a tombstone is added."""
        self._core.remove_body(body)
        self._add_tombstone(body.id, epoch, body.number, is_destroyed=is_destroyed, body=body)

    def end(self, body: Body, epoch: int, *, is_destroyed: bool) -> None:
        """A ghost is removed, and its hook runs."""
        self.remove(body, epoch, is_destroyed=is_destroyed)
        run_destroyed_hook(body)

    # Turns.

    def _begin(self, source: AppId, message: CreateGhost) -> None:
        body = self._core.bodies.get(message.entity)
        if body is None:
            if not self.tombstones.is_too_late(message.entity, message.epoch):
                create_ghost(self._core, source, message)
        elif body.real is not None:
            self._core.count("ghost creation too late")
        elif message.number <= body.number:
            body.born = max(body.born, message.epoch)
            body.follow(source, message.epoch)
        elif message.is_snapshot:
            self._replace(body, source, message)
        else:
            self._hold_transition(source, message)

    def _end(self, source: AppId, message: DeleteGhost) -> None:
        body = self._core.bodies.get(message.entity)
        if body is None:
            self._add_tombstone(
                message.entity, message.epoch, message.number, is_destroyed=message.is_destroyed, body=None
            )
        elif body.real is not None or message.epoch < body.born or message.number < body.number:
            self._core.count("ghost deletion too late")
        elif message.number == body.number:
            self._end_at(body, message)
        elif message.past is not None:
            body.adopt(message.past if message.space == body.space.id else without_places(message.past))
            body.number = message.number
            self._end_at(body, message)
        else:
            self._hold_transition(source, message)

    def _end_at(self, body: Body, message: DeleteGhost) -> None:
        self.end(body, message.epoch, is_destroyed=message.is_destroyed)
        if body.epoch > message.epoch:  # a later home has spoken to it: it was created again, which is on its way
            self._hold(body.id, body.real_app, body.epoch).awaited = body.epoch

    def _hold_transition(self, source: AppId, message: CreateGhost | DeleteGhost) -> None:
        body = self._core.bodies.get(message.entity)
        if body is None or message.number <= body.number:  # it would be taken and held again, for ever
            self._core.count("turn that cannot be early", entity=message.entity)
            return
        held = self._hold(message.entity, source, message.epoch)
        if len(held.transitions) < HELD_TRANSITIONS_MAX:
            held.add_transition(source, message)
        else:
            self._core.count("held turns given up", entity=message.entity)

    def _take(self, source: AppId, message: CreateGhost | DeleteGhost | Offload) -> None:
        if isinstance(message, CreateGhost):
            self._begin(source, message)
        elif isinstance(message, DeleteGhost):
            self._end(source, message)
        else:
            self._begin_real(message)

    def _add_tombstone(self, entity: int, epoch: int, end: int, *, is_destroyed: bool, body: Body | None) -> None:
        self.tombstones.add(entity, epoch, end, self._core.host.now, is_destroyed=is_destroyed, body=body)
        held = self.held.get(entity)
        if held is not None and held.awaited <= epoch:
            held.awaited = -1

    # What is held.

    def _hold(self, entity: int, source: AppId, epoch: int) -> Held:
        held = self.held.get(entity)
        if held is None:
            while len(self.held) >= HELD_ENTITIES_MAX:
                self.mending.give_up(next(iter(self.held)))
            now = self._core.host.now
            held = self.held[entity] = Held(now, now + GAP_S, source, epoch)
        held.note(source, epoch)
        return held

    def _trust(self, entity: int, epoch: int) -> None:
        """A real has confirmed that it has a ghost here."""
        held = self.held.get(entity)
        if held is not None and epoch >= held.epoch:
            held.is_unconfirmed = False
            held.on_answer()

    def _advance(self, entity: int) -> None:
        """Takes what is held and can be taken now."""
        held = self.held.get(entity)
        if held is None:
            return
        while self._take_next(entity, held):
            self.mending.renew(held)
        body = self._core.bodies.get(entity)
        if body is not None and body.real is None:
            body.follow(held.ask, held.epoch)
        number = self.tombstones.end_of(entity) if body is None else body.number
        if self.held.get(entity) is held and held.is_done(number, has_body=body is not None):
            del self.held[entity]
        if body is not None:
            self._guard(body)

    def _take_next(self, entity: int, held: Held) -> bool:
        body = self._core.bodies.get(entity)
        if self.held.get(entity) is not held:
            return False
        number = self.tombstones.end_of(entity) if body is None else body.number
        held.drop_to(number)
        if held.transitions and (body is None or held.transitions[0].number <= number):
            transition = held.transitions.pop(0)
            self._take(transition.source, transition.message)
            return True
        if body is not None and number + 1 in held.steps:
            apply_step(body, held.steps.pop(number + 1))
            return True
        return False

    def _guard(self, body: Body) -> None:
        """Rows of places go straight into the arrays, but not past something that is held."""
        owner = NOBODY if body.id in self.held else self._core.number_of(body.real_app)
        body.space.area.set_owner(body.slot, owner)

    def pass_over(self, entity: int, held: Held) -> None:
        """Takes the first transition as if the steps before it had arrived."""
        body, transition = self._core.bodies.get(entity), held.transitions.pop(0)
        if body is not None and isinstance(transition.message, CreateGhost):
            self._replace(body, transition.source, transition.message)
        elif body is not None and isinstance(transition.message, DeleteGhost):
            self.end(body, transition.epoch, is_destroyed=transition.message.is_destroyed)
        else:
            self._take(transition.source, transition.message)
        self._advance(entity)

    def forget_held(self, entity: int) -> None:
        """Nothing is held for it any more."""
        self.held.pop(entity, None)
        body = self._core.bodies.get(entity)
        if body is not None:
            self._guard(body)

    # Bodies.

    def _follow(self, entity: int, app: AppId, epoch: int) -> None:
        body, held = self._core.bodies.get(entity), self.held.get(entity)
        if held is not None:
            held.note(app, epoch)
        if body is not None and body.real is None:
            body.follow(app, epoch)
            self._guard(body)

    def _confirm(self, source: AppId, entity: int, epoch: int) -> None:
        """Says that the ghost is here, if it is: one that could not be made is created again."""
        body = self._core.bodies.get(entity)
        if body is not None:
            self._core.send(source, GhostCreated(entity, max(epoch, body.epoch)))

    def _replace(self, body: Body, source: AppId, message: CreateGhost) -> None:
        """Takes over a later state of the same life at once; witnesses have its past. The body's number tells its
        life: its epoch is the newest that was received, perhaps of a later life."""
        if body.space.id == message.space and life_of(body.number) == life_of(message.number):
            renew_ghost(body, source, message)
        else:
            self.end(body, min(body.epoch, message.epoch), is_destroyed=False)
            create_ghost(self._core, source, message)
