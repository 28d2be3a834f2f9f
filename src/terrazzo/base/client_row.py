"""What a BaseApp looks at for each message of a cell part that is for a client: the client table of the app.

Each proxy has one `ClientRow`, from its registration to its end. The proxy and its cell part keep it up to date, and
`delivery.py` goes by it without a look at the proxy. Whatever is rare is left to the proxy: messages that are refused,
updates that wait for mail.

The other way, the answers of a client about the entities around it (`want`, `released`) are read here (`read_answer`),
and sent to the cell part with the turn (`send_wants`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Protocol

from terrazzo._speed.wants import decode_released, decode_want, encode_wants
from terrazzo.base.limits import MESSAGE_RATE, UPDATES_MAX, WANTS_MAX
from terrazzo.base.shown import Shown
from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.sync.protocol import ToServer
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.pairs.base_cell import ClientUpdate
from terrazzo.wire.rates import Bucket

_CELL = int(Part.CELL)
_WANT, _RELEASED = int(ToServer.WANT), int(ToServer.RELEASED)
_WANTS_MAX = WANTS_MAX


class ClientSession(Protocol):
    """What a proxy needs of `wire.client.Session`."""

    @property
    def id(self) -> int:
        """Its number at its endpoint."""

    @property
    def heard_at(self) -> float:
        """When the last packet of the client arrived."""

    def probe(self) -> None:
        """Sends a packet that the client acknowledges."""

    def send(self, message: bytes, *, reliable: bool = True) -> bool: ...
    def send_many(self, messages: Sequence[bytes], *, reliable: bool = True) -> bool: ...
    def set_lane(self, first_byte: int, size: int, tag: int) -> None: ...
    def clear_lane(self) -> None: ...
    def close(self, now: float) -> None: ...
    def admit(self) -> None: ...


class Addressee(Protocol):
    """The proxy of a row."""

    def on_mail(self, source: PartId, payload: bytes) -> None: ...
    def on_messages(self, messages: list[bytes]) -> None: ...
    def on_bad(self, problem: DecodeError) -> None: ...
    def on_late(self) -> None: ...
    def on_channel_full(self, problem: ChannelFull) -> None: ...
    def on_malformed(self, problem: DecodeError) -> None: ...
    def on_too_large(self, problem: ValueRejected, *, reliable: bool) -> None: ...


class ClientRow:
    """One proxy, as messages for its client need it."""

    __slots__ = (
        "box", "cell", "entity", "flood", "has_cell", "is_direct", "is_ready", "is_there", "moved_at", "proxy",
        "session", "shown", "updates", "witness",
    )  # fmt: skip

    def __init__(self, entity: EntityId, proxy: Addressee, shown: Shown) -> None:
        self.entity = entity
        self.proxy = proxy
        self.cell = PartId(entity, Part.CELL)
        """The cell part."""
        self.box: Mailbox | None = None
        """The mailbox of the base part."""
        self.session: ClientSession | None = None
        self.is_ready = False
        """Whether the client may call and move."""
        self.has_cell = False
        """Whether the cell part exists (`cell_part_states.EXISTING`)."""
        self.is_there = False
        """Whether it may be sent to (`CellPartState.THERE`)."""
        self.flood = Bucket(per_s=MESSAGE_RATE)
        """Messages of the client, all kinds together, but for moves in the lane."""
        self.witness = 0
        """The number of the present witness, or of the last one."""
        self.shown = shown
        self.updates: deque[ClientUpdate] = deque(maxlen=UPDATES_MAX)
        """Unreliable updates that wait for mail that was sent before them."""
        self.moved_at = -inf
        """When a move of the client was last sent on."""
        self.is_direct = True
        """Whether updates may go past the proxy. A judge of the simulator that watches the proxy unsets it."""

    def home(self, registry: PartRegistry) -> AppId | None:
        """The CellApp where the cell part lives, by the latest report that this app has received."""
        if not self.has_cell or self.box is None:
            return None
        channel = registry.find_by_number(self.box, self.entity, _CELL)
        if channel is not None:
            return channel.place.app
        place = registry.places.get(self.cell)
        return None if place is None else place.app

    def read_answer(self, message: bytes) -> bool:
        """Reads a `want` or a `released`; False: it is another message. Raises DecodeError for one that no honest
        client sends."""
        kind = message[0] if message else -1
        if kind == _WANT:
            for entity, number in decode_want(message, 1):
                if not self.shown.want(entity, number):
                    self.proxy.on_late()
        elif kind == _RELEASED:
            for alias in decode_released(message, 1):
                self.shown.release(alias)
        else:
            return False
        return True

    def send_wants(self, registry: PartRegistry, now: float) -> bool:
        """Sends the wants and releases of the client to the cell part. False: the channel is full, they still wait."""
        wants, released = self.shown.take()
        if not self.is_ready or not self.is_there or self.box is None:
            return True
        at, count = 0, max(len(wants), len(released))
        while at < count:
            stop = at + _WANTS_MAX
            payload = encode_wants(self.witness, wants[at:stop], released[at:stop])
            channel = registry.find_by_number(self.box, self.entity, _CELL) or registry.channel(self.box, self.cell)
            try:
                channel.check_room(payload, registry.limits)
            except ChannelFull as problem:
                self.proxy.on_channel_full(problem)
                self.shown.put_back(wants[at:], released[at:])
                return False
            channel.send(payload, now)
            registry.schedule.mark(channel)
            at = stop
        return True

    def is_present(self, witness: int) -> bool:
        """Whether messages for the client of this witness are passed on."""
        return self.is_ready and self.has_cell and witness == self.witness

    def pass_on(self, messages: list[bytes]) -> None:
        """Sends reliable messages of the cell part to the client."""
        shown, passed = self.shown, []
        for each in messages:
            try:
                before = shown.note(each)
            except DecodeError as problem:
                self.proxy.on_malformed(problem)
            else:
                if before:
                    passed.append(before)
                passed.append(each)
        self.send_all(passed)

    def send_all(self, messages: list[bytes]) -> None:
        """Reliable messages, in order. A session takes all or none; if one is too large, those before it still go."""
        if self.session is None:
            return
        try:
            self.session.send_many(messages)
        except ValueRejected:
            for each in messages:
                self.send(each, True)

    def send(self, message: bytes, reliable: bool) -> None:
        """One message, if a client is connected."""
        if self.session is None:
            return
        try:
            self.session.send(message, reliable=reliable)
        except ValueRejected as problem:
            self.proxy.on_too_large(problem, reliable=reliable)

    def send_loose(self, message: bytes) -> None:
        """One unreliable message, with its turn; or reliably, behind an older value of its property."""
        if not message:
            return
        if self.shown.has_to_wait(message):
            self.pass_on([message])
        else:
            self.send(self.shown.mark(message), False)
