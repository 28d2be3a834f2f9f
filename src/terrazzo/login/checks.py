"""The checks of a login request that cost no work, and the sentence for each refusal.

A request is one message of at most REQUEST_BYTES_MAX bytes, the JSON of a `LoginRequest`. A name has 1 to NAME_MAX
printable characters, with no blank at either end; a password has 1 to PASSWORD_MAX characters of any kind.
"""

from __future__ import annotations

import msgspec

from terrazzo.sync.protocol import LoginRequest
from terrazzo.wire.pairs.login_db import BOT_PREFIX
from terrazzo.wire.sentences import Sentence

REQUEST_BYTES_MAX = 4096
"""Enough for the longest valid request, even with every character escaped."""
NAME_MAX = 32
PASSWORD_MAX = 128

_DECODER = msgspec.json.Decoder(LoginRequest)


class LoginRefusal(Sentence):
    """Why a login is refused; the sentence that the player reads."""

    MALFORMED = "malformed", "The server did not understand the login request; use a client of this version."
    NAME = "name", f"A name has 1 to {NAME_MAX} printable characters and no blank at either end."
    PASSWORD = "password", f"A password has 1 to {PASSWORD_MAX} characters."
    RESERVED = "reserved", f"Names that begin with {BOT_PREFIX} are for bots; choose another name."
    DIGEST = (
        "digest",
        "The client and the server were built from different entity definitions; get the client of this server.",
    )
    RATE = "rate", "Too many attempts from this address; wait a little and try again."
    TOO_MANY = "too_many", "Too many players are logging in; try again in a moment."
    NOT_READY = "not_ready", "The game is starting or stopping; try again in a moment."
    NO_ANSWER = "no_answer", "The game did not answer in time; try again in a moment."
    BY_DATABASE = "by_database", "The game does not let this player in."


def read_request(message: bytes) -> LoginRequest | LoginRefusal:
    """The request, or why it is refused."""
    if len(message) > REQUEST_BYTES_MAX:
        return LoginRefusal.MALFORMED
    try:
        request = _DECODER.decode(message)
    except (ValueError, RecursionError):
        return LoginRefusal.MALFORMED
    if not 1 <= len(request.name) <= NAME_MAX or not request.name.isprintable() or request.name != request.name.strip():
        return LoginRefusal.NAME
    if not 1 <= len(request.password) <= PASSWORD_MAX:
        return LoginRefusal.PASSWORD
    return request
