"""The integers of messages, each as wide as those who count with it.

msgpack carries any integer of 64 bits, with or without a sign; the compiled modules (`channel.pxd`, `_speed`) keep them
in C integers, and one that does not fit there raises where nobody expects it. So a message says how wide its integers
are, and one that has others is refused as malformed, like any other that is not what it should be. What only plain
Python counts with (dbids, questions, requests) stays an `int`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Count = Annotated[int, Meta(ge=-1, lt=1 << 62)]
"""What is counted up: versions, generations, epochs, steps, witnesses. -1: never. There is room to count on."""

Life = Annotated[int, Meta(ge=0, lt=1 << 30)]
"""The high bits of a version (`wire/ids.py`)."""

Int32 = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]
"""Entities, and indices that have marks below zero."""

Index = Annotated[int, Meta(ge=0, lt=1 << 31)]
"""Types, spaces, methods."""

UInt32 = Annotated[int, Meta(ge=0, lt=1 << 32)]
Alias = Annotated[int, Meta(ge=0, lt=1 << 16)]
Byte = Annotated[int, Meta(ge=0, lt=1 << 8)]
