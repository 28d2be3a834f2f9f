"""A definition tree: entities.xml, alias.xml and the .def files, put together into a schema.

    ROOT/entities.xml                        which entity types there are; the position is the type id
    ROOT/entity_defs/alias.xml, alias_ext.xml
    ROOT/entity_defs/NAME.def                entity types (also what <Parent> names)
    ROOT/entity_defs/interfaces/NAME.def
    ROOT/entity_defs/components/NAME.def

ROOT is the folder given, its `scripts` folder, or, given `entity_defs` itself, the folder around it. Problems
name files relative to ROOT.

Each file is read once. Its declarations, laid together with those of its parent and interfaces, are stored, so that a
ring among them is found once: the reference that closes the ring is reported, and then ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from terrazzo.schema.assembly import assemble
from terrazzo.schema.declarations import Declarations, Reference
from terrazzo.schema.deffiles.deffile import read_def
from terrazzo.schema.deffiles.sections import is_name, pass_over
from terrazzo.schema.deffiles.typesection import TypeReader
from terrazzo.schema.deffiles.xmltree import Element, parse_xml
from terrazzo.schema.model import EntitySchema, SourcePlace
from terrazzo.schema.report import Report

DEFS = "entity_defs"
CHAIN_MAX = 64

_ALIAS_FILES = ("alias.xml", "alias_ext.xml")
_SECTIONS = {"ClientServerEntities": True, "ServerOnlyEntities": False}


@dataclass(frozen=True)
class _Kind:
    """One kind of reference to a file: how messages call it, and the folder."""

    word: str
    ring: str
    folder: str


_PARENT = _Kind("parent", "circular Parent", DEFS)
_INTERFACE = _Kind("interface", "circular Implements", f"{DEFS}/interfaces")
_COMPONENT = _Kind("component", "circular component", f"{DEFS}/components")


class Tree:
    """One tree; `read` gives its entity types, `types` its aliases, `report` what was wrong."""

    def __init__(self, path: Path, classes: Mapping[str, type[Any]] | None = None) -> None:
        self.report = Report()
        self.types = TypeReader(self.report, classes=classes)
        self._root = _find_root(path)
        self._together: dict[str, Declarations | None] = {}
        self._open: list[str] = []
        if self._root is None:
            message = (
                f"this is not a definition tree: there is neither a folder {DEFS} with entities.xml beside "
                "it nor a folder scripts with both"
            )
            self.report.error(SourcePlace(str(path), 0), "not a definition tree", message)

    def read_aliases(self) -> None:
        """Read the alias files."""
        for name in _ALIAS_FILES:
            file = f"{DEFS}/{name}"
            if self._root is not None and (self._root / file).exists():
                self.types.declare(self._xml(file))
        self.types.resolve()

    def read(self) -> list[EntitySchema]:
        """Read everything."""
        if self._root is None:
            return []
        self.read_aliases()
        root = self._xml("entities.xml")
        return [] if root is None else list(self._entities(root))

    def _xml(self, file: str) -> Element | None:
        """A file that is there, as elements; None when it cannot be read, which has then been reported."""
        assert self._root is not None
        try:
            data = (self._root / file).read_bytes()
        except OSError as problem:
            self.report.error(SourcePlace(file, 1), "unreadable file", f"the file cannot be read: {problem.strerror}")
            return None
        return parse_xml(data, file, self.report)

    def _entities(self, root: Element) -> Iterator[EntitySchema]:
        seen: dict[str, SourcePlace] = {}
        type_id = 0
        for element, on_client in self._listed(root):
            if not is_name(self.report, element, element.tag, "an entity type"):
                continue
            type_id += 1
            name = element.tag
            if name in seen:
                message = f"{name} is listed twice, first on line {seen[name].line}: leave one of the two out"
                self.report.error(element.place, "duplicate entity", message)
                continue
            seen[name] = element.place
            file = f"{DEFS}/{name}.def"
            if not self._exists(file):
                message = f"there is no {file}: write it, or take {name} off the list"
                self.report.error(element.place, "missing definition file", message)
                continue
            together = self._lay_together(file)
            if together is not None:
                yield self._entity(name, type_id, on_client, file, together)

    def _listed(self, root: Element) -> Iterator[tuple[Element, bool]]:
        """The entity types in the order of their ids, and whether they have a client part."""
        sections = {tag: root.child(tag) for tag in _SECTIONS}
        if not any(sections.values()):
            yield from ((each, True) for each in root.children)
            return
        for each in root.children:
            if each.tag not in _SECTIONS:
                pass_over(self.report, each, root.tag, _SECTIONS)
        for tag, on_client in _SECTIONS.items():
            section = sections[tag]
            if section is not None:
                yield from ((each, on_client) for each in section.children)

    def _exists(self, file: str) -> bool:
        assert self._root is not None
        try:
            return (self._root / file).exists()
        except OSError:
            # A name that is too long for a file is the name of none.
            return False

    def _lay_together(self, file: str) -> Declarations | None:
        """The declarations of a file with its parent and interfaces; None when the file itself cannot be read."""
        if file in self._together:
            return self._together[file]
        self._open.append(file)
        root = self._xml(file)
        together = None
        if root is not None:
            own = read_def(root, self.report, self.types)
            together = Declarations()
            if own.parent is not None:
                self._absorb(together, own.parent, _PARENT)
            for each in own.interfaces:
                self._absorb(together, each, _INTERFACE)
            together.absorb(own, self.report)
        self._open.pop()
        self._together[file] = together
        return together

    def _absorb(self, together: Declarations, reference: Reference, kind: _Kind) -> None:
        found = self._follow(reference, kind)
        if found is None:
            together.is_complete = False
        else:
            together.absorb(found, self.report)

    def _follow(self, reference: Reference, kind: _Kind) -> Declarations | None:
        file = f"{kind.folder}/{reference.name}.def"
        if file in self._open:
            ring = [Path(each).stem for each in (*self._open[self._open.index(file) :], file)]
            message = f"{', which needs '.join(ring).replace(', which', '', 1)}: take one of these references out"
            self.report.error(reference.place, kind.ring, message)
            return None
        if len(self._open) >= CHAIN_MAX:
            message = f"more than {CHAIN_MAX} files refer to each other in a chain up to {reference.name}"
            self.report.error(reference.place, "chain too long", message)
            return None
        if not self._exists(file):
            message = f"there is no {file}: write it, or take {reference.name} out here"
            self.report.error(reference.place, f"missing {kind.word}", message)
            return None
        return self._lay_together(file)

    def _entity(self, name: str, type_id: int, on_client: bool, file: str, declared: Declarations) -> EntitySchema:
        components = {
            component: found
            for component, reference in declared.components.items()
            if (found := self._follow(reference, _COMPONENT)) is not None
        }
        if len(components) < len(declared.components):
            declared = replace(declared, is_complete=False)
        place = SourcePlace(file, 1)
        return assemble(name, type_id, declared, components, self.report, on_client=on_client, place=place)


def _find_root(path: Path) -> Path | None:
    for root in (path, path / "scripts", path.parent if path.name == DEFS else path):
        if (root / DEFS).is_dir() and (root / "entities.xml").exists():
            return root
    return None
