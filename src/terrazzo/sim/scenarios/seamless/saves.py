"""The next load finds what was confirmed as saved, and nothing older, under all faults (P5).

    BaseApp ──Save──▶ DBApp ──▶ database ──▶ Saved ──▶ BaseApp      the next log-on: database ──▶ DBApp ──▶ proxy

Each record that a BaseApp asks to be saved gets a number, by stored entity. The judge compares

    when a save is confirmed       the database has this record, or a later one
    when a player logs on again    the record that is loaded is the last confirmed one, or a later one
    each record that is saved      growing values (visits, gold) are not less than in any confirmed record
    when the client has its body   the visits are those of the record that was loaded, and one for each client that its
                                   proxy has had since (`kept_proxies.py` keeps proxies); the name is its own
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.cluster.app import App
from terrazzo.db.dbapp import DBApp
from terrazzo.db.memory import MemoryDatabase
from terrazzo.schema.model import EntitySchema, Schema
from terrazzo.schema.record import decode_record
from terrazzo.sim.oracle import Broken, check
from terrazzo.sim.world import World
from terrazzo.sync.view_events import Seen
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import Save, Saved


class Saves:
    """Everything that was saved in one world, by dbid."""

    def __init__(self, world: World, schema: Schema, growing: tuple[str, ...]) -> None:
        """`growing`: properties that only get higher values, as far as a type has them."""
        self.database: MemoryDatabase | None = None
        self.wish = world.rng("saves").choice([0.0, 0.1, 0.4])
        """How often a base part saves itself, when it can."""
        self.confirmed = 0
        self.loads = 0
        """Log-ons after a confirmed save."""
        self._rng = world.rng("when to save")
        self._schema = schema
        self._growing = growing
        self._asked: dict[int, list[bytes]] = {}
        self._safe: dict[int, int] = {}
        """The highest confirmed number."""
        self._least: dict[int, dict[str, int]] = {}
        """The confirmed values of growing properties."""
        self._loaded: dict[int, bytes] = {}
        """The record that a proxy was made of, by entity; a refused attempt makes no proxy."""

    def is_wished(self) -> bool:
        """Whether a base part saves itself now."""
        return bool(self.wish) and self._rng.random() < self.wish

    def watch(self, app: App) -> None:
        """A process has started: BaseApps save, DBApp confirms and loads."""
        if isinstance(app, BaseApp):
            self._watch_base(app)
        elif isinstance(app, DBApp):
            self._watch_db(app)

    def _watch_base(self, app: BaseApp) -> None:
        ask = app.requests.ask

        def asked(
            peer: AppId, message: Message, *, timeout_s: float, then: Callable[[Message], None], failed: Any
        ) -> None:
            if isinstance(message, Save) and message.dbid:
                number, before = self._on_save(message), then

                def confirmed(answer: Message) -> None:
                    if isinstance(answer, Saved):
                        self._on_confirmed(message, number)
                    before(answer)

                then = confirmed
            ask(peer, message, timeout_s=timeout_s, then=then, failed=failed)

        vars(app.requests)["ask"] = asked

    def _watch_db(self, app: DBApp) -> None:
        loaded = app.log_ons._loaded

        def on_loaded(attempt: Any, record: bytes | None) -> None:
            is_claimed = bool(attempt.entity)  # otherwise the player is logged on, and the attempt is refused
            if record is not None and attempt.account is not None and is_claimed:
                self._on_load(attempt.account.name, attempt.account.dbid, record)
                self._loaded[attempt.entity] = record
            loaded(attempt, record)

        vars(app.log_ons)["_loaded"] = on_loaded

    # Checks.

    def _on_save(self, save: Save) -> int:
        records = self._asked.setdefault(save.dbid, [])
        values = _values(self._schema.by_id[save.type_id], save.record)
        for name, least in self._least.get(save.dbid, {}).items():
            what = f"a record with {name} = {values[name]} is saved under {save.dbid}, after {least} was confirmed"
            check(values[name] >= least, "P5", what, save.entity)
        records.append(save.record)
        return len(records) - 1

    def _on_confirmed(self, save: Save, number: int) -> None:
        assert self.database is not None
        stored = self.database.entities.get(save.dbid)
        has = -1 if stored is None else self._number_of(save.dbid, stored[1])
        what = f"record {number} under {save.dbid} is confirmed, and the database has record {has}"
        check(has >= number, "P5", what, save.entity)
        self.confirmed += 1
        self._safe[save.dbid] = max(number, self._safe.get(save.dbid, -1))
        values, least = _values(self._schema.by_id[save.type_id], save.record), self._least.setdefault(save.dbid, {})
        for name in self._growing:
            if name in values:
                least[name] = max(values[name], least.get(name, 0))

    def _on_load(self, name: str, dbid: int, record: bytes) -> None:
        safe, number = self._safe.get(dbid, -1), self._number_of(dbid, record)
        what = f"{name} logs on with record {number} under {dbid}, after record {safe} was confirmed"
        check(number >= safe, "P5", what, name)
        self.loads += safe >= 0

    def check_visit(self, name: str, seen: Seen, came: int) -> Broken | None:
        """A player's client has its body, and its proxy has had `came` clients; returns what is wrong with its
        values."""
        record, visits, called = self._loaded.get(seen.id), seen.state["visits"], seen.state["name"]
        if record is None:
            return Broken("P5", f"{name} has a body, and was never loaded", name)
        values = _values(seen.schema, record)
        if (visits, called) == (values["visits"] + came, name):
            return None
        loaded = f"{name} was loaded after {values['visits']} visits, and {came} clients have come"
        what = f"{loaded}; the client has {called!r} and {visits} visits"
        return Broken("P5", what, name)

    def _number_of(self, dbid: int, record: bytes) -> int:
        """The latest save that had this record; -1 for a record from before."""
        records = self._asked.get(dbid, [])
        return next((number for number in range(len(records) - 1, -1, -1) if records[number] == record), -1)


def _values(schema: EntitySchema, record: bytes) -> dict[str, Any]:
    return decode_record(schema, record)[0]
