"""One side of one contender of `terrazzo bench channel`: a process of its own.

    python -m terrazzo.bench.channel_side NAME server          prints where it listens, then receives for ever
    python -m terrazzo.bench.channel_side NAME client PLACE    plays a round for each line of JSON that it reads (the
                                                               arguments of `play_round`), and prints the result

Both end with their standard input, so that nothing is left when the process that started them is gone.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
from typing import cast

import msgspec

from terrazzo.bench.channel_load import Contender, play_round
from terrazzo.runtime.loop import run

CONTENDERS = {
    "client": ("channel_ours", "OurClient"),
    "link": ("channel_ours", "OurLink"),
    "websockets": ("channel_websockets", "Websockets"),
    "aioquic": ("channel_aioquic", "Aioquic"),
    "pyenet": ("channel_pyenet", "Pyenet"),
}
"""Name → (module, class). The modules of rivals can be imported only where the rival is installed."""


def contender(name: str) -> Contender:
    """One of the contenders."""
    module, attribute = CONTENDERS[name]
    return cast(Contender, getattr(importlib.import_module(f"terrazzo.bench.{module}"), attribute)())


def _say(line: str) -> None:
    print(line, flush=True)


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main(name: str, side: str, place: str = "") -> None:
    """Plays one side until the input ends. The server has the second processor to itself, where there are two."""
    processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if len(processors) > 1:
        os.sched_setaffinity(0, {processors[side == "server"]})
    playing = contender(name)
    if side == "server":
        threading.Thread(target=_end_with_input, daemon=True).start()
        run(playing.serve(_say))
        return
    for line in sys.stdin:
        result = run(_bounded(playing, place, msgspec.json.decode(line)))
        _say(msgspec.json.encode(result).decode())


async def _bounded(playing: Contender, place: str, orders: dict[str, float]) -> dict[str, float]:
    async with asyncio.timeout(60 + 10 * orders["seconds"]):
        return await play_round(
            playing, place, messages=int(orders["messages"]), seconds=orders["seconds"], pings=int(orders["pings"])
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
