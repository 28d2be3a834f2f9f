"""The behaviour that all entities of the seamless and the sync scenario share.

Entities act on timers: they walk, call each other, jump, ride on each other, and hide others from their clients or show
them. They report all of it to the judge.
"""

from __future__ import annotations

from math import pi
from random import Random
from typing import Any

from terrazzo import Base, Cell, Int32, Proxy, Ref, UInt32, remote
from terrazzo.base import ClientLoss, LogOnAnswer
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.cell.core.timers import DRAWN
from terrazzo.cell.ghosts.seeking import SEEK_S
from terrazzo.errors import UsageError
from terrazzo.schema.model import Side
from terrazzo.schema.refs import Component
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.call_rates import RATES
from terrazzo.sim.scenarios.seamless.entity_types import schema
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.once import TeleportGoal
from terrazzo.sim.scenarios.seamless.riding_and_visibility import Added
from terrazzo.sync.riding import encode_ride
from terrazzo.wire.ids import life_of

BOARD_M = 8.0
FAILURES = ("try again later", "did not answer", "the CellAppMgr")
"""The reasons with which a cell part may fail to be made, under faults."""
REFUSALS = ("has riders itself", "rides itself", "away from a vehicle")
"""The reasons with which boarding may fail, which an entity cannot check before."""
PLACE_M = 1e-3
BESIDE_M = 2.0
"""The distance that an entity may have gone between two steps, when it does not stride."""
LATELY_S = 5.0
"""Without faults no effect is later than this."""


