"""Every method of a cell part × every odd value: it is refused in the game's own call, with an error that names the
argument; or it is taken, and the entity ticks, crosses a border, is sent to ghosts and clients, and gives its values to
its base. Nothing that a game passes ends a CellApp or loses a real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from terrazzo.cell import Cell
from terrazzo.cell.api.acts import Acts
from terrazzo.cell.api.sights import Sights
from terrazzo.cell.api.spaces import SpaceActs
from terrazzo.errors import UsageError
from terrazzo.schema.refs import Component, Ref
from terrazzo.wire.pairs.base_cell import CallCell
from tests.cell.cast import CELL_METHODS
from tests.cell.land import Land
from tests.cell.plain import AVATAR
from tests.odd_values import NUMBER, ODD

HIT = CELL_METHODS["hit"]
CALL_HIT = CallCell(HIT, AVATAR.cell_methods[HIT].encode_args(77), 0)
FIRST = 100
"""The entity that is given the first of the odd values."""
HERE = (-30.0, 0.0, 5.0)

Use = Callable[[Any, Any], object]


def ref(**fields: Any) -> Ref:
    return Ref(**{"id": NUMBER, "component": Component.CELL, "type_id": AVATAR.type_id, **fields})


USES: dict[str, Use] = {
    "timer: seconds": lambda part, odd: part.timer(odd),
    "timer: repeat": lambda part, odd: part.timer(1.0, odd),
    "timer: number": lambda part, odd: part.timer(1.0, number=odd),
    "lookup: name": lambda part, odd: part.lookup(odd),
    "lookup: timeout": lambda part, odd: part.lookup("bank", timeout=odd),
    "spawn: type": lambda part, odd: part.spawn(odd),
    "create: type": lambda part, odd: part.create(odd),
    "create: space": lambda part, odd: part.create("Avatar", space=odd, position=HERE),
    "create: position": lambda part, odd: part.create("Avatar", position=odd),
    "create: direction": lambda part, odd: part.create("Avatar", position=HERE, direction=odd),
    "create: timeout": lambda part, odd: part.create("Avatar", timeout=odd),
    "load: type": lambda part, odd: part.load(odd, dbid=7),
    "load: dbid": lambda part, odd: part.load("Avatar", dbid=odd),
    "load: timeout": lambda part, odd: part.load("Avatar", dbid=7, timeout=odd),
    "delete: type": lambda part, odd: part.delete(odd, dbid=7),
    "delete: dbid": lambda part, odd: part.delete("Avatar", dbid=odd),
    "delete: timeout": lambda part, odd: part.delete("Avatar", dbid=7, timeout=odd),
    "sleep: seconds": lambda part, odd: part.sleep(odd),
    "move_to: target": lambda part, odd: part.move_to(odd, 1.0),
    "move_to: speed": lambda part, odd: part.move_to(HERE, odd),
    "move_to: distance": lambda part, odd: part.move_to(HERE, 1.0, distance=odd),
    "move_to: number": lambda part, odd: part.move_to(HERE, 1.0, number=odd),
    "move_to: face": lambda part, odd: part.move_to(HERE, 1.0, face=odd),
    "follow: target": lambda part, odd: part.follow(odd, 1.0),
    "follow: speed": lambda part, odd: part.follow(NUMBER, odd),
    "follow: distance": lambda part, odd: part.follow(NUMBER, 1.0, distance=odd),
    "follow: number": lambda part, odd: part.follow(NUMBER, 1.0, number=odd),
    "turn_to: yaw": lambda part, odd: part.turn_to(odd, 1.0),
    "turn_to: speed": lambda part, odd: part.turn_to(1.0, odd),
    "turn_to: number": lambda part, odd: part.turn_to(1.0, 1.0, number=odd),
    "cancel: what": lambda part, odd: part.cancel(odd),
    "teleport: where": lambda part, odd: part.teleport(odd, (1.0, 0.0, 1.0)),
    "teleport: position": lambda part, odd: part.teleport("plain", odd),
    "teleport: direction": lambda part, odd: part.teleport("plain", HERE, odd),
    "board: vehicle": lambda part, odd: part.board(odd),
    "board: position": lambda part, odd: part.board(NUMBER, odd),
    "board: direction": lambda part, odd: part.board(NUMBER, (0.0, 1.0, 0.0), odd),
    "create_space: name": lambda part, odd: part.create_space(odd),
    "create_space: bounds": lambda part, odd: part.create_space("hall", bounds=odd),
    "create_space: timeout": lambda part, odd: part.create_space("hall", timeout=odd),
    "create_space: data": lambda part, odd: part.create_space("hall", data=odd),
    "set_space_data: data": lambda part, odd: part.set_space_data(odd),
    "set_space_data: value": lambda part, odd: part.set_space_data({"key": odd}),
    "set_space_data: timeout": lambda part, odd: part.set_space_data({"key": 1}, timeout=odd),
    "end_space: space": lambda part, odd: part.end_space(odd),
    "end_space: timeout": lambda part, odd: part.end_space("hall#1", timeout=odd),
    "position": lambda part, odd: setattr(part, "position", odd),
    "direction": lambda part, odd: setattr(part, "direction", odd),
    "yaw": lambda part, odd: setattr(part, "yaw", odd),
    "pitch": lambda part, odd: setattr(part, "pitch", odd),
    "roll": lambda part, odd: setattr(part, "roll", odd),
    "entity: entity": lambda part, odd: part.entity(odd),
    "entities_in_range: radius": lambda part, odd: part.entities_in_range(odd),
    "entities_in_range: position": lambda part, odd: part.entities_in_range(5.0, position=odd),
    "entities_in_range: of": lambda part, odd: part.entities_in_range(5.0, of=odd),
    "add_proximity: radius": lambda part, odd: part.add_proximity(odd),
    "add_proximity: number": lambda part, odd: part.add_proximity(5.0, number=odd),
    "set_aoi_radius: radius": lambda part, odd: part.set_aoi_radius(odd),
    "set_aoi_radius: hysteresis": lambda part, odd: part.set_aoi_radius(20.0, odd),
    "add_to_aoi: target": lambda part, odd: part.add_to_aoi(odd),
    "remove_from_aoi: target": lambda part, odd: part.remove_from_aoi(odd),
    "withhold_from_client: target": lambda part, odd: part.withhold_from_client(odd),
    "withhold_from_client: is_withheld": lambda part, odd: part.withhold_from_client(NUMBER, odd),
    "is_withheld_from_client: target": lambda part, odd: part.is_withheld_from_client(odd),
    "ref: target": lambda part, odd: part.ref(odd).hit(1),
    "ref: target, the id of a Ref": lambda part, odd: part.ref(ref(id=odd)).hit(1),
    "ref: component": lambda part, odd: part.ref(ref(component=odd)).hit(1),
    "ref: type_id": lambda part, odd: part.ref(ref(type_id=odd)).hit(1),
    "tell_luck: timeout=": lambda part, odd: part.ref(NUMBER).tell_luck(1, timeout=odd),
    "hit: power": lambda part, odd: part.entity(NUMBER).hit(odd),
    "on_said: words": lambda part, odd: part.everyone.on_said(odd),
    "note: words": lambda part, odd: part.base.note(odd),
    "gold": lambda part, odd: setattr(part, "gold", odd),
    "name": lambda part, odd: setattr(part, "name", odd),
    "pose": lambda part, odd: setattr(part, "pose", odd),
    "purse": lambda part, odd: part.purse.append(odd),
}

WITHOUT_ARGUMENTS = {"destroy", "alight", "aoi_radius", "entities_in_aoi", "space_data", "id"}


def test_every_method_of_the_api_is_in_the_table():
    methods = {name for cls in (Acts, Sights, SpaceActs) for name in vars(cls) if not name.startswith("_")}
    setters = {name for name, each in vars(Cell).items() if isinstance(each, property) and each.fset is not None}
    tried = {use.partition(":")[0] for use in USES}
    assert (methods | setters | {"ref"}) - tried == WITHOUT_ARGUMENTS - {"id"}


@pytest.fixture
def land() -> Land:
    """Two cells. Entity 3 stands near the border, and so does one for each odd value."""
    land = Land()
    land.create(NUMBER, -20.0)
    for entity, _ in enumerate(ODD, FIRST):
        land.base.create(land[0].me, entity, (-22.0, 0.0, 0.0))
    land.step(3)
    for entity, _ in enumerate(ODD, FIRST):
        land.base.attach(entity)
    land.step(5)
    return land


def give(land: Land, name: str, entity: int, odd: Any) -> bool:
    """Whether the value was taken; a refusal names the argument, or the method."""
    try:
        land.do(entity, lambda part: USES[name](part, odd))
    except UsageError as problem:
        assert name in str(problem) or name.partition(":")[0] in str(problem), str(problem)[:300]
        return False
    return True


@pytest.mark.parametrize("name", USES)
def test_odd_value_is_refused_by_name_or_survives_a_border_and_a_save(land, name):
    taken = {entity for entity, odd in enumerate(ODD.values(), FIRST) if give(land, name, entity, odd)}
    land.step(2)
    for entity, _ in enumerate(ODD, FIRST):
        home = land.home(entity)
        if home == 0:
            land.do(entity, lambda part: part.alight())
            land.put(entity, 60.0)
    land.step(40)
    for entity, _ in enumerate(ODD, FIRST):
        assert land.home(entity) is not None
        land.base.want_data(entity)
        land.base.tell(entity, CALL_HIT)
    land.step(20)
    for entity, (what, _) in zip(range(FIRST, FIRST + len(ODD)), ODD.items(), strict=True):
        assert land.base.data_of(entity), f"{what} (taken: {entity in taken}): the base heard nothing"
        assert AVATAR.cell_layout.row.decode(land.base.data_of(entity)[-1].properties)
        assert land.part(entity).purse[-1] == 77, f"{what}: the entity cannot be called any more"
    for app in land.cells:
        bad = {what for what in app.counts if "packed" in what or "failed" in what or "not decode" in what}
        assert not bad, land.host.logged[-3:]
