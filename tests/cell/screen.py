"""A client's screen: what it has received, and whether that can be true (promise P4)."""

from __future__ import annotations

from terrazzo.schema.state import State
from terrazzo.sync.protocol import (
    MethodTable,
    ToServer,
    decode_released,
    decode_want,
    encode_base_player,
    split_message,
)
from terrazzo.sync.view import ClientView
from terrazzo.sync.view_events import (
    CellPlayer,
    Changed,
    Entered,
    Left,
    MethodCalled,
    Moved,
    SpaceChanged,
    ViewEvent,
    Violation,
)
from tests.cell.plain import AVATAR, SCHEMA

METHODS = MethodTable(SCHEMA)


class Screen:
    """A client's view (`sync.view`); it fails the test when its messages cannot be true."""

    def __init__(self, entity: int) -> None:
        self.id = entity
        self.view = ClientView(METHODS)
        self.has_gaps = False
        """Links broke: steps may have been lost, though the last state must be right."""
        self.events: list[tuple] = []
        self.steps: dict[int, int] = {}
        """Per entity: the last number it called out."""
        first = [each.new_default() for each in AVATAR.base_player_layout.properties]
        self.view.apply(encode_base_player(entity, AVATAR, first))

    @property
    def own(self) -> State | None:
        """The state of the own entity, once it has a body."""
        return None if self.view.player is None or self.view.space is None else self.view.player.state

    @property
    def space(self) -> int | None:
        return self.view.space

    @property
    def seen(self) -> dict[int, State]:
        """The state of each other one that is there."""
        return {entity: seen.state for entity, seen in self.view.others.items()}

    def hear(self, message: bytes) -> None:
        for event in self.view.apply(message):
            assert not isinstance(event, Violation), f"to {self.id}: {event}"
            self._note(event)

    def hear_places(self, message: bytes) -> None:
        """What may be lost: not part of the story."""
        for event in self.view.apply(self.view._turns.mark(message)):  # as a BaseApp does
            assert not isinstance(event, Violation), f"to {self.id}: {event}"

    def _note(self, event: ViewEvent) -> None:
        if isinstance(event, CellPlayer):
            self.events.append(("player",))
        elif isinstance(event, SpaceChanged):
            self.events.append(("space", event.space))
        elif isinstance(event, Moved):
            self.events.append(("moved", event.entity.position))
        elif isinstance(event, Left):
            self.events.append(("leave", event.entity.id))
        elif isinstance(event, Entered):
            steps = event.entity.state["steps"]
            assert steps >= self.steps.get(event.entity.id, 0), "it came back in an older state"
            self.steps[event.entity.id] = steps
            self.events.append(("enter", event.entity.id))
        elif isinstance(event, Changed):
            entity, value = event.entity.id, event.entity.state[event.name]
            if event.name == "steps" and entity != self.id and not self.has_gaps:
                assert value == event.applied.old + 1, f"step {value} of {entity} after {event.applied.old}"
            if event.name != "bag":
                self.events.append((event.name, entity, value))
        elif isinstance(event, MethodCalled):
            self._note_call(event.entity.id, event.entity.state, event.method.name, event.args)

    def _note_call(self, entity: int, state: State, name: str, args: list) -> None:
        if name == "on_stepped":
            assert args[0] == self.steps[entity] + 1, f"call {args[0]} of {entity} after {self.steps[entity]}"
            assert args[0] == state["steps"]
            self.steps[entity] = args[0]
        self.events.append((name, entity, *args))

    def answers(self) -> tuple[list[tuple[int, int]], list[int]]:
        """What it wants and has released since the last time."""
        wants: list[tuple[int, int]] = []
        released: list[int] = []
        for message in self.view.answers():
            number, body = split_message(message)
            if number == ToServer.WANT:
                wants += decode_want(body)
            else:
                released += decode_released(body)
        return wants, released

    def count(self, *event) -> int:
        return sum(each[: len(event)] == event for each in self.events)
