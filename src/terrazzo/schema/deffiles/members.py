"""Property and method sections of a .def file.

A property or method with a mistake in its type is left out, and the rest of the file still counts.
"""

from __future__ import annotations

from terrazzo.schema.declarations import Declarations
from terrazzo.schema.deffiles.defaults import read_default
from terrazzo.schema.deffiles.sections import (
    is_name,
    read_bool,
    read_flags,
    read_header_size,
    read_length,
    read_number,
    warn_unknown,
)
from terrazzo.schema.deffiles.typesection import TypeReader
from terrazzo.schema.deffiles.xmltree import Element
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import Argument, Exposed, Index, Method, Property, Side
from terrazzo.schema.report import Report
from terrazzo.schema.shares import has_shares, sends
from terrazzo.schema.types import DataType, PythonType, RefType, contains

_PROPERTY_TAGS = (
    "Type", "Flags", "Default", "Persistent", "Identifier", "Indexed", "DatabaseLength", "Editable",
    "DetailLevel", "ExposedForReplay", "SendLatestOnly", "IsReliable", "VariableLengthHeaderSize",
)  # fmt: skip
_METHOD_TAGS = (
    "Args", "Arg", "ReturnValues", "Exposed", "DetailDistance", "ReplayExposureLevel", "SendLatestOnly",
    "IsReliable", "VariableLengthHeaderSize",
)  # fmt: skip
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class MemberReader:
    """Reads the properties and methods of one file into its declarations."""

    def __init__(self, report: Report, types: TypeReader, into: Declarations) -> None:
        self._report = report
        self._types = types
        self._into = into

    def read_properties(self, section: Element) -> None:
        """A <Properties> section."""
        for each in section.children:
            if not is_name(self._report, each, each.tag, "a property"):
                continue
            found = self._property(each)
            if found is None:
                continue
            if each.tag in self._into.properties:
                message = f"{each.tag} is declared twice in this file: the later one holds"
                self._report.warn(each.place, "duplicate property", message, tag=each.tag)
            self._into.properties[each.tag] = found

    def _property(self, section: Element) -> Property | None:
        warn_unknown(self._report, section, _PROPERTY_TAGS)
        data_type, flags = self._property_type(section), self._flags(section)
        if data_type is None or flags is None or not self._may_go_to_clients(section, data_type, flags):
            return None
        default, level = section.child("Default"), section.child("DetailLevel")
        if level is not None:
            self._into.detail_places[section.tag] = level.place
        latest_only, reliable = self._delivery(section)
        return Property(
            section.tag,
            data_type,
            flags,
            default=None if default is None else read_default(self._report, data_type, default),
            persistent=read_bool(self._report, section, "Persistent") is True,
            identifier=read_bool(self._report, section, "Identifier") is True,
            indexed=self._index(section),
            database_length=read_length(self._report, section, "DatabaseLength"),
            detail_level=level.text or None if level is not None else None,
            send_latest_only=latest_only,
            is_reliable=reliable,
            header_size=read_header_size(self._report, section),
            editable=read_bool(self._report, section, "Editable") is True,
            exposed_for_replay=read_bool(self._report, section, "ExposedForReplay"),
            place=section.place,
        )

    def _property_type(self, section: Element) -> DataType | None:
        type_section = section.child("Type")
        if type_section is not None and type_section.text:
            return self._types.read(type_section)
        message = f"{section.tag} has no <Type>: write <Type> UINT8 </Type> or the like"
        self._report.error(section.place, "property without type", message)
        return None

    def _flags(self, section: Element) -> Flags | None:
        flags = section.child("Flags")
        if flags is None and section.child("Type") is None:
            # The missing type has been reported: no second problem of the same property.
            return None
        if flags is None or not flags.text:
            message = f"{section.tag} has no <Flags>: write one of {', '.join(Flags.__members__)}"
            self._report.error(section.place, "property without flags", message)
            return None
        return read_flags(self._report, flags, Flags)

    def _may_go_to_clients(self, section: Element, data_type: DataType, flags: Flags) -> bool:
        if not flags.on_client:
            return True
        type_section = section.child("Type")
        assert type_section is not None
        if sends(data_type, flags, RefType):
            message = (
                f"a MAILBOX may not be sent to clients, and {section.tag} is {flags.name}: use CELL_PRIVATE, "
                "CELL_PUBLIC or BASE, or send the entity's id"
            )
            self._report.error(type_section.place, "mailbox in client data", message)
            return False
        if sends(data_type, flags, PythonType):
            message = f"{section.tag} sends PYTHON to clients: a FIXED_DICT has declared fields and is smaller"
            self._report.warn(type_section.place, "python in client data", message)
        return True

    def _index(self, section: Element) -> Index:
        indexed = section.child("Indexed")
        if indexed is None:
            return Index.NONE
        warn_unknown(self._report, indexed, ("Unique",))
        if read_bool(self._report, section, "Indexed") is False:
            return Index.NONE
        if read_bool(self._report, indexed, "Unique"):
            return Index.UNIQUE
        return Index.INDEXED if indexed.text else Index.NONE

    def _delivery(self, section: Element) -> tuple[bool, bool]:
        latest_only = read_bool(self._report, section, "SendLatestOnly") is True
        reliable = read_bool(self._report, section, "IsReliable") is not False
        if not reliable and not latest_only:
            message = (
                f"{section.tag} is not reliable but every change of it is sent, and what is lost stays lost: "
                "add <SendLatestOnly> true </SendLatestOnly>"
            )
            self._report.warn(section.place, "unreliable without SendLatestOnly", message)
        return latest_only, reliable

    def read_methods(self, section: Element, side: Side) -> None:
        """A <ClientMethods>, <CellMethods> or <BaseMethods> section."""
        for each in section.children:
            if not is_name(self._report, each, each.tag, "a method"):
                continue
            found = self._method(each, side)
            if found is not None:
                self._into.add_method(side, found, self._report)

    def _method(self, section: Element, side: Side) -> Method | None:
        warn_unknown(self._report, section, _METHOD_TAGS)
        named = section.child("Args")
        args = self._arguments(section, section.all("Arg") if named is None else named.children, "argument")
        results = section.child("ReturnValues")
        returns = self._arguments(section, [] if results is None else results.children, "return value")
        exposed = Exposed.NO if side is Side.CLIENT else self._exposed(section, side)
        latest_only, reliable = self._delivery(section)
        distance = read_number(self._report, section, "DetailDistance")
        header_size = read_header_size(self._report, section)
        if args is None or returns is None or exposed is None:
            return None
        if side is Side.CLIENT or exposed is not Exposed.NO:
            self._warn_of_arguments(section, args, side)
        return Method(
            section.tag,
            args,
            returns,
            exposed,
            detail_distance=distance,
            send_latest_only=latest_only,
            is_reliable=reliable,
            header_size=header_size,
            place=section.place,
        )

    def _arguments(self, method: Element, sections: list[Element], what: str) -> tuple[Argument, ...] | None:
        found: list[Argument] = []
        has_all = True
        for number, each in enumerate(sections):
            if not each.text:
                which = _ORDINALS[number] if number < len(_ORDINALS) else f"{number + 1}th"
                message = f"the {which} {what} of {method.tag} names no type: write <{each.tag}> TYPE </{each.tag}>"
                self._report.error(each.place, f"{what} without type", message)
                has_all = False
                continue
            data_type = self._types.read(each)
            if data_type is None:
                has_all = False
                continue
            is_named = each.tag != "Arg" and each.tag.isidentifier()
            found.append(Argument(data_type, each.tag if is_named else None))
        return tuple(found) if has_all else None

    def _exposed(self, section: Element, side: Side) -> Exposed | None:
        exposed = section.child("Exposed")
        if exposed is None:
            return Exposed.NO
        if not exposed.text:
            return Exposed.DEFAULT
        allowed = ("OWN_CLIENT", "ALL_CLIENTS") if side is Side.CELL else ("OWN_CLIENT",)
        if exposed.text in allowed:
            return Exposed[exposed.text]
        message = (
            f"{exposed.text} does not allow any client to call {section.tag}: a {side.value} method has an empty "
            f"<Exposed/> or {' or '.join(allowed)}"
        )
        self._report.error(exposed.place, "unknown exposure", message)
        return None

    def _warn_of_arguments(self, section: Element, args: tuple[Argument, ...], side: Side) -> None:
        for each in args:
            if contains(each.type, RefType):
                message = f"{section.tag} passes a MAILBOX to or from clients, which have none: pass the entity's id"
                self._report.warn(section.place, "mailbox in client data", message)
            if side is Side.CLIENT and has_shares(each.type):
                message = (
                    f"{section.tag} sends all of {each.type.spell()}: the <Flags> of its fields are for properties"
                )
                self._report.warn(section.place, "whole record in client call", message)
