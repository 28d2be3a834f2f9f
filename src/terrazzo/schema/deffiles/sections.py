"""Reads the small things of a section: names, numbers, yes and no; and reports unknown tags.

A number or a yes/no that cannot be read is reported and then ignored, so that the rest of the property is still used. A
tag with a prefix (`xmlns:xsi`, left behind by tools) is never the name of something.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from terrazzo.schema.deffiles.xmltree import Element
from terrazzo.schema.flags import Flags
from terrazzo.schema.report import Report, did_you_mean

_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def warn_unknown(report: Report, section: Element, known: Collection[str]) -> None:
    """Warn of every child with an unknown tag."""
    for child in section.children:
        if child.tag not in known:
            pass_over(report, child, section.tag, known)


def pass_over(report: Report, child: Element, where: str, known: Collection[str] = ()) -> None:
    """Warn that a child is ignored here."""
    hint = did_you_mean(child.tag, known)
    report.warn(
        child.place,
        "unknown tag",
        f"<{child.tag}> means nothing in <{where}>, passed over{hint}",
        tag=child.tag,
    )


def is_name(report: Report, element: Element, name: str, what: str) -> bool:
    """True when the name can be one; else it was reported."""
    if name.isidentifier():
        return True
    if name == element.tag and ":" in name:
        pass_over(report, element, "a list of names")
    else:
        report.error(
            element.place,
            "bad name",
            f"{name!r} is not a name for {what}: use letters, digits and underscores",
        )
    return False


def read_bool(report: Report, section: Element, tag: str) -> bool | None:
    """Yes or no; None where the section does not have it."""
    child = section.child(tag)
    if child is None or not child.text:
        return None
    found = _BOOLEANS.get(child.text.lower())
    if found is None:
        report.warn(child.place, "bad boolean", f"<{tag}> is true or false, not {child.text!r}: passed over", tag=tag)
    return found


def read_flags(report: Report, element: Element, allowed: Iterable[Flags]) -> Flags | None:
    """The flag that a <Flags> names; None when it is none of those, which was then reported."""
    names = [each.name for each in allowed]
    if element.text in names:
        return Flags[element.text]
    hint = did_you_mean(element.text, names)
    message = f"{element.text} is not a property flag: use one of {', '.join(names)}{hint}"
    report.error(element.place, "unknown flag", message)
    return None


def read_number(report: Report, section: Element, tag: str) -> float | None:
    """A number that is not negative; None where the section does not have it."""
    child = section.child(tag)
    if child is None or not child.text:
        return None
    number = to_number(child.text)
    if number is None or number < 0:
        report.error(child.place, "bad number", f"<{tag}> needs a number, zero or more, not {child.text!r}")
        return None
    return number


def to_number(text: str) -> float | None:
    """A finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_length(report: Report, section: Element, tag: str) -> int | None:
    """A whole number above zero; None where the section does not have it."""
    number = read_number(report, section, tag)
    if number is None:
        return None
    if number < 1 or not number.is_integer():
        child = section.child(tag)
        assert child is not None
        report.error(child.place, "bad number", f"<{tag}> needs a whole number above zero, not {child.text!r}")
        return None
    return int(number)


def read_header_size(report: Report, section: Element) -> int:
    """VariableLengthHeaderSize: one to four bytes; one where there is only a WarnLevel, or nothing."""
    child = section.child("VariableLengthHeaderSize")
    if child is None:
        return 1
    warn_unknown(report, child, ("WarnLevel",))
    if child.text in ("", "1", "2", "3", "4"):
        return int(child.text or 1)
    report.warn(
        child.place,
        "bad header size",
        f"VariableLengthHeaderSize is 1 to 4, not {child.text!r}: read as 1",
        tag=child.tag,
    )
    return 1
