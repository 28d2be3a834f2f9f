"""Reasons for people: an enum of short names with a sentence each, and how their counts are shown."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar


class Sentence(Enum):
    """Members are written `NAME = "short name", "One sentence."`."""

    sentence: str

    def __new__(cls, value: str, sentence: str) -> Sentence:
        """Stores the sentence in the member."""
        made = object.__new__(cls)
        made._value_ = value
        made.sentence = sentence
        return made


S = TypeVar("S", bound=Sentence)


def is_logged(count: int) -> bool:
    """Whether the refusal with this number is logged: 1, 2, 4, 8 …, so that clients cannot fill the disk with them."""
    return count & (count - 1) == 0


def describe_refusals(door: str, counts: Mapping[S, int]) -> list[dict[str, Any]]:
    """The refusals of a door, as plain data for a console."""
    return [
        {"door": door, "reason": why.value, "count": count, "sentence": why.sentence}
        for why, count in counts.items()
        if count
    ]
