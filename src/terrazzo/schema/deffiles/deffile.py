"""One .def file: an entity type, an interface or a component by itself, without the files that it refers to.

    <root>
        <Parent> Name </Parent>                     entity_defs/Name.def
        <Implements> <Interface> Name </Interface>  entity_defs/interfaces/Name.def; or <Interfaces>, <Name/>
        <LoDLevels> <level> 30 <label> NEAR </label> <hyst> 5 </hyst> </level> …
        <Properties> …  <ClientMethods> …  <CellMethods> …  <BaseMethods> …
        <Volatile> <position/> <yaw> 80 </yaw> …    empty: at any distance; absent: not volatile
        <Components> <name> Type </name> …          entity_defs/components/Type.def
        and single values: AppealRadius, Persistent, NetworkCompression …

Sections may be in any order in the file; `model` and `declarations` define the order in which they count.
"""

from __future__ import annotations

from terrazzo.schema.declarations import Declarations, Reference
from terrazzo.schema.deffiles.members import MemberReader
from terrazzo.schema.deffiles.sections import is_name, read_bool, read_number, to_number, warn_unknown
from terrazzo.schema.deffiles.typesection import TypeReader
from terrazzo.schema.deffiles.xmltree import Element
from terrazzo.schema.model import ALWAYS, DetailLevel, Side, Volatile
from terrazzo.schema.report import Report

_TAGS = (
    "Parent", "Implements", "Interfaces", "ClientName", "Distribution", "ExplicitDatabaseID", "Persistent",
    "LoDLevels", "Properties", "Volatile", "AppealRadius", "ShouldSendDetailedVolatilePosition",
    "IsManualAoI", "BaseMethods",
    "CellMethods", "ClientMethods", "TempProperties", "Components", "NetworkCompression",
)  # fmt: skip
_ANGLES = ("yaw", "pitch", "roll")
_ZIP_LEVEL = 6


def read_def(root: Element, report: Report, types: TypeReader) -> Declarations:
    """The declarations of the file."""
    return _DefReader(root, report, types).read()


