"""Many walkers over UDP in one program: a state machine without I/O on top of a `ClientSwarm`.

    begin() ─▶ LOGGING_IN ──reply with a key──▶ JOINING ──base player──▶ WALKING ──leave()──▶ LEAVING ─▶ out
                   └──────── refused, lost, no answer within ANSWER_S: out, with the reason ───────┘

A driver opens the swarm's socket, hands the swarm's events to `on_events`, and calls `step` for a part of the walkers
at a time. What a walker does not read (`walk.py`) is muted: the session counts it, and no Python runs for it. Of the
first EYES walkers the updates are read as well, for the times between two of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum
from struct import Struct

import msgspec

from terrazzo.client import failures
from terrazzo.client.link import ANSWER_S, Address
from terrazzo.client.sights import SightCounts
from terrazzo.client.walk import KINDS_READ, RandomWalk
from terrazzo.cluster.app import Rng
from terrazzo.game import Bounds
from terrazzo.sync.protocol import LoginReply, LoginRequest, ToClient, ToServer
from terrazzo.wire.client import ClientSwarm, Closed, Connected, Received, Session, SessionEvent

EYES = 16
MUTED = bytes(set(range(256)) - set(KINDS_READ))
MUTED_WITH_EYES = bytes(set(MUTED) - {int(ToClient.PLACES)})
_PARCEL = Struct("<IH")


class WalkerStage(Enum):
    """Where a walker is."""

    LOGGING_IN = "logging in"
    JOINING = "joining"
    WALKING = "walking"
    LEAVING = "leaving"
    OUT = "out"


class HerdEntrance(msgspec.Struct, frozen=True, kw_only=True):
    """How the walkers get in."""

    login: Address
    server_key: bytes
    password: str
    digest: str
    """Of the game's schema."""


class _Member:
    """One walker of the herd."""

    __slots__ = ("base_at", "has_eyes", "name", "session", "since", "stage", "updated_at", "walk")

    def __init__(self, name: str, walk: RandomWalk, now: float, *, has_eyes: bool) -> None:
        self.name = name
        self.stage = WalkerStage.LOGGING_IN
        self.walk = walk
        self.session: Session | None = None
        """With its BaseApp."""
        self.since = now
        self.base_at: Address | None = None
        self.has_eyes = has_eyes
        self.updated_at: float | None = None


