"""`terrazzo bench channel`: 64-byte reliable ordered messages over loopback, ours beside websockets, aioquic, pyenet.

Every contender is two processes, one a side, pinned to a processor each where there are two. They take turns: in each
round each of them connects, goes back and forth with one message at a time, and then sends messages one way as fast
as they go, until the receiver has confirmed the last one; its application code has looked at every message. The best
round of each counts. How each is driven is at the top of its module: `channel_ours`, `channel_websockets`,
`channel_aioquic`, `channel_pyenet`. A rival that is not installed is left out, and its figures are null.

    client_messages_per_s   our encrypted client channel
    aioquic_ratio           ours / aioquic                       pyenet_ratio    ours / pyenet (which does not encrypt)
    link_pyenet_ratio       a link between two apps / pyenet     rtt_p99_us      ours, one message at a time
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from importlib.util import find_spec
from typing import IO, Any

import msgspec

from terrazzo._speed import COMPILED
from terrazzo.bench.channel_side import CONTENDERS
from terrazzo.errors import UsageError

RIVALS = {"websockets": "websockets", "aioquic": "aioquic", "pyenet": "enet"}
"""Rival → the module that must be there."""


def measure(
    *, rounds: int = 10, seconds: float = 0.2, messages: int = 0, pings: int = 200, only: Iterable[str] = ()
) -> dict[str, Any]:
    """The figures, and what each contender did. `messages` are sent in each round; 0: as many as take `seconds`."""
    wanted = list(only) or list(CONTENDERS)
    unknown = [name for name in wanted if name not in CONTENDERS]
    if unknown:
        raise UsageError(f"{', '.join(unknown)}: no such contender; there are {', '.join(CONTENDERS)}")
    missing = [name for name in wanted if name in RIVALS and find_spec(RIVALS[name]) is None]
    names = [name for name in wanted if name not in missing]
    played: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    orders = {"messages": messages, "seconds": seconds, "pings": pings}
    with ExitStack() as stack:
        pairs = {name: stack.enter_context(_Pair(name)) for name in names}
        for _ in range(rounds):
            for name, pair in pairs.items():
                played[name].append(pair.play(orders))
    rates = {name: round(max(result["messages_per_s"] for result in results)) for name, results in played.items()}
    p99 = {name: round(min(result["rtt_p99_us"] for result in results), 1) for name, results in played.items()}
    return {
        "bench": "channel",
        "compiled": COMPILED,
        "figures": _figures(rates, p99),
        "messages_per_s": rates,
        "rtt_p50_us": {name: round(min(each["rtt_p50_us"] for each in results), 1) for name, results in played.items()},
        "rtt_p99_us": p99,
        "messages": {name: int(sum(result["messages"] for result in results)) for name, results in played.items()},
        "rounds": {name: [round(result["messages_per_s"]) for result in results] for name, results in played.items()},
        "not_installed": missing,
    }


def _figures(rates: dict[str, int], p99: dict[str, float]) -> dict[str, float | None]:
    def ratio(ours: str, rival: str) -> float | None:
        return rates[ours] / rates[rival] if ours in rates and rival in rates else None

    return {
        "client_messages_per_s": rates.get("client"),
        "aioquic_ratio": ratio("client", "aioquic"),
        "pyenet_ratio": ratio("client", "pyenet"),
        "link_pyenet_ratio": ratio("link", "pyenet"),
        "rtt_p99_us": p99.get("client"),
    }


class _Pair:
    """The two processes of a contender; each ends when its standard input is closed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._sides: list[subprocess.Popen[str]] = []

    def __enter__(self) -> _Pair:
        try:
            self._server = self._start("server")
            self._client = self._start("client", self._line_of(self._server))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._sides:
            process.communicate()

    def play(self, orders: dict[str, float]) -> dict[str, float]:
        """One round."""
        _input(self._client).write(msgspec.json.encode(orders).decode() + "\n")
        _input(self._client).flush()
        return msgspec.json.decode(self._line_of(self._client), type=dict[str, float])

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "terrazzo.bench.channel_side", self._name, *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._sides.append(process)
        return process

    def _line_of(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"a side of {self._name} has ended; what it said is above")
        return line


def _input(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdin is not None
    return process.stdin
