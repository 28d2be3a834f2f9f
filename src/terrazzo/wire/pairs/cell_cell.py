"""CellApp ↔ CellApp: ghosts, offloads, teleports (100–119).

`epoch` counts the homes of an entity's real; `number` runs over everything that goes to its ghosts and is kept across
offloads. A ghost applies numbers strictly in order and holds what comes early; an older epoch never undoes a newer one.

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
from terrazzo.wire.numbers import Alias, Byte, Count, Index, Int32, UInt32
from terrazzo.wire.pairs.base_cell import Direction, Position

ENTITY_MAX = 4 << 20
"""Bytes of a whole entity on its way. What is larger has no ghosts, and stays where it is
(`cell/ghosts/placement.py`)."""
WANTED_MAX = 1024
"""Entities in one WantGhosts."""
DEFLATED_MORE = 8192
"""What cannot be compressed gets a little longer by it."""
CHANGE = -1
PLACE = -2
RIDES = -3
"""What an item is that is no call."""


class Item(NamedTuple):
    """One thing of a step, in the order in which the game did it."""

    method: Int32
    """Internal index of a client method: a call that every other client hears, `data` are its arguments. CHANGE: `data`
    is a change of a property (`schema.changes`, internal form). PLACE: where the entity is is told as an event, like a
    change, since it is not volatile; there is no data. RIDES: what it stands on (`sync.riding`)."""
    data: bytes


class PackedEvent(NamedTuple):
    """What an item of a step is for other clients: a message that lacks only the alias of the entity. The path inside a
    property is packed by the sizes that the property had at that moment, so it cannot be made again from the item."""

    subject: Int32
    """What it is about; how it is told follows from that (`cell/core/history.py`)."""
    message_id: Index
    body: bytes


class Step(NamedTuple):
    """What a step told other clients; steps that told nothing are not kept."""

    number: Count
    events: tuple[PackedEvent, ...]


class Past(NamedTuple):
    """An entity's recent steps, so that a witness whose client has a little less can be told from here."""

    floor: Count
    """Complete above this number."""
    steps: tuple[Step, ...]
    stamps: tuple[tuple[Int32, Count], ...]
    """(subject, number of its last change)."""


@message(100, max_size=ENTITY_MAX)
class CreateGhost(Message, frozen=True):
    """Hold a ghost of this entity, whose real is with the sender. Answered by GhostCreated."""

    entity: Int32
    type_id: Index
    space: Index
    epoch: Count
    number: Count
    """The number of the last step that is in it."""
    position: Position
    direction: Direction
    properties: bytes
    """The ghost layout."""
    base: AppId
    past: Past
    is_snapshot: bool = False
    """It mends a ghost that has a gap: take it whole, whatever is between."""
    ride: bytes = b""
    """What it stands on (`sync.riding`); empty: nothing."""


@message(101)
class UpdateGhost(Message, frozen=True):
    """One numbered step: what the game did, and where the entity is now."""

    entity: Int32
    epoch: Count
    number: Count
    items: tuple[Item, ...]
    position: Position
    direction: Direction


@message(102)
class DeleteGhost(Message, frozen=True):
    """The real with the sender needs this ghost no longer."""

    entity: Int32
    epoch: Count
    number: Count
    """The last step that the ghost is told: its end comes after that, however late that is."""
    is_destroyed: bool
    """The entity itself is gone, everywhere."""
    past: Past | None = None
    """When it is said again after steps may have been lost: its last words."""
    space: Index = 0
    """Where the entity is by then, if there is a past."""


@message(103, max_size=256)
class NextReal(Message, frozen=True):
    """The sender, who had the real, has sent it to `app`: from epoch on its word counts."""

    entity: Int32
    epoch: Count
    app: AppId


@message(104, max_size=256)
class SetReal(Message, frozen=True):
    """The sender has the real since `epoch`, and told its ghosts up to this number. Answered by GhostCreated."""

    entity: Int32
    epoch: Count
    number: Count


class Timer(NamedTuple):
    """A timer at rest."""

    number: Count
    seconds: float
    """Until it is due."""
    repeat: float
    """0: once."""


class PackedController(NamedTuple):
    """A running controller (`cell/motion/controllers.py`) at rest."""

    id: int
    kind: int
    data: bytes


class PackedProximity(NamedTuple):
    """A proximity trigger at rest: who is inside is known to the game already."""

    id: int
    radius: float
    inside: tuple[Int32, ...]


class PackedSeen(NamedTuple):
    """One entity that a client has been told of."""

    entity: Int32
    alias: Alias
    sent: Count
    """The number of the last step of it that the client has."""
    flags: Index
    """Of `_speed/sight` and `cell/client/sent.py`: described, manual, withheld, in the area, …"""
    level: Byte = 255
    """The level of detail that the client has it at; 255: none yet."""
    away: tuple[tuple[Byte, Count], ...] = ()
    """(level, number): levels nearer than that, and up to which step the client knows what belongs to them."""


class PackedWitness(NamedTuple):
    """What a client has been told, so that the next cell goes on without a seam."""

    witness: Count
    radius: float
    hysteresis: float
    seen: tuple[PackedSeen, ...]
    left: tuple[tuple[Int32, Count], ...]
    """(entity, lowest number at which it may enter again): it has left lately."""
    resting: tuple[Alias, ...]
    """Aliases that the client has not yet given back."""
    deficit: float
    """Bytes that were sent beyond the budget."""


