"""Which entities are near which: the areas of clients, and the proximity triggers of the game.

An *interest* is a circle around a body in the arrays of its space (`_speed/area`). Once a tick, when all bodies have
moved, compiled code finds which bodies came inside and which left. Then, in this order:

    1 events     each witness and trigger takes the bodies that entered and left
    2 judgement  each open case is decided: a body that was replaced by another of the same entity has not left; one
                 that the game or a client has from the cell before may appear later (PATIENCE_S, and as long as it is
                 sought: `cell/ghosts/seeking.py`)
    3 hooks      on_entered_aoi, on_left_aoi, on_proximity_entered, on_proximity_left

Hooks run when everything is consistent, and may do anything: what they cause is for the next tick. A hook that an
entity's type does not override costs nothing.

Triggers migrate with their real, with the list of the entities inside, so that no entity enters twice. An entity that
is inside and has no body at the new home has until PATIENCE_S to appear, and longer while it is sought.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import hypot
from typing import Any, NamedTuple, Protocol

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.space import CellSpace
from terrazzo.cell.ghosts.seeking import Seeking
from terrazzo.wire.pairs.base_cell import Position
from terrazzo.wire.pairs.cell_cell import PackedProximity

PATIENCE_S = 2.0
ROUNDS_MAX = 8
"""Hooks that ask for hooks, of a body that is about to leave."""


class Watcher(Protocol):
    """What has an interest: a witness or a trigger."""

    def enter(self, other: Body) -> None:
        """A body came inside."""

    def leave(self, entity: int) -> None:
        """A body that was inside went outside, or is gone."""

    def judge(self, now: float) -> bool:
        """Decides the open cases; whether some are left."""


class Hook(NamedTuple):
    """Code of the game that is to run."""

    body: Body
    name: str
    args: tuple[Any, ...]
    trigger: Proximity | None


class Proximity:
    """A trigger: a circle around a real, for hooks of the game."""

    __slots__ = ("_interests", "_missing", "_real", "interest", "number", "radius")

    def __init__(self, interests: Interests, real: Real, number: int, radius: float) -> None:
        self.number = number
        self.radius = radius
        self.interest = -1
        self._interests = interests
        self._real = real
        self._missing: dict[int, float] = {}
        """Entities that are inside by the hooks that have run, but have no body here; and until when each is waited
        for."""

    def start(self, inside: Iterable[int], until: float) -> None:
        """Begins to watch; for those inside no hook runs."""
        bodies = self._real.body.space.bodies
        members = []
        for entity in inside:
            other = bodies.get(entity)
            if other is None:
                self._missing[entity] = until
            else:
                members.append(other.slot)
        self.interest = self._interests.watch(self, self._real.body, self.radius, 0.0, members)
        if self._missing:
            self._interests.judge_later(self)

    def absent(self) -> list[int]:
        """The entities inside that have no body here."""
        return list(self._missing)

    def take_leave(self, position: Position | None) -> None:
        """It is about to jump there; None: into another space. Entities that will not be inside leave now."""
        space = self._real.body.space
        stay: list[int] = []
        leave = list(self._missing)
        for slot in space.area.members(self.interest):
            entity, other = space.area.entity(slot), space.by_slot.get(slot)
            is_near = other is not None and position is not None and _is_within(other, position, self.radius)
            (stay if is_near else leave).append(entity)
        for entity in leave:
            self._interests.call(self._real.body, "on_proximity_left", self.number, entity, trigger=self)
        self._missing = {}
        self._interests.unwatch(self, space, self.interest)
        self.start(stay, 0.0)

    def pack(self) -> PackedProximity:
        """At rest."""
        area = self._real.body.space.area
        inside = [area.entity(slot) for slot in area.members(self.interest)]
        return PackedProximity(self.number, self.radius, (*inside, *self._missing))

    def enter(self, other: Body) -> None:
        """See Watcher."""
        if self._missing.pop(other.id, None) is None:
            self._interests.call(self._real.body, "on_proximity_entered", self.number, other.view, trigger=self)

    def leave(self, entity: int) -> None:
        """See Watcher. If its body was replaced, the new one enters in this very round."""
        self._missing[entity] = 0.0
        self._interests.judge_later(self)

    def judge(self, now: float) -> bool:
        """See Watcher."""
        body = self._real.body
        for entity in [entity for entity, until in self._missing.items() if until <= now]:
            if self._interests.seeking.is_sought(body.id, entity):
                continue
            del self._missing[entity]
            self._interests.call(self._real.body, "on_proximity_left", self.number, entity, trigger=self)
        return bool(self._missing)


def _is_within(other: Body, position: Position, radius: float) -> bool:
    away = hypot(other.position[0] - position[0], other.position[2] - position[2])
    return away <= radius + other.kind.schema.appeal_radius


class Interests:
    """All interests of this app."""

    def __init__(self, core: Core, seeking: Seeking) -> None:
        self._core = core
        self.seeking = seeking
        self._watchers: dict[CellSpace, dict[int, Watcher]] = {}
        self._unjudged: dict[Watcher, None] = {}
        self._hooks: list[Hook] = []

    def run(self) -> None:
        """See the module."""
        for space in self._core.spaces.values():
            interests, slots, kinds = space.area.step()
            watchers = self._watchers.get(space)
            if watchers is None:
                continue
            by_slot, entity_of = space.by_slot, space.area.entity
            for interest, slot, kind in zip(interests, slots, kinds, strict=True):
                if kind:
                    watchers[interest].enter(by_slot[slot])
                else:
                    watchers[interest].leave(entity_of(slot))
        self._judge()
        self._run_hooks()

    def _judge(self) -> None:
        doubtful, self._unjudged = self._unjudged, {}
        now = self._core.host.now
        for watcher in doubtful:
            if watcher.judge(now):
                self._unjudged[watcher] = None

    def take_leave(self, real: Real, space: int, position: Position) -> None:
        """A real is about to jump. Whatever that takes out of its area and its triggers leaves now, for the game, where
        it can still be seen. If the real stays after all, the next look lets it in again."""
        to = position if space == real.body.space.id else None
        if real.witness is not None:
            real.witness.take_leave(to)
        for trigger in real.proximities.values():
            trigger.take_leave(to)
        self.run_hooks_of(real.body)

    def run_hooks_of(self, body: Body) -> None:
        """Those of a body that is about to leave, which would be lost with it; also those that its hooks ask for."""
        for _ in range(ROUNDS_MAX):
            hooks = [hook for hook in self._hooks if hook.body is body]
            if not hooks:
                return
            self._hooks = [hook for hook in self._hooks if hook.body is not body]
            self._run(hooks)

    def _run_hooks(self) -> None:
        hooks, self._hooks = self._hooks, []
        self._run(hooks)

    def _run(self, hooks: list[Hook]) -> None:
        for body, name, args, trigger in hooks:
            real = body.real
            if real is None or real.is_destroyed:
                continue
            if trigger is None or real.proximities.get(trigger.number) is trigger:
                self._core.run(body, name, getattr(real.part, name), *args)

    # For watchers.

    def watch(self, watcher: Watcher, body: Body, radius: float, hysteresis: float, members: Iterable[int] = ()) -> int:
        """A circle around a body; the `members` are inside already. Gives the interest."""
        interest = body.space.area.watch(body.slot, radius, hysteresis, list(members))
        self._watchers.setdefault(body.space, {})[interest] = watcher
        return interest

    def is_watcher(self, watcher: Watcher, space: CellSpace, interest: int) -> bool:
        """Whether the events of this interest come to the watcher."""
        return self._watchers.get(space, {}).get(interest) is watcher

    def unwatch(self, watcher: Watcher, space: CellSpace, interest: int) -> None:
        """No more events."""
        space.area.unwatch(interest)
        self._unjudged.pop(watcher, None)
        watchers = self._watchers[space]
        del watchers[interest]
        if not watchers:
            del self._watchers[space]

    def judge_later(self, watcher: Watcher) -> None:
        """It is to judge, after the events of this tick or the next."""
        self._unjudged[watcher] = None

    def call(self, body: Body, name: str, *args: Any, trigger: Proximity | None = None) -> None:
        """A hook of the game is to run, with the next round of them."""
        if name in body.kind.hooks:
            self._hooks.append(Hook(body, name, args, trigger))

    # Triggers, for the game and for offloads.

    def add_proximity(self, real: Real, radius: float, number: int) -> None:
        """A new trigger of this number; entities inside enter with the next look."""
        trigger = real.proximities[number] = Proximity(self, real, number, radius)
        trigger.start((), 0.0)

    def cancel(self, real: Real, number: int) -> bool:
        """Ends a trigger; False: there is none of this number."""
        trigger = real.proximities.pop(number, None)
        if trigger is None:
            return False
        assert isinstance(trigger, Proximity)
        self.unwatch(trigger, real.body.space, trigger.interest)
        return True

    def pack(self, real: Real) -> tuple[PackedProximity, ...]:
        """The triggers of a real at rest."""
        return tuple(trigger.pack() for trigger in real.proximities.values())

    def unpack(self, real: Real, packed: Iterable[PackedProximity]) -> None:
        """They go on here."""
        until = self._core.host.now + PATIENCE_S
        for number, radius, inside in packed:
            trigger = real.proximities[number] = Proximity(self, real, number, radius)
            trigger.start(inside, until)

    def end(self, real: Real) -> None:
        """A real has ended here: its triggers watch nothing any more."""
        for number in list(real.proximities):
            self.cancel(real, number)
