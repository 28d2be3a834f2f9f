"""BigWorld definition trees (entities.xml, alias.xml, .def files) read into the schema.

    load_tree(path)       everything: the schema as far as it can be read, all mistakes, all warnings
    load_aliases(path)    only the aliases, by name
    parse_type(text)      one type, written as the inside of <Type>: parse_type("ARRAY<of>COIN</of>", aliases)

Reading order: `xmltree` (bytes to elements with lines), `typesection` and `defaults` (types), `members`
(properties and methods), `deffile` (one file), `declarations` (files laid over each other), `tree` (entity
types).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from terrazzo.errors import DefinitionError
from terrazzo.schema.deffiles.tree import Tree
from terrazzo.schema.deffiles.typesection import TypeReader
from terrazzo.schema.deffiles.xmltree import parse_xml
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import Schema, SourcePlace
from terrazzo.schema.report import Report
from terrazzo.schema.types import DataType

__all__ = ["load_aliases", "load_tree", "parse_type"]

Classes = Mapping[str, type[Any]]
"""The classes of USER_TYPE and FIXED_DICT values, by the text of their <implementedBy>."""


def load_tree(path: str | Path, *, classes: Classes | None = None) -> Loaded:
    """Read a definition tree. Never raises for what is in it: all mistakes are listed in the result."""
    tree = Tree(Path(path), classes)
    schema = Schema(tuple(tree.read()))
    return Loaded(schema, tree.report.errors, tree.report.warnings)


def load_aliases(path: str | Path, *, classes: Classes | None = None) -> dict[str, DataType]:
    """The aliases of a tree by name; those with mistakes are left out."""
    tree = Tree(Path(path), classes)
    tree.read_aliases()
    return tree.types.aliases


def parse_type(text: str, aliases: Mapping[str, DataType] | None = None, *, classes: Classes | None = None) -> DataType:
    """The type written as the inside of a <Type> section; DefinitionError when it is none."""
    report = Report()
    section = parse_xml(f"<Type>{text}</Type>".encode(), "<type>", report)
    found = None
    if section is not None and section.text:
        found = TypeReader(report, aliases=aliases, classes=classes).read(section)
    elif section is not None:
        report.error(SourcePlace("<type>", 1), "missing type", f"{text!r} names no type")
    if found is None or report.errors:
        raise DefinitionError(report.errors)
    return found
