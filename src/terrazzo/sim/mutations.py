"""Deliberately broken forms of the mechanisms under test, each with a name.

A checker that cannot fail proves nothing: every mutation here must be caught by a scenario within a few seeds, and a
test checks that. Mutations are small subclasses and patches; the core has no code for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from terrazzo.cell.cellapp import CellApp
from terrazzo.cluster.app import App
from terrazzo.cluster.links import Links
from terrazzo.errors import UsageError
from terrazzo.sim.cell_mutations import CELL_MUTATIONS
from terrazzo.sim.client_mutations import CLIENT_MUTATIONS
from terrazzo.sim.dart_mutations import DART_MUTATIONS
from terrazzo.sim.keeper_mutations import KEEPER_MUTATIONS
from terrazzo.sim.latency_mutations import LATENCY_MUTATIONS
from terrazzo.sim.login_mutations import LOGIN_MUTATIONS
from terrazzo.sim.maker_mutations import MAKER_MUTATIONS
from terrazzo.sim.party_mutations import PARTY_MUTATIONS
from terrazzo.sim.queue_mutations import QUEUE_MUTATIONS
from terrazzo.sim.rare_mutations import RARE_MUTATIONS, RARE_SYNC_MUTATIONS
from terrazzo.sim.sight_mutations import SIGHT_MUTATIONS
from terrazzo.sim.sync_mutations import SYNC_MUTATIONS
from terrazzo.sim.timer_mutations import TIMER_MUTATIONS
from terrazzo.sim.validation_mutations import VALIDATION_MUTATIONS, ForgetsPlaces, keeps_claims
from terrazzo.wire import client
from terrazzo.wire.common import Hello, LinkRefusal
from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.messages import Frame, Outgoing, PackedChannel, PackedPart
from terrazzo.wire.entity.router import Router
from terrazzo.wire.entity.streams import InStream
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, PartId, Version, next_move
from terrazzo.wire.pairs.base_cell import Answer


def _leave_alone(thing: object) -> None:
    """Changes nothing."""


@dataclass(frozen=True)
class Mutation:
    """The classes and patches to use in place of the real ones."""

    channel: type[Channel] = Channel
    switchboard: type[Switchboard] = Switchboard
    router: type[Router] = Router
    links: type[Links] = Links
    client: Callable[[client.Channel], None] | None = None
    app: Callable[[App], None] = _leave_alone
    """Called with each app when it starts."""
    scenario: str = "channel"
    """The scenario that catches it."""
    is_validated: bool = False
    """Whether the apps' own invariants are checked (`validation.py`). For most mutations they are not, since each
    mutation tests the judge of a promise, and a broken invariant would end the world before that judge looks."""


# The entity channel.


class _AcksOneTooMany(Channel):
    """Acknowledges a message that has not arrived."""

    __slots__ = ()

    def number_acked(self) -> int:
        return super().number_acked() + 1


class _SkipsAck(Channel):
    """Does not acknowledge messages with a number that ends in 3."""

    __slots__ = ()

    def number_acked(self) -> int:
        number = super().number_acked()
        return number - 1 if number % 10 == 4 else number


class _DeliversEarly(Channel):
    """Delivers early messages at once."""

    __slots__ = ()

    def _admit(self, incoming: InStream, number: int, payloads: Sequence[bytes], limits: ChannelLimits) -> None:
        if payloads and number > incoming.expected:
            incoming.expected = number
        super()._admit(incoming, number, payloads, limits)


class _DeliversTwice(Channel):
    """Delivers copies of messages that were delivered before."""

    __slots__ = ()

    def _admit(self, incoming: InStream, number: int, payloads: Sequence[bytes], limits: ChannelLimits) -> None:
        if payloads and number < incoming.expected:
            incoming.expected = number
        super()._admit(incoming, number, payloads, limits)


class _MovesSilently(Channel):
    """Sends no notice of its move, and no request for the peer's place."""

    __slots__ = ()

    def awaits_answer(self) -> bool:
        stream = self.outgoing
        return self.box.is_ending or (stream is not None and bool(stream.buffer or stream.is_last))


class _ForgetsUnacked(Channel):
    """Packs its stream without the unacknowledged messages."""

    __slots__ = ()

    def pack(self) -> PackedChannel:
        packed = super().pack()
        out = packed.outgoing
        if out is None:
            return packed
        kept = out.buffer[out.sent - out.first :]
        return packed._replace(outgoing=out._replace(first=out.sent, buffer=kept))


class _IgnoresNewLife(Channel):
    """Continues the streams of a restored peer."""

    __slots__ = ()

    def _follow_new_life(self, stream: Outgoing | None) -> None:
        return


class _ForgetsBirth(Channel):
    """When restored, does not send the number with which its new life begins."""

    __slots__ = ()

    def begin_life(self) -> None:
        super().begin_life()
        if self.outgoing is not None:
            self.outgoing.born = 1 << 40


