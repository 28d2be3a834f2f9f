"""A batch of datagrams from a socket, and into one.

The compiled form asks the system for many at once (`recvmmsg`, `sendmmsg`) where it has these calls. This is the plain
form, one call for each datagram; it is the one that works everywhere.
"""

from __future__ import annotations

import socket

from terrazzo._speed.datagrams import Batch

DATAGRAM_BYTES = 2048
"""More than a packet may have; a larger datagram is cut to this and refused for its size."""


def receive(made: socket.socket, batch: Batch, most: int) -> int:
    """Adds what has come, at most so many datagrams; gives how often the system complained."""
    try:
        for _ in range(most):
            data, address = made.recvfrom(DATAGRAM_BYTES)
            batch.add(address, data)
    except BlockingIOError:
        pass
    except OSError:
        return 1  # an error of an earlier packet; the next turn reads on
    return 0


def send(made: socket.socket, batch: Batch) -> int:
    """Sends the datagrams in order, until the system takes no more; those stay in the batch. What cannot be sent at all
    counts as lost; gives how many were."""
    errors = at = 0
    try:
        while at < len(batch):
            address, data = batch[at]
            try:
                made.sendto(data, address)  # type: ignore[call-overload]
            except BlockingIOError:
                break
            except OSError:
                errors += 1
            at += 1
    finally:
        batch.drop(at)
    return errors
