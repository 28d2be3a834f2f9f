"""Teleports: a real goes far away, into another space, or beside another entity wherever that is.

    teleport() ──▶ pending ─────────────────────────────────────▶ found ──▶ gone: offloaded with a Jump
                    │   beside an entity: WhereAreYou ─▶ IAmHere    │          │
                    │   then, or at once: which app has the point?  │          ├─ taken in ─▶ on_teleported (there)
                    │     by the tree here, else FindEntry ─▶ Entry │          └─ refused ──▶ brought back, as it was
                    ▼                                               ▼                            │
                 on_teleport_failed(reason), and nothing has happened  ◀────────────────────────┘

The rules:

- One teleport at a time. A second call replaces the first, for which no hook is called any more.
- An entity that has arrived stands: a movement that ran was towards a goal at the old place. All else goes on.
- What the jump takes out of the client's area and of the triggers leaves before the entity does
  (`cell/client/interests.py`): on_leaving_cell, on_left_aoi and on_proximity_left at the old place, on_left_cell, then
  on_entering_cell, on_entered_cell and on_teleported at the new one. Within a cell: on_left_aoi and on_proximity_left,
  on_teleported.
- No hook is called from within `teleport()`. The entity leaves late in a tick, when its step is closed (phase 9 of
  `cellapp.py`); for a place in this very cell it does not leave: it is put there.
- A pending teleport travels. When the entity is offloaded meanwhile, the teleport travels along, and its place is
  looked for again from there; the answer of an entity that was asked finds it, since it is mail. Each question has a
  number of its own, so the answer to a former teleport is ignored.
- A pending teleport ends with its entity, and after TELEPORT_S: the manager may be away for a moment and is asked
  again, but a refusal of it is final. A real that has left is kept by `cell/migration/offload.py` until it was taken
  in, refused, or restored.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cell.client.interests import Interests
from terrazzo.cell.client.moves import ClientMoves
from terrazzo.cell.core.controllers import Category
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.space import place_problem
from terrazzo.cell.motion.riding import Riding
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import Direction, IAmHere, Position, WhereAreYou
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.pairs.cell_cell import Jump, PackedTeleport
from terrazzo.wire.requests import Failure, Requests

TELEPORT_S = 10.0
ASK_S = 2.0
"""So long an answer of the manager is waited for before it is asked again."""


Leave = Callable[[Real, AppId, Jump], bool]


class Pending:
    """One teleport, while the cell of its goal is being located."""

    __slots__ = (
        "ask_at", "direction", "goal", "is_asking", "position", "question", "real", "space", "target", "until", "words"
    )  # fmt: skip

    def __init__(self, real: Real, packed: PackedTeleport, now: float) -> None:
        self.real = real
        self.question, self.space, self.target, self.position, self.direction, seconds = packed
        self.until = now + seconds
        self.words = packed[1:5]
        """What was asked for: the same again is no other teleport."""
        self.is_asking = False
        """The manager was asked and has not answered."""
        self.ask_at = now
        """What it found is not asked for again before that."""
        self.goal: tuple[int, AppId] | None = None
        """Found: the space, and the app that has the point; while that is out of reach, another is looked for."""

    def pack(self, now: float) -> PackedTeleport:
        """At rest; what was found is sought again, since it is seen from elsewhere."""
        return PackedTeleport(
            self.question, self.space, self.target, self.position, self.direction, self.until - now
        )  # fmt: skip


class Teleports:
    """The pending teleports of one app's reals."""

    def __init__(
        self, core: Core, requests: Requests, moves: ClientMoves, riding: Riding, interests: Interests, offload: Leave
    ) -> None:
        """`offload` sends a real away."""
        self._core = core
        self._requests = requests
        self._moves = moves
        self._riding = riding
        self._interests = interests
        self._offload = offload
        self._pending: dict[int, Pending] = {}
        self._going: Pending | None = None
        """The teleport of the real that is about to leave."""

    # What the game asks for.

    def to_space(self, real: Real, space: str, position: Position, direction: Direction | None) -> None:
        """It shall go to a point of a space."""
        question = real.timers.draw()
        self.unpack(real, PackedTeleport(question, space, 0, position, direction, TELEPORT_S))

    def to_entity(self, real: Real, target: int, offset: Position, direction: Direction | None) -> None:
        """It shall go beside an entity, so far from it."""
        question, to = real.timers.draw(), PartId(EntityId(target), Part.CELL)
        self._core.switchboard.send(real.body.part, to, REGISTRY.encode(WhereAreYou(question)))
        self.unpack(real, PackedTeleport(question, "", target, offset, direction, TELEPORT_S))

    # A pending teleport travels.

    def pack(self, real: Real) -> PackedTeleport | None:
        """The pending teleport of this real at rest, if it has one."""
        pending = self._of(real)
        return None if pending is None else pending.pack(self._core.host.now)

    def unpack(self, real: Real, packed: PackedTeleport | None) -> None:
        """A teleport begins, or goes on where its real has arrived."""
        if packed is not None:
            pending = self._pending[real.body.id] = Pending(real, packed, self._core.host.now)
            self._seek(pending)

    # Where to.

    def on_here(self, real: Real, source: PartId, message: IAmHere) -> None:
        """The entity that was asked has answered."""
        pending = self._of(real)
        if pending is None or pending.question != message.question or pending.target != source.entity:
            return  # of a teleport that is over
        x, y, z = (float(a + b) for a, b in zip(message.position, pending.position, strict=True))
        pending.space, pending.target, pending.position = message.space, 0, (x, y, z)
        problem = place_problem(self._core.game, pending.space, pending.position)
        if problem is not None:
            self._fail(pending, problem)
        else:
            self._seek(pending)

    def on_undelivered(self, real: Real, question: int, reason: str) -> None:
        """The entity that was asked is not to be found."""
        pending = self._of(real)
        if pending is not None and pending.question == question:
            self._fail(pending, f"entity {pending.target} cannot be found: {reason}")

    def _seek(self, pending: Pending) -> None:
        """Finds the app that has the point, if the point is known."""
        core, now, links = self._core, self._core.host.now, self._core.links
        if pending.target or pending.is_asking or (pending.goal is not None and pending.goal[1] not in links.lost):
            return
        for space in core.spaces.values():
            if space.name == pending.space and space.leaf is not None:
                leaf = space.leaf_at(pending.position)
                if leaf is not None:
                    pending.goal = (space.id, leaf.app)
                    return
        if links.manager is not None and (pending.goal is None or now >= pending.ask_at):
            pending.is_asking, pending.ask_at = True, now + ASK_S
            question = FindEntry(pending.space, pending.position[0], pending.position[2])
            self._requests.ask(
                links.manager,
                question,
                timeout_s=ASK_S,
                then=lambda answer: self._on_entry(pending, answer),
                failed=lambda why, words: self._on_no_entry(pending, why, words),
            )

    def _on_entry(self, pending: Pending, answer: Message) -> None:
        pending.is_asking = False
        if self._of(pending.real) is pending:
            assert isinstance(answer, Entry)
            pending.goal = (answer.space, answer.app)

    def _on_no_entry(self, pending: Pending, why: Failure, words: str) -> None:
        pending.is_asking = False
        if why is Failure.REFUSED and self._of(pending.real) is pending:
            self._fail(pending, words)

    # The tick.

    def on_tick(self) -> None:
        """Moves reals with a goal in this cell, repeats requests, ends teleports that take too long."""
        for pending in list(self._pending.values()):
            if self._of(pending.real) is pending:
                self._core.confine(pending.real.body, "teleport", self._go_on, pending)

    def _go_on(self, pending: Pending) -> None:
        self._seek(pending)
        if self._is_here(pending):
            del self._pending[pending.real.body.id]
            if self._take_leave(pending):
                self._riding.alight(pending.real)
                self._moves.put(pending.real, pending.position, self._direction(pending))
                self._arrive(pending.real)
        elif self._core.host.now >= pending.until:
            self._fail(pending, self._excuse(pending))

    def _take_leave(self, pending: Pending) -> bool:
        """Before it is put elsewhere in this cell; False: a hook has destroyed it or teleports it elsewhere."""
        real = pending.real
        self._interests.take_leave(real, real.body.space.id, pending.position)
        return not real.is_destroyed and self._of(real) is None

    def run(self) -> None:
        """Sends away reals with a goal in another cell; their steps are closed."""
        for pending in list(self._pending.values()):
            if self._of(pending.real) is not pending or pending.goal is None or self._is_here(pending):
                continue
            space, app = pending.goal
            if self._core.links.reaches(app):
                del self._pending[pending.real.body.id]
                self._going = pending
                jump = Jump(space, pending.position, self._direction(pending))
                self._core.confine(pending.real.body, "teleport", self._offload, pending.real, app, jump)
                self._going = None

    def is_overtaken(self, real: Real) -> bool:
        """Whether a real that is about to leave has another teleport by now; the same again is none."""
        pending = self._of(real)
        if pending is None or self._going is None:
            return False
        if pending.words == self._going.words:
            del self._pending[real.body.id]
            return False
        return True

    def _is_here(self, pending: Pending) -> bool:
        return pending.goal == (pending.real.body.space.id, self._core.me)

    def _direction(self, pending: Pending) -> Direction:
        return pending.real.body.direction if pending.direction is None else pending.direction

    def _excuse(self, pending: Pending) -> str:
        if pending.goal is not None:
            return f"{pending.goal[1]}, which has that place, is out of reach"
        return f"entity {pending.target} has not answered" if pending.target else "the CellAppMgr has not answered"

    # What came of it.

    def on_arrived(self, real: Real) -> None:
        """It has been taken in here, and its client was sent the place."""
        self._moves.hold(real)
        self._arrive(real)

    def on_refused(self, real: Real, reason: str) -> None:
        """It has been brought back."""
        self._core.run(real.body, "on_teleport_failed", real.part.on_teleport_failed, reason)

    def _arrive(self, real: Real) -> None:
        real.controllers.cancel(Category.MOVEMENT)
        self._core.run(real.body, "on_teleported", real.part.on_teleported)

    def _fail(self, pending: Pending, reason: str) -> None:
        del self._pending[pending.real.body.id]
        self.on_refused(pending.real, reason)

    def _of(self, real: Real) -> Pending | None:
        """The pending teleport of a real that is still here."""
        pending = self._pending.get(real.body.id)
        if pending is None or pending.real is not real:
            return None
        if real.is_destroyed or self._core.reals.get(real.body.id) is not real:
            del self._pending[real.body.id]
            return None
        return pending
