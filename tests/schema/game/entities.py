"""The entity types of the trading world."""

from __future__ import annotations

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    CELL_PUBLIC,
    CELL_PUBLIC_AND_OWN,
    EDITOR_ONLY,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Base,
    Blob,
    Cell,
    Client,
    Compression,
    EntityType,
    Exposed,
    Float64,
    Int8,
    Int16,
    PlainData,
    Proxy,
    Ref,
    String,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Vector3,
    Volatile,
    exposed,
    level,
    prop,
    remote,
)

from .traits import (
    Carrier,
    CarrierCell,
    CarrierClient,
    Guildsman,
    GuildsmanBase,
    GuildsmanClient,
    Haggler,
    HagglerCell,
    HagglerClient,
    Nameable,
    NameableBase,
    NameableClient,
    PurseBase,
    Signaller,
    SignallerCell,
    SignallerClient,
)
from .values import (
    Bearing,
    Berth,
    Chess,
    Coin,
    Contract,
    Crate,
    Dice,
    Flag,
    Heat,
    Hold,
    ItemStack,
    Lone,
    Manifest,
    MapPoint,
    Offer,
    Route,
    Signals,
    Toll,
    TownId,
    WeightPair,
)


class Traveller(Guildsman, Carrier, EntityType):
    journal: Array[String] = prop(BASE_AND_CLIENT, saved=True, database_length=255)
    pathPlan: Route = prop(OWN_CLIENT)
    manifest: Manifest = prop(ALL_CLIENTS)
    isResting: Flag = prop(ALL_CLIENTS, default=False, replay=True)
    stamina: UInt16 = prop(OWN_CLIENT, default=500)
    homeDoor: Ref = prop(CELL_PRIVATE)
    bank: Ref = prop(BASE)
    letters: Blob = prop(BASE_AND_CLIENT, default=b"\x01\x02\x03")
    luckyDice: Dice = prop(ALL_CLIENTS)

    volatile = Volatile(position=True, yaw=True, pitch=True, roll=True)
    compression = Compression(external=3)
    temp_properties = ("pathTimer",)


class TravellerClient(GuildsmanClient, CarrierClient, of=Traveller):
    @remote
    def onArrive(self, town: TownId, when: Float64) -> None: ...

    @remote(header_size=2)
    def onLedger(self, ledger: Blob) -> None: ...

    @remote
    def onWhisper(self, who: String, words: Text) -> None: ...

    @remote
    def onDice(self, dice: Dice) -> None: ...


class TravellerCell(CarrierCell, of=Traveller):
    @exposed
    def walkTo(self, point: MapPoint, facing: Bearing) -> None:
        self.pathPlan.append(point)

    @exposed(rate=2)
    def rest(self, yes: Flag) -> None:
        self.isResting = yes

    @remote
    def teleportHome(self, door: Ref) -> None: ...


class TravellerBase(Proxy, GuildsmanBase, PurseBase, of=Traveller):
    @exposed(to=Exposed.DEFAULT)
    def openBank(self, counter: UInt8) -> None: ...

    @exposed(to=Exposed.DEFAULT)
    def sendLetter(self, to: String, body: Blob) -> None: ...


class Creature(EntityType):
    detail_levels = (level("CLOSE", 30, hysteresis=4), level("SIGHT", 150))
    volatile = Volatile(position=True, yaw=True, pitch=60, roll=20.5)
    appeal_radius = 15.5
    temp_properties = ("lastPath", "lastThought")

    species: UInt16 = prop(ALL_CLIENTS)
    health: Int16 = prop(ALL_CLIENTS, default=100, detail="SIGHT")
    gaze: Vector3 = prop(OTHER_CLIENTS, detail="CLOSE", latest_only=True)
    temper: Int8 = prop(CELL_PUBLIC)
    sculptorNote: String = prop(EDITOR_ONLY, default=b"rough")
    memory: PlainData = prop(CELL_PRIVATE)


class CreatureClient(Client, of=Creature):
    @remote
    def onHurt(self, amount: Int16) -> None: ...

    @remote(detail_distance=80)
    def onCall(self, voice: UInt8, where: MapPoint) -> None: ...


class CreatureCell(Cell, of=Creature):
    @exposed(to=Exposed.DEFAULT)
    def poke(self) -> None:
        self.health -= 1

    @exposed(to=ALL_CLIENTS)
    def feed(self, stack: ItemStack) -> None: ...

    @remote
    def think(self, thought: PlainData) -> None: ...


