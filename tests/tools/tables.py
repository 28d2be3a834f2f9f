"""What tests ask of every table of a state machine (state × event → state, action)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

State = TypeVar("State")
Event = TypeVar("Event")
StateOfRow = TypeVar("StateOfRow", covariant=True)


class Step(Protocol[StateOfRow]):
    """A transition, as far as it is needed here."""

    @property
    def state(self) -> StateOfRow: ...


def reached_from(start: State, table: Mapping[State, Mapping[Event, Step[State]]]) -> set[State]:
    """The states that some events lead to from this one, and itself."""
    found = {start}
    while new := {step.state for state in found for step in table[state].values()} - found:
        found |= new
    return found
