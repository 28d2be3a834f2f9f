"""Apps with a broken invariant, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. Every mutation here leaves an app in a state that must not be, and mostly one
that no promise shows until much later, or never: `validation.py` must find it, with the words of the table of tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.entity import BaseEntity
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.db.dbapp import DBApp
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.sim.cell_mutations import instead
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, EntityId
from terrazzo.wire.pairs.cell_cell import Offload, PackedWitness

Harm = Callable[[App], None]


class _Sticky(dict[Any, Any]):
    """A dict from which nothing is removed."""

    def pop(self, key: Any, default: Any = None) -> Any:
        """Leaves the entry where it is."""
        return self.get(key, default)

    def __delitem__(self, key: Any) -> None:
        """Leaves the entry where it is."""


def _arriving_clients(app: App, change: Callable[[PackedWitness], PackedWitness], then: Callable[[Any], None]) -> None:
    """Each witness that arrives is changed before, and after it has begun."""
    if isinstance(app, CellApp):

        def unpack(before: Any, real: Real, packed: PackedWitness | None) -> None:
            before(real, None if packed is None else change(packed))
            witness = witness_of(real)
            if witness is not None:
                then(witness)

        instead(app.clients, "unpack", unpack)


def _rests_a_used_alias(app: App) -> None:
    """An alias of an arriving client names an entity and rests."""

    def rest(witness: Any) -> None:
        record = witness.sent
        for entity in record.sight.entities():
            if record.sight.alias(entity):
                record.aliases.resting.add(record.sight.alias(entity))

    _arriving_clients(app, lambda packed: packed, rest)


def _gives_one_alias_twice(app: App) -> None:
    """Two entities of an arriving client have one alias."""

    def change(packed: PackedWitness) -> PackedWitness:
        first = next((seen.alias for seen in packed.seen if seen.alias), 0)
        return packed._replace(seen=tuple(seen._replace(alias=first) if seen.alias else seen for seen in packed.seen))

    _arriving_clients(app, change, lambda witness: None)


def _awaits_nothing(app: App) -> None:
    """An arriving witness keeps entries without a body, and waits for none of them."""
    _arriving_clients(app, lambda packed: packed, lambda witness: witness._unjudged.clear())


def _describes_nothing(app: App) -> None:
    """Clients have entities that are due, and no update looks at them."""
    if isinstance(app, CellApp):

        def run(before: Any) -> None:
            before()
            for real in app.reals.values():
                witness: Any = witness_of(real)
                if witness is not None:
                    witness.sent._undescribed.clear()

        instead(app.ground, "run", run)


def _keeps_all_copies(app: App) -> None:
    """The copy of a real that left is kept for good."""
    if isinstance(app, CellApp):
        app.offloads.kept = _Sticky()


def _shares_a_bit(app: App) -> None:
    """All ghosts of a real have one bit in the masks of the arrays."""
    if isinstance(app, CellApp):

        def add(before: Any, real: Real, to: AppId) -> Any:
            ghost = before(real, to)
            if ghost is not None:
                ghost.bit = 0
            return ghost

        instead(app.placement, "_add", add)


def _holds_what_follows(app: App) -> None:
    """Steps that were held stay held when the missing one has come."""
    if isinstance(app, CellApp):
        instead(app.receiver, "_advance", lambda before, entity: None)


def _begins_an_epoch_behind(app: App) -> None:
    """A real that arrives counts as one of its former epoch."""
    if isinstance(app, CellApp):

        def begin(before: Any, message: Offload) -> Real:
            real: Real = before(msgspec.structs.replace(message, epoch=message.epoch - 1))
            return real

        instead(app.offloads._arrivals, "begin", begin)


def _follows_itself(app: App) -> None:
    """What is left of a real that has gone counts as a ghost of this very CellApp."""
    if isinstance(app, CellApp):

        def become_ghost(before: Any, real: Real, to: AppId, epoch: int) -> None:
            before(real, to, epoch)
            real.body.real_app = app.me

        instead(app.offloads, "_become_ghost", become_ghost)


def _keeps_sessions(app: App) -> None:
    """The session of a client that was sent away stays with its proxy."""
    if isinstance(app, BaseApp):
        vars(app.sessions)["_proxies"] = _Sticky()


def _returns_used_ids(app: App) -> None:
    """The id of an entity goes back to the stock when the entity is made."""
    if isinstance(app, BaseApp):

        def create(before: Any, data: Any, then: Any, id: EntityId) -> bool:
            vars(app.ids)["_runs"].append((id, 1))
            is_used: bool = before(data, then, id)
            return is_used

        instead(app.factory, "_create", create)


def _unloads_late(app: App) -> None:
    """A stored entity counts as loaded when its base has ended."""
    if isinstance(app, BaseApp):

        def unregister(before: Any, entity: BaseEntity) -> None:
            stored = set(app.factory.stored)
            before(entity)
            vars(app.factory)["_stored"] = stored

        register: Any = app.factory._register

        def make(id: EntityId, data: Any) -> BaseEntity:
            entity: Any = register(id, data)
            instead(entity, "_unregister", unregister)
            return entity  # type: ignore[no-any-return]

        vars(app.factory)["_register"] = make


def keeps_claims(app: App) -> None:
    """The claim of a log-on stays when the log-on has ended."""
    if isinstance(app, DBApp):
        app.log_ons.claiming = _Sticky()


def _counts_answers_as_asked(app: App) -> None:
    """A BaseApp counts as asked for a proxy after it has answered."""
    if isinstance(app, BaseAppMgr):

        def on_answer(before: Any, placement: Any, peer: AppId, known: Any, answer: Any) -> None:
            before(placement, peer, known, answer)
            known.asked += 1

        instead(app, "_on_answer", on_answer)


def _believes_in_versions_to_come(app: App) -> None:
    """A CellApp counts as using the next version of a tree, which does not exist."""
    if isinstance(app, CellAppMgr):

        def on_ready(before: Any, space: Any, peer: AppId, version: int) -> None:
            before(space, peer, version)
            space.members[peer] = space.version + 1

        instead(app._ground, "on_ready", on_ready)


class ForgetsPlaces(Switchboard):
    """The places of peers are dropped while channels refer to them."""

    def on_tick(self) -> None:
        """Drops the place of each part that is not here."""
        super().on_tick()
        for part in [part for part in self.places if part not in self.boxes]:
            del self.places[part]


VALIDATION_MUTATIONS: dict[str, Harm] = {
    "rest-used-alias": _rests_a_used_alias,
    "give-alias-twice": _gives_one_alias_twice,
    "await-nothing": _awaits_nothing,
    "describe-nothing": _describes_nothing,
    "keep-all-copies": _keeps_all_copies,
    "share-a-bit": _shares_a_bit,
    "hold-what-follows": _holds_what_follows,
    "begin-an-epoch-behind": _begins_an_epoch_behind,
    "follow-itself": _follows_itself,
    "keep-sessions": _keeps_sessions,
    "return-used-ids": _returns_used_ids,
    "unload-late": _unloads_late,
    "count-answers-as-asked": _counts_answers_as_asked,
    "believe-in-versions-to-come": _believes_in_versions_to_come,
}
