"""Banned networks: which addresses may not open a session. Expiry is the caller's: it replaces the set.

A network is an IPv4 or IPv6 address with the length of its prefix. A single IPv6 address that is banned stands for its
/64, which belongs to one subscriber (`wire.addresses`). A look-up takes one step for each length of prefix in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

SUBSCRIBER_BITS = 64
"""The prefix of an IPv6 subscriber."""


def read_network(text: str) -> Network:
    """The network that a ban of this text means; ValueError if it is none, or is all addresses there are."""
    text = text.strip()
    if "/" in text:
        network = ip_network(text, strict=False)
    else:
        address = _plain(ip_address(text))
        bits = SUBSCRIBER_BITS if isinstance(address, IPv6Address) else 32
        network = ip_network((address, bits), strict=False)
    if network.prefixlen == 0:
        raise ValueError(f"{text} is every address")
    return network


class Banned:
    """A set of networks."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        self._prefixes: dict[tuple[int, int], set[int]] = {}
        """By version and the bits after the prefix: the prefixes."""
        for each in networks:
            bits = each.max_prefixlen - each.prefixlen
            self._prefixes.setdefault((each.version, bits), set()).add(int(each.network_address) >> bits)

    def __len__(self) -> int:
        return sum(map(len, self._prefixes.values()))

    def has(self, address: str) -> bool:
        """Whether this address is in one of the networks. What is no IP address is in none."""
        if not self._prefixes:
            return False
        try:
            parsed = _plain(ip_address(address))
        except ValueError:
            return False
        number = int(parsed)
        return any(
            version == parsed.version and number >> bits in prefixes
            for (version, bits), prefixes in self._prefixes.items()
        )


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped
