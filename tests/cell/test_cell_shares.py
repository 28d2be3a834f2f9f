"""Fields of different audience: real, ghost, own client and other clients each have their share, and no more. `gems` is
for all clients, and so is `kind` of a Gem; `worth` is for the own client, `hardness` for ghosts, `flaw` for no
receiver.
"""

from __future__ import annotations

import pytest

from terrazzo.errors import UsageError
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import Offload
from tests.cell.land import Land
from tests.cell.plain import AVATAR, Gem

OWNER, NEAR, ACROSS = 1, 2, 3
FLAW = "nobody may know"
WORTH = 0x51525354


class Watched(Land):
    """The owner of gems, a watcher in its cell, and one in the next cell, which has a ghost of it."""

    def __init__(self) -> None:
        self.passed: list[bytes] = []
        super().__init__()
        self.own = self.create(OWNER, -5.0, is_seen=True)
        self.near = self.create(NEAR, -15.0, is_seen=True)
        self.across = self.create(ACROSS, 5.0, is_seen=True)
        self.settle()

    def deliver(self, source, target, count=None) -> None:
        """Everything that goes from one app to another, but for the real itself, is kept."""
        for message in self.queues.get((source, target), [])[:count]:
            if not isinstance(message, Offload):
                self.passed.append(REGISTRY.encode(message))
        super().deliver(source, target, count)

    def change(self, function) -> None:
        self.passed.clear()
        self.do(OWNER, lambda part: function(part.gems))
        self.settle()

    def ghost(self):
        return self[1 if self.home(OWNER) == 0 else 0].bodies[OWNER].state["gems"]

    def heard(self, name: str = "gems") -> tuple[int, int, int]:
        """The number of messages for clients about it."""
        own, near, across = (screen.count(name, OWNER) for screen in (self.own, self.near, self.across))
        return own, near, across

    def has_passed(self, text: bytes) -> bool:
        return any(text in each for each in self.passed)


@pytest.fixture
def land():
    return Watched()


def a_gem(kind: int = 3, hardness: int = 9) -> Gem:
    return Gem(kind=kind, worth=WORTH, hardness=hardness, flaw=FLAW)


def fields(gems, name: str) -> list:
    return [each[name] for each in gems]


def check_shares(land: Watched) -> None:
    """What each receiver has of the gems of the real."""
    real = land.part(OWNER).gems
    count = len(real)
    own, near, across, ghost = (
        land.own.own["gems"],
        land.near.seen[1]["gems"],
        land.across.seen[1]["gems"],
        land.ghost(),
    )
    for share in (own, near, across, ghost):
        assert fields(share, "kind") == fields(real, "kind")
        assert fields(share, "flaw") == ["?"] * count
    assert fields(own, "worth") == fields(real, "worth")
    assert fields(ghost, "hardness") == fields(real, "hardness")
    for share in (near, across, ghost):
        assert fields(share, "worth") == [1] * count
    for share in (near, across, own):
        assert fields(share, "hardness") == [2] * count
    assert not land.has_passed(FLAW.encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda gems: gems.append(a_gem()),
        lambda gems: gems.insert(0, a_gem(4)),
        lambda gems: gems.extend([a_gem(5), a_gem(6)]),
        lambda gems: gems.__setitem__(0, a_gem(7)),
        lambda gems: gems.__setitem__(slice(0, 1), [a_gem(8), a_gem(9)]),
        lambda gems: gems.reverse(),
        lambda gems: gems.pop(),
    ],
)
def test_each_receiver_gets_its_share_of_a_new_element(land, change):
    land.change(lambda gems: gems.extend([a_gem(1, 7), a_gem(2, 8)]))
    assert land.heard() == (1, 1, 1)
    land.change(change)
    assert land.heard() == (2, 2, 2)
    check_shares(land)


def test_an_assignment_of_the_whole(land):
    land.do(OWNER, lambda part: setattr(part, "gems", [a_gem(1), a_gem(2)]))
    land.settle()
    assert land.heard() == (1, 1, 1)
    check_shares(land)


