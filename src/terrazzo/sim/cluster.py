"""A whole cluster in a world: every app, its doors for clients, and clients that come through them.

                        datagrams                                links
    Seat (ClientApp) ◀──────────────▶ Door (ServerEndpoint) of LoginApp, BaseApps ◀──────▶ managers, CellApps, DBApp

The apps are the real ones: only time, network, entropy and the database's disk are simulated. A **door** stands for the
socket of a real process: datagrams go into its endpoint as they come, and the packets of the endpoint leave after each
turn and tick, after each datagram, and when one of its timers is due. A **seat** is a client program with an address of
its own; it steps on the world's clock until its last packet is sent.

All doors have the same key pair, as the processes of one cluster do. An app that is started again gets a new endpoint
behind the same door, so sessions of the former incarnation are unknown there, as they are after a real crash.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from msgspec.structs import replace

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.services import ClientPorts as BaseAddress
from terrazzo.cell.cellapp import CLIENT_BITS_S, CellApp
from terrazzo.client import ClientApp, ClientGame
from terrazzo.cluster.app import App
from terrazzo.db.dbapp import DBApp
from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.passwords import Cost, Hasher
from terrazzo.db.store import StoreLane, StoreQueue
from terrazzo.game import LoadedGame
from terrazzo.login.limits import LoginLimits
from terrazzo.login.loginapp import LoginApp
from terrazzo.login.queue import QueueLimits
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.schema.digest import digest
from terrazzo.sim.world import Process, World
from terrazzo.sync.view_events import ViewEvent
from terrazzo.wire.client import ServerEndpoint, public_key
from terrazzo.wire.client.limits import SERVER, Settings
from terrazzo.wire.ids import AppKind

LOGIN = ("login", 1)
CHEAP = Cost(log_n=1, r=1, p=1)
"""Passwords are hashed, but at almost no cost."""
STORE_S = 0.005
SEAT_STEP_S = 0.05
WAKE_S = 0.001
"""The least time until a timer: the clocks of processes differ, so a shorter time could be before now."""

OnStart = Callable[[Process, App], None]


def place_of(address: tuple[str, int]) -> str:
    """The name of an address on the simulated network."""
    return f"{address[0]}:{address[1]}"


class Door:
    """Where clients reach a process."""

    def __init__(self, world: World, address: tuple[str, int]) -> None:
        self.place = place_of(address)
        self._world = world
        self._process: Process | None = None
        self._endpoint: ServerEndpoint | None = None
        self._wake_at = float("inf")
        world.network.receive_datagrams(self.place, self._on_datagram)

    def open(self, process: Process, private_key: bytes, settings: Settings = SERVER) -> ServerEndpoint:
        """Makes the endpoint of a new incarnation."""
        entropy = self._world.rng(f"door {self.place} {process.id.incarnation}").randbytes
        self._process = process
        self._endpoint = ServerEndpoint(private_key, entropy=entropy, settings=settings)
        process.after_step = self.poll
        return self._endpoint

    def poll(self) -> None:
        """Sends the packets that are due, and schedules the next timer."""
        process, endpoint = self._process, self._endpoint
        if process is None or endpoint is None or process.app is None:
            return
        for address, data in endpoint.poll(process.now):
            self._world.network.send_datagram(self.place, str(address), data)
        due = endpoint.next_timeout()
        if due is not None:
            at = max(due - process.offset_s, self._world.clock.now + WAKE_S)
            if at < self._wake_at or self._wake_at <= self._world.clock.now:
                self._wake_at = at
                self._world.clock.at(at, self.poll)

    def _on_datagram(self, source: str, data: bytes) -> None:
        if self._process is not None and self._process.app is not None and self._endpoint is not None:
            self._endpoint.on_datagram(source, data, self._process.now)
            self._process.turn_soon()
            self.poll()


class Seat:
    """A client program and its address."""

    def __init__(self, cluster: Cluster, address: str, app: ClientApp) -> None:
        self.app = app
        self.address = address
        self.on_step: Callable[[float], None] | None = None
        """The player's actions, called before each tick of the client."""
        self.on_heard: Callable[[], None] | None = None
        """Called after each packet that has come."""
        self.is_unplugged = False
        self._cut_until = 0.0
        self._cluster = cluster
        self._world = cluster.world
        self._world.network.receive_datagrams(address, self._on_datagram)
        self._world.clock.after(0.0, self._step)

    def unplug(self) -> None:
        """Ends the program at once: it sends nothing any more, not even its end."""
        self.is_unplugged = True

    def cut(self, seconds: float) -> None:
        """No datagram passes, in either direction, for so long."""
        self._cut_until = self._world.clock.now + seconds

    def move(self, address: str) -> None:
        """The program has another address from now on."""
        self.address = address
        self._world.network.receive_datagrams(address, self._on_datagram)

    @property
    def _is_cut(self) -> bool:
        return self._world.clock.now < self._cut_until

    def _on_datagram(self, source: str, data: bytes) -> None:
        if not self.is_unplugged and not self._is_cut:
            self.app.on_datagram(data, self._world.clock.now)
            if self.on_heard is not None:
                self.on_heard()

    def flush(self) -> None:
        """What the program has to send leaves now."""
        for address, data in self.app.poll(self._world.clock.now):
            if self._is_cut:
                continue
            self._cluster.connect(self.address, address)
            self._world.network.send_datagram(self.address, place_of(address), data)

    def _step(self) -> None:
        if self.is_unplugged:
            return
        now, was_over = self._world.clock.now, self.app.is_over
        if self.on_step is not None:
            self.on_step(now)
        self.app.tick(now)
        self.flush()
        if self.app.addresses or not was_over:
            self._world.clock.after(SEAT_STEP_S, self._step)


