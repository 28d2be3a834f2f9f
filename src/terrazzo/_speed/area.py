"""Which entities of a space are near each other: circles that are watched, over the arrays of places.

An **interest** is a circle on the ground (x, z) around a slot: a witness's area, or a proximity trigger; to this module
they are the same. With the distance d between the interest's own slot and another one, all in metres,

    enters   when d <= radius + appeal of the other           ──►  │  │  ring: in it, what is inside stays inside,
    leaves   when d > radius + hysteresis + appeal of it      ◄──  │  │  and what is outside stays outside

`step()` compares the places now with those at the last step and gives exactly one event for each crossing, however
far and in whatever order things were put. Nothing else happens in it: the caller acts on the events afterwards.

A slot that is removed leaves every interest with the next step; until the step after that its entity still answers,
and neither its number nor that of an interest that ended is given to another: events that are being acted on
mean what they meant. Distances are computed in float64 from places that are float32, so that this form and the compiled
one decide alike.

This is the plain form; the compiled one (`area.pyx`) finds the pairs with a grid, this one in an order by x.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable

from terrazzo._speed.places import RADIUS_MAX, REAL, REMOVED, USED, Places, Point, Row
from terrazzo.errors import UsageError

__all__ = ["RADIUS_MAX", "REAL", "REMOVED", "USED", "Area", "Point", "Row"]


class _Interest:
    """A circle that is watched."""

    __slots__ = ("hysteresis", "is_fresh", "members", "radius", "slot")

    def __init__(self, slot: int, radius: float, hysteresis: float, members: set[int]) -> None:
        self.slot = slot
        self.radius = radius
        self.hysteresis = hysteresis
        self.members = members
        self.is_fresh = True
        """It is looked at wholly at the next step, not only at what moved."""


class Area(Places):
    """The places and the interests of one space."""

    def __init__(self) -> None:
        super().__init__()
        self._interests: list[_Interest | None] = []
        self._interests_of: dict[int, list[int]] = {}
        self._interests_resting: list[int] = []
        self._interests_free: list[int] = []

    def remove(self, slot: int) -> None:
        """A body ends: its own interests at once and silently, its being in those of others with the next step."""
        self._check(slot)
        for interest in self._interests_of.get(slot, [])[::-1]:
            self.unwatch(interest)
        super().remove(slot)

    def watch(self, slot: int, radius: float, hysteresis: float, members: Iterable[int] = ()) -> int:
        """Watch a circle around a slot; its id. `members` are taken as inside, without events."""
        self._check(slot)
        _check_radius(radius, hysteresis)
        inside = set(members)
        for member in inside:
            self._check(member)
        inside.discard(slot)
        found = _Interest(slot, radius, hysteresis, inside)
        if self._interests_free:
            interest = self._interests_free.pop()
            self._interests[interest] = found
        else:
            interest = len(self._interests)
            self._interests.append(found)
        self._interests_of.setdefault(slot, []).append(interest)
        return interest

    def unwatch(self, interest: int) -> None:
        """Watch it no longer; no events. One that has ended already (with its slot) is left in peace."""
        if not 0 <= interest < len(self._interests):
            raise UsageError(f"{interest} is no interest of this area")
        found = self._interests[interest]
        if found is None:
            return
        self._interests[interest] = None
        self._interests_resting.append(interest)
        of = self._interests_of[found.slot]
        of.remove(interest)
        if not of:
            del self._interests_of[found.slot]

    def set_radius(self, interest: int, radius: float, hysteresis: float) -> None:
        """Another circle from now on; the members stay until the next step."""
        found = self._interest(interest)
        _check_radius(radius, hysteresis)
        found.radius, found.hysteresis, found.is_fresh = radius, hysteresis, True

    def members(self, interest: int) -> list[int]:
        """The slots that are inside as of the last step, in order."""
        return sorted(self._interest(interest).members)

    def step(self) -> tuple[array[int], array[int], array[int]]:
        """Interests, slots and kinds (0 leave, 1 enter) of what happened: by interest, leaves first, by slot."""
        removed = set(self._turn_over())
        self._interests_free += self._interests_resting
        self._interests_resting.clear()
        interests, slots, kinds = array("i"), array("i"), array("b")
        if self._moved or removed or any(each is not None and each.is_fresh for each in self._interests):
            everything = self._by_x(self._slots.values())
            moved = self._by_x(self._moved)
            appeal_max = max(map(self.appeals.__getitem__, self._slots.values()), default=0.0)
            for number, interest in enumerate(self._interests):
                if interest is None:
                    continue
                for kind, found in enumerate(self._changes(interest, everything, moved, removed, appeal_max)):
                    interests.extend([number] * len(found))
                    slots.extend(found)
                    kinds.extend([kind] * len(found))
        self._moved.clear()
        return interests, slots, kinds

    def _changes(
        self,
        interest: _Interest,
        everything: tuple[list[float], list[int]],
        moved: tuple[list[float], list[int]],
        removed: set[int],
        appeal_max: float,
    ) -> tuple[list[int], list[int]]:
        """The slots that left and those that entered, each in order."""
        own, members, radius = interest.slot, interest.members, interest.radius
        x, z = self.xs[own], self.zs[own]
        xs, zs, appeals = self.xs, self.zs, self.appeals
        is_whole = interest.is_fresh or own in self._moved
        leaves, enters = [], []
        outer = radius + interest.hysteresis
        for slot in members if is_whole else members & (removed | self._moved):
            dx, dz, reach = xs[slot] - x, zs[slot] - z, outer + appeals[slot]
            if slot in removed or dx * dx + dz * dz > reach * reach:
                leaves.append(slot)
        order, ordered = everything if is_whole else moved
        span = radius + appeal_max
        span += 1e-6 * (span + abs(x)) + 1e-30  # more than float64 can be wrong
        for slot in ordered[bisect_left(order, x - span) : bisect_left(order, x + span)]:
            dx, dz, reach = xs[slot] - x, zs[slot] - z, radius + appeals[slot]
            if dx * dx + dz * dz <= reach * reach and slot not in members and slot != own:
                enters.append(slot)
        interest.is_fresh = False
        members.difference_update(leaves)
        members.update(enters)
        leaves.sort()
        enters.sort()
        return leaves, enters

    def _by_x(self, slots: Iterable[int]) -> tuple[list[float], list[int]]:
        ordered = sorted(slots, key=self.xs.__getitem__)
        return [self.xs[slot] for slot in ordered], ordered

    def _interest(self, interest: int) -> _Interest:
        found = self._interests[interest] if 0 <= interest < len(self._interests) else None
        if found is None:
            raise UsageError(f"{interest} is no interest of this area")
        return found


def _check_radius(radius: float, hysteresis: float) -> None:
    if not 0 <= radius <= RADIUS_MAX or not 0 <= hysteresis <= RADIUS_MAX:
        raise UsageError(f"radius {radius}, hysteresis {hysteresis}: both are distances, from 0 to {RADIUS_MAX:.0f} m")
