"""A world for the benchmarks of CellApps: real CellApps, and around them, in the same process, what they talk to.

    Crowd    clients that walk at 5 m/s and turn now and then, want what is announced and release what has left
    Carrier  a BaseApp as far as a CellApp can tell: a real switchboard with a real base part for each client, which
             passes on what clients say and takes what they are told

Everything between them is bytes, as on a link: bundles that are decoded on the way in and made on the way out. What the
carriers and the crowd cost is not the CellApp's and not counted: `Meter` counts the processor time of CellApps only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import cos, pi, sin
from random import Random
from typing import Any

from terrazzo import (
    ALL_CLIENTS,
    OWN_CLIENT,
    EntityType,
    Int16,
    Int32,
    Proxy,
    Text,
    UInt8,
    UInt32,
    Volatile,
    build,
    prop,
)
from terrazzo._speed.movers import ROW
from terrazzo.cell import Cell
from terrazzo.cell.cellapp import TICK_S, CellApp
from terrazzo.game import Game, LoadedGame, Space
from terrazzo.schema.model import Side
from terrazzo.schema.state import State
from terrazzo.sync.protocol import ToClient as Word
from terrazzo.sync.protocol import take_alias
from terrazzo.wire.base_app import ClusterApp
from terrazzo.wire.entity_messages import Astray, Frame
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import ClientUpdates, ClientWants, CreateReal, Moves, SetWitness, ToClient
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from terrazzo.wire.switchboard import Switchboard
from terrazzo.world.bsp import BspTree

RADIUS_M = 80.0
HYSTERESIS_M = 5.0
"""Of those who are in this ring about half are in the area: they came from within."""
AROUND = 62
SPEED = 5.0
CHANGE_S = 5.0
TURNS = 0.02
"""How likely a walker turns, in each tick."""
SPACE = 1
MANAGER = AppId(AppKind.CELL_APP_MGR, 0, 1)


class Walker(EntityType):
    """What everybody is."""

    name: Text = prop(ALL_CLIENTS)
    level: UInt8 = prop(ALL_CLIENTS)
    colour: UInt32 = prop(ALL_CLIENTS)
    health: Int16 = prop(ALL_CLIENTS, default=100)
    gold: Int32 = prop(OWN_CLIENT)
    volatile = Volatile(position=True, yaw=True)


class WalkerBase(Proxy, of=Walker):
    """Not run here."""


class WalkerCell(Cell, of=Walker):
    """Its health changes every five seconds."""

    def on_created(self) -> None:
        """Each at another moment."""
        self.timer(CHANGE_S * (self._body.id % 997) / 997, CHANGE_S)

    def on_timer(self, number: int) -> None:
        """The one change that everybody near must hear of."""
        self.health += 1


SCHEMA = build([Walker]).checked()
WALKER = SCHEMA["Walker"]


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


class Clock:
    """The host of all apps: a time that is set by hand."""

    def __init__(self, seed: int) -> None:
        self.now = 1000.0
        self.rng = Random(seed)
        self.logged: dict[str, int] = {}

    def log(self, event: str, /, **facts: object) -> None:
        """Counted."""
        self.logged[event] = self.logged.get(event, 0) + 1

    def join(self, peer: AppId) -> None:
        """Everybody is joined."""

    def fence(self, app: AppId) -> None:
        """Nobody is."""


class Meter:
    """Processor time by phase: one runs at any time, or none. Looking at the clock costs too: it is done seldom."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._phase = ""
        self._since = 0.0

    def enter(self, phase: str) -> None:
        """From now on time is this one's; "" is nobody's."""
        now = time.process_time()
        if self._phase:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def wrap(self, thing: Any, method: str, phase: str, after: str) -> None:
        """A call of this method of an object is a phase; `after` is what follows it."""
        function: Callable[..., Any] = getattr(thing, method)

        def counted(*args: Any) -> Any:
            self.enter(phase)
            result = function(*args)
            self.enter(after)
            return result

        setattr(thing, method, counted)

    @property
    def total(self) -> float:
        """Of all phases."""
        return sum(self.seconds.values())


