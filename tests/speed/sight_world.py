"""A witness with its sight in one form or the other, for the tests of its messages."""

from math import inf

import msgspec

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo._speed.sight import MESSAGE_MAX, OUTERMOST
from terrazzo.sync.places import decode_places
from tests.speed.forms import form_of

HERE = (10.4, 1.5, -20.6)
NORTH = (0.0, 0.0, 0.0)
RADIUS = 80.0
PLENTY = 100_000


class World:
    """An area with a witness at slot 0, and its sight."""

    def __init__(self, form):
        self.area = form_of(form, "area").Area()
        self.own = self.area.add(1, HERE, NORTH, 0.0, 0, 0)
        self.form = form_of(form, "sight")
        self.updates = form_of(form, "updates")
        self.headlines = self.form.Headlines()
        self.sight = self.form.Sight(self.area, self.own, self.headlines)
        self.tick = 100

    def add(
        self,
        entity,
        position,
        direction=NORTH,
        flags=EntryFlag.DESCRIBED,
        alias=None,
        sent=0,
        *,
        angles=1,
        reach=inf,
        levels=(),
        level=OUTERMOST,
        is_detailed=False,
    ):
        """`angles`: how many are sent at any distance, or the distance of each."""
        slot = self.area.add(entity, position, direction, 0.0, sent, 0)
        if isinstance(angles, int):
            angles = (*[inf] * angles, *[None] * (3 - angles))
        self.headlines.begin(slot, self.form.Ranges(reach, angles, levels, is_detailed=is_detailed))
        self.sight.add(entity, slot, entity if alias is None else alias, sent, flags, level)
        return slot

    def speak(self, budget=PLENTY):
        """The messages for the client: news, reliable messages, those that may be lost, and their bytes."""
        words, rows = self.updates.Words(PLENTY), self.updates.UpdateRows()
        used = self.sight.serve(self.tick, budget, RADIUS, words, rows)
        rows.end(1, 1, 0, 0, PLENTY)
        told = [message for payload in words.take(1) for message in msgspec.msgpack.decode(payload)[1][1]]
        loose = [
            message
            for part in rows.take(PLENTY, PLENTY)
            for _, _, messages, _ in self.updates.decode_updates(part)
            for message in messages
        ]
        return self.sight.news or [], told, loose, used

    def serve(self, budget=PLENTY):
        self.tick += 1
        news, self.told, messages, used = self.speak(budget)
        assert used == sum(map(len, messages)) + sum(map(len, self.told))
        assert all(len(message) <= MESSAGE_MAX and message[0] == 21 for message in messages)
        told = [entry for message in messages for entry in decode_places(message[1:]).entries]
        return news, told, messages


def headline(world, entity, *, before=5, number=8, alias=None, **more):
    slot = world.add(entity, (entity * 10.0, 1.5, -20.0), sent=5, alias=alias, **more)
    world.area.set_number(slot, number + 1)
    world.area.set_news(slot, number)
    world.headlines.set(slot, entity, before, number, [(160, b"abc"), (60, b"")])
    return slot
