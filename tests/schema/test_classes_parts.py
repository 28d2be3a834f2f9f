"""Parts: the properties on them, the states behind them, and the schema they are bound to."""

from __future__ import annotations

import pytest

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    CELL_PRIVATE,
    EDITOR_ONLY,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Base,
    Cell,
    Client,
    ComponentType,
    EntityType,
    Int16,
    Int32,
    Proxy,
    Record,
    Text,
    UInt8,
    attach,
    build,
    component,
    prop,
    remote,
)
from terrazzo._speed.values import Change
from terrazzo.errors import HeldElsewhere, UsageError, ValueRejected
from terrazzo.schema.classes.parts import EntityPart
from terrazzo.schema.model import Side


class Item(Record):
    kind: UInt8
    count: UInt8 = 1


class Health(ComponentType):
    hp: Int16 = prop(ALL_CLIENTS, default=100)
    secret: Int16 = prop(BASE, default=5)


class HealthCell(Cell, of=Health):
    @remote
    def heal(self, by: Int16) -> None:
        self.hp += by


class Avatar(EntityType):
    luck: Int16 = prop(CELL_PRIVATE, default=7)
    name: Text = prop(ALL_CLIENTS, default="nobody")
    gold: Int32 = prop(OWN_CLIENT)
    bag: Array[Item] = prop(OWN_CLIENT)
    best: Item | None = prop(OWN_CLIENT)
    pose: UInt8 = prop(OTHER_CLIENTS)
    account: Text = prop(BASE)
    sketch: Text = prop(EDITOR_ONLY)
    health = component(Health)


class AvatarCell(Cell, of=Avatar):
    def __init__(self) -> None:
        self.seen = self.luck

    def spend(self, gold: int) -> None:
        self.gold -= gold


class AvatarBase(Proxy, of=Avatar):
    pass


class AvatarClient(Client, of=Avatar):
    pass


class TiredCell(AvatarCell):
    """No `of`: it stands in for its parent."""


class Hero(Avatar):
    fame: UInt8 = prop(ALL_CLIENTS, default=3)


class HeroCell(AvatarCell, of=Hero):
    pass


SCHEMA = build([Avatar, Hero]).checked()
AVATAR, HERO = SCHEMA["Avatar"], SCHEMA["Hero"]


def test_defaults_are_read_and_changes_are_reported() -> None:
    heard: list[Change] = []
    avatar = attach(AvatarCell, AVATAR, heard.append)
    assert (avatar.luck, avatar.name, avatar.gold, avatar.bag, avatar.best) == (7, "nobody", 0, [], None)
    avatar.name = "Ada"
    avatar.gold = 30
    avatar.spend(5)
    assert (avatar.name, avatar.gold) == ("Ada", 25)
    names = [AVATAR.cell_properties[each.prop].name for each in heard]
    assert names == ["name", "gold", "gold"]


def test_nested_changes_are_reported() -> None:
    heard: list[Change] = []
    avatar = attach(AvatarCell, AVATAR, heard.append)
    avatar.bag.append(Item(kind=1))
    avatar.bag[0].count = 4
    avatar.best = Item(kind=2)
    avatar.best.count += 1
    assert avatar.bag == [{"kind": 1, "count": 4}]
    assert isinstance(avatar.bag[0], Item)
    assert avatar.best == Item(kind=2, count=2)
    assert len(heard) == 4


def test_a_refused_value_changes_nothing() -> None:
    heard: list[Change] = []
    avatar = attach(AvatarCell, AVATAR, heard.append)
    with pytest.raises(ValueRejected, match=r"Avatar\.gold"):
        avatar.gold = "much"
    assert avatar.gold == 0
    assert heard == []


def test_each_part_holds_its_own_properties() -> None:
    cell, base, client = (attach(part, AVATAR) for part in (AvatarCell, AvatarBase, AvatarClient))
    assert base.account == ""
    assert (client.name, client.gold, client.pose) == ("nobody", 0, 0)
    for part, names in (
        (cell, ("account", "sketch")),
        (base, ("name", "luck", "sketch")),
        (client, ("luck", "account", "sketch")),
    ):
        assert [name for name in names if hasattr(part, name)] == []


@pytest.mark.parametrize(
    ("part_class", "name", "words"),
    [
        (AvatarCell, "account", r"Avatar\.account is held by the base part \(BASE\): call a method of it"),
        (AvatarBase, "name", r"Avatar\.name is held by the cell part \(ALL_CLIENTS\): call a method of it"),
        (AvatarClient, "luck", r"Avatar\.luck is held by the cell part \(CELL_PRIVATE\)"),
        (AvatarCell, "sketch", r"Avatar\.sketch is EDITOR_ONLY"),
    ],
)
def test_property_of_another_part_raises_with_its_name(part_class: type[EntityPart], name: str, words: str) -> None:
    part = attach(part_class, AVATAR)
    with pytest.raises(HeldElsewhere, match=words):
        getattr(part, name)
    with pytest.raises(HeldElsewhere, match=words):
        setattr(part, name, 3)


def test_component_property_of_another_part_names_its_part() -> None:
    with pytest.raises(HeldElsewhere, match=r"Avatar\.health\.secret is held by the base part"):
        attach(AvatarCell, AVATAR).health.secret = 3
    with pytest.raises(HeldElsewhere, match=r"Avatar\.health\.hp is held by the cell part"):
        attach(AvatarBase, AVATAR).health.hp


def test_attribute_that_is_no_property_is_ordinary() -> None:
    avatar = attach(AvatarCell, AVATAR)
    avatar.target = 5
    assert (avatar.target, avatar.seen) == (5, 7)
    with pytest.raises(AttributeError):
        avatar.no_such_thing


def test_two_parts_share_nothing() -> None:
    first, second = attach(AvatarCell, AVATAR), attach(AvatarCell, AVATAR)
    first.gold = 1
    first.bag.append(Item(kind=1))
    assert (second.gold, second.bag) == (0, [])


def test_components_are_attributes() -> None:
    heard: list[Change] = []
    avatar = attach(AvatarCell, AVATAR, heard.append)
    avatar.health.heal(5)
    assert avatar.health.hp == 105
    assert AVATAR.cell_properties[heard[0].prop].name == "health.hp"
    assert isinstance(avatar.health, HealthCell)
    assert not hasattr(avatar.health, "secret")
    assert attach(AvatarBase, AVATAR).health.secret == 5
    with pytest.raises(UsageError, match="assign its properties"):
        avatar.health = 3


def test_heirs_have_their_own_layout() -> None:
    hero = attach(HeroCell, HERO)
    assert (hero.fame, hero.luck, hero.name) == (3, 7, "nobody")
    assert attach(AvatarCell, AVATAR).name == "nobody"
    tired = attach(TiredCell, AVATAR)
    tired.spend(1)
    assert tired.gold == -1


def test_part_made_by_hand_raises_with_advice() -> None:
    with pytest.raises(UsageError, match="attach"):
        AvatarBase().account
    with pytest.raises(UsageError, match="attach"):
        AvatarCell()


def test_sides() -> None:
    assert [each._side for each in (AvatarCell, AvatarBase, AvatarClient)] == [
        Side.CELL,
        Side.BASE,
        Side.CLIENT,
    ]
    assert issubclass(Proxy, Base)


def test_a_part_can_serve_a_schema_from_elsewhere() -> None:
    """A definition file's entity type has parts too."""

    class Stray(Cell):
        pass

    stray = attach(Stray, AVATAR)
    stray.gold = 2
    assert stray.gold == 2
    assert stray.health.hp == 100
