"""The messages that a client may send to its proxy, and what becomes of each.

    2 move ──▶ the latest of a turn goes to the CellApp of the cell part     9 ready, 11 bye ──▶ the proxy
    3 want, 4 released ──▶ those that fit what the client was sent (`shown.py`) go to the cell part, with the turn
    12 … 133 cell method, 134 … 254 base method:

        which entity?      the client's own; another only on the cell side, and only one that the client was sent
        which method?      by exposed index; of another entity only methods exposed to all clients
        arguments          decoded: bytes that are no arguments never reach the game
        how often?         each method has its rate; a call over it is dropped and counted

No message is trusted. A message that no honest client sends raises a DecodeError: the proxy counts it, and disconnects
a client that continues. A message of an honest client may be late: it moves a body that is gone, or calls an entity
that has just left its area. Such a message is dropped and counted, no more.

A client that keeps to its rates keeps to them also when the BaseApp stood still and then reads the messages of seconds
at once (`standstill.py`).

While a client is ready and has a cell part, its moves come past here, in the lane of its session (`_speed/lanes.py`);
the session holds it to a rate of its own.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from terrazzo._speed.lanes import MoveLane
from terrazzo.base.cell_part import CellPart
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.client_batch import ClientBatch
from terrazzo.base.client_row import ClientRow
from terrazzo.base.counts import Counts
from terrazzo.base.limits import CALL_RATE, FLOOD, ClientRefusal
from terrazzo.base.standstill import Standstill
from terrazzo.cluster.app import Host
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.indexes import METHOD_IDS
from terrazzo.schema.model import EntitySchema, Exposed, Method, Side
from terrazzo.sync.protocol import (
    Call,
    MethodTable,
    ToServer,
    split_message,
    take_entity,
    take_place,
)
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.rates import Bucket
from terrazzo.wire.sentences import is_logged


class Recipient(Protocol):
    """The proxy of the client."""

    id: EntityId
    schema: EntitySchema
    cell: CellPart
    lane: MoveLane
    row: ClientRow

    @property
    def is_ready(self) -> bool:
        """Whether the client may call and move."""

    def on_ready(self) -> None: ...
    def on_bye(self) -> None: ...
    def call(self, method: Method, args: list[Any]) -> None: ...
    def call_cell(self, to: PartId, method: int, args: bytes, *, caller: int = 0) -> None: ...
    def schema_of(self, entity: int) -> EntitySchema | None: ...


class ClientMail:
    """Reads the messages of one client."""

    def __init__(
        self,
        proxy: Recipient,
        host: Host,
        methods: MethodTable,
        batch: ClientBatch,
        counts: Counts,
        standstill: Standstill,
    ) -> None:
        self.dropped: Counter[ClientRefusal] = Counter()
        self._proxy = proxy
        self._host = host
        self._methods = methods
        self._batch = batch
        self._counts = counts
        self._standstill = standstill
        self._rates: dict[tuple[str, Side, int], Bucket] = {}

    def read(self, message: bytes) -> None:
        """Reads one message and acts on it. Raises DecodeError for a message that no honest client sends."""
        if not self._proxy.row.flood.take(self._host.now, self._standstill.spare_s(self._host.now)):
            raise DecodeError(FLOOD, 0)
        number, body = split_message(message)
        if number == ToServer.READY:
            self._expect_end(body)
            self._proxy.on_ready()
        elif number == ToServer.BYE:
            self._expect_end(body)
            self._proxy.on_bye()
        elif not self._proxy.is_ready:
            raise DecodeError(f"message {number} before ready", 0)
        elif number == ToServer.MOVE:
            self._on_move(body)
        elif number in (ToServer.WANT, ToServer.RELEASED):
            self._batch.add_wants(self._proxy.row)
            self._proxy.row.read_answer(message)
        elif number >= METHOD_IDS[Side.BASE].first:
            self._on_base_call(number, body)
        elif number >= METHOD_IDS[Side.CELL].first:
            self._on_cell_call(number, body)
        else:
            raise DecodeError(f"there is no message {number}", 0)

    def count_late(self) -> None:
        """Counts a message that an honest client sends too late."""
        self.dropped[ClientRefusal.LATE] += 1
        self._counts.refused[ClientRefusal.LATE] += 1

    def _expect_end(self, rest: bytes) -> None:
        if rest:
            raise DecodeError(f"{len(rest)} bytes too many", 1)

    def _on_move(self, body: bytes) -> None:
        self._expect_end(take_place(body)[2])
        if self._proxy.cell.state is CellPartState.THERE:
            self._batch.lanes.note(self._proxy.lane, body)
        else:
            self.count_late()

    def _on_base_call(self, number: int, body: bytes) -> None:
        entity, data = take_entity(body)
        if entity != self._proxy.id:
            raise DecodeError(f"a call of the base of entity {entity}, which is not the client's own", 0)
        call = self._methods.find(self._proxy.schema, Side.BASE, number, data)
        args = call.method.decode_args(call.data)
        if self._is_within_rate(self._proxy.schema, Side.BASE, call):
            self._proxy.call(call.method, args)

    def _on_cell_call(self, number: int, body: bytes) -> None:
        entity, data = take_entity(body)
        schema = self._proxy.schema_of(entity)
        if schema is None:
            self.count_late()
            return
        call = self._methods.find(schema, Side.CELL, number, data)
        is_own = entity == self._proxy.id
        if not is_own and call.method.exposed not in (Exposed.ALL_CLIENTS, Exposed.DEFAULT):
            raise DecodeError(f"{schema.name}.{call.method.name} is not exposed to other clients", 0)
        call.method.decode_args(call.data)
        if not self._is_within_rate(schema, Side.CELL, call):
            return
        if self._proxy.cell.state is not CellPartState.THERE:
            self.count_late()
            return
        index = schema.methods(Side.CELL).index(call.method)
        try:
            self._proxy.call_cell(PartId(EntityId(entity), Part.CELL), index, call.data, caller=self._proxy.id)
        except UsageError as problem:  # the channel is full
            self.count_late()
            self._host.log(
                LogEvent.CALL_DROPPED, entity=str(self._proxy), method=call.method.name, problem=str(problem)
            )

    def _is_within_rate(self, schema: EntitySchema, side: Side, call: Call) -> bool:
        key = (schema.name, side, call.numbered.index)
        rate = self._rates.get(key)
        if rate is None:
            rate = self._rates[key] = Bucket(per_s=call.method.rate or CALL_RATE)
        if rate.take(self._host.now, self._standstill.spare_s(self._host.now)):
            return True
        self.dropped[ClientRefusal.OVER_RATE] += 1
        self._counts.refused[ClientRefusal.OVER_RATE] += 1
        count = self.dropped[ClientRefusal.OVER_RATE]
        if is_logged(count):
            self._host.log(LogEvent.CALL_OVER_RATE, entity=str(self._proxy), method=call.method.name, count=count)
        return False
