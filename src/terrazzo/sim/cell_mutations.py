"""Broken forms of what CellApps do with each other and with clients, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts: the mechanism that it breaks is named in its docstring, and the seamless
scenario must find it out within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import msgspec

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core.real import FRESH_MOVER, Real
from terrazzo.cluster.app import App
from terrazzo.sync import protocol
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
    """This one object does something else under that name; `function` gets what it did before as first argument."""
    before = getattr(thing, name)
    vars(thing)[name] = lambda *args, **named: function(before, *args, **named)


def _hears(app: CellApp, kind: type[Message], change: Callable[[Any], Message | None]) -> None:
    """Messages of this kind come changed, or not at all."""
    handler = app._handlers[kind]

    def hear(source: AppId, message: Message) -> None:
        changed = change(message)
        if changed is not None:
            handler(source, changed)

    app.on(kind, hear)


def _packs(app: CellApp, change: Callable[[Offload], dict[str, Any]]) -> None:
    """What leaves is packed with other fields than it has."""

    def pack(before: Any, *args: Any) -> Offload:
        message: Offload = before(*args)
        return msgspec.structs.replace(message, **change(message))

    instead(app.offloads, "_pack", pack)


def _offloads(app: CellApp, **lost: Any) -> None:
    """What is packed lacks something."""
    _packs(app, lambda message: lost)


def _packs_witness(app: CellApp, change: Callable[[PackedWitness], PackedWitness]) -> None:
    """A witness arrives as another."""
    _packs(app, lambda message: {"witness": None if message.witness is None else change(message.witness)})


def _packs_timers(app: CellApp, later_s: float) -> None:
    """The timers of an entity that moves are due so much later."""
    _packs(app, lambda message: {"timers": tuple(t._replace(seconds=t.seconds + later_s) for t in message.timers)})


# Ghosts.


def _forgets_epoch(app: CellApp) -> None:
    """What is old counts as new: a late creation or deletion undoes a newer one."""
    newest = 1 << 62
    app.receiver.tombstones.is_too_late = lambda entity, epoch: False  # type: ignore[method-assign]
    _hears(app, DeleteGhost, lambda message: msgspec.structs.replace(message, epoch=newest, number=newest, past=None))

    def end(before: Any, source: AppId, message: DeleteGhost) -> None:
        body = app.bodies.get(message.entity)
        if body is not None and body.real is None:
            message = msgspec.structs.replace(message, epoch=body.epoch, number=body.number)
            before(source, message)

    instead(app.receiver, "_end", end)


def _applies_early(app: CellApp) -> None:
    """A step that comes early is taken at once."""

    def hear(message: UpdateGhost) -> UpdateGhost:
        body = app.bodies.get(message.entity)
        if body is not None and body.real is None and message.number > body.number:
            body.number = message.number - 1
        return message

    _hears(app, UpdateGhost, hear)


def _applies_twice(app: CellApp) -> None:
    """A step that is known is taken again."""

    def hear(message: UpdateGhost) -> UpdateGhost:
        body = app.bodies.get(message.entity)
        if body is None or body.real is not None or message.number > body.number:
            return message
        return msgspec.structs.replace(message, number=body.number + 1)

    _hears(app, UpdateGhost, hear)


def _misses_steps(app: CellApp) -> None:
    """Some steps lose what is in them."""
    _hears(app, UpdateGhost, lambda each: msgspec.structs.replace(each, items=()) if each.number % 5 == 0 else each)


def _no_tombstone(app: CellApp) -> None:
    """What ended is forgotten at once."""
    app.receiver.tombstones.add = lambda *args, **named: None  # type: ignore[method-assign]


def _no_snapshot(app: CellApp) -> None:
    """Who asks for a snapshot gets none."""
    _hears(app, WantSnapshot, lambda message: None)


def _keeps_ghosts(app: CellApp) -> None:
    """Deletions are not heard."""
    _hears(app, DeleteGhost, lambda message: None)


def _makes_no_ghosts(app: CellApp) -> None:
    """The ghosts that are needed are not made."""
    _hears(app, CreateGhost, lambda message: None)


def _forgets_past(app: CellApp) -> None:
    """Ghosts are made without what happened lately."""

    def empty(message: CreateGhost) -> CreateGhost:
        past = message.past._replace(floor=message.number, steps=(), stamps=())
        return msgspec.structs.replace(message, past=past)

    _hears(app, CreateGhost, empty)


def _hides_next_real(app: CellApp) -> None:
    """Ghosts do not hear where the real went, and believe no arrival."""
    _hears(app, NextReal, lambda message: None)
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


def _lands_twice(app: CellApp) -> None:
    """A second copy of an offload is taken for a first one."""
    instead(app.offloads.answers, "repeat", lambda repeat, source, message: False)
    instead(app.switchboard, "arrive", lambda arrive, packed: arrive(packed) or True)


def _leaves_channel_behind(app: CellApp) -> None:
    """What the entity has sent and is not acknowledged, and what it has read, is not known at the next home."""

    def packed_bare(before: Any, part: Any) -> bytes:
        packed = msgspec.msgpack.decode(before(part), type=PackedPart)
        return msgspec.msgpack.encode(packed._replace(channels=()))

    instead(app.switchboard, "packed", packed_bare)


def _calls_twice(app: CellApp) -> None:
    """A call is read twice."""
    instead(app.switchboard, "taking", lambda taking, part: (each for each in taking(part) for _ in range(2)))


def _skips_forward(app: CellApp) -> None:
    """What comes for a real that has left is not passed on: it comes when it is sent again."""
    instead(app.switchboard.router, "_pass_on", lambda pass_on, *args: None)


def _loses_refused(app: CellApp) -> None:
    """A jump that is refused is forgotten: nobody has the entity."""

    def forget(message: OffloadRefused) -> None:
        app.offloads.kept.pop(message.entity, None)

    _hears(app, OffloadRefused, forget)


def _dies_alone(app: CellApp) -> None:
    """Now and then a real ends which nobody destroyed."""
    looks = count(1)

    def check(before: Any, *args: Any) -> Any:
        if next(looks) % 50 == 0 and app.reals:
            app.core.mark_destroyed(next(iter(app.reals.values())))
        return before(*args)

    instead(app.offloads, "check", check)


# The game.


def _hides_ends(app: CellApp) -> None:
    """The game does not hear of every copy that ends."""
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
    """A teleport arrives in the middle of the space, wherever it was to go."""
    instead(
        app.teleports, "to_space", lambda to_space, real, space, _, *args: to_space(real, space, (0.0, 0.0, 0.0), *args)
    )


# Clients.


def change_messages(app: CellApp, change: Callable[[Real, tuple[bytes, ...]], tuple[bytes, ...]]) -> None:
    """What a client is told is changed on its way."""

    def tell(before: Any, real: Real, payload: bytes) -> None:
        message = REGISTRY.decode_nested(payload)
        assert isinstance(message, ToClient)
        message = msgspec.structs.replace(message, messages=change(real, message.messages))
        before(real, REGISTRY.encode(message))

    instead(app.scheduler, "tell", tell)


def is_kind(message: bytes, kind: int) -> bool:
    return bool(message) and message[0] == kind


def _tells_twice(app: CellApp, *kinds: int) -> None:
    """Messages of these kinds are told twice."""

    def change(real: Real, messages: tuple[bytes, ...]) -> tuple[bytes, ...]:
        return tuple(each for m in messages for each in (m,) * (2 if any(is_kind(m, kind) for kind in kinds) else 1))

    change_messages(app, change)


def _leaves_twice(app: CellApp) -> None:
    """Every leave is told twice."""
    _tells_twice(app, protocol.ToClient.LEAVE)


def _never_leaves(app: CellApp) -> None:
    """No leave is told."""
    change_messages(app, lambda real, all_: tuple(m for m in all_ if not is_kind(m, protocol.ToClient.LEAVE)))


def _stutters(app: CellApp) -> None:
    """Every change inside a property is told twice."""
    _tells_twice(app, protocol.ToClient.NESTED, protocol.ToClient.SLICE)


def _reuses_alias(app: CellApp) -> None:
    """An alias is given to the next entity before its release was heard."""

    def serve(before: Any, real: Real) -> None:
        before(real)
        witness = witness_of(real)
        if witness is not None:
            aliases = witness.sent.aliases
            for alias in sorted(aliases.resting):
                aliases.release(alias)

    instead(app.scheduler, "serve", serve)


def _forgets_seen(app: CellApp) -> None:
    """A witness begins anew in each cell: the client hears everything again."""
    _packs_witness(app, lambda witness: witness._replace(seen=(), left=()))


def _forgets_left(app: CellApp) -> None:
    """It is not remembered up to where the client has seen what left: a copy that is behind brings it back older."""

    def serve(before: Any, real: Real) -> None:
        before(real)
        witness = witness_of(real)
        if witness is not None:
            witness.sent.left.clear()

    instead(app.scheduler, "serve", serve)


def _flickers(app: CellApp) -> None:
    """Whoever arrives: its client is told that all have left, and they come again."""
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
    """A witness arrives that sees half as far."""
    _packs_witness(app, lambda witness: witness._replace(radius=witness.radius / 2))


def _sent_too_much(app: CellApp) -> None:
    """A witness arrives believing that its client has more than it has."""
    _packs_witness(
        app, lambda witness: witness._replace(seen=tuple(each._replace(sent=each.sent + 1) for each in witness.seen))
    )


def _puts_nobody_back(app: CellApp) -> None:
    """A client that was refused is not told where it is."""
    instead(app.moves, "correct", lambda correct, real: app.moves.hold(real))


def _seeks_seldom(app: CellApp) -> None:
    """Where somebody is, is asked twice a minute: who has called one that is gone takes so long to end."""
    app.switchboard.limits = replace(app.switchboard.limits, locate_s=30.0)


CELL_HARMS: dict[str, Harm] = {
    "forget-epoch": _forgets_epoch,
    "apply-early": _applies_early,
    "apply-twice": _applies_twice,
    "miss-steps": _misses_steps,
    "no-tombstone": _no_tombstone,
    "no-snapshot": _no_snapshot,
    "keep-ghosts": _keeps_ghosts,
    "make-no-ghosts": _makes_no_ghosts,
    "forget-past": _forgets_past,
    "hide-next-real": _hides_next_real,
    "keep-real": _keeps_real,
    "lose-real": _loses_real,
    "land-twice": _lands_twice,
    "leave-channel-behind": _leaves_channel_behind,
    "call-twice": _calls_twice,
    "skip-forward": _skips_forward,
    "seek-seldom": _seeks_seldom,
    "lose-refused": _loses_refused,
    "die-alone": _dies_alone,
    "jump-nowhere": _jumps_nowhere,
    "jump-elsewhere": _jumps_elsewhere,
    "double-leave": _leaves_twice,
    "never-leave": _never_leaves,
    "stutter": _stutters,
    "reuse-alias-at-once": _reuses_alias,
    "forget-seen": _forgets_seen,
    "forget-left": _forgets_left,
    "flicker": _flickers,
    "see-less": _sees_less,
    "send-too-little": _sent_too_much,
    "forget-timers": lambda app: _offloads(app, timers=()),
    "early-timers": lambda app: _packs_timers(app, -1.0),
    "late-timers": lambda app: _packs_timers(app, 6.0),
    "forget-controllers": lambda app: _offloads(app, controllers=()),
    "forget-triggers": lambda app: _offloads(app, proximities=()),
    "forget-teleport": lambda app: _offloads(app, teleport=None),
    "forget-pace": lambda app: _offloads(app, mover=FRESH_MOVER),
    "put-nobody-back": _puts_nobody_back,
    "hide-ends": _hides_ends,
    "forget-haunts": lambda app: _offloads(app, haunts=()),
}


def harmed(harm: Harm) -> Callable[[App], None]:
    def apply(app: App) -> None:
        if isinstance(app, CellApp):
            harm(app)

    return apply


CELL_MUTATIONS: dict[str, Callable[[App], None]] = {name: harmed(harm) for name, harm in CELL_HARMS.items()}