def busy(rng: Random, most_s: float) -> Callable[[], float]:
    """The processor time that a CellApp has used. It grows by up to `most_s` from one reading to the next; where that
    is the length of a tick, clients are throttled (`cell/client/scheduler.py`)."""
    used_s = 0.0

    def cpu_s() -> float:
        nonlocal used_s
        used_s += rng.uniform(0.0, most_s) if most_s else 0.0
        return used_s

    return cpu_s


class Cluster:
    """All apps of a game, started. The spaces are divided among `cells` CellApps; the `spares`, which join last, have
    no cell until `manager.add_cell` gives them one. `busy_s`: see `busy`; `silence_s`: how long a client may be
    silent."""

    def __init__(
        self,
        world: World,
        game: LoadedGame,
        *,
        cells: int,
        bases: int,
        spares: int = 0,
        tick_s: float = 0.1,
        offload_margin_m: float = 3.0,
        client_bits_s: float = CLIENT_BITS_S,
        busy_s: float = 0.0,
        silence_s: float | None = None,
        players_max: int = 1_000_000,
        queue: QueueLimits | None = None,
        on_start: OnStart | None = None,
    ) -> None:
        self.world = world
        self.game = game
        self.database = MemoryDatabase()
        self.conditions = world.datagrams()
        self._client_game = ClientGame.of(game)
        self._private_key = world.rng("cluster key").randbytes(32)
        self._tick_s = tick_s
        self._settings = SERVER if silence_s is None else replace(SERVER, silence_s=silence_s)
        self._on_start = on_start
        self._login_limits = LoginLimits(queue=queue or QueueLimits())
        self._seats = 0
        self._known_paths: set[tuple[str, tuple[str, int]]] = set()
        add = self._add
        self.db = add(AppKind.DB_APP, 0, self._make_db)
        self.base_mgr = add(AppKind.BASE_APP_MGR, 0, lambda p: BaseAppMgr(p.id, p, players_max=players_max))
        self.cell_mgr = add(AppKind.CELL_APP_MGR, 0, lambda p: CellAppMgr(p.id, p, game.policy.spaces, cells))

        def make_cell(process: Process) -> App:
            return CellApp(
                process.id,
                process,
                game,
                offload_margin_m=offload_margin_m,
                tick_s=tick_s,
                client_bits_s=client_bits_s,
                cpu_s=busy(world.rng(f"busy {process.name} {process.id.incarnation}"), busy_s),
            )

        self.cells = [add(AppKind.CELL_APP, n, make_cell) for n in range(1, cells + spares + 1)]
        self.bases = [self._add_base(n) for n in range(1, bases + 1)]
        self.login = self._add_login()

    @property
    def manager(self) -> CellAppMgr:
        """CellAppMgr: adds and retires cells, moves borders."""
        assert isinstance(self.cell_mgr.app, CellAppMgr), "CellAppMgr does not run"
        return self.cell_mgr.app

    @property
    def cell_apps(self) -> list[CellApp]:
        """The CellApps that run now."""
        return [process.app for process in self.cells if isinstance(process.app, CellApp)]

    @property
    def base_apps(self) -> list[BaseApp]:
        """The BaseApps that run now."""
        return [process.app for process in self.bases if isinstance(process.app, BaseApp)]

    def client(
        self,
        name: str,
        password: str,
        *,
        listener: Callable[[ViewEvent], None] | None = None,
        may_wait: bool = False,
    ) -> Seat:
        """A client program that begins to log in now, from an address of its own."""
        self._seats += 1
        address = f"{name}@{self._seats}"
        app = ClientApp(
            self._client_game,
            login=LOGIN,
            server_key=public_key(self._private_key),
            name=name,
            password=password,
            entropy=self.world.rng(f"client {address}").randbytes,
            now=self.world.clock.now,
            log=partial(self.world.trace.add, address),
            listener=listener,
            may_wait=may_wait,
        )
        return Seat(self, address, app)

    def connect(self, address: str, door: tuple[str, int]) -> None:
        """Sets the conditions of the path between a client and a door, with the first packet."""
        if (address, door) not in self._known_paths:
            self._known_paths.add((address, door))
            path = self.world.network.path(address, place_of(door))
            path.latency_s, path.jitter_s, path.loss, path.duplication = self.conditions

    def calm(self) -> None:
        """From now on no datagram of a client is lost or doubled."""
        latency_s, jitter_s, *_ = self.conditions
        self.conditions = (latency_s, jitter_s, 0.0, 0.0)
        for address, door in self._known_paths:
            path = self.world.network.path(address, place_of(door))
            path.loss = path.duplication = 0.0

    # The processes.

    def _add(self, kind: AppKind, index: int, make: Callable[[Process], App]) -> Process:
        def factory(process: Process) -> App:
            app = make(process)
            if self._on_start is not None:
                self._on_start(process, app)
            return app

        return self.world.add(kind, index, factory, tick_s=self._tick_s)

    def _make_db(self, process: Process) -> App:
        game, hasher = self.game, Hasher(self.world.rng(f"passwords {process.id.incarnation}").randbytes, CHEAP)

        def work(lane: StoreLane) -> None:
            store.work(lane)
            process.turn_soon()

        store = StoreQueue(self.database, hasher, lambda lane: self.world.clock.after(STORE_S, work, lane))
        return DBApp(
            process.id,
            process,
            schema=game.schema,
            player_type_id=game.player.type_id,
            allow_new_players=game.policy.allow_new_players,
            store=store,
        )

    def _add_base(self, index: int) -> Process:
        address = BaseAddress(f"base-{index}", 2, 3)
        door = Door(self.world, (address.host, address.udp_port))
        entropy = self.world.rng(f"keys of base {index}").randbytes

        def make(process: Process) -> App:
            endpoint = door.open(process, self._private_key, self._settings)
            return BaseApp(process.id, process, self.game, [endpoint], entropy=entropy, address=address)

        return self._add(AppKind.BASE_APP, index, make)

    def _add_login(self) -> Process:
        door = Door(self.world, LOGIN)

        def make(process: Process) -> App:
            endpoint = door.open(process, self._private_key)
            return LoginApp(
                process.id, process, endpoint=endpoint, digest=digest(self.game.schema), limits=self._login_limits
            )

        return self._add(AppKind.LOGIN_APP, 0, make)