class _ForgetsHorizon(Channel):
    """Treats a late copy of a dropped stream as a new stream."""

    __slots__ = ()

    def _begin(self, stream: Outgoing) -> InStream | None:
        self.box.horizon = 0
        return super()._begin(stream)


class _NeverRenews(Channel):
    """Drops a frame below its horizon without asking for a new stream."""

    __slots__ = ()

    def _begin(self, stream: Outgoing) -> InStream | None:
        incoming = super()._begin(stream)
        self.renew = None
        return incoming


class _RetiresTooSoon(Channel):
    """Ends its stream as soon as everything was sent."""

    __slots__ = ()

    def is_plain(self) -> bool:
        return False  # a row cannot say that

    def _next_outgoing(self, limits: ChannelLimits) -> Outgoing | None:
        sent = super()._next_outgoing(limits)
        if sent is not None and not sent.payloads and not self.pinned:
            return sent._replace(is_last=True)
        return sent


class _ForgetsTheEnd(Channel):
    """Does not report the messages that a destroyed peer has not received."""

    __slots__ = ()

    def _on_over(self, ack: tuple[int, int] | None) -> list[bytes]:
        super()._on_over(ack)
        return []


class _ReportsAll(Channel):
    """Ignores the last acknowledgement of a destroyed peer."""

    __slots__ = ()

    def _on_ack(self, generation: int, expected: int, now: float) -> None:
        if not self.box.is_ending and self.attempts == 0 and expected % 3 == 2:
            return
        super()._on_ack(generation, expected, now)


class _NeverResends(Channel):
    """Sends every message only once."""

    __slots__ = ()

    def send_again(self) -> None:
        return


# The switchboard, the router and the links.


class _ForgetsVersion(Router):
    """Takes the place of a part from the last frame received, whatever its version."""

    def _follow(self, frame: Frame) -> None:
        place = self._registry.place(frame.source)
        place.version, place.app = frame.version, frame.home


class _DropsForward(Router):
    """Does not forward frames for a part that has left."""

    def _pass_on(self, frame: Frame, via: AppId) -> None:
        return


class _LosesInbox(Switchboard):
    """A part leaves without the messages in its inbox."""

    def depart(self, part: Any, to: AppId) -> bytes:
        self.boxes[part].inbox.clear()
        return super().depart(part, to)


class _RestoresAsMove(Switchboard):
    """Continues a restored part as if it had only moved."""

    def restore(self, packed: bytes, life: int | None = None) -> Version:
        state = msgspec.msgpack.decode(packed, type=PackedPart)
        version = next_move(max(state.version, self._registry.place(state.part).version))
        self._continue(state._replace(version=version))
        return version


class _NeverResendsAfterLoss(Router):
    """Resends nothing, not even after the loss of a link."""

    def _on_due(self, channel: Channel, now: float) -> None:
        return


class _IgnoresFences(Links):
    """Keeps links with fenced apps."""

    def _reason_against(self, hello: Hello) -> LinkRefusal | None:
        reason = super()._reason_against(hello)
        return None if reason in (LinkRefusal.FENCED, LinkRefusal.STALE) else reason

    def fence(self, app: AppId) -> None:
        return


# The client channel: patches of one session's parts.


def _acks_everything(channel: client.Channel) -> None:
    make = channel.acks.make

    def lying(offset: int, room: int, now: float) -> tuple[int, int, int, bytes] | None:
        made = make(offset, room, now)
        return None if made is None else (made[0], made[1], made[2], b"\xff" * len(made[3]))

    channel.acks.make = lying  # type: ignore[method-assign, assignment]


def _never_sends_again(channel: client.Channel) -> None:
    def forget(spans: Iterable[tuple[int, int]]) -> None:
        return

    channel.outbox.send_again = forget  # type: ignore[method-assign]


def _closes_gaps(channel: client.Channel) -> None:
    add = channel.assembly.add

    def careless(placed: list[tuple[int, bytes]]) -> list[bytes]:
        channel.assembly.expected = max(channel.assembly.expected, min(start for start, _ in placed))
        return add(placed)

    channel.assembly.add = careless  # type: ignore[method-assign]


def _spends_freely(channel: client.Channel) -> None:
    poll = channel.poll

    def generous(now: float, budget_bytes: int | None = None) -> list[tuple[int, bytes]]:
        return poll(now, None)

    channel.poll = generous  # type: ignore[method-assign]


def _forgets_newest(channel: client.Channel) -> None:
    on_packet = channel.on_packet

    def forgetful(number: int, body: bytes, now: float) -> list[bytes]:
        channel._unreliable_newest = -1
        return on_packet(number, body, now)

    channel.on_packet = forgetful  # type: ignore[method-assign]


