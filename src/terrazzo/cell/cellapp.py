"""CellApp: runs one cell of each space it was given, and everything that lives there.

A tick has a fixed order, and each phase rests on the one before:

    1 waits        held messages and waiting arrivals whose time is over
    2 mail         calls and wishes of bases and other entities run           ┐
    3 moves        what clients say about where they are                      ├ game code runs here, and nowhere below
    4 timers       of the game                                                ┘
    5 steps        each real's changes are closed into one numbered step, which goes to its ghosts
    6 the doomed   what was destroyed is taken down, after its last step
    7 ghosts       made and deleted as places have changed
    8 offloads     reals whose place is another app's leave, complete
    9 witnesses    look at all bodies, real and ghost, and tell their clients
   10 flush        loads to the manager, places to the BaseApps, mail to everybody

Since no game code runs after 5, each real's state fits its number from there on: ghosts, offloads and witnesses may
take it as it is. Between ticks messages come in: those of ghosts are applied at once (they only touch ghosts), moves
and mail wait for the tick.

The state machines have files of their own: `ghost.py` (what others tell), `offload.py` (a real on its way),
`witness.py` and `feed.py` (what a client is told), `moves.py` (what a client says), `mail.py`, `births.py`,
`haunts.py`, `real.py`. This one holds them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.cell import moves
from terrazzo.cell.births import Births
from terrazzo.cell.body import Body
from terrazzo.cell.exchange import CellExchange
from terrazzo.cell.feed import Feed
from terrazzo.cell.ghost import Ghosts
from terrazzo.cell.haunts import Haunts
from terrazzo.cell.kind import Kinds
from terrazzo.cell.mail import Mail
from terrazzo.cell.offload import Offloads
from terrazzo.cell.real import Real
from terrazzo.cell.space import Space
from terrazzo.errors import DecodeError, UsageError
from terrazzo.game import LoadedGame
from terrazzo.sync.gamecode import run_game_code
from terrazzo.wire.app import Host
from terrazzo.wire.base_app import ClusterApp
from terrazzo.wire.channel import ChannelLimits
from terrazzo.wire.entity_messages import Astray, Frame
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import CallBase, CallCell, CreateReal, Move, Moves
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, NextReal, Offload, Onloaded, UpdateGhost
from terrazzo.wire.pairs.cellmgr_cell import CellAppLoad, CellAppReady, CellLoad, CellReady, SpaceTree
from terrazzo.wire.switchboard import Switchboard
from terrazzo.world.bsp import BspTree

OFFLOAD_MARGIN_M = 3.0
LOAD_S = 1.0


class CellApp(ClusterApp):
    """One process with cells."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        game: LoadedGame,
        *,
        offload_margin_m: float = OFFLOAD_MARGIN_M,
        cpu_load: Callable[[], float] = lambda: 0.0,
        limits: ChannelLimits | None = None,
    ) -> None:
        super().__init__(me, host)
        self.game = game
        self.kinds = Kinds(game)
        self.tick = 0
        self.manager: AppId | None = None
        self.lost: set[AppId] = set()
        """Peers whose link is broken now."""
        self.counts: dict[str, int] = {}
        self.spaces: dict[int, Space] = {}
        self.bodies: dict[int, Body] = {}
        self.reals: dict[int, Real] = {}
        self.acting: Body | None = None
        """Whose code runs now."""
        self.switchboard = Switchboard(me, host, self.outbox, CellExchange(self), limits=limits)
        self.ghosts = Ghosts(self)
        self.offloads = Offloads(self, offload_margin_m)
        self.haunts = Haunts(self, offload_margin_m)
        self.births = Births(self)
        self.feed = Feed(self)
        self._mail = Mail(self)
        self._cpu_load = cpu_load
        self._load_at = host.now + LOAD_S
        self._moves: dict[int, Move] = {}
        self._doomed: dict[int, Real] = {}
        self._listen()
        host.join(AppId(AppKind.CELL_APP_MGR, 0, ANY_INCARNATION))

    def _listen(self) -> None:
        self.on(Frame, self._on_frame)
        self.on(Astray, self.switchboard.on_message)
        self.on(SpaceTree, self._on_space_tree)
        self.on(Moves, self._on_moves)
        self.on(CreateGhost, self.ghosts.on_create)
        self.on(UpdateGhost, self.ghosts.on_update)
        self.on(DeleteGhost, self.ghosts.on_delete)
        self.on(NextReal, self.ghosts.on_next_real)
        self.on(Offload, self.offloads.on_offload)
        self.on(Onloaded, self.offloads.on_onloaded)
        self.answers(CreateReal, self.births.on_create_real)

    # Links and messages.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        if peer.kind is AppKind.CELL_APP_MGR:
            self.manager = peer
            self.send(peer, CellAppReady())
        elif peer.kind is AppKind.CELL_APP and peer in self.lost:
            self.haunts.on_link_up(peer)
            self.offloads.on_link_up(peer)
        self.lost.discard(peer)

    def on_link_lost(self, peer: AppId) -> None:
        """See App. Nobody is dead because a link broke: it is joined again."""
        super().on_link_lost(peer)
        self.switchboard.on_link_lost(peer)
        self.lost.add(peer)
        if peer == self.manager:
            self.manager = None
        if peer.kind is AppKind.CELL_APP:
            self.offloads.on_link_lost()
            self.host.join(peer)
        elif peer.kind is AppKind.CELL_APP_MGR:
            self.host.join(peer._replace(incarnation=ANY_INCARNATION))

    def _on_space_tree(self, source: AppId, message: SpaceTree) -> None:
        try:
            tree = BspTree.unpack(message.tree)
        except DecodeError as problem:
            self.count("tree that does not decode", space=message.space, problem=str(problem))
            return
        space = self.space(message.space)
        if space.set_tree(message.name, message.version, tree, self.me) and space.leaf is not None:
            self.send(source, CellReady(space.id, space.version))

    def _on_frame(self, source: AppId, message: Frame) -> None:
        """Mail for a part whose ghost is here: the ghost knows better than the switchboard where the real is. So
        whoever sees an entity from this cell reaches it through this cell."""
        body = self.bodies.get(message.to.entity)
        if body is not None and body.real is None and message.to == body.part and body.real_app != self.me:
            self.switchboard.learn(body.part, body.epoch, body.real_app)
        self.switchboard.on_message(source, message)

    def _on_moves(self, source: AppId, message: Moves) -> None:
        """For a real: waits for the tick. For a ghost: passed on. For neither: the next one is due in a tick."""
        passed: dict[AppId, list[Move]] = {}
        for move in message.moves:
            body = self.bodies.get(move.entity)
            if body is None:
                continue
            if body.real is not None:
                known = self._moves.get(move.entity)
                if known is None or move.number >= known.number:
                    self._moves[move.entity] = move
            elif body.real_app not in (self.me, source):
                passed.setdefault(body.real_app, []).append(move)
        for app, several in passed.items():
            self.send(app, Moves(tuple(several)))

    # The tick.

    def on_tick(self) -> None:
        """See the module."""
        super().on_tick()
        self.tick += 1
        self.ghosts.on_tick()
        self.offloads.on_tick()
        self._run_game()
        for real in self.reals.values():
            self.haunts.close_step(real)
        for real in list(self._doomed.values()):
            self._take_down(real)
        self._doomed.clear()
        for real in self.reals.values():
            self.haunts.tend(real)
        self.offloads.check()
        for real in self.reals.values():
            if real.witness is not None:
                self.feed.serve(real)
        for space in self.spaces.values():
            space.moved.clear()
        self._flush()

    def _run_game(self) -> None:
        now = self.host.now
        for real in list(self.reals.values()):
            self._mail.take(real)
        pending, self._moves = self._moves, {}
        for move in pending.values():
            mover = self.reals.get(move.entity)
            if mover is not None and move.number >= mover.mover.number:
                mover.mover.number = move.number
                moves.move(mover, move.position, move.yaw, now)
        for real in list(self.reals.values()):
            if real.timers.is_due(now):
                self._fire_timers(real, now)

    def _fire_timers(self, real: Real, now: float) -> None:
        for number in real.timers.take(now):
            if not real.is_doomed and real.timers.fire(number, now):
                self.run(real.body, "on_timer", real.part.on_timer, number)
        real.timers.settle()

    def _flush(self) -> None:
        now = self.host.now
        self.feed.flush()
        if now >= self._load_at and self.manager is not None:
            self._load_at = now + LOAD_S
            self.send(self.manager, self._load())
        self.switchboard.on_tick()

    def _load(self) -> CellAppLoad:
        load = self._cpu_load()
        cells = []
        for space in self.spaces.values():
            reals = sum(body.real is not None for body in space.bodies.values())
            share = load * reals / max(len(self.reals), 1)
            cells.append(CellLoad(space.id, share, reals, len(space.bodies) - reals))
        return CellAppLoad(load, tuple(cells))

    # Bodies.

    def space(self, id: int) -> Space:
        """The space of this number. A neighbour may speak of it before the manager does."""
        if id not in self.spaces:
            self.spaces[id] = Space(id)
        return self.spaces[id]

    def add_body(self, body: Body) -> None:
        """A body begins here."""
        self.bodies[body.id] = body
        body.space.add(body)

    def remove_body(self, body: Body, *, is_destroyed: bool) -> None:
        """A body is no longer here; the witnesses that knew it tell their clients."""
        del self.bodies[body.id]
        body.space.remove(body)
        for real in self.reals.values():
            if real.witness is not None and real.body.space is body.space:
                real.witness.on_removed(body, is_destroyed=is_destroyed, now=self.host.now)

    def settle(self, real: Real) -> None:
        """A real begins here."""
        real.body.real = real
        self.reals[real.body.id] = real

    def doom(self, real: Real) -> None:
        """It will be taken down when the game's code has run."""
        if not real.is_doomed:
            real.is_doomed = True
            self._doomed[real.body.id] = real

    def _take_down(self, real: Real) -> None:
        body = real.body
        if real.witness is not None:
            self.feed.serve(real)
        self.haunts.end(real)
        self.feed.tell_base(real, real.data(is_last=True))
        self.switchboard.destroy(body.part)
        del self.reals[body.id]
        real.end()
        body.real = None
        self.ghosts.remove(body, body.epoch, is_destroyed=True)

    # Running the game, and what it asks for.

    def run(self, body: Body, what: str, function: Callable[..., Any], *args: Any) -> Any:
        """Runs the game's code on behalf of an entity."""
        before, self.acting = self.acting, body
        try:
            return run_game_code(self.host, f"{body.label}, {what}, tick {self.tick}", function, *args)
        finally:
            self.acting = before

    def call_cell(self, entity: int, method: int, args: bytes) -> None:
        """The entity whose code runs now calls the cell part of another."""
        self._call(PartId(EntityId(entity), Part.CELL), CallCell(method, args))

    def call_base(self, entity: int, method: int, args: bytes) -> None:
        """The entity whose code runs now calls a base part."""
        self._call(PartId(EntityId(entity), Part.BASE), CallBase(method, args))

    def _call(self, to: PartId, call: Message) -> None:
        if self.acting is None or self.acting.real is None:
            raise UsageError(
                f"{to} can be called only from the code of an entity: a call needs a caller, to be in order"
            )
        self.switchboard.send(self.acting.part, to, REGISTRY.encode(call))

    def base_of(self, body: Body) -> AppId:
        """Where the base of a body lives, as far as is known."""
        place = self.switchboard.places.get(body.base_part)
        return body.base if place is None or place.app is None else place.app

    # For people.

    def count(self, what: str, /, **facts: object) -> None:
        """Something that should not be, or is worth knowing: counted, and reported the first times."""
        self.counts[what] = self.counts.get(what, 0) + 1
        if self.counts[what] <= 100:
            self.host.log(what, count=self.counts[what], **facts)

    def view(self) -> dict[str, Any]:
        """What the console shows of this app."""
        spaces = {
            space.name: [
                (body.id, body.kind.name, body.real is not None, body.position[0], body.position[2])
                for body in space.bodies.values()
            ]
            for space in self.spaces.values()
        }
        return {"app": str(self.me), "tick": self.tick, "load": self._cpu_load(), "spaces": spaces}
