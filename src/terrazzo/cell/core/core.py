"""The state and the services that all rooms of a CellApp share.

    state        spaces, bodies and reals; the tick; reals with an open step; reals that are being destroyed
    services     send to a peer, count an event, run the code of a game, confine the work for one entity to it,
                 call a part of an entity

What a phase of the tick does for one entity is confined to it (`confine`): if it raises, that is counted and reported
with the entity, the phase and the tick, and all other entities go on. An AssertionError is a broken invariant of the
engine and stops the app.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import Any

from terrazzo.cell.core.account import SentAccount
from terrazzo.cell.core.agenda import Agenda
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import PLACE
from terrazzo.cell.core.kind import Kinds
from terrazzo.cell.core.links import PeerLinks
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.services import CellServices, Moving
from terrazzo.cell.core.space import CellSpace
from terrazzo.cluster.app import Host
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame
from terrazzo.schema.model import EntitySchema, Method
from terrazzo.sync.awaiting import Awaiting, CallReply
from terrazzo.sync.calls import Callees
from terrazzo.sync.creating import Creator
from terrazzo.sync.gamecode import Confinement, run_game_code
from terrazzo.sync.lookup import Lookup
from terrazzo.sync.spaces import SpaceAsker
from terrazzo.sync.stored import StoredEntities
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.pairs.base_cell import CallBase, CallCell
from terrazzo.wire.reports import Reports


class Core:
    """What every room of one CellApp may use."""

    moves: Moving
    """Moves reals on behalf of the server; set when the rooms are built, as are the services."""
    services: CellServices

    def __init__(
        self,
        me: AppId,
        host: Host,
        game: LoadedGame,
        kinds: Kinds,
        account: SentAccount,
        outbox: Outbox,
        switchboard: Switchboard,
        *,
        tick_s: float,
        offload_margin_m: float,
    ) -> None:
        self.me = me
        self.host = host
        self.game = game
        self.kinds = kinds
        self.account = account
        self.switchboard = switchboard
        self.links = PeerLinks(me, host)
        self.tick = 0
        self.tick_s = tick_s
        self.offload_margin_m = offload_margin_m
        self.ghost_reach_m = game.policy.ghost_distance_m + game.policy.area_hysteresis_m + 2 * offload_margin_m
        """A real has a ghost in each cell that is this near. A real that watches and a real that is watched may both be
        outside their cells by the margin."""
        reports = Reports(host)
        self.counts, self.count = reports.counts, reports.count
        confinement = Confinement(reports, lambda body, phase: f"{body.label}, {phase}, tick {self.tick}")
        self.confine, self.report = confinement.run, confinement.report
        """`confine` does the work of a phase for one body; `report` is for what such work raised."""
        self.spaces: dict[int, CellSpace] = {}
        self.bodies: dict[int, Body] = {}
        self.reals: dict[int, Real] = {}
        self.agenda = Agenda()
        self.open_steps: dict[int, Real] = {}
        """Reals with a step that is not empty."""
        self.destroyed: dict[int, Real] = {}
        """Reals that are taken down at the end of the tick."""
        self.real_ended: list[Callable[[Real], None]] = []
        """Called, in this order, when a real ends here: it left, or was destroyed."""
        self.acting: Body | None = None
        """The body with the code that runs now."""
        self.callees = Callees()
        self.awaiting = Awaiting(host, self._run_part, lambda part: self.reals[part.entity])
        self.creator: Creator
        """Creates entities with a base; set when the app is built."""
        self.lookup: Lookup
        """Looks up names; set when the app is built."""
        self.space_asker: SpaceAsker
        """Changes spaces; set when the app is built."""
        self.stored: StoredEntities
        """Loads and deletes stored entities; set when the app is built."""
        self._outbox = outbox
        self._began = 0
        self._numbers: dict[AppId, int] = {}

    # Spaces, bodies, reals.

    def space(self, id: int) -> CellSpace:
        """The space of this number. A neighbour may send something about it before the manager does."""
        if id not in self.spaces:
            self.spaces[id] = CellSpace(id, self.account.tally)
        return self.spaces[id]

    def add_body(self, body: Body) -> None:
        """A body begins here."""
        self.bodies[body.id] = body
        body.space.add(body)

    def remove_body(self, body: Body) -> None:
        """A body ends here; the witnesses that had it in their area notice that with the next look around."""
        del self.bodies[body.id]
        body.space.remove(body)

    def register_real(self, real: Real) -> None:
        """A real begins here."""
        real.body.real = real
        real.body.space.area.set_real(real.body.slot, True)
        self.reals[real.body.id] = real
        self._began += 1
        real.began = self._began
        self.agenda.enter(real.timers.next_due, real.body.id)
        if real.controllers.running:
            self.agenda.running.add(real.body.id)

    def unregister_real(self, real: Real) -> None:
        """A real ends here; its body stays."""
        for ended in self.real_ended:
            ended(real)
        self.open_steps.pop(real.body.id, None)
        del self.reals[real.body.id]
        real.end()
        real.body.real = None

    def mark_destroyed(self, real: Real) -> None:
        """A real is taken down when the game's code of this tick has run."""
        if not real.is_destroyed:
            real.is_destroyed = True
            self.destroyed[real.body.id] = real

    def number_of(self, app: AppId) -> int:
        """A small number for an app, for the arrays."""
        return self._numbers.setdefault(app, len(self._numbers))

    def base_of(self, body: Body) -> AppId:
        """The app of the base of a body, as far as it is known here."""
        return self.switchboard.home_of(body.base_part) or body.base

    def close_step(self, real: Real) -> None:
        """Closes the step of a real, if something is in it, and sends it to the ghosts of the real."""
        step = real.close_step()
        if step is not None and real.ghosts:
            size = sum(self.send(app, step) for app in real.ghosts)
            ghosts, items = len(real.ghosts), sum(len(item.data) for item in step.items)
            self.account.add(real.body.kind.page.ghosts[PLACE], ghosts, size - ghosts * items)

    # Messages.

    def send(self, peer: AppId, message: Message) -> int:
        """Sends a message to a peer at the end of the tick; gives its size in bytes."""
        return self._outbox.send(peer, message)

    # The code of a game.

    def run(self, body: Body, what: str, function: Callable[..., Any], *args: Any) -> Any:
        """Runs code of the game on behalf of an entity."""
        before, self.acting = self.acting, body
        try:
            result = run_game_code(self.host, f"{body.label}, {what}, tick {self.tick}", function, *args)
        finally:
            self.acting = before
        if type(result) is not CoroutineType:
            return result
        if body.real is None or body.id not in self.reals:
            result.close()
            self.host.log(
                LogEvent.GAME_ERROR, what=f"{body.label}, {what}", error="it cannot be async: nothing can wait here"
            )
        else:
            self.awaiting.begin(body.part, what, result)
        return None

    def _run_part(self, part: PartId, what: str, function: Callable[..., Any], *args: Any) -> None:
        """Runs code of a real that is here (see `Awaiting`)."""
        real = self.reals.get(part.entity)
        if real is not None:
            self.run(real.body, what, function, *args)
        else:
            self.count(LogEvent.ENTITY_GONE, part=str(part), method=what, tick=self.tick)
            run_game_code(self.host, f"{part}, {what}, tick {self.tick}", function, *args)

    def call(
        self, to: PartId, schema: EntitySchema, index: int, method: Method, args: bytes, timeout_s: float
    ) -> CallReply | None:
        """The entity with the code that runs now calls a part of another, or of itself; returns what it can await."""
        acting = self.acting
        if acting is None or acting.real is None:
            raise UsageError(
                f"{to} can be called only from the code of an entity: a call needs a caller, to be in order"
            )
        self.callees.note(to.entity, schema)
        reply = self.awaiting.ask(acting.part, acting.epoch, to, method, timeout_s)
        question = 0 if reply is None else reply.number
        call = CallCell(index, args, 0, question) if to.part is Part.CELL else CallBase(index, args, question)
        try:
            self.switchboard.send(acting.part, to, REGISTRY.encode(call))
        except UsageError:
            self.awaiting.withdraw(reply)
            raise
        return reply
