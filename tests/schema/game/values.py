"""The aliases and records of the trading world."""

from typing import Annotated

from terrazzo import (
    Alias,
    Array,
    Float32,
    Float64,
    Int32,
    Record,
    Size,
    String,
    Text,
    UInt8,
    UInt16,
    UInt32,
    Vector3,
    field,
)

Flag = Annotated[UInt8, Alias("BOOL")]
Gold = Annotated[UInt32, Alias("GOLD")]
Coin = Annotated[Gold, Alias("COIN")]
Tally = Annotated[Coin, Alias("TALLY")]
EntityId = Annotated[Int32, Alias("ENTITY_ID")]
TownId = Annotated[UInt16, Alias("TOWN_ID")]
Bearing = Annotated[Float32, Alias("BEARING")]
MapPoint = Annotated[Vector3, Alias("MAP_POINT")]


class ItemStack(Record, type_name="ITEM_STACK"):
    itemId: UInt32
    quantity: UInt16
    quality: UInt8 = field(saved=False)


class Crate(ItemStack, type_name="CRATE"):
    seal: String = field(database_length=64)
    owner: EntityId


class Offer(Record, type_name="OFFER"):
    price: Coin
    stack: ItemStack
    note: Text


class Toll(Record, type_name="TOLL"):
    gate: TownId
    fee: UInt16


class Contract(Record, type_name="CONTRACT"):
    patron: EntityId
    due: Float64
    reward: Tally


class Hold(Record, type_name="HOLD"):
    label: String
    stacks: Array[ItemStack]
    lashed: Flag


class Manifest(Record, type_name="MANIFEST"):
    title: Text
    holds: Array[Hold]
    total: Tally
    toll: Toll | None
    tags: Array[String]


class WeightPair(Record, type_name="WEIGHT_PAIR"):
    gross: Float32
    tare: Float32


class Lone(Record, type_name="LONE"):
    only: Array[UInt8]


class Berth(Record):
    pier: UInt8
    hulls: Array[EntityId]


Dice = Annotated[tuple[UInt8, UInt8, UInt8], Alias("DICE")]
Route = Annotated[Array[MapPoint], Alias("ROUTE")]
Heat = Annotated[Array[Float32], Size(4), Alias("HEAT")]
Signals = Annotated[tuple[String, ...], Alias("SIGNALS")]
Row = Annotated[Array[UInt8], Size(2)]
Chess = Annotated[Array[Row], Size(2), Alias("CHESS")]
