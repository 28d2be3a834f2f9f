"""What an app is to its driver, and what it may ask of its driver.

    driver (sim or runtime)                    app: a state machine without I/O
        on_message(source, message)   ──────▶
        on_link_up / on_link_lost     ──────▶     changes its state, writes into its outbox
        on_turn(), if it has one      ──────▶     soon after messages or clients' packets came
        on_tick()                     ──────▶
        outbox.drain()                ◀──────     after each turn and each tick: one bundle to each peer

All that an app needs from outside comes through `Host`: the time, randomness, its own load, a log, and two requests
about other processes (`join`, `fence`). A driver calls one method at a time and never from inside another. A message
that an app sends from `on_message` leaves with its next turn, or with the next tick; no method of an app blocks or
waits.

An app that has `on_turn` (`TakesTurns`) answers at once: when something has come for it, the driver calls `on_turn` at
the next opportunity, but not before `turn_s` has passed since the last turn, so that what comes meanwhile shares a
bundle. The tick of such an app is for timers, retries and reports. A CellApp has no turns: it works in the rhythm of
its tick, since each phase of the tick relies on the one before.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.outbox import Outbox

T = TypeVar("T")

LOAD_S = 1.0
"""How often an app reports its load to its manager."""

TURN_S = 0.003
"""The shortest time between two turns of an app, unless the settings give another."""


class Rng(Protocol):
    """The part of `random.Random` that apps use."""

    def random(self) -> float: ...
    def randrange(self, start: int, stop: int, /) -> int: ...
    def uniform(self, a: float, b: float, /) -> float: ...
    def choice(self, seq: Sequence[T], /) -> T: ...
    def shuffle(self, x: MutableSequence[Any], /) -> None: ...


class ProcessLoad(NamedTuple):
    """How busy the process of an app is, as its driver has measured it."""

    cpu: float | None
    """The share of one core that it has used lately; None until it was measured."""
    late_ticks: float = 0.0
    """How late its ticks begin, in ticks, smoothed: a process that gets no core is late however little it uses."""
    unsent_bytes: int = 0
    """What it has for peers and clients that have not taken it."""

    @property
    def busy(self) -> float | None:
        """What a manager goes by: the share that is used, or the lateness if that is higher."""
        return None if self.cpu is None else max(self.cpu, min(self.late_ticks, 1.0))


class Host(Environment, Protocol):
    """What an app may use of the outside: the time and the log of its environment, and what follows."""

    @property
    def rng(self) -> Rng:
        """The random generator of the app; a seed repeats it."""

    def process_load(self) -> ProcessLoad:
        """How busy this process is."""

    def join(self, peer: AppId) -> None:
        """Makes a link with a peer before there is a message for it; with ANY_INCARNATION, with its present
        incarnation."""

    def fence(self, app: AppId) -> None:
        """Declares this incarnation (and each before it) dead: its link is cut, and it is refused from now on."""


class App(Protocol):
    """A process of the cluster, as its driver sees it."""

    @property
    def outbox(self) -> Outbox:
        """The messages that the app sends."""

    def on_message(self, source: AppId, message: Message, /) -> None:
        """Handles a message of the link with `source`; messages come in the order sent."""

    def on_link_up(self, peer: AppId, /) -> None:
        """A link with `peer` is up, dialled by either side."""

    def on_link_lost(self, peer: AppId, /) -> None:
        """The link is lost; the last messages may not have arrived. The next message to `peer` makes a new link."""

    def on_tick(self) -> None:
        """Does the work of one tick; the driver drains the outbox afterwards."""


@runtime_checkable
class TakesTurns(Protocol):
    """An app that answers between its ticks."""

    def on_turn(self) -> None:
        """Does what messages and clients have asked for since the last turn; the driver drains the outbox
        afterwards."""
