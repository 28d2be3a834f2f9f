"""Where reals have ghosts: in each cell that the square around the real reaches into.

The square is the ghost distance (and the type's appeal radius) in each direction, and a little more: both the real that
watches and the real that is watched may be outside their cells by the offload margin. The rules of each check:

    a ghost is made     where the square reaches; not on a cell that is being removed (it is in no tree); while the real
                        is about to leave, only where it goes; and where it was asked for (`cell/ghosts/seeking.py`),
                        which comes first. CREATED_MAX per check at most
    a ghost is kept     until KEEP_M further out than where it is made; while the real is about to leave; while its cell
                        retires; and LINGER_S longer than that. DELETED_MAX are deleted per check at most
    a ghost is          confirmed (GhostCreated), after its creation and after each arrival of the real. One that is not
                        confirmed in CONFIRM_S is created again: that mends the ghost there, or makes a missing one

An entity that is too large to be sent whole (ENTITY_MAX), or that cannot be encoded because a value of the game fails,
gets no new ghosts, and a ghost of it that should be mended is deleted: that is counted, and tried again every
TOO_LARGE_S. The steps to its other ghosts go on.

Why ghosts linger: where a border has moved, reals on the wrong side of it are far outside their cell until they have
left (`cell/migration/offload.py`): they stay for a while, or others leave first, or their CellApp has not received the
new tree. What is near them must stay in their sight meanwhile.

When there is more to do than a check may do, the next check goes on where this one ended, so that each real is reached.

After a link was lost, everything that was on it may be lost. So each ghost on the other side is sent again where its
real is and at which number (SetReal), and all of them are listed, so that a ghost that is behind, or should not be
there, is found (`cell/ghosts/receiver.py`). For each entity that was destroyed lately the deletion is sent again, with
its last events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from terrazzo.cell.core.account import DESCRIPTION, PRESENCE
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.destinations import Destinations
from terrazzo.cell.core.members import FormerMembers
from terrazzo.cell.core.neighbours import NEIGHBOURS_MAX
from terrazzo.cell.core.parcels import Parcels
from terrazzo.cell.core.real import PlacedGhost, Real
from terrazzo.cell.ghosts.tombstones import TOMBSTONE_S
from terrazzo.errors import UsageError
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cell_cell import (
    DeleteGhost,
    GhostCreated,
    GhostList,
    NextReal,
    SetReal,
    WantSnapshot,
)
from terrazzo.world.rect import Rect

KEEP_M = 10.0
LINGER_S = 3.0
"""Since the check that last needed it, or since it was made: a real that stands still is checked every LOOK_S."""
CONFIRM_S = 3.0
CHECK_TICKS = 2
CREATED_MAX = 200
DELETED_MAX = 200
LOOK_S = 1.0
"""A real that stands still is checked so often."""
STILL_M = 1.0
ENDED_MAX = 4096
WANTED_MAX = 4096
TOO_LARGE_S = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """An entity that was destroyed here lately, and the apps that had a ghost of it."""

    # It is not stored in the tombstone, since there the end of a next life, or of its ghost, takes the place of this
    # one, and the tombstones of many ghosts crowd it out, while the apps that had a ghost must still be sent it
    # (`cell/ghosts/tombstones.py`).
    apps: frozenset[AppId]
    message: DeleteGhost
    until: float


class GhostPlacement:
    """Makes and deletes the ghosts of the reals here."""

    def __init__(self, core: Core, destinations: Destinations, former: FormerMembers, parcels: Parcels) -> None:
        self.distance_m = core.ghost_reach_m
        self._core = core
        self._lost = core.links.lost
        self._destinations = destinations
        self._former = former
        self._parcels = parcels
        self._with_ghosts: dict[int, Real] = {}
        """Reals that have a ghost somewhere."""
        self._ended: dict[int, Ended] = {}
        self._last = 0
        """The entity with which the last check that was too long ended."""
        self._wanted: dict[tuple[int, AppId], None] = {}
        """Ghosts that were asked for (`cell/ghosts/seeking.py`): the entity, and where. They are made first."""

    # The check.

    def tend(self) -> None:
        """Ghosts where they are needed now, and only there."""
        now = self._core.host.now
        for entity in [entity for entity, ended in self._ended.items() if ended.until <= now]:
            del self._ended[entity]
        if self._core.tick % CHECK_TICKS:
            return
        created, deleted = self._create_wanted(), 0
        due = sorted(self._due(), key=lambda real: (real.body.id <= self._last, real.body.id))
        self._last = 0
        for real in due:
            left = CREATED_MAX - created, DELETED_MAX - deleted
            made, ended = self._core.confine(real.body, "ghosts", self._tend, real, now, *left) or (0, 0)
            created, deleted = created + made, deleted + ended
            if not self._last and (created >= CREATED_MAX or deleted >= DELETED_MAX):
                self._last = real.body.id

    def want(self, real: Real, to: AppId) -> None:
        """A ghost is asked for; when too many are, it is asked for again."""
        if len(self._wanted) < WANTED_MAX:
            self._wanted[real.body.id, to] = None

    def _create_wanted(self) -> int:
        """The ghosts that were asked for, as many as a check may make; how many were made."""
        core, created = self._core, 0
        while self._wanted and created < CREATED_MAX:
            entity, to = next(iter(self._wanted))
            del self._wanted[entity, to]
            real = core.reals.get(entity)
            if real is None or real.is_destroyed or to in real.ghosts or to in self._lost:
                continue
            if core.host.now >= real.too_large_until and not self._former.has_left(real.body.space.id, to):
                self.create(real, to)
                created += 1
        return created

    def _due(self) -> Iterable[Real]:
        """The reals near the edge of their cell (by their square), and those that have ghosts."""
        due = dict(self._with_ghosts)
        for space in self._core.spaces.values():
            if space.leaf is not None:
                for slot in space.area.reaching(*space.rect, self.distance_m):
                    real = space.by_slot[slot].real
                    assert real is not None
                    due[real.body.id] = real
        return due.values()

    def _tend(self, real: Real, now: float, create_max: int, delete_max: int) -> tuple[int, int]:
        """One real; how many ghosts were made, and how many deleted."""
        body = real.body
        x, _, z = body.position
        version, at_x, at_z, look_at = real.tended
        is_still = abs(x - at_x) < STILL_M and abs(z - at_z) < STILL_M
        if real.is_destroyed or (version == body.space.version and is_still and now < look_at):
            return 0, 0
        square = Rect.around(x, z, self.distance_m + body.kind.schema.appeal_radius)
        goes_to = self._destinations.of(real)
        missing = self._missing(real, square, goes_to)
        for app in missing[:create_max]:
            self.create(real, app)
        needless = self._needless(real, square, now) if real.ghosts and goes_to is None else []
        for app in needless[:delete_max]:
            self.delete(real, app)
        if len(missing) <= create_max and len(needless) <= delete_max:
            real.tended = (body.space.version, x, z, now + LOOK_S)
        return min(len(missing), create_max), min(len(needless), delete_max)

    def _missing(self, real: Real, square: Rect, goes_to: AppId | None) -> list[AppId]:
        """Where a ghost is needed and is not, or may not be."""
        core, space = self._core, real.body.space
        if core.host.now < real.too_large_until:
            return []
        missing = []
        for leaf in space.leaves_touching(square):
            ghost = real.ghosts.get(leaf.app)
            if leaf.app == core.me or leaf.app in self._lost:
                continue
            if ghost is None:
                if goes_to is None or goes_to == leaf.app:
                    missing.append(leaf.app)
            elif not ghost.is_confirmed and core.host.now >= ghost.asked_at + CONFIRM_S:
                core.count(LogEvent.GHOST_AGAIN, entity=real.body.id)
                missing.append(leaf.app)
        return missing

    def _needless(self, real: Real, square: Rect, now: float) -> list[AppId]:
        """Where a ghost has not been needed for long."""
        space = real.body.space
        needed = {leaf.app for leaf in space.leaves_touching(square.inflate(KEEP_M))} | space.retiring
        for app in real.ghosts.keys() & needed:
            real.ghosts[app].needed_at = now
        return [app for app, ghost in real.ghosts.items() if now >= ghost.needed_at + LINGER_S]

    # Ghosts.

    def create(self, real: Real, to: AppId) -> None:
        """Makes a ghost, or makes one anew."""
        self._core.close_step(real)  # which is for the ghosts that are there
        ghost = real.ghosts.get(to) or self._add(real, to)
        if ghost is not None:
            ghost.asked_at = self._core.host.now
            self.describe(real, to)

    def describe(self, real: Real, to: AppId, *, is_snapshot: bool = False) -> None:
        """Sends all of it; as a snapshot it mends a ghost that is there. Whatever of it cannot be packed, there is no
        ghost of it, and the real goes on."""
        try:
            size = self._parcels.send(to, real.ghost(is_snapshot=is_snapshot))
        except Exception as problem:
            self.on_not_packed(real, LogEvent.TOO_LARGE_FOR_GHOST, LogEvent.UNPACKABLE_FOR_GHOST, to, problem)
            self.delete(real, to)
            return
        self._core.account.add(real.body.kind.page.ghosts[DESCRIPTION], 1, size)

    def on_not_packed(
        self, real: Real, too_large: LogEvent, unpackable: LogEvent, to: AppId, problem: Exception
    ) -> None:
        """It could not be sent whole; it is tried again, but not at once. Too large it is by what the game has put into
        it; anything else is an error, of the engine or of a value that the game made."""
        core = self._core
        real.too_large_until = core.host.now + TOO_LARGE_S
        facts = {"entity": real.body.id, "to": str(to), "problem": words_of(problem)}
        if type(problem) is UsageError:
            core.count(too_large, **facts)
        else:
            core.count(unpackable, **facts, what=f"{real.body.label}, tick {core.tick}", error=words_of(problem))

    def delete(self, real: Real, to: AppId) -> None:
        """A ghost is needed no longer."""
        self._core.close_step(real)
        del real.ghosts[to]
        real.body.space.neighbours.give_back(to)
        self._set_mask(real)
        self._end(real, to, is_destroyed=False)

    def _end(self, real: Real, to: AppId, *, is_destroyed: bool) -> None:
        body = real.body
        size = self._core.send(to, DeleteGhost(body.id, body.epoch, body.number, is_destroyed=is_destroyed))
        self._core.account.add(body.kind.page.ghosts[PRESENCE], 1, size)

    def adopt(self, real: Real, apps: Iterable[AppId], version: int) -> None:
        """A real that has arrived has ghosts there, as of a version of the tree; each gets SetReal, and confirms that
        it is there. An app that is no longer part of the space has none: it may drop them, since all CellApps have
        confirmed that."""
        body = real.body
        for app in apps:
            if app == self._core.me:
                continue
            if not self._former.has_left(body.space.id, app, version) and self._add(real, app) is not None:
                self._core.send(app, SetReal(body.id, body.epoch, body.number))
            else:
                self._core.send(app, DeleteGhost(body.id, body.epoch, body.number, is_destroyed=False))

    def forget(self, real: Real) -> None:
        """It is no real any more, or not here."""
        for app in real.ghosts:
            real.body.space.neighbours.give_back(app)
        real.ghosts = {}
        self._set_mask(real)

    def end(self, real: Real) -> None:
        """The entity has no body any more, anywhere."""
        body = real.body
        self._core.close_step(real)
        for app in real.ghosts:
            self._end(real, app, is_destroyed=True)
        if real.ghosts:
            if len(self._ended) >= ENDED_MAX:
                del self._ended[next(iter(self._ended))]
            again = _last_words(body, is_destroyed=True)
            self._ended[body.id] = Ended(frozenset(real.ghosts), again, self._core.host.now + TOMBSTONE_S)
        self.forget(real)

    def _add(self, real: Real, app: AppId) -> PlacedGhost | None:
        space, now = real.body.space, self._core.host.now
        bit = space.neighbours.take(app)
        if bit is None:
            self._core.count(
                LogEvent.TOO_MANY_NEIGHBOURS, space=space.id, app=str(app), most=NEIGHBOURS_MAX,
                advice="run fewer CellApps, or give the game a smaller ghost_distance_m",
            )  # fmt: skip
            return None
        ghost = real.ghosts[app] = PlacedGhost(bit, now, now)
        self._set_mask(real)
        return ghost

    def _set_mask(self, real: Real) -> None:
        body = real.body
        body.space.area.set_receivers(body.slot, sum(1 << ghost.bit for ghost in real.ghosts.values()))
        if real.ghosts:
            self._with_ghosts[body.id] = real
        else:
            self._with_ghosts.pop(body.id, None)

    # What the apps of the ghosts send.

    def on_created(self, source: AppId, message: GhostCreated) -> None:
        """The ghost is there."""
        real = self._core.reals.get(message.entity)
        ghost = None if real is None else real.ghosts.get(source)
        if ghost is not None:
            ghost.is_confirmed = True

    def on_want_snapshot(self, source: AppId, message: WantSnapshot) -> None:
        """A ghost there misses something, or the real has no ghost there any more."""
        core, entity = self._core, message.entity
        real, body, ended = core.reals.get(entity), core.bodies.get(entity), self._ended.get(entity)
        if real is not None:
            self._core.close_step(real)
            if source in real.ghosts:
                self.describe(real, source, is_snapshot=True)
            else:
                core.send(source, _last_words(real.body, is_destroyed=False))
        elif body is not None and body.real_app not in (source, core.me):
            core.send(source, NextReal(entity, body.epoch, body.real_app))
        elif body is None and ended is not None:
            core.send(source, ended.message)

    def on_link_up(self, peer: AppId) -> None:
        """What was sent over the former link may be lost."""
        core, now = self._core, self._core.host.now
        listed = []
        for real in self._with_ghosts.values():
            ghost = real.ghosts.get(peer)
            if ghost is not None:
                ghost.is_confirmed, ghost.asked_at = False, now
                listed.append(real.body.id)
                core.send(peer, SetReal(real.body.id, real.body.epoch, real.body.number))
        for ended in self._ended.values():
            if peer in ended.apps:
                core.send(peer, ended.message)
        core.send(peer, GhostList(tuple(listed)))


def _last_words(body: Body, *, is_destroyed: bool) -> DeleteGhost:
    """The end of a ghost that may have missed what was before."""
    past = body.history.pack(is_whole=True)
    return DeleteGhost(body.id, body.epoch, body.number, is_destroyed=is_destroyed, past=past, space=body.space.id)
