"""What several entity types of the trading world have in common, and the parts that go with it."""

from __future__ import annotations

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    CELL_PUBLIC,
    CELL_PUBLIC_AND_OWN,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Base,
    Cell,
    Client,
    Exposed,
    Float32,
    Int8,
    Int32,
    Int64,
    Interface,
    PlainData,
    Ref,
    String,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Vector2,
    exposed,
    level,
    prop,
    remote,
)

from .values import Coin, Crate, EntityId, Flag, ItemStack, MapPoint, Offer, Tally


class Nameable(Interface):
    displayName: Text = prop(ALL_CLIENTS, saved=True, unique=True, database_length=48)
    titleId: UInt16 = prop(ALL_CLIENTS, default=7, editable=True)


class NameableClient(Client, of=Nameable):
    @remote
    def onRenamed(self, name: Text) -> None: ...


class NameableBase(Base, of=Nameable):
    @exposed(to=Exposed.DEFAULT)
    def rename(self, newName: Text) -> None: ...


class Guildsman(Nameable):
    guildId: UInt64 = prop(ALL_CLIENTS, saved=True, indexed=True)
    guildRank: UInt8 = prop(ALL_CLIENTS)
    guildNotes: PlainData = prop(BASE, default={})


class GuildsmanClient(NameableClient, of=Guildsman):
    @remote
    def onGuildNotice(self, notice: String) -> None: ...


class GuildsmanBase(NameableBase, of=Guildsman):
    @exposed(to=Exposed.DEFAULT)
    def leaveGuild(self) -> None: ...

    @exposed
    def inviteToGuild(self, whom: EntityId) -> None: ...

    @remote
    def setGuild(self, guild: UInt64, hall: Ref) -> None: ...


class Purse(Interface):
    coins: Tally = prop(OWN_CLIENT, default=25, saved=True)
    debt: Int64 = prop(BASE_AND_CLIENT, default=-1, saved=True, indexed=True)
    pickpocketLuck: Float32 = prop(CELL_PRIVATE, default=0.125)


class PurseClient(Client, of=Purse):
    @remote
    def onCoinsChanged(self, coins: Tally, by: Int32) -> None: ...


class PurseCell(Cell, of=Purse):
    @exposed
    def tossCoin(self, to: MapPoint) -> None: ...


class PurseBase(Base, of=Purse):
    @exposed(to=Exposed.DEFAULT)
    def deposit(self, coins: Coin) -> None: ...

    @remote
    def auditPurse(self, clerk: Ref) -> tuple[Int64, Flag]:
        return (self.debt, 1)


class Haggler(Purse):
    haggleSkill: UInt8 = prop(ALL_CLIENTS, default=10)
    openOffer: Offer | None = prop(OWN_CLIENT)
    mood: Int8 = prop(OTHER_CLIENTS, default=-3)


class HagglerClient(PurseClient, of=Haggler):
    @remote
    def onOffer(self, fromId: EntityId, offer: Offer | None) -> None: ...

    @remote(detail_distance=40)
    def onHaggleResult(self, agreed: Flag, price: Coin) -> None: ...

    @remote
    def onShrug(self) -> None: ...


class HagglerCell(PurseCell, of=Haggler):
    @exposed(to=ALL_CLIENTS)
    def makeOffer(self, offer: Offer | None) -> None: ...

    @exposed(to=Exposed.DEFAULT)
    def acceptOffer(self) -> None: ...

    @exposed(to=Exposed.DEFAULT)
    def counterOffer(self, price: Coin) -> None: ...


class Weathered(Interface):
    detail_levels = (level("NEAR", 25, 5), level("MIDDLE", 120, hysteresis=12.5), level("FAR", 400))

    wetness: Float32 = prop(ALL_CLIENTS, detail="NEAR", latest_only=True, reliable=False)
    dustiness: Float32 = prop(ALL_CLIENTS, detail="MIDDLE")
    shelterBias: Vector2 = prop(CELL_PUBLIC, default=(0.5, -0.5))


class Carrier(Haggler, Weathered):
    cargo: Array[ItemStack] = prop(ALL_CLIENTS, saved=True)
    loadLimit: UInt32 = prop(CELL_PUBLIC_AND_OWN, default=900)
    sealedCrate: Crate = prop(OWN_CLIENT)


class CarrierClient(HagglerClient, of=Carrier):
    @remote(header_size=2)
    def onCargoShift(self, cargo: Array[ItemStack]) -> None: ...

    @remote
    def onShrug(self) -> None: ...


class CarrierCell(HagglerCell, of=Carrier):
    @exposed
    def dropCargo(self, slot: UInt8, count: UInt16) -> None: ...


class Signaller(Interface):
    """Repeats methods of other interfaces, with the very same signatures."""


class SignallerClient(Client, of=Signaller):
    @remote
    def onShrug(self) -> None: ...

    @remote
    def onFlag(self, colour: UInt8) -> None: ...

    @remote
    def onCoinsChanged(self, coins: Tally, by: Int32) -> None: ...


class SignallerCell(Cell, of=Signaller):
    @exposed(to=Exposed.DEFAULT)
    def acceptOffer(self) -> None: ...

    @exposed(to=Exposed.DEFAULT)
    def raiseFlag(self, colour: UInt8) -> None: ...