class Being(Cell):
    """The common part of all bodies: a chain of timers, calls from other entities, teleports, and an end."""

    judge: Judge

    def on_created(self) -> None:
        """The first life begins, or the next."""
        self._hear("on_created")
        self.judge.left[self.id] = self.space
        self.judge.refs[self.id] = self.me
        self._wind()
        self.begin()

    def begin(self) -> None:
        """Called for a new body."""

    def live(self) -> None:
        """Acts, each time that its timer fires."""

    # From cell to cell.

    def on_leaving_cell(self) -> None:
        """About to leave."""
        self._hear("on_leaving_cell")
        self.judge.left[self.id] = self.space
        if self.judge.is_working and self.judge.changes_in_hooks.ends():
            self.judge.radii.pop(self.id, None)  # its next body has the usual radius
            self.perish()

    def on_left_cell(self) -> None:
        """A copy is left here."""
        self._hear("on_left_cell")

    def on_entering_cell(self) -> None:
        """About to be here."""
        self._hear("on_entering_cell")

    def on_entered_cell(self) -> None:
        """Here."""
        self._hear("on_entered_cell")
        if self.judge.is_working and self.judge.changes_in_hooks.changes():
            self.mark()

    def mark(self) -> None:
        """Changes a property that its ghosts have."""

    def on_ghost_created(self) -> None:
        """A copy."""
        self._hear("on_ghost_created")

    def on_ghost_destroyed(self) -> None:
        """No copy any more."""
        self._hear("on_ghost_destroyed")

    def _hear(self, hook: str) -> None:
        self.judge.check(self.judge.migration_hooks.run(hook, self._body))

    # Its client.

    def on_client_attached(self) -> None:
        """It has a client."""
        self.judge.check(self.judge.clients.attached(self.id))

    def on_client_detached(self) -> None:
        """It has no client any more."""
        self.judge.check(self.judge.clients.detached(self.id))
        self.judge.forget_client(self.id)

    # Timers.

    def _wind(self) -> None:
        seconds = self.judge.rng(self.id).uniform(0.02, self.judge.shape.pulse_s)
        self.judge.once.wind(self.id, self.timer(seconds), seconds)

    def on_timer(self, number: int) -> None:
        """Sets the next timer of the chain; other timers have numbers of the entity's choice."""
        if number < DRAWN:
            self.judge.check(self.judge.timers.fire(self.id, number))
            return
        self.judge.check(self.judge.once.fire(self.id, number))
        self.judge.check(self.judge.clients.pulse(self.id, has_client=self.has_client))
        if self.judge.is_working:
            self.secret += 1
            self.live()
            self.indulge()
            self.judge.timers.act(self)
            self._wind()
        else:
            self.rest()

    def perish(self) -> None:
        """The end of this life."""
        self.judge.doomed.add((self.id, self.judge.life("cell", self.id)))
        self.destroy()

    def rest(self) -> None:
        """Acts when its timer fires for the last time."""

    def stride(self, length: float) -> None:
        """Makes one step of its gait and turns; a long step may cross a whole cell. A rider does not walk."""
        if self.vehicle:
            return
        rng = self.judge.rng(self.id)
        x, z = self.judge.gait(self.id).stride(self.space, self.position.x, self.position.z, length)
        self.position = (x, self.position.y + rng.choice([0.0, 0.0, 0.0, 1.0, -1.0]), z)
        self.judge.tread(self.id, x, z)
        self.yaw = rng.uniform(-pi, pi)

    # Calls between cell parts.

    def sniff(self) -> None:
        """Calls the nearest entities, through the views that this cell has of them."""
        for other in self.entities_in_range(15.0)[:2]:
            other.sniffed(self.id, self.judge.calls.make("sniffed", self.id, other.id))

    def shout(self) -> None:
        """Calls any entity, wherever it is, and that entity's base part."""
        ref = self.judge.someone(self.judge.rng(self.id), self.id)
        if ref is not None:
            self.ref(ref).called(self.id, self.judge.calls.make("called", self.id, ref.id))
            if self.judge.rng(self.id).random() < 0.5 and not schema().by_id[ref.type_id].cell_only:
                base = Ref(ref.id, Component.BASE, ref.type_id)
                self.ref(base).heard_of(self.id, self.judge.calls.make("heard_of", self.id, ref.id))

    @remote
    def sniffed(self, source: Int32, number: UInt32) -> None:
        """Called by an entity that is near."""
        self.judge.check(self.judge.rates.called("sniffed", self.id, self.caller, may=not self.caller))
        self.judge.check(self.judge.calls.hear("sniffed", source, self.id, number))

    @remote
    def called(self, source: Int32, number: UInt32) -> None:
        """Called by an entity anywhere."""
        self.judge.check(self.judge.rates.called("called", self.id, self.caller, may=not self.caller))
        self.judge.check(self.judge.calls.hear("called", source, self.id, number))

    @remote
    def noted(self, number: UInt32) -> None:
        """Called by the own base part."""
        self.judge.check(self.judge.rates.called("noted", self.id, self.caller, may=not self.caller))
        self.judge.check(self.judge.calls.hear("noted", self.id, self.id, number))

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        """The callee is gone."""
        self.judge.check(self.judge.calls.report(named(method), self.id, entity))

    # Teleports.

    def jump(self) -> None:
        """Teleports to any place, or beside any entity."""
        judge, rng = self.judge, self.judge.rng(self.id)
        if judge.once.is_jumping(self.id):
            return
        ref = judge.someone(rng, self.id)
        if ref is not None and rng.random() < 0.4:
            aside = rng.choice([2.0, 2.0, 30.0])  # which may be beyond the end of the space
            offset = (rng.uniform(-aside, aside), 0.0, rng.uniform(-aside, aside))
            judge.once.wish(self.id, TeleportGoal("", offset, beside=ref.id))
            self.teleport(ref, offset)
        else:
            space, position = judge.entry(self.id)
            judge.once.wish(self.id, TeleportGoal(space, position))
            self.teleport(space, position, (rng.uniform(-pi, pi), 0.0, 0.0))

    def on_teleported(self) -> None:
        """Reports that it has arrived."""
        if self.judge.left.get(self.id, self.space) != self.space:
            self.judge.check(self.judge.once.left_behind(self.id))
        self.judge.left[self.id] = self.space
        self.judge.riding_and_visibility.land(self.id)
        self.judge.tread(self.id, self.position.x, self.position.z)
        self.judge.check(self.judge.once.land(self.id, "arrived", self._is_there))

    def _is_there(self, wish: TeleportGoal) -> bool:
        """Whether a teleport has brought it to its goal."""
        x, y, z = self.position
        if not wish.beside:
            near = max(abs(a - b) for a, b in zip((x, y, z), wish.position, strict=True))
            return self.space == wish.space and near <= PLACE_M
        aside_x, _, aside_z = wish.position
        places = self.judge.trod(wish.beside)
        return any(max(abs(a + aside_x - x), abs(b + aside_z - z)) <= BESIDE_M for a, b in places)

    def on_teleport_failed(self, reason: str) -> None:
        """Reports that it has not moved."""
        self.judge.check(self.judge.once.land(self.id, "failed"))

    # Areas.

    def on_entered_aoi(self, other: Any) -> None:
        """Another entity has entered the area."""
        self.judge.check(self.judge.once.enter(self.id, 0, other.id))
        choices = self.judge.riding_and_visibility
        if choices.hide and choices.rng(self.id).random() < choices.hide:
            self.hide(other)

    def on_left_aoi(self, entity: int) -> None:
        """Another entity has left the area."""
        self.judge.check(self.judge.once.leave(self.id, 0, entity))
        added, other = self.judge.riding_and_visibility.leave(self.id, entity), self.entity(entity)
        is_leaving = self.judge.migration_hooks.is_leaving(self._body) and self.judge.once.is_jumping(self.id)
        if other is not None and added == added_of(other) and not is_leaving:
            what = f"entity {entity} left the area of {self.id}, to which it was added, and is known there"
            self.judge.check(Broken("P4", what, self.id, entity))

    def on_proximity_entered(self, number: int, other: Any) -> None:
        """Another entity has entered a trigger."""
        self.judge.check(self.judge.once.enter(self.id, number, other.id))

    def on_proximity_left(self, number: int, entity: int) -> None:
        """Another entity has left a trigger."""
        self.judge.check(self.judge.once.leave(self.id, number, entity))

    # Occasional acts.

    def indulge(self) -> None:
        """Boards, or alights; hides an entity from its client, or shows it."""
        choices = self.judge.riding_and_visibility
        rng = choices.rng(self.id)
        if choices.ride and rng.random() < choices.ride:
            self._ride(rng)
        if choices.show and self.has_client and rng.random() < choices.show:
            self._show(rng)

    def _ride(self, rng: Random) -> None:
        if self.vehicle and rng.random() < 0.7:
            self.alight()
            self.judge.riding_and_visibility.alight(self.id)
            return
        seat = rng.choice([None, (rng.uniform(-3, 3), rng.choice([0.0, 1.5]), rng.uniform(-3, 3))])
        near = [each for each in self.entities_in_range(BOARD_M) if not each.vehicle]
        vehicle = self.vehicle or (rng.choice(near).id if near else 0)
        if self.entity(vehicle) is None:
            return
        try:
            self.board(vehicle, seat, rng.choice([None, (rng.uniform(-pi, pi), 0.0, 0.0)]))
        except UsageError as problem:
            if not any(each in str(problem) for each in REFUSALS):
                raise
        else:
            assert self._body.ride is not None
            self.judge.riding_and_visibility.board(self.id, encode_ride(self._body.ride))
            self.on_boarded()

    def on_boarded(self) -> None:
        """It rides from now on."""

    def on_vehicle_lost(self) -> None:
        """It stands."""
        self.judge.check(self.judge.riding_and_visibility.lose(self.id, has_reason=self._has_lost))

    def _has_lost(self, vehicle: int) -> bool:
        """Whether a vehicle may be out of sight."""
        judge, story = self.judge, self.judge.story(vehicle)
        since = judge.world.clock.now - LATELY_S
        is_upset = judge.riding_and_visibility.was_upset(vehicle, since - SEEK_S)  # its riders are sought first
        if not judge.shape.is_peaceful or story is None or story.is_over or is_upset:
            return True
        return story.places[0].since >= since  # it ended and was made again since

    def _show(self, rng: Random) -> None:
        choices, inside = self.judge.riding_and_visibility, self.entities_in_aoi()
        what = rng.random()
        if what < 0.5 and inside:
            self.hide(rng.choice(inside))
        elif what < 0.8:
            ref = self.judge.someone(rng, self.id)
            other = None if ref is None else self.entity(ref.id)
            if other is not None and other._body.kind.schema.on_client:
                self.add_to_aoi(other)
                choices.add(self.id, other.id, added_of(other))
        elif choices.added(self.id):
            other = rng.choice(list(choices.added(self.id)))
            self.remove_from_aoi(other)
            choices.remove(self.id, other)

    def hide(self, other: Any) -> None:
        """Hides an entity from its client; or shows it, if it is hidden."""
        choices, is_hidden = self.judge.riding_and_visibility, self.is_withheld_from_client(other)
        if is_hidden != (other.id in choices.withheld(self.id)):
            what = f"entity {other.id} is withheld from the client of {self.id}: {is_hidden}, which is not so"
            self.judge.check(Broken("P4", what, self.id, other.id))
        self.withhold_from_client(other, not is_hidden)
        choices.withhold(self.id, other.id, is_withheld=not is_hidden)


