"""The event loop: uvloop where it is installed, asyncio's own otherwise. Everything here runs on either.

On Windows it must be the selector loop: the default there cannot watch a datagram socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def loop_factory() -> LoopFactory:
    """The factory of the fastest event loop that is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop
    return uvloop.new_event_loop


def run(main: Coroutine[Any, Any, T], *, factory: LoopFactory | None = None) -> T:
    """Runs a coroutine to its end, as `asyncio.run` does, on the fastest loop."""
    with asyncio.Runner(loop_factory=factory or loop_factory()) as runner:
        return runner.run(main)
