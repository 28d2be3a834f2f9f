"""Broken forms of how apps serve a client and limit its calls, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. The judges are `sim/scenarios/seamless/byte_budget.py`,
`sim/scenarios/seamless/call_rates.py` and `sim/scenarios/seamless/kept_proxies.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.proxy import ProxyEntity
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.errors import DecodeError
from terrazzo.schema.model import Exposed, Side
from terrazzo.sim.cell_mutations import Harm, _changes_witness, harmed, instead
from terrazzo.sync.protocol import ToClient, take_entity
from terrazzo.wire.ids import EntityId, Part, PartId

SAVED_MAX = 1000.0

# The byte budget.


def _serves(app: CellApp, serve: Callable[[Callable[[Real], None], Real], None]) -> None:
    """Replaces how clients are served."""
    instead(app.scheduler, "serve", serve)


def _drops_debts(app: CellApp) -> None:
    """Bytes sent beyond the budget of a client are not owed afterwards."""

    def serve(before: Callable[[Real], None], real: Real) -> None:
        witness = witness_of(real)
        assert witness is not None
        budget = witness.sent.budget
        before(real)
        budget.deficit = min(budget.deficit, 0.0)

    _serves(app, serve)


def _counts_twice(app: CellApp) -> None:
    """Each client is granted the bytes of two ticks in each tick."""

    def serve(before: Callable[[Real], None], real: Real) -> None:
        throttle, app.scheduler.throttle = app.scheduler.throttle, 2 * app.scheduler.throttle
        before(real)
        app.scheduler.throttle = throttle

    _serves(app, serve)


def _saves_without_end(app: CellApp) -> None:
    """Unused bytes of a client are saved without a bound."""
    saved: dict[tuple[int, int], float] = {}

    def serve(before: Callable[[Real], None], real: Real) -> None:
        witness = witness_of(real)
        assert witness is not None
        key, throttle = (real.body.id, witness.number), app.scheduler.throttle
        idle = len(witness.sent.pending) == 0 and witness.sent.budget.deficit < 0
        saved[key] = min(saved.get(key, 0.0) + 1.0, SAVED_MAX) if idle else 0.0
        app.scheduler.throttle = max(throttle, saved[key])
        before(real)
        app.scheduler.throttle = throttle

    _serves(app, serve)


# The calls of a client.


def _makes(app: BaseApp, change: Callable[[ProxyEntity], None]) -> None:
    """Changes each proxy when it is made."""

    def register(before: Any, *args: Any) -> Any:
        entity = before(*args)
        if isinstance(entity, ProxyEntity):
            change(entity)
        return entity

    instead(app.factory, "_register", register)


def _ignores_rates(proxy: ProxyEntity) -> None:
    """A client may call as often as it likes."""
    vars(proxy.mail)["_is_within_rate"] = lambda *_: True


def _halves_rates(proxy: ProxyEntity) -> None:
    """Each call is counted twice."""

    def twice(before: Any, *args: Any) -> bool:
        return bool(before(*args)) and bool(before(*args))

    instead(proxy.mail, "_is_within_rate", twice)


def _resets_rates(proxy: ProxyEntity) -> None:
    """Rates begin anew in each cell."""
    was_at: list[object] = [None]

    def read(before: Any, message: bytes) -> None:
        was_at.append(proxy.cell.where)
        if was_at.pop(0) != was_at[0]:
            proxy.mail._rates.clear()
        before(message)

    instead(proxy.mail, "read", read)


def _exposes_to_all(proxy: ProxyEntity) -> None:
    """A method exposed to the own client can be called by every client that sees the entity."""

    def on_cell_call(before: Any, number: int, body: bytes) -> None:
        entity, data = take_entity(body)
        schema = proxy.schema_of(entity)
        if schema is None or entity == proxy.id:
            before(number, body)
            return
        call = proxy.mail._methods.find(schema, Side.CELL, number, data)
        if call.method.exposed is Exposed.ALL_CLIENTS:
            before(number, body)
            return
        index = schema.methods(Side.CELL).index(call.method)
        proxy.call_cell(PartId(EntityId(entity), Part.CELL), index, call.data, caller=entity)

    instead(proxy.mail, "_on_cell_call", on_cell_call)


def _exposes_unlisted(proxy: ProxyEntity) -> None:
    """A call of a method that is not exposed is passed on, like a call of the server."""

    def on_cell_call(before: Any, number: int, body: bytes) -> None:
        try:
            before(number, body)
        except DecodeError:
            entity, data = take_entity(body)
            index = [each.name for each in proxy.schema.methods(Side.CELL)].index("noted")
            proxy.call_cell(PartId(EntityId(entity), Part.CELL), index, data, caller=0)

    instead(proxy.mail, "_on_cell_call", on_cell_call)


# Clients that come and go.


def _keeps_witness(app: CellApp) -> None:
    """The client of a body is gone, and its witness goes on."""

    def set_witness(before: Any, real: Real, number: int, is_on: bool) -> None:
        if is_on:
            before(real, number, is_on)

    instead(app.clients, "set_witness", set_witness)


def _keeps_sent_record(app: CellApp) -> None:
    """The record of what a client was sent is kept for the next client of the body."""

    def set_witness(before: Any, real: Real, number: int, is_on: bool) -> None:
        if is_on and real.witness is not None:
            real.witness.number = number
        elif is_on:
            before(real, number, is_on)

    instead(app.clients, "set_witness", set_witness)


def _shows_no_player(app: CellApp) -> None:
    """The next client of a body is not sent its own entity."""

    def serve(before: Callable[[Real], None], real: Real) -> None:
        witness = witness_of(real)
        assert witness is not None
        pending = witness.sent.pending
        if witness.number > 1 and pending and pending[0][0] == ToClient.CELL_PLAYER:
            del pending[0]
        before(real)

    _serves(app, serve)


def _skips_detached_hook(app: CellApp) -> None:
    """The hook of a body for the loss of its client is not called."""

    def run(before: Any, body: Any, what: str, *args: Any) -> Any:
        return None if what == "on_client_detached" else before(body, what, *args)

    instead(app.core, "run", run)


def _sends_no_detaching(proxy: ProxyEntity) -> None:
    """A proxy does not send to its body that its client is gone."""

    def say(before: Any, witness: int, *, is_on: bool) -> None:
        if is_on:
            before(witness, is_on=is_on)

    instead(proxy, "_send_witness", say)


def _reuses_number(proxy: ProxyEntity) -> None:
    """The next client of a proxy has the witness number of the one before it."""

    def set_witness(before: Any) -> None:
        is_next = proxy.witness > 0 and proxy.cell.state is CellPartState.THERE and proxy.is_ready
        proxy.witness -= is_next
        before()

    instead(proxy, "begin_witness", set_witness)


def _skips_loss_hook(proxy: ProxyEntity) -> None:
    """The hook of a proxy for the loss of its client is called only once."""

    def run(before: Any, name: str, *args: Any) -> bool:
        return True if name == "on_client_lost" and proxy.witness > 1 else bool(before(name, *args))

    instead(proxy, "run", run)


CLIENT_HARMS: dict[str, Harm] = {
    "forget-deficit": lambda app: _changes_witness(app, lambda packed: packed._replace(deficit=-inf)),
    "forgive-debts": _drops_debts,
    "count-budget-twice": _counts_twice,
    "save-without-end": _saves_without_end,
    "keep-witness": _keeps_witness,
    "go-on-with-story": _keeps_sent_record,
    "show-no-player": _shows_no_player,
    "tell-no-detaching": _skips_detached_hook,
}
PROXY_HARMS: dict[str, Callable[[ProxyEntity], None]] = {
    "ignore-rates": _ignores_rates,
    "halve-rates": _halves_rates,
    "forget-rates": _resets_rates,
    "expose-to-all": _exposes_to_all,
    "expose-unlisted": _exposes_unlisted,
    "send-no-detaching": _sends_no_detaching,
    "reuse-witness-number": _reuses_number,
    "tell-of-no-loss": _skips_loss_hook,
}


def proxied(harm: Callable[[ProxyEntity], None]) -> Callable[[App], None]:
    """A harm of an app, from one of a proxy: it is done to each proxy of a BaseApp."""

    def apply(app: App) -> None:
        if isinstance(app, BaseApp):
            _makes(app, harm)

    return apply


CLIENT_MUTATIONS: dict[str, Callable[[App], None]] = {
    **{name: harmed(harm) for name, harm in CLIENT_HARMS.items()},
    **{name: proxied(proxy_harm) for name, proxy_harm in PROXY_HARMS.items()},
}
