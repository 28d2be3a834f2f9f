"""Broken forms of the protocols between CellApps and with clients, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. Its docstring describes the broken behaviour. The seamless scenario must
detect each of them within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, cast

import msgspec

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core.real import FRESH_MOVER, Real
from terrazzo.cluster.app import App
from terrazzo.sync import protocol
from terrazzo.wire.entity.letters import Letters
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.messages import PackedPart
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import Position, ToClient
from terrazzo.wire.pairs.cell_cell import (
    CreateGhost,
    DeleteGhost,
    NextReal,
    Offload,
    OffloadRefused,
    PackedWitness,
    UpdateGhost,
    WantSnapshot,
)

Harm = Callable[[CellApp], None]


def instead(thing: object, name: str, function: Callable[..., Any]) -> None:
    """Replaces a method of one object; `function` gets the original method as its first argument."""
    before = getattr(thing, name)
    vars(thing)[name] = lambda *args, **named: function(before, *args, **named)


def _changes_received(app: CellApp, kind: type[Message], change: Callable[[Any], Message | None]) -> None:
    """Received messages of this kind are changed, or dropped."""
    handler = app._handlers[kind]

    def hear(source: AppId, message: Message) -> None:
        changed = change(message)
        if changed is not None:
            handler(source, changed)

    app.on(kind, hear)


def _changes_packed(app: CellApp, change: Callable[[Offload], dict[str, Any]]) -> None:
    """An entity that leaves is packed with changed fields."""

    def pack(before: Any, *args: Any) -> Offload:
        message: Offload = before(*args)
        return msgspec.structs.replace(message, **change(message))

    instead(app.offloads, "_pack", pack)


def _packs_without(app: CellApp, **lost: Any) -> None:
    """An entity that leaves is packed without some fields."""
    _changes_packed(app, lambda message: lost)


def _changes_witness(app: CellApp, change: Callable[[PackedWitness], PackedWitness]) -> None:
    """A witness is changed when it is packed."""
    _changes_packed(app, lambda message: {"witness": None if message.witness is None else change(message.witness)})


def _delays_timers(app: CellApp, later_s: float) -> None:
    """The timers of an entity that migrates are due so much later."""
    _changes_packed(
        app, lambda message: {"timers": tuple(t._replace(seconds=t.seconds + later_s) for t in message.timers)}
    )


# Ghosts.


def _ignores_epochs(app: CellApp) -> None:
    """Epochs are ignored: a late creation or deletion undoes a newer one."""
    newest = 1 << 62
    app.receiver.tombstones.is_too_late = lambda entity, epoch: False  # type: ignore[method-assign]
    _changes_received(
        app, DeleteGhost, lambda message: msgspec.structs.replace(message, epoch=newest, number=newest, past=None)
    )

    def end(before: Any, source: AppId, message: DeleteGhost) -> None:
        body = app.bodies.get(message.entity)
        if body is not None and body.real is None:
            message = msgspec.structs.replace(message, epoch=body.epoch, number=body.number)
            before(source, message)

    instead(app.receiver, "_end", end)


def _applies_early(app: CellApp) -> None:
    """A step that comes early is applied at once."""

    def hear(message: UpdateGhost) -> UpdateGhost:
        body = app.bodies.get(message.entity)
        if body is not None and body.real is None and message.number > body.number:
            body.number = message.number - 1
        return message

    _changes_received(app, UpdateGhost, hear)


def _applies_twice(app: CellApp) -> None:
    """A step that was applied before is applied again."""

    def hear(message: UpdateGhost) -> UpdateGhost:
        body = app.bodies.get(message.entity)
        if body is None or body.real is not None or message.number > body.number:
            return message
        return msgspec.structs.replace(message, number=body.number + 1)

    _changes_received(app, UpdateGhost, hear)


def _misses_steps(app: CellApp) -> None:
    """Some steps lose their items."""
    _changes_received(
        app, UpdateGhost, lambda each: msgspec.structs.replace(each, items=()) if each.number % 5 == 0 else each
    )


def _no_tombstone(app: CellApp) -> None:
    """No tombstones are made."""
    app.receiver.tombstones.add = lambda *args, **named: None  # type: ignore[method-assign]


def _no_snapshot(app: CellApp) -> None:
    """Requests for a snapshot are ignored."""
    _changes_received(app, WantSnapshot, lambda message: None)


def _keeps_ghosts(app: CellApp) -> None:
    """Deletions of ghosts are ignored."""
    _changes_received(app, DeleteGhost, lambda message: None)


def _makes_no_ghosts(app: CellApp) -> None:
    """The ghosts that are needed are not made."""
    _changes_received(app, CreateGhost, lambda message: None)


def _makes_ghosts_without_history(app: CellApp) -> None:
    """Ghosts are made without the history of the last steps."""

    def empty(message: CreateGhost) -> CreateGhost:
        past = message.past._replace(floor=message.number, steps=(), stamps=())
        return msgspec.structs.replace(message, past=past)

    _changes_received(app, CreateGhost, empty)


def _hides_next_real(app: CellApp) -> None:
    """Ghosts ignore NextReal and do not follow the real to its new home."""
    _changes_received(app, NextReal, lambda message: None)
    instead(app.placement, "adopt", lambda adopt, real, *known: None)


# Offloads.


def _keeps_real(app: CellApp) -> None:
    """The sender of an offload goes on as if it had been refused."""

    def stay(offload: Any, real: Real, *args: Any) -> bool:
        left: bool = offload(real, *args)
        kept = app.offloads.kept.get(real.body.id)
        if kept is not None:
            app.offloads._bring_back(kept.message, "it stays")
        return left

    instead(app.offloads, "offload", stay)


def _loses_real(app: CellApp) -> None:
    """An offload is not kept until it is confirmed."""

    def forget(offload: Any, real: Real, *args: Any) -> bool:
        left: bool = offload(real, *args)
        app.offloads.kept.pop(real.body.id, None)
        return left

    instead(app.offloads, "offload", forget)


def _accepts_offloads_twice(app: CellApp) -> None:
    """A second copy of an Offload is handled like the first."""
    instead(app.offloads.answers, "repeat", lambda repeat, source, message: False)
    instead(app.switchboard, "arrive", lambda arrive, packed: arrive(packed) or True)


def _leaves_channel_behind(app: CellApp) -> None:
    """An entity migrates without its channels: without unacknowledged messages, and without what it has read."""

    def packed_bare(before: Any, part: Any) -> bytes:
        packed = msgspec.msgpack.decode(before(part), type=PackedPart)
        return msgspec.msgpack.encode(packed._replace(channels=()))

    instead(app.switchboard, "packed", packed_bare)


def _calls_twice(app: CellApp) -> None:
    """A call is read twice: the second copy is of a generation that no stream has, so it does not count as taken."""

    def letters(before: Any, box: Mailbox, now: float) -> Letters:
        box.inbox[:] = [each for letter in box.inbox for each in (letter, (letter[0], -1, letter[2]))]
        box.inbox_bytes *= 2
        return cast(Letters, before(box, now))

    instead(app.switchboard, "letters", letters)


def _skips_forward(app: CellApp) -> None:
    """Messages for a real that has left are not forwarded: they arrive when they are sent again."""
    instead(app.switchboard.router, "_pass_on", lambda pass_on, *args: None)


def _loses_refused(app: CellApp) -> None:
    """The kept copy of a refused jump is dropped: no CellApp has the entity."""

    def forget(message: OffloadRefused) -> None:
        app.offloads.kept.pop(message.entity, None)

    _changes_received(app, OffloadRefused, forget)


def _ends_reals(app: CellApp) -> None:
    """Now and then a real ends though the game has not destroyed it."""
    looks = count(1)

    def check(before: Any, *args: Any) -> Any:
        if next(looks) % 50 == 0 and app.reals:
            app.core.mark_destroyed(next(iter(app.reals.values())))
        return before(*args)

    instead(app.offloads, "check", check)


# The game.


def _skips_end_hooks(app: CellApp) -> None:
    """Some calls of the hook on_ghost_destroyed are left out."""
    ends = count(1)

    def run(before: Any, body: Any, hook: str, *args: Any, **named: Any) -> Any:
        if hook == "on_ghost_destroyed" and next(ends) % 5 == 0:
            return None
        return before(body, hook, *args, **named)

    instead(app.core, "run", run)


# Teleports.


def _jumps_nowhere(app: CellApp) -> None:
    """A teleport arrives where it began."""

    def stay(to_space: Any, real: Real, space: str, position: Position, *args: Any) -> None:
        to_space(real, real.body.space.name, real.body.position, *args)

    instead(app.teleports, "to_space", stay)


def _jumps_elsewhere(app: CellApp) -> None:
    """A teleport arrives in the middle of the space instead of at its goal."""
    instead(
        app.teleports, "to_space", lambda to_space, real, space, _, *args: to_space(real, space, (0.0, 0.0, 0.0), *args)
    )


# Clients.


def change_messages(app: CellApp, change: Callable[[Real, tuple[bytes, ...]], tuple[bytes, ...]]) -> None:
    """Messages to clients are changed when they are sent."""

    def send_reliable(before: Any, real: Real, payload: bytes) -> None:
        message = REGISTRY.decode_nested(payload)
        assert isinstance(message, ToClient)
        message = msgspec.structs.replace(message, messages=change(real, message.messages))
        before(real, REGISTRY.encode(message))

    instead(app.scheduler, "send_reliable", send_reliable)


def is_kind(message: bytes, kind: int) -> bool:
    return bool(message) and message[0] == kind


def _sends_twice(app: CellApp, *kinds: int) -> None:
    """Messages of these kinds are sent twice."""

    def change(real: Real, messages: tuple[bytes, ...]) -> tuple[bytes, ...]:
        return tuple(each for m in messages for each in (m,) * (2 if any(is_kind(m, kind) for kind in kinds) else 1))

    change_messages(app, change)


def _sends_leave_twice(app: CellApp) -> None:
    """Every leave is sent twice."""
    _sends_twice(app, protocol.ToClient.LEAVE)


def _sends_no_leave(app: CellApp) -> None:
    """No leave is sent."""
    change_messages(app, lambda real, all_: tuple(m for m in all_ if not is_kind(m, protocol.ToClient.LEAVE)))


def _sends_nested_twice(app: CellApp) -> None:
    """Every change inside a property is sent twice."""
    _sends_twice(app, protocol.ToClient.NESTED, protocol.ToClient.SLICE)


def _reuses_alias(app: CellApp) -> None:
    """An alias is given to the next entity before the client has released it."""

    def serve(before: Any, real: Real) -> None:
        before(real)
        witness = witness_of(real)
        if witness is not None:
            aliases = witness.sent.aliases
            for alias in sorted(aliases.resting):
                aliases.release(alias)

    instead(app.scheduler, "serve", serve)


def _drops_seen(app: CellApp) -> None:
    """A witness begins anew in each cell: the client is sent everything again."""
    _changes_witness(app, lambda witness: witness._replace(seen=(), left=()))


def _drops_left(app: CellApp) -> None:
    """The numbers of entities that left a client's area are dropped: a ghost that is behind shows an older state."""

    def serve(before: Any, real: Real) -> None:
        before(real)
        witness = witness_of(real)
        if witness is not None:
            witness.sent.left.clear()

    instead(app.scheduler, "serve", serve)


