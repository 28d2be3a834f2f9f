"""What an endpoint reports to its owner."""

from __future__ import annotations

import msgspec

from terrazzo.wire.client.limits import Reason
from terrazzo.wire.client.session import Session


class Connected(msgspec.Struct, frozen=True):
    """A session is open; at the server `app_data` is what the client put into its OPEN."""

    session: Session
    app_data: bytes


class Received(msgspec.Struct, frozen=True):
    """Messages have come, in order."""

    session: Session
    messages: list[bytes]


class Closed(msgspec.Struct, frozen=True):
    """A session is over, or (without a session) could not be opened. Nothing comes after this."""

    session: Session | None
    reason: Reason
    by_peer: bool


SessionEvent = Connected | Received | Closed
