"""Reads the settings in the body of a declaration: how entities of the type are seen, sent and saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from terrazzo.schema.classes.declare import SETTINGS, Declaration, PropertyOptions
from terrazzo.schema.classes.reading import warn_of_idle
from terrazzo.schema.classes.sources import Mistake, Sources
from terrazzo.schema.declarations import Declarations
from terrazzo.schema.model import ALWAYS, Compression, DetailLevel, SourcePlace, Volatile

_IDLE = ("temp_properties", "compression", "explicit_database_id")
"""Settings that have no effect yet."""


def read_settings(sources: Sources, cls: type[Declaration], declared: Declarations) -> None:
    """Take over the settings that the class itself makes."""
    for name, value in vars(cls).items():
        if name in SETTINGS and not isinstance(value, PropertyOptions):
            place = sources.body(cls).place(name)
            try:
                _READERS.get(name, _plain)(declared, name, value, place)
                if name in _IDLE and value != getattr(Declaration, name):
                    warn_of_idle(sources, place, f"{cls.__name__}.{name}")
            except Mistake as mistake:
                sources.error(place, mistake.kind, f"{cls.__name__}.{name}: {mistake}")
                declared.is_complete = False


def _plain(declared: Declarations, name: str, value: Any, place: SourcePlace) -> None:
    """A setting that is only yes or no."""
    if not isinstance(value, bool):
        raise Mistake("bad setting", f"it is True or False, not {value!r}")
    if name not in ("server_only", "cell_only"):  # read when the list of types is made
        setattr(declared.settings, name, value)


def _appeal_radius(declared: Declarations, name: str, value: Any, place: SourcePlace) -> None:
    declared.settings.appeal_radius = _metres(value)


def _metres(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise Mistake("bad number", f"it needs metres, zero or more, not {value!r}")
    return float(value)


def _distance(value: Any) -> float | None:
    """True is any distance; False and None are not at all."""
    if value is None or value is False:
        return None
    return ALWAYS if value is True else _metres(value)


def _volatile(declared: Declarations, name: str, value: Any, place: SourcePlace) -> None:
    if not isinstance(value, Volatile):
        raise Mistake("bad setting", f"it is Volatile(position=True, yaw=True) or the like, not {value!r}")
    volatile = Volatile(*map(_distance, (value.position, value.yaw, value.pitch, value.roll)))
    if not volatile.in_order():
        raise Mistake("volatile order", "yaw must reach at least as far as pitch, and pitch as far as roll")
    declared.settings.volatile = volatile


def _detail_levels(declared: Declarations, name: str, value: Any, place: SourcePlace) -> None:
    if not isinstance(value, Sequence) or not all(isinstance(each, DetailLevel) for each in value):
        raise Mistake("bad LoD level", 'it is a list of levels: [level("near", 30), level("far", 200)]')
    reached = -1.0
    for each in value:
        if each.start <= reached:
            raise Mistake(
                "LoD levels out of order",
                f"{each.label} starts at {each.start:g}: a later level starts further out than {reached:g}",
            )
        reached = each.start
        level = replace(each, start=_metres(each.start), hysteresis=_metres(each.hysteresis))
        declared.levels[each.label] = (level, place)


def _temp_properties(declared: Declarations, name: str, value: Any, place: SourcePlace) -> None:
    if isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise Mistake("bad setting", 'it is a tuple of names: ("path", "target")')
    declared.temp_properties.update(dict.fromkeys(value))


def _compression(declared: Declarations, name: str, value: Any, place: SourcePlace) -> None:
    if not isinstance(value, Compression) or not {value.internal, value.external} <= set(range(10)):
        raise Mistake("bad setting", "it is Compression(internal=…, external=…), each 0 (none) to 9")
    declared.settings.internal_compression, declared.settings.external_compression = value.internal, value.external


_READERS: dict[str, Callable[[Declarations, str, Any, SourcePlace], None]] = {
    "appeal_radius": _appeal_radius,
    "volatile": _volatile,
    "detail_levels": _detail_levels,
    "temp_properties": _temp_properties,
    "compression": _compression,
}
