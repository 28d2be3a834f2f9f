"""Several CellApps, a BaseApp that only carries, and clients that check what they get; a pump between them.

The pump keeps a queue for each direction of each link. With a seed, links deliver at their own pace: what one app sent
to another stays in order, everything else comes in any interleaving. All along, `Land` checks the promises:

    P1  never two reals of an entity
    P3  a ghost's properties and place are those that the real had at the ghost's number
    P4  a client sees each entity enter, change and leave in order, nothing twice, nothing missing (`Screen`)
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from math import dist, inf

from terrazzo._speed.movers import Row, pack_row
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.client.witness import Witness
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import PLACE
from terrazzo.cell.core.kind import ranges_of
from terrazzo.cell.core.real import Real
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.schema.flags import Receiver
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import Volatile
from terrazzo.schema.shares import share_of_value
from terrazzo.schema.state import State
from terrazzo.sim.validation import violations_of
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import Moves
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from terrazzo.world.bsp import Branch, BspTree, CellId, Leaf, Node
from terrazzo.world.rect import Axis, Rect
from tests.cell.cast import BASE, BASE_MANAGER, CELL_METHODS, MANAGER, FakeBaseApp, FakeManager, LandHost
from tests.cell.plain import AVATAR, HALL_BOUNDS, plain_game
from tests.cell.screen import Screen

__all__ = [
    "BASE",
    "BASE_MANAGER",
    "CELL_METHODS",
    "MANAGER",
    "Land",
    "cornered",
    "eventful_land",
    "stripes",
    "volatile_land",
    "watched_land",
]

TICK_S = 0.1


def stripes(apps: list[AppId]) -> BspTree:
    """Cells side by side."""
    root: Branch = Leaf(CellId(len(apps)), apps[-1])
    for index in range(len(apps) - 2, -1, -1):
        root = Node(Axis.X, 200.0 * index, Leaf(CellId(index + 1), apps[index]), root)
    return BspTree(Rect(-500.0, -500.0, 500.0, 500.0), root, CellId(len(apps) + 1))


class Land:
    """CellApps 0, 1, … side by side along x, in stripes that meet at x = 0, 200, …; or four that meet at 0, 0.

    `hall`: a second space, of which the CellApp of this index has the only cell.
    """

    def __init__(
        self,
        cells: int = 2,
        *,
        seed: int | None = None,
        margin_m: float = 3.0,
        corner: bool = False,
        hall: int | None = None,
        **policy,
    ) -> None:
        self.host = LandHost()
        self.is_forced = False
        """A test has put an app into a state that no message leads to: invariants are not checked any more."""
        self.rng = None if seed is None else random.Random(seed)
        self.base = FakeBaseApp(self.host)
        self.manager = FakeManager(MANAGER, self.host, self.base)
        self.base_manager = FakeManager(BASE_MANAGER, self.host, self.base)
        ids = [AppId(AppKind.CELL_APP, index, 1) for index in range(cells)]
        game = plain_game(**policy)
        self.cells = [CellApp(each, self.host, game, offload_margin_m=margin_m) for each in ids]
        others = (self.base, self.manager, self.base_manager)
        self.apps: dict[AppId, ClusterApp] = {each.me: each for each in (*others, *self.cells)}
        self.queues: dict[tuple[AppId, AppId], list[Message]] = {}
        self.blocked: set[tuple[AppId, AppId]] = set()
        self.broken: set[tuple[AppId, AppId]] = set()
        self.truth: dict[tuple[int, int], tuple] = {}
        self.walks = 0
        self.tree = BspTree.build((-500.0, -500.0, 500.0, 500.0), ids) if corner else stripes(ids)
        for app in self.cells:
            app.on_link_up(MANAGER)
            app.on_link_up(BASE_MANAGER)
            for each in ids:
                if each != app.me:
                    app.on_link_up(each)
        self.plant("plain", 1, 1, self.tree, *self.cells)
        if hall is not None:
            tree = BspTree(Rect(*HALL_BOUNDS), Leaf(CellId(1), ids[hall]), CellId(2))
            self.plant("hall", 2, 1, tree, self.cells[hall])

    def plant(
        self, name: str, space: int, version: int, tree: BspTree, *apps: CellApp, retiring: tuple[AppId, ...] = ()
    ) -> None:
        """A tree of a space, for these CellApps and the manager from now on."""
        self.manager.trees[name] = (space, tree)
        for app in apps:
            app.on_message(MANAGER, SpaceTree(space, name, version, tree.pack(), retiring))

    @property
    def to_manager(self) -> list[Message]:
        """The messages for the CellAppMgr."""
        return self.manager.heard

    def __getitem__(self, index: int) -> CellApp:
        return self.cells[index]

    # The pump.

    def tick(self, app: ClusterApp) -> None:
        app.on_tick()
        if app in self.cells and not self.is_forced:
            assert [*violations_of(app)] == []
        for peer, bundles in app.outbox.drain():
            for bundle in bundles:
                for message in REGISTRY.decode_bundle(bundle):
                    assert isinstance(message, Message)
                    if peer in self.apps and (app.me, peer) not in self.broken:  # tests also speak for others
                        self.queues.setdefault((app.me, peer), []).append(message)
        self.check(app)

    def deliver(self, source: AppId, target: AppId, count: int | None = None) -> None:
        queue = self.queues.get((source, target), [])
        taken = queue[:count]
        del queue[: len(taken)]
        for message in taken:
            self.apps[target].on_message(source, message)
            self.check(self.apps[target])

    def step(self, ticks: int = 1) -> None:
        for _ in range(ticks):
            self.host.now += TICK_S
            for app in self._shuffled(list(self.apps.values())):
                self.tick(app)
            for source, target in self._shuffled(list(self.queues)):
                if (source, target) not in self.blocked:
                    waiting = len(self.queues[source, target])
                    self.deliver(
                        source, target, waiting if self.rng is None else self.rng.choice([0, waiting // 2, waiting])
                    )
            self.check(*self.cells)

    def settle(self, ticks: int = 30) -> None:
        """Everything arrives, and then nothing more happens."""
        rng, self.rng = self.rng, None
        self.blocked.clear()
        self.step(ticks)
        self.rng = rng
        self.check_rest()

    def _shuffled(self, items: list) -> list:
        if self.rng is not None:
            self.rng.shuffle(items)
        return items

    def break_link(self, one: int, other: int) -> None:
        """What is on the link between two cells is lost, and nothing comes through until it is mended."""
        for source, target in ((one, other), (other, one)):
            self.broken.add((self[source].me, self[target].me))
            self.queues.pop((self[source].me, self[target].me), None)
            self[source].outbox.discard(self[target].me)
            self[source].on_link_lost(self[target].me)

    def mend_link(self, one: int, other: int) -> None:
        for source, target in ((one, other), (other, one)):
            self.broken.discard((self[source].me, self[target].me))
            self[source].on_link_up(self[target].me)

    def block(self, source: int, target: int) -> None:
        self.blocked.add((self[source].me, self[target].me))

    # What tests do and ask.

    def create(
        self,
        entity: int,
        x: float,
        z: float = 0.0,
        *,
        on: int | None = None,
        space: int = 1,
        is_seen: bool = False,
        **values,
    ):
        """An avatar, created and settled; with a client if asked for."""
        if on is None:
            on = next(index for index, app in enumerate(self.cells) if covers(app, space, (x, 0.0, z)))
        self.base.create(self[on].me, entity, (x, 0.0, z), space=space, **values)
        self.step(3)
        if self.rng is not None:
            while entity not in self.base.created and entity not in self.base.refused:
                self.step()
        assert entity in self.base.created, self.base.refused
        return self.base.attach(entity) if is_seen else None

    def home(self, entity: int) -> int | None:
        """Which cell has the real."""
        found = [index for index, app in enumerate(self.cells) if entity in app.reals]
        assert len(found) <= 1
        return found[0] if found else None

    def part(self, entity: int):
        home = self.home(entity)
        assert home is not None
        return self[home].reals[entity].part

    def corner(self, x: int, z: int) -> int:
        """Which of the four cells that meet at 0, 0 has that side."""
        return self.tree.leaf_at(float(x), float(z)).app.index

    def real(self, entity: int) -> Real:
        home = self.home(entity)
        assert home is not None
        return self[home].reals[entity]

    def witness(self, entity: int) -> Witness:
        witness = witness_of(self.real(entity))
        assert witness is not None
        return witness

    def act(self, entity: int, name: str, *args, **named):
        """Code of the entity runs, as in a call; between two ticks, nowhere if it is on its way."""
        home = self.home(entity)
        if home is None:
            return None
        real = self[home].reals[entity]
        function = partial(getattr(real.part, name), **named)
        return self[home].core.run(real.body, name, function, *args)

    def do(self, entity: int, function):
        """A piece of code runs as the entity's own."""
        home = self.home(entity)
        assert home is not None
        real = self[home].reals[entity]
        before, self[home].core.acting = self[home].core.acting, real.body
        try:
            return function(real.part)
        finally:
            self[home].core.acting = before

    def walk(self, entity: int, x: float, z: float = 0.0, to: int | None = None) -> None:
        """The entity's client sends ready; the BaseApp may have an old place of the real."""
        place = self.base.switchboard.places.get(PartId(EntityId(entity), Part.CELL))
        app = self[to].me if to is not None else (place.app if place is not None else None)
        self.walks += 1
        if app is not None:
            self.base.send(app, Moves(pack_row(Row(entity, self.walks, (x, 0.0, z), (0.0, 0.0, 0.0)))))

    def put(self, entity: int, x: float, z: float = 0.0) -> None:
        """The entity's own code puts it somewhere."""
        self.do(entity, lambda part: setattr(part, "position", (x, 0.0, z)))

    # The promises.

    def check(self, *apps: ClusterApp) -> None:
        """Called after these apps have worked. The events of their reals are the truth about a step, and each ghost
        must equal the truth of its step. The ghosts of the other apps have not changed, so only those with a new truth
        for their step are checked."""
        cells = [each for each in apps if isinstance(each, CellApp)]
        told = [real.body for app in cells for real in app.reals.values() if self.is_single(real) and real.is_unchanged]
        fresh = {(body.id, body.number): body for body in told if (body.id, body.number) not in self.truth}
        self.truth.update({step: _facts(body) for step, body in fresh.items()})
        for app in cells:
            for body in app.bodies.values():
                self._check_ghost(body)
        elsewhere = [app for app in self.cells if app not in cells]
        for ghost in [app.bodies[entity] for app in elsewhere for entity, _ in fresh if entity in app.bodies]:
            self._check_ghost(ghost)

    def is_single(self, real: Real) -> bool:
        return self.home(real.body.id) is not None

    def _check_ghost(self, body: Body) -> None:
        if body.real is None and (body.id, body.number) in self.truth:
            assert _facts(body) == self.truth[body.id, body.number], f"a ghost of {body.id} lies"

    def check_rest(self) -> None:
        """At rest: one real in the right cell, ghosts equal to it, and screens that show what is."""
        for app in self.cells:
            assert not app.receiver.held
            assert not app.offloads.kept
            assert not len(app.offloads.answers), "an answer is forgotten when it was noted"
            for body in app.bodies.values():
                home = self.home(body.id)
                assert home is not None, f"{body.id} has a ghost and no real"
                original = self[home].bodies[body.id]
                assert (body.number, body.epoch, body.real_app) == (original.number, original.epoch, self[home].me)
                assert _facts(body) == _facts(original)
        for entity, screen in self.base.screens.items():
            home = self.home(entity)
            if home is not None and self[home].reals[entity].witness is not None:
                self._check_screen(screen, self[home])

    def _check_screen(self, screen: Screen, app: CellApp) -> None:
        body, witness = app.bodies[screen.id], app.reals[screen.id].witness
        assert witness is not None
        for other in self.base.created:
            home = self.home(other)
            if other == screen.id or home is None:
                continue
            real = self[home].bodies[other]
            away = dist(real.position[::2], body.position[::2]) if real.space.id == body.space.id else inf
            if away <= witness.radius:
                assert other in screen.seen, f"{screen.id} should see {other}"
            elif away > witness.radius + witness.hysteresis:
                assert other not in screen.seen, f"{screen.id} should not see {other}"
            if other in screen.seen:
                for name in told_within(away):
                    assert screen.seen[other][name] == _share(AVATAR.other_client_layout, real.state, name), name
        assert screen.own is not None
        assert screen.space == body.space.id
        for name in AVATAR.cell_player_layout.names:
            assert screen.own[name] == _share(AVATAR.cell_player_layout, body.state, name)


