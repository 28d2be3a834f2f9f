"""Every refusal of a login: its stable code, and the sentence that the player reads.

Programs compare the code; it never changes its meaning. A later version may change the words of a sentence. LoginApp
and DBApp use the same enum, so that a player gets the same code wherever the login ends. `docs/login.md` has the table.
"""

from __future__ import annotations

from terrazzo.wire.pairs.login_db import BOT_PREFIX, NAME_MAX, PASSWORD_MAX
from terrazzo.wire.sentences import Sentence

DETAIL_MAX = 500
"""Characters of a detail that the player gets."""


class LoginRefusal(Sentence):
    """Why a login is refused; `{}` stands for a detail."""

    RATE = "rate", "Too many attempts from this address; wait a little and try again."
    TOO_MANY = "too_many", "Too many players are logging in; try again in a moment."
    NOT_READY = "not_ready", "The game is starting or stopping; try again in a moment."
    OVERLOADED = "overloaded", "The game's servers have too much to do just now; try again in a moment."
    FULL = "full", "The game has as many players as it may have; try again later."
    QUEUE_FULL = "queue_full", "As many players are waiting as may wait; try again in a while."
    QUEUE_CROWDED = "queue_crowded", "As many players from this address are waiting as may wait; try again in a while."
    MALFORMED = "malformed", "The server did not understand the login request; use a client of this version."
    NAME = "name", f"A name has 1 to {NAME_MAX} printable characters and no blank at either end."
    PASSWORD = "password", f"A password has 1 to {PASSWORD_MAX} characters."
    RESERVED = "reserved", f"Names that begin with {BOT_PREFIX} are for bots; choose another name."
    DIGEST = (
        "digest",
        "The client and the server were built from different entity definitions; get the client of this server.",
    )
    WRONG = "wrong", "Wrong name or password."
    BAD_NAME = "bad_name", "A player cannot have this name: {}."
    ALREADY_LOGGED_ON = "already_logged_on", "This player is already logged on."
    LOGGING_ON = "logging_on", "Somebody is logging on with this name right now; try again in a moment."
    AWAY = "away", "The game's database is not available; try again in a moment."
    NOT_STORED = "not_stored", "The game could not read or write its database; try again in a moment."
    TYPE = "type", "This player is of the type {}, which the game no longer has."
    NOT_PLACED = "not_placed", "The player gets no place in the world: {}."
    LEFT = "left", "The player left before arriving; try again in a moment."
    LATE = "late", "The game did not answer in time; try again in a moment."
    REFUSED = "refused", "The game does not let this player in."

    def text(self, detail: str = "") -> str:
        """What the player reads."""
        return self.sentence.format(detail[:DETAIL_MAX])


_BY_CODE = {each.value: each for each in LoginRefusal}


def read_code(code: str) -> LoginRefusal:
    """The refusal of a code that another app has sent; REFUSED for a code that does not exist."""
    return _BY_CODE.get(code, LoginRefusal.REFUSED)
