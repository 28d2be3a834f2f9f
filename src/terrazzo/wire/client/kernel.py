"""The session and the table of sessions, in the form that is in use.

This is the plain form: it only names the classes of `channel.py`, `session.py` and `table.py`. The compiled form
(`kernel.pyx`) does the same in C and makes the same packets, events and counts of the same input; `tests/wire/client`
compares them. Endpoints take a `Form`, so that both can be had in one process.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.client.channel import Channel
from terrazzo.wire.client.session import Session
from terrazzo.wire.client.table import Table

__all__ = ["FORM", "PLAIN", "Channel", "Form", "Session", "Table"]


class Form(NamedTuple):
    """The classes of one form."""

    session: type[Session]
    table: type[Table]


PLAIN = Form(Session, Table)
FORM = PLAIN
