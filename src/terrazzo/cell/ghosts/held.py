"""What arrived early for one entity: steps and transitions of its numbered stream that cannot be taken yet.

A **step** leads from one number to the next. A **transition** happens between two steps: a ghost begins, ends, or
becomes the real. The order of everything is by number; transitions of the same number happened in the order of their
epochs; and transitions of the same epoch were sent by one app over one link, so they arrived in order. That is the
order of `transitions`.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import NamedTuple

from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, Offload, UpdateGhost

HELD_STEPS_MAX = 256
HELD_TRANSITIONS_MAX = 64


class HeldTransition(NamedTuple):
    """A beginning, an end or an arrival, in the order in which they happened."""

    number: int
    epoch: int
    serial: int
    source: AppId
    message: CreateGhost | DeleteGhost | Offload


@dataclass(slots=True)
class Held:
    """Everything that waits for a step that is missing."""

    since: float
    """When the gap was found, or something of it was filled last."""
    until: float
    """Then the gap is mended."""
    ask: AppId
    """The app that can mend it: that of the highest epoch received."""
    epoch: int
    upto: int = -1
    """The highest number that is known to exist."""
    awaited: int = -1
    """The epoch of a real that has sent that it has a ghost here, while there is none."""
    is_unconfirmed: bool = False
    """Whether any real still has the ghost that is here is to be found out."""
    asked: int = 0
    """How often, without an answer."""
    steps: dict[int, UpdateGhost] = field(default_factory=dict)
    transitions: list[HeldTransition] = field(default_factory=list)
    _serial: int = 0

    def note(self, app: AppId, epoch: int) -> None:
        """The real is at `app` since `epoch`."""
        if epoch > self.epoch:
            self.ask, self.epoch = app, epoch
            self.on_answer()

    def on_answer(self) -> None:
        """The app that was asked has sent something: where only steps are missing, they may yet be mended."""
        if not self.transitions:
            self.asked = 0

    def add_step(self, message: UpdateGhost) -> bool:
        """Stores a step; False when there are too many: the gap will have to be mended."""
        self.upto = max(self.upto, message.number)
        if len(self.steps) >= HELD_STEPS_MAX:
            return False
        self.steps[message.number] = message
        return True

    def add_transition(self, source: AppId, message: CreateGhost | DeleteGhost | Offload) -> None:
        """Stores a transition, in its place."""
        self._serial += 1
        insort(self.transitions, HeldTransition(message.number, message.epoch, self._serial, source, message))

    def drop_to(self, number: int) -> None:
        """The steps up to this number are known."""
        if self.steps and min(self.steps) <= number:
            self.steps = {each: step for each, step in self.steps.items() if each > number}

    def is_done(self, number: int, *, has_body: bool) -> bool:
        """Whether nothing is missing at this number."""
        if self.transitions or self.steps or self.upto > number:
            return False
        return not self.is_unconfirmed if has_body else self.awaited < 0