class Herd:
    """All walkers of one swarm."""

    def __init__(
        self,
        swarm: ClientSwarm,
        entry: HerdEntrance,
        sights: SightCounts,
        rng: Rng,
        *,
        bounds: Callable[[int], Bounds | None],
        tick_s: float = 0.1,
        is_numbered: bool = False,
    ) -> None:
        """`bounds(space)` gives where walkers may walk in a space."""
        self.why: Counter[str] = Counter()
        """Why walkers are out that did not leave."""
        self._swarm = swarm
        self._entry = entry
        self._sights = sights
        self._rng = rng
        self._bounds = bounds
        self._tick_s = tick_s
        self._is_numbered = is_numbered
        self._members: list[_Member] = []
        self._by_session: dict[int, _Member] = {}
        self._stages: Counter[WalkerStage] = Counter()

    def count(self, *stages: WalkerStage) -> int:
        """How many walkers are there."""
        return sum(self._stages[each] for each in stages)

    @property
    def walking(self) -> int:
        """How many walkers have a body."""
        return sum(each.stage is WalkerStage.WALKING and each.walk.space is not None for each in self._members)

    def round_trips_s(self) -> list[float]:
        """The smoothed round trips of the walkers that have measured one."""
        trips = (each.session.round_trip_s for each in self._members if each.session is not None)
        return [trip for trip in trips if trip is not None]

    # For the driver.

    def begin(self, name: str, now: float) -> None:
        """One more walker logs in."""
        walk = RandomWalk(self._rng, is_numbered=self._is_numbered)
        member = _Member(name, walk, now, has_eyes=len(self._members) < EYES)
        self._members.append(member)
        self._stages[WalkerStage.LOGGING_IN] += 1
        self._open(member, self._entry.login, b"", now)

    def step(self, turn: int, turns: int, now: float) -> None:
        """Every `turns`-th walker, from the one with the number `turn` on, takes a step and sends it."""
        parcels = bytearray()
        for member in self._members[turn::turns]:
            space, session = member.walk.space, member.session
            if member.stage is WalkerStage.WALKING and space is not None and session is not None:
                move = member.walk.step(self._bounds(space), self._tick_s)
                parcels += _PARCEL.pack(session.id, len(move))
                parcels += move
                self._sights.moves += 1
        if parcels:
            self._swarm.send_rows(parcels)
        if not turn:
            self._end_late_ones(now)

    def leave(self, now: float) -> None:
        """All walkers leave: those in the world send BYE."""
        for member in self._members:
            if member.stage is WalkerStage.WALKING and member.session is not None:
                self._set(member, WalkerStage.LEAVING)
                member.session.send(bytes([ToServer.BYE]))
        for number, member in list(self._by_session.items()):
            if member.stage is not WalkerStage.LEAVING:
                self._set(member, WalkerStage.OUT)
                self._swarm.close(number, now)

    def on_events(self, events: list[SessionEvent], now: float) -> None:
        """Takes the events of the swarm."""
        for event in events:
            if isinstance(event, Received):
                member = self._by_session.get(event.session.id)
                if member is not None:
                    self._on_messages(member, event.session, event.messages, now)
            elif isinstance(event, Connected):
                self._on_connected(event.session)
            elif event.session is not None:
                self._on_closed(event, event.session)
        for number in self._swarm.failed:
            member = self._by_session.pop(number, None)
            if member is not None and member.stage is not WalkerStage.OUT:
                self._lose(member, "the door does not answer, or refuses the connection")
        self._swarm.failed.clear()

    # Within.

    def _open(self, member: _Member, address: Address, key: bytes, now: float) -> None:
        number = self._swarm.open(address, self._entry.server_key, now=now, app_data=key)
        self._by_session[number] = member

    def _set(self, member: _Member, stage: WalkerStage) -> None:
        self._stages[member.stage] -= 1
        self._stages[stage] += 1
        member.stage = stage

    def _lose(self, member: _Member, why: str) -> None:
        self._set(member, WalkerStage.OUT)
        self.why[why] += 1

    def _on_connected(self, session: Session) -> None:
        member = self._by_session.get(session.id)
        if member is None:
            return
        if member.stage is WalkerStage.LOGGING_IN:
            request = LoginRequest(member.name, self._entry.password, self._entry.digest)
            session.send(msgspec.json.encode(request))
        elif member.stage is WalkerStage.JOINING:
            member.session = session
            session.mute(MUTED_WITH_EYES if member.has_eyes else MUTED)

    def _on_closed(self, event: Closed, session: Session) -> None:
        member = self._by_session.pop(session.id, None)
        if member is None:
            return
        if session is member.session:
            member.session = None
            if member.stage is WalkerStage.LEAVING:
                self._set(member, WalkerStage.OUT)
            elif member.stage is not WalkerStage.OUT:
                server, at = failures.GAME, member.base_at or self._entry.login
                self._lose(member, failures.explain(server, at, event.reason, was_open=True, by_peer=event.by_peer))
        elif member.stage is WalkerStage.LOGGING_IN:
            server, at = failures.LOGIN, self._entry.login
            self._lose(member, failures.explain(server, at, event.reason, was_open=True, by_peer=event.by_peer))

    def _end_late_ones(self, now: float) -> None:
        if not self.count(WalkerStage.LOGGING_IN, WalkerStage.JOINING):
            return
        for number, member in list(self._by_session.items()):
            if member.stage in (WalkerStage.LOGGING_IN, WalkerStage.JOINING) and now > member.since + ANSWER_S:
                self._lose(member, failures.too_slow(failures.LOGIN, self._entry.login, ANSWER_S))
                self._swarm.close(number, now)

    def _on_messages(self, member: _Member, session: Session, messages: list[bytes], now: float) -> None:
        if session is not member.session:
            if member.stage is WalkerStage.LOGGING_IN:
                self._on_reply(member, session, messages[0], now)
            return
        for message in messages:
            number = message[0] if message else -1
            if number == ToClient.PLACES:
                self._sights.note_update(member.updated_at, now)
                member.updated_at = now
            elif number == ToClient.BASE_PLAYER and member.stage is WalkerStage.JOINING:
                self._set(member, WalkerStage.WALKING)
                session.send(bytes([ToServer.READY]))
            elif number == ToClient.LOGGED_OFF:
                self._on_logged_off(member, message[2:].decode(errors="replace"))
                session.close(now)
            else:
                member.walk.on_message(message)
        if member.stage is WalkerStage.WALKING:
            answers = member.walk.take_answers()
            if answers:
                session.send_many(answers)

    def _on_reply(self, member: _Member, session: Session, message: bytes, now: float) -> None:
        session.close(now)
        try:
            reply = msgspec.json.decode(message, type=LoginReply)
            key = bytes.fromhex(reply.key)
        except (msgspec.DecodeError, ValueError):
            self._lose(member, failures.unreadable(self._entry.login))
            return
        if reply.error:
            self._lose(member, reply.error)
        elif not reply.udp_port:
            self._lose(member, failures.no_door(self._entry.login, "UDP"))
        else:
            self._set(member, WalkerStage.JOINING)
            member.since = now
            member.base_at = (reply.host or self._entry.login[0], reply.udp_port)
            self._open(member, member.base_at, key, now)

    def _on_logged_off(self, member: _Member, text: str) -> None:
        if member.stage is not WalkerStage.LEAVING:
            self._lose(member, text or "The game server logged this client off.")
