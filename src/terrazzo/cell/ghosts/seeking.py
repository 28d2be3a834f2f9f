"""Seeking: a real that arrives asks for the entities that it has met and that have no body on its new CellApp.

A real brings along a list of others: the entities that its client was sent, those inside its triggers, the vehicle that
it stands on. Each of them is near, so it will have a ghost here; but the ghost may be made later than the real arrives:
the other real is between two cells, more ghosts are to be made than a check may make, or the CellApp that has to make
it has an older tree. As long as such an entity is *sought*, it has not left (`cell/client/witness.py`,
`cell/client/interests.py`, `cell/motion/riding.py`):

    the real arrives ──▶ sought ── a body of the entity is here ─────────────────▶ found
                           │  ▲
      WantGhosts, each ASK_S  │ NextReal(epoch, app): from now on that app is asked; this very app: the real is on its
                           ▼  │                       way to here, and only waited for
             the app of the real, if it is known;     ── DeleteGhost from the app that was asked ──▶ given up: it is far
             else the cells around, and retiring ones    away, or no more
                                                      ── SEEK_S without a body, or the seeker left ──▶ given up

What a CellApp that is asked answers, for each entity:

    the real is here, near the seeker     the ghost is made, before all others of the next check (`placement.py`)
    the real is here, and has a ghost there already      nothing: the creation is ahead on the same link. In another
                                          space: NextReal, which names the app that sends it: given up
    the real is here, far away            DeleteGhost, as to any app that asks for a ghost in vain: it adds a tombstone,
                                          which refuses an older creation, but not the next one of this real
    a ghost is here, or a stub            NextReal: where the real is, and since which epoch
    the entity was destroyed              DeleteGhost, destroyed
    the entity is unknown                 nothing

The races: an answer of an older epoch than the one that is followed changes nothing (races 2, 3, 7); a real between
two cells is found at its destination, which is asked until it has arrived (10); whatever is lost with a link is asked
again (4); everything is bounded in number and in time, and ghosts that are asked for count in a check as others do
(14).
"""

from __future__ import annotations

from dataclasses import dataclass

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.members import FormerMembers
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts.mending import ARRIVAL_S
from terrazzo.cell.ghosts.placement import KEEP_M, GhostPlacement
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.pairs.cell_cell import WANTED_MAX, DeleteGhost, NextReal, WantGhosts
from terrazzo.world.rect import Rect

SEEK_S = ARRIVAL_S
"""So long a real may be held where it arrives, and has no place meanwhile: no ghost can be asked of it."""
ASK_S = 0.5


@dataclass(slots=True)
class Sought:
    """One entity that a real here waits for."""

    until: float
    ask: AppId | None = None
    """The app that has its real, as far as is known."""
    epoch: int = -1
    """Since when."""
    ask_at: float = 0.0


