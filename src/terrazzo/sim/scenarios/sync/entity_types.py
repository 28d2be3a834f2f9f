"""The entity types of the sync scenario: drawn from the seed, so that no two worlds have the same schema.

What is drawn for each type: its properties with their types (numbers, texts, vectors; records; arrays of all of these,
records with arrays inside), flags, levels of detail, latest-only and unreliable ones; fields with fewer receivers than
their record; how its place is sent; and the client methods: with a distance, latest-only, unreliable.

Every record has a number that every receiver gets. So two values that the game makes differ for every audience.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from random import Random
from typing import Any

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
    EntityType,
    Float32,
    Int16,
    Int64,
    Record,
    Text,
    UInt8,
    UInt32,
    Vector3,
    Volatile,
    field,
    level,
    prop,
    remote,
)
from terrazzo.schema.flags import Flags

SCALARS: tuple[Any, ...] = (UInt32, UInt32, Int64, Int16, UInt8, Float32, Text, Vector3)
CELL_FLAGS = (
    ALL_CLIENTS, ALL_CLIENTS, ALL_CLIENTS, OTHER_CLIENTS, OTHER_CLIENTS, OWN_CLIENT, CELL_PUBLIC_AND_OWN, CELL_PUBLIC,
    CELL_PRIVATE,
)  # fmt: skip
LEVELS = ("near", "middle")
CALLS = ("on_told", "on_near", "on_last", "on_loose")
"""The client methods: one that all clients get, and three of which calls may be missing."""


@dataclass(frozen=True)
class Taste:
    """How often each feature of properties is used in a world."""

    details: float
    latest: float
    unreliable: float
    hidden: float
    radius_m: float


def draw_taste(rng: Random, radius_m: float) -> Taste:
    """Draws the shares: some worlds do not use a feature at all, some use it often."""
    details, latest, unreliable, hidden = (rng.choice([0.0, 0.2, 0.6]) for _ in range(4))
    return Taste(details, latest, unreliable, hidden, radius_m)


class TypeMaker:
    """Makes the types of one world."""

    def __init__(self, rng: Random, taste: Taste) -> None:
        self._rng = rng
        self._taste = taste
        self._records = 0

    def player(self) -> type[EntityType]:
        """The type of players."""
        fixed = {
            "name": (Text, prop(ALL_CLIENTS, saved=True, unique=True, database_length=40)),
            "visits": (UInt32, prop(BASE_AND_CLIENT, saved=True)),
        }
        drawn = {f"base_{n}": (self._type(2), prop(self._rng.choice([BASE, BASE_AND_CLIENT]))) for n in range(2)}
        return self._entity("Avatar", {**fixed, **drawn})

    def thing(self, name: str) -> type[EntityType]:
        """A type without a client of its own."""
        return self._entity(name, {})

    def _entity(self, name: str, members: dict[str, tuple[Any, Any]]) -> type[EntityType]:
        rng = self._rng
        members = {"secret": (UInt32, prop(CELL_PRIVATE)), **members}
        for number in range(rng.randrange(2, 8)):
            members[f"p{number}"] = (self._type(3), self._property())
        space: dict[str, Any] = {each: made for each, (_, made) in members.items()}
        space["__annotations__"] = {each: hint for each, (hint, _) in members.items()}
        space["__module__"] = __name__
        space["__doc__"] = "Drawn."
        space["volatile"] = self._volatile()
        starts = sorted(self._taste.radius_m * rng.uniform(0.2, 0.9) for _ in LEVELS)
        space["detail_levels"] = [
            level(each, start, rng.choice([0.0, 1.0, 4.0])) for each, start in zip(LEVELS, starts, strict=True)
        ]
        return type(name, (EntityType,), space)

    def _property(self) -> Any:
        rng, taste = self._rng, self._taste
        is_loose = rng.random() < taste.unreliable
        return prop(
            rng.choice(CELL_FLAGS),
            detail=rng.choice(LEVELS) if rng.random() < taste.details else None,
            latest_only=rng.random() < taste.latest,
            reliable=not is_loose,
        )

    def _volatile(self) -> Volatile:
        rng = self._rng
        position = rng.choice([None, True, True, self._taste.radius_m * rng.uniform(0.3, 1.0)])
        if position is None:
            return Volatile()
        yaw = rng.choice([None, position])
        return Volatile(position=position) if yaw is None else Volatile(position=position, yaw=yaw)

    # Types of values.

    def _type(self, depth: int) -> Any:
        what = self._rng.random() if depth else 0.0
        if what < 0.4:
            return self._rng.choice(SCALARS)
        return Array[self._type(depth - 1)] if what < 0.7 else self._record(depth - 1)  # type: ignore[misc]

    def _record(self, depth: int) -> Any:
        self._records += 1
        name = f"Record{self._records}"
        hints: dict[str, Any] = {"mark": UInt32}
        space: dict[str, Any] = {"mark": 0, "__module__": __name__, "__doc__": "Drawn."}
        for number in range(self._rng.randrange(1, 4)):
            hints[f"f{number}"] = self._type(depth)
            space[f"f{number}"] = field(to=self._field_flag())
        return types.new_class(name, (Record,), exec_body=lambda body: body.update(space, __annotations__=hints))

    def _field_flag(self) -> Flags | None:
        if self._rng.random() >= self._taste.hidden:
            return None
        return self._rng.choice([OWN_CLIENT, OTHER_CLIENTS, CELL_PUBLIC, CELL_PRIVATE])


def draw_calls(rng: Random, radius_m: float) -> dict[str, Any]:
    """The client methods of a type."""
    options: dict[str, dict[str, Any]] = {
        "on_told": {},
        "on_near": {"detail_distance": radius_m * rng.uniform(0.2, 0.9)},
        "on_last": {"latest_only": True},
        "on_loose": {"reliable": False},
    }
    return {name: _call(name, options[name]) for name in CALLS}


def _call(name: str, options: dict[str, Any]) -> Any:
    def heard(self: Any, number: UInt32) -> None:
        """Something happened."""

    heard.__name__ = heard.__qualname__ = name
    return remote(**options)(heard)
