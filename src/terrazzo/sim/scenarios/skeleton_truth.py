"""What is true in the skeleton scenario, and the judging of the servers by it (P1, P2, P3).

The truth is written down where it is made: each change of a real's property (`values`), each numbered step (`steps`),
each call that is made. It is compared with what is there after every tick and every frame that a CellApp has heard:

    P1   no entity has two reals; a real that is here no more was sent away or destroyed, and a real that arrives has
         every property, private ones too, as the former home left it
    P2   calls come once, in order, none missing: each (way, source, target) counts by itself. Only what a client calls
         on an entity that is leaving its area may be dropped: its BaseApp knows of the leaving before the client does
    P3   a ghost is what its real was at the ghost's number: properties and place
"""

from __future__ import annotations

from typing import Any

from terrazzo.cell.body import Body
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.haunts import KEEP_M
from terrazzo.cell.real import Real
from terrazzo.sim.oracle import Broken, check
from terrazzo.sim.world import Process, World
from terrazzo.wire.app import App
from terrazzo.wire.pairs.base_cell import Position
from terrazzo.world.rect import Rect

Row = tuple[bytes, Position, float]
Way = tuple[str, int, int]

UNWANTED = (
    "held steps given up",
    "ghost successor without deletion",
    "offload that waited in vain",
    "step that does not decode",
    "ghost that does not decode",
    "offload that does not decode",
    "call refused",
    "mail refused",
    "birth refused",
    "base takes nothing",
    "move too fast",
)
"""What a CellApp counts and must not, as long as nothing goes wrong around it."""


