"""Terrazzo: one seamless game world, poured from many processes.

All names with which a game declares its entities can be imported from here; `terrazzo.schema.classes.declare` and
`terrazzo.schema.classes.parts` explain the declarations, `terrazzo.schema.classes.hints` the types.
"""

from terrazzo._speed.values import UserValue
from terrazzo.base.api import Base, Proxy, Server
from terrazzo.cell.api.cell import Cell
from terrazzo.client.parts import Client
from terrazzo.errors import (
    CallFailed,
    CallRaised,
    CallTimeout,
    CallUndelivered,
    CreationFailed,
    EntityGone,
    EntityMoved,
    NameTaken,
    StoredFailed,
)
from terrazzo.game import Game, Space
from terrazzo.schema.classes.build import build
from terrazzo.schema.classes.declare import ComponentType, EntityType, Interface, component, level, prop
from terrazzo.schema.classes.hints import (
    Alias,
    Array,
    Blob,
    Bool,
    Float32,
    Float64,
    Guid,
    Int8,
    Int16,
    Int32,
    Int64,
    PlainData,
    SavedAsBlob,
    Size,
    String,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    alias,
)
from terrazzo.schema.classes.package import load_package
from terrazzo.schema.classes.parts import attach, exposed, remote
from terrazzo.schema.classes.records import Record, field
from terrazzo.schema.flags import (
    ALL_CLIENTS,
    BASE,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    CELL_PUBLIC,
    CELL_PUBLIC_AND_OWN,
    EDITOR_ONLY,
    OTHER_CLIENTS,
    OWN_CLIENT,
)
from terrazzo.schema.model import Compression, Exposed, Volatile
from terrazzo.schema.refs import Ref
from terrazzo.schema.vectors import Vector2, Vector3, Vector4

__all__ = [
    "ALL_CLIENTS",
    "BASE",
    "BASE_AND_CLIENT",
    "CELL_PRIVATE",
    "CELL_PUBLIC",
    "CELL_PUBLIC_AND_OWN",
    "EDITOR_ONLY",
    "OTHER_CLIENTS",
    "OWN_CLIENT",
    "Alias",
    "Array",
    "Base",
    "Blob",
    "Bool",
    "CallFailed",
    "CallRaised",
    "CallTimeout",
    "CallUndelivered",
    "Cell",
    "Client",
    "ComponentType",
    "Compression",
    "CreationFailed",
    "EntityGone",
    "EntityMoved",
    "EntityType",
    "Exposed",
    "Float32",
    "Float64",
    "Game",
    "Guid",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Interface",
    "NameTaken",
    "PlainData",
    "Proxy",
    "Record",
    "Ref",
    "SavedAsBlob",
    "Server",
    "Size",
    "Space",
    "StoredFailed",
    "String",
    "Text",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UserValue",
    "Vector2",
    "Vector3",
    "Vector4",
    "Volatile",
    "alias",
    "attach",
    "build",
    "component",
    "exposed",
    "field",
    "level",
    "load_package",
    "prop",
    "remote",
]
