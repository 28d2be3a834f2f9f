"""Nothing that is too large ends an app, loses an entity, or leaves a client with a view that has a hole."""

import pytest

from terrazzo._speed.values import Change
from terrazzo.cell.client import scheduler
from terrazzo.cell.core.parcels import Gauge
from terrazzo.cell.core.real import ITEM_BYTES_MAX, STEP_BYTES
from terrazzo.cell.ghosts import placement
from terrazzo.errors import UsageError
from terrazzo.schema.state import State
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ClientUpdates, SendAway
from terrazzo.wire.pairs.cell_cell import ENTITY_MAX, CreateGhost, Jump, Offload, UpdateGhost
from tests.cell.land import Land
from tests.cell.plain import AVATAR, Gem

HALF = ITEM_BYTES_MAX // 2


def refused(land, entity, work, match):
    """What the game does is refused where it does it."""

    def done(part):
        with pytest.raises(UsageError, match=match):
            work(part)

    land.do(entity, done)


def fill(part, count):
    """So many bytes in the purse, and a little more."""
    for _ in range(count // HALF):
        part.purse.extend([7] * (HALF // 4))


def overheard(monkeypatch, app):
    """What an app sends, as it is sent."""
    heard = []
    send = app.outbox.send

    def hear(peer, message):
        size = send(peer, message)
        heard.append((peer, message, size))
        return size

    monkeypatch.setattr(app.outbox, "send", hear)
    return heard


# One change, one call.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "x" * ITEM_BYTES_MAX),
        ("guild", "x" * ITEM_BYTES_MAX),
        ("purse", [0] * (ITEM_BYTES_MAX // 4)),
        ("luck", None),
    ],
)
def test_a_change_that_is_too_large_is_refused_and_has_not_happened(name, value):
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.settle()
    before = land.real(1).body.state[name]
    if value is None:
        land.do(1, lambda part: setattr(part, name, 9))
    else:
        refused(land, 1, lambda part: setattr(part, name, value), rf"Avatar\.{name} takes \d+ bytes, .* in parts")
        assert land.real(1).body.state[name] == before
    land.settle()


def test_a_change_inside_a_value_is_refused_too():
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.do(1, lambda part: part.gems.append(Gem(kind=1)))
    much = [0] * (ITEM_BYTES_MAX // 4 + 1)
    refused(land, 1, lambda part: setattr(part.gems[0], "flaw", "x" * ITEM_BYTES_MAX), "gems")
    refused(land, 1, lambda part: part.purse.extend(much), "purse")
    refused(land, 1, lambda part: part.gems.__setitem__(0, Gem(kind=1, flaw="x" * ITEM_BYTES_MAX)), "gems")
    part = land.part(1)
    assert (part.gems[0].flaw, part.purse) == ("?", [])
    land.settle()


def test_value_without_receivers_has_no_limit():
    """A base keeps what it likes; what it sends has limits of its own."""
    state = State(AVATAR.cell_layout)
    state["name"] = "x" * (ITEM_BYTES_MAX + 1)
    heard: list[Change] = []
    state = State(AVATAR.cell_layout, heard.append)
    state["name"] = "x" * (ITEM_BYTES_MAX + 1)
    assert len(heard) == 1


@pytest.mark.parametrize("to", ["client", "others", "everyone"])
def test_a_call_that_is_too_large_is_refused(to):
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    refused(land, 1, lambda part: getattr(part, to).on_said("x" * ITEM_BYTES_MAX), "a call of on_said with .* parts")
    land.settle()


def test_whole_property_that_has_grown_too_large_is_counted():
    """Each element is small, and clients and ghosts get all of them each time."""
    land = Land(2)
    land.create(1, -20.0, is_seen=True)
    land.settle()
    for _ in range(3):
        land.do(1, lambda part: part.aim.extend([1] * (HALF // 4)))
        land.step(2)
    assert land[0].counts[LogEvent.PROPERTY_TOO_LARGE] >= 1
    land.do(1, lambda part: setattr(part, "aim", [1, 2]))
    land.settle()


# One step.


def test_a_step_that_grows_too_large_is_closed_early(monkeypatch):
    land = Land(2)
    land.create(1, -20.0)
    land.settle()
    heard = overheard(monkeypatch, land[0])
    number = land.real(1).body.number

    def work(part):
        for letter in "abcdefghi":
            part.guild = letter * (ITEM_BYTES_MAX - 10)

    land.do(1, work)
    land.settle()
    steps = [size for _, message, size in heard if isinstance(message, UpdateGhost)]
    assert len(steps) == land.real(1).body.number - number >= 4
    assert max(steps) <= STEP_BYTES + ITEM_BYTES_MAX
    assert land[1].bodies[1].state["guild"] == "i" * (ITEM_BYTES_MAX - 10)


def test_a_client_that_floods_words_ends_nothing():
    land = Land(2)
    land.create(1, -20.0, is_seen=True)
    land.create(2, 20.0, is_seen=True)
    land.settle()
    for _ in range(20):
        land.base.call(1, "say", "x" * 60_000, caller=1)
    land.step(10)
    assert land.home(1) == 0
    assert land[1].bodies[1].number == land[0].bodies[1].number


# The whole entity.


def test_a_large_entity_crosses_with_its_mail(monkeypatch):
    land = Land(2)
    land.create(1, -200.0)
    land.settle()
    land.do(1, lambda part: fill(part, 2 << 20))
    for _ in range(30):
        land.do(1, lambda part: part.base.note("x" * 50_000))
    monkeypatch.setattr(Gauge, "pays", False)
    heard = overheard(monkeypatch, land[0])
    land.put(1, 50.0)
    land.settle()
    assert max(size for _, message, size in heard if isinstance(message, Offload)) > 3 << 20
    assert land.home(1) == 1
    assert len(land.base.calls_of(1)) == 30


@pytest.mark.parametrize("jump", [False, True])
def test_entity_too_large_to_leave_stays_until_it_is_smaller(jump):
    land = Land(2, hall=1)
    land.create(1, -200.0, is_seen=True)
    land.settle()
    land.base.detach(1)
    land.step(3)
    land.do(1, lambda part: fill(part, ENTITY_MAX + HALF))
    land.base.call(1, "hit", 5)
    if jump:
        land.do(1, lambda part: part.teleport("hall", (0.0, 0.0, 0.0)))
    else:
        land.put(1, 50.0)
    land.step(10)
    assert land.home(1) == 0
    assert land[0].counts[LogEvent.TOO_LARGE_TO_LEAVE] == 1, "it is not tried in each tick"
    part = land.part(1)
    assert part.purse[-1] == 5
    if jump:
        assert part.events[-1][0] == "teleport failed"
    land.do(1, lambda part: part.purse.clear())
    if jump:
        land.do(1, lambda part: part.teleport("hall", (0.0, 0.0, 0.0)))
    land.step(int(placement.TOO_LARGE_S / 0.1) + 5)
    land.settle()
    assert land.home(1) == 1
    land.base.call(1, "hit", 6)
    land.settle()
    assert land.part(1).purse == [6]


def test_entity_too_large_for_a_ghost_has_none_until_it_is_smaller(monkeypatch):
    land = Land(2)
    land.create(1, -450.0)
    land.settle()
    for letter in "abc":
        land.do(1, lambda part, letter=letter: part.bag.extend([{"kind": 1, "count": 2}] * (HALF // 5)))
    monkeypatch.setattr(REGISTRY._by_type[CreateGhost], "max_size", ITEM_BYTES_MAX)
    land.put(1, -20.0)
    land.step(20)
    assert land[0].counts[LogEvent.TOO_LARGE_FOR_GHOST] == 1
    assert 1 not in land[1].bodies
    assert not land.real(1).ghosts
    land.do(1, lambda part: part.bag.clear())
    land.step(int(placement.TOO_LARGE_S / 0.1))
    land.settle()
    assert 1 in land[1].bodies


def test_a_ghost_that_cannot_be_mended_goes(monkeypatch):
    land = Land(2)
    land.create(1, -20.0)
    land.settle()
    monkeypatch.setattr(REGISTRY._by_type[CreateGhost], "max_size", 10)
    land[0].placement.describe(land.real(1), land[1].me, is_snapshot=True)
    land.step(3)
    assert 1 not in land[1].bodies


# The messages for the base.


def test_base_gets_a_notice_when_its_properties_are_too_large():
    land = Land(1)
    land.create(1, 0.0)
    land.settle()
    land.do(1, lambda part: fill(part, 1 << 20))
    land.base.want_data(1)
    land.settle()
    land.do(1, lambda part: part.destroy())
    land.settle()
    assert [(each.properties, each.is_last) for each in land.base.data_of(1)] == [(b"", False), (b"", True)]
    assert land[0].counts[LogEvent.BASE_NOT_SENT] == 2


def test_the_last_word_goes_however_much_waits():
    land = Land(1)
    land.create(1, 0.0)
    land.settle()
    land[0].switchboard.limits = ChannelLimits(backlog_max=1)
    land.do(1, lambda part: part.base.note("first"))
    land.do(1, lambda part: part.destroy())
    land.settle()
    assert [each.is_last for each in land.base.data_of(1)] == [True]
    assert len(land.base.data_of(1)[0].properties) > 0


# The messages for clients.


def sent_away(land, entity):
    return [each for each in land.base.mail[entity] if isinstance(each, SendAway)]


def test_client_with_a_message_too_large_is_sent_away_and_its_hook_runs():
    """Its own body has grown too large to be described; as long as it is so, no client can play it."""
    land = Land(1)
    land.create(1, 0.0)
    land.settle()
    land.do(1, lambda part: fill(part, 1 << 20))
    land.base.attach(1)
    land.step(5)
    assert [each.witness for each in sent_away(land, 1)] == [1]
    assert land.real(1).witness is None
    assert land.part(1).events[-2:] == ["attached", "detached"]
    land.do(1, lambda part: part.purse.clear())
    land.base.attach(1)
    land.settle()
    assert land.part(1).events[-1] == "attached"
    assert len(sent_away(land, 1)) == 1


@pytest.mark.parametrize("jump", [False, True])
def test_hook_for_a_lost_client_runs_before_the_entity_leaves(jump):
    land = Land(2, hall=1)
    land.create(1, -20.0, is_seen=True)
    land.settle()
    land[0].switchboard.limits = ChannelLimits(backlog_bytes=1)

    def work(part):
        part.base.note("waits")
        part.client.on_said("too much")

    land.do(1, work)
    land.put(1, 50.0)
    goal = Jump(2, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) if jump else None
    assert not land[0].offloads.offload(land.real(1), land[1].me, goal)
    assert land.home(1) == 0
    events = land.part(1).events
    assert "detached" not in events
    assert ("teleport failed" in str(events)) == jump
    land.step(1)
    assert "detached" in events
    land.settle()
    assert land.home(1) == 1
    assert len(sent_away(land, 1)) == 1


def test_last_unreliable_messages_of_a_tick_are_sent(monkeypatch):
    land = Land(1)
    for entity in range(1, 9):
        land.create(entity, float(entity), is_seen=True)
    land.settle()
    heard = overheard(monkeypatch, land[0])

    def work(part):
        for number in range(300):
            part.shiver = [number] * 250

    for entity in range(1, 9):
        land.do(entity, work)
    land.step(1)
    sizes = [size for _, message, size in heard if isinstance(message, ClientUpdates)]
    assert len(sizes) >= 2
    assert max(sizes) <= scheduler.UPDATES_BYTES + 1100 * scheduler.LOOSE_MAX
    assert land[0].counts[LogEvent.CLIENT_FULL] == 8
    land.step(3)
    own = land.base.screens[1].own
    assert own is not None
    assert own["shiver"] == [299] * 250
