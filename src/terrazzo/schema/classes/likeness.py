"""Names that Python accepts and that are probably mistakes: a hook or a property that was misspelt.

    def on_reachd(self, …)     error: the engine never calls it, and it has a hook on_reached
    def on_arrived(self)       warning: the engine has no such hook, and the game's own code does not call it either
    self.capturs = 5           warning: a plain attribute that looks like the property captures

Methods `on_…` (of a client part also `set_…`) are called by the engine. One that the game's own code calls, and one
that is `@remote` or `@exposed`, is not checked. Plain attributes are allowed: an attribute that a class declares in its
body (`capturs = 0`, or `capturs: int`) or in `temp_properties` is not checked, nor is a name that begins with `_`.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from terrazzo.schema.classes.annotations import own_annotations
from terrazzo.schema.classes.declare import Declaration, lineage
from terrazzo.schema.classes.names import engine_class, written_classes
from terrazzo.schema.classes.parts import EntityPart, RemoteOptions
from terrazzo.schema.classes.sources import Sources
from terrazzo.schema.model import EntitySchema, Side, SourcePlace

_NEAR = 0.8


def check_likeness(
    sources: Sources, cls: type[Declaration], part: type[EntityPart], entity: EntitySchema, used: set[str]
) -> None:
    """Note what looks misspelt in the classes of a part that the game wrote; `used`: the names that its code uses."""
    engine = engine_class(part._side, part)
    if engine is None:
        return
    for written in written_classes(part, engine):
        if sources.node(written) is not None:
            _check_hooks(sources, written, _hooks(engine, entity), used)
            _check_attributes(
                sources, written, _attributes(cls, part, entity), [each.name for each in entity.properties]
            )


def _hooks(engine: type[EntityPart], entity: EntitySchema) -> set[str]:
    hooks = {name for name in dir(engine) if name.startswith("on_")}
    if engine._side is Side.CLIENT:
        for each in entity.properties:
            hooks |= {f"{prefix}{each.name}" for prefix in ("set_", "set_nested_", "set_slice_")}
    return hooks


def _check_hooks(sources: Sources, cls: type[Any], hooks: set[str], used: set[str]) -> None:
    prefixes = tuple({f"{each.partition('_')[0]}_" for each in hooks})
    for name, value in vars(cls).items():
        is_own = name in used or isinstance(getattr(value, "remote_options", None), RemoteOptions)
        if not name.startswith(prefixes) or name in hooks or is_own or not callable(value):
            continue
        place, near = sources.body(cls).place(name), _nearest(name, hooks)
        if near:
            message = f"the engine has no hook {name}, and would never call {cls.__name__}.{name}: did you mean {near}?"
            sources.error(place, "unknown hook", message)
        elif name.startswith("on_"):
            message = (
                f"nothing calls {cls.__name__}.{name}: the engine has no hook of that name. It has "
                f"{', '.join(sorted(each for each in hooks if each.startswith('on_')))}"
            )
            sources.report.warn(place, "unknown hook", message, subject=message)


def _check_attributes(sources: Sources, cls: type[Any], known: set[str], properties: list[str]) -> None:
    for name, place in _assigned(sources, cls):
        near = "" if name in known or name.startswith("_") else _nearest(name, properties)
        if near:
            message = (
                f"self.{name} is no property; did you mean {near}? If it is an attribute of your own, which no other "
                f"part and no database gets, write {name} = … into the body of {cls.__name__}"
            )
            sources.report.warn(place, "attribute like a property", message, subject=name)


def _attributes(cls: type[Declaration], part: type[EntityPart], entity: EntitySchema) -> set[str]:
    """What a part has by declaration."""
    known = {*dir(part), *(each.name for each in entity.properties), *(name for name, _ in entity.components)}
    for each in part.__mro__:
        known |= own_annotations(each).keys()
    for each in lineage(cls):
        known |= {*each.temp_properties}
    return known


def _assigned(sources: Sources, cls: type[Any]) -> Iterator[tuple[str, SourcePlace]]:
    """The attributes that the methods of a class give to their own object, and where."""
    file, node = sources.body(cls).file, sources.node(cls)
    for method in node.body if node is not None else ():
        if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or not method.args.args:
            continue
        own = method.args.args[0].arg
        for each in ast.walk(method):
            if not isinstance(each, ast.Attribute) or not isinstance(each.ctx, ast.Store):
                continue
            if isinstance(each.value, ast.Name) and each.value.id == own:
                yield each.attr, SourcePlace(file, each.lineno)


def _nearest(name: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)), "")
