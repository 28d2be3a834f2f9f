"""Where reals have ghosts: in each cell that the square around them reaches into; and what the ghosts there are told.

The square is the ghost distance (and the type's appeal radius) in each direction, and a little more, since both who
watches and who is watched may be outside their cells by the offload margin. What holds it steady, each check:

    a ghost is made     where the square reaches; not on a cell that is being removed (it is in no tree); while the real
                        is about to leave, only where it goes; and where it was asked for (`cell/ghosts/seeking.py`),
                        which comes first; so many per check at most
    a ghost is kept     until KEEP_M further out than where it is made; while the real is about to leave; while its cell
                        retires; and LINGER_S longer than that. So many are deleted per check at most
    a ghost is          confirmed (GhostCreated), after its creation and after each arrival of the real. One that is not
                        in CONFIRM_S is created again: which mends what is there, or makes what is not

An entity that is too large to be sent whole (ENTITY_MAX), or that cannot be encoded because a value that the game made
fails, gets no new ghosts, and one that should be mended is deleted: that is counted, and tried again every
TOO_LARGE_S. What it tells to the ghosts that it has goes on.

Why ghosts linger: where the ground has moved away, the reals that are still there look around from places that are far
outside their cell, until they have left (`cell/migration/offload.py`): they stay a while, or others leave first, or
their app has not heard of the new tree. What is near them must not go out of their sight meanwhile.

When there is more to do than a check may do, the next one goes on where this one ended: everybody's turn comes.

After a link was lost everything that was on it may be: each ghost on the other side is told again who has its real and
at which number (SetReal), and they are listed, so that what is behind or beside that shows (`cell/ghosts/receiver.py`).
Of what was destroyed lately the end is said again, with its last words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from terrazzo.cell.core.account import DESCRIPTION, PRESENCE
from terrazzo.cell.core.history import PLACE
from terrazzo.cell.core.neighbours import NEIGHBOURS_MAX, Neighbours
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts.tombstones import GRAVE_S
from terrazzo.errors import UsageError
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import (
    DeleteGhost,
    GhostCreated,
    GhostList,
    GhostPlaces,
    NextReal,
    SetReal,
    WantSnapshot,
)
from terrazzo.world.rect import Rect

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp
    from terrazzo.cell.core.body import Body

KEEP_M = 10.0
LINGER_S = 3.0
"""Since a look at which it was needed, or since it was made: who stands still is looked at every LOOK_S."""
CONFIRM_S = 3.0
CHECK_TICKS = 2
CREATED_MAX = 200
DELETED_MAX = 200
LOOK_S = 1.0
"""Who stands still is looked at so often."""
STILL_M = 1.0
ROWS_BYTES_MAX = 44 * 8192
_ROW = Struct("<i40x")
"""Of a row (`_speed/places`), whose it is."""
ENDED_MAX = 4096
WANTED_MAX = 4096
TOO_LARGE_S = 5.0


@dataclass(slots=True)
class Haunt:
    """One ghost of a real."""

    bit: int
    needed_at: float
    asked_at: float
    is_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """An entity that was destroyed here lately, and who had a ghost of it."""

    # It is not kept in the grave, since there the end of a next life, or of its ghost, takes the place of this one, and
    # the graves of many ghosts crowd it out, while those who had a ghost must still hear of it
    # (`cell/ghosts/tombstones.py`).
    haunts: frozenset[AppId]
    message: DeleteGhost
    until: float


class Haunts:
    """Makes and unmakes the ghosts of the reals here, and tells them what happens."""

    def __init__(self, app: CellApp) -> None:
        self.open: dict[int, Real] = {}
        """Reals whose step has something in it."""
        policy = app.game.policy
        self.distance_m = policy.ghost_distance_m + policy.area_hysteresis_m + 2 * app.offload_margin_m
        self._app = app
        self._neighbours: dict[int, Neighbours] = {}
        self._haunting: dict[int, Real] = {}
        """Reals that have a ghost somewhere."""
        self._ended: dict[int, Ended] = {}
        self._last = 0
        """The entity with which the last check that was too long ended."""
        self._wanted: dict[tuple[int, AppId], None] = {}
        """Ghosts that were asked for (`cell/ghosts/seeking.py`): the entity, and where. They are made first."""

    # Steps.

    def close_step(self, real: Real) -> None:
        """Tells the ghosts what happened to the real since the last time."""
        step = real.close_step()
        if step is not None and real.haunts:
            size = sum(self._app.send(haunt, step) for haunt in real.haunts)
            ghosts, items = len(real.haunts), sum(len(item.data) for item in step.items)
            self._app.account.add(real.body.kind.page.ghosts[PLACE], ghosts, size - ghosts * items)

    def close_steps(self) -> None:
        """Closes the steps of all: one by one where something happened, together where they have only moved."""
        opened, self.open = self.open, {}
        for real in opened.values():
            if real.body.real is real:
                self._app.confine(real.body, "step", self.close_step, real)
        for space in self._app.spaces.values():
            for slot in space.area.untold():
                moved = space.by_slot[slot].real
                assert moved is not None
                self._app.confine(moved.body, "step", self.close_step, moved)
            for bit, rows in space.area.close_places():
                to = self._neighbours[space.id].app_of(bit)
                for at in range(0, len(rows), ROWS_BYTES_MAX):
                    part = rows[at : at + ROWS_BYTES_MAX]
                    self._count_places(part, self._app.send(to, GhostPlaces(space.id, part)))

    def _count_places(self, rows: bytes, size: int) -> None:
        bodies, head = self._app.bodies, size - len(rows)
        for kind, count in Counter(bodies[entity].kind for (entity,) in _ROW.iter_unpack(rows)).items():
            self._app.account.add(kind.page.ghosts[PLACE], count, count * _ROW.size + head)
            head = 0

    # The check.

    def tend(self) -> None:
        """Ghosts where they are needed now, and only there."""
        now = self._app.host.now
        for entity in [entity for entity, ended in self._ended.items() if ended.until <= now]:
            del self._ended[entity]
        if self._app.tick % CHECK_TICKS:
            return
        created, deleted = self._create_wanted(), 0
        due = sorted(self._due(), key=lambda real: (real.body.id <= self._last, real.body.id))
        self._last = 0
        for real in due:
            left = CREATED_MAX - created, DELETED_MAX - deleted
            made, ended = self._app.confine(real.body, "ghosts", self._tend, real, now, *left) or (0, 0)
            created, deleted = created + made, deleted + ended
            if not self._last and (created >= CREATED_MAX or deleted >= DELETED_MAX):
                self._last = real.body.id

    def want(self, real: Real, to: AppId) -> None:
        """A ghost is asked for; when too many are, it is asked for again."""
        if len(self._wanted) < WANTED_MAX:
            self._wanted[real.body.id, to] = None

    def _create_wanted(self) -> int:
        """The ghosts that were asked for, as many as a check may make; how many were made."""
        app, created = self._app, 0
        while self._wanted and created < CREATED_MAX:
            entity, to = next(iter(self._wanted))
            del self._wanted[entity, to]
            real = app.reals.get(entity)
            if real is None or real.is_doomed or to in real.haunts or to in app.lost:
                continue
            if app.host.now >= real.too_large_until and not app.ground.has_left(real.body.space.id, to):
                self.create(real, to)
                created += 1
        return created

    def _due(self) -> Iterable[Real]:
        """The reals whose square reaches over the edge of their cell, and those that have ghosts."""
        due = dict(self._haunting)
        for space in self._app.spaces.values():
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
        if real.is_doomed or (version == body.space.version and is_still and now < look_at):
            return 0, 0
        square = Rect.around(x, z, self.distance_m + body.kind.schema.appeal_radius)
        goes_to = self._app.offloads.destination(real)
        missing = self._missing(real, square, goes_to)
        for haunt in missing[:create_max]:
            self.create(real, haunt)
        needless = self._needless(real, square, now) if real.haunts and goes_to is None else []
        for haunt in needless[:delete_max]:
            self.delete(real, haunt)
        if len(missing) <= create_max and len(needless) <= delete_max:
            real.tended = (body.space.version, x, z, now + LOOK_S)
        return min(len(missing), create_max), min(len(needless), delete_max)

    def _missing(self, real: Real, square: Rect, goes_to: AppId | None) -> list[AppId]:
        """Where a ghost is needed and is not, or may not be."""
        app, space = self._app, real.body.space
        if app.host.now < real.too_large_until:
            return []
        missing = []
        for leaf in space.leaves_touching(square):
            haunt = real.haunts.get(leaf.app)
            if leaf.app == app.me or leaf.app in app.lost:
                continue
            if haunt is None:
                if goes_to is None or goes_to == leaf.app:
                    missing.append(leaf.app)
            elif not haunt.is_confirmed and app.host.now >= haunt.asked_at + CONFIRM_S:
                app.count("ghost created again", entity=real.body.id)
                missing.append(leaf.app)
        return missing

    def _needless(self, real: Real, square: Rect, now: float) -> list[AppId]:
        """Where a ghost has not been needed for long."""
        space = real.body.space
        needed = {leaf.app for leaf in space.leaves_touching(square.inflate(KEEP_M))} | space.retiring
        for app in real.haunts.keys() & needed:
            real.haunts[app].needed_at = now
        return [app for app, haunt in real.haunts.items() if now >= haunt.needed_at + LINGER_S]

    # Ghosts.

    def create(self, real: Real, to: AppId) -> None:
        """Makes a ghost, or makes one anew."""
        self.close_step(real)  # which is for those who have one
        haunt = real.haunts.get(to) or self._add(real, to)
        if haunt is not None:
            haunt.asked_at = self._app.host.now
            self.describe(real, to)

    def describe(self, real: Real, to: AppId, *, is_snapshot: bool = False) -> None:
        """Sends all of it; as a snapshot it mends a ghost that is there. Whatever of it cannot be packed, there is no
        ghost of it, and the real goes on."""
        try:
            size = self._app.parcels.send(to, real.ghost(is_snapshot=is_snapshot))
        except Exception as problem:
            self.on_not_packed(real, "for a ghost: it is not seen there", to, problem)
            self.delete(real, to)
            return
        self._app.account.add(real.body.kind.page.ghosts[DESCRIPTION], 1, size)

    def on_not_packed(self, real: Real, what: str, to: AppId, problem: Exception) -> None:
        """It could not be sent whole; it is tried again, but not at once. Too large it is by what the game has put into
        it; anything else is an error, of the engine or of a value that the game made."""
        app = self._app
        real.too_large_until = app.host.now + TOO_LARGE_S
        facts = {"entity": real.body.id, "to": str(to), "problem": words_of(problem)}
        if type(problem) is UsageError:
            app.count(f"too large {what}", **facts)
        else:
            where = f"{real.body.label}, tick {app.tick}"
            app.count(f"cannot be packed {what}", **facts, what=where, error=words_of(problem))

    def delete(self, real: Real, to: AppId) -> None:
        """A ghost is needed no longer."""
        self.close_step(real)
        del real.haunts[to]
        self._neighbours[real.body.space.id].give_back(to)
        self._set_mask(real)
        self._end(real, to, is_destroyed=False)

    def _end(self, real: Real, to: AppId, *, is_destroyed: bool) -> None:
        body = real.body
        size = self._app.send(to, DeleteGhost(body.id, body.epoch, body.number, is_destroyed=is_destroyed))
        self._app.account.add(body.kind.page.ghosts[PRESENCE], 1, size)

    def adopt(self, real: Real, apps: Iterable[AppId], version: int) -> None:
        """A real that has come has ghosts there, as of a version of the tree; each is told, and confirms that it is
        there. An app that is no longer part of the space has none: it may forget them, now that everybody has said
        that it may."""
        body = real.body
        for app in apps:
            if app == self._app.me:
                continue
            if not self._app.ground.has_left(body.space.id, app, version) and self._add(real, app) is not None:
                self._app.send(app, SetReal(body.id, body.epoch, body.number))
            else:
                self._app.send(app, DeleteGhost(body.id, body.epoch, body.number, is_destroyed=False))

    def forget(self, real: Real) -> None:
        """It is no real any more, or not here."""
        self.open.pop(real.body.id, None)
        for app in real.haunts:
            self._neighbours[real.body.space.id].give_back(app)
        real.haunts = {}
        self._set_mask(real)

    def end(self, real: Real) -> None:
        """The entity has no body any more, anywhere."""
        body = real.body
        self.close_step(real)
        for haunt in real.haunts:
            self._end(real, haunt, is_destroyed=True)
        if real.haunts:
            if len(self._ended) >= ENDED_MAX:
                del self._ended[next(iter(self._ended))]
            again = _last_words(body, is_destroyed=True)
            self._ended[body.id] = Ended(frozenset(real.haunts), again, self._app.host.now + GRAVE_S)
        self.forget(real)

    def _add(self, real: Real, app: AppId) -> Haunt | None:
        space, now = real.body.space, self._app.host.now
        bit = self._neighbours.setdefault(space.id, Neighbours()).take(app)
        if bit is None:
            self._app.count(
                f"more than {NEIGHBOURS_MAX} apps need ghosts from this one: what is here is not seen there",
                space=space.id, app=str(app), advice="run fewer CellApps, or give the game a smaller ghost_distance_m",
            )  # fmt: skip
            return None
        haunt = real.haunts[app] = Haunt(bit, now, now)
        self._set_mask(real)
        return haunt

    def _set_mask(self, real: Real) -> None:
        body = real.body
        body.space.area.set_haunts(body.slot, sum(1 << haunt.bit for haunt in real.haunts.values()))
        if real.haunts:
            self._haunting[body.id] = real
        else:
            self._haunting.pop(body.id, None)

    # What the ghosts' apps say.

    def on_created(self, source: AppId, message: GhostCreated) -> None:
        """The ghost is there."""
        real = self._app.reals.get(message.entity)
        haunt = None if real is None else real.haunts.get(source)
        if haunt is not None:
            haunt.is_confirmed = True

    def on_want_snapshot(self, source: AppId, message: WantSnapshot) -> None:
        """A ghost there misses something, or somebody there believes in a ghost that is none."""
        app, entity = self._app, message.entity
        real, body, ended = app.reals.get(entity), app.bodies.get(entity), self._ended.get(entity)
        if real is not None:
            self.close_step(real)
            if source in real.haunts:
                self.describe(real, source, is_snapshot=True)
            else:
                app.send(source, _last_words(real.body, is_destroyed=False))
        elif body is not None and body.real_app not in (source, app.me):
            app.send(source, NextReal(entity, body.epoch, body.real_app))
        elif body is None and ended is not None:
            app.send(source, ended.message)

    def on_link_up(self, peer: AppId) -> None:
        """What was said over the former link may be lost."""
        app, now = self._app, self._app.host.now
        listed = []
        for real in self._haunting.values():
            haunt = real.haunts.get(peer)
            if haunt is not None:
                haunt.is_confirmed, haunt.asked_at = False, now
                listed.append(real.body.id)
                app.send(peer, SetReal(real.body.id, real.body.epoch, real.body.number))
        for ended in self._ended.values():
            if peer in ended.haunts:
                app.send(peer, ended.message)
        app.send(peer, GhostList(tuple(listed)))

    def forget_space(self, space: int) -> None:
        """It is no longer here, and no real in it."""
        self._neighbours.pop(space, None)

    def apps(self, space: int) -> list[AppId]:
        """Where the reals of this space have ghosts."""
        neighbours = self._neighbours.get(space)
        return [] if neighbours is None else neighbours.apps()

    def has_any(self, space: int, app: AppId) -> bool:
        """Whether a real of this space has a ghost there."""
        neighbours = self._neighbours.get(space)
        return neighbours is not None and neighbours.has(app)


def _last_words(body: Body, *, is_destroyed: bool) -> DeleteGhost:
    """The end of a ghost that may have missed what was before."""
    past = body.history.pack(is_whole=True)
    return DeleteGhost(body.id, body.epoch, body.number, is_destroyed=is_destroyed, past=past, space=body.space.id)