class Townsfolk(Creature, Nameable):
    homeTown: TownId = prop(ALL_CLIENTS, saved=True)
    chores: Signals = prop(CELL_PUBLIC_AND_OWN)
    volatile = Volatile(position=250, yaw=80)


class TownsfolkClient(CreatureClient, NameableClient, of=Townsfolk):
    @remote(latest_only=True, reliable=False)
    def onGossip(self, words: Text) -> None: ...


class TownsfolkBase(NameableBase, of=Townsfolk):
    @remote
    def moveHouse(self, town: TownId) -> None: ...


class Merchant(Townsfolk, Haggler):
    stock: Array[Offer | None] = prop(ALL_CLIENTS)
    toll: Toll | None = prop(ALL_CLIENTS)
    contract: Contract = prop(OWN_CLIENT)
    stallColour: UInt8 = prop(ALL_CLIENTS)
    weights: WeightPair = prop(ALL_CLIENTS, default=WeightPair(gross=2.5, tare=0.5))


class MerchantClient(TownsfolkClient, HagglerClient, of=Merchant):
    @remote
    def onStock(self, stock: Array[Offer | None]) -> None: ...

    @remote
    def onPriceCry(self, goods: UInt32, price: Coin) -> None: ...


class MerchantCell(CreatureCell, HagglerCell, of=Merchant):
    @exposed(to=Exposed.DEFAULT)
    def buy(self, slot: UInt8, count: UInt16, limit: Coin) -> None: ...


class MerchantBase(TownsfolkBase, PurseBase, of=Merchant):
    @remote
    def restock(self, crates: Array[Crate]) -> UInt16:
        return len(crates)


class Smuggler(Creature, Guildsman, Haggler, Nameable):
    haggleSkill: UInt16 = prop(ALL_CLIENTS)
    health: Int16 = prop(ALL_CLIENTS, default=60)
    hideout: TownId = prop(OWN_CLIENT)
    secretMap: Blob = prop(OWN_CLIENT, header_size=2)
    alibi: String = prop(ALL_CLIENTS)


class SmugglerClient(CreatureClient, GuildsmanClient, HagglerClient, of=Smuggler):
    @remote(header_size=2)
    def onWink(self, eye: UInt8) -> None: ...

    @remote
    def onNod(self, times: UInt8) -> None: ...

    @remote
    def onRaid(self, by: UInt16) -> None: ...


class Caravan(Carrier, Signaller, EntityType):
    is_manual_aoi = True
    detailed_volatile_position = True
    volatile = Volatile(position=500, yaw=300, pitch=300)

    sealedCrate: Crate = prop(OWN_CLIENT, saved=True)
    wagons: Array[Hold] = prop(ALL_CLIENTS)
    route: Route = prop(ALL_CLIENTS)
    axleHeat: Heat = prop(ALL_CLIENTS, default=[1.0, 1.5, 2.0, 2.5])
    grid: Array[Array[UInt8]] = prop(ALL_CLIENTS)
    harbour: Array[Berth] = prop(ALL_CLIENTS)
    manifest: Manifest = prop(ALL_CLIENTS)
    plate: Chess = prop(ALL_CLIENTS)
    lone: Lone = prop(ALL_CLIENTS)


class CaravanClient(CarrierClient, SignallerClient, of=Caravan):
    @remote
    def onWheelBroken(self, wheel: UInt8) -> None: ...


class CaravanCell(CarrierCell, SignallerCell, of=Caravan):
    @exposed(to=Exposed.DEFAULT)
    def boardWagon(self, wagon: UInt8) -> None: ...


class Treasury(EntityType):
    server_only = True

    vaultKey: Blob = prop(BASE, saved=True, database_length=1024)
    guards: Array[Ref] = prop(CELL_PRIVATE)
    heap: UInt64 = prop(CELL_PUBLIC)
    season: UInt8 = prop(CELL_PRIVATE)
    wardens: PlainData = prop(CELL_PUBLIC)


class TreasuryCell(Cell, of=Treasury):
    @remote
    def count(self) -> UInt64:
        heap: UInt64 = self.heap
        return heap


class TreasuryBase(Base, of=Treasury):
    @remote
    def withdraw(self, amount: UInt64, to: Ref) -> None: ...
