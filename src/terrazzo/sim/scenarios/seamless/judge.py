"""The judge of the seamless scenario as the game's code uses it: it records the reports of entities and has their
random streams.

Entities have no randomness of their own, so that they act alike in every cell: each has a random stream and a gait
here. Their acts are recorded at the moment they happen: stories (`entity_story.py`), calls (`calls.py`), and what must
happen once (`once.py`).

A game's exception is confined to its entity. So a violation that the game's code finds is stored, and raised again
outside.
"""

from __future__ import annotations

from math import inf
from random import Random

from terrazzo import Ref
from terrazzo.cluster.app import App
from terrazzo.sim.oracle import Broken, check
from terrazzo.sim.scenarios.seamless.base_timers import BaseTimerJudge
from terrazzo.sim.scenarios.seamless.byte_budget import Budgets
from terrazzo.sim.scenarios.seamless.call_rates import Rates
from terrazzo.sim.scenarios.seamless.calls import Ledger
from terrazzo.sim.scenarios.seamless.changes_in_hooks import ChangesInHooks
from terrazzo.sim.scenarios.seamless.controller_arrivals import ControllerArrivals
from terrazzo.sim.scenarios.seamless.darts import Darts
from terrazzo.sim.scenarios.seamless.entity_story import Story
from terrazzo.sim.scenarios.seamless.entity_types import schema
from terrazzo.sim.scenarios.seamless.history_gaps import Gaps
from terrazzo.sim.scenarios.seamless.kept_proxies import Clients
from terrazzo.sim.scenarios.seamless.latency import Latency
from terrazzo.sim.scenarios.seamless.migration_hooks import MigrationHooks
from terrazzo.sim.scenarios.seamless.once import Area, Once
from terrazzo.sim.scenarios.seamless.riding_and_visibility import RidingAndVisibility
from terrazzo.sim.scenarios.seamless.saves import Saves
from terrazzo.sim.scenarios.seamless.shape import Shape
from terrazzo.sim.scenarios.seamless.speed_limit import SpeedLimit
from terrazzo.sim.scenarios.seamless.timers import TimerJudge
from terrazzo.sim.scenarios.seamless.walking import Gait, Ground
from terrazzo.sim.world import World
from terrazzo.wire.log_events import EventName, LogEvent

Place = tuple[str, tuple[float, float, float]]

UNWANTED = (
    LogEvent.STEP_MALFORMED,
    LogEvent.GHOST_MALFORMED,
    LogEvent.OFFLOAD_MALFORMED,
    LogEvent.TREE_MALFORMED,
    LogEvent.CALL_REFUSED,
    LogEvent.MAIL_REFUSED,
    LogEvent.CLIENT_MESSAGE_BAD,
    LogEvent.CLIENT_SENT_AWAY,
)
"""Reports of an app that are a failure in every world."""
UNWANTED_IN_PEACE = (
    LogEvent.HELD_STEPS_GIVEN_UP,
    LogEvent.BASE_NOT_SENT,
    LogEvent.CHANNEL_FULL,
)
"""Reports of an app that are a failure in worlds without faults."""


def late_s_of(shape: Shape) -> float:
    """The most seconds by which a timer may be late."""
    return inf if not shape.is_peaceful else 1.0 if shape.is_swift else 5.0


