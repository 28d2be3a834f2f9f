"""A client's view of the world: what a program knows from the messages of its BaseApp, and whether they tell a story.

    nothing ──base player──► own entity, base part ──cell player──► with a body: others enter, change, call, leave
                                  ▲                                                     │
                                  └──────────────────── cell lost: all others are gone ─┘        logged off: the end

`apply` takes one message and gives what it did, as events in order (`view_events`). It never raises because of what is
in a message: what does not fit the story so far is a Violation. It changes nothing, is counted by its fault, and is an
event itself. A server that keeps promise P4 causes none, whoever migrates; the simulator asks for exactly this. The
rules:

- The base player is the first message and comes once; after `logged off` nothing comes.
- A cell player comes when there is no body, `cell lost` when there is one. Others enter only while there is a body.
- What enters is not there yet; what leaves, changes or is called is there.
- The own entity's cell properties change only while it has a body; its base properties at any time.
- Nobody gets what is not for it: of the own entity what its own client may see, of others what other clients may see.

Places are unreliable: those of an entity that is not there yet, or not any more, are passed over and counted
(`late_places`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator

from terrazzo._speed.values import WHOLE, Change
from terrazzo.errors import DecodeError
from terrazzo.schema.changes import BitReader, encode_external, index_bits
from terrazzo.schema.indexes import METHOD_IDS, PROPERTY_IDS
from terrazzo.schema.model import EntitySchema, Schema, Side
from terrazzo.schema.state import State
from terrazzo.sync.protocol import (
    MethodTable,
    ToClient,
    decode_places,
    split_message,
    take_entity,
    take_place,
)
from terrazzo.sync.view_events import (
    BasePlayer,
    Called,
    CellLost,
    CellPlayer,
    Changed,
    Entered,
    Event,
    Fault,
    Left,
    LoggedOff,
    Moved,
    Seen,
    Violation,
)

VIOLATIONS_KEPT = 100
"""The newest are kept in full; all are counted."""


class _Refused(Exception):
    """A message that is a violation; never leaves this module."""

    def __init__(self, fault: Fault, text: str, entity: int = 0) -> None:
        self.fault, self.text, self.entity = fault, text, entity


class View:
    """What one client sees."""

    def __init__(self, methods: MethodTable) -> None:
        self.player: Seen | None = None
        self.space: int | None = None
        """The number of the space that the own entity has its body in; None: it has none."""
        self.others: dict[int, Seen] = {}
        """The entities in the area, by id, in the order in which they entered."""
        self.is_over = False
        self.faults: Counter[Fault] = Counter()
        self.violations: deque[Violation] = deque(maxlen=VIOLATIONS_KEPT)
        self.late_places = 0
        self._schema: Schema = methods.schema
        self._methods = methods
        self._actions: dict[int, Callable[[int, bytes], Iterator[Event]]] = {
            ToClient.BASE_PLAYER: self._on_base_player,
            ToClient.CELL_PLAYER: self._on_cell_player,
            ToClient.CELL_LOST: self._on_cell_lost,
            ToClient.ENTER: self._on_enter,
            ToClient.LEAVE: self._on_leave,
            ToClient.MOVED: self._on_moved,
            ToClient.PLACES: self._on_places,
            ToClient.LOGGED_OFF: self._on_logged_off,
            ToClient.NESTED: self._on_change,
            ToClient.SLICE: self._on_change,
        }
        for ids, action in ((METHOD_IDS[Side.CLIENT], self._on_call), (PROPERTY_IDS, self._on_property)):
            self._actions.update(dict.fromkeys(range(ids.first, ids.first + ids.slots), action))

    def apply(self, message: bytes) -> list[Event]:
        """Take one message from the server in; gives what it did."""
        number = message[0] if message else -1
        try:
            number, body = split_message(message)
            if self.is_over:
                raise _Refused(Fault.AFTER_THE_END, "a message after the last word")
            action = self._actions.get(number)
            if action is None:
                raise _Refused(Fault.UNKNOWN_MESSAGE, f"no message has the number {number}")
            return list(action(number, body))
        except _Refused as refused:
            return [self._violate(refused.fault, number, refused.entity, refused.text)]
        except DecodeError as problem:
            return [self._violate(Fault.MALFORMED, number, 0, str(problem))]

    def find(self, entity: int) -> Seen | None:
        """The own entity or one in the area."""
        if self.player is not None and entity == self.player.id:
            return self.player
        return self.others.get(entity)

    def _violate(self, fault: Fault, number: int, entity: int, text: str) -> Violation:
        violation = Violation(fault, number, entity, text)
        self.faults[fault] += 1
        self.violations.append(violation)
        return violation

    # Each action below checks everything before it changes anything.

    def _on_base_player(self, number: int, body: bytes) -> Iterator[Event]:
        entity, rest = take_entity(body)
        if self.player is not None:
            raise _Refused(Fault.PLAYER_TWICE, f"a second base player; {self.player} is there", entity)
        schema, rest = self._take_type(rest, entity)
        layout = schema.client_layout
        values = [each.new_default() for each in layout.properties]
        row = schema.base_player_layout
        for name, value in zip(row.names, row.row.decode(rest), strict=True):
            values[layout.index[name]] = value
        self.player = Seen(entity, schema, State(layout, None, values))
        yield BasePlayer(self.player)

    def _on_cell_player(self, number: int, body: bytes) -> Iterator[Event]:
        player = self._own()
        if self.space is not None:
            raise _Refused(Fault.PLAYER_TWICE, f"a cell player; {player} has a body already", player.id)
        if len(body) < 4:
            raise DecodeError("a cell player names its space in four bytes", len(body))
        position, yaw, rest = take_place(body[4:])
        row = player.schema.cell_player_layout
        new = dict(zip(row.names, row.row.decode(rest), strict=True))
        # What was decoded is taken as it is: assigning would hold it to limits that are for the server's own code.
        old = player.state
        layout = old.layout
        old.release()
        values = [new.get(name, value) for name, value in zip(layout.names, old.values(), strict=True)]
        player.state = State(layout, None, values)
        player.position, player.yaw = position, yaw
        self.space = int.from_bytes(body[:4], "little")
        yield CellPlayer(player, self.space)

    def _on_cell_lost(self, number: int, body: bytes) -> Iterator[Event]:
        player = self._own_with_cell()
        if body:
            raise DecodeError("cell lost has nothing in it", 0)
        gone, self.others = self.others, {}
        self.space = None
        for each in gone.values():
            each.state.release()
            yield Left(each)
        yield CellLost(player)

    def _on_enter(self, number: int, body: bytes) -> Iterator[Event]:
        entity, rest = take_entity(body)
        self._own_with_cell(entity)
        if self.find(entity) is not None:
            raise _Refused(Fault.ENTERED_TWICE, f"{self.find(entity)} enters, but is there already", entity)
        schema, rest = self._take_type(rest, entity)
        position, yaw, rest = take_place(rest)
        layout = schema.client_layout
        some = layout.decode_some(rest)
        for place in some:
            self._check_audience(schema, place, is_own=False, entity=entity)
        values = [some[at] if at in some else each.new_default() for at, each in enumerate(layout.properties)]
        seen = self.others[entity] = Seen(entity, schema, State(layout, None, values), position, yaw)
        yield Entered(seen)

    def _on_leave(self, number: int, body: bytes) -> Iterator[Event]:
        entity, rest = take_entity(body)
        if entity not in self.others:
            raise _Refused(Fault.UNKNOWN_ENTITY, f"entity {entity} leaves, but is not there", entity)
        if rest:
            raise DecodeError("leave has nothing after its entity", 4)
        seen = self.others.pop(entity)
        seen.state.release()
        yield Left(seen)

    def _on_moved(self, number: int, body: bytes) -> Iterator[Event]:
        player = self._own_with_cell()
        position, yaw, rest = take_place(body)
        if rest:
            raise DecodeError("moved has nothing after its place", 16)
        player.position, player.yaw = position, yaw
        yield Moved(player)

    def _on_places(self, number: int, body: bytes) -> Iterator[Event]:
        for place in decode_places(body):
            seen = self.others.get(place.entity)
            if seen is None:
                self.late_places += 1
                continue
            seen.position, seen.yaw = place.position, place.yaw
            yield Moved(seen)

    def _on_logged_off(self, number: int, body: bytes) -> Iterator[Event]:
        if not body:
            raise DecodeError("logged off gives its reason in one byte", 0)
        self.is_over = True
        yield LoggedOff(body[0], body[1:].decode(errors="replace"))

    def _on_call(self, number: int, body: bytes) -> Iterator[Event]:
        seen, _ = self._take_seen(body)
        call = self._methods.find(seen.schema, Side.CLIENT, number, body)
        yield Called(seen, call.method, call.method.decode_args(call.data))

    def _on_property(self, number: int, body: bytes) -> Iterator[Event]:
        """A whole property: the same change as in the form with a path, and so it takes the same way."""
        seen, payload = self._take_seen(body)
        index, count = number - PROPERTY_IDS.first, len(seen.state.layout)
        if index >= count:
            raise DecodeError(f"{seen.schema.name} has no client property of index {index}", 0)
        change = encode_external(Change(WHOLE, index, (), (), 0, 0, payload), index, count)
        yield self._change(seen, index, change, is_slice=False)

    def _on_change(self, number: int, body: bytes) -> Iterator[Event]:
        seen, change = self._take_seen(body)
        bits, count = BitReader(change), len(seen.state.layout)
        bits.read(1)
        index = bits.read(index_bits(count))
        if index >= count:
            raise DecodeError(f"{seen.schema.name} has no client property of index {index}", 0)
        yield self._change(seen, index, change, is_slice=number == ToClient.SLICE)

    def _change(self, seen: Seen, index: int, data: bytes, *, is_slice: bool) -> Changed:
        is_own = seen is self.player
        self._check_audience(seen.schema, index, is_own=is_own, entity=seen.id)
        prop = seen.state.layout.properties[index]
        if is_own and not prop.flags.value.base:
            self._own_with_cell(seen.id)
        return Changed(seen, prop.name, seen.state.apply_external(data, is_slice=is_slice))

    # What the actions look at.

    def _own(self) -> Seen:
        if self.player is None:
            raise _Refused(Fault.UNKNOWN_ENTITY, "a message before the base player")
        return self.player

    def _own_with_cell(self, entity: int = 0) -> Seen:
        player = self._own()
        if self.space is None:
            raise _Refused(Fault.NO_CELL, f"a message that takes a body, but {player} has none", entity or player.id)
        return player

    def _take_seen(self, body: bytes) -> tuple[Seen, bytes]:
        entity, rest = take_entity(body)
        seen = self.find(entity)
        if seen is None:
            raise _Refused(Fault.UNKNOWN_ENTITY, f"entity {entity} is changed or called, but is not there", entity)
        return seen, rest

    def _take_type(self, rest: bytes, entity: int) -> tuple[EntitySchema, bytes]:
        if len(rest) < 2:
            raise DecodeError("an entity's type is told in two bytes", len(rest))
        type_id = int.from_bytes(rest[:2], "little")
        schema = self._schema.by_id.get(type_id)
        if schema is None or not schema.on_client:
            raise _Refused(Fault.UNKNOWN_TYPE, f"no entity type for clients has the id {type_id}", entity)
        return schema, rest[2:]

    def _check_audience(self, schema: EntitySchema, place: int, *, is_own: bool, entity: int) -> None:
        prop = schema.client_layout.properties[place]
        audience = prop.flags.value
        if not (audience.own_client if is_own else audience.other_clients):
            whose = "its own client" if is_own else "another client"
            text = f"{schema.name}.{prop.name} of entity {entity} came to {whose}, which may not see it"
            raise _Refused(Fault.NOT_FOR_THIS_CLIENT, text, entity)
