"""Offloads: a real leaves for another CellApp, or arrives here.

    A (real, epoch 4)                                         B (ghost)
      on_leaving_cell; last step to all ghosts
      the client is sent all of it
      CreateGhost, if B has none            ─────────────▶
      Offload(epoch 5): everything          ─────────────▶    the mailbox arrives at once, and takes forwarded mail
      NextReal(epoch 5) to the other ghosts                   the ghost becomes the real, at once where its number or
      becomes a ghost, keeps the Offload                        the past that came along allows, else when the steps
      forwards mail and moves; on_left_cell                     that are on their way have arrived (`stream.py`)
      deletes the Offload                   ◀─────────────    Onloaded, at once; SetReal(epoch 5) to all ghosts
      OffloadNoted                          ─────────────▶    on_entering_cell, on_entered_cell

Between the moment in which A becomes a ghost and the moment in which B becomes the real there is no real at all, and
never are there two (P1). B confirms what it has, whether the real has begun there or waits. A keeps the packed real
until then, and sends it again when a link was lost: B answers a copy as it has answered the first
(`cell/migration/answers.py`). A real that B cannot take in is refused, and A brings it back:

    kept ──Onloaded──▶ deleted              ──refused──▶ the same real again, epoch + 1      (a teleport that failed)
      │                                     ──B declared dead──▶ the same, with a jump of the numbers: what B may have
      └── its link is up again: sent again                     sent of it meanwhile is undone by a new state for all

**A teleport** (`jump`) is the same without a ghost at the destination, which may refuse it: it has no such space, or
the point is not in it. The ghosts of another space than the new one are deleted by the new real. A jump into another
space of this very app takes the same way, without the network; it counts as two moves, since the mailbox comes back to
where it left.

Nothing can fail between the moment in which the mailbox leaves and that in which the Offload is on its way: it is
packed, encoded, read back and queued first. A real that is too large for that (ENTITY_MAX, with its mail), or that
fails in any other way, has not left: it goes on where it is, is counted, and tries again later; a teleport has failed.
An Offload that does not decode where it arrives is refused (`OffloadUnreadable`), so the real is back with its sender.

An offload needs a link that is up: until a real has arrived, its timers do not run and its calls wait. Which CellApp a
real leaves for, and when, is in `cell/core/destinations.py`. At most OFFLOADS_MAX leave in a tick; a real that was
passed over is among the first in the next one (race 14).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from terrazzo.cell.client.interests import Interests
from terrazzo.cell.client.scheduler import ClientScheduler
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.destinations import Destinations
from terrazzo.cell.core.members import FormerMembers
from terrazzo.cell.core.parcels import Parcels
from terrazzo.cell.core.real import Real
from terrazzo.cell.ghosts.copies import run_created_hook
from terrazzo.cell.ghosts.placement import GhostPlacement
from terrazzo.cell.ghosts.receiver import GhostReceiver
from terrazzo.cell.migration.answers import Answers, OffloadAnswer
from terrazzo.cell.migration.arrival import MAILBOX_DECODER, Arrivals, check_readable, is_known, problem_of
from terrazzo.cell.migration.teleport import Teleports
from terrazzo.cell.migration.travelling import Travelling, Trip
from terrazzo.errors import EntityMoved
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.ids import AppId, EntityId, Part, PartId, next_move
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cell_cell import (
    Jump,
    NextReal,
    Offload,
    OffloadNoted,
    OffloadRefused,
    OffloadUnreadable,
    Onloaded,
    Past,
)

OFFLOADS_MAX = 100
REASON_BYTES_MAX = 900
RESTORED = 1 << 20
"""Added to the number of a real after its destination died: more steps than that CellApp could have sent."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was sent and not yet confirmed."""

    to: AppId
    message: Offload
    had_ghost: bool


