"""Parcels: whole entities on their way to another CellApp (CreateGhost, Offload), compressed where that saves enough.

Whether it does depends on the entity type: on the values of its properties, the length of its past, the number of
entities that its client sees. So it is measured, for each type and each of the two messages: the first of them, and
then every MEASURED_EVERY-th, is encoded and compressed, and the sizes are averaged, the latest counting most. A message
is worth compressing if it gets smaller by SHARE_MIN of itself and by BYTES_MIN at least. Until the next measurement all
messages of the kind are then sent as

    Parcel: the encoded message, deflated (raw, level 1)

A parcel takes the place of its message on the same link, so the order is the same; its receiver unpacks it and goes on
as if the message had arrived without it. A parcel that holds none of these two messages, or more than an entity may
have, is counted and dropped.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from terrazzo.cell.core.core import Core
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.cell_cell import ENTITY_MAX, CreateGhost, Offload, OffloadUnreadable, Parcel

MEASURED_EVERY = 64
SHARE_MIN = 1 / 3
BYTES_MIN = 512
_LEVEL = 1
_LATEST = 0.25
"""How much the latest measurement counts."""


@dataclass(slots=True)
class Gauge:
    """What is known of one message of one entity type."""

    sent: int = 0
    plain: float = 0.0
    packed: float = 0.0
    """The average sizes."""

    @property
    def pays(self) -> bool:
        """Whether it is worth compressing."""
        saved = self.plain - self.packed
        return saved >= BYTES_MIN and saved >= SHARE_MIN * self.plain

    def measure(self, plain: int, packed: int) -> None:
        """One more was compressed."""
        share = _LATEST if self.plain else 1.0
        self.plain += share * (plain - self.plain)
        self.packed += share * (packed - self.packed)


class Parcels:
    """What one app sends to others, and gets."""

    def __init__(self, core: Core, deliver: Callable[[AppId, Message], object]) -> None:
        """`deliver` takes what was in a parcel, as if it had arrived without one."""
        self.gauges: dict[tuple[type, int], Gauge] = {}
        self._core = core
        self._deliver = deliver

    def send(self, to: AppId, message: CreateGhost | Offload) -> int:
        """Sends a whole entity; gives how many bytes that took. Raises UsageError for one that is too large, whether
        it could be compressed or not: then nothing is sent."""
        gauge = self.gauges.setdefault((type(message), message.type_id), Gauge())
        is_measured = gauge.sent % MEASURED_EVERY == 0
        gauge.sent += 1
        if not is_measured and not gauge.pays:
            return self._core.send(to, message)
        plain = REGISTRY.encode(message)
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = deflate.compress(plain) + deflate.flush()
        if is_measured:
            gauge.measure(len(plain), len(packed))
        return self._core.send(to, Parcel(packed) if gauge.pays else message)

    def on_parcel(self, source: AppId, message: Parcel) -> None:
        """Whatever is in it has come."""
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            plain = inflate.decompress(message.data, ENTITY_MAX)
        except zlib.error:
            plain = b""
        inner = REGISTRY.decode_nested(plain) if inflate.eof else None
        if isinstance(inner, CreateGhost | Offload | OffloadUnreadable):
            self._deliver(source, inner)
        else:
            self._core.count(LogEvent.PARCEL_MALFORMED, source=str(source), size=len(message.data))
