"""The truth about the channel scenario: what each part sent and received, and what the promises require of it.

Every part has a **ledger** that moves, is backed up and is restored together with its mailbox, as a game's state is.
The n-th message of X to Y contains n. So Y's ledger alone shows whether a message that arrives is the next one (P2).
Only crashes change what "next" means:

- the receiver was restored: its lost life may have taken messages (n jumps ahead, to what that life had not taken, at
  most once per peer);
- the sender was restored: once per life it may go back to the number in its backup (n jumps back, never ahead).

Destroyed parts leave their last ledger here, so that at rest every message is accounted for: delivered, or reported to
its sender as not delivered, never both, never neither.
"""

from __future__ import annotations

import msgspec

from terrazzo.sim.oracle import check
from terrazzo.sim.scenario import Unrest
from terrazzo.wire.ids import AppId, PartId


class Ledger(msgspec.Struct):
    """The record of one part of what it has sent and received, by peer."""

    sent: list[tuple[PartId, int]] = []
    got: list[tuple[PartId, int, int]] = []  # peer, how many, sender's life as of the last step back
    failed: list[tuple[PartId, int]] = []
    resuming: list[PartId] = []
    has_closed: bool = False

    def sent_to(self, peer: PartId) -> int:
        """How many messages were sent to `peer`."""
        return next((count for part, count in self.sent if part == peer), 0)

    def add_sent(self, peer: PartId) -> int:
        """Counts one more; returns its number."""
        count = self.sent_to(peer)
        self.sent = [entry for entry in self.sent if entry[0] != peer] + [(peer, count + 1)]
        return count

    def got_from(self, peer: PartId) -> tuple[int, int]:
        """How many came from `peer`, and the life of the peer when the number last went back."""
        return next(((count, life) for part, count, life in self.got if part == peer), (0, 0))

    def set_got(self, peer: PartId, count: int, life: int) -> None:
        """Sets how many came from `peer`."""
        self.got = [entry for entry in self.got if entry[0] != peer] + [(peer, count, life)]

    def failed_to(self, peer: PartId) -> list[int]:
        """The numbers that were reported as not delivered."""
        return [number for part, number in self.failed if part == peer]

    def encode(self) -> bytes:
        """The bytes, to be sent beside the mail."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Ledger:
        """The ledger of such bytes."""
        return msgspec.msgpack.decode(data, type=cls)


class Truth:
    """The record of an outside observer."""

    def __init__(self) -> None:
        self.parts: list[PartId] = []
        self.lives: dict[PartId, int] = {}
        self.destroyed: dict[PartId, Ledger] = {}
        self.lost: dict[PartId, None] = {}
        self.dead: dict[AppId, None] = {}
        self.delivered = 0
        self._taken: dict[tuple[PartId, PartId], int] = {}  # by source and destination, the most that any life took

    def on_delivered(self, ledger: Ledger, to: PartId, source: PartId, number: int) -> None:
        """Checks P2: the message is the next one, or one of the two jumps that a crash allows."""
        count, seen_life = ledger.got_from(source)
        life = self.lives.get(source, 0)
        self.delivered += 1
        most = self._taken.get((source, to), 0)
        if source in ledger.resuming and count < number <= most:
            ledger.resuming = [part for part in ledger.resuming if part != source]
            count = number
        if number < count and life > seen_life:
            count, seen_life = number, life
        what = "twice" if number < count else "too early"
        check(
            number == count,
            "P2",
            f"{source} → {to}: number {number} came {what}, expected {count}",
            source,
            to,
        )
        ledger.set_got(source, count + 1, seen_life)
        self._taken[source, to] = max(most, count + 1)

    def on_undelivered(self, ledger: Ledger, source: PartId, to: PartId, numbers: list[int]) -> None:
        """Checks a report of failure: the part must have ended, and must not have received these messages."""
        is_gone = to in self.destroyed or to in self.lost or self.lives.get(to, 0) > 0
        check(is_gone, "P2", f"it was reported to {source} that {to} is gone, and it is not", source, to)
        is_exact = to not in self.lost and not self.lives.get(to) and not self.lives.get(source)
        if to in self.destroyed and is_exact:
            got, _ = self.destroyed[to].got_from(source)
            wrong = [number for number in numbers if number < got]
            check(not wrong, "P2", f"{source} → {to}: {wrong} were delivered and reported as failed", source, to)
        ledger.failed += [(to, number) for number in numbers]

    def on_restored(self, part: PartId, life: int, ledger: Ledger) -> None:
        """A part begins a new life from a backup."""
        self.lives[part] = life
        ledger.resuming = list(self.parts)

    def judge(self, ledgers: dict[PartId, Ledger]) -> Unrest | None:
        """The check at rest: everything sent is accounted for. Returns what is missing, if it still may arrive."""
        for part, ledger in ledgers.items():
            for peer, count in ledger.sent:
                missing = self._judge_pair(part, ledger, peer, count, ledgers.get(peer))
                if missing is not None:
                    return Unrest(missing, (part, peer))
        return None

    def _judge_pair(self, part: PartId, ledger: Ledger, peer: PartId, count: int, other: Ledger | None) -> str | None:
        failed = ledger.failed_to(peer)
        restored = bool(self.lives.get(part) or self.lives.get(peer))
        if other is not None:
            got, _ = other.got_from(part)
            was_taken = bool(self.lives.get(peer)) and self._taken.get((part, peer), 0) >= count
            if got != count and not was_taken and not (restored and failed):
                return f"{part} has sent {count} to {peer}, which got {got}"
        elif peer in self.destroyed and peer not in self.lost and not restored:
            got, _ = self.destroyed[peer].got_from(part)
            if failed != list(range(got, count)):
                return f"{part} has sent {count} to {peer}, which got {got} and is gone; reported: {failed}"
        return None