class Offloads:
    """The reals on their way, in both directions."""

    def __init__(
        self,
        core: Core,
        *,
        destinations: Destinations,
        former: FormerMembers,
        parcels: Parcels,
        placement: GhostPlacement,
        receiver: GhostReceiver,
        interests: Interests,
        scheduler: ClientScheduler,
        teleports: Teleports,
        travelling: Travelling,
        arrivals: Arrivals,
        on_arrived: Callable[[Real], None],
    ) -> None:
        """`on_arrived` is called with each real that has begun here."""
        self.kept: dict[int, Kept] = {}
        self.answers = Answers(core.send)
        self._core = core
        self._switchboard = core.switchboard
        self._destinations = destinations
        self._former = former
        self._parcels = parcels
        self._placement = placement
        self._receiver = receiver
        self._interests = interests
        self._scheduler = scheduler
        self._teleports = teleports
        self._travelling = travelling
        self._arrivals = arrivals
        self._on_arrived = on_arrived
        self._last = 0
        """The last to leave, when not all could."""

    # Leaving.

    def check(self) -> None:
        """Sends away the reals at places in another app's cell."""
        waiting = sorted(self._outside(), key=lambda real: (real.body.id <= self._last, real.body.id))
        self._last, count = 0, 0
        for real in waiting:
            to = None if real.body.real is not real else self._destinations.of(real)
            if to is None or self._core.host.now < real.too_large_until:
                continue
            if count >= OFFLOADS_MAX:
                return
            self._last = real.body.id
            count += self._core.confine(real.body, "offload", self.offload, real, to) or 0
        self._last = 0

    def _outside(self) -> Iterator[Real]:
        """The reals that may have to leave."""
        for space in list(self._core.spaces.values()):
            if space.has_ground:
                bodies = [space.by_slot[slot] for slot in space.area.outside(*space.rect, self._core.offload_margin_m)]
            else:
                bodies = list(space.bodies.values())
            yield from (body.real for body in bodies if body.real is not None)

    def offload(self, real: Real, to: AppId, jump: Jump | None = None) -> bool:
        """Sends a real away; False when a hook of the game kept it here, or it is too large."""
        core, body = self._core, real.body
        if not self._take_leave(real, to, jump):
            return False
        self._core.close_step(real)
        if jump is None and to not in real.ghosts:
            self._placement.create(real, to)
        if real.witness is not None:
            self._scheduler.serve(real)
            if self._scheduler.is_parting(real):
                return self._stay(real, jump, "its client was sent away")  # its hook runs first
            self._switchboard.send_now(body.part, body.base_part)  # before the places of this tick, which go from here
        for each in [each for each in real.ghosts if self._former.has_left(body.space.id, each)]:
            self._placement.delete(real, each)  # where it goes they may not be known as those that have left
        ghosts = list(real.ghosts)
        try:
            message = self._pack(real, to, jump)
            check_readable(core, message)
            if to != core.me:
                self._parcels.send(to, message)
        except Exception as problem:
            self._placement.on_not_packed(real, LogEvent.TOO_LARGE_TO_LEAVE, LogEvent.UNPACKABLE_TO_LEAVE, to, problem)
            return self._stay(real, jump, words_of(problem))
        self._switchboard.leave(body.part, to)
        self.kept[body.id] = Kept(to, message, had_ghost=to in ghosts)
        self._become_ghost(real, to, message.epoch)
        if "on_left_cell" in body.kind.hooks:
            core.run(body, "on_left_cell", real.part.on_left_cell)
        run_created_hook(body)
        if to == core.me:
            self.on_offload(core.me, message)
            return True
        for each in ghosts:
            if each != to:
                core.send(each, NextReal(body.id, message.epoch, to))
        return True

    def _stay(self, real: Real, jump: Jump | None, reason: str) -> bool:
        if jump is not None:
            self._teleports.on_refused(real, reason)
            self._core.close_step(real)
        return False

    def _take_leave(self, real: Real, to: AppId, jump: Jump | None) -> bool:
        """Runs what the game has to do before the real leaves: it may destroy the entity, put it elsewhere, send it
        elsewhere. Its methods that wait for something end here, and may still do the same."""
        core, body = self._core, real.body
        position = body.position

        def leaves() -> bool:
            if real.is_destroyed or body.real is not real:
                return False
            if jump is not None:
                return not self._teleports.is_overtaken(real)
            return position == body.position or self._destinations.of(real) == to

        if "on_leaving_cell" in body.kind.hooks:
            core.run(body, "on_leaving_cell", real.part.on_leaving_cell)
        if not leaves():
            return False
        if jump is not None:
            self._interests.take_leave(real, jump.space, jump.position)
        self._interests.run_hooks_of(body)
        self._core.awaiting.end(body.part, EntityMoved, f"the entity leaves for {to}")
        return leaves()

    def _pack(self, real: Real, to: AppId, jump: Jump | None) -> Offload:
        """Everything of a real and its mailbox, which are still here."""
        mailbox, epoch = self._switchboard.packed(real.body.part), real.body.epoch + 1
        if to == self._core.me:
            mailbox, epoch = _moved_on(mailbox), epoch + 1
        return self._travelling.pack(real, Trip(to, epoch, mailbox, jump))

    def _become_ghost(self, real: Real, to: AppId, epoch: int) -> None:
        body = real.body
        self._core.unregister_real(real)
        body.space.area.set_real(body.slot, False)
        body.keep_ghosted()
        body.epoch = body.born = epoch
        body.real_app = to

    # What became of it.

    def on_onloaded(self, source: AppId, message: Onloaded) -> None:
        """It arrived."""
        if self._kept_for(source, message) is not None:
            del self.kept[message.entity]
        self._core.send(source, OffloadNoted(message.entity, message.epoch))

    def on_refused(self, source: AppId, message: OffloadRefused) -> None:
        """It was not taken in: it is here again, as it was."""
        kept = self._kept_for(source, message)
        if kept is not None:
            self._core.count(LogEvent.OFFLOAD_REFUSED, entity=message.entity, to=str(kept.to), reason=message.reason)
            ghosts = (*kept.message.ghost_apps, *((kept.to,) if kept.had_ghost else ()))
            self._bring_back(msgspec.structs.replace(kept.message, ghost_apps=ghosts), message.reason)
        if source != self._core.me:
            self._core.send(source, OffloadNoted(message.entity, message.epoch))

    def forget_kept(self, entity: int) -> None:
        """A later life of the entity begins here, so its base knows that the life that left from here has ended: the
        copy is never needed again, and must not be sent again."""
        self.kept.pop(entity, None)

    def _kept_for(self, source: AppId, answer: OffloadAnswer) -> Kept | None:
        """The copy that an answer is about. Links are not ordered against each other, so an answer may come when the
        real has been here again meanwhile, and has left under a later epoch: that copy is not meant."""
        kept = self.kept.get(answer.entity)
        is_meant = kept is not None and kept.to == source and kept.message.epoch == answer.epoch
        return kept if is_meant else None

    def on_app_dead(self, app: AppId) -> None:
        """An app is dead, and fenced: what was on its way to it, and perhaps there, is here again as it left. What the
        dead may have sent of it is undone: all ghosts get the whole state under a number that is beyond."""
        for kept in [kept for kept in self.kept.values() if kept.to == app]:
            message, kind = kept.message, self._core.kinds.get(kept.message.type_id)
            assert kind is not None
            self._core.count(LogEvent.OFFLOAD_RESTORED, entity=message.entity, to=str(app))
            number = message.number + RESTORED
            past = Past(number, (), tuple((subject, number) for subject in (*kind.for_others, *kind.beside)))
            message = msgspec.structs.replace(message, number=number, past=past)
            real = self._bring_back(message, f"{app} is dead")
            if real is None:
                continue
            self._core.close_step(real)
            for each in list(real.ghosts):
                self._placement.describe(real, each, is_snapshot=True)

    def _bring_back(self, message: Offload, reason: str) -> Real | None:
        """The real that left begins here again; None where a later home of it is known, so it was taken in."""
        jump, mailbox = message.jump, _moved_on(message.mailbox)
        del self.kept[message.entity]
        if self._has_gone_on(message):
            self._core.count(LogEvent.OFFLOAD_ELSEWHERE, entity=message.entity, epoch=message.epoch)
            return None
        message = msgspec.structs.replace(message, epoch=message.epoch + 1, mailbox=mailbox, jump=None)
        self._switchboard.arrive(mailbox)
        real = self.begin_real(message)
        if jump is not None:
            self._teleports.on_refused(real, reason)
        return real

    def _has_gone_on(self, message: Offload) -> bool:
        """Whether the switchboard, or a ghost that is here, has a later epoch than that of this copy."""
        body = self._core.bodies.get(message.entity)
        known = self._switchboard.version_of_place(PartId(EntityId(message.entity), Part.CELL))
        return max(-1 if body is None else body.epoch, known) > message.epoch

    def on_link_up(self, peer: AppId) -> None:
        """What was sent to this peer may have been lost with the former link. A second copy does no harm."""
        self.answers.on_link_up(peer)
        for kept in self.kept.values():
            if kept.to == peer:
                self._parcels.send(peer, kept.message)

    def on_link_lost(self) -> None:
        """What a real that has come waits for may be lost: it begins with what it has."""
        self._receiver.mending.begin_arrivals()

    def has_kept(self, space: int, app: AppId | None = None) -> bool:
        """Whether a real of this space has been sent, to this app, and not confirmed."""
        return any(
            space in (kept.message.space, kept.message.jump and kept.message.jump.space)
            for kept in self.kept.values()
            if app is None or kept.to == app
        )

    def carries_ghosts(self, space: int, app: AppId) -> bool:
        """Whether a real of this space that has ghosts there is on its way from here, or has come here and waits."""
        arrivals = self._receiver.holding.arrivals()
        on_the_way = (*(kept.message for kept in self.kept.values()), *arrivals)
        return any(message.space == space and app in message.ghost_apps for message in on_the_way)

    # Arriving.

    def on_offload(self, source: AppId, message: Offload) -> None:
        """A real arrives."""
        core = self._core
        if self.answers.repeat(source, message):
            return
        is_new, problem = False, problem_of(core, message)
        if problem is None:
            is_new = self._switchboard.arrive(message.mailbox)
        elif is_known(core, message):
            problem = None
        if problem is not None:
            core.count(LogEvent.OFFLOAD_NOT_TAKEN, entity=message.entity, problem=problem)
            self._answer(source, OffloadRefused(message.entity, message.epoch, _short(problem)))
            return
        if is_new:
            self._take_in(source, message)
        self._answer(source, Onloaded(message.entity, message.epoch))  # last: the sender's may be the only copy

    def on_unreadable(self, source: AppId, message: OffloadUnreadable) -> None:
        """A real has come in a message that does not decode: it stays where it was."""
        if not self.answers.repeat(source, message):
            self._core.count(LogEvent.OFFLOAD_MALFORMED, entity=message.entity, source=str(source))
            self._answer(source, OffloadRefused(message.entity, message.epoch, "it does not decode"))

    def _take_in(self, source: AppId, message: Offload) -> None:
        self.kept.pop(message.entity, None)  # the real has been elsewhere, and is back under a later epoch
        self._receiver.on_arrival(source, message)

    def _answer(self, source: AppId, answer: OffloadAnswer) -> None:
        if source != self._core.me:
            self.answers.give(source, answer)
        elif isinstance(answer, OffloadRefused):
            self.on_refused(source, answer)

    def begin_real(self, message: Offload) -> Real:
        """The real begins here."""
        real = self._arrivals.begin(message)
        if "on_entered_cell" in real.body.kind.hooks:
            self._core.run(real.body, "on_entered_cell", real.part.on_entered_cell)
        if message.jump is not None:
            self._interests.run_hooks_of(real.body)
            self._teleports.on_arrived(real)
        self._on_arrived(real)
        return real


def _short(problem: str) -> str:
    """As much of it as a refusal can hold, which is counted in bytes."""
    return problem.encode()[:REASON_BYTES_MAX].decode(errors="ignore")


def _moved_on(mailbox: bytes) -> bytes:
    """A mailbox that left and is to be continued where it left, under a version of its own."""
    packed = MAILBOX_DECODER.decode(mailbox)
    return msgspec.msgpack.encode(packed._replace(version=next_move(packed.version)))
