"""CellApp ↔ CellApp: ghosts, offloads, teleports (100–119).

`epoch` counts the homes of an entity's real; `number` counts the messages for its ghosts and is kept across offloads. A
ghost applies numbers strictly in order and holds early messages; an older epoch never undoes a newer one.

    real's app → ghost's app      CreateGhost, UpdateGhost, GhostPlaces, DeleteGhost, NextReal, SetReal, GhostList
    ghost's app → real's app      GhostCreated, WantSnapshot, WantGhosts
    the real itself               Offload, answered by Onloaded or OffloadRefused; that by OffloadNoted
    either                        Parcel: a CreateGhost or an Offload, compressed
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import AliasNumber, Byte, CountNumber, IndexNumber, Int32, UInt32
from terrazzo.wire.pairs.base_cell import Direction, Position

ENTITY_MAX = 4 << 20
"""The most bytes of a packed entity. A larger one has no ghosts, and stays in its cell (`cell/ghosts/placement.py`)."""
WANTED_MAX = 1024
"""Entities in one WantGhosts."""
DEFLATED_MORE = 8192
"""Incompressible data gets a little longer by compression."""
CHANGE = -1
PLACE = -2
RIDES = -3
"""The kinds of items that are no calls."""


class Item(NamedTuple):
    """One change or call of a step, in the order in which the game made it."""

    method: Int32
    """Internal index of a client method: a call for all other clients, `data` are its arguments. CHANGE: `data` is a
    change of a property (`schema.changes`, internal form). PLACE: the place changed, and is sent as an event, like a
    change, since it is not volatile; there is no data. RIDES: the ride changed (`sync.riding`)."""
    data: bytes


class PackedEvent(NamedTuple):
    """An item of a step as a message for other clients, without the alias of the entity. The path inside a property is
    packed by the sizes that the property had at that moment, so the message cannot be made again from the item."""

    subject: Int32
    """The property, method or place concerned; how it is sent follows from that (`cell/core/history.py`)."""
    message_id: IndexNumber
    body: bytes


class Step(NamedTuple):
    """The events of a step for other clients; steps without events are not kept."""

    number: CountNumber
    events: tuple[PackedEvent, ...]


class Past(NamedTuple):
    """An entity's recent steps, so that a witness can serve a client that lacks a few of them."""

    floor: CountNumber
    """Complete above this number."""
    steps: tuple[Step, ...]
    stamps: tuple[tuple[Int32, CountNumber], ...]
    """(subject, number of its last change)."""


@message(100, max_size=ENTITY_MAX)
class CreateGhost(Message, frozen=True):
    """Make a ghost of this entity; the sender has its real. Answered by GhostCreated."""

    entity: Int32
    type_id: IndexNumber
    space: IndexNumber
    epoch: CountNumber
    number: CountNumber
    """The number of the last step that is in it."""
    position: Position
    direction: Direction
    properties: bytes
    """The ghost layout."""
    base: AppId
    past: Past
    is_snapshot: bool = False
    """It mends a ghost with a gap: the ghost takes the whole state."""
    ride: bytes = b""
    """Its ride (`sync.riding`); empty: none."""


@message(101)
class UpdateGhost(Message, frozen=True):
    """One numbered step: the changes and calls, and the present place."""

    entity: Int32
    epoch: CountNumber
    number: CountNumber
    items: tuple[Item, ...]
    position: Position
    direction: Direction


@message(102)
class DeleteGhost(Message, frozen=True):
    """The sender, which has the real, does not need this ghost any more."""

    entity: Int32
    epoch: CountNumber
    number: CountNumber
    """The last step for the ghost: it ends after that step, however late that arrives."""
    is_destroyed: bool
    """The entity itself is gone, everywhere."""
    past: Past | None = None
    """The last events, if the message is repeated after steps may have been lost."""
    space: IndexNumber = 0
    """The space of the entity by then, if there is a past."""


