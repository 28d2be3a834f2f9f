"""BaseApp or CellApp ↔ BaseAppMgr: the names of bases (140–149). `managers/names.py` has the rules."""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import IndexNumber, Int32


class Named(NamedTuple):
    """A base with a name."""

    name: str
    entity: Int32
    type_id: IndexNumber


@message(140, max_size=2048)
class RegisterName(Message, frozen=True):
    """Request, BaseApp → BaseAppMgr: a base of this app takes a name. Answered by NameRegistered, also when it has the
    name already; refused when another one has it."""

    named: Named


@message(141, max_size=256)
class NameRegistered(Message, frozen=True):
    """The base has the name."""


@message(142, max_size=2048)
class DropName(Message, frozen=True):
    """BaseApp → BaseAppMgr: the base has given the name back, or is gone."""

    named: Named


@message(143)
class NamesHeld(Message, frozen=True):
    """BaseApp → BaseAppMgr, first of all when the link is up: the names that its bases have been granted. Others that
    the manager has for this app are free."""

    names: tuple[Named, ...]


@message(144, max_size=2048)
class FindName(Message, frozen=True):
    """Request, to BaseAppMgr: the base with this name. Answered by NameFound."""

    name: str


@message(145, max_size=2048)
class NameFound(Message, frozen=True):
    """The base, if there is one."""

    named: Named | None
