"""A base with a client: the session of one player's program.

`presence.py` has the client that comes and goes; this module has what passes between it and the entity. The rules:

- *Base player first.* From then on each change of a BASE_AND_CLIENT property goes to the client, in order with calls.
- *The witness number.* Each SetWitness that reports a client to the cell part has the next number, and all messages of
  the cell part for a client carry it. A message with another number was meant for an earlier client, or comes from an
  earlier cell part: it is dropped (race 20).
- *What the client was sent* is read off the messages on their way through (`shown.py`), so that a client can call only
  entities that it sees, and refer only to those.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from terrazzo._speed.lanes import MoveLane
from terrazzo._speed.rows import read_to_client
from terrazzo._speed.values import Change
from terrazzo.base.cell_part import AGAIN_S
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.client_row import ClientRow, ClientSession
from terrazzo.base.clientmail import ClientMail
from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.entity_data import EntityData
from terrazzo.base.farewells import Farewell
from terrazzo.base.limits import BAD_MAX, ClientRefusal
from terrazzo.base.presence import ClientPresence
from terrazzo.base.presence_states import Presence
from terrazzo.base.services import ClientServices, EntityServices, SessionKey
from terrazzo.base.shown import Shown
from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.schema.classes.parts import EntityPart as GamePart
from terrazzo.schema.flags import Receiver
from terrazzo.schema.model import EntitySchema, Method, Side
from terrazzo.schema.shares import share_of
from terrazzo.sync import protocol
from terrazzo.wire.client import Reason
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.ids import AppId, EntityId, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Refusal
from terrazzo.wire.pairs.base_cell import ClientUpdate, SendAway, SetWitness
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient


class ProxyEntity(BaseEntity):
    """One base that can have a client."""

    def __init__(
        self,
        services: EntityServices,
        clients: ClientServices,
        id: EntityId,
        data: EntityData,
        part_class: type[GamePart],
        unregister: Callable[[BaseEntity], None],
    ) -> None:
        self._clients = clients
        self.id = id
        self.row = ClientRow(id, self, Shown())
        self.client = ClientPresence(self, services, clients)
        self.reconnect_s = services.game.policy.reconnect_s
        """How long a client that lost its connection may take to resume; 0: it may not."""
        self.is_logged_on = False
        self.lane = MoveLane(id, self.row)
        self.bad = 0
        super().__init__(services, id, data, part_class, unregister)
        box = self.row.box = services.switchboard.mailbox(self.part_id)
        box.owner = self.row
        clients.rows[id] = self.row
        self.mail = ClientMail(
            self, services.host, clients.methods, clients.batch, services.counts, clients.standstill
        )  # fmt: skip

    @property
    def is_ready(self) -> bool:
        """Whether the client may call and move."""
        return self.client.state is Presence.READY

    @property
    def has_client(self) -> bool:
        """Whether a client is connected."""
        return self.client.is_connected

    @property
    def presence(self) -> Presence:
        """What it has of a client."""
        return self.client.state

    @property
    def session_key(self) -> SessionKey:
        """The session of the client, or of the last one."""
        return self.client.session_key

    @property
    def witness(self) -> int:
        """The number of the present witness, or of the last one."""
        return self.row.witness

    @witness.setter
    def witness(self, number: int) -> None:
        self.row.witness = number

    @property
    def shown(self) -> Shown:
        """What the client was sent."""
        return self.row.shown

    @property
    def updates(self) -> deque[ClientUpdate]:
        """Unreliable updates that wait for mail that was sent before them."""
        return self.row.updates

    def leave_table(self) -> None:
        """The base has ended: nothing is delivered any more. A later base of this entity keeps its own row."""
        if self.row.box is not None:
            self.row.box.owner = None
        self.row.box = None
        if self._clients.rows.get(self.id) is self.row:
            del self._clients.rows[self.id]

    # The client comes and goes.

    def expect(self, key: bytes) -> None:
        """Waits for a client that presents this key."""
        self.is_logged_on = True
        self.client.expect(key)

    def attach(self, session: ClientSession, session_key: SessionKey) -> None:
        """A client has presented the key: it is sent its entity."""
        self.bad = 0
        self.client.attach(session, session_key)

    def resume(self, session: ClientSession, session_key: SessionKey, token: bytes) -> None:
        """The client has presented a valid session token: it is sent its entity again. Its bad messages still count."""
        self.client.resume(session, session_key, token)

    def on_ready(self) -> None:
        """The client has created its entity."""
        if self.presence is not Presence.ATTACHED:
            raise DecodeError("ready, a second time", 0)
        self.client.on_ready()

    def on_bye(self) -> None:
        """The client leaves by itself."""
        self.client.on_bye()

    def on_session_closed(self, reason: Reason, *, by_peer: bool) -> None:
        """The session has ended."""
        self.client.on_session_closed(reason, by_peer=by_peer)

    def is_active_since(self, since: float) -> bool:
        """Whether a packet of the client has arrived since then."""
        return self.row.session is not None and self.row.session.heard_at > since

    def probe(self) -> None:
        """Sends a packet that the client acknowledges, if a client is connected."""
        if self.row.session is not None:
            self.row.session.probe()

    def drop_silent_client(self) -> None:
        """The client acknowledges nothing, and its player logs in again."""
        self.client.send_away(Farewell.SILENT, "this client did not answer, and its player has logged in again")

    def kick(self, reason: str) -> None:
        """The game sends the client away."""
        self.client.send_away(Farewell.SENT_AWAY, reason)

    def send_player(self) -> None:
        """See PresenceOwner."""
        values = [self.data.base[name] for name in self.schema.base_player_layout.names]
        self._send(protocol.encode_base_player(self.id, self.schema, values))

    def begin_witness(self) -> None:
        """See PresenceOwner."""
        if self.cell.state is CellPartState.THERE and self.is_ready:
            self.witness += 1
            self._send_witness(self.witness, is_on=True)

    def end_witness(self) -> None:
        """See PresenceOwner."""
        self._send_witness(self.witness, is_on=False)

    def destroy(self, farewell: Farewell = Farewell.DESTROYED, text: str = "the entity was destroyed") -> None:
        """See BaseEntity; messages of a connected client are not read any more."""
        if self.life is BaseLife.ALIVE:
            self.client.on_destroy(farewell, text)
            super().destroy()

    def on_going(self) -> None:
        """See BaseEntity."""
        self.client.on_going()

    # The client sends.

    def set_lane(self) -> None:
        """See PresenceOwner. While a client may move, its moves come in the lane of its session, past `on_messages`."""
        lanes, session = self._clients.batch.lanes, self.row.session
        if session is None or not self.is_ready or self.cell.state is not CellPartState.THERE:
            if self.lane.tag and session is not None:
                session.clear_lane()
            lanes.close(self.lane)
        elif not self.lane.tag:
            session.set_lane(protocol.ToServer.MOVE, protocol.MOVE_BYTES, lanes.open(self.lane))

    def on_bad_move(self) -> None:
        """A move that came in the lane is no place."""
        self.on_bad(DecodeError("a place that is not finite", 0))

    def on_messages(self, messages: list[bytes]) -> None:
        """Reads the messages of the client, in order."""
        for message in messages:
            if not self.has_client:
                return
            try:
                self.mail.read(message)
            except DecodeError as problem:
                self.on_bad(problem)

    def on_late(self) -> None:
        """The client answered about an entity that has just left."""
        self.mail.count_late()

    def on_bad(self, problem: DecodeError) -> None:
        """A message that no honest client sends; after BAD_MAX of them the client is sent away."""
        self.bad += 1
        self._services.counts.count_bad(ClientRefusal.BAD_MESSAGE)
        self._services.host.log(LogEvent.CLIENT_MESSAGE_BAD, entity=str(self), problem=str(problem), count=self.bad)
        if self.bad >= BAD_MAX:
            text = f"{self.bad} messages that no client of this game sends; the last: {problem}"
            self.client.send_away(Farewell.BAD_MESSAGES, text)

    # To the client.

    def _send(self, message: bytes, *, reliable: bool = True) -> None:
        self.row.send(message, reliable)

    def on_too_large(self, problem: ValueRejected, *, reliable: bool) -> None:
        """A message is too large for a client."""
        self._services.host.log(LogEvent.MESSAGE_TOO_LARGE, entity=str(self), problem=str(problem))
        if reliable:  # the client's view would be wrong without it
            self.client.send_away(Farewell.SENT_AWAY, "something of the world was too large to be sent")

    def _send_loose(self, message: bytes) -> None:
        self.row.send_loose(message)

    def call_client(self, index: int, method: Method, args: bytes) -> None:
        """Calls a method of the own client."""
        if self.has_client:
            call = self._clients.methods.encode_call(
                self.schema, Side.CLIENT, method.name, args, component=method.component
            )
            message = protocol.with_alias(protocol.OWN, call)
            if method.is_reliable:
                self._send(message)
            else:
                self._send_loose(message)

    def on_change(self, change: Change) -> None:
        """See BaseEntity: sends the change to the own client, if it has this property."""
        prop = self.schema.base_layout.properties[change.prop]
        if prop.flags.value.own_client and self.has_client and self.schema.on_client:
            layout = self.schema.client_layout
            shared = share_of(change, prop.codec, prop.codec_for(Receiver.OWN_CLIENT))
            if shared is not None:
                change_message = protocol.encode_change(shared, layout.index[prop.name], len(layout))
                self._send(protocol.with_alias(protocol.OWN, change_message))

    # From the cell part to the client.

    def on_cell_state(self, *, exists: bool) -> None:
        """See BaseEntity."""
        self.row.has_cell = exists
        self.row.is_there = self.cell.state is CellPartState.THERE

    def on_cell_created(self) -> None:
        """See BaseEntity."""
        self.begin_witness()
        self.set_lane()
        super().on_cell_created()

    def on_cell_gone(self, *, had_body: bool, failure: str) -> None:
        """See BaseEntity."""
        self.set_lane()
        if self.shown.has_body and self.has_client:
            lost = protocol.encode_cell_lost()
            self.shown.note(lost)
            self._send(lost)
        self.shown.end()
        super().on_cell_gone(had_body=had_body, failure=failure)

    def _send_witness(self, witness: int, *, is_on: bool) -> None:
        """Sends the cell part whether it has a client; later again while the channel is full and this still holds."""
        if witness != self.witness or is_on != self.is_ready or self.cell.state is not CellPartState.THERE:
            return
        if not self.cell.send(SetWitness(witness, is_on)):
            self._services.alarms.after(AGAIN_S, partial(self._send_witness, witness, is_on=is_on))

    def on_mail(self, source: PartId, payload: bytes) -> None:
        """See BaseEntity. By far the most of it is for the client."""
        to_client = read_to_client(payload) if source == self.cell.part else None
        if to_client is None:
            super().on_mail(source, payload)
        else:
            self.cell.on_mail()
            self._pass_on(*to_client)

    def on_cell_mail(self, message: object, *, is_own: bool) -> bool:
        """See BaseEntity."""
        if is_own and isinstance(message, SendAway):
            if self._is_present(message.witness):
                self.client.send_away(Farewell.SENT_AWAY, message.reason)
            return True
        if not isinstance(message, CellToClient) or not is_own:
            return False
        self._pass_on(message.witness, message.messages)
        return True

    def _pass_on(self, witness: int, messages: Sequence[bytes]) -> None:
        """Sends reliable messages of the cell part to the client that they are for."""
        if not self._is_present(witness):
            return
        self.row.pass_on(list(messages))

    def on_malformed(self, problem: DecodeError) -> None:
        """A message of the cell part for the client is none."""
        self._services.refusals.count(self.cell.part, Refusal.MALFORMED)
        self._services.host.log(LogEvent.MESSAGE_FOR_CLIENT_BAD, entity=str(self), problem=str(problem))

    def on_channel_full(self, problem: ChannelFull) -> None:
        """The cell part does not take the wants and releases of the client now; they are sent later."""
        self._services.host.log(LogEvent.CHANNEL_FULL, entity=str(self), problem=str(problem))

    def keep_update(self, source: AppId, update: ClientUpdate) -> bool:
        """Queues unreliable positions, changes and calls of the cell part; False when they come from a former home of
        the cell part: messages from its present home may have given the aliases to other entities. The home is compared
        now and not when the updates are passed on: by then the cell part may have moved back to the former home."""
        if source != self.cell.home:
            self._services.counts.old_mail += 1
            return False
        self.updates.append(update)
        return True

    def pass_updates(self) -> bool:
        """Sends unreliable updates to the client, each after all mail that the cell part sent before it, and none
        before the client has its cell player. False when an update still waits for mail."""
        while self.updates:
            update = self.updates[0]
            if not self._services.switchboard.has_taken(self.part_id, self.cell.part, update.after):
                return False
            self.updates.popleft()
            if not self.shown.has_body:
                self._services.counts.old_mail += 1
            elif self._is_present(update.witness):
                for each in update.messages:
                    self._send_loose(each)
        return True

    def _is_present(self, witness: int) -> bool:
        if self.row.is_present(witness):
            return True
        self._services.counts.old_mail += 1
        return False

    def schema_of(self, entity: int) -> EntitySchema | None:
        """See BaseEntity: also of an entity that the client sees."""
        type_id = self.shown.type_of(entity)
        return super().schema_of(entity) if type_id is None else self.game.schema.by_id.get(type_id)
