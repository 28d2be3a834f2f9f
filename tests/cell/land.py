"""Several CellApps, a BaseApp that only carries, and clients that check what they are told; a pump between them.

The pump keeps a queue for each direction of each link. With a seed, links deliver at their own pace: what one app sent
to another stays in order, everything else comes in any interleaving. All along, `Land` checks the promises:

    P1  never two reals of an entity
    P3  a ghost's properties and place are those that the real had at the ghost's number
    P4  a client sees each entity enter, change and leave in order, nothing twice, nothing missing (`Screen`)
"""

from __future__ import annotations

import random

from terrazzo.cell.cellapp import CellApp
from terrazzo.schema.model import Side
from terrazzo.schema.state import State
from terrazzo.sync.protocol import MethodTable, split_message, take_entity, take_place
from terrazzo.sync.protocol import ToClient as Word
from terrazzo.wire.base_app import ClusterApp
from terrazzo.wire.entity_messages import Astray, Frame
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import (
    CallBase,
    CallCell,
    CellData,
    ClientUpdates,
    CreateReal,
    DestroyReal,
    Move,
    Moves,
    RealCreated,
    SetWitness,
    ToClient,
    WantCellData,
)
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from terrazzo.wire.switchboard import Switchboard
from terrazzo.world.bsp import Branch, BspTree, CellId, Leaf, Node
from terrazzo.world.rect import Axis, Rect
from tests.cell.plain import AVATAR, SCHEMA, plain_game

TICK_S = 0.1
BASE = AppId(AppKind.BASE_APP, 0, 1)
MANAGER = AppId(AppKind.CELL_APP_MGR, 0, 1)
METHODS = MethodTable(SCHEMA)
CELL_METHODS = {method.name: index for index, method in enumerate(AVATAR.cell_methods)}


