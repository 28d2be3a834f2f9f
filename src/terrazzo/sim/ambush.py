"""Faults that wait for a message: they strike at the moment in which a state machine is between two states.

    CUT      the next `word` that a process sends is lost, and its link with it       (a link loses nothing else)
    DELAY    the next `word` that a process sends is held up, with all that is sent after it on that link
    REFUSE   the next jump that arrives at a CellApp is refused there: the CellApp has no such space

Random faults seldom happen at such a moment: the confirmation of an arrival is lost, the link of a refusal breaks.
An ambush is a plain record with a time, as any fault, so that a failing run can be shrunk. It waits for WAIT_S at most
and never strikes after the faults of the run are over.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any

import msgspec

from terrazzo.cell.cellapp import CellApp
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.sim.faults import Fault, FaultKind, FaultPlan
from terrazzo.sim.world import FaultLevel, Process, World
from terrazzo.wire.common import Request
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.cell_cell import Offload

WAIT_S = 4.0
SENT_S = 0.25
"""After this time every message of a process has been sent: it sends once per tick."""
NOWHERE = 1 << 30
"""A number that no space has."""


class How(Enum):
    """What happens to the message."""

    CUT = "cut"
    DELAY = "delay"
    REFUSE = "refuse"


OF_CELLS = (
    (How.CUT, "Onloaded"),
    (How.CUT, "OffloadRefused"),
    (How.CUT, "Offload"),
    (How.CUT, "SetReal"),
    (How.CUT, "DeleteGhost"),
    (How.DELAY, "SetReal"),
    (How.DELAY, "Onloaded"),
    (How.DELAY, "CreateGhost"),
    (How.DELAY, "FindEntry"),
    (How.REFUSE, "Offload"),
    (How.REFUSE, "Offload"),
)
OF_BASES = ((How.CUT, "Save"), (How.CUT, "CreateReal"), (How.DELAY, "Save"))
OF_DB = ((How.CUT, "PlaceProxy"),)


@dataclass(frozen=True)
class Ambush(Fault):
    """One fault that waits for a message of process `a`; `duration_s`: how long a DELAY lasts."""

    how: How = How.CUT
    word: str = ""
    until: float = 0.0

    def __str__(self) -> str:
        lasts = f" for {self.duration_s:.3f}s" if self.how is How.DELAY else ""
        return f"{self.at:.3f}s {self.how.value} the next {self.word} of {self.a}{lasts}"

    def apply(self, world: World) -> None:
        """The fault begins to wait for its message."""
        process = world.processes[self.a]
        app = process.app
        if isinstance(app, ClusterApp):
            world.trace.add("fault", f"ambush: {self.how.value}", a=self.a, word=self.word)
            waiting = _waiting(world, process, app)
            waiting.append(self)
            world.clock.at(self.until, lambda: waiting.remove(self) if self in waiting else None)

    def strike(self, world: World, peer: AppId) -> None:
        """Called when the message is being sent to this peer."""
        to = f"{peer.kind.name.lower()}-{peer.index}"
        world.trace.add("fault", self.how.value, a=self.a, b=to, word=self.word)
        lasts_s = self.duration_s if self.how is How.DELAY else SENT_S
        Fault(world.clock.now, FaultKind.CLOG, self.a, to, lasts_s, is_one_way=True).apply(world)
        if self.how is How.CUT:
            world.clock.after(SENT_S / 2, Fault(0.0, FaultKind.BREAK, self.a, to).apply, world)


def _waiting(world: World, process: Process, app: ClusterApp) -> list[Ambush]:
    """The ambushes that wait at a process; with the first one, the messages of the process are watched."""
    known: list[Ambush] | None = vars(app.outbox).get("ambushes")
    if known is not None:
        return known
    waiting: list[Ambush] = []
    vars(app.outbox)["ambushes"] = waiting
    send = app.outbox.send

    def sent(peer: AppId, message: Message) -> int:
        for ambush in waiting if waiting else ():
            if ambush.how is not How.REFUSE and _name(message) == ambush.word and peer != process.id:
                waiting.remove(ambush)
                ambush.strike(world, peer)
                break
        return send(peer, message)

    vars(app.outbox)["send"] = sent
    if isinstance(app, CellApp):
        _refuse_jumps(app, waiting)
    return waiting


def _name(message: Message) -> str:
    """The kind of a message; for a Request, the kind of the message in it."""
    inner = REGISTRY.decode_nested(message.item) if isinstance(message, Request) else message
    return type(inner).__name__


def _refuse_jumps(app: CellApp, waiting: list[Ambush]) -> None:
    handler = app._handlers[Offload]

    def heard(source: AppId, message: Offload) -> None:
        ambush = next((each for each in waiting if each.how is How.REFUSE), None)
        if ambush is not None and message.jump is not None and source != app.me:
            waiting.remove(ambush)
            message = msgspec.structs.replace(message, jump=message.jump._replace(space=NOWHERE))
        handler(source, message)

    app.on(Offload, heard)


@dataclass
class AmbushPlan(FaultPlan):
    """Ambushes at the CellApps, BaseApps and DBApp of a cluster; `rate` a second at the harsh level."""

    words: tuple[tuple[list[str], tuple[tuple[How, str], ...]], ...] = ()
    """Processes, and for each what may happen to which of its messages."""

    def _draw(self, rng: Random, level: FaultLevel, duration_s: float) -> list[Fault]:
        scale = {FaultLevel.NONE: 0.0, FaultLevel.MILD: 0.3, FaultLevel.HARSH: 1.0}[level]
        count = int((duration_s - self.begin_s) * self.rate * scale * rng.uniform(0.5, 1.5))
        return [each for _ in range(count) for each in self._ambushes(rng, duration_s)]

    def _ambushes(self, rng: Random, duration_s: float) -> list[Fault]:
        names, words = rng.choices(self.words, [len(words) for _, words in self.words])[0]
        how, word = rng.choice(words)
        at, name = rng.uniform(min(self.begin_s, duration_s), duration_s), rng.choice(names)
        lasts_s, until = rng.uniform(0.2, 3.0), min(at + WAIT_S, duration_s)
        drawn: list[Fault] = [Ambush(at, FaultKind.CLOG, name, "", lasts_s, how=how, word=word, until=until)]
        if rng.random() < 0.5 and how is How.REFUSE:  # its answer is lost, too: a copy of it will come
            drawn.append(Ambush(at, FaultKind.CLOG, name, how=How.CUT, word="OffloadRefused", until=until))
        return drawn


def ambushes(taste: Random, begin_s: float, *, cells: list[str], bases: list[str], db: str) -> AmbushPlan:
    """The plan for a cluster: no ambushes in some worlds, many in others."""
    words: Any = ((cells, OF_CELLS), (bases, OF_BASES), ([db], OF_DB))
    return AmbushPlan(
        [*cells, *bases, db], rate=taste.choice([0.0, 0.5, 1.5]), begin_s=begin_s, name="ambushes", words=words
    )
