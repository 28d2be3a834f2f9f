"""Every method of a base part × every odd value: it is refused with an error that names the argument, or taken, and
the base ticks, calls, and is saved. Nothing that a game passes ends a BaseApp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from terrazzo.base.api import Base, Proxy, Server
from terrazzo.errors import UsageError
from terrazzo.schema.refs import Component, Ref
from terrazzo.wire.pairs.base_db import Save
from tests.base.base_harness import AVATAR, Town
from tests.odd_values import ODD

Use = Callable[[Town, Any, Any], object]


def ref(**fields: Any) -> Ref:
    return Ref(**{"id": 3, "component": Component.BASE, "type_id": AVATAR.type_id, **fields})


USES: dict[str, Use] = {
    "create_cell: space": lambda town, part, odd: part.create_cell(odd, (1.0, 0.0, 1.0)),
    "create_cell: position": lambda town, part, odd: part.create_cell("plaza", odd),
    "create_cell: direction": lambda town, part, odd: part.create_cell("plaza", (1.0, 0.0, 1.0), odd),
    "create_cell: hp": lambda town, part, odd: part.create_cell("plaza", (1.0, 0.0, 1.0), hp=odd),
    "ref: target": lambda town, part, odd: part.ref(odd).give(1),
    "ref: target, the id of a Ref": lambda town, part, odd: part.ref(ref(id=odd)).give(1),
    "ref: component": lambda town, part, odd: part.ref(ref(component=odd)).give(1),
    "ref: type_id": lambda town, part, odd: part.ref(ref(type_id=odd)).give(1),
    "keep_for: seconds": lambda town, part, odd: part.keep_for(odd),
    "reconnect_s": lambda town, part, odd: setattr(part, "reconnect_s", odd),
    "kick: reason": lambda town, part, odd: part.kick(odd),
    "create: type_name": lambda town, part, odd: town.server.create(odd),
    "create: space": lambda town, part, odd: town.server.create("Creature", space=odd, position=(0.0, 0.0, 0.0)),
    "create: position": lambda town, part, odd: town.server.create("Creature", space="plaza", position=odd),
    "create: mood": lambda town, part, odd: town.server.create("Creature", mood=odd),
    "create: type": lambda town, part, odd: part.create(odd),
    "create: near": lambda town, part, odd: part.create("Creature", near=odd),
    "create: near, the id of a Ref": lambda town, part, odd: part.create("Creature", near=ref(id=odd)),
    "create: position (x, y, z)": lambda town, part, odd: part.create("Creature", near=ref(), position=odd),
    "create: timeout": lambda town, part, odd: part.create("Creature", timeout=odd),
    "register_name: name": lambda town, part, odd: part.register_name(odd),
    "register_name: timeout": lambda town, part, odd: part.register_name("bank", timeout=odd),
    "drop_name: name": lambda town, part, odd: part.drop_name(odd),
    "lookup: name": lambda town, part, odd: part.lookup(odd),
    "lookup: timeout": lambda town, part, odd: part.lookup("bank", timeout=odd),
    "create_space: name": lambda town, part, odd: part.create_space(odd),
    "create_space: bounds": lambda town, part, odd: part.create_space("hall", bounds=odd),
    "create_space: data": lambda town, part, odd: part.create_space("hall", data=odd),
    "create_space: timeout": lambda town, part, odd: part.create_space("hall", timeout=odd),
    "end_space: space": lambda town, part, odd: part.end_space(odd),
    "end_space: timeout": lambda town, part, odd: part.end_space("hall#1", timeout=odd),
    "set_space_data: space": lambda town, part, odd: part.set_space_data(odd, {"key": 1}),
    "set_space_data: data": lambda town, part, odd: part.set_space_data("plaza", odd),
    "set_space_data: value": lambda town, part, odd: part.set_space_data("plaza", {"key": odd}),
    "set_space_data: timeout": lambda town, part, odd: part.set_space_data("plaza", {"key": 1}, timeout=odd),
    "save: timeout": lambda town, part, odd: part.save(timeout=odd),
    "load: type": lambda town, part, odd: part.load(odd, dbid=7),
    "load: dbid": lambda town, part, odd: part.load("Avatar", dbid=odd),
    "load: timeout": lambda town, part, odd: part.load("Avatar", dbid=7, timeout=odd),
    "delete: type": lambda town, part, odd: part.delete(odd, dbid=7),
    "delete: dbid": lambda town, part, odd: part.delete("Avatar", dbid=odd),
    "delete: timeout": lambda town, part, odd: part.delete("Avatar", dbid=7, timeout=odd),
    "timer: seconds": lambda town, part, odd: part.timer(odd),
    "timer: repeat": lambda town, part, odd: part.timer(1.0, odd),
    "timer: number": lambda town, part, odd: part.timer(1.0, number=odd),
    "cancel: number": lambda town, part, odd: part.cancel(odd),
    "sleep: seconds": lambda town, part, odd: part.sleep(odd),
    "gold": lambda town, part, odd: setattr(part, "gold", odd),
    "letters": lambda town, part, odd: part.letters.append(odd),
    "on_welcome: count": lambda town, part, odd: part.client.on_welcome(odd),
}

WITHOUT_ARGUMENTS = {
    "destroy_cell",
    "destroy",
    "id",
    "dbid",
    "me",
    "has_cell",
    "cell",
    "last_place",
    "has_client",
    "client",
}


def test_every_method_of_the_api_is_in_the_table():
    names = {name for cls in (Base, Proxy, Server) for name in vars(cls) if not name.startswith(("_", "on_"))}
    assert names - {use.partition(":")[0] for use in USES} == WITHOUT_ARGUMENTS


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("name", USES)
def test_odd_value_is_refused_by_name_or_the_base_goes_on_and_is_saved(name, what):
    town = Town()
    proxy, _ = town.attached()
    part = proxy.part
    try:
        USES[name](town, part, ODD[what])
    except UsageError as problem:
        said = str(problem)
        assert name in said or name.partition(":")[0] in said or name.partition(": ")[2] in said, said[:300]
    town.settle()
    if proxy.id in town.app.bases:
        part.save()
    town.step(70)  # a cell part that does not answer is waited for
    assert town.told(Save), "it was saved, or was when it left"
    assert not town.app.reported
    created = town.log_on(dbid=6)
    assert not isinstance(created, str), "the BaseApp goes on"
