"""Runs one seed, and explains a seed that failed.

    world ◀─ scenario (sizes from the seed) ◀─ faults (from the seed)
    run to the end of the faults ─▶ quiesce ─▶ run until at rest, at most REST_S ─▶ outcome

Each purpose has a random stream of its own, so leaving out a fault does not change the others: a failing run can be
shrunk by leaving faults out, and `explain` does so within a small number of runs.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace

from terrazzo.sim.coverage import all_paths, counted
from terrazzo.sim.faults import Fault
from terrazzo.sim.limits import narrowed
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.trace import Keep
from terrazzo.sim.validation import Validation
from terrazzo.sim.world import FaultLevel, World

REST_S = 60.0
"""The longest time that any run may take to come to rest. A scenario may have shorter bounds of its own
(`liveness.py`)."""
REST_STEP_S = 0.5
SHRINK_RUNS = 60


@dataclass(frozen=True)
class Order:
    """What to run: everything that a repeated run needs."""

    scenario: str
    seed: int
    level: FaultLevel = FaultLevel.HARSH
    duration_s: float | None = None
    mutation: str | None = None
    without: frozenset[int] = frozenset()

    def command(self) -> str:
        """The one command that repeats it."""
        words = ["terrazzo sim", self.scenario, f"--seed {self.seed} --seeds 1 --faults {self.level.value}"]
        if self.duration_s is not None:
            words.append(f"--duration {self.duration_s:g}")
        if self.mutation is not None:
            words.append(f"--mutation {self.mutation}")
        return " ".join(words)


@dataclass(frozen=True)
class Failure:
    """The promise that broke, how, and the entities concerned."""

    promise: str
    what: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of one run."""

    order: Order
    events: int
    virtual_s: float
    digest: str
    failure: Failure | None = None
    faults: list[str] = field(default_factory=list)
    timeline: list[str] = field(default_factory=list)
    paths: dict[str, dict[str, int]] = field(default_factory=dict)
    """By state machine and transition; empty where nothing was counted (`coverage.py`)."""


def run_counted(order: Order) -> Outcome:
    """One run, with how often each transition of a state machine was taken."""
    paths = all_paths()
    with counted(paths):
        return replace(run(order), paths=paths.plain())


def run(order: Order, keep: Keep = Keep.OFF) -> Outcome:
    """One run, from beginning to rest."""
    world = World(order.seed, order.level, keep)
    failure = None
    faults: list[Fault] = []
    try:
        with narrowed(world.rng("limits"), has_gaps=order.scenario in ("seamless", "sync")):
            _play(order, world, faults)
    except Broken as broken:
        failure = Failure(broken.promise, broken.what, broken.about)
    except Exception as error:
        # A broken invariant of the code under test is a failure of the run, not of the runner.
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = Failure("invariant", f"{error!r} in {where.name}, line {where.lineno}")
    return Outcome(
        order,
        events=world.clock.events,
        virtual_s=round(world.clock.now, 6),
        digest=world.trace.digest(),
        failure=failure,
        faults=[str(fault) for fault in faults],
        timeline=world.trace.timeline(failure.about) if failure is not None else [],
    )


def _play(order: Order, world: World, faults: list[Fault]) -> None:
    """Plays a world to its end; raises Broken."""
    validation = Validation()
    if mutation_of(order.mutation).is_validated:
        world.after_tick = validation.after_tick
    scenario = build_scenario(order.scenario, world, order.mutation)
    duration_s = order.duration_s if order.duration_s is not None else scenario.duration_s
    drawn = scenario.plan.draw(world.rng, order.level, duration_s)
    faults += [fault for number, fault in enumerate(drawn) if number not in order.without]
    for fault in faults:
        world.clock.at(fault.at, fault.apply, world)
    world.peace_at = max([duration_s, *(fault.at + fault.duration_s for fault in faults)])
    world.clock.run_until(duration_s)
    scenario.quiesce()
    deadline = world.peace_at + REST_S
    while (unrest := scenario.unrest()) is not None:
        if world.clock.now >= deadline:
            what = f"not at rest after {REST_S:g} s of peace: {unrest.what}"
            raise Broken("liveness", what, *unrest.about)
        world.clock.run_until(world.clock.now + REST_STEP_S)
    if world.after_tick is not None:
        validation.at_rest((each.id, each.app) for each in world.processes.values() if each.app is not None)


def shrink(order: Order) -> Order:
    """Leaves out faults, by halves and then one by one, as long as the same promise still breaks."""
    first = run(order)
    if first.failure is None:
        return order
    promise = first.failure.promise
    left = list(range(len(first.faults)))
    without: frozenset[int] = frozenset()
    size, runs = max(1, len(left) // 2), 0
    while left and runs < SHRINK_RUNS:
        shrunk = False
        for start in range(0, len(left), size):
            if runs >= SHRINK_RUNS:
                break
            attempt = without | frozenset(left[start : start + size])
            runs += 1
            outcome = run(_without(order, attempt))
            if outcome.failure is not None and outcome.failure.promise == promise:
                without, shrunk = attempt, True
        left = [number for number in left if number not in without]
        if size == 1 and not shrunk:
            break
        size = max(1, size // 2)
    return _without(order, without)


def explain(order: Order) -> str:
    """A report to read: the command, the broken promise, the faults that matter, and the timeline."""
    smaller = shrink(order)
    outcome = run(smaller, Keep.ALL)
    failure = outcome.failure
    if failure is None:
        return f"{order.command()}\n  held"
    lines = [f"{order.command()}", f"  {failure.promise}: {failure.what}"]
    lines += ["  faults that are enough for it:", *(f"    {fault}" for fault in outcome.faults or ["(none)"])]
    lines += [f"  timeline of {', '.join(failure.about) or 'everything'} (with those faults only):"]
    return "\n".join([*lines, *(f"    {line}" for line in outcome.timeline)])


def _without(order: Order, without: frozenset[int]) -> Order:
    return Order(order.scenario, order.seed, order.level, order.duration_s, order.mutation, without)