def _keeps_waiting(app: App) -> None:
    """The waiting methods of an entity that leaves are dropped without being ended."""
    if isinstance(app, CellApp):
        vars(app.core.awaiting)["end"] = lambda *_: None


def _drops_answers(app: App) -> None:
    """Answers are dropped: every question ends by its time limit."""
    if isinstance(app, CellApp):
        vars(app.core.awaiting)["on_answer"] = lambda *_: True


def _swaps_answers(app: App) -> None:
    """The answer to one question is given to another."""
    if isinstance(app, CellApp):
        before = app.core.awaiting.on_answer
        latest: list[bytes] = []

        def on_answer(part: PartId, source: PartId, answer: Answer) -> bool:
            all_, latest[:] = [*latest, answer.values], [answer.values]
            return before(part, source, msgspec.structs.replace(answer, values=all_[0]))

        vars(app.core.awaiting)["on_answer"] = on_answer


FIGHT_HARMS = ("forget-timers", "early-timers", "call-twice", "leave-channel-behind", "lose-real")
"""The harms of CellApps that the fight scenario must detect as well."""

MUTATIONS: dict[str, Mutation] = {
    "ack-one-too-many": Mutation(channel=_AcksOneTooMany),
    "skip-ack": Mutation(channel=_SkipsAck),
    "deliver-early": Mutation(channel=_DeliversEarly),
    "deliver-twice": Mutation(channel=_DeliversTwice),
    "move-silently": Mutation(channel=_MovesSilently),
    "forget-unacked": Mutation(channel=_ForgetsUnacked),
    "ignore-new-life": Mutation(channel=_IgnoresNewLife),
    "forget-birth": Mutation(channel=_ForgetsBirth),
    "forget-horizon": Mutation(channel=_ForgetsHorizon),
    "never-renew": Mutation(channel=_NeverRenews),
    "retire-too-soon": Mutation(channel=_RetiresTooSoon),
    "forget-the-end": Mutation(channel=_ForgetsTheEnd),
    "report-all": Mutation(channel=_ReportsAll),
    "never-resend": Mutation(channel=_NeverResends),
    "forget-version": Mutation(router=_ForgetsVersion),
    "drop-forward": Mutation(router=_DropsForward),
    "lose-inbox": Mutation(switchboard=_LosesInbox),
    "restore-as-move": Mutation(switchboard=_RestoresAsMove),
    "stay-deaf": Mutation(router=_NeverResendsAfterLoss),
    "forget-fences": Mutation(links=_IgnoresFences),
    "client-ack-everything": Mutation(client=_acks_everything),
    "client-never-resend": Mutation(client=_never_sends_again),
    "client-close-gaps": Mutation(client=_closes_gaps),
    "client-spend-freely": Mutation(client=_spends_freely),
    "client-forget-newest": Mutation(client=_forgets_newest),
    **{name: Mutation(app=harm, scenario="seamless") for name, harm in CELL_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="seamless") for name, harm in TIMER_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="seamless") for name, harm in CLIENT_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="seamless") for name, harm in LATENCY_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="seamless") for name, harm in SIGHT_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="sync") for name, harm in SYNC_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="logins") for name, harm in LOGIN_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="queue") for name, harm in QUEUE_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="seamless") for name, harm in DART_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="makers") for name, harm in MAKER_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="parties") for name, harm in PARTY_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="keepers") for name, harm in KEEPER_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="seamless") for name, harm in RARE_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="sync") for name, harm in RARE_SYNC_MUTATIONS.items()},
    **{name: Mutation(app=harm, scenario="seamless", is_validated=True) for name, harm in VALIDATION_MUTATIONS.items()},
    "keep-claims": Mutation(app=keeps_claims, scenario="logins", is_validated=True),
    "forget-places": Mutation(switchboard=ForgetsPlaces, is_validated=True),
    "fight-keep-waiting": Mutation(app=_keeps_waiting, scenario="fight"),
    "fight-wrong-answers": Mutation(app=_swaps_answers, scenario="fight"),
    "fight-deaf-awaiting": Mutation(app=_drops_answers, scenario="fight"),
    **{f"fight-{name}": Mutation(app=CELL_MUTATIONS[name], scenario="fight") for name in FIGHT_HARMS},
}


def mutation_of(name: str | None, scenario: str | None = None) -> Mutation:
    """The mutation of that name, if it is for that scenario; one that changes nothing for None."""
    if name is None:
        return Mutation(is_validated=True)
    known = {each: made for each, made in MUTATIONS.items() if scenario in (None, made.scenario)}
    if name not in known:
        whose = "" if scenario is None else f" for the {scenario} scenario"
        raise UsageError(f"there is no mutation {name!r}{whose}; there are: {', '.join(known)}")
    return known[name]
