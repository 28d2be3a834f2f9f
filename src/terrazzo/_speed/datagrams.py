"""Datagrams in a row, each with the address that it came from or goes to.

A socket that gives and takes many datagrams at once fills and empties a batch; an endpoint reads and writes it. It is
only memory: the calls of the system are in `runtime`. An address is what Python's sockets use, (host, port) or (host,
port, flow, scope); other ones are as good where no socket is involved. The compiled form keeps everything in
one piece of memory and makes Python objects of what is asked for.
"""

from __future__ import annotations

from collections.abc import Hashable


class Batch:
    """A row of datagrams."""

    def __init__(self) -> None:
        self._datagrams: list[tuple[Hashable, bytes]] = []

    def __len__(self) -> int:
        return len(self._datagrams)

    def __getitem__(self, at: int) -> tuple[Hashable, bytes]:
        return self._datagrams[at]

    def add(self, address: Hashable, data: bytes) -> None:
        """One more at the end."""
        self._datagrams.append((address, data))

    def clear(self) -> None:
        """None is left."""
        self._datagrams.clear()

    def drop(self, count: int) -> None:
        """The first so many are done with."""
        del self._datagrams[:count]
