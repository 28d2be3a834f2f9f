"""The bare compiled loop that sessions are measured beside: `benchmarks/session_limit.c`, and its sockets."""

from __future__ import annotations

import ctypes
import socket
import time
import tomllib
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from terrazzo.runtime.udpbuffers import make_socket
from terrazzo.wire.client import Suite, sodium

CLONE = Path(__file__).parents[3]
SOURCE = "benchmarks/session_limit.c"
GROUP = 200
"""Clients that send through one socket: so few that what is sent to them at once fits into its buffer."""


def build() -> ctypes.CDLL | str:
    """The loop in C, built as our own kernels were; or a sentence with why not."""
    source = CLONE / SOURCE
    if not source.exists():
        return f"{SOURCE} is only in a clone of the project"
    if find_spec("setuptools") is None:
        return f"setuptools is needed to build {SOURCE}"
    from setuptools import Distribution, Extension

    flags = tomllib.loads((CLONE / "pyproject.toml").read_text())["tool"]["terrazzo"]["kernel-flags"]
    kernel = Extension("session_limit", [str(source)], extra_compile_args=flags)
    with TemporaryDirectory() as folder:
        builder: Any = Distribution({"name": "session_limit", "ext_modules": [kernel]}).get_command_obj("build_ext")
        builder.build_lib = builder.build_temp = folder
        builder.ensure_finalized()
        try:
            builder.run()
        except Exception as problem:  # setuptools promises no class of it
            return f"{SOURCE} cannot be built here: {problem}"
        library = ctypes.CDLL(builder.get_ext_fullpath("session_limit"))
    library.limit_new.restype = ctypes.c_void_p
    library.limit_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    library.limit_free.argtypes = [ctypes.c_void_p]
    library.limit_in.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.limit_out.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    library.limit_clients.argtypes = [ctypes.c_void_p, *[ctypes.c_int] * 4]
    return library


class Bare:
    """The loop with its sockets, for so many clients. One packet of each comes and goes in a tick."""

    def __init__(self, library: ctypes.CDLL, count: int, bytes_in: int, bytes_out: int) -> None:
        functions = sodium.find(Suite.CHACHA20_POLY1305)
        if not functions.encrypt:
            raise ValueError("libsodium cannot be called here")
        self._library = library
        self._bytes_in, self._bytes_out = bytes_in, bytes_out
        self._groups = [(at, min(at + GROUP, count)) for at in range(0, count, GROUP)]
        self._server = _bound()
        self._clients = [_bound() for _ in self._groups]
        self._state = library.limit_new(count, functions.encrypt, functions.decrypt, self._server.getsockname()[1])
        self.lost = -count
        self._count = count

    def tick(self) -> float:
        """One tick; gives the processor time of the server's part."""
        library, state, fd = self._library, self._state, self._server.fileno()
        used_s = 0.0
        came = opened = 0
        for group, made in zip(self._groups, self._clients, strict=True):
            came += library.limit_clients(state, made.fileno(), *group, self._bytes_in)
            began = time.thread_time()
            opened += library.limit_in(state, fd)
            used_s += time.thread_time() - began
        began = time.thread_time()
        library.limit_out(state, fd, self._bytes_out)
        used_s += time.thread_time() - began
        self.lost += 2 * self._count - came - opened
        return used_s

    def close(self) -> None:
        """Gives up everything."""
        self._library.limit_free(self._state)
        for made in (self._server, *self._clients):
            made.close()


def _bound() -> socket.socket:
    made = make_socket(socket.AF_INET)
    made.bind(("127.0.0.1", 0))
    return made
