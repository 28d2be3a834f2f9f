"""LoginApp → DBApp: a player at the door (20–29)."""

from __future__ import annotations

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import Int32


@message(20, max_size=4096)
class LogOn(Message, frozen=True):
    """Request: let this player in. Answered by LoggedOn when a proxy waits for the client, refused with the reason."""

    name: str
    password: str
    address: str
    """Where the client speaks from, for logs and limits."""


@message(21, max_size=4096)
class LoggedOn(Message, frozen=True):
    """A proxy waits: the client opens its channel to this address and shows the key, once."""

    entity: Int32
    key: bytes
    host: str
    udp_port: int
    ws_port: int
