"""Small definition trees for the tests: how to write them, and how to read the result."""

from __future__ import annotations

from pathlib import Path

from terrazzo.errors import Problem
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import EntitySchema

PLAIN = "<hp><Type>UINT8</Type><Flags>ALL_CLIENTS</Flags></hp>"


def prop(name: str, data_type: str = "UINT8", flags: str = "ALL_CLIENTS", rest: str = "") -> str:
    return f"<{name}><Type>{data_type}</Type><Flags>{flags}</Flags>{rest}</{name}>"


def properties(*found: str) -> str:
    return f"<root><Properties>{''.join(found)}</Properties></root>"


def write_tree(root: Path, files: dict[str, str | bytes]) -> Path:
    """Files by path below entity_defs, or with / beside it. Every top-level .def is listed."""
    listed = "".join(f"<{Path(name).stem}/>" for name in files if name.endswith(".def") and "/" not in name)
    for name, content in {"/entities.xml": f"<root>{listed}</root>", **files}.items():
        path = root / name[1:] if name.startswith("/") else root / "entity_defs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def told(problems: list[Problem]) -> list[tuple[str, int, str]]:
    return [(each.file, each.line, each.kind) for each in problems]


def names(things) -> list[str]:
    return [each.name for each in things]


def clean(loaded: Loaded, name: str = "Barrel") -> EntitySchema:
    assert loaded.errors == []
    assert loaded.warnings == []
    return loaded.schema[name]
