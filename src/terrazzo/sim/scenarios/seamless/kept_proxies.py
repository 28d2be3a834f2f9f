"""Proxies that keep their body when the client is gone, and get the next client (P4): the workload, and the checks.

In some worlds a proxy is kept for a while with its body after its client left or stopped sending. A player that comes
back meanwhile is sent to the same proxy: the scenario makes the key, as the BaseApp does for a second login (`life` has
second logins). Some clients stop sending instead of leaving.

    hooks        on the base part on_client_ready and on_client_lost alternate, on the body on_client_attached and
                 on_client_detached; a body that ends with its client gets no hook
    detaching    without faults a body that is kept soon has no client any more
    at rest      a body has a witness if and only if its proxy has a client, with the number that the proxy expects

The next client is judged as any other (`client_view.py`): it must get its own body first and then everything in its
area; messages for the client before it do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random
from typing import Any

import msgspec

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.entity import BaseLife
from terrazzo.base.proxy import ProxyEntity
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.shape import Shape
from terrazzo.sim.world import World
from terrazzo.sync.protocol import LoginReply
from terrazzo.wire.log_events import EventName, LogEvent

DETACH_S = 6.0
DETACH_SWIFT_S = 1.5
"""The longest time of a message from a base to its body, without faults, over several borders."""
SILENCE_S = 8.0
"""The time after which a silent client is given up, in worlds with such clients."""


class Clients:
    """The clients of one world: which proxies are kept, and which hooks have run."""

    def __init__(self, world: World, life: Callable[[int], int], bases_over: set[int], shape: Shape) -> None:
        rng = world.rng("clients")
        self.keeps = rng.choice([0.0, 0.0, 0.5, 1.0])
        """The share of proxies that are kept when their client is gone."""
        self.silent = rng.choice([0.0, 0.0, 0.3])
        """The share of clients that stop sending instead of leaving."""
        self.counts: dict[str, int] = {}
        self.came: dict[int, int] = {}
        """How many clients each proxy has had."""
        self._world = world
        self._life = life
        self._bases_over = bases_over
        self._rng: Random = world.rng("kept proxies")
        self._detach_s = inf if not shape.is_peaceful else DETACH_SWIFT_S if shape.is_swift else DETACH_S
        self._apps: list[BaseApp] = []
        self._kept: dict[int, Any] = {}
        """The base parts that are kept, by entity."""
        self._ready: set[int] = set()
        self._attached: dict[int, int] = {}
        """Entities with a body on which on_client_attached has run, and its life."""
        self._lost_at: dict[int, float] = {}

    @property
    def silence_s(self) -> float | None:
        """How long clients of this world may be silent; None: as long as usual."""
        return SILENCE_S if self.silent else None

    # Players.

    def is_due(self, event: EventName, facts: dict[str, object]) -> bool:
        """Whether a BaseApp is right to send a client away: a silent one, when its player logs in again."""
        return event is LogEvent.CLIENT_SENT_AWAY and facts.get("reason") == "SILENT" and bool(self.silent)

    def watch(self, app: App) -> None:
        """A process has started: its proxies may be kept."""
        if isinstance(app, BaseApp):
            self._apps.append(app)

    def falls_silent(self) -> bool:
        """Whether a client that is about to leave stops sending instead."""
        return bool(self.silent) and self._rng.random() < self.silent

    def away_s(self, entity: int) -> float:
        """How much longer than usual a player with a kept proxy is away."""
        return self._rng.choice([0.0, 0.0, 2.0, 7.0]) if self.keeps else 0.0

    def take(self, entity: int) -> bytes | None:
        """The answer to the log-in of a player with a kept proxy; None: there is none."""
        part = self._kept.pop(entity, None)
        if part is None:
            return None
        engine: ProxyEntity = part._engine
        app = next((app for app in self._apps if app.bases.get(engine.id) is engine), None)
        if app is None or engine.life is not BaseLife.ALIVE or app.is_stopping:
            return None
        self._count("taken")
        key = app.keys.make(engine.id, app.host.now)
        engine.expect(key)
        host, udp_port, ws_port = app._address
        return msgspec.json.encode(LoginReply(host=host, udp_port=udp_port, ws_port=ws_port, key=key.hex()))

    # Hooks.

    def ready(self, entity: int) -> Broken | None:
        """on_client_ready."""
        self._lost_at.pop(entity, None)
        self._kept.pop(entity, None)
        self.came[entity] = self.came.get(entity, 0) + 1
        if entity in self._ready:
            return Broken("P4", f"the proxy of entity {entity} got a client twice", entity)
        self._ready.add(entity)
        return None

    def lost(self, entity: int) -> Broken | None:
        """on_client_lost."""
        self._lost_at[entity] = self._world.clock.now
        if entity not in self._ready:
            return Broken("P4", f"the proxy of entity {entity} has lost a client that it had not", entity)
        self._ready.discard(entity)
        return None

    def keep(self, part: Any) -> bool:
        """Whether the game keeps a proxy without its client, for a time that is drawn."""
        if not self.keeps or self._rng.random() >= self.keeps:
            return False
        self._count("kept")
        self._kept[part.id] = part
        self._world.clock.after(self._rng.choice([1.0, 5.0, 12.0]), self._give_up, part, self._lost_at[part.id])
        return True

    def _give_up(self, part: Any, lost_at: float) -> None:
        client = part._engine.client
        if client.is_next_expected or client.is_connected:  # its player is coming, and would be sent away
            self._world.clock.after(1.0, self._give_up, part, lost_at)
        elif part.id in self._kept and self._lost_at.get(part.id) == lost_at:
            self._count("given up")
            del self._kept[part.id]
            self._bases_over.add(part.id)
            part.destroy()

    def attached(self, entity: int) -> Broken | None:
        """on_client_attached."""
        if self._attached.get(entity) == self._life(entity):
            return Broken("P4", f"the body of entity {entity} got a client twice", entity)
        self._attached[entity] = self._life(entity)
        self._count("attached")
        return None

    def detached(self, entity: int) -> Broken | None:
        """on_client_detached."""
        if self._attached.pop(entity, None) != self._life(entity):
            return Broken("P4", f"the body of entity {entity} has lost a client that it had not", entity)
        self._count("detached")
        return None

    def pulse(self, entity: int, *, has_client: bool) -> Broken | None:
        """A body acts; returns what is wrong with its having a client."""
        since = self._world.clock.now - self._lost_at.get(entity, inf)
        if has_client and since > self._detach_s:
            return Broken("P4", f"the body of entity {entity} has a client that was gone {since:.1f} s ago", entity)
        return None

    # At rest.

    def unrest(self, apps: list[BaseApp], real_of: Callable[[int], Real | None]) -> tuple[str, int] | None:
        """A witness without a client, or a client without a witness."""
        for app in apps:
            for entity, base in app.bases.items():
                real = real_of(entity)
                if isinstance(base, ProxyEntity) and real is not None:
                    number = 0 if real.witness is None else real.witness.number
                    if number != (base.witness if base.is_ready else 0):
                        what = f"entity {entity} has witness {number}, its proxy {base.witness}, {base.presence.value}"
                        return what, entity
                    if (self._attached.get(entity) == self._life(entity)) != bool(number):
                        return f"entity {entity} has witness {number}, and its hooks have another state", entity
        return None

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