def _shows_all_again(app: CellApp) -> None:
    """When an entity arrives, its client gets a leave for each entity in its area, and then all of them again."""
    hidden: dict[int, list[int]] = {}

    def land(before: Any, message: Offload) -> Real:
        real: Real = before(message)
        witness = real.witness
        if witness is not None and message.jump is None:
            hidden[message.entity] = [each for each in witness.entities() if not witness.is_withheld(each)]
            for each in hidden[message.entity]:
                witness.withhold(each, True)
        return real

    def serve(before: Any, real: Real) -> None:
        before(real)
        shown = hidden.pop(real.body.id, [])
        if real.witness is not None:
            for each in {*shown} & {*real.witness.entities()}:
                real.witness.withhold(each, False)

    instead(app.offloads, "begin_real", land)
    instead(app.scheduler, "serve", serve)


def _sees_less(app: CellApp) -> None:
    """A witness arrives with half its radius."""
    _changes_witness(app, lambda witness: witness._replace(radius=witness.radius / 2))


def _sent_too_much(app: CellApp) -> None:
    """A witness arrives with higher numbers than its client has."""
    _changes_witness(
        app, lambda witness: witness._replace(seen=tuple(each._replace(sent=each.sent + 1) for each in witness.seen))
    )


def _corrects_no_client(app: CellApp) -> None:
    """A client with a refused position gets no correction."""
    instead(app.moves, "correct", lambda correct, real: app.moves.hold(real))