class PackedMover(NamedTuple):
    """How far the client of an entity may have come."""

    number: UInt32
    """Of the last move that was believed or refused."""
    allowance_s: float
    corrected_s: float
    """Seconds since it was put back and has not understood yet; -1: it has."""


class Jump(NamedTuple):
    """An offload that is a teleport."""

    space: Index
    position: Position
    direction: Direction
    near: tuple[Int32, ...] = ()
    """Whom the client knows, and who are near that place in the same space, as far as it is known where it leaves: they
    are waited for there. Who is far from it is not."""


class PackedTeleport(NamedTuple):
    """A teleport that the game has asked for, and of which it is not yet known where it goes
    (`cell/migration/teleport.py`)."""

    question: int
    space: str
    """Empty: beside the entity `target`, at `position` from it."""
    target: Int32
    position: Position
    direction: Direction | None
    """None: as it will look by then."""
    seconds: float
    """Until it is given up."""


class OffloadUnreadable(Message, frozen=True):
    """Not sent, but made where an Offload has come that does not decode: its sender must receive a refusal, or
    the real is lost."""

    entity: Int32
    epoch: Count


def _salvage(raw: bytes | msgspec.Raw) -> OffloadUnreadable | None:
    """Which entity it was about, if that can be read: the first and the fourth field of an Offload."""
    try:
        fields = msgspec.msgpack.decode(raw, type=list[msgspec.Raw])
        return OffloadUnreadable(
            msgspec.msgpack.decode(fields[0], type=Int32), msgspec.msgpack.decode(fields[3], type=Count)
        )
    except (ValueError, IndexError, RecursionError):
        return None


@message(105, max_size=ENTITY_MAX, salvage=_salvage)
class Offload(Message, frozen=True):
    """The real itself: the receiver has it from here on. Answered by Onloaded; until then the sender keeps a copy."""

    entity: Int32
    type_id: Index
    space: Index
    epoch: Count
    """Of the new real: one more than of the old."""
    number: Count
    position: Position
    direction: Direction
    properties: bytes
    """The whole cell layout."""
    mailbox: bytes
    """`Switchboard.depart`."""
    haunts: tuple[AppId, ...]
    """Where it has ghosts, the sender included, the receiver not."""
    base: AppId
    witness: PackedWitness | None
    timers: tuple[Timer, ...]
    next_number: Count
    """The next that is drawn for a timer, a controller, a trigger or a question."""
    controllers: tuple[PackedController, ...]
    proximities: tuple[PackedProximity, ...]
    dbid: int
    mover: PackedMover
    past: Past
    jump: Jump | None = None
    """A teleport: it goes there, where no ghost of it was. Such an offload may be refused."""
    teleport: PackedTeleport | None = None
    """A wish that travels along."""
    ride: bytes = b""
    """As of a ghost."""
    version: Count = 0
    """Of the tree that the sender has of the space: by a newer one the receiver can tell which haunts have left."""
    first: Count = 0
    """The number with which it began at the sender. Every later step was sent over this link before this message."""


@message(106, max_size=256)
class Onloaded(Message, frozen=True):
    """The real arrived."""

    entity: Int32
    epoch: Count


@message(107, max_size=1024)
class OffloadRefused(Message, frozen=True):
    """The real was not taken in: it is still the sender's. A teleport may be refused, and what does not decode."""

    entity: Int32
    epoch: Count
    reason: str


@message(108, max_size=256)
class GhostCreated(Message, frozen=True):
    """The ghost is here; `epoch` is the one that it has by now (higher than the asker's: another was quicker)."""

    entity: Int32
    epoch: Count


@message(109, max_size=256)
class WantSnapshot(Message, frozen=True):
    """A step after `number` has not come for too long: send the whole ghost again (CreateGhost, is_snapshot). A
    real that has no ghost there answers with DeleteGhost, a ghost that knows of another home with NextReal, and who has
    seen the entity's end with that; who knows nothing is silent, and the asker gives up in time."""

    entity: Int32
    number: Count


@message(110)
class GhostPlaces(Message, frozen=True):
    """Steps in which nothing but the place changed, of many entities of one space: rows of `_speed.area`."""

    space: Index
    rows: bytes


@message(111)
class GhostList(Message, frozen=True):
    """After a link came up again (and a SetReal for each): these are all entities of mine that have a ghost with you.
    What you have of me beside these you should ask for."""

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
    epoch: Count


@message(114, max_size=16 * WANTED_MAX)
class WantGhosts(Message, frozen=True):
    """A real of the sender knows these entities, of which the sender has no body (`cell/ghosts/seeking.py`). A real of
    this
    space that is near is answered with CreateGhost, any other with DeleteGhost; a ghost or a stub with NextReal, which
    may name the sender itself: then the real is on its way to it. A real of another space that has a ghost there is
    answered with NextReal, too, which names the app that answers."""

    space: Index
    position: Position
    """Where the real is that knows them."""
    entities: Annotated[tuple[Int32, ...], Meta(max_length=WANTED_MAX)]
