"""The names of a part: which ones the engine uses, and which of these a game may define.

    class HeroCell(Cell, of=Hero):        Cell and what it derives from are the engine's (`engine=True`)
        def on_timer(self, number): ...   a hook: the game's to define, with the arguments that the engine gives it; as
                                          an async def, too, unless the engine needs its answer
        def follow(self): ...             taken: the engine's own code would meet the game's method
        _walk = 5                         taken as well, for the same reason

A property or component is an attribute of the part, too, and so may not have such a name either; this also holds for a
part without a class of the game, which is then the engine's own class.

The engine's classes register themselves when they are created, since their packages are above this one.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from terrazzo.schema.classes.annotations import own_annotations
from terrazzo.schema.classes.parts import ComponentAccess, Elsewhere, EntityPart, PropertyAccess
from terrazzo.schema.classes.sources import Sources
from terrazzo.schema.model import Side, SourcePlace

_OURS = (PropertyAccess, ComponentAccess, Elsewhere)
_SET_ON_EVERY_PART = frozenset({"_of", "_entity"})


class MemberNames(NamedTuple):
    """Things of one sort that will be attributes of a part."""

    of: str
    what: str
    places: dict[str, SourcePlace]
    """Where each is declared."""


def check_names(
    sources: Sources, engine: type[EntityPart] | None, part: type[EntityPart] | None, named: MemberNames
) -> None:
    """Note the properties and components of a part that have a name which is taken, by the engine or by the game."""
    if engine is not None:
        for name, place in named.places.items():
            if _has(engine, name):
                message = f"{name} is a name of the engine's {engine.__name__}: call the {named.what} something else"
                sources.report.error(place, "name taken", message, subject=name)  # once, though two parts have it
    for cls in () if part is None else written_classes(part, engine):
        for name in vars(cls).keys() & named.places.keys():
            if not isinstance(vars(cls)[name], _OURS):
                message = f"{cls.__name__}.{name} hides the {named.what} {name} of {named.of}: rename one of them"
                sources.error(sources.body(cls).place(name), "name taken", message)


def check_code(sources: Sources, engine: type[EntityPart], part: type[EntityPart]) -> None:
    """Note each name of the engine that a class of the game hides, and hooks that cannot be called as the engine
    does."""
    for cls in written_classes(part, engine):
        for name, value in vars(cls).items():
            if name.startswith("__") or name in _SET_ON_EVERY_PART or isinstance(value, _OURS):
                continue
            if not _has(engine, name):
                continue
            place = sources.body(cls).place(name)
            if not is_hook(name):
                message = (
                    f"{cls.__name__}.{name} hides {name} of the engine's {engine.__name__}: call it something else"
                )
                sources.error(place, "name taken", message)
            elif not _takes(value, getattr(engine, name)):
                wanted = ", ".join(inspect.signature(getattr(engine, name)).parameters)
                message = f"the engine calls {name}({wanted}): define {cls.__name__}.{name} with these arguments"
                sources.error(place, "bad hook", message)
            elif inspect.iscoroutinefunction(value) and _answers(getattr(engine, name)):
                message = f"the engine needs the answer of {cls.__name__}.{name} at once: write def, not async def"
                sources.error(place, "bad hook", message)


def engine_class(side: Side, part: type[EntityPart] | None) -> type[EntityPart] | None:
    """The engine's class that a part derives from, or that stands for one that a game did not write; None for a part
    that is bare."""
    if part is not None:
        return next((each for each in part.__mro__ if each in EntityPart._engines), None)
    # Of Base and Proxy it is Proxy: a type without a class of its own may be what players log in as.
    return next((each for each in reversed(EntityPart._engines) if each._side is side), None)


def is_hook(name: str) -> bool:
    """Whether a name of the engine's is there for games to define."""
    return name.startswith("on_")


def _has(engine: type[EntityPart], name: str) -> bool:
    return any(name in vars(each) for each in engine.__mro__)


def written_classes(part: type[EntityPart], engine: type[EntityPart] | None) -> Iterator[type[Any]]:
    """The classes of a part that the game wrote."""
    ours = (EntityPart if engine is None else engine).__mro__
    return (each for each in part.__mro__ if each not in ours and each not in EntityPart._engines)


def _answers(hook: Any) -> bool:
    return own_annotations(hook).get("return") not in (None, "None")


def _takes(given: Any, hook: Any) -> bool:
    """Whether a hook can be called with what the engine gives it."""
    if not callable(given):
        return False
    try:
        inspect.signature(given).bind(*inspect.signature(hook).parameters)
    except (TypeError, ValueError):
        return False
    return True