def added_of(other: Any) -> Added:
    """The life and space of an entity that is added to an area."""
    return Added(life_of(other._body.number), other.space)


class Home(Base):
    """The common part of all base parts."""

    judge: Judge

    @property
    def is_played(self) -> bool:
        """Whether it has a client now."""
        return False

    def on_created(self) -> None:
        """Begins to set timers."""
        self.judge.base_timers.wind(self)

    def on_timer(self, number: int) -> None:
        """A timer is due."""
        self.judge.check(self.judge.base_timers.ring(self, number))

    @remote
    def heard_of(self, source: Int32, number: UInt32) -> None:
        """Called by the cell part of another entity; its base part is called back."""
        self.judge.check(self.judge.calls.hear("heard_of", source, self.id, number))
        ref = self.judge.refs.get(source)
        if ref is not None and not schema().by_id[ref.type_id].cell_only:
            base = Ref(source, Component.BASE, ref.type_id)
            self.ref(base).greeted(self.id, self.judge.calls.make("greeted", self.id, source))

    @remote
    def greeted(self, source: Int32, number: UInt32) -> None:
        """Called by the base part of another entity."""
        self.judge.check(self.judge.calls.hear("greeted", source, self.id, number))

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        """The callee is gone. Calls of its client with a rate are judged by `call_rates.py`."""
        if named(method) not in RATES:
            self.judge.check(self.judge.calls.report(named(method), self.id, entity))

    def on_cell_lost(self) -> None:
        """Makes a new body; after the workload only for a player that is connected."""
        if (self.judge.is_working or self.is_played) and self.id not in self.judge.bases_over:
            self.judge.latency.lose(self.id)
            self.create_cell(*self.judge.entry(self.id))

    def on_cell_created(self) -> None:
        """It has a body, the first one or a later one."""
        self.judge.check(self.judge.latency.regain(self.id))

    def on_cell_failed(self, reason: str) -> None:
        """The space was not available: tries again."""
        self.judge.failed += 1
        is_known = not self.judge.shape.is_peaceful and any(each in reason for each in FAILURES)
        what = f"entity {self.id} got no cell part: {reason}"
        self.judge.check(None if is_known else Broken("P1", what, self.id))
        if self.id not in self.judge.bases_over:
            self.create_cell(*self.judge.entry(self.id))


