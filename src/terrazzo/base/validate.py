"""The invariants of a BaseApp, as they hold between two events.

each base       has not ended, and has its mailbox here; one that ends has no timers, and neither asks for a cell part
                nor has one that stays
each proxy      has a session exactly while a client is connected or leaves; one that waits for its client has none
                has a session token only while a client is connected or may resume
                has a row in the client table, which has its mailbox and its state
each row        of the client table is that of a proxy that is registered here
each session    belongs to a proxy that is registered here and has this session
each stored     entity that counts as loaded has a base here
each id         in the stock is no base's
"""

from __future__ import annotations

from collections.abc import Iterator

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.cell_part_states import EXISTING, CellPartState
from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.presence_states import CONNECTED, Presence
from terrazzo.base.proxy import ProxyEntity
from terrazzo.wire.entity.validate import violations as switchboard_violations
from terrazzo.wire.invariants import BrokenInvariant, Share, Violations

STAYING = (CellPartState.FINDING, CellPartState.CREATING, CellPartState.THERE)


def violations(app: BaseApp, share: Share) -> Violations:
    """The invariants of this BaseApp that do not hold."""
    for id, base in app.bases.items():
        if share.has(id):
            for what in (*_base(app, id, base), *(_proxy(app, base) if isinstance(base, ProxyEntity) else ())):
                yield BrokenInvariant(id, f"{base} {what}")
    for key, proxy in app.sessions.items():
        if share.has(proxy.id):
            if app.bases.get(proxy.id) is not proxy:
                yield BrokenInvariant(proxy.id, f"session {key} belongs to {proxy}, which is not registered")
            elif proxy.session_key != key:
                yield BrokenInvariant(
                    proxy.id, f"session {key} belongs to {proxy}, which has session {proxy.session_key}"
                )
    for id, row in app.delivery.rows.items():
        owner = app.bases.get(id)
        if share.has(id) and (not isinstance(owner, ProxyEntity) or owner.row is not row):
            yield BrokenInvariant(id, f"the client table has a row of {row.proxy}, which is not registered")
    if share.is_first:
        loaded = {(base.schema.type_id, base.data.dbid) for base in app.bases.values()}
        for type_id, dbid in app.factory.stored - loaded:
            yield BrokenInvariant(0, f"the entity of type {type_id} with dbid {dbid} counts as loaded, and has no base")
        for first, count in app.ids.runs:
            taken = [id for id in app.bases if first <= id < first + count]
            if taken:
                yield BrokenInvariant(taken[0], f"the id of {app.bases[taken[0]]} is in the stock of free ids")
    yield from switchboard_violations(app.switchboard, share)


def _base(app: BaseApp, id: int, base: BaseEntity) -> Iterator[str]:
    if base.id != id:
        yield f"is registered as entity {id}"
    if base.life is BaseLife.GONE:
        yield "has ended, and is registered"
    if not app.switchboard.is_here(base.part_id) or app.switchboard.is_ending(base.part_id):
        yield "has no mailbox here"
    if base.life is not BaseLife.ALIVE and len(base.timers):
        yield "ends, and has timers"
    if base.life is BaseLife.LEAVING and base.cell.state in STAYING:
        yield f"ends, and its cell part is {base.cell.state.value}"


def _proxy(app: BaseApp, proxy: ProxyEntity) -> Iterator[str]:
    has_session = app.sessions.proxy_of(proxy.session_key) is proxy
    if proxy.presence in CONNECTED and not has_session:
        yield f"is {proxy.presence.value}, and has no session"
    if proxy.presence in (Presence.WAITING, Presence.ABSENT, Presence.AWAY, Presence.KEPT) and has_session:
        yield f"is {proxy.presence.value}, and has session {proxy.session_key}"
    if proxy.client.may_resume and proxy.presence not in (*CONNECTED, Presence.AWAY):
        yield f"is {proxy.presence.value}, and has a valid session token"
    row = app.delivery.rows.get(proxy.id)
    if row is None or row is not proxy.row:
        yield "has no row in the client table"
        return
    if not app.switchboard.is_here(proxy.part_id) or row.box is not app.switchboard.mailbox(proxy.part_id):
        yield "has a row in the client table without its mailbox"
    state = proxy.cell.state
    told = (row.is_ready, row.has_cell, row.is_there)
    if told != (proxy.is_ready, state in EXISTING, state is CellPartState.THERE):
        yield f"is {proxy.presence.value}, its cell part is {proxy.cell.state.value}, and its row tells otherwise"
    if (row.session is not None) != has_session:
        yield "has a row in the client table that tells otherwise of its session"