def test_change_of_a_hidden_field_is_sent_to_no_other_receiver(land):
    land.change(lambda gems: gems.append(a_gem()))
    number = land.real(OWNER).body.number
    land.change(lambda gems: setattr(gems[0], "worth", WORTH + 1))
    assert land.heard() == (2, 1, 1)
    assert land.real(OWNER).body.number == number  # ghosts have nothing of it
    land.change(lambda gems: setattr(gems[0], "flaw", "another"))
    assert land.heard() == (2, 1, 1)
    assert land.real(OWNER).body.number == number
    assert not land.has_passed(b"another")
    land.change(lambda gems: setattr(gems[0], "hardness", 7))
    assert land.heard() == (2, 1, 1)
    assert land.real(OWNER).body.number == number + 1
    land.change(lambda gems: setattr(gems[0], "kind", 5))
    assert land.heard() == (3, 2, 2)
    check_shares(land)


def test_client_that_comes_later_gets_the_same_share(land):
    land.change(lambda gems: gems.extend([a_gem(1), a_gem(2)]))
    late = land.create(4, -12.0, is_seen=True)
    later = land.create(5, 12.0, is_seen=True)
    land.settle()
    for screen in (late, later):
        assert fields(screen.seen[OWNER]["gems"], "kind") == [1, 2]
        assert fields(screen.seen[OWNER]["gems"], "worth") == [1, 1]
    land.own = land.base.attach(OWNER)
    land.settle()
    check_shares(land)


def test_client_that_missed_too_much_gets_no_hidden_field(land):
    land.change(lambda gems: gems.append(a_gem()))
    bodies = [land[at].bodies[OWNER] for at in (0, 1)]
    place = AVATAR.cell_layout.index["gems"]
    real, ghost = (body.kind.event_of_now(body, place) for body in bodies)
    assert real == ghost
    assert real.message.body == b"\x01\x03"


def test_whole_latest_only_value_is_sent_to_its_receivers(land):
    def wear(**values) -> tuple[int, int, int]:
        before = land.heard("crown")
        for name, value in values.items():
            land.do(OWNER, lambda part, name=name, value=value: setattr(part.crown, name, value))
        land.settle()
        return tuple(now - then for now, then in zip(land.heard("crown"), before, strict=True))

    assert wear(flaw=FLAW) == (0, 0, 0)
    assert wear(worth=WORTH) == (1, 0, 0)
    assert wear(kind=4, flaw="!") == (1, 1, 1)
    assert wear(worth=3, kind=5, hardness=6) == (1, 1, 1)
    assert land.own.own["crown"] == {"kind": 5, "worth": 3, "hardness": 2, "flaw": "?"}
    for screen in (land.near, land.across):
        assert screen.seen[OWNER]["crown"] == {"kind": 5, "worth": 1, "hardness": 2, "flaw": "?"}
    assert not land.has_passed(FLAW.encode())


def test_the_real_takes_everything_along_and_leaves_a_ghost_without(land):
    land.change(lambda gems: gems.append(a_gem()))
    land.put(OWNER, 8.0)
    land.settle()
    assert land.home(OWNER) == 1
    gem = land.part(OWNER).gems[0]
    assert (gem.worth, gem.hardness, gem.flaw) == (WORTH, 9, FLAW)
    assert land[0].bodies[OWNER].real is None
    check_shares(land)
    land.change(lambda gems: gems.insert(0, a_gem(6)))
    land.change(lambda gems: setattr(gems[1], "worth", 5))
    check_shares(land)


def test_the_code_of_others_sees_what_a_ghost_has_wherever_it_runs(land):
    land.change(lambda gems: gems.append(a_gem()))
    for watcher in (NEAR, ACROSS):
        gem = land.do(watcher, lambda part: part.entity(OWNER).gems[0])
        assert (gem.kind, gem.hardness, gem.worth, gem.flaw) == (3, 9, 1, "?")
        with pytest.raises(UsageError, match="copy"):
            gem.kind = 4
