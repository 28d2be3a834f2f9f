"""Values that Python code may well pass where a number, an id, text or a place is wanted, and that are almost that."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, NoReturn

NUMBER = 3


class IntLike(int):
    """As a library's own integer may be."""


class FloatLike(float):
    """As numpy's float64 is: a float, and not exactly one."""

    def __repr__(self) -> str:
        return f"like64({float(self)})"


class StrLike(str):
    __slots__ = ()


class Rank(IntEnum):
    THIRD = 3


class Word(str, Enum):  # noqa: UP042  # str() of it is not its value
    PLAIN = "plain"


class Unwilling(int):
    """An object with methods that raise."""

    def _fail(self, *_: object) -> NoReturn:
        raise RuntimeError("not this one")

    __repr__ = __str__ = __index__ = __int__ = __float__ = _fail


ODD: dict[str, Any] = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "a float of a library": FloatLike(3.5),
    "nan of a library": FloatLike("nan"),
    "True": True,
    "False": False,
    "an int of a library": IntLike(NUMBER),
    "an enum member": Rank.THIRD,
    "an unwilling int": Unwilling(NUMBER),
    "0": 0,
    "-1": -1,
    "2**16": 2**16,
    "2**31": 2**31,
    "2**40": 2**40,
    "10**20": 10**20,
    "10**30": 10**30,
    "10**400": 10**400,
    "10**5000": 10**5000,
    "1e300": 1e300,
    "-0.0": -0.0,
    "5e-324": 5e-324,
    "text of a number": "3",
    "a lone surrogate": "a\ud800",
    "a zero byte": "a\0b",
    "long text": "x" * 300_000,
    "text of a library": StrLike("plain"),
    "a text enum": Word.PLAIN,
    "bytes": b"3",
    "None": None,
    "a list": [1, 2],
    "a point": (-30.0, 0.0, 5.0),
    "a point of a library": (FloatLike(-30.0), IntLike(0), FloatLike(5.0)),
    "a point with nan": (float("nan"), 0.0, 0.0),
    "a point of text": ("1", "2", "3"),
    "a point too far": (1e30, 0.0, 0.0),
    "a complex number": 3j,
    "an object": object(),
    "a class": int,
}
"""By what they are called in a report."""