@message(103, max_size=256)
class NextReal(Message, frozen=True):
    """The sender had the real and has sent it to `app`: from this epoch on the messages of `app` count."""

    entity: Int32
    epoch: CountNumber
    app: AppId


@message(104, max_size=256)
class SetReal(Message, frozen=True):
    """The sender has the real since `epoch`, with all steps up to this number. Answered by GhostCreated."""

    entity: Int32
    epoch: CountNumber
    number: CountNumber


class Timer(NamedTuple):
    """A packed timer."""

    number: CountNumber
    seconds: float
    """The time until it is due."""
    repeat: float
    """0: once."""


class PackedController(NamedTuple):
    """A packed controller (`cell/motion/controllers.py`)."""

    id: int
    kind: int
    data: bytes


class PackedProximity(NamedTuple):
    """A packed proximity trigger: the game has the entities inside already."""

    id: int
    radius: float
    inside: tuple[Int32, ...]


class PackedSeen(NamedTuple):
    """One entity that a client has."""

    entity: Int32
    alias: AliasNumber
    sent: CountNumber
    """The number of the last step of it that the client has."""
    flags: IndexNumber
    """The flags of `_speed/sight` and `cell/client/sent.py`: described, manual, withheld, in the area, …"""
    level: Byte = 255
    """The level of detail that the client has it at; 255: none yet."""
    away: tuple[tuple[Byte, CountNumber], ...] = ()
    """(level, number): levels nearer than that, and the step up to which the client has their properties."""


class PackedWitness(NamedTuple):
    """The record of what a client was sent, so that the next cell continues it."""

    witness: CountNumber
    radius: float
    hysteresis: float
    seen: tuple[PackedSeen, ...]
    left: tuple[tuple[Int32, CountNumber], ...]
    """(entity, lowest number at which it may enter again): entities that left lately."""
    resting: tuple[AliasNumber, ...]
    """Aliases that the client has not released yet."""
    deficit: float
    """Bytes that were sent beyond the budget."""


class PackedMover(NamedTuple):
    """The allowance of the moves of an entity's client."""

    number: UInt32
    """The number of the last move that was accepted or refused."""
    allowance_s: float
    corrected_s: float
    """Seconds since the client was corrected and has not confirmed that yet; -1: it has."""


class Jump(NamedTuple):
    """An offload that is a teleport."""

    space: IndexNumber
    position: Position
    direction: Direction
    near: tuple[Int32, ...] = ()
    """The entities of the client that are near the goal in the same space, as far as the former cell has their places:
    the new cell waits for them. Those far from it are not waited for."""


class PackedTeleport(NamedTuple):
    """A teleport that the game has requested, while the cell of its goal is not known yet
    (`cell/migration/teleport.py`)."""

    question: int
    space: str
    """Empty: beside the entity `target`, at `position` from it."""
    target: Int32
    position: Position
    direction: Direction | None
    """None: its direction by then."""
    seconds: float
    """The time until it fails."""


class OffloadUnreadable(Message, frozen=True):
    """Never sent; made by the receiver of an Offload that does not decode: the sender must get a refusal, or the real
    is lost."""

    entity: Int32
    epoch: CountNumber


def _salvage(raw: bytes | msgspec.Raw) -> OffloadUnreadable | None:
    """The entity and the epoch, if they can be read: the first and the fourth field of an Offload."""
    try:
        fields = msgspec.msgpack.decode(raw, type=list[msgspec.Raw])
        return OffloadUnreadable(
            msgspec.msgpack.decode(fields[0], type=Int32), msgspec.msgpack.decode(fields[3], type=CountNumber)
        )
    except (ValueError, IndexError, RecursionError):
        return None


