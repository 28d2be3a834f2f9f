"""Messages of the channel scenario: between its homes and its directory (200-209), and between two homes (210-211)."""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.ids import AppId, PartId
from terrazzo.wire.messages import Message, message


class Living(NamedTuple):
    """A part that lives, or ended, at the reporter."""

    part: PartId
    version: int


class InAir(NamedTuple):
    """A part that left the reporter and is not known to have arrived."""

    part: PartId
    version: int
    to: AppId


@message(200)
class Register(Message, frozen=True):
    """Asked of the directory: these parts live here now, these have ended here, these have left and not arrived."""

    living: tuple[Living, ...]
    ended: tuple[Living, ...]
    in_air: tuple[InAir, ...]


@message(201)
class Registered(Message, frozen=True):
    """The directory knows; and this is what it knows of the dead."""

    dead: tuple[AppId, ...]


@message(202)
class Locate(Message, frozen=True):
    """Asked of the directory: where does it live?"""

    part: PartId


@message(203)
class Located(Message, frozen=True):
    """There; or nowhere any more (`app` is None)."""

    part: PartId
    version: int
    app: AppId | None


@message(204)
class Backup(Message, frozen=True):
    """To the directory: a copy to restore from."""

    part: PartId
    version: int
    packed: bytes
    ledger: bytes


@message(205)
class Dead(Message, frozen=True):
    """Asked of a home: these apps are dead; refuse them, and say what you have."""

    apps: tuple[AppId, ...]


@message(206)
class Report(Message, frozen=True):
    """What a home has."""

    living: tuple[Living, ...]
    in_air: tuple[InAir, ...]


@message(207)
class Restore(Message, frozen=True):
    """Asked of a home: begin a new life of this part, from this backup or from your own copy of what was in the air."""

    part: PartId
    life: int
    packed: bytes | None
    ledger: bytes


@message(208)
class Restored(Message, frozen=True):
    """Done."""


@message(209)
class Landed(Message, frozen=True):
    """To a home: what you had in the air is settled without you."""

    part: PartId
    version: int


@message(210)
class Moving(Message, frozen=True):
    """A part with its mail and its ledger, from its old home to its new one."""

    part: PartId
    version: int
    packed: bytes
    ledger: bytes


@message(211)
class Moved(Message, frozen=True):
    """It arrived, and the directory knows."""

    part: PartId
    version: int
