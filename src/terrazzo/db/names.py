"""The names that a new player may have: a profile of Unicode identifiers (UTS 39), so that two names that look the same
are the same, and no name is invisible.

    characters    those with the Identifier_Status Allowed (`name_table.py`), and one blank between two words
    form          NFKC: different encodings of the same letters become one
    length        at most LENGTH_MAX characters in that form, which may be longer than the typed name
    scripts       highly restrictive: one script, or Latin with those of Japanese, Chinese or Korean
    marks         on a letter, at most MARKS_MAX of them, none twice in a row
    digits        of one system

Of the characters that go with every script (digits, hyphen, apostrophe) only those of ASCII are taken: the others are
their look-alikes. A name in one other script is not refused, even if all its letters look like Latin ones.

The profile is applied when an account is created. An existing account keeps its name, even if the profile changes.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import lru_cache

from terrazzo.db.name_table import RANGES

LENGTH_MAX = 32
MARKS_MAX = 4
CHARACTERS_REMEMBERED = 1024
ANY_SCRIPT = frozenset({"Zyyy", "Zinh"})
_EAST_ASIAN = {"Hani": {"Hanb", "Jpan", "Kore"}, "Hira": {"Jpan"}, "Kana": {"Jpan"}, "Hang": {"Kore"}, "Bopo": {"Hanb"}}
"""Writing systems that use several scripts (UTS 39, 5.1)."""
_MIXED = frozenset({"Hanb", "Jpan", "Kore"})


def _rows() -> list[tuple[int, int, frozenset[str]]]:
    rows = []
    for names, ranges in RANGES.items():
        scripts = frozenset(names.split())
        for each in ranges.split():
            first, _, last = each.partition("-")
            rows.append((int(first, 16), int(last or first, 16), scripts))
    return sorted(rows, key=lambda row: row[0])


_ROWS = _rows()
_FIRSTS = [first for first, _, _ in _ROWS]


@lru_cache(CHARACTERS_REMEMBERED)
def scripts_of(character: str) -> frozenset[str] | None:
    """The scripts that use this character; None if no name may have it."""
    code = ord(character)
    at = bisect_right(_FIRSTS, code) - 1
    if at < 0 or code > _ROWS[at][1] or unicodedata.category(character) == "Cf":
        return None
    scripts = _ROWS[at][2]
    return None if "Zyyy" in scripts and code > 127 else scripts


def normal_name(name: str) -> str:
    """The form in which a new name is stored."""
    return unicodedata.normalize("NFKC", name)


def why_not(name: str) -> str:
    """Why no new player may have this name, in words for the player; empty if it is fine. The name is in its normal
    form."""
    words = name.split(" ")
    if len(name) > LENGTH_MAX:
        return f"it has {len(name)} characters when it is written out, and {LENGTH_MAX} are the most"
    if not all(words):
        return "it has a blank at an end, or two in a row"
    letters = "".join(words)
    for character in letters:
        if scripts_of(character) is None:
            shown = f"{character!r} " if character.isprintable() else ""
            return f"the character {shown}(U+{ord(character):04X}) is not a letter, digit, hyphen, dot or underscore"
    if not any(unicodedata.category(each)[0] in "LN" for each in letters):
        return "it has no letter and no digit"
    if any(_has_loose_marks(word) for word in words):
        return "it has accents without a letter, or too many of them"
    if len({ord(each) - unicodedata.decimal(each) for each in letters if each.isdecimal()}) > 1:
        return "it mixes digits of different scripts"
    return "" if _is_one_writing(letters) else "it mixes letters of different scripts, which look alike"


def _has_loose_marks(word: str) -> bool:
    """Marks of a word in its decomposed form, where each stands alone."""
    marks = ""
    for index, each in enumerate(unicodedata.normalize("NFD", word)):
        if unicodedata.category(each) not in ("Mn", "Me"):
            marks = ""
        elif index == 0 or marks.endswith(each) or len(marks) == MARKS_MAX:
            return True
        else:
            marks += each
    return False


def _is_one_writing(letters: str) -> bool:
    sets = [scripts for each in letters if not (scripts := scripts_of(each) or ANY_SCRIPT) & ANY_SCRIPT]
    if not sets or frozenset.intersection(*sets):
        return True
    others = [_writings(scripts) for scripts in sets if "Latn" not in scripts]
    return bool(others) and bool(frozenset.intersection(*others) & _MIXED)


def _writings(scripts: frozenset[str]) -> frozenset[str]:
    return scripts.union(*(_EAST_ASIAN.get(each, set()) for each in scripts))
