"""UDP sockets with large buffers, and the count of the datagrams that did not fit.

The system keeps what has come for a socket until the process reads it. While the process is busy, or waits for a
processor, the buffer fills; a datagram that finds no room is dropped without a word to either end. So sockets ask for
much room: a process with the right to (root, CAP_NET_ADMIN) gets it at once, any other at most what the system's
`net.core.rmem_max` and `wmem_max` allow. `reached_bytes` is what a socket has got, `overruns` how many datagrams its
buffer had no room for. Linux counts these itself (SO_MEMINFO), so a packet costs nothing more.
"""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import suppress

BUFFER_BYTES = 4 << 20
"""Of a socket of one client."""
SERVER_BUFFER_BYTES = 32 << 20
"""Of a socket of many clients. A packet of 85 bytes takes 768 of them, so this is the tick of 40,000 clients."""

_IS_LINUX = sys.platform == "linux"
_FORCED = {socket.SO_RCVBUF: 33, socket.SO_SNDBUF: 32}
"""SO_RCVBUFFORCE, SO_SNDBUFFORCE."""
_SO_MEMINFO = 55
_MEMINFO = struct.Struct("9I")
_DROPS = 8


def make_socket(family: int, buffer_bytes: int = BUFFER_BYTES) -> socket.socket:
    """A datagram socket with room for a burst: as much as asked for, or as the system gives."""
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setblocking(False)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        _enlarge(made, option, buffer_bytes)
    return made


def reached_bytes(made: socket.socket) -> int:
    """The room for what comes in. Linux gives twice what was asked for, for its own bookkeeping, and tells that."""
    return made.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // (2 if _IS_LINUX else 1)


def overruns(made: socket.socket) -> int:
    """How many datagrams the system has dropped at this socket because there was no room; 0 where it does not count."""
    if not _IS_LINUX or made.fileno() < 0:
        return 0
    try:
        told = made.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
    except OSError:
        return 0  # a system older than this option
    return int(_MEMINFO.unpack(told)[_DROPS]) if len(told) == _MEMINFO.size else 0


def _enlarge(made: socket.socket, option: int, size: int) -> None:
    if _IS_LINUX:
        try:
            made.setsockopt(socket.SOL_SOCKET, _FORCED[option], size)
            return
        except OSError:
            pass  # without the right to: as much as everyone may have
    with suppress(OSError):  # a system that refuses what is above its limit; the socket keeps what it has
        made.setsockopt(socket.SOL_SOCKET, option, size)