def _locates_seldom(app: CellApp) -> None:
    """A part is located twice a minute only: the caller of a part that is gone takes so long to end."""
    app.switchboard.limits = ChannelLimits(locate_s=30.0)


CELL_HARMS: dict[str, Harm] = {
    "forget-epoch": _ignores_epochs,
    "apply-early": _applies_early,
    "apply-twice": _applies_twice,
    "miss-steps": _misses_steps,
    "no-tombstone": _no_tombstone,
    "no-snapshot": _no_snapshot,
    "keep-ghosts": _keeps_ghosts,
    "make-no-ghosts": _makes_no_ghosts,
    "forget-past": _makes_ghosts_without_history,
    "hide-next-real": _hides_next_real,
    "keep-real": _keeps_real,
    "lose-real": _loses_real,
    "land-twice": _accepts_offloads_twice,
    "leave-channel-behind": _leaves_channel_behind,
    "call-twice": _calls_twice,
    "skip-forward": _skips_forward,
    "seek-seldom": _locates_seldom,
    "lose-refused": _loses_refused,
    "die-alone": _ends_reals,
    "jump-nowhere": _jumps_nowhere,
    "jump-elsewhere": _jumps_elsewhere,
    "double-leave": _sends_leave_twice,
    "never-leave": _sends_no_leave,
    "stutter": _sends_nested_twice,
    "reuse-alias-at-once": _reuses_alias,
    "forget-seen": _drops_seen,
    "forget-left": _drops_left,
    "flicker": _shows_all_again,
    "see-less": _sees_less,
    "send-too-little": _sent_too_much,
    "forget-timers": lambda app: _packs_without(app, timers=()),
    "early-timers": lambda app: _delays_timers(app, -1.0),
    "late-timers": lambda app: _delays_timers(app, 6.0),
    "forget-controllers": lambda app: _packs_without(app, controllers=()),
    "forget-triggers": lambda app: _packs_without(app, proximities=()),
    "forget-teleport": lambda app: _packs_without(app, teleport=None),
    "forget-pace": lambda app: _packs_without(app, mover=FRESH_MOVER),
    "put-nobody-back": _corrects_no_client,
    "hide-ends": _skips_end_hooks,
    "forget-ghost-apps": lambda app: _packs_without(app, ghost_apps=()),
}


def harmed(harm: Harm) -> Callable[[App], None]:
    def apply(app: App) -> None:
        if isinstance(app, CellApp):
            harm(app)

    return apply


CELL_MUTATIONS: dict[str, Callable[[App], None]] = {name: harmed(harm) for name, harm in CELL_HARMS.items()}
