"""Every reason for which the DBApp refuses a log-on, in the words that the player reads."""

from __future__ import annotations

from enum import Enum

DETAIL_MAX = 500
"""Characters of a detail that the player gets."""


class LogOnRefusal(Enum):
    """Why a log-on is refused; `{}` stands for a detail."""

    WRONG = "Wrong name or password."
    ALREADY_LOGGED_ON = "This player is already logged on."
    LOGGING_ON = "Somebody is logging on with this name right now; try again in a moment."
    TOO_MANY = "Too many players are logging on; try again in a moment."
    NOT_READY = "The game is starting or stopping; try again in a moment."
    AWAY = "The game's database is not available; try again in a moment."
    NOT_STORED = "The game could not read or write its database; try again in a moment."
    NO_ANSWER = "The game did not answer in time; try again in a moment."
    LEFT = "The player left before arriving; try again in a moment."
    NAME = "A player cannot have this name: {}."
    TYPE = "This player is of the type {}, which the game no longer has."
    NOT_PLACED = "{}"

    def sentence(self, detail: str = "") -> str:
        """What the player reads."""
        return self.value.format(detail[:DETAIL_MAX])