class _DefReader:
    """Reads one file."""

    def __init__(self, root: Element, report: Report, types: TypeReader) -> None:
        self._root = root
        self._report = report
        self._found = Declarations()
        self._members = MemberReader(report, types, self._found)

    def read(self) -> Declarations:
        warn_unknown(self._report, self._root, _TAGS)
        self._warn_of_repeats()
        self._references()
        for tag, reader in (
            ("LoDLevels", self._levels),
            ("Properties", self._members.read_properties),
            ("Volatile", self._volatile),
            ("NetworkCompression", self._compression),
            ("Components", self._components),
        ):
            section = self._root.child(tag)
            if section is not None:
                reader(section)
        for tag, side in (
            ("BaseMethods", Side.BASE),
            ("CellMethods", Side.CELL),
            ("ClientMethods", Side.CLIENT),
        ):
            methods = self._root.child(tag)
            if methods is not None:
                self._members.read_methods(methods, side)
        self._single_values()
        return self._found

    def _warn_of_repeats(self) -> None:
        seen: set[str] = set()
        for each in self._root.children:
            if each.tag in seen and each.tag in _TAGS:
                message = f"<{each.tag}> is there twice, and only the first counts: put both together"
                self._report.warn(each.place, "repeated section", message, tag=each.tag)
            seen.add(each.tag)

    def _references(self) -> None:
        parent = self._root.child("Parent")
        if parent is not None and parent.text and self._is_file_name(parent, parent.text):
            self._found.parent = Reference(parent.text, parent.place)
        for tag in ("Implements", "Interfaces"):
            section = self._root.child(tag)
            for each in section.children if section is not None else ():
                name = each.text or each.tag
                if self._is_file_name(each, name):
                    self._found.interfaces.append(Reference(name, each.place))

    def _is_file_name(self, element: Element, name: str) -> bool:
        """Names become paths, so a name that could lead out of the folder is refused."""
        if is_name(self._report, element, name, "a definition file"):
            return True
        self._found.is_complete = False
        return False

    def _levels(self, section: Element) -> None:
        warn_unknown(self._report, section, ("level",))
        reached = -1.0
        for each in section.all("level"):
            warn_unknown(self._report, each, ("label", "hyst"))
            label, start = each.child("label"), to_number(each.text)
            hysteresis = read_number(self._report, each, "hyst")
            if label is None or not label.text or start is None or start < 0:
                message = "a level is written <level> METRES <label> NAME </label> </level>"
                self._report.error(each.place, "bad LoD level", message)
                self._found.is_complete = False
                continue
            if start <= reached:
                message = f"{label.text} starts at {start:g}: a later level must start further out than {reached:g}"
                self._report.error(each.place, "LoD levels out of order", message)
                self._found.is_complete = False
                continue
            reached = start
            level = DetailLevel(label.text, start, 10.0 if hysteresis is None else hysteresis)
            self._found.levels[label.text] = (level, each.place)

    def _volatile(self, section: Element) -> None:
        warn_unknown(self._report, section, ("position", *_ANGLES))
        volatile = Volatile(**{tag: self._reach(section, tag) for tag in ("position", *_ANGLES)})
        if volatile.in_order():
            self._found.settings.volatile = volatile
            return
        reaches = [-1.0 if reach is None else reach for reach in (volatile.yaw, volatile.pitch, volatile.roll)]
        wrong = section.child("pitch" if reaches[1] > reaches[0] else "roll")
        assert wrong is not None
        message = "yaw must reach at least as far as pitch, and pitch as far as roll: raise the first of the two"
        self._report.error(wrong.place, "volatile order", message)

    def _reach(self, section: Element, tag: str) -> float | None:
        child = section.child(tag)
        if child is None:
            return None
        if not child.text:
            return ALWAYS
        number = to_number(child.text)
        if number is None:
            message = f"<{tag}> is empty (at any distance) or a distance in metres, not {child.text!r}"
            self._report.error(child.place, "bad number", message)
            return ALWAYS
        return None if number < 0 else number

    def _compression(self, section: Element) -> None:
        warn_unknown(self._report, section, ("internal", "external"))
        self._found.settings.internal_compression = self._zip_level(section.child("internal"))
        self._found.settings.external_compression = self._zip_level(section.child("external"))

    def _zip_level(self, section: Element | None) -> int | None:
        if section is None:
            return None
        warn_unknown(self._report, section, ("level",))
        level = section.child("level")
        text = str(_ZIP_LEVEL) if level is None else level.text
        if section.text == "NONE":
            return 0
        if section.text == "ZIP" and text in tuple("123456789"):
            return int(text)
        message = f"<{section.tag}> is NONE, or ZIP with a <level> from 1 to 9"
        self._report.error(section.place, "bad compression", message)
        return None

    def _components(self, section: Element) -> None:
        for each in section.children:
            type_section = each.child("Type")
            kind = each.text or (type_section.text if type_section is not None else "") or each.tag
            warn_unknown(self._report, each, ("Type", "Persistent"))
            if is_name(self._report, each, each.tag, "a component") and self._is_file_name(each, kind):
                self._found.components[each.tag] = Reference(kind, each.place)

    def _single_values(self) -> None:
        settings, root, report = self._found.settings, self._root, self._report
        settings.appeal_radius = read_number(report, root, "AppealRadius")
        settings.is_manual_aoi = read_bool(report, root, "IsManualAoI")
        settings.detailed_volatile_position = read_bool(report, root, "ShouldSendDetailedVolatilePosition")
        settings.persistent = read_bool(report, root, "Persistent")
        settings.explicit_database_id = read_bool(report, root, "ExplicitDatabaseID")
        temporary = root.child("TempProperties")
        for each in temporary.children if temporary is not None else ():
            if is_name(report, each, each.tag, "a property"):
                self._found.temp_properties[each.tag] = None
