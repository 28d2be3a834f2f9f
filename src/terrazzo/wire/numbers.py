"""The integer types of messages, by the range that their users can hold.

msgpack carries any integer of 64 bits, with or without a sign; the compiled modules (`channel.pxd`, `_speed`) keep them
in C integers, and a number that does not fit would raise in the middle of their work. So a message declares the range
of its integers, and one with other values is refused as malformed. Numbers that only plain Python uses (dbids,
questions, requests) are `int`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

CountNumber = Annotated[int, Meta(ge=-1, lt=1 << 62)]
"""Counters: versions, generations, epochs, steps, witnesses. -1: never."""

Life = Annotated[int, Meta(ge=0, lt=1 << 30)]
"""The high bits of a version (`wire/ids.py`)."""

Int32 = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]
"""Entities, and indices that have marks below zero."""

IndexNumber = Annotated[int, Meta(ge=0, lt=1 << 31)]
"""Types, spaces, methods."""

UInt32 = Annotated[int, Meta(ge=0, lt=1 << 32)]
AliasNumber = Annotated[int, Meta(ge=0, lt=1 << 16)]
Byte = Annotated[int, Meta(ge=0, lt=1 << 8)]
