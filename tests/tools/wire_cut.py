"""A network between a program and a server that breaks where a test wants it: a proxy of unix sockets.

    program ── socket in `folder` ──▶ pump ──▶ the server's socket
                                  ◀── pump ◀──

It breaks at the next message of the program that has `word` in it, once:

    BEFORE     the message is lost, and both ends learn that the connection is gone
    ANSWER     the message arrives; its answer is lost
    HALF       the message is lost, and only the program learns it: `deliver` sends it later
"""

from __future__ import annotations

import shutil
import socket
import threading
from contextlib import suppress
from enum import Enum
from pathlib import Path
from tempfile import mkdtemp

NAME = ".s.PGSQL.5432"


class Cut(Enum):
    """Where the connection breaks."""

    BEFORE = "before"
    ANSWER = "answer"
    HALF = "half"


class Network:
    """See the module."""

    def __init__(self, server: Path, word: bytes) -> None:
        self.folder = Path(mkdtemp(prefix="terrazzo-net-"))
        self.cut: Cut | None = None
        self.cuts = 0
        self.is_up = True
        self._server = server / NAME
        self._word = word
        self._links: list[socket.socket] = []
        self._late: list[tuple[socket.socket, bytes]] = []
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self.folder / NAME))
        self._door.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def hang_up(self) -> None:
        """All connections end, at both ends."""
        for each in self._links:
            _end(each)

    def deliver(self) -> None:
        """The server gets the message that was on its way."""
        for server, data in self._late:
            with suppress(OSError):
                server.sendall(data)

    def close(self) -> None:
        _end(self._door)
        self.hang_up()
        for each in self._threads:
            each.join()
        for link in [self._door, *self._links]:
            link.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        while True:
            try:
                program, _ = self._door.accept()
            except OSError:
                return
            self._links.append(program)
            if not self.is_up:
                _end(program)
                continue
            server = socket.socket(socket.AF_UNIX)
            self._links.append(server)
            try:
                server.connect(str(self._server))
            except OSError:
                _end(program)
                continue
            answers_lost = threading.Event()
            for pump in (self._to_server, self._to_program):
                thread = threading.Thread(target=pump, args=(program, server, answers_lost))
                self._threads.append(thread)
                thread.start()

    def _to_server(self, program: socket.socket, server: socket.socket, answers_lost: threading.Event) -> None:
        for data in _received(program):
            cut = self.cut if self._word in data else None
            if cut is not None:
                self.cut = None
                self.cuts += 1
            if cut is Cut.HALF:
                self._late.append((server, data))
                _end(program)
                return
            if cut is Cut.BEFORE:
                break
            if cut is Cut.ANSWER:
                answers_lost.set()
            with suppress(OSError):
                server.sendall(data)
        _end(program)
        _end(server)

    def _to_program(self, program: socket.socket, server: socket.socket, answers_lost: threading.Event) -> None:
        for data in _received(server):
            if answers_lost.is_set():
                break
            with suppress(OSError):
                program.sendall(data)
        _end(program)
        _end(server)


def _received(link: socket.socket):
    with suppress(OSError):
        while data := link.recv(1 << 16):
            yield data


def _end(link: socket.socket) -> None:
    with suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
