"""Broken forms that show an entity much too late, and do everything else right: only `seamless_sight.py` sees them."""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.real import Real
from terrazzo.wire.app import App

LATE_S = 10.0


def _late_wishes(app: CellApp, *, is_announced: bool) -> None:
    """What is to be announced, or described, waits for LATE_S in each cell."""
    serve, first = app.feed.serve, dict[tuple[int, int, bool], float]()

    def served(real: Real) -> None:
        assert real.witness is not None
        story, now, held = real.witness._story, app.host.now, []
        for entity in list(story._wishes):
            if story.sight.flags(entity) >= 0 and bool(story.sight.alias(entity)) == is_announced:
                key = (real.body.id, entity, is_announced)
                if now < first.setdefault(key, now) + LATE_S:
                    held.append(entity)
                    del story._wishes[entity]
        serve(real)
        for entity in held:
            story._wishes[entity] = None

    vars(app.feed)["serve"] = served


def _announces_late(app: CellApp) -> None:
    """The area adds entities late."""
    _late_wishes(app, is_announced=False)


def _describes_late(app: CellApp) -> None:
    """What the client wants is not described for long."""
    _late_wishes(app, is_announced=True)


def _grants_seldom(app: CellApp) -> None:
    """Announcements and descriptions go out once in LATE_S, all at once."""
    serve, every = app.feed.serve, int(LATE_S / app.tick_s)

    def served(real: Real) -> None:
        assert real.witness is not None
        story = real.witness._story
        held = list(story._wishes) if app.tick % every else []
        for entity in held:
            del story._wishes[entity]
        serve(real)
        story._wishes.update(dict.fromkeys(held))

    vars(app.feed)["serve"] = served


def _harmed(harm: Callable[[CellApp], None]) -> Callable[[App], None]:
    def apply(app: App) -> None:
        if isinstance(app, CellApp):
            harm(app)

    return apply


SIGHT_MUTATIONS: dict[str, Callable[[App], None]] = {
    "announce-late": _harmed(_announces_late),
    "describe-late": _harmed(_describes_late),
    "grant-seldom": _harmed(_grants_seldom),
}
