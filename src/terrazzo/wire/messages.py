"""The table of messages between apps, and the bundles in which they are sent.

A message is a frozen msgspec struct with a small fixed number, written once where it is declared:

    @message(20)
    class Locate(Message, frozen=True):
        part: PartId

A module has the messages of one pair of parties. The numbers:

    1-9    between any two apps (wire/common.py)          10-19  the entity channel (wire/entity/messages.py)
    20 up  each pair of apps takes a ten of its own

A bundle is all messages of one app for one peer after one turn or tick. It is one msgpack value, so any tool can read
it:

    bundle  = array of items            an empty array is a heartbeat
    item    = [number, body]            body is the struct as an array, fields in the order of declaration

What is received is checked and counted, never trusted: a bundle that is too big or is not such an array is refused as a
whole; an unknown, oversized or malformed item is refused by itself and the rest is read. If the sender must get an
answer also to a malformed message, its type has a `salvage` function: it makes another message of what can be read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from math import inf
from typing import Any, Protocol, TypeVar, Union

import msgspec

from terrazzo.errors import DecodeError, UsageError
from terrazzo.wire.sentences import Sentence

MESSAGE_MAX = 1 << 20
"""The most bytes of one message, unless its declaration has a lower limit."""

BUNDLE_MAX = 8 << 20
"""The most bytes of one bundle; a tick with more messages for one peer sends several."""

_ARRAY_32 = b"\xdd"
_HEADER_SIZE = 5

BundleItem = tuple[int, msgspec.Raw]
M = TypeVar("M", bound="type[Message]")


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Base of all messages between two apps."""


Salvage = Callable[["bytes | msgspec.Raw"], Message | None]
"""Makes a message of the body of a malformed one; None: nothing can be read."""


class Refusal(Sentence):
    """Why a received item was not accepted."""

    BUNDLE_OVERSIZED = "bundle oversized", "A bundle of messages is larger than one may be."
    BUNDLE_MALFORMED = "bundle malformed", "A bundle of messages is not an array of messages."
    UNKNOWN = "unknown message", "No message has this number."
    OVERSIZED = "message oversized", "A message is larger than its kind may be."
    MALFORMED = "message malformed", "A message does not decode."
    UNEXPECTED = "message unexpected", "A message of this kind, or with these values, is not expected from this peer."


class BadBundle(DecodeError):
    """A bundle that is refused as a whole."""

    def __init__(self, refusal: Refusal, problem: str) -> None:
        super().__init__(f"{refusal.value}: {problem}")
        self.refusal = refusal


class _Kind:
    """One registered type: its number, its decoder, its limit."""

    __slots__ = ("decoder", "max_size", "number", "salvage", "type")

    def __init__(self, number: int, kind: type[Message], max_size: int, salvage: Salvage | None) -> None:
        self.number = number
        self.type = kind
        self.max_size = max_size
        self.decoder = msgspec.msgpack.Decoder(kind)
        self.salvage = salvage


class _Wrapped(Protocol):
    @property
    def body(self) -> Message: ...