class Truth:
    """The judge of one world; the game's code knows it as such."""

    def __init__(self, world: World) -> None:
        self.is_working = True
        self.apps: list[CellApp] = []
        self.values: dict[tuple[int, str], list[bytes]] = {}
        """All values that a cell property has had, encoded, in order."""
        self.ended: dict[int, Body] = {}
        """Entities whose real was destroyed, as they were then."""
        self.offloads = 0
        self.put_back = 0
        """How often an older move of a client undid a newer one: players count their moves in their yaw."""
        self.made: dict[Way, int] = {}
        self.done: dict[Way, int] = {}
        self._world = world
        self._rng = world.rng("entries")
        self._centres: list[tuple[str, float]] = []
        self._steps: dict[int, dict[int, Row]] = {}
        self._yaws: dict[int, float] = {}
        self._reals: dict[CellApp, dict[int, Real]] = {}
        self._looked: dict[CellApp, dict[int, tuple[Body, int]]] = {}
        self._broken: Broken | None = None
        world.on_log = self._on_log

    # What the game's code tells.

    def enter_within(self, centres: list[tuple[str, float]]) -> None:
        """New players begin in these spaces, at most so far from the middle."""
        self._centres = centres

    def entry(self, entity: int) -> tuple[str, Position]:
        """See Judge."""
        space, reach = self._rng.choice(self._centres)
        return space, (self._rng.uniform(-reach, reach), 0.0, self._rng.uniform(-reach, reach))

    def next(self, way: str, source: int, target: int) -> int:
        """See Judge."""
        key = (way, source, target)
        self.made[key] = self.made.get(key, 0) + 1
        return self.made[key]

    def heard(self, way: str, source: int, target: int, number: int) -> None:
        """See Judge."""
        key = (way, source, target)
        due = self.done.get(key, 0) + 1
        may_miss = way == "client to cell" and source != target
        if number < due or (number > due and not may_miss):
            self._break("P2", f"{way}, {source} → {target}: call {number} came, {due} was due", source, target)
        self.done[key] = number

    def refused(self, entity: int, what: str) -> None:
        """See Judge."""
        self._break("liveness", f"entity {entity}: {what}", entity)

    def _break(self, promise: str, what: str, *about: object) -> None:
        """Also from inside game code, whose exceptions are confined: it is raised again when that is reported."""
        self._broken = self._broken or Broken(promise, what, *about)
        raise self._broken

    def _on_log(self, where: str, event: str, facts: dict[str, object]) -> None:
        if event == "game error":
            raise self._broken or Broken("invariant", f"game code failed: {facts}", where)
        check(event not in UNWANTED, "invariant", f"{where}: {event} {facts}", where, facts.get("entity", ""))

    # What is written down.

    def watch(self, process: Process, app: App) -> None:
        """A process has started: if it is a CellApp, nothing of what it does escapes."""
        if not isinstance(app, CellApp):
            return
        close_step, settle = app.haunts.close_step, app.settle

        def closed(real: Real) -> None:
            close_step(real)
            self._on_step(real.body)

        def settled(real: Real) -> None:
            settle(real)
            self._on_settled(real)

        vars(app.haunts)["close_step"] = closed
        vars(app)["settle"] = settled
        self.apps.append(app)
        self._reals[app] = {}
        self._looked[app] = {}
        process.after_step = lambda: self._judge(app)

    def _on_settled(self, real: Real) -> None:
        body = real.body
        self._world.trace.add(body.app.me, "real", entity=body.id, epoch=body.epoch, number=body.number)
        layout = body.kind.schema.cell_layout
        for name, codec, value in zip(layout.names, layout.codecs, body.state.values(), strict=True):
            known, now = self.values.setdefault((body.id, name), []), codec.encode(value)
            if not known:
                known.append(now)
            elif known[-1] != now:
                self._break("P1", f"entity {body.id} arrived with another {name} than it left with", body.id)
        note: Any = body.state.listener

        def listen(change: Any) -> None:
            note(change)
            name, codec = layout.names[change.prop], layout.codecs[change.prop]
            self.values[body.id, name].append(codec.encode(body.state.get(change.prop)))

        body.state.listener = listen

    def _on_step(self, body: Body) -> None:
        row, steps = row_of(body), self._steps.setdefault(body.id, {})
        self.put_back += body.yaw < self._yaws.get(body.id, body.yaw)
        self._yaws[body.id] = body.yaw
        if steps.setdefault(body.number, row) != row:
            self._break("P3", f"entity {body.id} has changed without a step after {body.number}", body.id)

    # What is judged.

    def _judge(self, app: CellApp) -> None:
        before, now = self._reals[app], dict(app.reals)
        if before != now:
            self._judge_reals(app, before, now)
            self._reals[app] = now
        looked = self._looked[app]
        for entity, body in app.bodies.items():
            if body.real is None and looked.get(entity) != (body, body.number):
                looked[entity] = (body, body.number)
                self._judge_ghost(body)

    def _judge_reals(self, app: CellApp, before: dict[int, Real], now: dict[int, Real]) -> None:
        for entity in now:
            check(entity not in self.ended, "P1", f"entity {entity} has risen on {app.me}", entity)
            for other in self.apps:
                both = other is not app and entity in other.reals
                check(not both, "P1", f"entity {entity} has a real on {app.me} and one on {other.me}", entity)
        for entity, real in before.items():
            if now.get(entity) is real:
                continue
            if entity in app.offloads.kept:
                self.offloads += 1
                continue
            grave = app.ghosts.graves.get(entity)
            gone = grave is not None and grave.is_destroyed
            check(gone, "P1", f"entity {entity} is lost: {app.me} has neither its real nor sent it away", entity)
            self.ended[entity] = real.body

    def _judge_ghost(self, body: Body) -> None:
        row = self._steps.get(body.id, {}).get(body.number)
        where = f"the ghost of entity {body.id} on {body.app.me}"
        check(row is not None, "P3", f"{where} has number {body.number}, which its real never had", body.id)
        check(row == row_of(body), "P3", f"{where} differs from what its real was at {body.number}", body.id)

    # At rest.

    def real_of(self, entity: int) -> Real | None:
        """The real of an entity, wherever it is."""
        return next((app.reals[entity] for app in self.apps if entity in app.reals), None)

    def reals(self) -> list[Real]:
        """All reals."""
        return [real for app in self.apps for real in app.reals.values()]

    def unrest(self, margin_m: float) -> tuple[str, int] | None:
        """What is not as it should be when nothing happens any more, and about which entity."""
        for app in self.apps:
            for body in app.bodies.values():
                if body.real is None:
                    self._judge_ghost(body)
            if app.offloads.kept or app.offloads.waiting or app.ghosts.successors or app.ghosts.held:
                return f"{app.me} has something on its way", next(iter(app.offloads.kept), 0)
        for entity in self._steps:
            count = sum(entity in app.reals for app in self.apps)
            if count != (entity not in self.ended):
                return f"entity {entity} has {count} reals", entity
        for real in self.reals():
            problem = self._unrest_of(real, margin_m)
            if problem is not None:
                return problem, real.body.id
        for app in self.apps:
            for entity, body in app.bodies.items():
                owner = self.real_of(entity)
                if owner is None or (body.real is None and app.me not in owner.haunts):
                    return f"{app.me} has a ghost of entity {entity}, which nobody tends", entity
        return None

    def _unrest_of(self, real: Real, margin_m: float) -> str | None:
        body = real.body
        if body.space.outside_by(body.position) > margin_m + 1e-6:
            return f"entity {body.id} is outside its cell on {body.app.me}"
        policy = body.app.game.policy
        area = Rect.around(body.position[0], body.position[2], policy.ghost_distance_m)
        wanted = [app for app in body.space.apps_touching(area) if app != body.app.me]
        allowed = body.space.apps_touching(area.inflate(KEEP_M + 5.0 + 2 * margin_m))
        for app in self.apps:
            ghost = app.bodies.get(body.id)
            if app.me in wanted and (ghost is None or ghost.number != body.number):
                return f"entity {body.id} should have a ghost of number {body.number} on {app.me}"
            if ghost is not None and app is not body.app and app.me not in allowed:
                return f"entity {body.id} has a ghost on {app.me} that nobody needs"
        return None


def row_of(body: Body) -> Row:
    """What a ghost of this body is, or would be."""
    layout = body.kind.schema.ghost_layout
    return layout.row.encode(body.state.values()[: len(layout)]), body.position, body.yaw
