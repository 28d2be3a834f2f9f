"""What of a real travels: one entry for each part, with how it is packed and how it goes on at the new home.

An Offload carries a real to another CellApp, or within this one to another space; a real that was refused comes back
from the same message. Each field of Offload belongs to exactly one entry here, and a test holds that: a new field that
no entry packs and unpacks fails (`tests/cell/test_travelling.py`).

    WHOLE      what the body is made of, before there is a real (`cell/migration/arrival.py`)
    own        timers, controllers, mover: they go on before the real is registered
    around     ride, ghosts, triggers, client, jump, data of the space, teleport: they go on, in this order, when it is
               registered
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from terrazzo.cell.client.clients import Clients
from terrazzo.cell.client.interests import Interests
from terrazzo.cell.client.moves import ClientMoves
from terrazzo.cell.client.space_data import SpaceDataFeed
from terrazzo.cell.core.body import pack_ride
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts.placement import GhostPlacement
from terrazzo.cell.migration.teleport import Teleports
from terrazzo.cell.motion.controllers import unpack_controllers
from terrazzo.cell.motion.riding import Riding
from terrazzo.errors import DecodeError
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cell_cell import DeleteGhost, Jump, Offload


class Trip(NamedTuple):
    """One departure."""

    to: AppId
    epoch: int
    mailbox: bytes
    jump: Jump | None


class TravelEntry(NamedTuple):
    """A part of a real that travels."""

    fields: tuple[str, ...]
    """Of Offload."""
    pack: Callable[[Real, Trip], tuple[Any, ...]]
    """The values of the fields."""
    unpack: Callable[[Real, Offload], None]
    """The part goes on, in a real that has just been made."""


WHOLE = (
    "entity", "type_id", "space", "epoch", "number", "position", "direction", "properties", "mailbox", "base", "past",
    "dbid",
)  # fmt: skip
"""The fields that a body, its mailbox and its real are made of."""


def pack_whole(core: Core, real: Real, trip: Trip) -> tuple[Any, ...]:
    """The values of WHOLE."""
    body = real.body
    return (
        body.id, body.kind.schema.type_id, body.space.id, trip.epoch, body.number, body.position, body.direction,
        body.state.encode(), trip.mailbox, core.base_of(body), body.history.pack(), real.dbid,
    )  # fmt: skip


class Travelling:
    """Packs the reals of one CellApp, and unpacks those that arrive."""

    def __init__(
        self,
        core: Core,
        placement: GhostPlacement,
        interests: Interests,
        clients: Clients,
        moves: ClientMoves,
        riding: Riding,
        teleports: Teleports,
        feed: SpaceDataFeed,
    ) -> None:
        self._core = core
        self._placement = placement
        self._riding = riding
        host = core.host
        self.own = (
            TravelEntry(
                ("timers", "next_number"),
                lambda real, trip: (real.timers.pack(host.now), real.timers.next_number),
                lambda real, message: real.timers.unpack(message.timers, message.next_number, host.now),
            ),
            TravelEntry(("controllers",), lambda real, trip: (real.controllers.pack(),), self._unpack_controllers),
            TravelEntry(("mover",), lambda real, trip: (moves.pack(real),), _unpack_mover),
        )
        self.around = (
            TravelEntry(
                ("ride",), lambda real, trip: (pack_ride(real.body),), lambda real, message: riding.enter(real)
            ),
            TravelEntry(("ghost_apps", "version", "first"), self._pack_ghosts, self._unpack_ghosts),
            TravelEntry(
                ("proximities",),
                lambda real, trip: (interests.pack(real),),
                lambda real, message: interests.unpack(real, message.proximities),
            ),
            TravelEntry(("witness",), _pack_witness, lambda real, message: clients.unpack(real, message.witness)),
            TravelEntry(("jump",), _pack_jump, self._unpack_jump),
            TravelEntry(
                ("space_data",),
                lambda real, trip: (real.space_data,),
                lambda real, message: feed.arrive(real, message.space, message.space_data),
            ),
            TravelEntry(
                ("teleport",),
                lambda real, trip: (teleports.pack(real),),
                lambda real, message: teleports.unpack(real, message.teleport),
            ),
        )

    @property
    def parts(self) -> tuple[TravelEntry, ...]:
        """All entries, in the order in which they go on."""
        return (*self.own, *self.around)

    def pack(self, real: Real, trip: Trip) -> Offload:
        """Everything of a real and its mailbox, which are still here."""
        fields = dict(zip(WHOLE, pack_whole(self._core, real, trip), strict=True))
        for part in self.parts:
            fields.update(zip(part.fields, part.pack(real, trip), strict=True))
        return Offload(**fields)

    def unpack_own(self, real: Real, message: Offload) -> None:
        """The first parts go on, in a real that was made from the same message and is not registered yet."""
        for part in self.own:
            part.unpack(real, message)

    def unpack_around(self, real: Real, message: Offload) -> None:
        """The other parts go on."""
        for part in self.around:
            part.unpack(real, message)

    def _unpack_controllers(self, real: Real, message: Offload) -> None:
        try:
            unpack_controllers(real.controllers, message.controllers)
        except DecodeError as problem:
            self._core.count(LogEvent.CONTROLLERS_MALFORMED, entity=real.body.id, problem=str(problem))

    def _pack_ghosts(self, real: Real, trip: Trip) -> tuple[Any, ...]:
        """Where its ghosts are, by which tree, and the first number that this home has sent them."""
        ghosts = tuple(each for each in (*real.ghosts, self._core.me) if each != trip.to)
        return ghosts, real.body.space.version, real.first

    def _unpack_ghosts(self, real: Real, message: Offload) -> None:
        """The ghosts follow the real here; those of a space that it has left are deleted."""
        if real.body.space.id == message.space:
            self._placement.adopt(real, message.ghost_apps, message.version)
            return
        for app in message.ghost_apps:
            if app != self._core.me:
                gone = DeleteGhost(message.entity, message.epoch, message.number, is_destroyed=False)
                self._core.send(app, gone)

    def _unpack_jump(self, real: Real, message: Offload) -> None:
        """A real that was teleported is put where it was to go."""
        jump = message.jump
        if jump is not None:
            real.body.space.place(real.body, jump.position, jump.direction)
            if real.witness is not None:
                real.witness.jump(message.space, jump.near)
            self._riding.alight(real)


def _unpack_mover(real: Real, message: Offload) -> None:
    real.mover = message.mover


def _pack_witness(real: Real, trip: Trip) -> tuple[Any, ...]:
    return (None if real.witness is None else real.witness.pack(),)


def _pack_jump(real: Real, trip: Trip) -> tuple[Any, ...]:
    """A jump, with the entities that the client sees from both ends of it."""
    jump = trip.jump
    if jump is None or real.witness is None or jump.space != real.body.space.id:
        return (jump,)
    return (jump._replace(near=real.witness.near(jump.position)),)