class Registry:
    """All types of messages, by number and by type."""

    def __init__(self) -> None:
        self._by_number: dict[int, _Kind] = {}
        self._by_type: dict[type[Message], _Kind] = {}
        self._encoder = msgspec.msgpack.Encoder()
        self._items = msgspec.msgpack.Decoder(list[BundleItem])
        self._plain_kinds: list[_Kind] = []  # those that cannot exceed a limit of their own
        self._whole: msgspec.msgpack.Decoder[list[_Wrapped]] | None = None
        self._single: msgspec.msgpack.Decoder[_Wrapped] | None = None
        self._digest: int | None = None

    def register(
        self, number: int, kind: type[Message], max_size: int = MESSAGE_MAX, salvage: Salvage | None = None
    ) -> None:
        """Gives `kind` its number, for ever; a number or a type given twice is a broken invariant."""
        if number in self._by_number:
            taken = self._by_number[number].type.__name__
            raise UsageError(f"message number {number} of {kind.__name__} is already {taken}'s; choose another")
        if kind in self._by_type:
            raise UsageError(f"{kind.__name__} is registered already, as {self._by_type[kind].number}")
        self._by_number[number] = self._by_type[kind] = _Kind(number, kind, max_size, salvage)
        self._digest = None
        if max_size >= min(MESSAGE_MAX, _size_max(msgspec.inspect.type_info(kind))):
            self._plain_kinds.append(self._by_number[number])
            self._whole = self._single = None

    def encode(self, message: Message) -> bytes:
        """One item. Raises UsageError for a message that no peer would accept."""
        kind = self._by_type.get(type(message))
        if kind is None:
            raise UsageError(f"{type(message).__name__} is not a registered message; declare it with @message(number)")
        item = self._encoder.encode((kind.number, message))
        if len(item) > kind.max_size:
            raise UsageError(f"{type(message).__name__} of {len(item)} bytes is over its limit of {kind.max_size}")
        return item

    def decode_item(self, number: int, raw: bytes | msgspec.Raw) -> Message | Refusal:
        """One message out of its number and body, or why not."""
        kind = self._by_number.get(number)
        if kind is None:
            return Refusal.UNKNOWN
        if len(memoryview(raw)) > kind.max_size:
            return Refusal.OVERSIZED
        try:
            message: Message = kind.decoder.decode(raw)
        except (ValueError, RecursionError, MemoryError):
            return Refusal.MALFORMED if kind.salvage is None else kind.salvage(raw) or Refusal.MALFORMED
        return message

    def decode_bundle(self, data: bytes) -> Iterator[Message | Refusal]:
        """Each item as a message or as the reason for its refusal. Raises BadBundle for a broken one.

        A bundle is decoded in one go; only if that fails, its items are decoded one by one.
        """
        if len(data) > BUNDLE_MAX:
            raise BadBundle(Refusal.BUNDLE_OVERSIZED, f"{len(data)} bytes")
        # A count that the bytes do not back would be allocated for: an item has at least three bytes.
        if data[:1] == _ARRAY_32 and int.from_bytes(data[1:_HEADER_SIZE], "big") > len(data) // 3:
            raise BadBundle(Refusal.BUNDLE_MALFORMED, "it has fewer bytes than items")
        if len(data) <= MESSAGE_MAX and self._plain_kinds:
            whole = self._whole or self._make_whole()
            try:
                return (wrapped.body for wrapped in whole.decode(data))
            except (ValueError, RecursionError, MemoryError):
                pass  # an item is malformed or too large
        try:
            items = self._items.decode(data)
        except (ValueError, RecursionError) as error:
            raise BadBundle(Refusal.BUNDLE_MALFORMED, str(error)) from None
        return (self.decode_item(number, raw) for number, raw in items)

    def _make_whole(self) -> msgspec.msgpack.Decoder[list[_Wrapped]]:
        """The decoder of whole bundles: [number, body] is what msgspec calls a tagged struct with one field.

        Kinds that could exceed a limit of their own are left out: their sizes must be checked.
        """
        items: list[Any] = [
            msgspec.defstruct(
                f"{kind.type.__name__}Item",
                [("body", kind.type)],
                array_like=True,
                tag=kind.number,
                forbid_unknown_fields=True,
                frozen=True,
                gc=False,
            )
            for kind in self._plain_kinds
        ]
        self._single = msgspec.msgpack.Decoder(Union[tuple(items)])  # noqa: UP007
        self._whole = msgspec.msgpack.Decoder(list[Union[tuple(items)]])  # type: ignore[misc] # noqa: UP007
        return self._whole

    def decode_nested(self, data: bytes) -> Message | Refusal:
        """One item inside another message, such as the question inside a request."""
        if self._single is not None and len(data) <= MESSAGE_MAX:
            try:
                return self._single.decode(data).body
            except (ValueError, RecursionError, MemoryError):
                pass  # it has a limit of its own, or is malformed
        try:
            number, raw = msgspec.msgpack.decode(data, type=BundleItem)
        except (ValueError, RecursionError):
            return Refusal.MALFORMED
        return self.decode_item(number, raw)

    def digest(self) -> int:
        """A number that differs when two builds have different messages, including nested types."""
        if self._digest is not None:
            return self._digest
        words = [
            f"{number} {_spelled(msgspec.inspect.type_info(kind.type))}"
            for number, kind in sorted(self._by_number.items())
        ]
        self._digest = zlib.crc32("\n".join(words).encode())
        return self._digest


