"""What this app has answered to each Offload, for as long as its sender may send it once more.

    sender (keeps a copy)                                     receiver
      Offload(epoch 5)                      ─────────────▶    decides once: taken in, or refused
      deletes its copy, or brings it back   ◀─────────────    Onloaded or OffloadRefused; stored here
      OffloadNoted(epoch 5)                 ─────────────▶    deleted

A sender sends its copy again whenever the link between the two is up again, perhaps minutes later. By then the real may
have gone on from here, the part's place may be dropped, the cell may be retired: none of that may change the answer.
A second answer of the other kind would make a second real (a copy is refused that was taken in) or lose the only one (a
copy is taken in that was brought back). So the first answer is stored, and every copy gets the same.

**How long.** Until the sender has confirmed the answer: then it has no copy any more, and because a link keeps the
order, none is on its way. An answer may be lost with a link, so it is sent again when the link is up, and a sender
confirms every answer, of whatever epoch. So what is stored are the answers of the last round trip, and those that were
given before a link broke, until it is back. The answers to a former incarnation of a peer are dropped when its
successor appears: there is no copy left.

**Epochs.** There is one answer for each sender and entity, the latest: a sender that sends a real away once more has no
copy of the time before.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import Offload, OffloadNoted, OffloadRefused, OffloadUnreadable, Onloaded

OffloadAnswer = Onloaded | OffloadRefused


class Answers:
    """The answers of one app that were not noted yet."""

    def __init__(self, send: Callable[[AppId, OffloadAnswer], object]) -> None:
        self._send = send
        self._given: dict[AppId, dict[int, OffloadAnswer]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._given.values()))

    def give(self, source: AppId, answer: OffloadAnswer) -> None:
        """Answers an Offload, and stores the answer."""
        self._given.setdefault(source, {})[answer.entity] = answer
        self._send(source, answer)

    def repeat(self, source: AppId, message: Offload | OffloadUnreadable) -> bool:
        """Whether this Offload is a copy of one that was answered; it is answered again."""
        answer = self._given.get(source, {}).get(message.entity)
        if answer is None or answer.epoch < message.epoch:
            return False
        self._send(source, answer)
        return True

    def on_noted(self, source: AppId, message: OffloadNoted) -> None:
        """A sender has an answer, and keeps no copy of that epoch, nor of one before."""
        given = self._given.get(source, {})
        answer = given.get(message.entity)
        if answer is not None and answer.epoch <= message.epoch:
            del given[message.entity]

    def on_link_up(self, peer: AppId) -> None:
        """The answers may have been lost with the former link."""
        for each in [each for each in self._given if each.slot == peer.slot and each != peer]:
            del self._given[each]
        for answer in self._given.get(peer, {}).values():
            self._send(peer, answer)
