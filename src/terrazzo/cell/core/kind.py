"""What a CellApp works out once for each entity type: which receivers get which property, and its classes.

    place in the cell layout   →   Reach: is it sent to ghosts, to the own client, to other clients, under which index
    change, call, place        →   Event: the message for clients, the same for all of them, and its manner
                                   (`cell/core/history.py`)
    volatile, detail levels    →   Ranges: up to which distance what is sent (`_speed/sight`)
    classes of the game        →   part_class (of the real), view_class (what code of other entities gets), hooks

The rows of values that a client gets when an entity appears are picked from a state by these tables, too.

A property with changes that may be missed (unreliable, or latest-only) is sent **whole**: a change inside a
value is of use only to a receiver that has the change before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple, Protocol

from terrazzo._speed.codec import Codec, HiddenCodec
from terrazzo._speed.sight import OUTERMOST, Ranges
from terrazzo._speed.values import WHOLE, Change
from terrazzo.cell.core.account import Page, SentAccount
from terrazzo.cell.core.history import PLACE, PLAIN, RIDE, EntityEvent, History, Manner
from terrazzo.cell.core.hooks import Hooks
from terrazzo.errors import DecodeError
from terrazzo.game import LoadedGame
from terrazzo.schema.flags import Receiver
from terrazzo.schema.model import EntitySchema, Method, Property, Side
from terrazzo.schema.shares import has_shares, is_for, share_of
from terrazzo.schema.state import State
from terrazzo.sync.protocol import (
    Direction,
    EntityMessage,
    MethodTable,
    Position,
    ToClient,
    encode_change,
    encode_place,
)
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.wire.ids import life_of

LOOSE_MAX = 1018
"""Bytes of a change or call that may be lost; with its head it must fit a message of the client channel that may be.
What is longer is sent so that it arrives."""


class Described(Protocol):
    """A body, as far as clients are sent it."""

    @property
    def history(self) -> History: ...
    @property
    def number(self) -> int: ...
    @property
    def state(self) -> State: ...
    @property
    def ride(self) -> Ride | None: ...
    @property
    def position(self) -> Position: ...
    @property
    def direction(self) -> Direction: ...


class PartClasses(NamedTuple):
    """The classes of the game for the cell part of one entity type (`cell/api/classes.py`)."""

    part: type[Hooks]
    view: type[Hooks]
    hooks: frozenset[str]
    """The hooks that the game overrides: the others need not be run."""


class Reach(NamedTuple):
    """How far a cell property goes."""

    to_ghosts: bool
    to_own: bool
    to_others: bool
    client_index: int
    """Client-server index; -1 for what no client gets."""
    forms: Forms | None
    """None where all receivers get all of it."""
    manner: Manner


class Forms(NamedTuple):
    """How much of a cell property each one gets (`schema/shares.py`)."""

    whole: Codec
    ghosts: Codec
    own: Codec
    others: Codec


class EntityKind:
    """One entity type, as a CellApp needs it."""

    def __init__(self, schema: EntitySchema, classes: PartClasses, methods: MethodTable, page: Page) -> None:
        self.schema = schema
        self.page = page
        self.part_class, self.view_class, self.hooks = classes
        self.reach = tuple(self._reach(place) for place in range(len(schema.cell_layout)))
        self.ranges, self.ranges_of_vehicles = ranges_of(schema, self.page.others[PLACE])
        self.is_eventful = schema.on_client and schema.volatile.position is None
        """Whether it is an event when it moves."""
        self._methods = methods
        self._call_manners = [_manner_of_call(each) for each in schema.client_methods]
        self._client_count = len(schema.client_layout)
        self.for_others = [place for place, each in enumerate(self.reach) if each.to_others]
        """The places of the properties that other clients see."""
        manners = [(place, self.reach[place].manner) for place in self.for_others]
        levels = range(len(schema.detail_levels))
        self.of_level = [[place for place, manner in manners if manner.level == level] for level in levels]
        """Those of each level of detail."""
        self.visible = [
            [place for place, manner in manners if manner.level >= level] for level in (*levels, len(levels))
        ]
        """Those that are sent at each level, the outermost last."""
        self.loose = [place for place, manner in manners if not manner.is_reliable]
        self.beside = [RIDE, PLACE] if self.is_eventful else [RIDE]
        """The subjects beside properties that can be caught up by stamps (`cell/core/history.py`)."""
        self._for_player = [schema.cell_layout.index[name] for name in schema.cell_player_layout.names]

    def _reach(self, place: int) -> Reach:
        prop = self.schema.cell_properties[place]
        index = self.schema.client_layout.index.get(prop.name, -1)
        ghosts, own, others = (
            each.gets(prop.flags) and not isinstance(prop.codec_for(each), HiddenCodec) for each in Receiver
        )
        forms = Forms(prop.codec, *map(prop.codec_for, Receiver)) if has_shares(prop.type) else None
        return Reach(ghosts, own and index >= 0, others and index >= 0, index, forms, _manner_of(self.schema, prop))

    @property
    def name(self) -> str:
        """Of the entity type."""
        return self.schema.name

    # What clients are sent.

    def player_row(self, state: State) -> list[Any]:
        """What the own client gets with the cell part."""
        return [state.get(place) for place in self._for_player]

    def describe(self, body: Described, level: int, remembered: int = 0) -> bytes:
        """The properties that another client gets with the description of a body at a level of detail. If the client
        remembers the entity up to a number, only those that have changed since; but all that belong to a level, since
        it may have missed those."""
        history, number = body.history, body.number
        if remembered and life_of(remembered) == life_of(number) and remembered <= number:
            return self._row(
                body.state,
                (
                    place
                    for place in self.visible[level]
                    if self.reach[place].manner.level != OUTERMOST or history.has_changed(place, remembered)
                ),
            )
        row = history.rows.get(level)
        if row is None:
            row = history.rows[level] = self._row(body.state, self.visible[level])
        return row

    def _row(self, state: State, places: Iterable[int]) -> bytes:
        return self.schema.other_client_layout.encode_some(
            {self.reach[at].client_index: state.get(at) for at in places}
        )

    def for_ghosts(self, change: Change) -> Change | None:
        """A change as ghosts are sent it, if they are."""
        forms = self.reach[change.prop].forms
        return change if forms is None else share_of(change, forms.whole, forms.ghosts)

    def concerns(self, change: Change) -> tuple[bool, bool]:
        """Whether a change concerns ghosts, and the own client, if they are sent the property at all."""
        forms = self.reach[change.prop].forms
        return (True, True) if forms is None else (is_for(change, forms.ghosts), is_for(change, forms.own))

    def event_for_own(self, change: Change) -> EntityEvent | None:
        """A change as the own client is sent it, if it is."""
        forms = self.reach[change.prop].forms
        shared = change if forms is None else share_of(change, forms.whole, forms.own)
        return None if shared is None else self.event_of_change(shared)

    def event_for_others(self, change: Change) -> EntityEvent | None:
        """A change as other clients are sent it, if they are. It is one that ghosts are sent: real and ghosts make the
        same event of it."""
        forms = self.reach[change.prop].forms
        shared = change if forms is None else share_of(change, forms.ghosts, forms.others)
        return None if shared is None else self.event_of_change(shared)

    def whole(self, state: State, place: int) -> Change:
        """A property as it is, as a change."""
        return Change(WHOLE, place, (), (), 0, 0, self.schema.cell_layout.codecs[place].encode(state.get(place)))

    def manner_of(self, subject: int) -> Manner:
        """How it is sent (`cell/core/history.py`)."""
        if subject in (PLACE, RIDE):
            return _MANNER_OF_PLACES
        if subject >= 0:
            return self.reach[subject].manner if subject < len(self.reach) else PLAIN
        return self._call_manners[~subject] if ~subject < len(self._call_manners) else PLAIN

    def event(self, subject: int, message: EntityMessage) -> EntityEvent:
        """Something that clients are sent, in the manner of this type."""
        manner = self.manner_of(subject)
        if not manner.is_reliable and len(message.body) > LOOSE_MAX:
            manner = manner._replace(is_reliable=True)
        return EntityEvent(subject, message, manner, self.page.others[subject])

    def event_of_change(self, change: Change) -> EntityEvent:
        """A change of a property, in the form that is for the client that gets it."""
        return self.event(change.prop, encode_change(change, self.reach[change.prop].client_index, self._client_count))

    def event_of_call(self, index: int, args: bytes) -> EntityEvent:
        """A call of a client method (by the index of servers) as clients are sent it."""
        methods = self.schema.client_methods
        if not 0 <= index < len(methods):
            raise DecodeError(f"{self.name} has no client method {index}")
        name, component = methods[index].name, methods[index].component
        message = self._methods.encode_call(self.schema, Side.CLIENT, name, args, component=component)
        return self.event(~index, message)

    def event_of_place(self, position: Position, direction: Direction) -> EntityEvent:
        """The place of an entity, as an event: its position is not volatile."""
        return self.event(PLACE, encode_place(position, direction))

    def event_of_ride(self, data: bytes) -> EntityEvent:
        """What an entity stands on as clients are sent it (`sync.riding`)."""
        return self.event(RIDE, EntityMessage(ToClient.RIDES, data))

    def event_of_now(self, body: Described, subject: int) -> EntityEvent:
        """A property, the ride or the place as it is now: for a client that missed too much."""
        if subject == PLACE:
            return self.event_of_place(body.position, body.direction)
        if subject == RIDE:
            return self.event_of_ride(encode_ride(body.ride or Ride(0, body.position, body.direction)))
        codec = self.schema.other_client_layout.codecs[self.reach[subject].client_index]
        return self.event_of_change(Change(WHOLE, subject, (), (), 0, 0, codec.encode(body.state.get(subject))))


_MANNER_OF_PLACES = Manner(is_latest=True)


def _manner_of(schema: EntitySchema, prop: Property) -> Manner:
    labels = [each.label for each in schema.detail_levels]
    level = labels.index(prop.detail_level) if prop.detail_level in labels else OUTERMOST
    return Manner(level, is_reliable=prop.is_reliable, is_latest=prop.send_latest_only)


def _manner_of_call(method: Method) -> Manner:
    distance = inf if method.detail_distance is None else method.detail_distance
    return Manner(distance=distance, is_reliable=method.is_reliable, is_latest=method.send_latest_only)


def ranges_of(schema: EntitySchema, row: int) -> tuple[Ranges, Ranges]:
    """Up to which distance a type is sent; and so while it has riders: a client works out from the place of a vehicle,
    and from where it looks, where the riders are, which may be near when it is far."""
    volatile = schema.volatile
    followed = volatile if volatile.position is None else replace(volatile, position=inf, yaw=inf)
    levels = [(each.start, each.hysteresis) for each in schema.detail_levels]
    alone, ridden = (
        Ranges(
            each.position,
            (each.yaw, each.pitch, each.roll),
            levels,
            is_detailed=schema.detailed_volatile_position,
            row=row,
        )
        for each in (volatile, followed)
    )
    return alone, ridden


class Kinds:
    """All entity types of a game, by type id; each is worked out when it is first asked for."""

    def __init__(
        self, game: LoadedGame, account: SentAccount, classes_of: Callable[[LoadedGame, EntitySchema], PartClasses]
    ) -> None:
        self._game = game
        self._classes_of = classes_of
        self._pages = {type_id: Page(account, schema) for type_id, schema in sorted(game.schema.by_id.items())}
        self._methods = MethodTable(game.schema)
        self._kinds: dict[int, EntityKind] = {}

    def get(self, type_id: int) -> EntityKind | None:
        """The entity type of this number, if there is one."""
        if type_id not in self._kinds and type_id in self._game.schema.by_id:
            schema = self._game.schema.by_id[type_id]
            classes = self._classes_of(self._game, schema)
            self._kinds[type_id] = EntityKind(schema, classes, self._methods, self._pages[type_id])
        return self._kinds.get(type_id)
