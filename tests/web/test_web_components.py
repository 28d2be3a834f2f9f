"""Methods of a component in the browser: an entity may have one of the same name, and it is another one."""

import pytest

from terrazzo import (
    ALL_CLIENTS,
    Cell,
    Client,
    ComponentType,
    EntityType,
    UInt8,
    build,
    component,
    exposed,
    prop,
    remote,
)
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import MethodTable
from tests.web.node import codec_of, needs_node

pytestmark = needs_node


class Lock(ComponentType):
    """Something that several types have."""

    strength: UInt8 = prop(ALL_CLIENTS)


class LockCell(Cell, of=Lock):
    @exposed
    def turn(self, times: UInt8) -> None: ...


class LockClient(Client, of=Lock):
    @remote
    def on_turned(self, times: UInt8) -> None: ...


class Box(EntityType):
    lock = component(Lock)


class BoxCell(Cell, of=Box):
    @exposed
    def turn(self, times: UInt8) -> None: ...


class BoxClient(Client, of=Box):
    @remote
    def on_turned(self, times: UInt8) -> None: ...


SCHEMA = build([Box]).checked()
BOX = SCHEMA["Box"]
TABLE = MethodTable(SCHEMA)
BEGIN = protocol.encode_base_player(1, BOX, [each.new_default() for each in BOX.base_player_properties])
OWNERS = {"turn": None, "lock.turn": "lock"}


@pytest.fixture
def browser():
    with codec_of(SCHEMA) as asked:
        yield asked


def test_a_call_from_the_server_comes_to_the_owner_of_the_method(browser):
    told = [
        protocol.with_alias(0, TABLE.encode_call(BOX, Side.CLIENT, "on_turned", bytes([times]), component=owner))
        for times, owner in ((5, "lock"), (6, None))
    ]
    names = ["on_turned", "lock.on_turned"]
    heard = browser.ask(op="hear", messages=[each.hex() for each in (BEGIN, *told)], names=names, failing=[])
    assert heard == {"heard": [["lock.on_turned", [5]], ["on_turned", [6]]], "complaints": [], "violations": 0}


@pytest.mark.parametrize("name", OWNERS)
def test_a_call_from_the_page_names_the_owner_of_the_method(browser, name):
    [sent] = browser.ask(op="sends", messages=[BEGIN.hex()], path=f"cell.{name}", args=[7])["sent"]
    told = TABLE.encode_call(BOX, Side.CELL, "turn", bytes([7]), component=OWNERS[name])
    assert bytes.fromhex(sent) == protocol.with_entity(1, told)