class PlayedHome(Home, Proxy):
    """The common part of the base parts of players."""

    @property
    def is_played(self) -> bool:
        """See Home."""
        return self.has_client

    def on_client_ready(self) -> None:
        """Asks for a body at the old place, or at the first one; a proxy that was kept may still have its body."""
        self.judge.check(self.judge.clients.ready(self.id))
        self.judge.answers.pop(self.id, None)
        self.visits += 1
        if self._engine.cell.state is not CellPartState.NONE:
            return
        if self.last_place is None:
            self.create_cell(*self.judge.entry(self.id))
        else:
            self.create_cell()

    def on_client_back(self) -> None:
        """A later client is judged as the first one."""
        self.on_client_ready()

    def on_log_on_attempt(self, address: str) -> LogOnAnswer:
        """A client that answers stays: take-overs belong to the scenario `life`."""
        return LogOnAnswer.REFUSE if self.has_client else LogOnAnswer.ACCEPT

    def on_client_lost(self, reason: ClientLoss) -> None:
        """It has no client any more, for a while or for good."""
        self.judge.check(self.judge.clients.lost(self.id))
        if self.judge.clients.keep(self):
            return
        self.judge.bases_over.add(self.id)
        self.destroy()


def named(method: str) -> str:
    """The name of a method. Without the type of the callee an app reports only the number of a method; all types have
    these methods in the same order."""
    words = method.split(" method ")
    if len(words) != 2:
        return method
    methods = schema()["Avatar"].methods(Side.CELL if words[0] == "cell" else Side.BASE)
    return methods[int(words[1])].name
