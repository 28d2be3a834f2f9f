"""Why a client is not connected any more: in the client's last message, and to the game."""

from __future__ import annotations

from enum import Enum, IntEnum


class Farewell(IntEnum):
    """The reason in LOGGED_OFF."""

    BYE = 1  # the client left, and everything is saved
    DESTROYED = 2  # the game destroyed the entity
    SENT_AWAY = 3  # the game sent the client away
    BAD_MESSAGES = 4
    TOO_SLOW = 5  # it was not ready in time
    WRONG_KEY = 6
    STOPPING = 7  # the server stops
    SILENT = 8  # the client did not acknowledge a packet when its player logged in again
    TAKEN_OVER = 9  # its player has logged in again, elsewhere
    NOT_RESUMED = 10  # its session token was used, has expired or never was
    RESUMED = 11  # the same client has resumed, over another connection


class ClientLoss(Enum):
    """The argument of `on_client_lost`."""

    LEFT = "left"
    """The client left by itself."""
    CONNECTION = "connection"
    """The connection was lost; the client may resume for a while (`reconnect_s`)."""
    KICKED = "kicked"
    """The game has sent it away, with `kick`."""
    LIMITS = "limits"
    """The BaseApp has sent it away: bad messages, too slow, more to send than it takes, or a banned address."""


LOSSES = {
    Farewell.SENT_AWAY: ClientLoss.KICKED,
    Farewell.BAD_MESSAGES: ClientLoss.LIMITS,
    Farewell.TOO_SLOW: ClientLoss.LIMITS,
    Farewell.SILENT: ClientLoss.CONNECTION,
}
"""The reason for the game's hook, by the farewell of a client that is sent away."""


class LogOnAnswer(Enum):
    """The answer of a game to a second login of a player that is on."""

    ACCEPT = "accept"
    """The new client gets the proxy; the present one is let go."""
    REFUSE = "refuse"
    """The present client stays, if it answers."""
    WAIT = "wait"
    """The new client gets the proxy if the present one is gone within a few seconds; otherwise it is refused."""
