"""The callback of a game's part for each kind of change of a property.

    set_<prop>(old)                  the property has a new value
    set_nested_<prop>(path, old)     one child inside it has a new value; the path has field names and list indexes
    set_slice_<prop>(path, old)      elements of a list inside it were replaced; the path ends with (start, end), the
                                     position of the new elements; old is the list of the former ones

If a part does not have the second or third, the first is called for such a change, with the whole value before it: a
game that does not need the details writes one callback. A property of a component has the callback
set_<component>_<prop>, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo._speed.values import WHOLE, RecordValue, install_element, install_field, install_slice
from terrazzo.schema.changes import Applied

Callback = tuple[str, Callable[..., Any], tuple[Any, ...]]
"""The name of a callback, the method, and its arguments."""


def find_callback(part: object, prop: str, applied: Applied, value: Any) -> Callback | None:
    """The callback for a change of `prop`, which has the value `value` now; None: the part has none."""
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
    """A free copy of `value` with the former content at `path`."""
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
