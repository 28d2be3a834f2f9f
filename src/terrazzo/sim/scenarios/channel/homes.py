"""A home of the channel scenario: an app where parts live, send, move, and end.

It does what a BaseApp or CellApp does around its switchboard, and nothing else: it registers the parts that live here,
keeps a copy of what it sent away until that has arrived, backs up, restores. The workload is drawn each tick from the
process's own random stream.
"""

from __future__ import annotations

from dataclasses import dataclass

from terrazzo.sim.mutations import Mutation
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.channel.ledger import Ledger, Truth
from terrazzo.sim.scenarios.channel.log_events import ChannelEvent
from terrazzo.sim.scenarios.channel.messages import (
    Backup,
    Dead,
    InAir,
    Landed,
    Living,
    Locate,
    Located,
    Moved,
    Moving,
    Register,
    Registered,
    Report,
    Restore,
    Restored,
)
from terrazzo.sim.world import Process
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.messages import Astray, Frame, Frames
from terrazzo.wire.entity.places import Place
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.requests import Failure, Question, Requests

_ASK_S = 1.0
DIRECTORY = AppId(AppKind.BASE_APP_MGR, 0, ANY_INCARNATION)


def _number_in(payload: bytes) -> int:
    return int(payload[: payload.index(b".")])


@dataclass
class Habits:
    """The rates of the workload; drawn from the seed."""

    send: float
    stranger: float
    move: float
    destroy: float
    dawdle: float
    backup_s: float
    payload_bytes: int
    has_resolver: bool


