"""Python classes as a schema: equal to definition files, in their order, with their inheritance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    OWN_CLIENT,
    Array,
    Base,
    Cell,
    Client,
    ComponentType,
    Compression,
    EntityType,
    Int8,
    Int16,
    Int32,
    Interface,
    Record,
    Ref,
    Text,
    UInt8,
    UInt16,
    Volatile,
    build,
    component,
    exposed,
    level,
    load_package,
    prop,
    remote,
)
from terrazzo.errors import UsageError
from terrazzo.schema import types
from terrazzo.schema.deffiles import load_tree
from terrazzo.schema.model import ALWAYS, EntitySchema, Exposed, Index
from terrazzo.schema.model import Volatile as ModelVolatile

HERE = Path(__file__).parent
GOLDEN = load_tree(HERE.parent / "golden" / "defs")
GAME = load_package(HERE / "game")


def only(*classes: type[EntityType]) -> EntitySchema:
    """The last of these entity types, built without a complaint."""
    return build(classes).checked().entities[-1]


def test_the_game_has_no_mistakes() -> None:
    assert GAME.errors == []
    assert {each.kind for each in GAME.warnings} == {"no effect yet"}, "it says everything that can be said"
    assert [each.type_id for each in GAME.schema.entities] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("entity", GAME.schema.entities, ids=lambda each: each.name)
def test_both_doors_give_equal_schemas(entity: EntitySchema) -> None:
    golden = GOLDEN.schema[entity.name]
    assert replace(entity, type_id=golden.type_id) == golden


def test_doors_differ_when_the_definition_does() -> None:
    traveller = GAME.schema["Traveller"]
    golden = replace(GOLDEN.schema["Traveller"], type_id=traveller.type_id)
    for other in (
        replace(golden, properties=golden.properties[1:]),
        replace(golden, cell_methods=golden.cell_methods[::-1]),
        replace(golden, volatile=ModelVolatile()),
        replace(golden, detail_levels=()),
    ):
        assert traveller != other


class Item(Record):
    kind: Int32


class Named(Interface):
    name: Text = prop(ALL_CLIENTS, saved=True, unique=True)
    tag: UInt8 = prop(ALL_CLIENTS)


class Aged(Interface):
    age: UInt8 = prop(ALL_CLIENTS)
    appeal_radius = 3
    temp_properties = ("young", "old")


class Animal(EntityType, abstract=True):
    legs: UInt8 = prop(ALL_CLIENTS, default=4)
    volatile = Volatile(position=True, yaw=50)
    detail_levels = (level("far", 100),)
    temp_properties = ("path", "prey")
    persistent = False


class Dog(Aged, Animal, Named):
    tag: UInt16 = prop(OWN_CLIENT)
    bark: Int8 = prop(ALL_CLIENTS, indexed="unique", detail="near")
    detail_levels = (level("near", 10),)
    temp_properties = ("path", "smell")


def test_parent_first_then_interfaces_then_own_and_redeclared_in_place() -> None:
    dog = only(Dog)
    assert [each.name for each in dog.properties] == ["legs", "age", "name", "tag", "bark"]
    tag = dog.properties[3]
    assert (tag.type, tag.flags) == (types.UINT16, OWN_CLIENT)
    assert dog.properties[4].indexed is Index.UNIQUE
    assert dog.properties[2].identifier
    assert dog.properties[2].persistent


def test_settings_come_from_the_whole_lineage() -> None:
    dog = only(Dog)
    assert dog.volatile == ModelVolatile(position=ALWAYS, yaw=50.0)
    assert [each.label for each in dog.detail_levels] == ["near", "far"]
    assert dog.appeal_radius == 3.0
    assert dog.temp_properties == ("path", "prey", "young", "old", "smell")
    assert not dog.persistent
    assert dog.on_client


def test_settings_of_a_type() -> None:
    class Vault(EntityType):
        server_only = True
        compression = Compression(internal=1, external=9)
        explicit_database_id = True
        volatile = Volatile(position=False)

    vault = only(Vault)
    assert not vault.on_client
    assert vault.compression == Compression(1, 9)
    assert vault.explicit_database_id
    assert vault.volatile == ModelVolatile()


class Early(EntityType):
    bag: Array[Later] = prop(OWN_CLIENT)
    best: Later | None = prop(OWN_CLIENT)
    friend: Array[Array[Later]] = prop(OWN_CLIENT)


class EarlyCell(Cell, of=Early):
    @remote
    def take(self, what: Later) -> Array[Later]:
        return [what]


class Later(Record):
    kind: UInt8


def test_hints_may_name_what_is_defined_later() -> None:
    early = only(Early)
    later = types.RecordType((types.Field("kind", types.UINT8),))
    bag, best, friend = (each.type for each in early.properties)
    assert bag == types.SequenceType(later)
    assert best == replace(later, allow_none=True)
    assert friend == types.SequenceType(types.SequenceType(later))
    assert early.cell_methods[0].args[0].type == later
    assert early.cell_methods[0].returns[0].type == types.SequenceType(later)


class NamedBase(Base, of=Named):
    @exposed
    def rename(self, name: Text) -> None: ...


class Loud:
    """A mixin that is no part at all."""

    @exposed(to=ALL_CLIENTS, rate=2)
    def shout(self, words: Text) -> None: ...


class Quiet(Cell):
    """A part without `of`."""

    @remote
    def whisper(self, to: Ref, words: Text) -> tuple[Int8, Text]:
        return 1, words

    @remote
    def hush(self) -> None: ...


class AnimalCell(Cell, of=Animal):
    @remote(latest_only=True, reliable=False, header_size=2)
    def walk(self, to: Int32) -> None: ...

    def local(self) -> None: ...


class DogCell(Loud, Quiet, AnimalCell, of=Dog):
    @exposed
    def sit(self) -> None: ...

    def walk(self, to: Int32) -> None:
        """A new body for a method of the parent: nothing is declared."""

    @remote
    def hush(self) -> None:
        """Declared again: it stays where it was."""


class DogBase(NamedBase, of=Dog):
    pass


class DogClient(Client, of=Dog):
    @remote(detail_distance=30)
    def on_bark(self, how: Item) -> None: ...


def test_methods_of_parents_then_mixins_then_own() -> None:
    dog = only(Dog)
    assert [each.name for each in dog.cell_methods] == ["walk", "shout", "whisper", "hush", "sit"]
    walk, shout, whisper, _, sit = dog.cell_methods
    assert (walk.send_latest_only, walk.is_reliable, walk.header_size) == (True, False, 2)
    assert (shout.exposed, shout.rate) == (Exposed.ALL_CLIENTS, 2)
    assert [each.name for each in whisper.args] == ["to", "words"]
    assert [each.type for each in whisper.returns] == [types.INT8, types.UNICODE_STRING]
    assert (sit.exposed, sit.args, sit.returns) == (Exposed.OWN_CLIENT, (), ())
    assert whisper.exposed is Exposed.NO
    assert [each.name for each in dog.base_methods] == ["rename"]
    assert dog.client_methods[0].detail_distance == 30
    assert dog.client_methods[0].args[0].type == types.RecordType((types.Field("kind", types.INT32),))


class Puppy(Dog):
    pass


class PuppyCell(DogCell, of=Puppy):
    @exposed(rate=9)
    def sit(self) -> None: ...


def test_a_method_declared_again_keeps_its_place_and_gets_the_new_rate() -> None:
    dog, puppy = only(Dog), only(Puppy)
    assert puppy.cell_methods == dog.cell_methods
    assert [each.rate for each in dog.cell_methods] == [None, 2, None, None, None]
    assert [each.rate for each in puppy.cell_methods] == [None, 2, None, None, 9]


class Health(ComponentType):
    hp: Int16 = prop(ALL_CLIENTS, default=100)
    scars: Array[Text] = prop(BASE)
    temp_properties = ("healer",)


class HealthCell(Cell, of=Health):
    @exposed
    def heal(self, by: Int16) -> None: ...


class Pet(Interface):
    health = component(Health)


class Cat(Pet, EntityType):
    armour: Health = component(Health)
    lives: UInt8 = prop(ALL_CLIENTS)


class CatCell(Cell, of=Cat):
    @exposed
    def heal(self) -> None: ...


def test_components_come_after_everything_else() -> None:
    cat = only(Cat)
    assert [each.name for each in cat.properties] == [
        "lives",
        "health.hp",
        "health.scars",
        "armour.hp",
        "armour.scars",
    ]
    assert cat.components == (("health", "Health"), ("armour", "Health"))
    methods = [(each.name, each.component, len(each.args)) for each in cat.cell_methods]
    assert methods == [("heal", None, 0), ("heal", "health", 1), ("heal", "armour", 1)]
    assert cat.temp_properties == ("health.healer", "armour.healer")


def test_places_are_kept_but_not_compared() -> None:
    first, second = only(Dog), only(Dog)
    assert first == second
    bark = first.properties[4]
    assert bark.place.file == Path(__file__).name
    assert "bark: Int8" in Path(__file__).read_text().splitlines()[bark.place.line - 1]
    assert replace(bark, place=first.place) == bark


def test_a_declaration_is_no_entity() -> None:
    with pytest.raises(UsageError, match="Dog only declares"):
        Dog()


def test_build_takes_entity_types() -> None:
    with pytest.raises(UsageError, match="derived from EntityType"):
        build([Named])  # type: ignore[list-item]


def test_of_takes_a_declaration() -> None:
    with pytest.raises(UsageError, match="of= takes an EntityType"):

        class Wrong(Cell, of="Dog"):  # type: ignore[arg-type]
            pass
