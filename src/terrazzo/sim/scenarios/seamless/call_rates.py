"""Clients that call too often, or call methods that they may not call (P7): the workload, and the checks.

Some players call methods that have a rate in bursts far above it, and forge calls: of another player's method that is
exposed to its own client only, of methods that are not exposed, of another player's base part. All of it is drawn from
streams of their own. The judge sees the moment at which a BaseApp reads each message; from there on everything is
exact:

    rate        a bucket for each proxy and method, filled by the clock: the call runs if and only if there is one left.
                Soon after the BaseApp stood still a bucket holds as many more as fill it in that time
    base        the call has run when the message was read, or it never does
    cell        calls that were passed on run in that order, as long as the body lives; all others never run
    forged      the call is refused when it is read, and nothing runs
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from random import Random
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.limits import ClientRefusal
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.standstill import SPARE_MAX_S, SPARE_S, STANDSTILL_S
from terrazzo.client import ClientApp
from terrazzo.cluster.app import App
from terrazzo.schema.indexes import METHOD_IDS
from terrazzo.schema.model import Side
from terrazzo.sim.oracle import Broken
from terrazzo.sim.world import World
from terrazzo.sync.protocol import Call, EntityMessage, split_message, take_entity, with_entity
from terrazzo.wire.log_events import EventName, LogEvent

RATES = {"rush": 5.0, "ring": 0.7}
"""Calls a second of the own client: a method of the cell part, and one of the base part."""
FORGED_MAX = 5
"""Forged calls of one proxy: a client that forges more is sent away."""
EDGE = 1e-6


class Turns:
    """The times in which a BaseApp had no turn."""

    def __init__(self, now: float) -> None:
        self._at = now
        self._still: list[tuple[float, float]] = []

    def note(self, now: float) -> None:
        """It has a turn."""
        if now - self._at >= STANDSTILL_S:
            self._still.append((self._at, now))
        self._at = now

    def spare_s(self, now: float) -> float:
        """How long it stood still, in the last standstill and in those that ended shortly before the next began."""
        total_s = 0.0
        for began, ended in reversed(self._still):
            if now >= ended + SPARE_S:
                break
            total_s += ended - began
            now = began
        return min(total_s, SPARE_MAX_S)


class Bucket:
    """The calls that are left: at most those of one second, but at least one, and those of a standstill."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate, self._most = rate, max(rate, 1.0)
        self._left, self._at = inf, now

    def take(self, now: float, spare_s: float) -> bool | None:
        """Takes a call if there is one left, and returns whether; None: rounding decides, call `taken` if it has
        run."""
        self._left = min(self._most + spare_s * self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        if abs(self._left - 1.0) < EDGE:
            return None
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def taken(self) -> None:
        """A call for which rounding decides has run."""
        self._left -= 1.0


class Rates:
    """The rated and forged calls of all clients of one world."""

    def __init__(self, world: World, life: Callable[[int], int], is_over: Callable[[str, int, int], bool]) -> None:
        self.often = world.rng("rates").choice([0.0, 0.02, 0.1])
        """How often a player calls in a burst, each step."""
        self.forges = world.rng("forging").choice([0.0, 0.0, 0.01, 0.05])
        self.counts: dict[str, int] = {}
        self._world = world
        self._life = life
        self._is_over = is_over
        self._numbers: dict[int, int] = {}
        self._buckets: dict[tuple[int, str], Bucket] = {}
        self._reading: tuple[int, int] | None = None
        """The entity, and the number of the call of its base part that may run now."""
        self._due: dict[int, deque[tuple[int, int]]] = {}
        """Calls of the cell part that were passed on: number, and life of the body."""
        self._forged: dict[int, set[bytes]] = {}
        self._refused: dict[str, int] = {}
        """By entity, as it is logged: the refusals that must be logged next."""

    # Clients.

    def number(self, entity: int) -> int:
        """The number of the next call of an entity's client."""
        number = self._numbers[entity] = self._numbers.get(entity, 0) + 1
        return number

    def may_forge(self, entity: int, message: bytes) -> bool:
        """Whether this message, which no client may send, may be sent now; then its refusal is expected."""
        forged = self._forged.setdefault(entity, set())
        if len(forged) >= FORGED_MAX:
            return False
        forged.add(message)
        return True

    # Apps.

    def watch(self, app: App) -> None:
        """Watches each message that a BaseApp reads from a client."""
        if not isinstance(app, BaseApp):
            return
        register, receive = app.factory._register, app._receive
        turns = Turns(app.host.now)

        def received() -> None:
            turns.note(app.host.now)
            receive()

        vars(app)["_receive"] = received

        def registered(*args: Any) -> Any:
            entity = register(*args)
            if isinstance(entity, ProxyEntity):
                self._watch_proxy(entity, turns)
            return entity

        vars(app.factory)["_register"] = registered

    def _watch_proxy(self, proxy: ProxyEntity, turns: Turns) -> None:
        read = proxy.mail.read

        def seen(message: bytes) -> None:
            if message in self._forged.get(proxy.id, ()):
                self._read_forged(proxy, message, read)
            else:
                self._read(proxy, message, read, turns)

        vars(proxy.mail)["read"] = seen

    def _read_forged(self, proxy: ProxyEntity, message: bytes, read: Callable[[bytes], None]) -> None:
        is_late = proxy.schema_of(take_entity(split_message(message)[1])[0]) is None
        self._refused[str(proxy)] = self._refused.get(str(proxy), 0) + 1
        read(message)  # raises the refusal, as it should
        self._refused[str(proxy)] -= 1
        if not is_late:
            what = f"the client of entity {proxy.id} called what is not exposed to it, and was not refused"
            raise Broken("P7", what, proxy.id)

    def is_due(self, event: EventName, facts: dict[str, object]) -> bool:
        """Whether a refusal in the log is that of a forged call."""
        name = str(facts.get("entity", ""))
        if event != LogEvent.CLIENT_MESSAGE_BAD or not self._refused.get(name):
            return False
        self._refused[name] -= 1
        self._count("forged")
        return True

    def _read(self, proxy: ProxyEntity, message: bytes, read: Callable[[bytes], None], turns: Turns) -> None:
        call = self._rated(proxy, message)
        if call is None:
            read(message)
            return
        now, method, rate = proxy.mail._host.now, call.method.name, call.method.rate
        assert rate is not None
        number = call.method.decode_args(call.data)[0] if method in RATES else 0
        bucket = self._buckets.setdefault((proxy.id, method), Bucket(rate, now))
        may_run, dropped = bucket.take(now, turns.spare_s(now)), proxy.mail.dropped[ClientRefusal.OVER_RATE]
        is_there = proxy.cell.state is CellPartState.THERE
        self._reading = (proxy.id, number) if may_run is not False and method == "ring" else None
        read(message)
        was_dropped = proxy.mail.dropped[ClientRefusal.OVER_RATE] > dropped
        has_run, self._reading = self._reading is None and not was_dropped, None
        if may_run is None and not was_dropped:
            bucket.taken()
        self._count("refused" if was_dropped else "passed")
        if may_run is not None and was_dropped == may_run:
            what = f"the client of entity {proxy.id} called {method}: refused {was_dropped}, within its rate {may_run}"
            raise Broken("P7", what, proxy.id)
        if method == "ring" and not was_dropped and not has_run:
            raise Broken("P7", f"the client of entity {proxy.id} called {method} {number}, which did not run", proxy.id)
        if method == "rush" and not was_dropped and is_there:
            self._due.setdefault(proxy.id, deque()).append((number, self._life(proxy.id)))

    def _rated(self, proxy: ProxyEntity, message: bytes) -> Call | None:
        """The call in a message, if it is of an own method with a rate."""
        kind, body = split_message(message)
        for side in (Side.BASE, Side.CELL):
            if kind >= METHOD_IDS[side].first:
                entity, data = take_entity(body)
                call = proxy.mail._methods.find(proxy.schema, side, kind, data) if entity == proxy.id else None
                return call if call is not None and call.method.rate else None
        return None

    # Reports of entities.

    def run(self, method: str, entity: int, caller: int, number: int) -> Broken | None:
        """A method with a rate runs; returns what is wrong with that."""
        what = f"{method} {number} of entity {entity} runs, called by {caller}, and was not let through"
        if method == "ring":
            is_fine, self._reading = self._reading == (entity, number), None
            return None if is_fine else Broken("P7", what, entity)
        due = self._due.get(entity, deque())
        if caller != entity or all(number != each for each, _ in due):
            return Broken("P7", what, entity)
        while due[0][0] != number:
            lost, life = due.popleft()
            if not self._is_over("cell", entity, life):
                return Broken("P2", f"rush {number} of entity {entity} came, {lost} was due", entity)
        due.popleft()
        return None

    def called(self, method: str, entity: int, caller: int, *, may: bool) -> Broken | None:
        """A method runs that not every client may call."""
        if may:
            return None
        return Broken("P7", f"{method} of entity {entity} was called by the client of {caller}", entity)

    def unrest(self) -> tuple[str, int] | None:
        """A call that was passed on and has not run."""
        for entity, due in self._due.items():
            for number, life in due:
                if not self._is_over("cell", entity, life):
                    return f"rush {number} of entity {entity} has not run", entity
        return None

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


class Pusher:
    """A player that calls too often, and forges calls."""

    def __init__(self, rates: Rates, rng: Random) -> None:
        self._rates = rates
        self._rng = rng

    def step(self, app: ClientApp) -> None:
        """Sends a burst of calls, or a forged call, or neither."""
        rates, rng, player = self._rates, self._rng, app.player
        if player is None or not app.has_body:
            return
        if rates.often and rng.random() < rates.often:
            for _ in range(rng.choice([1, 3, 12])):
                part, name = rng.choice([(player.cell, "rush"), (player.base, "ring")])
                getattr(part, name)(rates.number(player.id))
        if rates.forges and rng.random() < rates.forges:
            message = self._forged(app)
            if message is not None and rates.may_forge(player.id, message):
                app._send(message)

    def _forged(self, app: ClientApp) -> bytes | None:
        """A call of another's own method, of a method that is not exposed, or of another's base part."""
        rates, rng, player = self._rates, self._rng, app.player
        assert player is not None
        others = [
            part for part in app.parts.values() if part is not player and part._seen.schema is player._seen.schema
        ]
        schema, number = player._seen.schema, rates.number(player.id)
        what = rng.randrange(3)
        if what == 0:  # an index above those of the exposed methods
            unlisted = METHOD_IDS[Side.CELL].first + len(schema.exposed(Side.CELL))
            return with_entity(player.id, EntityMessage(unlisted, number.to_bytes(4, "little")))
        if not others:
            return None
        target, args = rng.choice(others), number.to_bytes(4, "little")
        if what == 1:
            return with_entity(target.id, app._game.methods.encode_call(schema, Side.CELL, "rush", args))
        return with_entity(target.id, app._game.methods.encode_call(schema, Side.BASE, "ring", args))
