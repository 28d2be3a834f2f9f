"""Brings the records of a database in line with a game that has changed.

    the stored layout, the game's layout, the orders ──▶ Migration ── each record ──▶ what it becomes, and a tally
                                                                   ── changes() ──▶ a list for people and programs
    a server's start ──▶ settle: nothing but additions, or no record is concerned ──▶ the game's layout is stored
                                 anything else ──▶ refused, with the command that shows it
    terrazzo migrate ──▶ examine ──▶ the list;   with --apply ──▶ apply: all records in one transaction, or none

The rules:

- *Nothing is lost without being named.* A property, a field of a record or a type that the game does not have any more,
  and a value that does not convert, blocks the migration until `Orders.drops` names it.
- *An addition changes no record.* A property that a record does not have is read as its default, so a server stores the
  new layout by itself. It never rewrites records at its start.
- *A database without a layout*, written by an earlier version of the engine, has what its records have: the names are
  known and the types are not, so a value counts as good when the present type decodes it.

Names are those that are stored: `Avatar`, `Avatar.gold`, and `Avatar.bag.count` for the field of a record, also of
records in a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from terrazzo.db.conversion import converter, lost_fields, renamed_fields
from terrazzo.db.layout import ListRecords, ReadLayout, RewriteRecords, Rewritten, StoredRecord, WriteLayout
from terrazzo.db.store import Database, run
from terrazzo.errors import DecodeError, UsageError, ValueRejected
from terrazzo.schema.model import EntitySchema, Property, Schema
from terrazzo.schema.record import EXTRA_MARK, record_fields, record_of, saved_properties
from terrazzo.schema.report import did_you_mean
from terrazzo.schema.saved_layout import SavedLayout, is_saved, read_form, saved_form, saved_layout
from terrazzo.schema.types import DataType

EXAMPLES_MAX = 5


class ChangeKind(Enum):
    """What happens to a type, a property or a field."""

    NEW_TYPE = "new type"
    NEW_PROPERTY = "new property"
    RENAMED = "renamed"
    CONVERTED = "converted"
    DROPPED = "dropped"
    UNREADABLE = "unreadable"
    """Bytes that are no record: they stay as they are."""


@dataclass(frozen=True)
class LayoutChange:
    """One change between what is stored and the game."""

    kind: ChangeKind
    what: str
    was: str = ""
    becomes: str = ""
    records: int = 0
    """The records that have it."""
    lost: int = 0
    """The records that lose a value by it; of a type: that are deleted."""
    examples: tuple[int, ...] = ()
    """Dbids of some of those."""
    is_allowed: bool = True
    """Whether the orders allow the loss."""
    advice: str = ""
    """What can be done about a loss that is not allowed."""

    @property
    def is_blocked(self) -> bool:
        """Whether nothing can be applied because of it."""
        return self.lost > 0 and not self.is_allowed

    @property
    def rewrites(self) -> bool:
        """Whether it changes records."""
        return self.kind not in (ChangeKind.NEW_TYPE, ChangeKind.NEW_PROPERTY, ChangeKind.UNREADABLE) and (
            self.records > 0 or self.lost > 0
        )


@dataclass(frozen=True)
class Orders:
    """What the operator allows and knows."""

    drops: frozenset[str] = frozenset()
    renames: Mapping[str, str] = field(default_factory=dict)
    """Stored name → present name: Avatar → Hero, Avatar.gold → coins."""


class _PropertyPlan:
    """What becomes of one stored property."""

    def __init__(self, path: str, form: str | None, target: Property | None, renames: Mapping[str, str]) -> None:
        """`form` is None when it is not known."""
        self.path = path
        self.form = form
        self.target = target
        self.new_form = "" if target is None else saved_form(target.type, target.database_length)
        self.records = 0
        self.lost = 0
        self.examples: list[int] = []
        self.old: DataType | None = None
        if target is not None and form is not None and form != self.new_form:
            try:
                self.old = read_form(form)
            except DecodeError:
                return  # of a later engine: as if it were not known
            self._convert = converter(self.old, target.type, path, renames)

    def move(self, dbid: int, data: bytes) -> bytes | None:
        """The present form of a value; None: it is lost."""
        self.records += 1
        moved = None if self.target is None else self._moved(self.target, data)
        if moved is None:
            self.lost += 1
            self.examples += [dbid][: EXAMPLES_MAX - len(self.examples)]
        return moved

    def _moved(self, target: Property, data: bytes) -> bytes | None:
        if self.form == self.new_form:
            return data
        try:
            if self.old is None:
                target.codec.decode(data)
                return data
            return target.codec.encode(target.codec.check(self._convert(self.old.codec.decode(data))))
        except (DecodeError, ValueRejected):
            return None


class _TypePlan:
    """What becomes of the records of one stored type."""

    def __init__(self, name: str, stored: dict[str, str], entity: EntitySchema | None, orders: Orders) -> None:
        self.name = name
        self.entity = entity
        self.records = 0
        self.examples: list[int] = []
        self.properties: dict[str, _PropertyPlan] = {}
        self._stored = stored
        self._orders = orders
        self._present = {} if entity is None else {each.name: each for each in saved_properties(entity)}
        for each in stored:
            self.property(each)

    def property(self, name: str) -> _PropertyPlan:
        """The plan of a stored property."""
        if name not in self.properties:
            path = f"{self.name}.{name}"
            target = self._present.get(self._orders.renames.get(path, name))
            taken = [each.path for each in self.properties.values() if target is not None and each.target is target]
            if taken:
                raise UsageError(f"{path} and {taken[0]} would both become {target.name if target else ''}: rename one")
            self.properties[name] = _PropertyPlan(path, self._stored.get(name), target, self._orders.renames)
        return self.properties[name]

    def rewrite(self, dbid: int, record: bytes) -> bytes:
        """What a record becomes."""
        fields = record_fields(record)
        moved: dict[str, bytes] = {}
        for name, data in fields.items():
            if name.startswith(EXTRA_MARK):
                moved[name] = data
                continue
            plan = self.property(name)
            value = plan.move(dbid, data)
            if value is not None and plan.target is not None:
                moved[plan.target.name] = value
        return record if moved == fields else record_of(moved)

    def new_properties(self) -> list[str]:
        """The saved properties of the game for which nothing is stored."""
        taken = {each.target.name for each in self.properties.values() if each.target is not None}
        return [name for name in self._present if name not in taken]


class Migration:
    """The way from what is stored to what the game saves."""

    def __init__(self, stored: SavedLayout, schema: Schema, orders: Orders) -> None:
        self.layout = saved_layout(schema)
        self.records = 0
        self._stored = stored
        self._orders = orders
        self._entities = {each.name: each for each in schema.entities if is_saved(each)}
        self._unreadable: list[int] = []
        self._types: dict[str, _TypePlan] = {}
        for name in stored:
            self._type(name)

    def _type(self, name: str) -> _TypePlan:
        if name not in self._types:
            entity = self._entities.get(self._orders.renames.get(name, name))
            for other in self._types.values():
                if entity is not None and other.entity is entity:
                    raise UsageError(f"the types {other.name} and {name} would both become {entity.name}: rename one")
            self._types[name] = _TypePlan(name, self._stored.get(name, {}), entity, self._orders)
        return self._types[name]

    def rewrite(self, each: StoredRecord) -> Rewritten | None:
        """What a record becomes, see `layout.Rewrite`; its losses are counted."""
        plan = self._type(each.type_name)
        self.records += 1
        plan.records += 1
        if plan.entity is None:
            plan.examples += [each.dbid][: EXAMPLES_MAX - len(plan.examples)]
            return None
        try:
            return Rewritten(plan.entity.name, plan.rewrite(each.dbid, each.record))
        except DecodeError:
            self._unreadable.append(each.dbid)
            return Rewritten(plan.entity.name, each.record)

    def changes(self) -> list[LayoutChange]:
        """All changes, once every record was rewritten. Raises UsageError for orders that name nothing."""
        found: list[LayoutChange] = []
        for plan in self._types.values():
            found += self._changes_of(plan)
        kept = {each.entity.name for each in self._types.values() if each.entity is not None}
        found += [LayoutChange(ChangeKind.NEW_TYPE, name) for name in self._entities if name not in kept]
        if self._unreadable:
            examples = tuple(self._unreadable[:EXAMPLES_MAX])
            found.append(
                LayoutChange(ChangeKind.UNREADABLE, "records", records=len(self._unreadable), examples=examples)
            )
        self._check_orders(found)
        return found

    def _changes_of(self, plan: _TypePlan) -> list[LayoutChange]:
        name = plan.name
        if plan.entity is None:
            return [
                LayoutChange(
                    ChangeKind.DROPPED,
                    name,
                    records=plan.records,
                    lost=plan.records,
                    examples=tuple(plan.examples),
                    is_allowed=name in self._orders.drops,
                    advice=f"--drop {name} deletes them, and the accounts that log on with them; if the type has "
                    f"another name now: --rename {name}=NAME",
                )
            ]
        found = []
        if plan.entity.name != name:
            found.append(LayoutChange(ChangeKind.RENAMED, name, becomes=plan.entity.name, records=plan.records))
        new = plan.new_properties()
        for each in plan.properties.values():
            found += self._changes_of_property(each, [one for one in new if self._is_like(plan, each, one)])
        for each_name in new:
            form = self.layout[plan.entity.name][each_name]
            found.append(LayoutChange(ChangeKind.NEW_PROPERTY, f"{name}.{each_name}", becomes=form))
        return found

    def _is_like(self, plan: _TypePlan, former: _PropertyPlan, name: str) -> bool:
        return plan.entity is not None and self.layout[plan.entity.name][name] == former.form

    def _changes_of_property(self, each: _PropertyPlan, like: list[str]) -> list[LayoutChange]:
        found = []
        was = each.form or ("" if each.target is None else "unknown")
        if each.target is None:
            name = like[0] if like else "NAME"
            advice = f"--drop {each.path} drops it; if it has another name now: --rename {each.path}={name}"
            return [self._loss(ChangeKind.DROPPED, each, was, "", advice)]
        if each.path.partition(".")[2] != each.target.name:
            found.append(LayoutChange(ChangeKind.RENAMED, each.path, becomes=each.target.name, records=each.records))
        if each.form is None and not each.lost:
            return found
        if each.form != each.new_form or each.form is None:
            advice = f"--drop {each.path} gives these records the default instead"
            found.append(self._loss(ChangeKind.CONVERTED, each, was, each.new_form, advice))
        if each.old is not None:
            renames = self._orders.renames
            for path, name in renamed_fields(each.old, each.target.type, each.path, renames):
                found.append(LayoutChange(ChangeKind.RENAMED, path, becomes=name, records=each.records))
            for path in lost_fields(each.old, each.target.type, each.path, renames):
                advice = f"--drop {path} drops it; if it has another name now: --rename {path}=NAME"
                is_allowed = path in self._orders.drops
                found.append(
                    LayoutChange(
                        ChangeKind.DROPPED, path, records=each.records, lost=each.records, is_allowed=is_allowed,
                        advice=advice,
                    )
                )  # fmt: skip
        return found

    def _loss(self, kind: ChangeKind, each: _PropertyPlan, was: str, becomes: str, advice: str) -> LayoutChange:
        is_allowed = each.path in self._orders.drops
        return LayoutChange(
            kind, each.path, was, becomes, each.records, each.lost, tuple(each.examples), is_allowed, advice
        )  # fmt: skip

    def _check_orders(self, changes: list[LayoutChange]) -> None:
        renamed = {each.what for each in changes if each.kind is ChangeKind.RENAMED}
        for old, new in self._orders.renames.items():
            if old not in renamed:
                raise UsageError(
                    f"--rename {old}={new}: {old} is not stored, or the game has no {new} to take its place"
                )
        droppable = {each.what for each in changes if each.kind in (ChangeKind.DROPPED, ChangeKind.CONVERTED)}
        for each in sorted(self._orders.drops - droppable):
            raise UsageError(f"--drop {each}: nothing of that name would be dropped{did_you_mean(each, droppable)}")


def examine(database: Database, schema: Schema, orders: Orders) -> Migration:
    """Reads all records and works out what they become; changes nothing."""
    migration = Migration(run(database, ReadLayout()), schema, orders)
    after = 0
    while records := run(database, ListRecords(after)):
        for each in records:
            migration.rewrite(each)
        after = records[-1].dbid
    return migration


def apply(database: Database, schema: Schema, orders: Orders) -> tuple[Migration, bool]:
    """Examines the records, and rewrites all of them unless something would be lost that `orders` do not name. Returns
    what was found, and whether it was done."""
    examined = examine(database, schema, orders)
    if any(each.is_blocked for each in examined.changes()):
        return examined, False
    fresh = Migration(run(database, ReadLayout()), schema, orders)
    run(database, RewriteRecords(fresh.rewrite, fresh.layout))
    return examined, True


def settle(database: Database, schema: Schema, command: str) -> list[LayoutChange]:
    """At the start of a server: stores the layout of the game, if the records fit it as they are. UsageError with the
    `command` that shows the changes if they do not. Returns the changes that were made to a stored layout."""
    stored, wanted = run(database, ReadLayout()), saved_layout(schema)
    if stored == wanted:
        return []
    changes: list[LayoutChange] = []
    if stored and _is_extension(stored, wanted):
        changes = Migration(stored, schema, Orders()).changes()
    else:
        changes = examine(database, schema, Orders()).changes()
        in_the_way = [each for each in changes if each.rewrites]
        if in_the_way:
            raise UsageError(_refusal(in_the_way, command))
    run(database, WriteLayout(wanted))
    return changes if stored else []


def _is_extension(stored: SavedLayout, wanted: SavedLayout) -> bool:
    return all(name in wanted and wanted[name].items() >= properties.items() for name, properties in stored.items())


def _refusal(changes: list[LayoutChange], command: str) -> str:
    first = changes[0]
    if first.kind is ChangeKind.DROPPED:
        what = f"{first.what} is stored ({_entities(first.records)}), and the game does not save it any more"
    else:
        what = f"{first.what} is stored as {first.was} ({_entities(first.records)}), and is {first.becomes} in the game"
    more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
    return (
        f"what is stored does not fit this version of the game: {what}{more}. `{command}` shows all of it, and changes "
        f"the records with --apply"
    )


def _entities(count: int) -> str:
    return "1 entity" if count == 1 else f"{count} entities"
