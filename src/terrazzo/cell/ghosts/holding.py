"""Everything that is held on one CellApp, by entity; bounded in number (`held.py` has what is held for one).

While something is held for a ghost, rows of places that arrive for it must come to be put in order, too. So the ghost
is guarded: compiled code (`_speed/area`) no longer writes such rows straight into the arrays.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.ghosts.held import Held
from terrazzo.cell.ghosts.mending import GAP_S
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import Offload

HELD_ENTITIES_MAX = 4096
NO_OWNER = -1
"""The owner of a ghost that is guarded."""


class Holding:
    """What is held for the ghosts of one CellApp."""

    def __init__(self, core: Core, give_up: Callable[[int], object]) -> None:
        """`give_up` ends what is held for one entity, when there is too much."""
        self.all: dict[int, Held] = {}
        self._core = core
        self._give_up = give_up

    def hold(self, entity: int, source: AppId, epoch: int) -> Held:
        """What is held for an entity, from now on at least; the real was at the source in this epoch."""
        held = self.all.get(entity)
        if held is None:
            while len(self.all) >= HELD_ENTITIES_MAX:
                self._give_up(next(iter(self.all)))
            now = self._core.host.now
            held = self.all[entity] = Held(now, now + GAP_S, source, epoch)
        held.note(source, epoch)
        return held

    def trust(self, entity: int, epoch: int) -> None:
        """A real has confirmed that it has a ghost here."""
        held = self.all.get(entity)
        if held is not None and epoch >= held.epoch:
            held.is_unconfirmed = False
            held.on_answer()

    def follow(self, entity: int, app: AppId, epoch: int) -> None:
        """The real was at this app in this epoch; the newest counts."""
        body, held = self._core.bodies.get(entity), self.all.get(entity)
        if held is not None:
            held.note(app, epoch)
        if body is not None and body.real is None:
            body.follow(app, epoch)
            self.guard(body)

    def drop(self, entity: int) -> None:
        """Nothing is held for it any more."""
        self.all.pop(entity, None)
        body = self._core.bodies.get(entity)
        if body is not None:
            self.guard(body)

    def guard(self, body: Body) -> None:
        """Rows of places go straight into the arrays, but not past something that is held."""
        owner = NO_OWNER if body.id in self.all else self._core.number_of(body.real_app)
        body.space.area.set_owner(body.slot, owner)

    def arrivals(self) -> list[Offload]:
        """The reals that have come here and wait."""
        transitions = (transition.message for held in self.all.values() for transition in held.transitions)
        return [each for each in transitions if isinstance(each, Offload)]

    def has_arrivals(self, space: int) -> bool:
        """Whether a real of this space has come here and waits."""
        return any(space in (each.space, each.jump and each.jump.space) for each in self.arrivals())
