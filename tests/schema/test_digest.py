"""The digest changes when, and only when, what a client must agree on changes."""

from dataclasses import replace
from typing import Any

import pytest

from terrazzo.schema import types as t
from terrazzo.schema.digest import digest
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import (
    Argument,
    Compression,
    DetailLevel,
    EntitySchema,
    Exposed,
    Index,
    Method,
    Property,
    Schema,
    Volatile,
)
from tests.schema.golden import tree

ITEM = t.RecordType((t.Field("kind", t.UINT32), t.Field("count", t.UINT16)), alias="ITEM")
AVATAR = EntitySchema(
    "Avatar",
    1,
    properties=(
        Property("name", t.UNICODE_STRING, Flags.ALL_CLIENTS),
        Property("bag", t.SequenceType(ITEM), Flags.OWN_CLIENT),
        Property("debt", t.INT32, Flags.BASE_AND_CLIENT),
        Property("secret", t.INT32, Flags.CELL_PRIVATE),
    ),
    client_methods=(Method("on_hurt", (Argument(t.INT16, "amount"),)),),
    cell_methods=(Method("hit", (Argument(t.INT32),), exposed=Exposed.OWN_CLIENT), Method("think")),
    base_methods=(Method("shop", (Argument(ITEM),), exposed=Exposed.DEFAULT),),
)
VAULT = EntitySchema("Vault", 2, properties=(Property("heap", t.UINT64, Flags.CELL_PUBLIC),), on_client=False)


def with_property(index, **changes):
    properties = list(AVATAR.properties)
    properties[index] = replace(properties[index], **changes)
    return replace(AVATAR, properties=tuple(properties))


def with_flags(flags):
    return replace(ITEM, fields=(ITEM.fields[0], replace(ITEM.fields[1], to=flags)))


def with_method(kind, index, **changes):
    methods = list(getattr(AVATAR, kind))
    methods[index] = replace(methods[index], **changes)
    given: dict[str, Any] = {kind: tuple(methods)}
    return replace(AVATAR, **given)


MATTERS = {
    "entity renamed": replace(AVATAR, name="Hero"),
    "type id": replace(AVATAR, type_id=3),
    "property renamed": with_property(0, name="title"),
    "property type": with_property(2, type=t.INT64),
    "signedness": with_property(2, type=t.UINT32),
    "array size": with_property(1, type=t.SequenceType(ITEM, 3)),
    "tuple for array": with_property(1, type=t.SequenceType(ITEM, None, True)),
    "field renamed": with_property(1, type=t.SequenceType(t.RecordType((t.Field("k", t.UINT32), ITEM.fields[1])))),
    "fields swapped": with_property(1, type=t.SequenceType(t.RecordType(ITEM.fields[::-1]))),
    "field hidden from the own client": with_property(1, type=t.SequenceType(with_flags(Flags.CELL_PUBLIC))),
    "field hidden from others": with_property(0, type=with_flags(Flags.OWN_CLIENT), flags=Flags.ALL_CLIENTS),
    "allow none": with_property(1, type=t.SequenceType(replace(ITEM, allow_none=True))),
    "own client only": with_property(0, flags=Flags.OWN_CLIENT),
    "others only": with_property(0, flags=Flags.OTHER_CLIENTS),
    "from base to cell": with_property(2, flags=Flags.OWN_CLIENT),
    "private made public": with_property(3, flags=Flags.ALL_CLIENTS),
    "public made private": with_property(0, flags=Flags.CELL_PRIVATE),
    "property gone": replace(AVATAR, properties=AVATAR.properties[1:]),
    "properties of one size swapped": replace(
        AVATAR, properties=(AVATAR.properties[1], AVATAR.properties[0], *AVATAR.properties[2:])
    ),
    "property header": with_property(0, header_size=2),
    "client method renamed": with_method("client_methods", 0, name="on_harm"),
    "client method argument": with_method("client_methods", 0, args=(Argument(t.INT32),)),
    "client method header": with_method("client_methods", 0, header_size=2),
    "exposed to all": with_method("cell_methods", 0, exposed=Exposed.ALL_CLIENTS),
    "hidden": with_method("cell_methods", 0, exposed=Exposed.NO),
    "newly exposed": with_method("cell_methods", 1, exposed=Exposed.OWN_CLIENT),
    "return value": with_method("base_methods", 0, returns=(Argument(t.BOOL),)),
    "no client part": replace(AVATAR, on_client=False),
}
IS_THE_SERVERS_OWN = {
    "default": with_property(0, default="nobody"),
    "saved": with_property(0, persistent=True, identifier=True, indexed=Index.UNIQUE, database_length=40),
    "detail level": replace(with_property(0, detail_level="near"), detail_levels=(DetailLevel("near", 10.0),)),
    "latest only": with_property(0, send_latest_only=True, is_reliable=False),
    "field that only ghosts lack": with_property(1, type=t.SequenceType(with_flags(Flags.OWN_CLIENT))),
    "ghosted, with the same clients": with_property(1, flags=Flags.CELL_PUBLIC_AND_OWN),
    "private property": with_property(3, type=t.FLOAT64, name="other"),
    "private property gone": replace(AVATAR, properties=AVATAR.properties[:3]),
    "private method": with_method("cell_methods", 1, args=(Argument(t.BLOB),), name="ponder"),
    "argument named": with_method("client_methods", 0, args=(Argument(t.INT16, "harm"),)),
    "rate": with_method("cell_methods", 0, rate=5),
    "exposed, said otherwise": with_method("base_methods", 0, exposed=Exposed.OWN_CLIENT),
    "alias": with_property(2, type=replace(t.INT32, alias="GOLD")),
    "alias of a record": with_property(1, type=t.SequenceType(replace(ITEM, alias="THING", implemented_by="a.b"))),
    "volatile": replace(AVATAR, volatile=Volatile(position=500.0), appeal_radius=9.0),
    "compression": replace(AVATAR, compression=Compression(1, 9)),
    "temporary": replace(AVATAR, temp_properties=("path",), persistent=False),
}


@pytest.mark.parametrize("what", MATTERS)
def test_the_digest_changes(what):
    assert digest(Schema((MATTERS[what], VAULT))) != digest(Schema((AVATAR, VAULT)))


@pytest.mark.parametrize("what", IS_THE_SERVERS_OWN)
def test_the_digest_stays(what):
    assert digest(Schema((IS_THE_SERVERS_OWN[what], VAULT))) == digest(Schema((AVATAR, VAULT)))


def test_server_only_types_do_not_count():
    assert digest(Schema((AVATAR,))) == digest(Schema((AVATAR, VAULT)))


def test_the_digest_of_the_golden_tree_is_this_one():
    """It may change with this file only, knowingly: clients of an older build would no longer get in."""
    assert digest(tree()) == "9fffbe5e67e3f0244afe92e5b464053e5fc52da80ccfb1d211fc143eb1e6156c"
