"""One attempt to log on, as `logon.py` keeps it from step to step; its limits, and the record of a new player."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from terrazzo.db.store import Account, fold_name
from terrazzo.schema.model import EntitySchema, Property
from terrazzo.schema.record import encode_record
from terrazzo.schema.types import BytesType
from terrazzo.wire.requests import Question


@dataclass(frozen=True)
class LogOnLimits:
    """How much and how long."""

    in_work_max: int = 100
    known_max: int = 50
    place_s: float = 5.0
    yield_s: float = 5.0
    """How long an attempt waits for the former proxy to be saved and gone."""


class Player(NamedTuple):
    """A player that is logged on."""

    name: str
    entity: int
    base_app: int


@dataclass
class Attempt:
    """A player at the door: what is known so far, from LogOn to the answer."""

    question: Question
    name: str
    password: str = field(repr=False)
    address: str
    is_known: bool = False
    account: Account | None = None
    new_name: str = ""
    """What the account that is made for this attempt is called."""
    entity: int = 0
    """The proxy that is claimed and not placed."""
    is_gone: bool = False
    """That proxy has left already."""
    is_abandoned: bool = False
    yields_until: float | None = None
    """The BaseApp of the former proxy was asked to let it go; how long that is waited for."""

    @property
    def key(self) -> tuple[str, bool]:
        """One attempt of each key is in work."""
        return fold_name(self.name), self.is_known


def new_record(player: EntitySchema, name: str) -> bytes:
    """What is stored of a new player: defaults, but for the property by which the database knows it, the name."""
    named = (each for each in player.properties if each.identifier)
    return encode_record(player, {each.name: _name_value(each, name) for each in named}, {})


def _name_value(prop: Property, name: str) -> Any:
    return prop.codec.check(name.encode() if isinstance(prop.type, BytesType) else name)
