"""A world for the benchmarks of CellApps: real CellApps, and around them, in the same process, their peers.

Clients walk at 5 m/s and turn now and then; their messages pass through carriers (`cell_peers.py`).
Everything between those and the CellApps is bytes, as on a link: bundles that are decoded on the way in and made on the
way out. What the carriers and the crowd cost is not the CellApps' and not counted.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

from terrazzo._speed.movers import ROW
from terrazzo.bench.cell_peers import CHANGE_S, SCHEMA, SPACE, Carrier, Clock, Meter, Walker, WalkerBase, WalkerCell
from terrazzo.cell.cellapp import TICK_S, CellApp
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.game import Game, LoadedGame, Space
from terrazzo.runtime.collector import Aside
from terrazzo.schema.model import Side
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import Moves
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from terrazzo.world.bsp import BspTree

RADIUS_M = 80.0
HYSTERESIS_M = 5.0
"""Of the entities in this ring about half are in the area: those that came from within."""
AROUND = 62
SPEED = 5.0
TURNS = 0.02
"""How likely a walker turns, in each tick."""
GET_USED_TICKS = 15
"""At the end of those in which all settles."""
MANAGER = AppId(AppKind.CELL_APP_MGR, 0, 1)


def side_of(clients: int, around: int, radius: float) -> float:
    """The side of a square in which so many walkers have so many others within the radius, on average.

    Those near an edge have less: the mean part of a circle that is inside a square is known.
    """
    short, long = radius, 1e7
    while long - short > 0.01:
        side = (short + long) / 2
        inside = pi * radius**2 - 8 * radius**3 / (3 * side) + radius**4 / (2 * side**2)
        short, long = (side, long) if (clients - 1) * inside / side**2 > around else (short, side)
    return long


class World:
    """CellApps side by side with their crowd."""

    def __init__(
        self,
        clients: int,
        *,
        cells: int = 1,
        carriers: int = 2,
        seed: int = 1,
        side_m: float = 0.0,
        around: int = AROUND,
        change_s: float = CHANGE_S,
        is_limited: bool = True,
        **options: Any,
    ) -> None:
        """With `side_m` they stand still, in a square of that size; else each has so many `around`. If it is not
        limited, a CellApp is not given the time of its ticks, and sends all clients all, however long that takes."""
        self._is_limited = is_limited
        self.clients = clients
        self._are_walking = not side_m
        self.clock = Clock(seed)
        self.meter = Meter()
        self.tick_s: list[float] = []
        """Processor time of each tick of all CellApps together."""
        self.side = side_m or side_of(clients, around, RADIUS_M + HYSTERESIS_M / 2)
        half = self.side / 2
        bounds = (-half, -half, half, half)
        game = Game(
            player=Walker,
            spaces=[Space("plain", bounds=bounds)],
            area_radius_m=RADIUS_M,
            area_hysteresis_m=HYSTERESIS_M,
            ghost_distance_m=RADIUS_M,
        )
        WalkerCell.change_s = change_s
        parts: Any = {"Walker": {Side.BASE: WalkerBase, Side.CELL: WalkerCell}}
        loaded = LoadedGame(SCHEMA, game, parts)
        ids = [AppId(AppKind.CELL_APP, index, 1) for index in range(cells)]
        self.cells = [CellApp(each, self.clock, loaded, cpu_s=self._cpu_s, **options) for each in ids]
        self.carriers = [Carrier(AppId(AppKind.BASE_APP, index, 1), self.clock) for index in range(carriers)]
        self.tree = BspTree.build(bounds, ids)
        for cell in self.cells:
            for peer in (MANAGER, *(each for each in ids if each != cell.me)):
                cell.on_link_up(peer)
            cell.on_message(MANAGER, SpaceTree(SPACE, "plain", 1, self.tree.pack()))
        self.walkers: dict[int, list[float]] = {}
        """Entity → x, z, yaw."""
        self._apps: dict[AppId, ClusterApp] = {each.me: each for each in (*self.cells, *self.carriers)}
        self._post: list[tuple[AppId, AppId, bytes]] = []
        self._number = 0
        self._is_measured = True
        self._settled_s = 0.0
        """What it took until all had settled: a core's time never runs backwards."""
        self._aside = Aside(self.clock.now)
        self._wrap_phases()
        self._populate()

    def _wrap_phases(self) -> None:
        for cell in self.cells:
            for thing, method, phase, after in (
                (cell.switchboard, "mailed", "mail", "mail"),
                (cell.moves, "run", "moves", "rest"),
                (cell.clockwork, "run", "clockwork", "rest"),
                (cell.interests, "run", "areas", "rest"),
                (cell.steps, "close_all", "steps", "rest"),
                (cell.placement, "tend", "ghosts", "rest"),
                (cell.offloads, "check", "offloads", "rest"),
                (cell.scheduler, "serve_all", "witnesses", "rest"),
                (cell.scheduler, "flush", "places", "rest"),
                (cell.switchboard, "on_tick", "frames", "rest"),
            ):
                self.meter.wrap(thing, method, phase, after)

    def _populate(self) -> None:
        half = self.side / 2
        for entity in range(1, self.clients + 1):
            x, z = (self.clock.rng.uniform(-half, half) for _ in range(2))
            self.walkers[entity] = [x, z, self.clock.rng.uniform(-pi, pi)]
            leaf = self.tree.leaf_at(x, z)
            self.carrier_of(entity).create(leaf.app, entity, (x, 0.0, z))

    def carrier_of(self, entity: int) -> Carrier:
        """Which BaseApp has its base."""
        return self.carriers[entity % len(self.carriers)]

    # Time.

    def settle(self, ticks: int) -> None:
        """Until all clients have what is around them, and the CellApps how long a tick takes; none of it counts."""
        for left in range(ticks, 0, -1):
            self._is_measured = left <= GET_USED_TICKS
            self.tick(may_be_late=False)
        self._settled_s += self.meter.total
        self.meter.seconds.clear()
        self.tick_s.clear()
        for carrier in self.carriers:
            carrier.reliable_bytes = carrier.places_bytes = 0
            carrier.updates.clear()

    def run(self, ticks: int) -> None:
        """So many ticks."""
        for _ in range(ticks):
            self.tick()

    def tick(self, *, may_be_late: bool = True) -> None:
        """Clients send, CellApps receive and tick, clients receive. A tick that takes longer than it should makes the
        next one late: a CellApp has one core."""
        if self._are_walking:
            self._walk()
        for carrier in self.carriers:
            carrier.on_tick()
            self._collect(carrier)
        before = self.meter.total
        self._deliver(to_cells=True)
        for cell in self.cells:
            self.meter.enter("rest")
            cell.on_tick()
            self.meter.enter("bundles")
            self._collect(cell)
            self.meter.enter("rest")
            self._aside.set_aside(self.clock.now)
            self.meter.enter("")
        spent = self.meter.total - before
        self.tick_s.append(spent)
        self._deliver(to_cells=False)
        self.clock.now += max(TICK_S, spent / len(self.cells)) if may_be_late else TICK_S

    def _cpu_s(self) -> float:
        """What a CellApp has used so far of its core; nothing if it is not limited, and while the world settles."""
        if not (self._is_measured and self._is_limited):
            return 0.0
        return (self._settled_s + self.meter.total) / len(self.cells)

    def _collect(self, app: ClusterApp) -> None:
        for peer, bundles in app.outbox.drain():
            self._post += [(app.me, peer, bundle) for bundle in bundles]

    def _deliver(self, *, to_cells: bool) -> None:
        kept = []
        for source, target, bundle in self._post:
            app = self._apps.get(target)
            if app is None:
                continue
            if isinstance(app, CellApp) != to_cells:
                kept.append((source, target, bundle))
                continue
            self.meter.enter("decode" if to_cells else "")
            messages = list(REGISTRY.decode_bundle(bundle))
            self.meter.enter("messages" if to_cells else "")
            for message in messages:
                app.on_message(source, message)  # type: ignore[arg-type]  # nothing is refused here
            self.meter.enter("")
        self._post = kept

    def _walk(self) -> None:
        """All walkers go on; each client's move goes to the CellApp that its carrier has as the place of its cell
        part."""
        self._number += 1
        rng, half, way = self.clock.rng, self.side / 2 - 0.01, SPEED * TICK_S
        rows: dict[tuple[Carrier, AppId], list[bytes]] = {}
        for entity, walker in self.walkers.items():
            x, z, yaw = walker
            if rng.random() < TURNS:
                yaw = rng.uniform(-pi, pi)
            x, z = x + sin(yaw) * way, z + cos(yaw) * way
            if not (-half < x < half and -half < z < half):
                x, z, yaw = max(-half, min(half, x)), max(-half, min(half, z)), rng.uniform(-pi, pi)
            walker[:] = x, z, yaw
            carrier = self.carrier_of(entity)
            home = carrier.switchboard.home_of(PartId(EntityId(entity), Part.CELL))
            if home is not None:
                row = ROW.pack(entity, self._number, x, 0.0, z, yaw, 0.0, 0.0)
                rows.setdefault((carrier, home), []).append(row)
        for (carrier, app), several in rows.items():
            for at in range(0, len(several), 1000):
                carrier.send(app, Moves(b"".join(several[at : at + 1000])))

    def forget_cells(self) -> None:
        """The CellApps are gone, with all that they have."""
        for cell in self.cells:
            del self._apps[cell.me]
        self.cells = []
