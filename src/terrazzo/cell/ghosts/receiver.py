"""The ghosts on this CellApp: what other CellApps send about their reals, put in order.

`stream.py` has the rules and the table of every transition: it names the action for each message, and this module has
the code of each action. What arrives early is held (`held.py`), everything that is held is bounded in number and time,
and a gap that does not close is mended (`mending.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.history import without_places
from terrazzo.cell.ghosts.copies import apply_step, create_ghost, renew_ghost, run_destroyed_hook
from terrazzo.cell.ghosts.held import HELD_TRANSITIONS_MAX, Held
from terrazzo.cell.ghosts.holding import Holding
from terrazzo.cell.ghosts.mending import Mending
from terrazzo.cell.ghosts.seeking import Seeking
from terrazzo.cell.ghosts.stream import (
    GhostAction,
    GhostEvent,
    arrival_event,
    creation_event,
    deletion_event,
    next_real_event,
    next_step,
    set_real_event,
    state_of,
    step_event,
)
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.errors import DecodeError
from terrazzo.wire.ids import AppId, life_of
from terrazzo.wire.log_events import LogEvent
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


class Unlisted(NamedTuple):
    """A ghost that a GhostList does not have."""

    entity: int


StreamMessage = CreateGhost | UpdateGhost | DeleteGhost | Offload | NextReal | SetReal | Unlisted


class GhostReceiver:
    """The ghosts of one CellApp."""

    def __init__(
        self, core: Core, tombstones: Tombstones, seeking: Seeking, begin_real: Callable[[Offload], object]
    ) -> None:
        """`begin_real` lets a real begin here that has arrived and was held."""
        self.tombstones = tombstones
        self.mending = Mending(core, self)
        self.holding = Holding(core, self.mending.give_up)
        self.held = self.holding.all
        self._core = core
        self._seeking = seeking
        self._begin_real = begin_real

    # Messages.

    def on_create(self, source: AppId, message: CreateGhost) -> None:
        """A real elsewhere makes a ghost here."""
        self._begin(source, message)
        self.holding.trust(message.entity, message.epoch)
        self._advance(message.entity)
        self._confirm(source, message.entity, message.epoch)

    def on_update(self, source: AppId, message: UpdateGhost) -> None:
        """A step of a real elsewhere."""
        body = self._core.bodies.get(message.entity)
        self._meet(step_event(body, message, self.tombstones), source, message, body)

    def on_places(self, source: AppId, message: GhostPlaces) -> None:
        """Steps of many reals that have only moved."""
        space = self._core.space(message.space)
        try:
            rows = space.area.apply_places(message.rows, self._core.number_of(source))
        except DecodeError as problem:
            self._core.count(LogEvent.PLACES_MALFORMED, source=str(source), problem=str(problem))
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
        if message.app != self._core.me:  # else the real is on its way to here: the ghost becomes it when it comes
            body = self._core.bodies.get(message.entity)
            self._meet(next_real_event(body, message), source, message, body)

    def on_set_real(self, source: AppId, message: SetReal) -> None:
        """A real has arrived at the source, or is confirmed to be there."""
        body = self._core.bodies.get(message.entity)
        self._meet(set_real_event(body, message, self.tombstones), source, message, body)

    def on_list(self, source: AppId, message: GhostList) -> None:
        """After a broken link: all ghosts that the source has here. What is here beside these may have ended, or gone
        elsewhere, without a message about it here: it is asked for until its real has answered."""
        listed = set(message.entities)
        for body in list(self._core.bodies.values()):  # to hold one may cost another, when too many are held
            if body.real is None and body.real_app == source and body.id not in listed:
                self._meet(GhostEvent.UNLISTED, source, Unlisted(body.id), body)

    def on_tick(self) -> None:
        """Mends the gaps that have not closed in time."""
        self.tombstones.expire(self._core.host.now)
        self.mending.run()

    # Offloads.

    def on_arrival(self, source: AppId, message: Offload) -> None:
        """A real has arrived, and was not here before."""
        body = self._core.bodies.get(message.entity)
        self._meet(arrival_event(body, message), source, message, body)

    def hold_arrival(self, source: AppId, message: Offload) -> None:
        """A real has arrived, and its ghost here is too far behind. Its epoch begins when it does: its sender had the
        one before."""
        held, body = self.holding.hold(message.entity, source, message.epoch - 1), self._core.bodies[message.entity]
        held.add_transition(source, message)
        self.mending.await_arrival(held, is_lost=body.number >= message.first)
        self._advance(message.entity)

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

    # Actions.

    def _meet(self, event: GhostEvent, source: AppId, message: StreamMessage, body: Body | None) -> None:
        """Takes the transition of the table. `body` is what is here now."""
        ACTIONS[next_step(state_of(message.entity, body, self.tombstones), event).action](self, source, message, body)

    def _begin(self, source: AppId, message: CreateGhost) -> None:
        body = self._core.bodies.get(message.entity)
        self._meet(creation_event(body, message, self.tombstones), source, message, body)

    def _end(self, source: AppId, message: DeleteGhost) -> None:
        body = self._core.bodies.get(message.entity)
        self._meet(deletion_event(body, message), source, message, body)

    def _count_late_creation(self, source: AppId, message: CreateGhost, body: Body) -> None:
        self._core.count(LogEvent.GHOST_CREATION_LATE)

    def _count_late_deletion(self, source: AppId, message: DeleteGhost, body: Body) -> None:
        self._core.count(LogEvent.GHOST_DELETION_LATE)

    def _make(self, source: AppId, message: CreateGhost, body: None) -> None:
        create_ghost(self._core, source, message)

    def _keep(self, source: AppId, message: CreateGhost, body: Body) -> None:
        body.born = max(body.born, message.epoch)
        body.follow(source, message.epoch)

    def _note(self, source: AppId, message: UpdateGhost, body: Body) -> None:
        self._credit(source, message, body)
        self._advance(body.id)

    def _apply(self, source: AppId, message: UpdateGhost, body: Body) -> None:
        self._credit(source, message, body)
        apply_step(body, message)
        self._advance(body.id)

    def _hold_step(self, source: AppId, message: UpdateGhost, body: Body) -> None:
        self._credit(source, message, body)
        if not self.holding.hold(body.id, source, message.epoch).add_step(message):
            self._core.count(LogEvent.HELD_STEPS_GIVEN_UP, entity=body.id)
        self.holding.guard(body)

    def _hold_first_step(self, source: AppId, message: UpdateGhost, body: None) -> None:
        self.holding.hold(message.entity, source, message.epoch).add_step(message)

    def _add_tombstone_of(self, source: AppId, message: DeleteGhost, body: None) -> None:
        self._add_tombstone(message.entity, message.epoch, message.number, is_destroyed=message.is_destroyed, body=body)

    def _end_at(self, source: AppId, message: DeleteGhost, body: Body) -> None:
        self.end(body, message.epoch, is_destroyed=message.is_destroyed)
        if body.epoch > message.epoch:  # a later home has spoken to it: it was created again, which is on its way
            self.holding.hold(body.id, body.real_app, body.epoch).awaited = body.epoch

    def _end_with_past(self, source: AppId, message: DeleteGhost, body: Body) -> None:
        assert message.past is not None
        body.adopt(message.past if message.space == body.space.id else without_places(message.past))
        body.number = message.number
        self._end_at(source, message, body)

    def _hold_transition(self, source: AppId, message: CreateGhost | DeleteGhost, body: Body) -> None:
        if message.number <= body.number:  # it would be taken and held again, for ever
            self._core.count(LogEvent.TRANSITION_NOT_EARLY, entity=message.entity)
            return
        held = self.holding.hold(message.entity, source, message.epoch)
        if len(held.transitions) < HELD_TRANSITIONS_MAX:
            held.add_transition(source, message)
        else:
            self._core.count(LogEvent.HELD_TRANSITIONS_GIVEN_UP, entity=message.entity)

    def _follow_next(self, source: AppId, message: NextReal, body: Body | None) -> None:
        self.holding.follow(message.entity, message.app, message.epoch)

    def _follow_unconfirmed(self, source: AppId, message: NextReal, body: Body) -> None:
        self.holding.hold(body.id, message.app, message.epoch).is_unconfirmed = True
        self._follow_next(source, message, body)

    def _confirm_real(self, source: AppId, message: SetReal, body: Body) -> None:
        self.holding.follow(message.entity, source, message.epoch)
        self.holding.trust(message.entity, message.epoch)
        self._advance(message.entity)
        self._confirm(source, message.entity, message.epoch)

    def _expect(self, source: AppId, message: SetReal, body: Body | None) -> None:
        self.holding.follow(message.entity, source, message.epoch)
        self.holding.trust(message.entity, message.epoch)
        held = self.holding.hold(message.entity, source, message.epoch)
        held.upto = max(held.upto, message.number)
        if body is None:
            held.awaited = max(held.awaited, message.epoch)
        self._advance(message.entity)
        self._confirm(source, message.entity, message.epoch)

    def _doubt(self, source: AppId, message: Unlisted, body: Body) -> None:
        held = self.holding.hold(body.id, source, body.epoch)
        held.is_unconfirmed, held.until = True, self._core.host.now
        self.holding.guard(body)

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

    def _credit(self, source: AppId, message: UpdateGhost, body: Body) -> None:
        """A step confirms where the real is, and that it has this ghost."""
        if message.epoch > body.epoch:
            self.holding.follow(body.id, source, message.epoch)
        self.holding.trust(body.id, message.epoch)

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
            self.holding.guard(body)

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

    def pass_over(self, entity: int, held: Held) -> None:
        """Takes the first transition as if the steps before it had arrived."""
        body, transition = self._core.bodies.get(entity), held.transitions.pop(0)
        if body is not None and isinstance(transition.message, CreateGhost):
            self._replace(transition.source, transition.message, body)
        elif body is not None and isinstance(transition.message, DeleteGhost):
            self.end(body, transition.epoch, is_destroyed=transition.message.is_destroyed)
        else:
            self._take(transition.source, transition.message)
        self._advance(entity)

    def forget_held(self, entity: int) -> None:
        """Nothing is held for it any more."""
        self.holding.drop(entity)

    # Bodies.

    def _confirm(self, source: AppId, entity: int, epoch: int) -> None:
        """Confirms the ghost, if it is here: one that could not be made is created again."""
        body = self._core.bodies.get(entity)
        if body is not None:
            self._core.send(source, GhostCreated(entity, max(epoch, body.epoch)))

    def _replace(self, source: AppId, message: CreateGhost, body: Body) -> None:
        """Takes over a later state of the same life at once; witnesses have its past. The life is taken from the
        body's number, since its epoch is the newest that was received, perhaps of a later life."""
        if body.space.id == message.space and life_of(body.number) == life_of(message.number):
            renew_ghost(body, source, message)
        else:
            self.end(body, min(body.epoch, message.epoch), is_destroyed=False)
            create_ghost(self._core, source, message)


