"""CellApp: runs one cell of each space that it was given, and everything that lives there.

A tick has a fixed order, and each phase relies on the one before:

    1 waits        held messages, arrivals, teleports and questions that time out; clients that were sent away
    2 mail         calls, answers and requests of bases and other entities      ┐
      data         what has changed of the data of a space                      │
    3 moves        what clients report of their places                          │
    4 clockwork    timers of the game, controllers that walk and turn           ├ code of the game runs here
      riding       each rider is put where its vehicle is now                   │
    5 areas        which entities came near which, and which left; hooks run    ┘
                   after 2, 4 and 5 those are born that the code of the game has spawned
    6 steps        the changes of each real are closed into one numbered step, which is sent to its ghosts
    7 destroyed    reals that were destroyed are taken down, after their last step; those in an ended space, too
    8 ghosts       ghosts are made and deleted as places have changed
    9 offloads     reals at a place in another app's cell leave (`on_leaving_cell` runs, their step is closed again)
      and ground   the manager is sent how the cells are
   10 witnesses    each client is sent what is new around it
   11 flush        load to the manager, places to the BaseApps, mail to all

From phase 6 on the state of each real fits its number: ghosts, offloads and witnesses may take it as it is. Messages
arrive between ticks. Those about ghosts are applied at once, since they change ghosts only; moves and mail wait for the
tick.

This module has the phases, and what is wired to what; the work is in the rooms (`cell/__init__.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from terrazzo.cell.api.classes import classes_of
from terrazzo.cell.client.clients import Clients
from terrazzo.cell.client.interests import Interests
from terrazzo.cell.client.moves import ClientMoves
from terrazzo.cell.client.scheduler import ClientScheduler
from terrazzo.cell.client.space_data import SpaceDataFeed
from terrazzo.cell.client.witness import Around
from terrazzo.cell.core.account import SentAccount
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.destinations import Destinations
from terrazzo.cell.core.history import Ageing
from terrazzo.cell.core.kind import Kinds
from terrazzo.cell.core.members import FormerMembers
from terrazzo.cell.core.parcels import Parcels
from terrazzo.cell.core.real import Real
from terrazzo.cell.core.services import CellServices
from terrazzo.cell.core.steps import Steps
from terrazzo.cell.ghosts.placement import GhostPlacement
from terrazzo.cell.ghosts.receiver import GhostReceiver
from terrazzo.cell.ghosts.seeking import Seeking
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.cell.ground import Ground
from terrazzo.cell.mail.births import Births
from terrazzo.cell.mail.creation import Creation
from terrazzo.cell.mail.exchange import CellExchange
from terrazzo.cell.mail.mail import Mail
from terrazzo.cell.mail.whereabouts import CellWhereabouts
from terrazzo.cell.migration.arrival import Arrivals
from terrazzo.cell.migration.offload import Offloads
from terrazzo.cell.migration.teleport import Teleports
from terrazzo.cell.migration.travelling import Travelling
from terrazzo.cell.motion.clockwork import Clockwork
from terrazzo.cell.motion.riding import Riding
from terrazzo.cluster.app import LOAD_S, Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.idstock import IdStock
from terrazzo.cluster.locator import Locator
from terrazzo.errors import EntityGone
from terrazzo.game import LoadedGame
from terrazzo.sync.asking import Asker
from terrazzo.sync.creating import Creator
from terrazzo.sync.lookup import Lookup
from terrazzo.sync.spaces import SpaceAsker
from terrazzo.sync.stored import StoredEntities
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.messages import Astray, Frame, Frames
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import Count, LogEvent
from terrazzo.wire.messages import Refusal
from terrazzo.wire.pairs.base_cell import CreateReal, Moves
from terrazzo.wire.pairs.basemgr_base import Locate
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
from terrazzo.wire.pairs.cellmgr_cell import (
    CellAppLoad,
    CellAppReady,
    CellLoad,
    CellRemoved,
    SpaceData,
    SpaceEnded,
    SpaceTree,
)

OFFLOAD_MARGIN_M = 3.0
TICK_S = 0.1
CLIENT_BITS_S = 20_000
"""What a client's program is sent at most, in the long run."""
IDS = 4096
"""Ids of entities without a base part that are asked for at a time."""


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
        self._has_cell_only = any(each.cell_only for each in game.schema.entities)
        self.exchange = CellExchange()
        self.switchboard = Switchboard(me, host, self.outbox, self.exchange, limits=limits)
        self.locator = Locator(self, self.switchboard)
        account = SentAccount()
        kinds = Kinds(game, account, classes_of)
        self.core = core = Core(
            me, host, game, kinds, account, self.outbox, self.switchboard,
            tick_s=tick_s, offload_margin_m=offload_margin_m,
        )  # fmt: skip
        self.links = core.links
        self.spaces, self.bodies, self.reals, self.counts = core.spaces, core.bodies, core.reals, core.counts
        self._asker = Asker(host, self.requests, lambda: self.locator.manager, "BaseAppMgr")
        core.lookup = Lookup(core.awaiting, self._asker)
        core.stored = StoredEntities(host, core.awaiting, self._asker)
        self.ids = IdStock(host, self.requests, lambda: self.locator.manager, run=IDS)
        self.births = Births(core, self.ids)
        self.creator = Creator(me, host, self.requests, lambda: self.locator.manager)
        core.creator = self.creator
        self.space_asker = SpaceAsker(host, self.requests, core.awaiting, lambda: self.links.manager)
        core.space_asker = self.space_asker
        self._load_at = host.now + LOAD_S
        self._build_ghosts()
        self._build_clients(client_bits_s, cpu_s)
        self._build_migration()
        self._build_mail()
        self._ageing = Ageing(self.bodies, tick_s)
        self._listen()
        host.join(AppId(AppKind.CELL_APP_MGR, 0, ANY_INCARNATION))
        self.locator.join()

    # What is wired to what.

    def _build_ghosts(self) -> None:
        core = self.core
        self.steps = Steps(core)
        self.former = FormerMembers(core.spaces)
        self.destinations = Destinations(core)
        self.parcels = Parcels(core, self.on_message)
        self.tombstones = Tombstones()
        self.placement = GhostPlacement(core, self.destinations, self.former, self.parcels)
        self.seeking = Seeking(core, self.placement, self.former, self.tombstones)
        self.receiver = GhostReceiver(
            core, self.tombstones, self.seeking, lambda message: self.offloads.begin_real(message)
        )

    def _build_clients(self, client_bits_s: float, cpu_s: Callable[[], float]) -> None:
        core = self.core
        self.interests = Interests(core, self.seeking)
        self.moves = ClientMoves(core)
        self.space_data = SpaceDataFeed(core)
        self.clients = Clients(core, Around(self.interests, self.seeking, self.tombstones), self.moves)
        self.scheduler = ClientScheduler(core, self.clients, client_bits_s, cpu_s)
        core.real_ended += [self.moves.leave, self.interests.end, self.clients.end, self.placement.forget]

    def _build_migration(self) -> None:
        core = self.core
        self.clockwork = Clockwork(core)
        self.riding = Riding(core, self.moves, self.seeking, self.tombstones)
        self.teleports = Teleports(
            core, self.requests, self.moves, self.riding, self.interests, lambda *trip: self.offloads.offload(*trip)
        )
        self.travelling = Travelling(
            core, self.placement, self.interests, self.clients, self.moves, self.riding, self.teleports, self.space_data
        )  # fmt: skip
        self.offloads = Offloads(
            core,
            destinations=self.destinations,
            former=self.former,
            parcels=self.parcels,
            placement=self.placement,
            receiver=self.receiver,
            interests=self.interests,
            scheduler=self.scheduler,
            teleports=self.teleports,
            travelling=self.travelling,
            arrivals=Arrivals(core, self.receiver, self.travelling, self.seeking),
            on_arrived=self.exchange.on_arrived,
        )
        self.ground = Ground(core, self.former, self.offloads, self.receiver, self.moves)
        core.moves, core.services = self.moves, CellServices(self.teleports, self.riding, self.interests, self.births)

    def _build_mail(self) -> None:
        self.creation = Creation(
            self.core, self.requests, self.receiver, forget_kept=self.offloads.forget_kept
        )  # fmt: skip
        self.mail = Mail(self.core, self.clients, self.scheduler, self.teleports)
        self.exchange.connect(
            self.core,
            find=self.locator.find,
            on_ended=self.creation.on_ended,
            on_question_undelivered=self.teleports.on_undelivered,
        )

    def _listen(self) -> None:
        self.on(Frame, self._on_frame)
        self.on(Frames, self._on_frames)
        self.on(Astray, self.switchboard.on_message)
        self.on(SpaceTree, self.ground.on_space_tree)
        self.on(CellRemoved, self.ground.on_cell_removed)
        self.on(SpaceEnded, self.ground.on_space_ended)
        self.on(SpaceData, self.space_data.on_space_data)
        self.on(Moves, self.moves.on_moves)
        self.on(CreateGhost, self.receiver.on_create)
        self.on(UpdateGhost, self.receiver.on_update)
        self.on(GhostPlaces, self.receiver.on_places)
        self.on(DeleteGhost, self.receiver.on_delete)
        self.on(NextReal, self.receiver.on_next_real)
        self.on(SetReal, self.receiver.on_set_real)
        self.on(GhostList, self.receiver.on_list)
        self.on(GhostCreated, self.placement.on_created)
        self.on(WantSnapshot, self.placement.on_want_snapshot)
        self.on(WantGhosts, self.seeking.on_want_ghosts)
        self.on(Offload, self.offloads.on_offload)
        self.on(OffloadUnreadable, self.offloads.on_unreadable)
        self.on(Parcel, self.parcels.on_parcel)
        self.on(Onloaded, self.offloads.on_onloaded)
        self.on(OffloadRefused, self.offloads.on_refused)
        self.on(OffloadNoted, self.offloads.answers.on_noted)
        self.answers(CreateReal, self.creation.on_create_real)
        self.answers(Locate, CellWhereabouts(self.core, self.requests, self.offloads.kept).on_locate)

    # Links and messages.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        self.locator.on_link_up(peer)
        if peer.kind is AppKind.CELL_APP_MGR:
            self.links.manager = peer
            self.send(peer, CellAppReady())
        elif peer.kind is AppKind.CELL_APP and peer in self.links.lost:
            self.placement.on_link_up(peer)
            self.offloads.on_link_up(peer)
        self.links.up(peer)

    def on_link_lost(self, peer: AppId) -> None:
        """See App. The loss of a link does not mean that the peer is dead: the peer is joined again."""
        super().on_link_lost(peer)
        self.switchboard.on_link_lost(peer)
        self.locator.on_link_lost(peer)
        self.links.down(peer)
        if peer.kind is AppKind.CELL_APP:
            self.offloads.on_link_lost()
            self.host.join(peer)
        elif peer.kind is AppKind.CELL_APP_MGR:
            self.host.join(peer._replace(incarnation=ANY_INCARNATION))
        elif peer.kind is AppKind.BASE_APP_MGR:
            self.locator.join()

    def _on_frame(self, source: AppId, message: Frame) -> None:
        """Mail for a part with a ghost here: the ghost has a newer place of the real than the switchboard. So an
        entity that has the ghost in this cell reaches the real through this cell."""
        if not self.switchboard.is_here(message.to):
            body = self.bodies.get(message.to.entity)
            if body is not None and body.real is None and message.to == body.part and body.real_app != self.me:
                self.switchboard.learn(body.part, body.epoch, body.real_app)
        self.switchboard.on_message(source, message)

    def _on_frames(self, source: AppId, message: Frames) -> None:
        if not self.switchboard.on_frames(source, message, self._on_frame):
            self._refuse(source, message, Refusal.MALFORMED)

    # The tick.

    def on_tick(self) -> None:
        """See the module."""
        super().on_tick()
        self.core.tick += 1
        self._asker.on_tick()
        self.creator.on_tick()
        self.space_asker.on_tick()
        if self._has_cell_only:
            self.ids.serve()
        self.receiver.on_tick()
        self.seeking.on_tick()
        self.teleports.on_tick()
        self.scheduler.on_tick()
        self.mail.run()
        self.core.awaiting.run()
        self.space_data.run()
        self.births.run()
        self.moves.run()
        self.clockwork.run()
        self.births.run()
        self.riding.run()
        self.interests.run()
        self.births.run()
        self.ground.end_reals()
        destroyed = self._end_methods()
        self.steps.close_all()
        for real in destroyed:
            self.core.confine(real.body, "end", self._take_down, real)
        self.placement.tend()
        self.teleports.run()
        self.offloads.check()
        self.ground.run()
        self.scheduler.serve_all()
        self._ageing.run()
        self._flush()

    def _flush(self) -> None:
        now = self.host.now
        self.switchboard.on_tick()  # arrived parts report that before their clients get places
        self.scheduler.flush()
        manager = self.links.manager
        if now >= self._load_at and manager is not None:
            self._load_at = now + LOAD_S
            self.send(manager, self._load())

    def _load(self) -> CellAppLoad:
        """The measured load of the process, divided among its cells by their reals: with more than one cell, an
        estimate."""
        load = self.host.process_load().busy
        cells = []
        for space in self.spaces.values():
            reals = sum(body.real is not None for body in space.bodies.values())
            share = None if load is None else load * reals / max(len(self.reals), 1)
            cells.append(CellLoad(space.id, share, reals, len(space.bodies) - reals))
        return CellAppLoad(load, tuple(cells))

    # The end of a real.

    def _end_methods(self) -> list[Real]:
        """Ends the methods that wait for something, of the reals that are being destroyed. What such a method does
        then, or in a `finally`, may destroy others: their methods end as well. Gives all reals to be taken down; one
        that is destroyed later is taken down in the next tick."""
        core, ended = self.core, list[Real]()
        while core.destroyed:
            destroyed, core.destroyed = core.destroyed, {}
            for real in destroyed.values():
                core.awaiting.end(real.body.part, EntityGone, "the entity is being destroyed")
            ended += destroyed.values()
        return ended

    def _take_down(self, real: Real) -> None:
        """The body ends here, even if some of its last messages cannot be sent."""
        core, body = self.core, real.body
        if real.witness is not None:
            core.confine(body, "last look of its client", self.scheduler.serve, real)
        core.confine(body, "end of its ghosts", self.placement.end, real)
        if not body.kind.schema.cell_only:
            self.scheduler.send_to_base(real, self.scheduler.data_of(real, is_last=True))
        self.switchboard.destroy(body.part)
        core.unregister_real(real)
        self.receiver.remove(body, body.epoch, is_destroyed=True)

    # For people.

    def queues(self) -> dict[str, int]:
        """See ClusterApp."""
        return {**super().queues(), "mail": self.switchboard.mail_count()}

    def tallies(self) -> Mapping[LogEvent | Count, int]:
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
            "tick": self.core.tick,
            "spaces": spaces,
            "bandwidth": self.core.account.lines(),
        }
