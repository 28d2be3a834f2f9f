"""Type sections: the content of <Type>, <of>, <Arg> and of alias.xml becomes a DataType.

    UINT8                                       built in, or the name of an alias
    ARRAY <of> TYPE </of> <size> 4 </size>      also TUPLE; without <size> of any length; persistAsBlob
    FIXED_DICT <Properties> <name> <Type> TYPE </Type> </name> … </Properties>
                                                also CLASS; Parent, AllowNone, implementedBy; a field may have <Flags>,
                                                if it is for fewer than the property is
    USER_TYPE <implementedBy> module.object </implementedBy>

Each may hold a <Default>. Aliases may stand in any order and refer to each other, but not in a ring; the name
of an alias wins over a built-in one. An alias that is wrong is reported once, at its own line, and marked as wrong:
what uses it is left out without a further report. Nothing that a definition names is imported: the caller passes the
classes.

Limits, so that no file can make the engine hang: a type is at most DEPTH_MAX deep and its default value has at most
PARTS_MAX parts; and the elements of an array without size take at least one byte each, else a few bytes from outside
could stand for millions of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from terrazzo.schema.deffiles.defaults import read_default
from terrazzo.schema.deffiles.sections import is_name, read_bool, read_flags, read_length, warn_unknown
from terrazzo.schema.deffiles.xmltree import Element
from terrazzo.schema.flags import FIELD_FLAGS
from terrazzo.schema.report import Report, did_you_mean
from terrazzo.schema.types import (
    BUILT_IN,
    LENGTH_MAX,
    PARTS_MAX,
    DataType,
    Field,
    RecordType,
    SequenceType,
    UserType,
    takes_no_bytes,
)

DEPTH_MAX = 64

_SEQUENCE_TAGS = ("of", "size", "persistAsBlob", "Default")
_RECORD_TAGS = ("Properties", "Parent", "AllowNone", "implementedBy", "TypeName", "Default")
_FIELD_TAGS = ("Type", "Default", "Persistent", "DatabaseLength", "Flags")
_USER_TAGS = ("implementedBy", "Type", "Default")
_BUILDERS = ("ARRAY", "TUPLE", "FIXED_DICT", "CLASS", "USER_TYPE")


class TypeReader:
    """Reads type sections against one set of aliases."""

    def __init__(
        self,
        report: Report,
        *,
        aliases: Mapping[str, DataType] | None = None,
        classes: Mapping[str, type[Any]] | None = None,
    ) -> None:
        self._report = report
        self._classes = classes or {}
        self._sections: dict[str, Element] = {}
        self._resolved: dict[str, DataType | None] = dict(aliases or {})
        self._open: list[str] = []
        self._depth = 0
        self._extents: dict[int, tuple[DataType, int, int]] = {}
        self._aliases_lost = False

    @property
    def aliases(self) -> dict[str, DataType]:
        """The aliases that hold, by name."""
        return {name: found for name, found in self._resolved.items() if found is not None}

    def declare(self, root: Element | None) -> None:
        """Take the aliases of a file, which win over earlier ones. None: the file could not be read."""
        if root is None:
            self._aliases_lost = True
            return
        here: set[str] = set()
        for section in root.children:
            if not is_name(self._report, section, section.tag, "an alias"):
                continue
            if section.tag in here:
                message = f"{section.tag} is declared twice in this file: the later one holds"
                self._report.warn(section.place, "duplicate alias", message, tag=section.tag)
            here.add(section.tag)
            self._sections[section.tag] = section

    def resolve(self) -> None:
        """Read all aliases declared so far, used or not, so that every mistake comes up."""
        for name in self._sections:
            self._alias(name)

    def read(self, section: Element) -> DataType | None:
        """The type that a section with a text describes; None when it is wrong, which was then reported."""
        if self._depth >= DEPTH_MAX:
            self._too_deep(section)
            return None
        self._depth += 1
        try:
            found = self._named(section)
        finally:
            self._depth -= 1
        default = section.child("Default")
        if found is None or default is None:
            return found
        preset = read_default(self._report, found, default)
        return found if preset is None else replace(found, preset=preset)

    def _named(self, section: Element) -> DataType | None:
        name = section.text
        # <BOOL> BOOL </BOOL> is no ring: the alias stands for the built-in type of its name.
        is_itself = bool(self._open) and self._open[-1] == name and (name in BUILT_IN or name in _BUILDERS)
        if (name in self._sections or name in self._resolved) and not is_itself:
            warn_unknown(self._report, section, ("Default",))
            return self._alias(name)
        if name in ("ARRAY", "TUPLE"):
            return self._sequence(section)
        if name in ("FIXED_DICT", "CLASS"):
            return self._record(section)
        if name == "USER_TYPE":
            return self._user(section)
        if name in BUILT_IN:
            warn_unknown(self._report, section, ("Default",))
            return BUILT_IN[name]
        if not self._aliases_lost:
            self._report.error(section.place, "unknown type", self._explain_unknown(name))
        return None

    def _explain_unknown(self, name: str) -> str:
        known = [*BUILT_IN, *_BUILDERS]
        hint = did_you_mean(name, [*known, *self._sections, *self._resolved])
        return (
            f"the type {name} is neither built in nor an alias: declare it in alias.xml or use one of "
            f"{', '.join(known)}{hint}"
        )

    def _alias(self, name: str) -> DataType | None:
        if name in self._resolved:
            return self._resolved[name]
        section = self._sections[name]
        if name in self._open:
            ring = [*self._open[self._open.index(name) :], name]
            message = f"{' is '.join(ring)}: one of them must be a type that does not lead back"
            self._report.error(section.place, "circular alias", message)
            return None
        if not section.text:
            message = f"{name} names no type: write <{name}> TYPE </{name}>"
            self._report.error(section.place, "alias without type", message)
            self._resolved[name] = None
            return None
        self._open.append(name)
        found = self.read(section)
        self._open.pop()
        self._resolved[name] = None if found is None else replace(found, alias=name)
        return self._resolved[name]

    def _sequence(self, section: Element) -> DataType | None:
        warn_unknown(self._report, section, _SEQUENCE_TAGS)
        kind, of = section.text, section.child("of")
        if of is None or not of.text:
            message = f"{kind} needs <of>: write {kind} <of> TYPE </of>"
            self._report.error(section.place, "array without of", message)
            return None
        element = self.read(of)
        size_section = section.child("size")
        size = None if size_section is None else self._size(kind, size_section)
        if element is None or (size_section is not None and size is None):
            return None
        if size is None and takes_no_bytes(element):
            message = (
                f"{element.spell()} takes no bytes, so that nothing bounds how many of them may arrive: "
                f"give the element a field, or the {kind} a <size>"
            )
            self._report.error(of.place, "empty element type", message)
            return None
        as_blob = read_bool(self._report, section, "persistAsBlob") is True
        found = SequenceType(element, size, kind == "TUPLE", persist_as_blob=as_blob)
        return self._within_limits(section, found)

    def _size(self, kind: str, section: Element) -> int | None:
        try:
            size = int(section.text)
        except ValueError:
            size = -1
        if 0 <= size <= LENGTH_MAX:
            return size
        message = f"the size of {kind} is a whole number from 0 to {LENGTH_MAX}, not {section.text!r}"
        self._report.error(section.place, "bad size", message)
        return None

    def _record(self, section: Element) -> DataType | None:
        warn_unknown(self._report, section, _RECORD_TAGS)
        fields = self._parent_fields(section)
        properties = section.child("Properties")
        for each in properties.children if properties else ():
            if not is_name(self._report, each, each.tag, "a field"):
                continue
            found = self._field(each)
            if found is None:
                fields = None
            elif fields is not None:
                fields[found.name] = found
        if fields is None:
            return None
        allow_none, by = section.child("AllowNone"), section.child("implementedBy")
        implemented_by = by.text or None if by else None
        record = RecordType(
            tuple(fields.values()),
            allow_none=allow_none is not None and allow_none.text.lower() == "true",
            implemented_by=implemented_by,
            record_class=self._classes.get(implemented_by or ""),
        )
        return self._within_limits(section, record)

    def _parent_fields(self, section: Element) -> dict[str, Field] | None:
        parent = section.child("Parent")
        if parent is None or not parent.text:
            return {}
        found = self.read(parent)
        if found is None:
            return None
        if not isinstance(found, RecordType):
            message = f"the Parent of a FIXED_DICT is another FIXED_DICT alias, which {parent.text} is not"
            self._report.error(parent.place, "bad parent type", message)
            return None
        return {each.name: each for each in found.fields}

    def _field(self, section: Element) -> Field | None:
        warn_unknown(self._report, section, _FIELD_TAGS)
        type_section = section.child("Type")
        if type_section is None or not type_section.text:
            message = f"the field {section.tag} has no <Type>"
            self._report.error(section.place, "field without type", message)
            return None
        found = self.read(type_section)
        if found is None:
            return None
        default, flags = section.child("Default"), section.child("Flags")
        to = None
        if flags is not None and flags.text:
            to = read_flags(self._report, flags, FIELD_FLAGS)
            if to is None:
                return None
        return Field(
            section.tag,
            found,
            persistent=read_bool(self._report, section, "Persistent") is not False,
            database_length=read_length(self._report, section, "DatabaseLength"),
            default=None if default is None else read_default(self._report, found, default),
            to=to,
        )

    def _user(self, section: Element) -> DataType | None:
        warn_unknown(self._report, section, _USER_TAGS)
        by = section.child("implementedBy")
        if by is None or not by.text:
            message = "USER_TYPE needs <implementedBy>: it names the class behind the bytes"
            self._report.error(section.place, "user type without implementedBy", message)
            return None
        return UserType(by.text, self._classes.get(by.text))

    def _within_limits(self, section: Element, found: DataType) -> DataType | None:
        depth, parts = self._extent(found)
        if depth > DEPTH_MAX:
            self._too_deep(section)
            return None
        if parts > PARTS_MAX:
            message = f"a new value of this type has {parts} parts, more than {PARTS_MAX}: make it smaller"
            self._report.error(section.place, "type too large", message)
            return None
        return found

    def _too_deep(self, section: Element) -> None:
        message = f"types are nested more than {DEPTH_MAX} deep here: make them flatter"
        self._report.error(section.place, "type nested too deeply", message)

    def _extent(self, data_type: DataType) -> tuple[int, int]:
        """How deep a type is and how many parts its default has; remembered, as aliases share parts."""
        known = self._extents.get(id(data_type))
        if known is not None:
            return known[1:]
        depth, parts = 1, 1
        if isinstance(data_type, SequenceType):
            depth, parts = self._extent(data_type.of)
            # A size of zero counts as one: the element is looked at all the same.
            depth, parts = depth + 1, 1 + parts * (data_type.size or 1)
        elif isinstance(data_type, RecordType):
            inner = [self._extent(each.type) for each in data_type.fields]
            depth = 1 + max((each[0] for each in inner), default=0)
            parts = 1 + sum(each[1] for each in inner)
        self._extents[id(data_type)] = (data_type, depth, parts)
        return depth, parts
