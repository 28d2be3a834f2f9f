"""A world: the processes of one run, on one clock and one network.

A `Process` is a slot of the launcher: it has a name and, while it runs, one incarnation of its app with its `Links`. It
is the `Host` of the app, the `Transport` of the links, and an `Endpoint` of the network. Its clock differs from the
others by an amount of its own.

A message to a process, and a packet at its door, ask for a turn, if its app takes turns (`cluster.app`): the turn comes
`turn_s` after the last one, or at once. In hostile worlds each process draws its own `turn_s`.

    paused    it receives nothing and has no ticks; afterwards it receives everything that came meanwhile, in order
    crashed   the app and all its state are gone; its peers get the loss of their links, or (silently) do not
    started   again, with the next incarnation; an app that is fenced is ended and started again so, too
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import inf
from random import Random
from typing import Any

from terrazzo.cluster.app import TURN_S, App, ProcessLoad
from terrazzo.cluster.connection import LinkLimits
from terrazzo.cluster.links import Links
from terrazzo.sim.clock import Clock
from terrazzo.sim.network import Network
from terrazzo.sim.storage import Disk
from terrazzo.sim.trace import Keep, Trace
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.log_events import EventName

TURNS_S = (0.0, TURN_S, TURN_S, 0.02, 0.1)
"""The pace of turns in hostile worlds."""


class FaultLevel(Enum):
    """How hostile a world is."""

    NONE = "none"
    MILD = "mild"
    HARSH = "harsh"


Factory = Callable[["Process"], App]


class Process:
    """One slot in which incarnations of an app run."""

    def __init__(
        self,
        world: World,
        kind: AppKind,
        index: int,
        factory: Factory,
        *,
        tick_s: float,
        limits: LinkLimits,
        links_type: type[Links],
    ) -> None:
        self.name = f"{kind.name.lower()}-{index}"
        self.id = AppId(kind, index, 0)
        self.rng = world.rng(f"process {self.name}")
        self.offset_s = self.rng.uniform(0.0, 100.0)
        self.app: App | None = None
        self.restart_s = 1.0
        self.after_step: Callable[[], None] | None = None
        """Called after each tick, turn and received frame; for drivers of more than links, and for oracles."""
        self.turn_s = TURN_S if world.level is FaultLevel.NONE else world.rng(f"turns {self.name}").choice(TURNS_S)
        self._world = world
        self._factory = factory
        self._tick_s = tick_s
        self._limits = limits
        self._links_type = links_type
        self._links: Links | None = None
        self._joins: list[AppId] = []
        self._pauses = 0
        self._turned_at = -inf
        self._has_turn = False
        """Whether a turn is scheduled."""
        self._missed: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        world.network.listen(self.name, lambda: self if self.app is not None else None)

    def process_load(self) -> ProcessLoad:
        """See Host. A simulated process uses no measurable time."""
        return ProcessLoad(None)

    # The launcher's side.

    def start(self) -> None:
        """Runs the next incarnation."""
        if self.app is not None:
            return
        self.id = self.id._replace(incarnation=self.id.incarnation + 1)
        self._world.trace.add(self.name, "started", id=self.id)
        self.app = self._factory(self)
        self._links = self._links_type(self.id, self.app, self, self, limits=self._limits)
        joins, self._joins = self._joins, []
        for peer in joins:
            self._links.join(peer)
        self._has_turn = False
        self._world.clock.after(self._tick_s * self.rng.random(), self._tick, self.id)

    def crash(self, *, silently: bool) -> None:
        """Ends the incarnation, with all its state."""
        if self.app is None:
            return
        self._world.trace.add(self.name, "crashed", id=self.id)
        self.app = self._links = None
        self._missed.clear()
        self._world.network.end_all(self.name, silently=silently)
        if self.name in self._world.disks:
            self._world.disks[self.name].owner_crashed()

    def pause(self, seconds: float) -> None:
        """Holds the process for a while."""
        self._pauses += 1
        self._world.trace.add(self.name, "paused", seconds=round(seconds, 3))
        self._world.clock.after(seconds, self._resume)

    def _resume(self) -> None:
        self._pauses -= 1
        if self._pauses == 0:
            self._world.trace.add(self.name, "woke")
            missed, self._missed = self._missed, []
            for act, args in missed:
                act(*args)

    def _tick(self, id: AppId) -> None:
        if self._defer(self._tick, id) or id != self.id or self._links is None:
            return
        self._links.on_tick()
        self._stepped()
        if self._world.after_tick is not None and self.app is not None:
            self._world.after_tick(self.id, self.app)
        if not self._end_if_fenced():
            self._world.clock.after(self._tick_s, self._tick, id)

    def turn_soon(self) -> None:
        """Something has come for the app: it gets a turn."""
        if not self._has_turn and self._links is not None and self._links.takes_turns:
            self._has_turn = True
            self._world.clock.at(self._turned_at + self.turn_s, self._turn, self.id)

    def _turn(self, id: AppId) -> None:
        if id != self.id or self._links is None or self._defer(self._turn, id):
            return
        self._has_turn = False
        self._turned_at = self._world.clock.now
        self._links.on_turn()
        self._stepped()
        self._end_if_fenced()

    def _stepped(self) -> None:
        if self.after_step is not None:
            self.after_step()

    def _defer(self, act: Callable[..., None], *args: Any) -> bool:
        if self._pauses:
            self._missed.append((act, args))
        return self._pauses > 0

    def _end_if_fenced(self) -> bool:
        if self._links is None or not self._links.fenced:
            return False
        self._world.trace.add(self.name, "fenced", id=self.id)
        self.crash(silently=False)
        self._world.clock.after(self.restart_s, self.start)
        return True

    # Host: called by the app.

    @property
    def now(self) -> float:
        """The time on this machine's clock."""
        return self._world.clock.now + self.offset_s

    def log(self, event: EventName, /, **facts: object) -> None:
        """Writes into the trace, and calls the listener of the world."""
        self._world.trace.add(self.name, event, **facts)
        if self._world.on_log is not None:
            self._world.on_log(self.name, event, facts)

    def fence(self, app: AppId) -> None:
        """See Host."""
        assert self._links is not None
        self._links.fence(app)

    def join(self, peer: AppId) -> None:
        """See Host. An app may ask for it while it is being made, before there are links."""
        if self._links is None:
            self._joins.append(peer)
        else:
            self._links.join(peer)

    # Transport: called by the links.

    def dial(self, peer: AppId) -> int:
        """Begins a connection to the process in the peer's slot."""
        return self._world.network.dial(self.name, f"{peer.kind.name.lower()}-{peer.index}")

    def write(self, connection: int, data: bytes) -> None:
        """See Transport."""
        self._world.network.write(connection, data)

    def close(self, connection: int) -> None:
        """See Transport."""
        self._world.network.close(connection)

    # Endpoint: called by the network.

    def on_accepted(self, number: int) -> None:
        """See Endpoint."""
        if not self._defer(self.on_accepted, number) and self._links is not None:
            self._links.on_accepted(number)

    def on_opened(self, number: int) -> None:
        """See Endpoint."""
        if not self._defer(self.on_opened, number) and self._links is not None:
            self._links.on_opened(number)

    def on_closed(self, number: int) -> None:
        """See Endpoint."""
        if not self._defer(self.on_closed, number) and self._links is not None:
            self._links.on_closed(number)
            self.turn_soon()

    def on_data(self, number: int, data: bytes) -> None:
        """See Endpoint."""
        if not self._defer(self.on_data, number, data) and self._links is not None:
            self._links.on_data(number, data)
            self._stepped()
            if not self._end_if_fenced():
                self.turn_soon()


