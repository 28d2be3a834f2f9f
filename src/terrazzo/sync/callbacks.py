"""Which callback of a game's part a change of a property becomes.

    set_<prop>(old)                  it has a new value
    set_nested_<prop>(path, old)     one thing inside it has; the path leads there: field names and list indexes
    set_slice_<prop>(path, old)      some elements of a list inside it were replaced; the path ends with (start, end),
                                     which is where the new ones are now; old is a list of those that were there

A part without the second or third hears of such a change by the first, with the whole value as it was before: a game
that does not care what exactly has changed writes one callback. What is inside a component is told as
set_<component>_<prop>, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo._speed.values import WHOLE, RecordValue, install_element, install_field, install_slice
from terrazzo.schema.changes import Applied

Callback = tuple[str, Callable[..., Any], tuple[Any, ...]]
"""Its name, itself, and its arguments."""


def find_callback(part: object, prop: str, applied: Applied, value: Any) -> Callback | None:
    """What to call for a change of `prop`, which has the value `value` now; None: the part does not care."""
    prop = prop.replace(".", "_")
    name, args = applied.callback(prop)
    function = getattr(part, name, None)
    if function is None and applied.kind != WHOLE:
        name = f"set_{prop}"
        function = getattr(part, name, None)
        if function is not None:
            args = (value_before(value, applied.path, applied.old),)
    return None if function is None else (name, function, args)


def value_before(value: Any, path: tuple[Any, ...], old: Any) -> Any:
    """A free copy of `value` in which the place that `path` leads to is as it was."""
    step, rest = path[0], path[1:]
    if isinstance(step, tuple):
        copy, (start, end) = value.copy(), step
        install_slice(copy, start, end, old)
        return copy
    child = value_before(value[step], rest, old) if rest else old
    if isinstance(value, tuple):
        return (*value[:step], child, *value[step + 1 :])
    copy = value.copy()
    if isinstance(copy, RecordValue):
        install_field(copy, copy._codec.names.index(step), child)
    else:
        install_element(copy, step, child)
    return copy
