"""Faults: a list of things that go wrong, drawn from the seed before the run begins.

A fault is a plain record with a time, so that a failing run can be repeated with some of them left out: the shrunken
list in a report is what remains when leaving out any more would make the failure go away.

    BREAK      the connections between a and b break                LAG      they take `amount` seconds longer
    CLOG       nothing passes between a and b                       NARROW   they carry 1/`amount` of their capacity
    PARTITION  `group` and `others` do not reach each other         PAUSE    a does nothing
    CRASH      a ends, and is started again after `duration`        POWER    the same, and no peer gets a loss
    SLOW_DISK  a's disk takes `amount` times as long                BAD_DISK a's disk refuses everything
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random

from terrazzo.sim.world import FaultLevel, World


class FaultKind(Enum):
    """What goes wrong."""

    BREAK = "break"
    LAG = "lag"
    CLOG = "clog"
    NARROW = "narrow"
    PARTITION = "partition"
    PAUSE = "pause"
    CRASH = "crash"
    POWER = "power"
    SLOW_DISK = "slow disk"
    BAD_DISK = "bad disk"


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong."""

    at: float
    kind: FaultKind
    a: str
    b: str = ""
    duration_s: float = 0.0
    amount: float = 0.0
    group: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """The places that the group does not reach; if none is given, all outside the group."""
    is_one_way: bool = False
    """Only the direction from a to b is affected."""

    def __str__(self) -> str:
        words = [f"{self.at:.3f}s", self.kind.value, *(self.group or (self.a, self.b))]
        if self.is_one_way:
            words.append("one way")
        if self.others:
            words += ["from", *self.others]
        if self.duration_s:
            words.append(f"for {self.duration_s:.3f}s")
        if self.amount:
            words.append(f"by {self.amount:.3g}")
        return " ".join(word for word in words if word)

    def apply(self, world: World) -> None:
        """Begins the fault; one with a duration ends by itself."""
        world.trace.add("fault", self.kind.value, a=self.a, b=self.b, seconds=round(self.duration_s, 3))
        _APPLY[self.kind](self, world)


def _break(fault: Fault, world: World) -> None:
    world.network.break_between(fault.a, fault.b)


def _lag(fault: Fault, world: World) -> None:
    path = world.network.path(fault.a, fault.b)

    def add(seconds: float) -> None:
        if fault.is_one_way:
            path.lags_to[fault.b] = path.lags_to.get(fault.b, 0.0) + seconds
        else:
            path.latency_s += seconds

    add(fault.amount)
    world.clock.after(fault.duration_s, add, -fault.amount)


def _narrow(fault: Fault, world: World) -> None:
    path = world.network.path(fault.a, fault.b)
    path.bytes_per_s /= fault.amount

    def end() -> None:
        path.bytes_per_s *= fault.amount
        world.network.widen(path)

    world.clock.after(fault.duration_s, end)


def _clog(fault: Fault, world: World) -> None:
    path = world.network.path(fault.a, fault.b)

    def add(count: int) -> None:
        if fault.is_one_way:
            path.clogs_to[fault.b] = path.clogs_to.get(fault.b, 0) + count
        else:
            path.clogs += count
        world.network.reconsider()

    add(1)
    world.clock.after(fault.duration_s, add, -1)


def _partition(fault: Fault, world: World) -> None:
    outside = fault.others or [name for name in world.processes if name not in fault.group]
    paths = [world.network.path(a, b) for a in fault.group for b in outside]
    for path in paths:
        path.shut += 1

    def end() -> None:
        for path in paths:
            path.shut -= 1
        world.network.reconsider()

    world.clock.after(fault.duration_s, end)


def _pause(fault: Fault, world: World) -> None:
    world.processes[fault.a].pause(fault.duration_s)


def _crash(fault: Fault, world: World) -> None:
    process = world.processes[fault.a]
    process.crash(silently=fault.kind is FaultKind.POWER)
    world.clock.after(fault.duration_s, process.start)


def _slow_disk(fault: Fault, world: World) -> None:
    disk = world.disk(fault.a)
    disk.slowness *= fault.amount

    def end() -> None:
        disk.slowness /= fault.amount

    world.clock.after(fault.duration_s, end)


def _bad_disk(fault: Fault, world: World) -> None:
    disk = world.disk(fault.a)
    disk.failures += 1

    def end() -> None:
        disk.failures -= 1

    world.clock.after(fault.duration_s, end)


_APPLY: dict[FaultKind, Callable[[Fault, World], None]] = {
    FaultKind.BREAK: _break,
    FaultKind.LAG: _lag,
    FaultKind.CLOG: _clog,
    FaultKind.NARROW: _narrow,
    FaultKind.PARTITION: _partition,
    FaultKind.PAUSE: _pause,
    FaultKind.CRASH: _crash,
    FaultKind.POWER: _crash,
    FaultKind.SLOW_DISK: _slow_disk,
    FaultKind.BAD_DISK: _bad_disk,
}

