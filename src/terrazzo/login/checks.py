"""The checks of a login request that cost no work.

A request is one message of at most REQUEST_BYTES_MAX bytes, the JSON of a `LoginRequest`. A name has 1 to NAME_MAX
printable characters, with no blank at either end; a password has 1 to PASSWORD_MAX characters of any kind.
"""

from __future__ import annotations

import msgspec

from terrazzo.sync.protocol import LoginRequest
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.login_db import NAME_MAX, PASSWORD_MAX

REQUEST_BYTES_MAX = 4096
"""Enough for the longest valid request, even with every character escaped."""

ATTEMPT_MAX = 64
"""Characters of `attempt`."""

_DECODER = msgspec.json.Decoder(LoginRequest)


def read_request(message: bytes) -> LoginRequest | LoginRefusal:
    """The request, or why it is refused."""
    if len(message) > REQUEST_BYTES_MAX:
        return LoginRefusal.MALFORMED
    try:
        request = _DECODER.decode(message)
    except (ValueError, RecursionError):
        return LoginRefusal.MALFORMED
    if len(request.attempt) > ATTEMPT_MAX:
        return LoginRefusal.MALFORMED
    if not 1 <= len(request.name) <= NAME_MAX or not request.name.isprintable() or request.name != request.name.strip():
        return LoginRefusal.NAME
    if not 1 <= len(request.password) <= PASSWORD_MAX:
        return LoginRefusal.PASSWORD
    return request