def covers(app: CellApp, space: int, position) -> bool:
    """Whether a point is in this app's cell of a space."""
    return space in app.spaces and app.spaces[space].outside_by(position) == 0


def told_within(away: float) -> list[str]:
    """The properties that a client must have of another entity at this distance: those of nearer levels may be older
    ones, and unreliable ones may be lost."""
    starts = {each.label: each.start for each in AVATAR.detail_levels}
    others = (each for each in AVATAR.cell_properties if Receiver.OTHER_CLIENTS.gets(each.flags) and each.is_reliable)
    return [each.name for each in others if away <= starts.get(each.detail_level or "", inf)]


def _share(layout: Layout, state: State, name: str):
    """The share of a value that the receivers of a layout get."""
    return share_of_value(state[name], layout.codecs[layout.index[name]])


def _facts(body) -> tuple:
    layout = AVATAR.ghost_layout
    place = (body.space.id, body.position, body.direction, body.ride)
    return layout.row.encode(body.state.values()[: len(layout)]), *place


def watched_land(x: float) -> tuple[Land, Screen]:
    """One cell; entity 1 stands at 0 and has a client, entity 2 at x."""
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, x)
    land.settle()
    return land, screen


def cornered() -> tuple[Land, Screen, tuple[int, int, int]]:
    """Four cells. Entity 1 is on the first of those that are named, near the second, across from the third; there it
    is seen by entity 2, which has a client."""
    land = Land(4, margin_m=0.0, corner=True)
    watcher = land.create(2, 6.0, 6.0, is_seen=True)
    land.create(1, -5.0, -5.0)
    land.settle()
    return land, watcher, (land.corner(-1, -1), land.corner(1, -1), land.corner(1, 1))


def volatile_land(volatile: Volatile, *args, **options) -> Land:
    """In which this is volatile of avatars."""
    land = Land(*args, **options)
    for app in land.cells:
        kind = app.core.kinds.get(AVATAR.type_id)
        assert kind is not None
        kind.ranges, kind.ranges_of_vehicles = ranges_of(replace(kind.schema, volatile=volatile), 0)
        kind.is_eventful = volatile.position is None
    return land


def eventful_land(*args, **options) -> Land:
    """In which the positions of avatars are not volatile."""
    land = volatile_land(Volatile(), *args, **options)
    for app in land.cells:
        kind = app.core.kinds.get(AVATAR.type_id)
        assert kind is not None
        kind.beside = [*kind.beside, PLACE]
    return land
