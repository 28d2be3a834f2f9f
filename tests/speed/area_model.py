"""The rules of an area in their simplest form: the tests compare both forms of the kernel with this."""

from __future__ import annotations

import struct


def f32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


class Model:
    """Interests of slots by the rule in the kernel's docstring: every pair, every step."""

    def __init__(self):
        self.places = {}
        self.appeals = {}
        self.gone = set()
        self.interests = {}

    def add(self, slot, x, z, appeal):
        self.places[slot] = (f32(x), f32(z))
        self.appeals[slot] = f32(appeal)

    def put(self, slot, x, z):
        self.places[slot] = (f32(x), f32(z))

    def remove(self, slot):
        self.gone.add(slot)
        self.interests = {id: each for id, each in self.interests.items() if each[0] != slot}

    def watch(self, interest, slot, radius, hysteresis, members=()):
        self.interests[interest] = [slot, radius, hysteresis, set(members) - {slot}]

    def distance2(self, one, two):
        (x, z), (x2, z2) = self.places[one], self.places[two]
        return (x2 - x) * (x2 - x) + (z2 - z) * (z2 - z)

    def step(self):
        events = []
        for interest, (own, radius, hysteresis, members) in sorted(self.interests.items()):
            for slot, appeal in self.appeals.items():
                if slot == own:
                    continue
                reach = radius + hysteresis + appeal if slot in members else radius + appeal
                is_inside = slot not in self.gone and self.distance2(own, slot) <= reach * reach
                if is_inside != (slot in members):
                    events.append((interest, int(is_inside), slot))
                    (members.add if is_inside else members.remove)(slot)
        for slot in self.gone:
            del self.places[slot], self.appeals[slot]
        self.gone.clear()
        return sorted(events)