class FakeHost:
    """Time that all apps of a land share."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.rng = random.Random(1)
        self.logged: list[tuple[str, dict[str, object]]] = []
        self.joined: list[AppId] = []

    def log(self, event: str, /, **facts: object) -> None:
        self.logged.append((event, facts))

    def join(self, peer: AppId) -> None:
        self.joined.append(peer)

    def fence(self, app: AppId) -> None:
        raise AssertionError("nobody is fenced here")

    def words(self, event: str) -> list[dict[str, object]]:
        return [facts for each, facts in self.logged if each == event]


class Screen:
    """What a client has; it fails the test when the story it is told cannot be true."""

    def __init__(self, entity: int) -> None:
        self.id = entity
        self.own: State | None = None
        self.space = 0
        self.seen: dict[int, State] = {}
        self.has_gaps = False
        """Links broke: steps may have been lost, though the last state must be right."""
        self.events: list[tuple] = []
        self.steps: dict[int, int] = {}
        """Per entity: the last number it called out."""

    def hear(self, message: bytes) -> None:
        number, body = split_message(message)
        if number == Word.CELL_PLAYER:
            self.space = int.from_bytes(body[:4], "little")
            values = AVATAR.cell_player_layout.row.decode(body[20:])
            self.own = State(AVATAR.client_layout)
            for name, value in zip(AVATAR.cell_player_layout.names, values, strict=True):
                self.own[name] = value
            self.events.append(("player",))
        elif number == Word.MOVED:
            self.events.append(("moved", take_place(body)[0]))
        elif number == Word.LEAVE:
            entity, _ = take_entity(body)
            assert entity in self.seen, f"{entity} leaves the screen of {self.id} but was not there"
            del self.seen[entity]
            self.events.append(("leave", entity))
        elif number == Word.ENTER:
            self._enter(body)
        else:
            self._change(number, body)

    def _enter(self, body: bytes) -> None:
        entity, rest = take_entity(body)
        assert entity not in self.seen, f"{entity} enters the screen of {self.id} twice"
        assert entity != self.id
        _, _, rest = take_place(rest[2:])
        state = self.seen[entity] = State(AVATAR.client_layout)
        for place, value in AVATAR.client_layout.decode_some(rest).items():
            state.set(place, value)
        assert state["steps"] >= self.steps.get(entity, 0), "it came back in an older state"
        self.steps[entity] = state["steps"]
        self.events.append(("enter", entity))

    def _change(self, number: int, body: bytes) -> None:
        entity, data = take_entity(body)
        state = self.own if entity == self.id else self.seen.get(entity)
        assert state is not None, f"{self.id} is told of a change of {entity}, which it does not have"
        if number in (Word.NESTED, Word.SLICE):
            state.apply_external(data, is_slice=number == Word.SLICE)
        elif number >= 158:
            prop = AVATAR.client_properties[number - 158]
            value = prop.codec.decode(data)
            if prop.name == "steps" and entity != self.id and not self.has_gaps:
                assert value == state["steps"] + 1, f"step {value} of {entity} after {state['steps']}"
            state.set(number - 158, value)
            self.events.append((prop.name, entity, value))
        else:
            call = METHODS.find(AVATAR, Side.CLIENT, number, body)
            args = call.method.decode_args(call.data)
            if call.method.name == "on_stepped":
                assert args[0] == self.steps[entity] + 1, f"call {args[0]} of {entity} after {self.steps[entity]}"
                assert args[0] == state["steps"]
                self.steps[entity] = args[0]
            self.events.append((call.method.name, entity, *args))

    def count(self, *event) -> int:
        return sum(each[: len(event)] == event for each in self.events)


class FakeBaseApp(ClusterApp):
    """Carries the mail of bases and hands their clients what is theirs."""

    def __init__(self, host: FakeHost) -> None:
        super().__init__(BASE, host)
        self.switchboard = Switchboard(BASE, host, self.outbox, self)
        self.screens: dict[int, Screen] = {}
        self.witness: dict[int, int] = {}
        self.mail: dict[int, list[Message]] = {}
        self.refused: dict[int, str] = {}
        self.created: list[int] = []
        self.places: dict[int, list[bytes]] = {}
        self.on(Frame, self.switchboard.on_message)
        self.on(Astray, self.switchboard.on_message)
        self.on(ClientUpdates, self._on_updates)

    def locate(self, part: PartId) -> None: ...
    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None: ...
    def on_ended(self, part: PartId) -> None: ...

    def create(self, app: AppId, entity: int, position, *, life: int = 1, space: int = 1, **values) -> None:
        state = State(AVATAR.cell_layout)
        for name, value in values.items():
            state[name] = value
        base = PartId(EntityId(entity), Part.BASE)
        if base not in self.switchboard.boxes:
            self.switchboard.create(base)
        self.mail.setdefault(entity, [])
        message = CreateReal(entity, AVATAR.type_id, space, position, 0.0, state.encode(), 0, life)

        def then(answer: Message) -> None:
            assert isinstance(answer, RealCreated)
            self.created.append(entity)
            cell = PartId(EntityId(entity), Part.CELL)
            self.switchboard.learn(cell, life << 32, app)
            self.switchboard.pin(base, cell)

        def failed(_why: object, words: str) -> None:
            self.refused[entity] = words

        self.requests.ask(app, message, timeout_s=60.0, then=then, failed=failed)

    def tell(self, entity: int, message: Message, to: int | None = None) -> None:
        source = PartId(EntityId(entity), Part.BASE)
        self.switchboard.send(source, PartId(EntityId(to or entity), Part.CELL), REGISTRY.encode(message))

    def call(self, entity: int, name: str, *args, caller: int = 0, to: int | None = None) -> None:
        method = AVATAR.cell_methods[CELL_METHODS[name]]
        self.tell(entity, CallCell(CELL_METHODS[name], method.encode_args(*args), caller), to)

    def attach(self, entity: int) -> Screen:
        self.witness[entity] = self.witness.get(entity, 0) + 1
        self.screens[entity] = Screen(entity)
        self.tell(entity, SetWitness(self.witness[entity], True))
        return self.screens[entity]

    def detach(self, entity: int) -> None:
        self.tell(entity, SetWitness(self.witness[entity], False))

    def destroy(self, entity: int) -> None:
        self.tell(entity, DestroyReal())

    def want_data(self, entity: int) -> None:
        self.tell(entity, WantCellData())

    def data_of(self, entity: int) -> list[CellData]:
        return [each for each in self.mail[entity] if isinstance(each, CellData)]

    def calls_of(self, entity: int) -> list[CallBase]:
        return [each for each in self.mail[entity] if isinstance(each, CallBase)]

    def _on_updates(self, source: AppId, message: ClientUpdates) -> None:
        for update in message.updates:
            if update.witness == self.witness.get(update.entity):
                self.places.setdefault(update.entity, []).extend(update.messages)

    def on_tick(self) -> None:
        super().on_tick()
        for part in list(self.switchboard.boxes):
            for _, payload in self.switchboard.take(part):
                message = REGISTRY.decode_nested(payload)
                if isinstance(message, ToClient):
                    if message.witness == self.witness[part.entity]:
                        for word in message.messages:
                            self.screens[part.entity].hear(word)
                else:
                    assert isinstance(message, Message)
                    self.mail[part.entity].append(message)
        self.switchboard.on_tick()


def stripes(apps: list[AppId]) -> BspTree:
    """Cells side by side."""
    root: Branch = Leaf(CellId(len(apps)), apps[-1])
    for index in range(len(apps) - 2, -1, -1):
        root = Node(Axis.X, 200.0 * index, Leaf(CellId(index + 1), apps[index]), root)
    return BspTree(Rect(-500.0, -500.0, 500.0, 500.0), root, CellId(len(apps) + 1))


class Land:
    """CellApps 0, 1, … side by side along x, in stripes that meet at x = 0, 200, …; or four that meet at 0, 0."""

    def __init__(
        self, cells: int = 2, *, seed: int | None = None, margin_m: float = 3.0, corner: bool = False, **policy
    ) -> None:
        self.host = FakeHost()
        self.rng = None if seed is None else random.Random(seed)
        self.base = FakeBaseApp(self.host)
        ids = [AppId(AppKind.CELL_APP, index, 1) for index in range(cells)]
        game = plain_game(**policy)
        self.cells = [CellApp(each, self.host, game, offload_margin_m=margin_m, cpu_load=lambda: 0.5) for each in ids]
        self.apps: dict[AppId, ClusterApp] = {BASE: self.base, **{each.me: each for each in self.cells}}
        self.queues: dict[tuple[AppId, AppId], list[Message]] = {}
        self.blocked: set[tuple[AppId, AppId]] = set()
        self.to_manager: list[Message] = []
        self.truth: dict[tuple[int, int], tuple] = {}
        self.tree = BspTree.build((-500.0, -500.0, 500.0, 500.0), ids) if corner else stripes(ids)
        for app in self.cells:
            app.on_link_up(MANAGER)
            app.on_message(MANAGER, SpaceTree(1, "plain", 1, self.tree.pack()))

    def __getitem__(self, index: int) -> CellApp:
        return self.cells[index]

    # The pump.

    def tick(self, app: ClusterApp) -> None:
        app.on_tick()
        for peer, bundles in app.outbox.drain():
            for bundle in bundles:
                for message in REGISTRY.decode_bundle(bundle):
                    assert isinstance(message, Message)
                    if peer == MANAGER:
                        self.to_manager.append(message)
                    else:
                        self.queues.setdefault((app.me, peer), []).append(message)
        self.check()

    def deliver(self, source: AppId, target: AppId, count: int | None = None) -> None:
        queue = self.queues.get((source, target), [])
        taken = queue[:count]
        del queue[: len(taken)]
        for message in taken:
            self.apps[target].on_message(source, message)
            self.check()

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

    def block(self, source: int, target: int) -> None:
        self.blocked.add((self[source].me, self[target].me))

    # What tests do and ask.

    def create(self, entity: int, x: float, z: float = 0.0, *, on: int | None = None, is_seen: bool = False, **values):
        """An avatar, created and settled; with a client if asked for."""
        if on is None:
            on = next(index for index, app in enumerate(self.cells) if app.spaces[1].outside_by((x, 0.0, z)) == 0)
        self.base.create(self[on].me, entity, (x, 0.0, z), **values)
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

    def act(self, entity: int, name: str, *args):
        """Code of the entity runs, as in a call; between two ticks, nowhere if it is on its way."""
        home = self.home(entity)
        if home is None:
            return None
        real = self[home].reals[entity]
        function = getattr(real.part, name)
        return self[home].run(real.body, name, function, *args)

    def do(self, entity: int, function):
        """A piece of code runs as the entity's own."""
        home = self.home(entity)
        assert home is not None
        real = self[home].reals[entity]
        before, self[home].acting = self[home].acting, real.body
        try:
            return function(real.part)
        finally:
            self[home].acting = before

    def walk(self, entity: int, x: float, z: float = 0.0, to: int | None = None) -> None:
        """The entity's client says that it is there; the BaseApp may have an old idea of where the real is."""
        place = self.base.switchboard.places.get(PartId(EntityId(entity), Part.CELL))
        app = self[to].me if to is not None else (place.app if place is not None else None)
        if app is not None:
            self.base.send(app, Moves((Move(entity, (x, 0.0, z), 0.0),)))

    # The promises.

    def check(self) -> None:
        for app in self.cells:
            for real in app.reals.values():
                self.home(real.body.id)
                if real.is_told:
                    self.truth.setdefault((real.body.id, real.body.number), _facts(real.body))
        for app in self.cells:
            for body in app.bodies.values():
                if body.real is None and (body.id, body.number) in self.truth:
                    assert _facts(body) == self.truth[body.id, body.number], f"a ghost of {body.id} lies"

    def check_rest(self) -> None:
        """At rest: one real in the right cell, ghosts equal to it, and screens that show what is."""
        for app in self.cells:
            assert not app.ghosts.held
            assert not app.ghosts.successors
            assert not app.offloads.kept
            assert not app.offloads.waiting
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
        body = app.bodies[screen.id]
        for other in self.base.created:
            home = self.home(other)
            if other == screen.id or home is None:
                continue
            real = self[home].bodies[other]
            away = max(abs(real.position[0] - body.position[0]), abs(real.position[2] - body.position[2]))
            if away <= 80:
                assert other in screen.seen, f"{screen.id} should see {other}"
            elif away > 85:
                assert other not in screen.seen, f"{screen.id} should not see {other}"
            if other in screen.seen:
                for name in ("name", "steps", "bag", "pose"):
                    assert screen.seen[other][name] == real.state[name]
        assert screen.own is not None
        for name in AVATAR.cell_player_layout.names:
            assert screen.own[name] == body.state[name]


def _facts(body) -> tuple:
    layout = AVATAR.ghost_layout
    return layout.row.encode(body.state.values()[: len(layout)]), body.position, body.yaw
