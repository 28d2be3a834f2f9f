"""What an app is to whoever drives it, and what it may ask of its driver.

    driver (sim or runtime)                    app: a state machine without I/O
        on_message(source, message)   ──────▶
        on_link_up / on_link_lost     ──────▶     changes its state, writes into its outbox
        on_tick()                     ──────▶
        outbox.drain()                ◀──────     once per tick: one bundle to each peer

Everything an app needs from outside comes through `Host`: the time, randomness, its own load, a place to log, and the
two words it may say about other processes (`join`, `fence`). A driver calls one method at a time and never from inside
another. What an app sends from `on_message` leaves with the next tick; nothing an app does blocks or waits.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.outbox import Outbox

T = TypeVar("T")


class Rng(Protocol):
    """The part of `random.Random` that apps use."""

    def random(self) -> float: ...
    def randrange(self, start: int, stop: int, /) -> int: ...
    def uniform(self, a: float, b: float, /) -> float: ...
    def choice(self, seq: Sequence[T], /) -> T: ...
    def shuffle(self, x: MutableSequence[Any], /) -> None: ...


class Host(Environment, Protocol):
    """What an app may use of the outside: the time and the log of its environment, and what follows."""

    @property
    def rng(self) -> Rng:
        """Randomness that a seed repeats."""

    def cpu_load(self) -> float | None:
        """The share of one core that this process has used lately; None as long as it has not been measured."""

    def join(self, peer: AppId) -> None:
        """Joins a peer before there is anything to say; with ANY_INCARNATION, whichever life of it is there."""

    def fence(self, app: AppId) -> None:
        """This incarnation (and each before it) is dead by decree: its link is cut and it is refused from now on."""


class App(Protocol):
    """A process of the cluster, as its driver sees it."""

    @property
    def outbox(self) -> Outbox:
        """Where the app writes."""

    def on_message(self, source: AppId, message: Message, /) -> None:
        """A message of the link with `source`, in the order sent."""

    def on_link_up(self, peer: AppId, /) -> None:
        """A link with `peer` stands, dialled by either side."""

    def on_link_lost(self, peer: AppId, /) -> None:
        """The link is gone; what was sent last may not have arrived. Sending again makes a new link."""

    def on_tick(self) -> None:
        """The time has moved on; what is in the outbox afterwards leaves."""