@message(105, max_size=ENTITY_MAX, salvage=_salvage)
class Offload(Message, frozen=True):
    """The real itself: the receiver has it from here on. Answered by Onloaded; until then the sender keeps a copy."""

    entity: Int32
    type_id: IndexNumber
    space: IndexNumber
    epoch: CountNumber
    """The epoch of the new real: one more than that of the old."""
    number: CountNumber
    position: Position
    direction: Direction
    properties: bytes
    """The whole cell layout."""
    mailbox: bytes
    """`Switchboard.depart`."""
    ghost_apps: tuple[AppId, ...]
    """The apps with a ghost of it, the sender included, the receiver not."""
    base: AppId
    witness: PackedWitness | None
    timers: tuple[Timer, ...]
    next_number: CountNumber
    """The next number for a timer, a controller, a trigger or a question."""
    controllers: tuple[PackedController, ...]
    proximities: tuple[PackedProximity, ...]
    dbid: int
    mover: PackedMover
    past: Past
    jump: Jump | None = None
    """A teleport: to a cell without a ghost of it. Such an offload may be refused."""
    teleport: PackedTeleport | None = None
    """A requested teleport, which moves with the real."""
    ride: bytes = b""
    """As in CreateGhost."""
    version: CountNumber = 0
    """The version of the sender's tree of the space: a newer tree shows the receiver which of these apps have left."""
    first: CountNumber = 0
    """The number with which it began at the sender. Every later step was sent over this link before this message."""
    space_data: CountNumber = 0
    """The version of the data of its space that its code and its client have."""


@message(106, max_size=256)
class Onloaded(Message, frozen=True):
    """The real arrived."""

    entity: Int32
    epoch: CountNumber


@message(107, max_size=1024)
class OffloadRefused(Message, frozen=True):
    """The real was not taken in: the sender still has it. A teleport may be refused, and an Offload that does not
    decode."""

    entity: Int32
    epoch: CountNumber
    reason: str


@message(108, max_size=256)
class GhostCreated(Message, frozen=True):
    """The ghost exists; `epoch` is its present one (higher than the asker's if another home was quicker)."""

    entity: Int32
    epoch: CountNumber


@message(109, max_size=256)
class WantSnapshot(Message, frozen=True):
    """A step after `number` has not come for too long: send the whole ghost again (CreateGhost, is_snapshot). A
    real that has no ghost there answers with DeleteGhost, a ghost with another home with NextReal, and an app with a
    tombstone with the end; an app without any of these does not answer, and the asker gives up in time."""

    entity: Int32
    number: CountNumber


@message(110)
class GhostPlaces(Message, frozen=True):
    """Steps in which only the place changed, of many entities of one space: rows of `_speed.area`."""

    space: IndexNumber
    rows: bytes


@message(111)
class GhostList(Message, frozen=True):
    """After a link came up again (and a SetReal for each): all entities of the sender with a ghost at the receiver. The
    receiver must ask for any other ghost that it has of the sender."""

    entities: tuple[Int32, ...]


@message(112, max_size=ENTITY_MAX + DEFLATED_MORE)
class Parcel(Message, frozen=True):
    """A CreateGhost or an Offload, encoded and deflated (`cell/core/parcels.py`)."""

    data: bytes


@message(113, max_size=256)
class OffloadNoted(Message, frozen=True):
    """Answers Onloaded and OffloadRefused: the sender has no copy of this Offload any more
    (`cell/migration/answers.py`)."""

    entity: Int32
    epoch: CountNumber


@message(114, max_size=16 * WANTED_MAX)
class WantGhosts(Message, frozen=True):
    """A real of the sender has these entities in its area, and the sender has no body of them
    (`cell/ghosts/seeking.py`). The answer for a near real of this space is CreateGhost, for any other DeleteGhost; for
    a ghost or a stub NextReal, which may name the sender itself: then the real is on its way to it. For a real of
    another space with a ghost there, the answer is NextReal, too, with the name of the app that answers."""

    space: IndexNumber
    position: Position
    """The position of that real."""
    entities: Annotated[tuple[Int32, ...], Meta(max_length=WANTED_MAX)]
