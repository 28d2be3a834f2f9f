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
    """One teleport that is being sought."""

    __slots__ = (
        "ask_at", "direction", "goal", "is_asking", "position", "question", "real", "space", "target", "until", "words"
    )  # fmt: skip

    def __init__(self, real: Real, packed: PackedTeleport, now: float) -> None:
        self.real = real
        self.question, self.space, self.target, self.position, self.direction, seconds = packed
        self.until = now + seconds
        self.words = packed[1:5]
        """What was asked for: the same again is no other wish."""
        self.is_asking = False
        """The manager has been asked and has not answered."""
        self.ask_at = now
        """What it found is not asked for again before that."""
        self.goal: tuple[int, AppId] | None = None
        """Found: the space, and who has that point of it; while that one is out of reach it is sought again."""

    def pack(self, now: float) -> PackedTeleport:
        """At rest; what was found is sought again, since it is seen from elsewhere."""
        return PackedTeleport(
            self.question, self.space, self.target, self.position, self.direction, self.until - now
        )  # fmt: skip


class Teleports:
    """The wishes of one app's reals."""

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
        """The wish whose real is about to leave."""

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

    # A wish travels.

    def pack(self, real: Real) -> PackedTeleport | None:
        """The wish of this real at rest, if it has one."""
        wish = self._of(real)
        return None if wish is None else wish.pack(self._core.host.now)

    def unpack(self, real: Real, packed: PackedTeleport | None) -> None:
        """A wish begins, or goes on where its real has come to."""
        if packed is not None:
            wish = self._pending[real.body.id] = Pending(real, packed, self._core.host.now)
            self._seek(wish)

    # Where to.

    def on_here(self, real: Real, source: PartId, message: IAmHere) -> None:
        """The entity that was asked has answered."""
        wish = self._of(real)
        if wish is None or wish.question != message.question or wish.target != source.entity:
            return  # of a wish that is over
        x, y, z = (float(a + b) for a, b in zip(message.position, wish.position, strict=True))
        wish.space, wish.target, wish.position = message.space, 0, (x, y, z)
        problem = place_problem(self._core.game, wish.space, wish.position)
        if problem is not None:
            self._fail(wish, problem)
        else:
            self._seek(wish)

    def on_undelivered(self, real: Real, question: int, reason: str) -> None:
        """The entity that was asked is not to be found."""
        wish = self._of(real)
        if wish is not None and wish.question == question:
            self._fail(wish, f"entity {wish.target} cannot be found: {reason}")

    def _seek(self, wish: Pending) -> None:
        """Who has the point, if it is known which."""
        core, now, links = self._core, self._core.host.now, self._core.links
        if wish.target or wish.is_asking or (wish.goal is not None and wish.goal[1] not in links.lost):
            return
        for space in core.spaces.values():
            if space.name == wish.space and space.leaf is not None:
                leaf = space.leaf_at(wish.position)
                if leaf is not None:
                    wish.goal = (space.id, leaf.app)
                    return
        if links.manager is not None and (wish.goal is None or now >= wish.ask_at):
            wish.is_asking, wish.ask_at = True, now + ASK_S
            question = FindEntry(wish.space, wish.position[0], wish.position[2])
            self._requests.ask(
                links.manager,
                question,
                timeout_s=ASK_S,
                then=lambda answer: self._on_entry(wish, answer),
                failed=lambda why, words: self._on_no_entry(wish, why, words),
            )

    def _on_entry(self, wish: Pending, answer: Message) -> None:
        wish.is_asking = False
        if self._of(wish.real) is wish:
            assert isinstance(answer, Entry)
            wish.goal = (answer.space, answer.app)

    def _on_no_entry(self, wish: Pending, why: Failure, words: str) -> None:
        wish.is_asking = False
        if why is Failure.REFUSED and self._of(wish.real) is wish:
            self._fail(wish, words)

    # The tick.

    def on_tick(self) -> None:
        """Puts those whose goal is in this cell, asks again, gives up."""
        for wish in list(self._pending.values()):
            if self._of(wish.real) is wish:
                self._core.confine(wish.real.body, "teleport", self._go_on, wish)

    def _go_on(self, wish: Pending) -> None:
        self._seek(wish)
        if self._is_here(wish):
            del self._pending[wish.real.body.id]
            if self._take_leave(wish):
                self._riding.alight(wish.real)
                self._moves.put(wish.real, wish.position, self._direction(wish))
                self._arrive(wish.real)
        elif self._core.host.now >= wish.until:
            self._fail(wish, self._excuse(wish))

    def _take_leave(self, wish: Pending) -> bool:
        """Before it is put elsewhere in this cell; False: a hook of the game has destroyed it or wishes otherwise."""
        real = wish.real
        self._interests.take_leave(real, real.body.space.id, wish.position)
        return not real.is_destroyed and self._of(real) is None

    def run(self) -> None:
        """Sends off those whose goal is elsewhere; their steps are closed."""
        for wish in list(self._pending.values()):
            if self._of(wish.real) is not wish or wish.goal is None or self._is_here(wish):
                continue
            space, app = wish.goal
            if self._core.links.reaches(app):
                del self._pending[wish.real.body.id]
                self._going = wish
                jump = Jump(space, wish.position, self._direction(wish))
                self._core.confine(wish.real.body, "teleport", self._offload, wish.real, app, jump)
                self._going = None

    def is_overtaken(self, real: Real) -> bool:
        """Whether one who is about to leave has another wish by now; the same again is none."""
        wish = self._of(real)
        if wish is None or self._going is None:
            return False
        if wish.words == self._going.words:
            del self._pending[real.body.id]
            return False
        return True

    def _is_here(self, wish: Pending) -> bool:
        return wish.goal == (wish.real.body.space.id, self._core.me)

    def _direction(self, wish: Pending) -> Direction:
        return wish.real.body.direction if wish.direction is None else wish.direction

    def _excuse(self, wish: Pending) -> str:
        if wish.goal is not None:
            return f"{wish.goal[1]}, which has that place, is out of reach"
        return f"entity {wish.target} has not answered" if wish.target else "the CellAppMgr has not answered"

    # What came of it.

    def on_arrived(self, real: Real) -> None:
        """It has been taken in here, and its client told of the place."""
        self._moves.hold(real)
        self._arrive(real)

    def on_refused(self, real: Real, reason: str) -> None:
        """It has been brought back."""
        self._core.run(real.body, "on_teleport_failed", real.part.on_teleport_failed, reason)

    def _arrive(self, real: Real) -> None:
        real.controllers.cancel(Category.MOVEMENT)
        self._core.run(real.body, "on_teleported", real.part.on_teleported)

    def _fail(self, wish: Pending, reason: str) -> None:
        del self._pending[wish.real.body.id]
        self.on_refused(wish.real, reason)

    def _of(self, real: Real) -> Pending | None:
        """The wish of a real that is still here and lives; else it has none."""
        wish = self._pending.get(real.body.id)
        if wish is None or wish.real is not real:
            return None
        if real.is_destroyed or self._core.reals.get(real.body.id) is not real:
            del self._pending[real.body.id]
            return None
        return wish
