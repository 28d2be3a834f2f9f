"""The part of a network address that stands for one subscriber; limits are counted by it."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

REMEMBERED = 4096
"""Addresses whose subscribers are remembered: one login asks ten times for the same one."""


@lru_cache(REMEMBERED)
def subscriber(address: str) -> str:
    """The subscriber: all of an IPv4 address, the /64 of an IPv6 address, any other address as it is."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(parsed) >> 64 << 64))
