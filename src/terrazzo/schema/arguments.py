"""Checks of what a game passes to the engine: each returns the value in its plain form, or raises a UsageError.

Python code passes numbers that are almost numbers: NaN, `True`, members of an enum, numpy's floats, an id of any size
that a client sent. The engine stores, compares and sends such a value, often long after the call; the wire accepts only
exact `int`, `float` and `str` of a limited range. So the API checks every value and converts it to its plain form, and
the game's own call raises:

    number     an int or a float, or a subclass of them, finite and within bounds    → float
    whole      an int or a subclass (an enum member), within bounds                  → int
    text       a str or a subclass, without lone surrogates, of limited length       → str
    vector     three numbers                                                         → tuple of floats
    entity_id  a whole number that an entity can have                                → int

`True` and `False` are not accepted as numbers: they are usually passed by mistake, with the arguments in the wrong
order. Text is not a number, either. Each check gets the name of method and argument ("timer: seconds"); the error
begins with it.

Properties and the arguments of declared methods have types, and are checked by their codecs (`_speed/codec`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from terrazzo.errors import ValueRejected, shown

ENTITY_ID_MAX = (1 << 31) - 1


def number(value: Any, name: str, *, least: float = -inf, most: float = inf, above: float = -inf) -> float:
    """A finite number of `least` or more, more than `above`, and at most `most`."""
    plain = plain_number(value)
    if plain is None or not (least <= plain <= most and above < plain < inf):
        raise ValueRejected(f"{name} is {_number_words(least, most, above)}, not {shown(value)}")
    return plain


def plain_number(value: Any) -> float | None:
    """The float that an int, a float or a subclass of them stands for; None for anything else, and for an int that is
    too large. Methods that a subclass overrides are not called."""
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(int.__index__(value))
        except OverflowError:
            return None
    return None


def whole(value: Any, name: str, *, least: int, most: int) -> int:
    """A whole number of these bounds."""
    if isinstance(value, int) and not isinstance(value, bool):
        plain = int.__index__(value)
        if least <= plain <= most:
            return plain
    raise ValueRejected(f"{name} is a whole number, {least} … {most}, not {shown(value)}")


def text(value: Any, name: str, *, longest: int) -> str:
    """Text of at most so many characters, which every receiver can read."""
    if not isinstance(value, str):
        raise ValueRejected(f"{name} is text (str), not {shown(value)}")
    plain = str.__str__(value)
    if len(plain) > longest:
        raise ValueRejected(f"{name} is text of at most {longest} characters, not of {len(plain)}")
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise ValueRejected(f"{name} is text without lone surrogates, not {shown(value)}") from None
    return plain


def vector(value: Any, name: str, *, most: float) -> tuple[float, float, float]:
    """Three numbers, each from `-most` to `most`."""
    parts: list[float | None] = []
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray):
        parts = [plain_number(each) for _, each in zip(range(4), value, strict=False)]
    numbers = [each for each in parts if each is not None and -most <= each <= most]
    if len(parts) != 3 or len(numbers) != 3:
        raise ValueRejected(f"{name} is three finite numbers, from {-most:g} to {most:g}, not {shown(value)}")
    return numbers[0], numbers[1], numbers[2]


def entity_id(value: Any, name: str) -> int:
    """The id of an entity, which need not exist."""
    return whole(value, name, least=1, most=ENTITY_ID_MAX)


def _number_words(least: float, most: float, above: float) -> str:
    """What was expected."""
    if -inf < least and most < inf:
        return f"a finite number, {least:g} … {most:g}"
    low = f" above {above:g}" if above > -inf else f" of {least:g} or more" if least > -inf else ""
    high = f"{' and' if low else ' of'} at most {most:g}" if most < inf else ""
    return f"a finite number{low}{high}"
