"""One attempt to log on, which `logon.py` takes from state to state; its limits, and the record of a new player."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from terrazzo.db.logon_states import LogOnState
from terrazzo.db.store import Account, fold_name
from terrazzo.schema.model import EntitySchema, Property
from terrazzo.schema.record import encode_record
from terrazzo.schema.types import BytesType
from terrazzo.wire.requests import Question


@dataclass(frozen=True)
class LogOnLimits:
    """How many attempts, and how long each may wait."""

    in_work_max: int = 100
    known_max: int = 50
    place_s: float = 5.0
    take_over_s: float = 6.0
    """How long a BaseApp may take to decide about a second login (`base/takeover.py`)."""
    yield_s: float = 5.0
    """How long an attempt waits until the former proxy is saved and has ended."""


class LogOnPlayer(NamedTuple):
    """A player that is logged on."""

    name: str
    entity: int
    base_app: int


@dataclass
class Attempt:
    """One attempt, from LogOn to the answer."""

    question: Question
    name: str
    password: str = field(repr=False)
    address: str
    is_known: bool = False
    """Whether the player has logged in from this address before."""
    holder: bytes = b""
    """What the login key is bound to."""
    may_place: bool = True
    """Whether a proxy may be placed; without it, only one that exists can be taken over."""
    state: LogOnState = LogOnState.FINDING
    account: Account | None = None
    new_name: str = ""
    """The name of the account that is created for this attempt."""
    entity: int = 0
    """The proxy that is claimed and not placed."""
    is_gone: bool = False
    """Whether that proxy has ended already."""
    is_abandoned: bool = False
    """Whether the link with the LoginApp was lost."""
    yields_until: float | None = None
    """The former proxy ends; until then the attempt waits for it."""

    @property
    def key(self) -> tuple[str, bool]:
        """There is at most one attempt of each key."""
        return fold_name(self.name), self.is_known


def new_record(player: EntitySchema, name: str) -> bytes:
    """The record of a new player: defaults, and the name in the property that identifies the entity."""
    named = (each for each in player.properties if each.identifier)
    return encode_record(player, {each.name: _name_value(each, name) for each in named}, {})


def _name_value(prop: Property, name: str) -> Any:
    return prop.codec.check(name.encode() if isinstance(prop.type, BytesType) else name)
