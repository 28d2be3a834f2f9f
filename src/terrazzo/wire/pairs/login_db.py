"""LoginApp ↔ DBApp: the log-on of a player, and the loads on which logins depend (20–29).

Names that begin with BOT_PREFIX are reserved for bots. LoginApp lets such a name in only with the bots' password of the
cluster, and DBApp relies on that: it keeps no password of a bot, and stores no bot among the players.
"""

from __future__ import annotations

import unicodedata

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import Int32
from terrazzo.wire.pairs.db_basemgr import WorldLoads

BOT_PREFIX = "bot-"
NAME_MAX = 32
PASSWORD_MAX = 128


def is_bot_name(name: str) -> bool:
    """Whether a name is reserved for bots, in whatever case or width it is written."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).startswith(BOT_PREFIX)


BOT_DBID_FIRST = 2**48
"""Bots have dbids from here on, which no database of players reaches."""


def is_bot_dbid(dbid: int) -> bool:
    """Whether an entity is a bot's, of which nothing is stored."""
    return dbid >= BOT_DBID_FIRST


@message(20, max_size=4096)
class LogOn(Message, frozen=True):
    """Request: log this player on. Answered by LoggedOn when a proxy waits for the client, else by LogOnRefused."""

    name: str
    password: str
    address: str
    """The address of the client, for logs and limits."""
    is_known: bool = False
    """Whether this player has logged in from there before: then strangers do not delay it."""
    holder: bytes = b""
    """SHA-256 of what the client must present with its login key (`base/keys.py`); empty: nothing."""
    may_place: bool = True
    """Whether a new proxy may be placed. Without it only a player that is in already gets one: others are refused with
    the code FULL, since they have to wait for their turn."""


@message(21, max_size=4096)
class LoggedOn(Message, frozen=True):
    """A proxy waits: the client opens its channel to this address and shows the key, once."""

    entity: Int32
    key: bytes
    host: str
    udp_port: int
    ws_port: int


@message(22, max_size=4096)
class LogOnRefused(Message, frozen=True):
    """The player is not logged on: the code of a `LoginRefusal`, and the sentence that the player reads."""

    code: str
    sentence: str


@message(23, max_size=256)
class DoorLoad(Message, frozen=True):
    """DBApp → LoginApp, every second or so: what decides about further logins."""

    db_app: float | None
    """The smoothed load of the DBApp; None: not measured yet."""
    world: WorldLoads | None
    """None: the BaseAppMgr is out of reach."""
