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
    """A request to the directory: these parts live here now, these have ended here, these have left and not arrived."""

    living: tuple[Living, ...]
    ended: tuple[Living, ...]
    in_air: tuple[InAir, ...]


@message(201)
class Registered(Message, frozen=True):
    """The directory has recorded that; with the dead apps of its list."""

    dead: tuple[AppId, ...]


@message(202)
class Locate(Message, frozen=True):
    """A request to the directory: the place of a part."""

    part: PartId


@message(203)
class Located(Message, frozen=True):
    """The place of the part; `app` is None if it lives nowhere any more."""

    part: PartId
    version: int
    app: AppId | None


@message(204)
class Backup(Message, frozen=True):
    """A copy for the directory, to restore from."""

    part: PartId
    version: int
    packed: bytes
    ledger: bytes


@message(205)
class Dead(Message, frozen=True):
    """A request to a home: to refuse these dead apps, and to report its parts."""

    apps: tuple[AppId, ...]


@message(206)
class Report(Message, frozen=True):
    """The parts of a home."""

    living: tuple[Living, ...]
    in_air: tuple[InAir, ...]


@message(207)
class Restore(Message, frozen=True):
    """A request to a home: to begin a new life of this part, from this backup or from its own copy of a move."""

    part: PartId
    life: int
    packed: bytes | None
    ledger: bytes


@message(208)
class Restored(Message, frozen=True):
    """The part was restored."""


@message(209)
class Landed(Message, frozen=True):
    """For a home: the copy that it keeps of a move is not needed any more."""

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
    """The part has arrived, and the directory has recorded that."""

    part: PartId
    version: int
