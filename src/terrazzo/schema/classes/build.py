"""Puts entity types together from their classes: `build([Avatar, …])` returns the schema and all mistakes.

Each class is read into Declarations: its properties, its settings, and the methods of the parts declared for it. They
are laid over each other as definition files are: the parent with all that is above it, each interface likewise, then
the class itself; a property or method declared again stays where it was.

All mistakes are reported, sorted by file and line. The parts get their descriptors only if there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from terrazzo.errors import UsageError
from terrazzo.schema.assembly import assemble
from terrazzo.schema.classes.declare import (
    ComponentType,
    ComponentUse,
    Declaration,
    EntityType,
    interfaces,
    lineage,
    parents,
)
from terrazzo.schema.classes.likeness import check_likeness
from terrazzo.schema.classes.names import MemberNames, check_code, check_names, engine_class
from terrazzo.schema.classes.parts import EntityPart, bind, held
from terrazzo.schema.classes.reading import read_methods, read_properties
from terrazzo.schema.classes.settings import read_settings
from terrazzo.schema.classes.sources import Sources
from terrazzo.schema.declarations import Declarations, Reference
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import EntitySchema, Method, Schema, Side
from terrazzo.schema.report import Report


def build(entity_classes: Sequence[type[EntityType]], *, root: Path | None = None) -> Loaded:
    """The schema of these entity types, numbered in this order; files in messages are relative to `root`."""
    builder = Builder(Sources(root))
    entities: dict[str, EntitySchema] = {}
    for cls in entity_classes:
        if not (isinstance(cls, type) and issubclass(cls, EntityType)):
            raise UsageError(f"build takes classes derived from EntityType, not {cls!r}")
        place = builder.sources.body(cls).place()
        if cls.__name__ in entities:
            builder.sources.error(place, "duplicate entity", f"there are two entity types {cls.__name__}: rename one")
            continue
        entities[cls.__name__] = builder.entity(cls, len(entities) + 1)
    report = builder.sources.report
    used = builder.sources.used_names()
    for cls in entity_classes:
        for part in (each for side in Side for each in cls._parts[side][:1]):
            check_likeness(builder.sources, cls, part, entities[cls.__name__], used)
    if not report.errors:
        for cls in entity_classes:
            _bind_parts(cls, entities[cls.__name__])
    return Loaded(Schema(tuple(entities.values())), report.errors, report.warnings)


class Builder:
    """Reads each class once, and lays their declarations together."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._together: dict[type[Declaration], Declarations] = {}

    def entity(self, cls: type[EntityType], type_id: int) -> EntitySchema:
        """One entity type, and what is wrong with its parts."""
        used = dict(_components(cls))
        entity = assemble(
            cls.__name__,
            type_id,
            self._lay_together(cls),
            {name: self._lay_together(each) for name, each in used.items()},
            self.sources.report,
            on_client=not cls.server_only,
            place=self.sources.body(cls).place(),
            cell_only=cls.cell_only is True,
        )
        if entity.cell_only:
            self._check_cell_only(cls, entity)
        for again in [each for each in entity.properties if each.identifier][1:]:
            message = (
                f"{entity.name}.{again.name}: only one property is filled with the account's name: leave unique out"
            )
            self.sources.error(again.place, "bad identifier", message)
        places = {name: each.place for name, each in self._lay_together(cls).components.items()}
        for side in (Side.CELL, Side.BASE, Side.CLIENT):
            self._check_parts(cls._parts[side], entity)
            properties = {each.name: each.place for each in held(side, entity)}
            names = (MemberNames(entity.name, "property", properties), MemberNames(entity.name, "component", places))
            self._check_names(cls, side, *names)
            for each in {*used.values()}:
                if each._parts[side]:  # without a class for it a component has its properties, and nothing else
                    inner = {name: prop.place for name, prop in self._lay_together(each).properties.items()}
                    self._check_names(each, side, MemberNames(each.__name__, "property", inner))
        return entity

    def _check_cell_only(self, cls: type[EntityType], entity: EntitySchema) -> None:
        """An entity type without a base part can have nothing that only a base part does."""
        for each in entity.properties:
            if each.flags.value.base or each.persistent:
                why = "is saved, which a base part does" if each.persistent else f"is {each.flags.name}"
                message = f"{entity.name}.{each.name} {why}, and {entity.name} is cell_only: it has no base part"
                self.sources.error(each.place, "cell only", message)
        for part in cls._parts[Side.BASE]:
            message = f"{entity.name} is cell_only: it has no base part; leave out {part.__name__}, or cell_only"
            self.sources.error(self.sources.body(part).place(), "cell only", message)

    def _check_names(self, cls: type[Declaration], side: Side, *names: MemberNames) -> None:
        part = cls._parts[side][0] if cls._parts[side] else None
        engine = engine_class(side, part)
        for named in names:
            check_names(self.sources, engine, part, named)
        if part is not None and engine is not None:
            check_code(self.sources, engine, part)

    def _lay_together(self, cls: type[Declaration]) -> Declarations:
        """The declarations of a class with its parent and interfaces."""
        if cls not in self._together:
            together = Declarations()
            above = parents(cls)
            if len(above) > 1:
                names = " and ".join(each.__name__ for each in above)
                place = self.sources.body(cls).place()
                self.sources.error(place, "two parents", f"{cls.__name__} can descend from one of {names}, not all")
            for each in (*above, *interfaces(cls)):
                self._absorb(together, self._lay_together(each), cls)
            self._absorb(together, self._read(cls), cls)
            self._together[cls] = together
        return self._together[cls]

    def _absorb(self, together: Declarations, later: Declarations, cls: type[Declaration]) -> None:
        for side, methods in later.methods.items():
            for method in methods.values():
                self._add_method(together, side, method, cls)
        # `absorb` only warns of methods that differ: these were noted just now, as mistakes.
        together.absorb(later, Report())

    def _add_method(self, declared: Declarations, side: Side, method: Method, cls: type[Declaration]) -> None:
        """A later one takes the place of the first, and must be the same: only one can be called."""
        known = declared.methods[side].get(method.name, method)
        if known == method:
            declared.methods[side][method.name] = method
            return
        message = (
            f"{cls.__name__} has another {side.value} method {method.name} at {known.place.file}:"
            f"{known.place.line}: give both the same arguments and options, or rename one"
        )
        self.sources.error(method.place, "conflicting method", message)

    def _read(self, cls: type[Declaration]) -> Declarations:
        """The declarations of a class itself."""
        declared = Declarations()
        declared.properties = {each.name: each for each in read_properties(self.sources, cls)}
        for side in Side:
            for part in cls._parts[side]:
                for method in read_methods(self.sources, part):
                    self._add_method(declared, side, method, cls)
        read_settings(self.sources, cls, declared)
        for name, value in vars(cls).items():
            if isinstance(value, ComponentUse):
                self._read_component(cls, name, value.type, declared)
        return declared

    def _read_component(self, cls: type[Declaration], name: str, used: Any, declared: Declarations) -> None:
        place = self.sources.body(cls).place(name)
        if issubclass(cls, ComponentType):
            self.sources.error(place, "nested component", f"{name}: a component has no components of its own")
        elif isinstance(used, type) and issubclass(used, ComponentType):
            declared.components[name] = Reference(used.__name__, place)
        else:
            self.sources.error(place, "missing component", f"{name}: component takes a ComponentType, not {used!r}")

    def _check_parts(self, parts: list[type[EntityPart]], entity: EntitySchema) -> None:
        for each in parts[1:]:
            place = self.sources.body(each).place()
            message = f"{entity.name} has a {each._side.value} part already, {parts[0].__name__}: make it one class"
            self.sources.error(place, "duplicate part", message)
        for part in parts[:1]:
            body = self.sources.body(part)
            for method in entity.methods(part._side):
                if method.component is None and not callable(getattr(part, method.name, None)):
                    message = (
                        f"{part.__name__} lacks {method.name}, which {entity.name} has from "
                        f"{method.place.file}:{method.place.line}: derive from the class there, or define it"
                    )
                    self.sources.error(body.place(), "method without code", message)


def _components(cls: type[Declaration]) -> Iterator[tuple[str, type[ComponentType]]]:
    """The components of an entity type, by name."""
    for declarer in lineage(cls):
        for name, value in vars(declarer).items():
            if (
                isinstance(value, ComponentUse)
                and isinstance(value.type, type)
                and issubclass(value.type, ComponentType)
            ):
                yield name, value.type


def _bind_parts(cls: type[EntityType], entity: EntitySchema) -> None:
    """Give the parts of an entity type its properties."""
    for side in Side:
        views = {name: each._parts[side][0] for name, each in _components(cls) if each._parts[side]}
        for part in cls._parts[side]:
            bind(part, entity, views)