class Carrier(ClusterApp):
    """A BaseApp, as far as a CellApp can tell."""

    def __init__(self, me: AppId, host: Clock) -> None:
        super().__init__(me, host)
        self.switchboard = Switchboard(me, host, self.outbox, self)
        self.reliable_bytes = 0
        self.places_bytes = 0
        self.heard: set[int] = set()
        """Whose client heard something since it was last asked."""
        self.refused = 0
        self._wants: dict[int, list[tuple[int, int]]] = {}
        self._released: dict[int, list[int]] = {}
        self.on(Frame, self.switchboard.on_message)
        self.on(Astray, self.switchboard.on_message)
        self.on(ClientUpdates, self._on_updates)

    def locate(self, part: PartId) -> None:
        """See Exchange."""

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange."""

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""

    def create(self, cell: AppId, entity: int, position: tuple[float, float, float]) -> None:
        """A walker with a client."""
        state = State(WALKER.cell_layout)
        state["name"] = f"walker {entity}"
        base, part = PartId(EntityId(entity), Part.BASE), PartId(EntityId(entity), Part.CELL)
        self.switchboard.create(base)

        def then(_: Message) -> None:
            self.switchboard.learn(part, 1 << 32, cell)
            self.switchboard.pin(base, part)
            self.switchboard.send(base, part, REGISTRY.encode(SetWitness(1, True)))

        def failed(_: object, __: str) -> None:
            self.refused += 1

        real = CreateReal(entity, WALKER.type_id, SPACE, position, (0.0, 0.0, 0.0), state.encode(), 0, 1)
        self.requests.ask(cell, real, timeout_s=1e6, then=then, failed=failed)

    def on_tick(self) -> None:
        """Takes what clients are told, and says what they say."""
        super().on_tick()
        for part in self.switchboard.with_mail():
            for _, payload in self.switchboard.take(part):
                message = REGISTRY.decode_nested(payload)
                if isinstance(message, ToClient):
                    self.heard.add(part.entity)
                    for word in message.messages:
                        self._hear(part.entity, word)
        for entity in self._wants.keys() | self._released.keys():
            wants = ClientWants(1, tuple(self._wants.get(entity, ())), tuple(self._released.get(entity, ())))
            base, cell = PartId(EntityId(entity), Part.BASE), PartId(EntityId(entity), Part.CELL)
            self.switchboard.send(base, cell, REGISTRY.encode(wants))
        self._wants.clear()
        self._released.clear()
        self.switchboard.on_tick()

    def _hear(self, entity: int, word: bytes) -> None:
        """A reliable message for one client."""
        self.reliable_bytes += len(word)
        if word[0] == Word.ANNOUNCE:
            other = int.from_bytes(word[1:5], "little", signed=True)
            self._wants.setdefault(entity, []).append((other, 0))
        elif word[0] == Word.LEAVE:
            self._released.setdefault(entity, []).append(take_alias(word[1:])[0])

    def _on_updates(self, source: AppId, message: ClientUpdates) -> None:
        for update in message.updates:
            self.heard.add(update.entity)
            self.places_bytes += sum(map(len, update.messages))


class World:
    """CellApps side by side with their crowd."""

    def __init__(self, clients: int, *, cells: int = 1, carriers: int = 2, seed: int = 1, **options: Any) -> None:
        self.clients = clients
        self.clock = Clock(seed)
        self.meter = Meter()
        self.tick_s: list[float] = []
        """Processor time of each tick of all CellApps together."""
        self.side = side_of(clients, AROUND, RADIUS_M + HYSTERESIS_M / 2)
        half = self.side / 2
        bounds = (-half, -half, half, half)
        game = Game(
            player=Walker,
            spaces=[Space("plain", bounds=bounds)],
            area_radius_m=RADIUS_M,
            area_hysteresis_m=HYSTERESIS_M,
            ghost_distance_m=RADIUS_M,
        )
        parts: Any = {"Walker": {Side.BASE: WalkerBase, Side.CELL: WalkerCell}}
        loaded = LoadedGame(SCHEMA, game, parts)
        ids = [AppId(AppKind.CELL_APP, index, 1) for index in range(cells)]
        self.cells = [CellApp(each, self.clock, loaded, cpu_load=self._load, **options) for each in ids]
        self.carriers = [Carrier(AppId(AppKind.BASE_APP, index, 1), self.clock) for index in range(carriers)]
        self.tree = BspTree.build(bounds, ids)
        for cell in self.cells:
            cell.on_link_up(MANAGER)
            cell.on_message(MANAGER, SpaceTree(SPACE, "plain", 1, self.tree.pack()))
        self.walkers: dict[int, list[float]] = {}
        """Entity → x, z, yaw."""
        self._apps: dict[AppId, ClusterApp] = {each.me: each for each in (*self.cells, *self.carriers)}
        self._post: list[tuple[AppId, AppId, bytes]] = []
        self._number = 0
        self._wrap_phases()
        self._populate()

    def _wrap_phases(self) -> None:
        for cell in self.cells:
            for thing, method, phase, after in (
                (cell.switchboard, "with_mail", "mail", "mail"),
                (cell.moves, "run", "moves", "rest"),
                (cell.clockwork, "run", "clockwork", "rest"),
                (cell.interests, "run", "areas", "rest"),
                (cell.haunts, "close_steps", "steps", "rest"),
                (cell.haunts, "tend", "ghosts", "rest"),
                (cell.offloads, "check", "offloads", "rest"),
                (cell.feed, "serve_all", "witnesses", "rest"),
                (cell.feed, "flush", "places", "rest"),
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
        """Until everybody knows everybody around; what that takes does not count."""
        for _ in range(ticks):
            self.tick(may_be_late=False)
        self.meter.seconds.clear()
        self.tick_s.clear()
        for carrier in self.carriers:
            carrier.reliable_bytes = carrier.places_bytes = 0

    def run(self, ticks: int) -> None:
        """So many ticks."""
        for _ in range(ticks):
            self.tick()

    def tick(self, *, may_be_late: bool = True) -> None:
        """Clients speak, CellApps hear and tick, clients hear. A tick that takes longer than it should makes the next
        one late: a CellApp has one core."""
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
            self.meter.enter("")
        spent = self.meter.total - before
        self.tick_s.append(spent)
        self._deliver(to_cells=False)
        self.clock.now += max(TICK_S, spent / len(self.cells)) if may_be_late else TICK_S

    def _load(self) -> float:
        """As much of a core as a CellApp used lately."""
        lately = self.tick_s[-5:]
        return sum(lately) / len(lately) / TICK_S / len(self.cells) if lately else 0.0

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
        """Everybody goes on; what each client says of it goes to where its carrier believes its cell part to be."""
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
            place = carrier.switchboard.places.get(PartId(EntityId(entity), Part.CELL))
            if place is not None and place.app is not None:
                row = ROW.pack(entity, self._number, x, 0.0, z, yaw, 0.0, 0.0)
                rows.setdefault((carrier, place.app), []).append(row)
        for (carrier, app), several in rows.items():
            for at in range(0, len(several), 1000):
                carrier.send(app, Moves(b"".join(several[at : at + 1000])))