class Seeking:
    """What the reals of this app seek, and the answers to what others seek."""

    def __init__(self, core: Core, placement: GhostPlacement, former: FormerMembers, tombstones: Tombstones) -> None:
        self._core = core
        self._placement = placement
        self._former = former
        self._tombstones = tombstones
        self._quests: dict[int, dict[int, Sought]] = {}
        """Seeker → entity."""

    # What is sought.

    def begin(self, real: Real) -> None:
        """A real has arrived."""
        body, absent = real.body, [each for trigger in real.proximities.values() for each in trigger.absent()]
        if real.witness is not None:
            absent += real.witness.absent()
        if body.ride is not None:
            absent.append(body.ride.vehicle)
        for entity in absent:
            if entity not in body.space.bodies:
                self.seek(body, entity)

    def seek(self, seeker: Body, entity: int) -> None:
        """A real here has met an entity that has no body here."""
        part = PartId(EntityId(entity), Part.CELL)
        home = self._core.switchboard.home_of(part)
        sought = Sought(self._core.host.now + SEEK_S)
        if home not in (None, self._core.me):
            sought.ask, sought.epoch = home, self._core.switchboard.version_of_place(part)
        self._quests.setdefault(seeker.id, {})[entity] = sought

    def is_sought(self, seeker: int, entity: int) -> bool:
        """Whether an entity without a body here is still waited for."""
        return seeker in self._quests and entity in self._quests[seeker]

    def on_tick(self) -> None:
        """Asks, and gives up."""
        now = self._core.host.now
        for seeker, quests in list(self._quests.items()):
            real = self._core.reals.get(seeker)
            for entity in [each for each in quests if real is None or self._is_over(real, each, quests[each].until)]:
                del quests[entity]
            if real is not None and quests:
                self._ask(real.body, quests, now)
            elif not quests:
                del self._quests[seeker]

    def _is_over(self, real: Real, entity: int, until: float) -> bool:
        """Found, or given up; a real of this very app that is not in the space of the seeker is in another one."""
        return until <= self._core.host.now or entity in real.body.space.bodies or entity in self._core.reals

    def _ask(self, seeker: Body, quests: dict[int, Sought], now: float) -> None:
        questions: dict[AppId, list[int]] = {}
        around: list[AppId] | None = None
        for entity, sought in quests.items():
            if sought.ask_at > now or sought.ask == self._core.me:
                continue
            sought.ask_at = now + ASK_S
            if sought.ask is None and around is None:
                around = self._around(seeker)
            for app in around or () if sought.ask is None else (sought.ask,):
                questions.setdefault(app, []).append(entity)
        for app, entities in questions.items():
            if app not in self._core.links.lost:
                for at in range(0, len(entities), WANTED_MAX):
                    wanted = tuple(entities[at : at + WANTED_MAX])
                    self._core.send(app, WantGhosts(seeker.space.id, seeker.position, wanted))

    def _around(self, seeker: Body) -> list[AppId]:
        """The apps that may have a real near the seeker."""
        space, (x, _, z) = seeker.space, seeker.position
        leaves = space.leaves_touching(Rect.around(x, z, self._core.ghost_reach_m))
        apps = dict.fromkeys((*(leaf.app for leaf in leaves), *sorted(space.retiring)))
        return [app for app in apps if app != self._core.me]

    # What is answered.

    def on_next_real(self, source: AppId, message: NextReal) -> None:
        """The real of an entity is, or will be, at that app; if that is the source, in another space."""
        if message.app == source:
            self._give_up(source, message.entity, message.epoch)
            return
        for quests in self._quests.values():
            sought = quests.get(message.entity)
            if sought is not None and message.epoch > sought.epoch:
                sought.ask, sought.epoch, sought.ask_at = message.app, message.epoch, 0.0

    def on_delete(self, source: AppId, message: DeleteGhost) -> None:
        """The real has no ghost here, or was destroyed; from a former home that means nothing."""
        self._give_up(source, message.entity, message.epoch)

    def _give_up(self, source: AppId, entity: int, epoch: int) -> None:
        for quests in self._quests.values():
            sought = quests.get(entity)
            if sought is not None and epoch >= sought.epoch and sought.ask in (None, source):
                del quests[entity]

    # What others seek.

    def on_want_ghosts(self, source: AppId, message: WantGhosts) -> None:
        """A real there has met entities that have no body there."""
        for entity in message.entities:
            real = self._core.reals.get(entity)
            if real is None:
                self._answer_for(source, entity)
            elif source not in real.ghosts:
                self._show(source, message, real)
            elif real.body.space.id != message.space:
                self._core.send(source, NextReal(entity, real.body.epoch, self._core.me))

    def _show(self, source: AppId, message: WantGhosts, real: Real) -> None:
        core, body, (x, _, z) = self._core, real.body, message.position
        reach = core.ghost_reach_m + body.kind.schema.appeal_radius + KEEP_M
        is_near = body.space.id == message.space and Rect.around(x, z, reach).outside_by(*body.position[::2]) == 0
        if is_near and not self._former.has_left(message.space, source):
            self._placement.want(real, source)
        else:
            core.send(source, DeleteGhost(body.id, body.epoch, body.number, is_destroyed=False))

    def _answer_for(self, source: AppId, entity: int) -> None:
        """Answers for an entity that has no real here: it is elsewhere, or ended."""
        core, body, tombstone = self._core, self._core.bodies.get(entity), self._tombstones.get(entity)
        part = PartId(EntityId(entity), Part.CELL)
        home = core.switchboard.home_of(part)
        if body is not None and body.real_app != core.me:
            core.send(source, NextReal(entity, body.epoch, body.real_app))
        elif tombstone is not None and tombstone.is_destroyed:
            core.send(source, DeleteGhost(entity, tombstone.epoch, tombstone.end, is_destroyed=True))
        elif home is not None and home != core.me:
            core.send(source, NextReal(entity, core.switchboard.version_of_place(part), home))