# How often each kind happens, relative to the others; and how long it lasts at most.
_WEIGHTS = {
    FaultKind.BREAK: (8, 0.0),
    FaultKind.LAG: (4, 2.0),
    FaultKind.CLOG: (4, 1.5),
    FaultKind.NARROW: (1, 2.0),
    FaultKind.PARTITION: (2, 2.0),
    FaultKind.PAUSE: (2, 2.0),
    FaultKind.CRASH: (1, 1.0),
    FaultKind.POWER: (1, 1.0),
    FaultKind.SLOW_DISK: (3, 3.0),
    FaultKind.BAD_DISK: (2, 2.0),
}
_PER_SECOND = {FaultLevel.NONE: 0.0, FaultLevel.MILD: 0.4, FaultLevel.HARSH: 2.5}
ONE_WAY = 0.3
"""The share of one-way faults, among those that can be one-way."""
_SCALE = {FaultLevel.NONE: 0.0, FaultLevel.MILD: 0.3, FaultLevel.HARSH: 1.0}


@dataclass
class FaultPlan:
    """The possible faults of a scenario: the places with links, the processes that may crash, the disks that may
    fail."""

    places: list[str]
    mortal: list[str] = field(default_factory=list)
    disks: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    """The pairs with faulty links; if none is given, any two of the places."""
    kinds: tuple[FaultKind, ...] = tuple(FaultKind)
    rate: float = 1.0
    """How many times as often as usual …"""
    stretch: float = 1.0
    """… and how many times as long."""
    begin_s: float = 0.0
    """No fault begins before this time."""
    name: str = "faults"
    """The name of the random stream that they are drawn from."""
    beside: list[FaultPlan] = field(default_factory=list)
    """Further plans, each drawn from a stream of its own."""

    def draw(self, stream: Callable[[str], Random], level: FaultLevel, duration_s: float) -> list[Fault]:
        """The faults of one run."""
        plans = [self, *self.beside]
        drawn = [fault for plan in plans for fault in plan._draw(stream(plan.name), level, duration_s)]
        return sorted(drawn, key=lambda fault: fault.at)

    def _draw(self, rng: Random, level: FaultLevel, duration_s: float) -> list[Fault]:
        """Each world has its own mix: some kinds are left out of it."""
        kinds = [kind for kind in _WEIGHTS if rng.random() < 0.7 and kind in self.kinds]
        if level is FaultLevel.MILD or not self.mortal:
            kinds = [kind for kind in kinds if kind not in (FaultKind.CRASH, FaultKind.POWER)]
        if not self.disks:
            kinds = [kind for kind in kinds if kind not in (FaultKind.SLOW_DISK, FaultKind.BAD_DISK)]
        count = int(duration_s * _PER_SECOND[level] * rng.uniform(0.3, 1.5) * self.rate)
        if not kinds or len(self.places) < 2:
            return []
        weights = [_WEIGHTS[kind][0] for kind in kinds]
        return [self._fault(rng, kind, level, duration_s) for kind in rng.choices(kinds, weights, k=count)]

    def _fault(self, rng: Random, kind: FaultKind, level: FaultLevel, duration_s: float) -> Fault:
        a, b = rng.choice(self.pairs) if self.pairs else rng.sample(self.places, 2)
        at = rng.uniform(min(self.begin_s, duration_s), duration_s)
        lasts = rng.random() ** 2 * _WEIGHTS[kind][1] * _SCALE[level] * self.stretch
        group: tuple[str, ...] = ()
        others: tuple[str, ...] = ()
        amount = 0.0
        if kind is FaultKind.LAG:
            amount = rng.uniform(0.01, 0.5)
        elif kind is FaultKind.NARROW:
            amount = 10.0 ** rng.uniform(2, 5)
        elif kind is FaultKind.PARTITION:
            group = tuple(rng.sample(self.places, rng.randrange(1, len(self.places))))
            others = tuple(each for each in self.places if each not in group) if self.pairs else ()
        elif kind in (FaultKind.CRASH, FaultKind.POWER):
            a, b = rng.choice(self.mortal), ""
        elif kind in (FaultKind.SLOW_DISK, FaultKind.BAD_DISK):
            a, b, amount = rng.choice(self.disks), "", rng.uniform(2.0, 100.0)
        elif kind is FaultKind.PAUSE:
            a, b = rng.choice(self.places) if self.pairs else a, ""
        is_one_way = rng.random() < ONE_WAY and kind in (FaultKind.LAG, FaultKind.CLOG)
        if rng.random() < 0.5 and is_one_way:
            a, b = b, a
        return Fault(at, kind, a, b, lasts, amount, group, others, is_one_way)
