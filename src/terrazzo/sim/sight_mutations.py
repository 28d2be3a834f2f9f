"""Broken forms that show an entity much too late, and do everything else right: only
`sim/scenarios/seamless/sightings.py` detects them."""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.wire.ids import AppId
from terrazzo.world.rect import Rect

LATE_S = 10.0


def _delays_marks(app: CellApp, *, is_announced: bool, is_of_ghosts: bool = False) -> None:
    """Announcements, or descriptions, wait for LATE_S in each cell; those of all entities, or only those of ghosts."""
    serve, first = app.scheduler.serve, dict[tuple[int, int, bool], float]()

    def served(real: Real) -> None:
        witness = witness_of(real)
        assert witness is not None
        story, now, held = witness.sent, app.host.now, []
        for entity in list(story._undescribed):
            other = real.body.space.bodies.get(entity)
            is_meant = not is_of_ghosts or (other is not None and other.real is None)
            if is_meant and story.sight.flags(entity) >= 0 and bool(story.sight.alias(entity)) == is_announced:
                key = (real.body.id, entity, is_announced)
                if now < first.setdefault(key, now) + LATE_S:
                    held.append(entity)
                    del story._undescribed[entity]
        serve(real)
        for entity in held:
            story._undescribed[entity] = None

    vars(app.scheduler)["serve"] = served


def _announces_late(app: CellApp) -> None:
    """The area adds entities late."""
    _delays_marks(app, is_announced=False)


def _describes_late(app: CellApp) -> None:
    """An entity that the client wants is described late."""
    _delays_marks(app, is_announced=True)


def _announces_ghosts_late(app: CellApp) -> None:
    """The area adds ghosts late."""
    _delays_marks(app, is_announced=False, is_of_ghosts=True)


def _makes_ghosts_late(app: CellApp) -> None:
    """A ghost is made LATE_S after it was first needed."""
    missing, first = app.placement._missing, dict[tuple[int, AppId], float]()

    def missed(real: Real, square: Rect, goes_to: AppId | None) -> list[AppId]:
        now, found = app.host.now, missing(real, square, goes_to)
        keys = {(real.body.id, each) for each in found if each not in real.ghosts}
        for key in [key for key in first if key[0] == real.body.id and key not in keys]:
            del first[key]
        return [
            each for each in found
            if each == goes_to or each in real.ghosts or now >= first.setdefault((real.body.id, each), now) + LATE_S
        ]  # fmt: skip

    vars(app.placement)["_missing"] = missed


def _grants_seldom(app: CellApp) -> None:
    """Announcements and descriptions go out once in LATE_S, all at once."""
    serve, every = app.scheduler.serve, int(LATE_S / app.core.tick_s)

    def served(real: Real) -> None:
        witness = witness_of(real)
        assert witness is not None
        story = witness.sent
        held = list(story._undescribed) if app.core.tick % every else []
        for entity in held:
            del story._undescribed[entity]
        serve(real)
        story._undescribed.update(dict.fromkeys(held))

    vars(app.scheduler)["serve"] = served


def _harmed(harm: Callable[[CellApp], None]) -> Callable[[App], None]:
    def apply(app: App) -> None:
        if isinstance(app, CellApp):
            harm(app)

    return apply


SHAPED = ("announce-ghosts-late", "make-ghosts-late")
"""Mutations that only delay ghosts. They need worlds of a fixed shape: in drawn ones entities cross borders all the
time, so that a late ghost is rare."""

SIGHT_MUTATIONS: dict[str, Callable[[App], None]] = {
    "announce-late": _harmed(_announces_late),
    "describe-late": _harmed(_describes_late),
    "announce-ghosts-late": _harmed(_announces_ghosts_late),
    "make-ghosts-late": _harmed(_makes_ghosts_late),
    "grant-seldom": _harmed(_grants_seldom),
}