class World:
    """The processes, the network, the clock and the random streams of one run."""

    def __init__(self, seed: int, level: FaultLevel = FaultLevel.NONE, keep: Keep = Keep.OFF) -> None:
        self.seed = seed
        self.level = level
        self.clock = Clock()
        self.trace = Trace(self.clock, keep)
        self.network = Network(self.clock, self.rng("network"))
        self.processes: dict[str, Process] = {}
        self.disks: dict[str, Disk] = {}
        self.peace_at = 0.0
        """When the last fault of the run is over."""
        self.on_log: Callable[[str, EventName, dict[str, object]], None] | None = None
        """Called with what the processes log: where, what, and the facts."""
        self.after_tick: Callable[[AppId, App], None] | None = None
        """Called after each tick of each app (`validation.py`)."""

    def rng(self, name: str) -> Random:
        """A stream of randomness of its own for each purpose, so that one does not disturb another."""
        return Random(f"{self.seed}/{name}")

    def disk(self, name: str) -> Disk:
        """The disk of the process of that name; the same one for all its incarnations."""
        if name not in self.disks:
            self.disks[name] = Disk(self.clock, self.rng(f"disk {name}"))
        return self.disks[name]

    def datagrams(self) -> tuple[float, float, float, float]:
        """Latency, jitter, loss and duplication for datagrams of clients, by the level of faults."""
        rng = self.rng("datagrams")
        latency_s, jitter_s = 10 ** rng.uniform(-3, -1), 10 ** rng.uniform(-3, -1)
        worst = {FaultLevel.NONE: 0.0, FaultLevel.MILD: 0.1, FaultLevel.HARSH: 1.0}[self.level]
        return latency_s, jitter_s, worst * rng.choice([0.1, 0.3, 0.3]), worst * rng.choice([0.0, 0.1, 0.3])

    def add(
        self,
        kind: AppKind,
        index: int,
        factory: Factory,
        *,
        tick_s: float,
        limits: LinkLimits | None = None,
        links_type: type[Links] = Links,
    ) -> Process:
        """A new process, started."""
        limits = limits or LinkLimits()
        process = Process(self, kind, index, factory, tick_s=tick_s, limits=limits, links_type=links_type)
        self.processes[process.name] = process
        process.start()
        return process
