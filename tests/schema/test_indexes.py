"""Message ids: direct slots, sub-slots where a range runs out, and the limits of both."""

from dataclasses import replace

import pytest

from terrazzo.schema.flags import ALL_CLIENTS
from terrazzo.schema.indexes import METHOD_IDS, IdRange, message_id, number_methods, number_properties
from terrazzo.schema.model import EntitySchema, Exposed, Method, Property, Schema, Side
from terrazzo.schema.types import UINT8

IDS = IdRange(59, 99)


def test_no_sub_slot_while_the_range_is_large_enough():
    assert message_id(IDS, 99, 0) == (59, None)
    assert message_id(IDS, 99, 98) == (157, None)


def test_method_beyond_the_range_makes_the_last_slot_a_sub_slot():
    assert message_id(IDS, 100, 97) == (156, None)
    assert message_id(IDS, 100, 98) == (157, 0)
    assert message_id(IDS, 100, 99) == (157, 1)


def test_every_255_more_take_another_slot():
    assert message_id(IDS, 99 + 255, 97) == (156, 0)
    assert message_id(IDS, 99 + 254, 98) == (157, 0)
    assert message_id(IDS, 99 + 255, 97 + 256) == (157, 0)


@pytest.mark.parametrize("most", [1, 98, 99, 100, 133, 353, 354, 355, 609, 1000, 5000])
def test_all_ids_are_different_and_inside_the_range(most):
    ids = [message_id(IDS, most, index) for index in range(most)]
    assert len(set(ids)) == most
    assert all(59 <= number <= 157 and (sub is None or 0 <= sub <= 255) for number, sub in ids)
    assert {number for number, sub in ids if sub is None}.isdisjoint({number for number, sub in ids if sub is not None})


def test_every_entity_type_uses_the_split_of_the_largest():
    few = EntitySchema("Few", 1, client_methods=(Method("only"),))
    many = EntitySchema("Many", 2, client_methods=tuple(Method(f"m{n}") for n in range(120)))
    schema = Schema((few, many))
    assert [each.message_id for each in number_methods(schema, few, Side.CLIENT)] == [59]
    assert number_methods(schema, many, Side.CLIENT)[98].sub_id == 0
    assert number_methods(Schema((few,)), few, Side.CLIENT)[0].sub_id is None


def test_only_exposed_methods_have_numbers_and_server_only_types_have_none():
    cell = (Method("hidden"), Method("open", exposed=Exposed.OWN_CLIENT))
    entity = EntitySchema("Thing", 1, cell_methods=cell)
    schema = Schema((entity,))
    [numbered] = number_methods(schema, entity, Side.CELL)
    assert (numbered.method.name, numbered.message_id) == ("open", METHOD_IDS[Side.CELL].first)
    assert number_methods(schema, replace(entity, on_client=False), Side.CELL) == []


def test_properties_beyond_the_range_go_as_nested_changes():
    entity = EntitySchema("Thing", 1, properties=tuple(Property(f"p{n}", UINT8, ALL_CLIENTS) for n in range(100)))
    numbers = [each.message_id for each in number_properties(entity)]
    assert numbers[:97] == list(range(158, 255))
    assert numbers[97:] == [56, 56, 56]
