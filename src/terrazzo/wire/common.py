"""Messages between any two apps: the greeting of a link (1-3) and requests (4-6)."""

from __future__ import annotations

from enum import IntEnum

from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message, message


class LinkRefusal(IntEnum):
    """Why a link was not accepted."""

    NOT_ME = 1  # another app, or another incarnation, answers at this address
    STALE = 2  # a newer incarnation of the caller is known
    FENCED = 3  # the caller was declared dead
    CROSSING = 4  # both dialled at once; the other connection wins
    PROTOCOL = 5  # the two builds have different messages


@message(1, max_size=256)
class Hello(Message, frozen=True):
    """The first message of the app that dialled; `dial` counts the dials of its incarnation."""

    me: AppId
    to: AppId
    digest: int
    dial: int


@message(2, max_size=256)
class Welcome(Message, frozen=True):
    """The link is up from here on; own dials up to `dial` are given up for it."""

    me: AppId
    dial: int


@message(3, max_size=256)
class Refused(Message, frozen=True):
    """There is no link, for this reason."""

    reason: LinkRefusal


@message(4)
class Request(Message, frozen=True):
    """A question; `item` is an encoded message."""

    number: int
    item: bytes


@message(5)
class Reply(Message, frozen=True):
    """The answer to the request of that number."""

    number: int
    item: bytes


@message(6, max_size=4096)
class RequestRefused(Message, frozen=True):
    """The request of that number will not be answered."""

    number: int
    reason: str