ACTIONS: dict[GhostAction, Callable[..., None]] = {
    GhostAction.NOTHING: lambda receiver, source, message, body: None,
    GhostAction.COUNT_LATE_CREATION: GhostReceiver._count_late_creation,
    GhostAction.COUNT_LATE_DELETION: GhostReceiver._count_late_deletion,
    GhostAction.MAKE: GhostReceiver._make,
    GhostAction.KEEP: GhostReceiver._keep,
    GhostAction.REPLACE: GhostReceiver._replace,
    GhostAction.HOLD: GhostReceiver._hold_transition,
    GhostAction.NOTE: GhostReceiver._note,
    GhostAction.APPLY: GhostReceiver._apply,
    GhostAction.HOLD_STEP: GhostReceiver._hold_step,
    GhostAction.HOLD_FIRST_STEP: GhostReceiver._hold_first_step,
    GhostAction.ADD_TOMBSTONE: GhostReceiver._add_tombstone_of,
    GhostAction.END: GhostReceiver._end_at,
    GhostAction.END_WITH_PAST: GhostReceiver._end_with_past,
    GhostAction.BEGIN_REAL: lambda receiver, source, message, body: receiver._begin_real(message),
    GhostAction.HOLD_ARRIVAL: lambda receiver, source, message, body: receiver.hold_arrival(source, message),
    GhostAction.FOLLOW: GhostReceiver._follow_next,
    GhostAction.FOLLOW_UNCONFIRMED: GhostReceiver._follow_unconfirmed,
    GhostAction.CONFIRM: GhostReceiver._confirm_real,
    GhostAction.EXPECT: GhostReceiver._expect,
    GhostAction.AWAIT: GhostReceiver._expect,
    GhostAction.DOUBT: GhostReceiver._doubt,
}
"""The code of each action of the table."""
