"""Every reason for which the DBApp refuses a log-on, in the words that the player reads."""

from __future__ import annotations

from terrazzo.wire.sentences import Sentence

DETAIL_MAX = 500
"""Characters of a detail that the player gets."""


class LogOnRefusal(Sentence):
    """Why a log-on is refused; `{}` stands for a detail."""

    WRONG = "wrong", "Wrong name or password."
    ALREADY_LOGGED_ON = "already_logged_on", "This player is already logged on."
    LOGGING_ON = "logging_on", "Somebody is logging on with this name right now; try again in a moment."
    TOO_MANY = "too_many", "Too many players are logging on; try again in a moment."
    NOT_READY = "not_ready", "The game is starting or stopping; try again in a moment."
    AWAY = "away", "The game's database is not available; try again in a moment."
    NOT_STORED = "not_stored", "The game could not read or write its database; try again in a moment."
    NO_ANSWER = "no_answer", "The game did not answer in time; try again in a moment."
    LEFT = "left", "The player left before arriving; try again in a moment."
    NAME = "name", "A player cannot have this name: {}."
    TYPE = "type", "This player is of the type {}, which the game no longer has."
    NOT_PLACED = "not_placed", "No BaseApp could take the player."

    def text(self, detail: str = "") -> str:
        """What the player reads; of a player that was not placed, the reason of the BaseAppMgr."""
        template = "{}" if self is LogOnRefusal.NOT_PLACED else self.sentence
        return template.format(detail[:DETAIL_MAX])