class Judge:
    """The records of one world."""

    def __init__(self, world: World, ground: Ground, shape: Shape) -> None:
        self.is_working = True
        self.world = world
        self.ground = ground
        self.shape = shape
        self.stories: dict[int, list[Story]] = {}
        """By entity, one for each life of its cell part."""
        self.refs: dict[int, Ref] = {}
        """The refs of all living cell parts, for calls of any entity."""
        self.bases_over: set[int] = set()
        self.doomed: set[tuple[int, int]] = set()
        """Cell parts that the game destroyed, by entity and life."""
        self.answers: dict[int, int] = {}
        """How often a base part has called its client."""
        self.latency = Latency(lambda: world.clock.now, shape)
        self.calls = Ledger(lambda: world.clock.now, self, self.latency.most_s)
        self.once = Once(lambda: world.clock.now, self._cell_life, late_s=late_s_of(shape))
        self.riding_and_visibility = RidingAndVisibility(world, self._cell_life)
        self.migration_hooks = MigrationHooks()
        self.gaps = Gaps()
        self.changes_in_hooks = ChangesInHooks(world)
        self.stirred_at = 0.0
        """The last time that a cell part began or ended."""
        self.saves: Saves
        """Set when the cluster is made, which is after its judge."""
        self.timers = TimerJudge(world, self._cell_life)
        self.base_timers = BaseTimerJudge(world)
        self.darts = Darts(world)
        self.controller_arrivals = ControllerArrivals(world, self.story)
        self.budgets = Budgets(lambda: world.clock.now, shape.client_bits_s)
        self.speed_limit = SpeedLimit(lambda: world.clock.now, self._is_carried)
        self.clients = Clients(world, self._cell_life, self.bases_over, shape)
        self.rates = Rates(world, self._cell_life, self.is_over)
        self.radii: dict[int, float] = {}
        """The radius that a client's entity has set."""
        self.looked: dict[int, float] = {}
        """The time at which it did so last."""
        self.left: dict[int, str] = {}
        """The space of an entity when it was last about to leave a cell, or had jumped."""
        self.triggers: dict[int, int] = {}
        """The number of the proximity trigger that an entity has set."""
        self.failed = 0
        """The number of cell parts that could not be made."""
        self._spoken: dict[tuple[int, int, str], int] = {}
        self._rngs: dict[int, Random] = {}
        self._gaits: dict[int, Gait] = {}
        self._trod: dict[int, list[tuple[float, float]]] = {}
        self._unique = 1000
        self._broken: Broken | None = None
        self._unwanted = UNWANTED + (UNWANTED_IN_PEACE if shape.is_peaceful else ())
        world.on_log = self._on_log

    def watch(self, app: App) -> None:
        """Called when a process has started: the judges of apps begin to watch it."""
        self.clients.watch(app)
        self.timers.watch(app)
        self.base_timers.watch(app)
        self.budgets.watch(app)
        self.rates.watch(app)

    # Lives.

    def story(self, entity: int) -> Story | None:
        """The latest life."""
        stories = self.stories.get(entity)
        return stories[-1] if stories else None

    def life(self, side: str, entity: int) -> int:
        """See Lives."""
        return self._cell_life(entity) if side == "cell" else 0

    def _cell_life(self, entity: int) -> int:
        story = self.story(entity)
        return -1 if story is None else story.life

    def was_away(self, side: str, entity: int, since: float) -> bool:
        """See Lives."""
        if side != "cell":
            return entity in self.bases_over
        story = self.story(entity)
        return story is None or story.is_over or story.places[0].since >= since

    def is_over(self, side: str, entity: int, life: int) -> bool:
        """See Lives."""
        if side != "cell":
            return entity in self.bases_over
        story = self.story(entity)
        return story is None or story.life > life or story.is_over

    def may_end(self, entity: int, life: int) -> bool:
        """Whether the game wants the end of a cell part."""
        return entity in self.bases_over or (entity, life) in self.doomed

    def someone(self, rng: Random, but: int) -> Ref | None:
        """The cell part of any other entity."""
        ids = [each for each in self.refs if each != but]
        return self.refs[rng.choice(ids)] if ids else None

    # Called by entities: random streams.

    def rng(self, entity: int) -> Random:
        """The entity's own stream."""
        if entity not in self._rngs:
            self._rngs[entity] = self.world.rng(f"entity {entity}")
        return self._rngs[entity]

    def gait(self, entity: int) -> Gait:
        """The gait of the entity."""
        if entity not in self._gaits:
            self._gaits[entity] = Gait(self.ground, self.rng(entity))
        return self._gaits[entity]

    def entry(self, entity: int) -> Place:
        """A place for a new entity, or for a jump."""
        return self.ground.entry(self.rng(entity))

    def unique(self) -> int:
        """A number that no value has had yet."""
        self._unique += 1
        return self._unique

    # Called by entities: reports.

    def speak(self, entity: int, method: str, *, own: bool, others: bool) -> int:
        """A client method is about to be called; returns the number to call it with."""
        story = self.story(entity)
        assert story is not None, f"entity {entity} speaks and has no story"
        key = (entity, story.life, method)
        number = self._spoken[key] = self._spoken.get(key, 0) + 1
        for track, is_meant in ((story.own, own), (story.others, others)):
            if is_meant:
                track.call(method, number)
        return number

    def check(self, broken: Broken | None) -> None:
        """Raises a violation from inside game code, and stores it."""
        if broken is not None:
            self._broken = self._broken or broken
            raise broken

    def tread(self, entity: int, x: float, z: float) -> None:
        """The entity walks there, and may move on before the step is closed."""
        self._trod.setdefault(entity, []).append((x, z))

    def trod(self, entity: int) -> list[tuple[float, float]]:
        """All places where the entity has been."""
        stays = (stay.position for story in self.stories.get(entity, ()) for stay in story.places)
        return [*self._trod.get(entity, ()), *((x, z) for x, _, z in stays)]

    def _is_carried(self, entity: int, since: float) -> bool:
        return self.once.is_jumping(entity) or self.riding_and_visibility.was_upset(entity, since)

    def look(self, entity: int, radius: float) -> None:
        """A client's entity has a new radius."""
        self.radii[entity] = radius
        self.looked[entity] = self.world.clock.now

    def forget_client(self, entity: int) -> None:
        """The client of an entity is gone, and with it its area of interest and all decisions about it."""
        self.radii.pop(entity, None)
        self.once.inside.pop(Area(entity, self._cell_life(entity), 0), None)
        self.riding_and_visibility.forget_client(entity)

    def appeal(self, type_name: str) -> float:
        """How much farther than others entities of a type are seen."""
        return schema()[type_name].appeal_radius

    def answer(self, entity: int) -> int:
        """The number of the next call from a base part to its own client."""
        number = self.answers[entity] = self.answers.get(entity, 0) + 1
        return number

    def _on_log(self, where: str, event: EventName, facts: dict[str, object]) -> None:
        if event == LogEvent.GAME_ERROR:
            raise self._broken or Broken("invariant", f"game code failed: {facts}", where)
        is_fine = event not in self._unwanted or self.rates.is_due(event, facts) or self.clients.is_due(event, facts)
        check(is_fine, "invariant", f"{where}: {event} {facts}", where, facts.get("entity", ""))
