"""A client's view of the world: what follows from the messages of its BaseApp, and whether they fit each other.

    nothing ──base player──► own entity, base part ──cell player──► with a body: others come, change, call, leave
                                  ▲                                                 │
                                  └───────────────── cell lost: all others are gone ┘            logged off: the end

    begin_anew(): nothing again, for a client that has resumed

Those others have aliases, and go with `space`, too; `sync.neighbours` has them and the rules about them.

`apply` takes one message and gives what it did, as events in order (`view_events`). It never raises because of what is
in a message: what does not fit the messages so far is a Violation. It changes nothing, is counted by its fault, and is
an event itself. A server that keeps promise P4 causes none, whatever migrates; the simulator asks for exactly this. The
rules:

- The base player is the first message and comes once; after `logged off` nothing comes.
- A cell player comes when there is no body; `cell lost`, `space`, `moved` and what is about others when there is one.
- The own entity's cell properties change only while it has a body; its base properties at any time.
- A client gets only what is for it: of the own entity what its own client may see, of others what other clients may
  see.

An entity that rides on another is where that is (`sync.riding`), as long as that is there; else at its last place.

Places and loose messages are unreliable. Those about an alias that no entity has, yet or any more, or that another had
when they were sent (`sync.turns`), are passed over and counted (`late`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

from terrazzo._speed.values import WHOLE, Change
from terrazzo.errors import DecodeError
from terrazzo.schema.changes import BitReader, encode_external, index_bits
from terrazzo.schema.indexes import METHOD_IDS, PROPERTY_IDS
from terrazzo.schema.model import EntitySchema, Schema, Side
from terrazzo.schema.state import State
from terrazzo.sync.neighbours import AreaView
from terrazzo.sync.protocol import (
    OWN,
    Direction,
    MethodTable,
    Position,
    ToClient,
    decode_space_data,
    split_message,
    take_alias,
    take_entity,
    take_place,
)
from terrazzo.sync.riders import Rides
from terrazzo.sync.riding import decode_ride
from terrazzo.sync.turns import Turns
from terrazzo.sync.view_events import (
    BasePlayer,
    CellLost,
    CellPlayer,
    Changed,
    Fault,
    Left,
    MessageRefused,
    MethodCalled,
    Moved,
    PlayerLeft,
    Seen,
    SpaceChanged,
    SpaceDataChanged,
    ViewEnded,
    ViewEvent,
    Violation,
    check_audience,
)

_UNRELIABLE = (ToClient.PLACES, ToClient.LOOSE)

VIOLATIONS_KEPT = 100
"""The newest are kept in full; all are counted."""


class ClientView:
    """What one client sees."""

    def __init__(
        self, methods: MethodTable, *, asks_moves: Callable[[EntitySchema], bool] = lambda schema: True
    ) -> None:
        """`asks_moves`: of which types of entities a PLACES message gives a `Moved` for each that it moves. Those of
        other types are moved without an event, and without Python for each of them."""
        self.player: Seen | None = None
        self.space: int | None = None
        """The number of the space that the own entity has its body in; None: it has none."""
        self.space_data: dict[str, Any] = {}
        """The data of that space."""
        self.is_over = False
        self.faults: Counter[Fault] = Counter()
        self.violations: deque[Violation] = deque(maxlen=VIOLATIONS_KEPT)
        self._late = 0
        self._schema: Schema = methods.schema
        self._methods = methods
        self._asks_moves = asks_moves
        self._turns = Turns()
        self._neighbours = AreaView(self._turns, asks_moves)
        self._rides = Rides(self.find)
        self._actions: dict[int, Callable[[int, bytes], Iterator[ViewEvent]]] = {
            ToClient.BASE_PLAYER: self._on_base_player,
            ToClient.CELL_PLAYER: self._on_cell_player,
            ToClient.CELL_LOST: self._on_cell_lost,
            ToClient.SPACE: self._on_space,
            ToClient.SPACE_DATA: self._on_space_data,
            ToClient.ANNOUNCE: self._on_announce,
            ToClient.DESCRIBE: self._on_describe,
            ToClient.LEAVE: self._on_leave,
            ToClient.MOVED: self._on_moved,
            ToClient.PLACES: self._on_places,
            ToClient.PLACE: self._on_place,
            ToClient.RIDES: self._on_rides,
            ToClient.LOOSE: self._on_loose,
            ToClient.RENEW: self._on_renew,
            ToClient.LOGGED_OFF: self._on_logged_off,
            ToClient.NESTED: self._on_change,
            ToClient.SLICE: self._on_change,
        }
        for ids, action in ((METHOD_IDS[Side.CLIENT], self._on_call), (PROPERTY_IDS, self._on_property)):
            self._actions.update(dict.fromkeys(range(ids.first, ids.first + ids.slots), action))

    def apply(self, message: bytes) -> list[ViewEvent]:
        """Take one message from the server in; gives what it did."""
        number = message[0] if message else -1
        try:
            number, body = split_message(message)
            if self.is_over and number in _UNRELIABLE:
                self._late += 1
                return []
            if self.is_over:
                raise MessageRefused(Fault.AFTER_THE_END, "a message after the end")
            action = self._actions.get(number)
            if action is None:
                raise MessageRefused(Fault.UNKNOWN_MESSAGE, f"no message has the number {number}")
            return list(action(number, body))
        except MessageRefused as refused:
            return [self._violate(refused.fault, number, refused.entity, refused.text)]
        except DecodeError as problem:
            return [self._violate(Fault.MALFORMED, number, 0, str(problem))]

    def begin_anew(self) -> list[Left | CellLost | PlayerLeft]:
        """The client has another session, which tells everything from the beginning; gives what is gone."""
        events: list[Left | CellLost | PlayerLeft] = []
        player = self.player
        if player is not None and self.space is not None:
            events = [*self._part_with(self._neighbours.forget_all()), CellLost(player)]
        if player is not None:
            events.append(PlayerLeft(player))
            player.state.release()
        self.player = self.space = None
        self.space_data = {}
        self.is_over = False
        self._late = self.late
        self._turns = Turns()
        self._neighbours = AreaView(self._turns, self._asks_moves)
        self._rides = Rides(self.find)
        return events

    def find(self, entity: int) -> Seen | None:
        """The own entity or one in the area."""
        if self.player is not None and entity == self.player.id:
            return self.player
        return self.others.get(entity)

    @property
    def late(self) -> int:
        """How much that is unreliable was passed over, as it is about another bearer of an alias, or another time."""
        return self._late + self._neighbours.places.late

    @property
    def others(self) -> dict[int, Seen]:
        """The entities in the area, by id, in the order in which they entered."""
        return self._neighbours.others

    def answers(self) -> list[bytes]:
        """What the client has to answer to the messages since the last time; reliable messages."""
        return self._neighbours.answers()

    def move_own(self, position: Position, direction: Direction) -> list[Moved]:
        """The own entity goes somewhere by itself; gives what that did to those that ride on it."""
        player = self._own_with_cell()
        player.put(position, direction)
        return [Moved(rider) for rider in self._rides.carry(player)]

    def _part_with(self, events: Iterator[Left]) -> Iterator[Left]:
        for event in events:
            self._rides.leave(event.entity)
            yield event

    def _violate(self, fault: Fault, number: int, entity: int, text: str) -> Violation:
        violation = Violation(fault, number, entity, text)
        self.faults[fault] += 1
        self.violations.append(violation)
        return violation

    # Each action below checks everything before it changes anything.

    def _on_base_player(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        entity, rest = take_entity(body)
        if self.player is not None:
            raise MessageRefused(Fault.PLAYER_TWICE, f"a second base player; {self.player} is there", entity)
        schema, rest = self._take_type(rest, entity)
        layout = schema.own_client_layout
        values = layout.new_values()
        row = schema.base_player_layout
        for name, value in zip(row.names, row.row.decode(rest), strict=True):
            values[layout.index[name]] = value
        self.player = Seen(entity, schema, State(layout, None, values))
        yield BasePlayer(self.player)

    def _on_cell_player(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        player = self._own()
        if self.space is not None:
            raise MessageRefused(Fault.PLAYER_TWICE, f"a cell player; {player} has a body already", player.id)
        space, body = self._take_space(body)
        position, direction, rest = take_place(body)
        row = player.schema.cell_player_layout
        new = dict(zip(row.names, row.row.decode(rest), strict=True))
        # What was decoded is taken as it is: assigning would hold it to limits that are for the server's own code.
        old = player.state
        layout = old.layout
        old.release()
        values = [new.get(name, value) for name, value in zip(layout.names, old.values(), strict=True)]
        player.state = State(layout, None, values)
        player.put(position, direction)
        player.turn = self._turns.begin()
        self.space, self.space_data = space, {}
        yield CellPlayer(player, space)

    def _on_cell_lost(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        player = self._own_with_cell()
        if body:
            raise DecodeError("cell lost has nothing in it", 0)
        self.space, self.space_data = None, {}
        yield from self._part_with(self._neighbours.forget_all())
        self._rides.leave(player)
        self._neighbours.begin_anew()
        yield CellLost(player)

    def _on_space(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        player = self._own_with_cell()
        space, body = self._take_space(body)
        position, direction, rest = take_place(body)
        if rest:
            raise DecodeError("space has nothing after its place", 28)
        player.put(position, direction)
        self.space, self.space_data = space, {}
        yield from self._part_with(self._neighbours.forget_all())
        yield SpaceChanged(player, space)

    def _on_space_data(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        player = self._own_with_cell()
        changed = decode_space_data(body)
        self.space_data = {**self.space_data, **changed}
        yield SpaceDataChanged(player, changed)

    def _on_announce(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        entity, rest = take_entity(body)
        alias, rest = take_alias(rest)
        schema, rest = self._take_type(rest, entity)
        player = self._own_with_cell(entity)
        if rest:
            raise DecodeError("announce has nothing after its type", len(body) - len(rest))
        if entity == player.id:
            raise MessageRefused(Fault.ENTERED_TWICE, "the own entity is announced", entity)
        self._neighbours.announce(entity, alias, schema)
        yield from ()

    def _on_describe(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        alias, rest = take_alias(body)
        self._own_with_cell()
        entered = self._neighbours.describe(alias, rest)
        yield entered
        yield from map(Moved, self._rides.enter(entered.entity))

    def _on_leave(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        alias, rest = take_alias(body)
        self._own_with_cell()
        if rest:
            raise DecodeError("leave has nothing after its alias", len(body) - len(rest))
        yield from self._part_with(self._neighbours.leave(alias))

    def _on_moved(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        player = self._own_with_cell()
        position, direction, rest = take_place(body)
        if rest:
            raise DecodeError("moved has nothing after its place", 24)
        yield from map(Moved, self._rides.put(player, position, direction))

    def _on_places(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        for alias, place in self._neighbours.places.take(body, self._turns.now):
            seen = self._neighbours.by_alias[alias]
            if place is None:
                yield Moved(seen)
            else:
                yield from map(Moved, self._rides.put(seen, *place))

    def _on_place(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        alias, rest = take_alias(body)
        seen = self._neighbours.find(alias)
        position, direction, rest = take_place(rest)
        if rest:
            raise DecodeError("place has nothing after its place", len(body) - len(rest))
        yield from map(Moved, self._rides.put(seen, position, direction))

    def _on_rides(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        seen, data = self._take_seen(body)
        ride = decode_ride(data)
        if seen is self.player:
            self._own_with_cell()
        if ride.vehicle == seen.id:
            raise MessageRefused(Fault.MALFORMED, f"{seen} rides on itself", seen.id)
        if seen is not self.player and not ride.vehicle:
            seen.turn = self._turns.begin_again()
        yield from map(Moved, self._rides.ride(seen, ride))

    def _on_renew(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        seen, turn = self._take_seen(body)
        if len(turn) != 1:
            raise DecodeError("renew tells an alias and a turn", len(body))
        seen.turn = self._turns.renew(turn[0])
        yield from ()

    def _on_loose(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        """A change or a call like any other, but it may come too early or too late."""
        if len(body) < 2:
            raise DecodeError("loose tells its turn and a message", len(body))
        turn, number, body = body[0], body[1], body[2:]
        alias, rest = take_alias(body)
        is_whole = number == ToClient.NESTED and rest[:1] < b"\x80"
        if not is_whole and self._actions.get(number) not in (self._on_call, self._on_property):
            raise DecodeError(f"loose has a call or a whole property in it, not message {number}", 1)
        seen = self.player if alias == OWN else self._neighbours.by_alias.get(alias)
        if seen is None or not self._turns.covers(turn, seen.turn):
            self._late += 1
            return
        try:
            yield from self._actions[number](number, body)
        except MessageRefused as refused:
            if refused.fault is not Fault.NO_CELL:
                raise
            self._late += 1

    def _on_logged_off(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        if not body:
            raise DecodeError("logged off gives its reason in one byte", 0)
        self.is_over = True
        yield ViewEnded(body[0], body[1:].decode(errors="replace"))

    def _on_call(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        seen, data = self._take_seen(body)
        call = self._methods.find(seen.schema, Side.CLIENT, number, data)
        yield MethodCalled(seen, call.method, call.method.decode_args(call.data))

    def _on_property(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        """A whole property: the same change as in the form with a path, and so it takes the same way."""
        seen, payload = self._take_seen(body)
        index, count = number - PROPERTY_IDS.first, len(seen.state.layout)
        if index >= count:
            raise DecodeError(f"{seen.schema.name} has no client property of index {index}", 0)
        change = encode_external(Change(WHOLE, index, (), (), 0, 0, payload), index, count)
        yield self._change(seen, index, change, is_slice=False)

    def _on_change(self, number: int, body: bytes) -> Iterator[ViewEvent]:
        seen, change = self._take_seen(body)
        bits, count = BitReader(change), len(seen.state.layout)
        bits.read(1)
        index = bits.read(index_bits(count))
        if index >= count:
            raise DecodeError(f"{seen.schema.name} has no client property of index {index}", 0)
        yield self._change(seen, index, change, is_slice=number == ToClient.SLICE)

    def _change(self, seen: Seen, index: int, data: bytes, *, is_slice: bool) -> Changed:
        is_own = seen is self.player
        check_audience(seen.schema, index, is_own=is_own, entity=seen.id)
        prop = seen.state.layout.properties[index]
        if is_own and not prop.flags.value.base:
            self._own_with_cell(seen.id)
        return Changed(seen, prop.name, seen.state.apply_external(data, is_slice=is_slice))

    # What the actions look at.

    def _own(self) -> Seen:
        if self.player is None:
            raise MessageRefused(Fault.UNKNOWN_ENTITY, "a message before the base player")
        return self.player

    def _own_with_cell(self, entity: int = 0) -> Seen:
        player = self._own()
        if self.space is None:
            raise MessageRefused(
                Fault.NO_CELL, f"a message that takes a body, but {player} has none", entity or player.id
            )
        return player

    def _take_seen(self, body: bytes) -> tuple[Seen, bytes]:
        alias, rest = take_alias(body)
        if alias == OWN:
            return self._own(), rest
        return self._neighbours.find(alias), rest

    def _take_space(self, body: bytes) -> tuple[int, bytes]:
        if len(body) < 4:
            raise DecodeError("a space has four bytes", len(body))
        return int.from_bytes(body[:4], "little"), body[4:]

    def _take_type(self, rest: bytes, entity: int) -> tuple[EntitySchema, bytes]:
        if len(rest) < 2:
            raise DecodeError("an entity's type has two bytes", len(rest))
        type_id = int.from_bytes(rest[:2], "little")
        schema = self._schema.by_id.get(type_id)
        if schema is None or not schema.on_client:
            raise MessageRefused(Fault.UNKNOWN_TYPE, f"no entity type for clients has the id {type_id}", entity)
        return schema, rest[2:]