def _spelled(info: object) -> str:
    """A type in words that are the same in every process."""
    if isinstance(info, msgspec.inspect.EnumType):
        return f"{info.cls.__name__} {[(each.name, each.value) for each in info.cls]}"
    if isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field):
        words = [_spelled(getattr(info, name)) for name in info.__struct_fields__]
        return f"{type(info).__name__}({', '.join(words)})"
    if type(info) is tuple:
        return f"({', '.join(map(_spelled, info))})"
    return info.__name__ if isinstance(info, type) else repr(info)


def _size_max(info: msgspec.inspect.Type) -> float:
    """The most bytes that a value of this type can have in msgpack; inf where it depends on what is in it."""
    if isinstance(info, msgspec.inspect.IntType | msgspec.inspect.FloatType):
        return 9
    if isinstance(info, msgspec.inspect.BoolType | msgspec.inspect.NoneType):
        return 1
    if isinstance(info, msgspec.inspect.EnumType):
        return 9 if issubclass(info.cls, int) else inf
    if isinstance(info, msgspec.inspect.UnionType):
        return max(map(_size_max, info.types))
    if isinstance(info, msgspec.inspect.TupleType):
        return _HEADER_SIZE + sum(map(_size_max, info.item_types))
    if isinstance(info, msgspec.inspect.NamedTupleType | msgspec.inspect.StructType):
        return _HEADER_SIZE + sum(_size_max(field.type) for field in info.fields)
    return inf


REGISTRY = Registry()
"""The one table of this process."""


def message(number: int, *, max_size: int = MESSAGE_MAX, salvage: Salvage | None = None) -> Callable[[M], M]:
    """Class decorator: declares a message and its number."""

    def declare(kind: M) -> M:
        REGISTRY.register(number, kind, max_size, salvage)
        return kind

    return declare


def bundle_of(items: list[bytes]) -> bytes:
    """Encoded items as one bundle."""
    return b"".join((_ARRAY_32, len(items).to_bytes(4, "big"), *items))


HEARTBEAT = bundle_of([])
"""An empty bundle: it shows that the sender is alive."""


def bundles_of(items: list[bytes]) -> list[bytes]:
    """Encoded items as one bundle, or as several where one would be over the limit."""
    if sum(map(len, items)) + _HEADER_SIZE <= BUNDLE_MAX:
        return [bundle_of(items)]
    bundles: list[bytes] = []
    batch: list[bytes] = []
    size = _HEADER_SIZE
    for item in items:
        if size + len(item) > BUNDLE_MAX:
            bundles.append(bundle_of(batch))
            batch, size = [], _HEADER_SIZE
        batch.append(item)
        size += len(item)
    return [*bundles, bundle_of(batch)]


class Refusals:
    """Counts of refused items, by peer and reason; bounded: the peer that was quiet for longest is dropped."""

    PEERS_MAX = 1024

    def __init__(self) -> None:
        self.by_peer: dict[Any, dict[Refusal, int]] = {}

    def count(self, peer: Any, reason: Refusal) -> int:
        """Counts one more and returns how many of this reason the peer has now."""
        reasons = self.by_peer.pop(peer, None) or {}
        reasons[reason] = reasons.get(reason, 0) + 1
        self.by_peer[peer] = reasons
        if len(self.by_peer) > self.PEERS_MAX:
            del self.by_peer[next(iter(self.by_peer))]
        return reasons[reason]

    def total(self) -> int:
        """The number of all refused items."""
        return sum(sum(reasons.values()) for reasons in self.by_peer.values())
