"""Broken forms of how properties are sent, each with a name (`mutations.py` has the table).

As in `cell_mutations.py`, each is a patch of one CellApp when it starts. The sync scenario must detect each of them
within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from terrazzo._speed.sight import OUTERMOST
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.client.sent import ClientRecord
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.kind import EntityKind
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.schema.indexes import PROPERTY_IDS
from terrazzo.sim.cell_mutations import Harm, change_messages, harmed, instead, is_kind
from terrazzo.sync import protocol
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cell import ClientUpdates


def _kinds(app: CellApp) -> Iterator[EntityKind]:
    for type_id in app.core.game.schema.by_id:
        kind = app.core.kinds.get(type_id)
        assert kind is not None
        yield kind


def _is_change(message: bytes) -> bool:
    ids = PROPERTY_IDS
    is_inside = is_kind(message, protocol.ToClient.NESTED) or is_kind(message, protocol.ToClient.SLICE)
    return is_inside or (bool(message) and ids.first <= message[0] < ids.first + ids.slots)


# The receivers.


def _own_to_others(app: CellApp) -> None:
    """Properties of the own client are sent to all clients that see the entity."""
    for kind in _kinds(app):
        kind.reach = tuple(each._replace(to_others=each.to_others or each.to_own) for each in kind.reach)


def _others_to_own(app: CellApp) -> None:
    """Properties of other clients are sent to the own client, too."""
    for kind in _kinds(app):
        kind.reach = tuple(each._replace(to_own=each.to_own or each.to_others) for each in kind.reach)


def _skips_own_client(app: CellApp) -> None:
    """Properties of all clients are not sent to the own one."""
    for kind in _kinds(app):
        kind.reach = tuple(each._replace(to_own=each.to_own and not each.to_others) for each in kind.reach)


def _sends_hidden(app: CellApp) -> None:
    """Hidden fields of a record are sent to all clients that get the record."""
    for kind in _kinds(app):
        kind.reach = tuple(each._replace(forms=None) for each in kind.reach)


# The values.


def _drops_nested(app: CellApp) -> None:
    """Changes inside a property are not sent."""
    change_messages(app, lambda real, all_: tuple(m for m in all_ if not is_kind(m, protocol.ToClient.NESTED)))


def _drops_loose(app: CellApp) -> None:
    """Unreliable changes are never sent."""

    def send(before: Any, to: AppId, message: Message) -> Any:
        if isinstance(message, ClientUpdates):
            kept = [
                each._replace(messages=tuple(m for m in each.messages if not _is_change(m))) for each in message.read()
            ]
            message = ClientUpdates.of(*kept)
        return before(to, message)

    instead(app.core, "send", send)


def _shuffles(app: CellApp) -> None:
    """Two changes of one step are sent in the wrong order."""

    def swapped(real: object, all_: tuple[bytes, ...]) -> tuple[bytes, ...]:
        told = list(all_)
        for at in range(len(told) - 1):
            if _is_change(told[at]) and _is_change(told[at + 1]):
                told[at], told[at + 1] = told[at + 1], told[at]
                break
        return tuple(told)

    change_messages(app, swapped)


def _merges_late(app: CellApp) -> None:
    """Latest-only changes are merged with the next step: they come after later events."""

    def close_steps(before: Any) -> None:
        late = {real: real._latest for real in app.core.open_steps.values() if real._latest and real.body.number % 2}
        for real in late:
            real._latest = {}
        before()
        for real, latest in late.items():
            real._latest = latest
            app.core.open_steps[real.body.id] = real

    instead(app.steps, "close_all", close_steps)


def _skips_stamps(app: CellApp) -> None:
    """Stamps of changed properties are not set: a client that had the entity before gets no new values of it."""

    def describe(before: Any, body: Body, *args: Any) -> Any:
        body.history._stamps.clear()
        return before(body, *args)

    for kind in _kinds(app):
        instead(kind, "describe", describe)


# The distances.


def _drops_levels(app: CellApp) -> None:
    """Properties of a level of detail are sent at any distance."""
    for kind in _kinds(app):
        kind.reach = tuple(each._replace(manner=each.manner._replace(level=OUTERMOST)) for each in kind.reach)


def _calls_from_afar(app: CellApp) -> None:
    """Calls are sent to all clients that see the entity, at any distance."""
    for kind in _kinds(app):
        kind._call_manners = [each._replace(distance=inf) for each in kind._call_manners]


def _changes_sent_record(app: CellApp, change: Callable[[ClientRecord], None]) -> None:
    """Changes the record of what a client was sent, after each time that the client is served."""

    def serve(before: Any, real: Real) -> None:
        before(real)
        witness = witness_of(real)
        if witness is not None:
            change(witness.sent)

    instead(app.scheduler, "serve", serve)


def _drops_away(app: CellApp) -> None:
    """The numbers at which a client left a level are dropped: it is sent everything of that level again."""
    _changes_sent_record(app, lambda story: story._away.clear())


def _marks_all_as_sent(app: CellApp) -> None:
    """A client that left a level is recorded as up to date: it gets nothing when it comes closer again."""

    def change(story: ClientRecord) -> None:
        for levels in story._away.values():
            levels.update(dict.fromkeys(levels, 1 << 61))

    _changes_sent_record(app, change)


def _sends_no_moves(app: CellApp) -> None:
    """Moves of entities without a volatile position are not sent."""
    for kind in _kinds(app):
        kind.is_eventful = False


SYNC_HARMS: dict[str, Harm] = {
    "own-to-others": _own_to_others,
    "others-to-own": _others_to_own,
    "forget-own": _skips_own_client,
    "tell-hidden": _sends_hidden,
    "drop-nested": _drops_nested,
    "drop-loose": _drops_loose,
    "shuffle-changes": _shuffles,
    "merge-late": _merges_late,
    "skip-stamps": _skips_stamps,
    "drop-levels": _drops_levels,
    "call-from-afar": _calls_from_afar,
    "forget-away": _drops_away,
    "know-all": _marks_all_as_sent,
    "stand-still": _sends_no_moves,
}
SYNC_MUTATIONS: dict[str, Callable[[App], None]] = {name: harmed(harm) for name, harm in SYNC_HARMS.items()}
