"""`terrazzo bench codec`: an avatar of 20 properties with a nested bag, ours against msgspec's msgpack.

Both sides hold the same data in their own objects: ours a list of property values with a list of records as the bag,
which have a link to their owner when attached; msgspec's a Struct with Structs in it. The figures compare with msgspec
as it comes: typed Structs, which it encodes with their field names. Beside them stands its tightest form, `array_like`
structs, which leave the names out as our codec does.
"""

from __future__ import annotations

from typing import Any

import msgspec

from terrazzo import (
    ALL_CLIENTS,
    OWN_CLIENT,
    Array,
    Bool,
    EntityType,
    Float32,
    Int16,
    Int32,
    Record,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Vector3,
    build,
    prop,
)
from terrazzo._speed import COMPILED
from terrazzo.bench.rounds import best_of_rounds


class Item(Record):
    """What is in the bag."""

    kind: UInt32
    count: UInt16 = 1
    quality: UInt8 = 0
    bound: Bool = False


class Avatar(EntityType):
    """A player as a game would have one."""

    name: Text = prop(ALL_CLIENTS)
    title: Text = prop(ALL_CLIENTS)
    guild: Text = prop(ALL_CLIENTS)
    level: UInt8 = prop(ALL_CLIENTS)
    race: UInt8 = prop(ALL_CLIENTS)
    hp: Int16 = prop(ALL_CLIENTS)
    hp_max: Int16 = prop(ALL_CLIENTS)
    mana: Int16 = prop(ALL_CLIENTS)
    gold: Int32 = prop(OWN_CLIENT)
    experience: UInt32 = prop(OWN_CLIENT)
    faction: UInt16 = prop(ALL_CLIENTS)
    speed: Float32 = prop(ALL_CLIENTS)
    stamina: Float32 = prop(OWN_CLIENT)
    is_resting: Bool = prop(ALL_CLIENTS)
    target: Int32 = prop(ALL_CLIENTS)
    home: Vector3 = prop(OWN_CLIENT)
    colour: UInt32 = prop(ALL_CLIENTS)
    skills: Array[UInt16] = prop(OWN_CLIENT)
    guild_id: UInt64 = prop(ALL_CLIENTS)
    bag: Array[Item] = prop(OWN_CLIENT)


SAMPLE: dict[str, Any] = {
    "name": "Aldaren",
    "title": "the Unhurried",
    "guild": "Lanterns of the Quay",
    "level": 42,
    "race": 3,
    "hp": 873,
    "hp_max": 1000,
    "mana": 120,
    "gold": 184_250,
    "experience": 9_123_456,
    "faction": 311,
    "speed": 6.5,
    "stamina": 0.75,
    "is_resting": False,
    "target": 104_233,
    "home": (1.5, 0.0, -220.25),
    "colour": 0xFF8800,
    "skills": [120, 87, 45, 12, 300, 0, 11, 9],
    "guild_id": 88_123_123_123,
    "bag": [{"kind": 1000 + n, "count": n + 1, "quality": n % 5, "bound": n % 2 == 0} for n in range(12)],
}


def measure(rounds: int = 200) -> dict[str, Any]:
    """The figures, and the times and sizes they come from."""
    layout = build([Avatar]).checked()["Avatar"].cell_layout
    values = [codec.check(SAMPLE[name]) for name, codec in zip(layout.names, layout.codecs, strict=True)]
    encoded = layout.row.encode(values)
    contenders: dict[str, Any] = {
        "encode": lambda: layout.row.encode(values),
        "decode": lambda: layout.row.decode(encoded),
    }
    sizes = {"bytes": len(encoded)}
    for form, array_like in (("msgspec", False), ("msgspec_array_like", True)):
        record, encoder, decoder, packed = _msgspec(array_like)
        contenders[f"{form}_encode"] = lambda encoder=encoder, record=record: encoder.encode(record)
        contenders[f"{form}_decode"] = lambda decoder=decoder, packed=packed: decoder.decode(packed)
        sizes[f"{form}_bytes"] = len(packed)
    best = best_of_rounds(contenders, rounds=rounds, calls=200)
    return {
        "bench": "codec",
        "compiled": COMPILED,
        "figures": {
            "encode_ratio": best["msgspec_encode"] / best["encode"],
            "decode_ratio": best["msgspec_decode"] / best["decode"],
            "bytes_ratio": sizes["bytes"] / sizes["msgspec_bytes"],
        },
        "against_array_like": {
            "encode_ratio": best["msgspec_array_like_encode"] / best["encode"],
            "decode_ratio": best["msgspec_array_like_decode"] / best["decode"],
            "bytes_ratio": sizes["bytes"] / sizes["msgspec_array_like_bytes"],
        },
        "nanoseconds": {name: round(seconds * 1e9) for name, seconds in best.items()},
        "sizes": sizes,
    }


def _msgspec(array_like: bool) -> tuple[Any, Any, Any, bytes]:
    """The same avatar as msgspec would have it: object, encoder, decoder, bytes."""
    item_type = msgspec.defstruct(
        "Item", [("kind", int), ("count", int), ("quality", int), ("bound", bool)], array_like=array_like
    )
    hints: dict[str, Any] = {name: type(value) for name, value in SAMPLE.items()}
    hints |= {"skills": list[int], "home": tuple[float, float, float], "bag": list[item_type]}  # type: ignore[valid-type]
    avatar_type = msgspec.defstruct("Avatar", list(hints.items()), array_like=array_like)
    record = avatar_type(**{**SAMPLE, "bag": [item_type(**each) for each in SAMPLE["bag"]]})
    encoder = msgspec.msgpack.Encoder()
    decoder = msgspec.msgpack.Decoder(avatar_type)
    packed = encoder.encode(record)
    assert decoder.decode(packed) == record
    return record, encoder, decoder, packed