class HomeApp:
    """See the module."""

    def __init__(
        self, process: Process, truth: Truth, habits: Habits, limits: ChannelLimits, mutation: Mutation
    ) -> None:
        self.outbox = Outbox()
        self.requests = Requests(process, self.outbox)
        self.ledgers: dict[PartId, Ledger] = {}
        self.in_air: dict[PartId, tuple[Moving, AppId]] = {}
        self.id = process.id
        self.is_working = True
        self._host = process
        self._truth = truth
        self._habits = habits
        self._homes: list[AppId] = []
        self._directory: AppId | None = None
        self._arrived: dict[tuple[PartId, int, AppId], None] = {}
        self._ended: dict[PartId, int] = {}
        self._seen: dict[PartId, int] = {}
        self._restored: dict[PartId, int] = {}
        self._followed: dict[PartId, tuple[Place, int]] = {}
        self._dead: dict[AppId, None] = {}
        self._unregistered = False
        # Until the directory has sent the list of dead apps, what arrives may come from one of them.
        self._early: list[tuple[AppId, Moving]] | None = [] if habits.has_resolver else None
        self._backup_at = process.now
        self.switchboard = mutation.switchboard(
            process.id, process, self.outbox, self,
            limits=limits, channel_type=mutation.channel, router_type=mutation.router,
        )  # fmt: skip

    def found(self, part: PartId) -> None:
        """A part begins its life here."""
        self.switchboard.create(part)
        self.ledgers[part] = Ledger()
        self._unregistered = True

    def know(self, homes: list[AppId]) -> None:
        """Sets the homes to which a part could move; some of them may be dead."""
        self._homes = [home for home in homes if home != self.id]

    # App.

    def on_message(self, source: AppId, message: Message) -> None:
        """See App."""
        if isinstance(message, Frame | Frames | Astray):
            self.switchboard.on_message(source, message)
            return
        received = self.requests.receive(source, message)
        if isinstance(received, Moving):
            self._on_moving(source, received)
        elif isinstance(received, Moved | Landed):
            kept = self.in_air.get(received.part)
            if kept is not None and kept[0].version <= received.version:
                del self.in_air[received.part]
        elif isinstance(received, Question):
            self._on_question(received)

    def on_link_up(self, peer: AppId) -> None:
        """Registers with the directory again, since it may have missed something."""
        if peer.slot == DIRECTORY.slot:
            self._directory = peer
            self._unregistered = True

    def on_link_lost(self, peer: AppId) -> None:
        """Schedules what was under way to the peer to be sent again."""
        self.requests.on_link_lost(peer)
        self.switchboard.on_link_lost(peer)
        if peer.slot == DIRECTORY.slot:
            self._directory = None
        for moving, to in list(self.in_air.values()):
            if to == peer and peer not in self._dead:
                self.outbox.send(peer, moving)

    def on_tick(self) -> None:
        """Reads mail, makes calls, moves parts; then everything is sent."""
        self.requests.on_tick()
        if self._directory is None:
            self._host.join(DIRECTORY)
        for part in list(self.ledgers):
            self._read(part)
            if self.is_working:
                self._live(part)
            else:
                self._close(part)
        if self._unregistered and self._directory is not None:
            self._register(self._directory)
        if self._directory is not None and self._host.now >= self._backup_at:
            self._backup(self._directory)
        self.switchboard.on_tick()
        self._check_versions()

    def _check_versions(self) -> None:
        """Checks that each place has the highest version received, and never goes back."""
        for part, place in self.switchboard.places.items():
            known, version = self._followed.get(part, (place, place.version))
            holds = place is not known or place.version >= version
            check(holds, "P2", f"{self.id} went back from {version:#x} of {part} to {place.version:#x}", part)
            self._followed[part] = (place, place.version)

    # The workload.

    def _read(self, part: PartId) -> None:
        if self.is_working and self._host.rng.random() < self._habits.dawdle:
            return
        ledger = self.ledgers[part]
        for source, payload in self.switchboard.take(part):
            number = _number_in(payload)
            self._host.log(ChannelEvent.GOT, part=part, source=source, number=number)
            self._truth.on_delivered(ledger, part, source, number)

    def _live(self, part: PartId) -> None:
        rng, habits = self._host.rng, self._habits
        if rng.random() < habits.send:
            others = [other for other in self._truth.parts if other != part]
            partner = next((other for other in others if other.entity == part.entity), others[0])
            to = rng.choice(others) if rng.random() < habits.stranger else partner
            for _ in range(rng.randrange(1, 4)):
                self._send(part, to)
        homes = [home for home in self._homes if home not in self._dead]
        if homes and rng.random() < habits.move:
            self._move(part, rng.choice(homes))
        elif rng.random() < habits.destroy and self.id not in self._truth.dead:
            self._truth.destroyed[part] = self.ledgers.pop(part)
            self._host.log(ChannelEvent.DESTROYED, part=part)
            self.switchboard.destroy(part)

    def _close(self, part: PartId) -> None:
        """Sends one last message to every peer that the part ever sent to, so that every gap is detected."""
        ledger = self.ledgers[part]
        if not ledger.has_closed:
            ledger.has_closed = True
            for peer, _ in list(ledger.sent):
                if peer not in self._truth.destroyed and peer not in self._truth.lost:
                    self._send(part, peer)

    def _send(self, part: PartId, to: PartId) -> None:
        ledger = self.ledgers[part]
        number = ledger.sent_to(to)
        padding = self._host.rng.randrange(0, self._habits.payload_bytes + 1)
        try:
            self.switchboard.send(part, to, b"%d." % number + bytes(padding))
        except ChannelFull:
            return
        ledger.add_sent(to)
        self._host.log(ChannelEvent.SENT, part=part, to=to, number=number)

    def _move(self, part: PartId, to: AppId) -> None:
        packed = self.switchboard.depart(part, to)
        version = self.switchboard.version_of_place(part)
        moving = Moving(part, version, packed, self.ledgers.pop(part).encode())
        self._host.log(ChannelEvent.MOVES, part=part, to=to, version=version)
        self.in_air[part] = (moving, to)
        self.outbox.send(to, moving)

    def _on_moving(self, source: AppId, moving: Moving) -> None:
        if self._early is not None:
            self._early.append((source, moving))
            return
        # A copy may come long after: the old home repeats it until it gets the confirmation.
        is_new = moving.version > self._seen.get(moving.part, -1)
        if is_new and self.switchboard.arrive(moving.packed):
            self._seen[moving.part] = moving.version
            self._host.log(ChannelEvent.ARRIVED, part=moving.part, version=moving.version)
            self.ledgers[moving.part] = Ledger.decode(moving.ledger)
            self.in_air.pop(moving.part, None)
        self._arrived[moving.part, moving.version, source] = None
        self._unregistered = True

    # The directory.

    def _register(self, directory: AppId) -> None:
        self._unregistered = False
        arrived, ended = dict(self._arrived), tuple(Living(*entry) for entry in self._ended.items())
        living, in_air = self._possessions()

        def registered(answer: Message) -> None:
            assert isinstance(answer, Registered)
            for app in answer.dead:
                self._on_dead(app)
            early, self._early = self._early or [], None
            for source, moving in early:
                if source not in self._dead:
                    self._on_moving(source, moving)
            for part, _ in ended:
                self._ended.pop(part, None)
            for part, version, source in arrived:
                self.outbox.send(source, Moved(part, version))
                self._arrived.pop((part, version, source), None)

        def failed(failure: Failure, why: str) -> None:
            self._unregistered = True

        register = Register(living, ended, in_air)
        self.requests.ask(directory, register, timeout_s=_ASK_S, then=registered, failed=failed)

    def _possessions(self) -> tuple[tuple[Living, ...], tuple[InAir, ...]]:
        living = tuple(Living(part, box.version) for part, box in self.switchboard.boxes.items())
        return living, tuple(InAir(moving.part, moving.version, to) for moving, to in self.in_air.values())

    def _on_dead(self, app: AppId) -> None:
        if app not in self._dead:
            self._dead[app] = None
            self._host.fence(app)
            self.switchboard.on_app_dead(app)
            self._unregistered = True

    def _backup(self, directory: AppId) -> None:
        self._backup_at = self._host.now + self._habits.backup_s * self._host.rng.uniform(0.5, 1.5)
        for part, ledger in self.ledgers.items():
            version = self.switchboard.version_of(part)
            assert version is not None, f"{part} has a ledger here, and no mailbox"
            self.outbox.send(directory, Backup(part, version, self.switchboard.pack(part), ledger.encode()))

    def _on_question(self, question: Question) -> None:
        asked = question.message
        if isinstance(asked, Dead):
            for app in asked.apps:
                self._on_dead(app)
            self.requests.answer(question, Report(*self._possessions()))
        elif isinstance(asked, Restore):
            self._restore(asked)
            self.requests.answer(question, Restored())

    def _restore(self, order: Restore) -> None:
        part, packed, ledger = order.part, order.packed, order.ledger
        if self._restored.get(part, 0) >= order.life:
            return  # a repeated request
        self._restored[part] = order.life
        kept = self.in_air.pop(part, None)
        if packed is None:
            if kept is None:
                return
            packed, ledger = kept[0].packed, kept[0].ledger
        self.switchboard.restore(packed, order.life)
        self.ledgers[part] = Ledger.decode(ledger)
        self.ledgers[part].has_closed = False
        self._truth.on_restored(part, order.life, self.ledgers[part])
        self._host.log(ChannelEvent.RESTORED, part=part, life=order.life)
        self._unregistered = True

    # Exchange.

    def locate(self, part: PartId) -> None:
        """See Exchange."""
        place, asked_at = self.switchboard.places[part], self._host.now
        if self._directory is None:
            return

        def located(answer: Message) -> None:
            assert isinstance(answer, Located)
            if answer.app is None:
                self.switchboard.gone(part, "gone", asked_at)
            elif place.version < 0 or self._habits.has_resolver:
                self.switchboard.learn(part, answer.version, answer.app)

        self.requests.ask(
            self._directory, Locate(part), timeout_s=_ASK_S, then=located, failed=lambda failure, why: None
        )

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange."""
        numbers = [_number_in(payload) for payload in payloads]
        self._host.log(LogEvent.UNDELIVERED, part=source, to=to, numbers=numbers, reason=reason)
        ledger = self.ledgers.get(source)
        if ledger is not None:
            self._truth.on_undelivered(ledger, source, to, numbers)

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""
        self._ended[part] = self.switchboard.version_of_place(part)
        self._unregistered = True
