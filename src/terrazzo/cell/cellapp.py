"""CellApp: runs one cell of each space it was given, and everything that lives there.

A tick has a fixed order, and each phase rests on the one before:

    1 waits        held messages, arrivals, teleports and questions that time out; clients that were sent away
    2 mail         calls, answers and wishes of bases and other entities run  ┐
    3 moves        what clients say about where they are                      │
    4 clockwork    timers of the game, controllers that walk and turn;        ├ game code runs here
      riding       those who stand on another are where that is now           │
    5 areas        who came near whom, and who left; the game is told         ┘
    6 steps        each real's changes are closed into one numbered step, which goes to its ghosts
    7 the doomed   what was destroyed is taken down, after its last step
    8 ghosts       made and deleted as places have changed
    9 offloads     reals whose place is another app's leave, complete (`on_leaving_cell` runs, its step is closed again)
      and ground   the manager is told how the cells are
   10 witnesses    look at all bodies, real and ghost, and tell their clients
   11 flush        loads to the manager, places to the BaseApps, mail to everybody

What a phase does for one entity is confined to it (`confine`): if it raises, that is counted and reported with the
entity, the phase and the tick, and all others go on. An AssertionError is a broken invariant of ours and stops the app.

From 6 on each real's state fits its number: ghosts, offloads and witnesses may take it as it is. Between ticks messages
come in: those of ghosts are applied at once (they only touch ghosts), moves and mail wait for the tick.

The state machines have files of their own: `ghost.py` (what others tell), `haunts.py` (what others are told),
`offload.py` and `teleport.py` (a real on its way), `parcels.py` (what is sent whole), `ground.py` (what the manager
says), `interests.py` (who is near whom), `witness.py` and `feed.py` (what a client is told), `moves.py` (what a client
says), `clockwork.py` (timers, controllers), `riding.py` (entities that stand on another),
`seeking.py` (entities that a real which arrives has met, and its cell has not), `mail.py`, `births.py`, `real.py`. This
one holds them together.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import Any, TypeVar

from terrazzo.cell.account import Account
from terrazzo.cell.births import Births
from terrazzo.cell.body import Body
from terrazzo.cell.clockwork import Clockwork
from terrazzo.cell.exchange import CellExchange
from terrazzo.cell.feed import Feed
from terrazzo.cell.ghost import Ghosts
from terrazzo.cell.ground import Ground
from terrazzo.cell.haunts import Haunts
from terrazzo.cell.history import Ageing
from terrazzo.cell.interests import Interests
from terrazzo.cell.kind import Kinds
from terrazzo.cell.mail import Mail
from terrazzo.cell.moves import ClientMoves
from terrazzo.cell.offload import Offloads
from terrazzo.cell.parcels import Parcels
from terrazzo.cell.real import Real
from terrazzo.cell.riding import Riding
from terrazzo.cell.seeking import Seeking
from terrazzo.cell.space import Space
from terrazzo.cell.teleport import Teleports
from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.locator import Locator
from terrazzo.errors import EntityGone, UsageError
from terrazzo.game import LoadedGame
from terrazzo.schema.model import EntitySchema, Method
from terrazzo.sync.awaiting import Awaiting, Reply
from terrazzo.sync.gamecode import run_game_code, trace_of, words_of
from terrazzo.wire.entity.channel import ChannelLimits
from terrazzo.wire.entity.messages import Astray, Frame
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind, Part, PartId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import CallBase, CallCell, CreateReal, Moves
from terrazzo.wire.pairs.cell_cell import (
    CreateGhost,
    DeleteGhost,
    GhostCreated,
    GhostList,
    GhostPlaces,
    NextReal,
    Offload,
    OffloadNoted,
    OffloadRefused,
    OffloadUnreadable,
    Onloaded,
    Parcel,
    SetReal,
    UpdateGhost,
    WantGhosts,
    WantSnapshot,
)
from terrazzo.wire.pairs.cellmgr_cell import CellAppLoad, CellAppReady, CellLoad, CellRemoved, SpaceTree

T = TypeVar("T")

OFFLOAD_MARGIN_M = 3.0
TICK_S = 0.1
CLIENT_BITS_S = 20_000
"""What a client's program is sent at most, in the long run."""
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
        tick_s: float = TICK_S,
        client_bits_s: float = CLIENT_BITS_S,
        cpu_s: Callable[[], float] = lambda: 0.0,
        limits: ChannelLimits | None = None,
    ) -> None:
        """`cpu_s` gives the processor seconds that this process has used so far."""
        super().__init__(me, host)
        self.game = game
        self.account = Account()
        self.kinds = Kinds(game, self.account)
        self.tick = 0
        self.manager: AppId | None = None
        self.lost: set[AppId] = set()
        """Peers whose link is broken now."""
        self._linked: set[AppId] = set()
        self.counts: dict[str, int] = {}
        self.spaces: dict[int, Space] = {}
        self.bodies: dict[int, Body] = {}
        self.reals: dict[int, Real] = {}
        self.acting: Body | None = None
        """Whose code runs now."""
        self.awaiting = Awaiting(host, self._run_part, lambda part: self.reals[part.entity])
        self.tick_s = tick_s
        self.offload_margin_m = offload_margin_m
        self.exchange = CellExchange(self)
        self.switchboard = Switchboard(me, host, self.outbox, self.exchange, limits=limits)
        self.locator = Locator(self, self.switchboard)
        self.ground = Ground(self)
        self.ghosts = Ghosts(self)
        self.offloads = Offloads(self)
        self.teleports = Teleports(self)
        self.haunts = Haunts(self)
        self.parcels = Parcels(self)
        self.births = Births(self)
        self.moves = ClientMoves(self)
        self.clockwork = Clockwork(self)
        self.riding = Riding(self)
        self.seeking = Seeking(self)
        self.interests = Interests(self)
        self.feed = Feed(self, client_bits_s)
        self._ageing = Ageing(self.bodies, tick_s)
        self._mail = Mail(self)
        self.cpu_s = cpu_s
        self._load_at = host.now + LOAD_S
        self._doomed: dict[int, Real] = {}
        self._numbers: dict[AppId, int] = {}
        self._listen()
        host.join(AppId(AppKind.CELL_APP_MGR, 0, ANY_INCARNATION))
        self.locator.join()

    def _listen(self) -> None:
        self.on(Frame, self._on_frame)
        self.on(Astray, self.switchboard.on_message)
        self.on(SpaceTree, self.ground.on_space_tree)
        self.on(CellRemoved, self.ground.on_cell_removed)
        self.on(Moves, self.moves.on_moves)
        self.on(CreateGhost, self.ghosts.on_create)
        self.on(UpdateGhost, self.ghosts.on_update)
        self.on(GhostPlaces, self.ghosts.on_places)
        self.on(DeleteGhost, self.ghosts.on_delete)
        self.on(NextReal, self.ghosts.on_next_real)
        self.on(SetReal, self.ghosts.on_set_real)
        self.on(GhostList, self.ghosts.on_list)
        self.on(GhostCreated, self.haunts.on_created)
        self.on(WantSnapshot, self.haunts.on_want_snapshot)
        self.on(WantGhosts, self.seeking.on_want_ghosts)
        self.on(Offload, self.offloads.on_offload)
        self.on(OffloadUnreadable, self.offloads.on_unreadable)
        self.on(Parcel, self.parcels.on_parcel)
        self.on(Onloaded, self.offloads.on_onloaded)
        self.on(OffloadRefused, self.offloads.on_refused)
        self.on(OffloadNoted, self.offloads.answers.on_noted)
        self.answers(CreateReal, self.births.on_create_real)

    # Links and messages.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        self.locator.on_link_up(peer)
        if peer.kind is AppKind.CELL_APP_MGR:
            self.manager = peer
            self.send(peer, CellAppReady())
        elif peer.kind is AppKind.CELL_APP and peer in self.lost:
            self.haunts.on_link_up(peer)
            self.offloads.on_link_up(peer)
        self.lost.discard(peer)
        self._linked.add(peer)

    def on_link_lost(self, peer: AppId) -> None:
        """See App. Nobody is dead because a link broke: it is joined again."""
        super().on_link_lost(peer)
        self.switchboard.on_link_lost(peer)
        self.locator.on_link_lost(peer)
        self.lost.add(peer)
        self._linked.discard(peer)
        if peer == self.manager:
            self.manager = None
        if peer.kind is AppKind.CELL_APP:
            self.offloads.on_link_lost()
            self.host.join(peer)
        elif peer.kind is AppKind.CELL_APP_MGR:
            self.host.join(peer._replace(incarnation=ANY_INCARNATION))
        elif peer.kind is AppKind.BASE_APP_MGR:
            self.locator.join()

    def reaches(self, peer: AppId) -> bool:
        """Whether a link with a CellApp is up; if not, it is joined. A real is sent only over a link that is up: until
        it has come it has no timers and takes no calls."""
        if peer not in self._linked and peer != self.me:
            self.host.join(peer)
            return False
        return True

    def _on_frame(self, source: AppId, message: Frame) -> None:
        """Mail for a part whose ghost is here: the ghost knows better than the switchboard where the real is. So
        whoever sees an entity from this cell reaches it through this cell."""
        if message.to not in self.switchboard.boxes:
            body = self.bodies.get(message.to.entity)
            if body is not None and body.real is None and message.to == body.part and body.real_app != self.me:
                self.switchboard.learn(body.part, body.epoch, body.real_app)
        self.switchboard.on_message(source, message)

    # The tick.

    def on_tick(self) -> None:
        """See the module."""
        super().on_tick()
        self.tick += 1
        self.ghosts.on_tick()
        self.seeking.on_tick()
        self.teleports.on_tick()
        self.feed.on_tick()
        for part in self.switchboard.with_mail():
            real = self.reals.get(part.entity)
            if real is not None:
                self.confine(real.body, "mail", self._mail.take, real)
        self.awaiting.run()
        self.moves.run()
        self.clockwork.run()
        self.riding.run()
        self.interests.run()
        doomed = self._end_methods()
        self.haunts.close_steps()
        for real in doomed:
            self.confine(real.body, "end", self._take_down, real)
        self.haunts.tend()
        self.teleports.run()
        self.offloads.check()
        self.ground.run()
        self.feed.serve_all()
        self._ageing.run()
        self._flush()

    def _flush(self) -> None:
        now = self.host.now
        self.switchboard.on_tick()  # who has arrived here says so, then its client is told where others are
        self.feed.flush()
        if now >= self._load_at and self.manager is not None:
            self._load_at = now + LOAD_S
            self.send(self.manager, self._load())

    def _load(self) -> CellAppLoad:
        """The measured load of the process, divided among its cells by their reals: with more than one cell, an
        estimate."""
        load = self.host.cpu_load()
        cells = []
        for space in self.spaces.values():
            reals = sum(body.real is not None for body in space.bodies.values())
            share = None if load is None else load * reals / max(len(self.reals), 1)
            cells.append(CellLoad(space.id, share, reals, len(space.bodies) - reals))
        return CellAppLoad(load, tuple(cells))

    # Bodies.

    def space(self, id: int) -> Space:
        """The space of this number. A neighbour may speak of it before the manager does."""
        if id not in self.spaces:
            self.spaces[id] = Space(id, self.account.tally)
        return self.spaces[id]

    def add_body(self, body: Body) -> None:
        """A body begins here."""
        self.bodies[body.id] = body
        body.space.add(body)

    def remove_body(self, body: Body) -> None:
        """A body is no longer here; the witnesses that knew it tell their clients with the next look around."""
        del self.bodies[body.id]
        body.space.remove(body)

    def number_of(self, app: AppId) -> int:
        """A small number for an app, for the arrays."""
        return self._numbers.setdefault(app, len(self._numbers))

    def settle(self, real: Real) -> None:
        """A real begins here."""
        real.body.real = real
        real.body.space.area.set_real(real.body.slot, True)
        self.reals[real.body.id] = real

    def doom(self, real: Real) -> None:
        """It will be taken down when the game's code has run."""
        if not real.is_doomed:
            real.is_doomed = True
            self._doomed[real.body.id] = real

    def _end_methods(self) -> list[Real]:
        """Ends the methods of the doomed that wait for something. What they do then, or in a `finally`, may doom
        others: their methods end as well. Gives all reals to be taken down; one that is doomed later goes next tick.
        """
        ended: list[Real] = []
        while self._doomed:
            doomed, self._doomed = self._doomed, {}
            for real in doomed.values():
                self.awaiting.end(real.body.part, EntityGone, "the entity is being destroyed")
            ended += doomed.values()
        return ended

    def _take_down(self, real: Real) -> None:
        """The body ends here, whatever of its last words cannot be told."""
        body = real.body
        if real.witness is not None:
            self.confine(body, "last look of its client", self.feed.serve, real)
        self.confine(body, "end of its ghosts", self.haunts.end, real)
        self.feed.tell_base(real, self.feed.data_of(real, is_last=True))
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
            result = run_game_code(self.host, f"{body.label}, {what}, tick {self.tick}", function, *args)
        finally:
            self.acting = before
        if type(result) is not CoroutineType:
            return result
        if body.real is None or body.id not in self.reals:
            result.close()
            self.host.log("game error", what=f"{body.label}, {what}", error="it cannot be async: nothing can wait here")
        else:
            self.awaiting.begin(body.part, what, result)
        return None

    def _run_part(self, part: PartId, what: str, function: Callable[..., Any], *args: Any) -> None:
        """Runs code of a real that is here (see `Awaiting`)."""
        real = self.reals.get(part.entity)
        if real is not None:
            self.run(real.body, what, function, *args)
        else:
            self.count("method of an entity that is not here", part=str(part), method=what, tick=self.tick)
            run_game_code(self.host, f"{part}, {what}, tick {self.tick}", function, *args)

    def confine(self, body: Body, phase: str, function: Callable[..., T], *args: Any) -> T | None:
        """Does the work of a phase for one entity; None when it raised: see the module."""
        try:
            return function(*args)
        except AssertionError:
            raise
        except Exception as problem:
            self.report(body, phase, problem)
            return None

    def report(self, body: Body, phase: str, problem: Exception) -> None:
        """Counts and reports what the work of a phase for one entity raised."""
        what = f"{body.label}, {phase}, tick {self.tick}"
        self.count("entity work failed", what=what, error=words_of(problem), trace=trace_of(problem))

    def call(
        self, to: PartId, schema: EntitySchema, index: int, method: Method, args: bytes, timeout_s: float
    ) -> Reply | None:
        """The entity whose code runs now calls a part of another, or of itself; gives what it can await."""
        acting = self.acting
        if acting is None or acting.real is None:
            raise UsageError(
                f"{to} can be called only from the code of an entity: a call needs a caller, to be in order"
            )
        self.exchange.callees.note(to.entity, schema)
        reply = self.awaiting.ask(acting.part, acting.epoch, to, method, timeout_s)
        question = 0 if reply is None else reply.number
        call = CallCell(index, args, 0, question) if to.part is Part.CELL else CallBase(index, args, question)
        try:
            self.switchboard.send(acting.part, to, REGISTRY.encode(call))
        except UsageError:
            self.awaiting.withdraw(reply)
            raise
        return reply

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

    def tallies(self) -> dict[str, int]:
        """See ClusterApp."""
        return {**super().tallies(), **self.switchboard.counts, **self.counts}

    def view(self) -> dict[str, Any]:
        """What the console shows of this app."""
        spaces = {
            space.name: [
                (body.id, body.kind.name, body.real is not None, body.position[0], body.position[2])
                for body in space.bodies.values()
            ]
            for space in self.spaces.values()
        }
        return {
            "app": str(self.me),
            "tick": self.tick,
            "spaces": spaces,
            "bandwidth": self.account.lines(),
        }
